"""Tables for people and JSON for machines."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
import json
from pathlib import Path
from statistics import median, quantiles


@dataclass(slots=True)
class Table:
    """One figure's rows."""

    name: str
    title: str
    columns: Sequence[str]
    rows: list[Sequence[object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """Add a row."""
        self.rows.append(cells)

    def show(self) -> None:
        """Print the table."""
        lines = [[_cell(value) for value in row] for row in (self.columns, *self.rows)]
        widths = [max(len(line[index]) for line in lines) for index in range(len(self.columns))]
        print(f"\n{self.name}  {self.title}")
        for number, line in enumerate(lines):
            print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))
            if number == 0:
                print("  " + "  ".join("-" * width for width in widths))
        for note in self.notes:
            print(f"  {note}")


def _cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


def middle(values: Sequence[float]) -> float:
    """Return the median."""
    return median(values)


def write_json(tables: Sequence[Table], path: Path) -> None:
    """Keep the tables for machines."""
    path.write_text(json.dumps([asdict(table) for table in tables], indent=2, default=str) + "\n")
