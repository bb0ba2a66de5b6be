"""Texts for people are plain: no forbidden phrases and terms, no endless sentences."""

import ast
from collections.abc import Iterable, Iterator
import re
from typing import Any

import yaml

from tests.helpers.checks import every, for_each
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


TABLE: dict[str, Any] = yaml.safe_load((ROOT / "tests/project/words.yaml").read_text(encoding="utf-8"))
AVOID = [(re.compile(row["avoid"], re.IGNORECASE), row) for row in (*TABLE["phrases"], *TABLE["terms"])]
FORMS = yaml.safe_load((PACKAGE / "translations" / "en.json").read_text(encoding="utf-8"))
HELD = [page for page in PAGES if page not in NOT_HELD]


def problems(sentences: Iterable[str], kind: str) -> list[str]:
    """Return what is wrong with sentences of a kind of text, and what to write instead."""
    patterns = [(pattern, row["use"]) for pattern, row in AVOID if row.get(kind, True)]
    longest = TABLE["longest"].get(kind)
    found = []
    for sentence in every(sentences):
        found += [
            f"{match[0]!r}, write {use!r}: {sentence}"
            for pattern, use in patterns
            if (match := pattern.search(sentence))
        ]
        if longest and (words := len(sentence.split())) > longest:
            found.append(f"{words} words: {sentence}")
    return found


@for_each("page", HELD)
def test_pages(page: str) -> None:
    assert problems(of_page(page), "pages") == []


def test_forms() -> None:
    assert problems(of_forms(FORMS), "forms") == []


def test_docstrings() -> None:
    assert problems(of_docstrings(), "docstrings") == []
