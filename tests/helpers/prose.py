"""The texts of the project as sentences: pages, forms and docstrings."""

import ast
from collections.abc import Iterator
import re
from typing import Any

from tests.helpers.documents import PAGES, ROOT

PACKAGE = ROOT / "custom_components" / "home_agent"
NOT_HELD = {"CHANGELOG.md"}
"""It says what was true of a release."""
GUIDE = re.compile(r"^## Style\n.*?(?=^## )", re.MULTILINE | re.DOTALL)
"""Quotes what the other texts avoid."""
OF_FORMS = {"docs/reference/options.md", "docs/reference/actions.md"}
"""Their tables repeat the texts of the forms, which are held as such."""
BLOCK = re.compile(r"```.*?```", re.DOTALL)
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.|>)\s+")
END = re.compile(r"(?<=[.!?])[\"'”*)]*\s+(?=[A-Z0-9*_\"'“(\[{])")


def plain(text: str) -> str:
    """Return a text without links, code, pictures and quoted words."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|<https?://[^>]*>", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "Code", text)
    return re.sub(r"\"[^\"]*\"|“[^”]*”", "words", text)


def pieces(written: str) -> Iterator[str]:
    """Yield headings, paragraphs, items of lists and cells of tables."""
    gathered: list[str] = []
    for line in [*BLOCK.sub("\n", written).splitlines(), ""]:
        if not line.strip() or line.startswith(("#", "|")) or ITEM.match(line):
            if gathered:
                yield " ".join(gathered)
            gathered = []
        if line.startswith("|"):
            yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")))
        elif line.startswith("#"):
            yield line.lstrip("# ")
        elif line.strip():
            gathered.append(ITEM.sub("", line).strip())


def sentences(piece: str) -> list[str]:
    """Return the sentences of a paragraph, a cell or a string."""
    return [found for part in piece.split("\n") for found in END.split(part.strip()) if found]


def of_page(page: str) -> Iterator[str]:
    """Yield the sentences of a page without examples."""
    written = re.sub(r"^\|.*", "", PAGES[page], flags=re.MULTILINE) if page in OF_FORMS else PAGES[page]
    for piece in pieces(GUIDE.sub("", written)):
        yield from sentences(plain(piece))


def of_forms(texts: Any) -> Iterator[str]:
    """Yield the sentences of all texts in a translation file."""
    if isinstance(texts, dict):
        for value in texts.values():
            yield from of_forms(value)
    else:
        for line in str(texts).splitlines():
            yield from sentences(plain(ITEM.sub("", line)))


def of_docstrings() -> Iterator[str]:
    """Yield the sentences of all docstrings of the integration."""
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                for piece in (ast.get_docstring(node) or "").split("\n\n"):
                    yield from sentences(plain(" ".join(piece.split())))
