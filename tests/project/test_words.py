"""Texts for people are plain: no forbidden phrases and terms, no endless sentences."""

from collections.abc import Iterable
import re
from typing import Any

import pytest
import yaml

from tests.helpers.checks import every
from tests.helpers.documents import PAGES, ROOT
from tests.helpers.prose import NOT_HELD, PACKAGE, of_docstrings, of_forms, of_page

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


@pytest.mark.parametrize("page", HELD)
def test_pages(page: str) -> None:
    assert problems(of_page(page), "pages") == []


def test_forms() -> None:
    assert problems(of_forms(FORMS), "forms") == []


def test_docstrings() -> None:
    assert problems(of_docstrings(), "docstrings") == []


@pytest.mark.parametrize(
    ("sentence", "avoided"),
    [
        ("Who is no administrator gets their own memories.", 2),
        ("It waits for a person's word.", 2),
        ("This is no address of a server.", 1),
        ("The index is made anew.", 1),
        ("There is no tool with this name.", 0),
        ("Home Agent no longer has the model.", 0),
        ("Who can see my memories?", 0),
        ("The state is in the block that follows the sentence.", 0),
    ],
)
def test_what_is_found(sentence: str, avoided: int) -> None:
    assert len(problems([sentence], "pages")) == avoided
