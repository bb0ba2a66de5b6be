"""Statements about every item of a list that must not be empty."""

from collections.abc import Iterable


def every[Item](items: Iterable[Item]) -> list[Item]:
    """Return the items; fail if there are none, because a statement about all of none is always true."""
    found = list(items)
    assert found, "there is nothing to look at"
    return found
