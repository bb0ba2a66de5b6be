"""Prints which language lacks which section of `languages/`, and what that means.

`--write` rewrites the files in their common format.
"""

import json
import sys
from typing import Any

from custom_components.home_agent.languages import (
    COMMA,
    DIGITS,
    FOLDER,
    gaps,
    languages,
    read_file,
)

WIDTH = 110


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
    """Print what each gap means, or write the files."""
    if "--write" in sys.argv:
        for path in FOLDER.glob("*.json"):
            path.write_text(written(read_file(path)) + "\n", encoding="utf-8")
        return 0
    for language in languages():
        for section, effect in gaps(language):
            print(f"{language}: no {section}, so {effect}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
