"""Prints which language has which section of `languages/`: how many entries, and what is missing."""

from collections.abc import Iterator
import json
import sys
from typing import Any

from custom_components.home_agent.languages import FOLDER, gaps, languages


def entries(value: Any) -> int:
    """Return how many words and phrases a table holds."""
    if isinstance(value, dict):
        return sum(map(entries, value.values()))
    return sum(map(entries, value)) if isinstance(value, list) else int(isinstance(value, str))


def rows() -> Iterator[list[str]]:
    """Yield the head of the table and a row for each language."""
    files = {each: json.loads((FOLDER / f"{each}.json").read_text(encoding="utf-8")) for each in languages()}
    sections = dict.fromkeys(name for file in files.values() for name in file if name != "unspaced")
    yield ["", *sections]
    for language, file in files.items():
        yield [language, *(str(entries(file[name])) if name in file else "-" for name in sections)]


def main() -> int:
    """Print the table, then what each gap means."""
    lines = list(rows())
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    for language in languages():
        for section, effect in gaps(language):
            print(f"{language}: no {section}, so {effect}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
