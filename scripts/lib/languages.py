"""Prints which language has which table of `languages/`: how many entries, and what is missing."""

from collections.abc import Iterator
import sys
from typing import Any

from custom_components.home_agent.languages import languages, table
from custom_components.home_agent.languages.tables import SECTIONS, missing


def entries(value: Any) -> int:
    """Return how many words and phrases a table holds."""
    if isinstance(value, dict):
        return sum(map(entries, value.values()))
    return sum(map(entries, value)) if isinstance(value, list) else int(isinstance(value, str))


def rows() -> Iterator[list[str]]:
    """Yield the head of the table and a row for each language."""
    yield ["", *(section.name for section in SECTIONS)]
    for language in languages():
        gaps = missing(language)
        counts = [(section, entries(table(language, section.name))) for section in SECTIONS]
        yield [language, *("-" if section in gaps else str(count) for section, count in counts)]


def main() -> int:
    """Print the table, then what each gap means."""
    lines = list(rows())
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    gaps = [(language, section) for language in languages() for section in missing(language)]
    print(f"\n{len(languages())} languages, {len(gaps)} gaps")
    for language, section in gaps:
        print(f"{language}: no {section.name}" + (f", so {section.strict}" if section.strict else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
