"""Statements about every item of a list that must not be empty."""

from collections.abc import Iterable


def every[Item](items: Iterable[Item]) -> list[Item]:
    """Return the items; fail if there is none, since then a statement about each of them holds nothing."""
    found = list(items)
    assert found, "there is nothing to look at"
    return found
