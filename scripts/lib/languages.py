"""Prints which language has which section of `languages/`: how many entries, and what is missing.

`--write` rewrites the files in their common format.
"""

from collections.abc import Iterator
import json
import sys
from typing import Any

from custom_components.home_agent.languages import (
    COMMA,
    DIGITS,
    FOLDER,
    files,
    gaps,
    languages,
    read_file,
)

WIDTH = 110


def entries(value: Any) -> int:
    """Return how many words and phrases a table holds."""
    if isinstance(value, dict):
        return sum(map(entries, value.values()))
    return sum(map(entries, value)) if isinstance(value, list) else int(isinstance(value, str))


def rows() -> Iterator[list[str]]:
    """Yield the head of the table and a row for each language."""
    sections = dict.fromkeys(name for file in files().values() for name in file if name != "unspaced")
    yield ["", *sections]
    for language, file in files().items():
        yield [language, *(str(entries(file[name])) if name in file else "-" for name in sections)]


def written(value: Any, key: str | None = None, indent: int = 0) -> str:
    """Return a table as it is written: lines of entries with commas between them."""
    pad = " " * indent
    head = pad if key is None else f"{pad}{_text(key)}: "
    if isinstance(value, dict):
        inner = [written(held, name, indent + 1) for name, held in value.items()]
        return f"{head}{{\n{',\n'.join(inner)}\n{pad}}}"
    if key == DIGITS:
        return f"{head}[{COMMA.join(_text(COMMA.join(row)) for row in value)}]"
    if not isinstance(value, list):
        return head + _text(value)
    if len(whole := head + _text(COMMA.join(value))) < WIDTH:
        return whole
    lines: list[str] = []
    for entry in value:
        if lines and indent + len(lines[-1]) + len(entry) + len(COMMA) + 4 <= WIDTH:
            lines[-1] += COMMA + entry
        else:
            lines.append(entry)
    inner = [f"{pad} {_text(line)}" for line in lines]
    return f"{head}[\n{',\n'.join(inner)}\n{pad}]"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> int:
    """Print the table, then what each gap means; or write the files."""
    if "--write" in sys.argv:
        for path in FOLDER.glob("*.json"):
            path.write_text(written(read_file(path)) + "\n", encoding="utf-8")
        return 0
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
