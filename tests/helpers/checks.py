"""Statements about every item of a list, and about every row of a table."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

import pytest

from tests.helpers.examples import FAST


def every[Item](items: Iterable[Item]) -> list[Item]:
    """Return the items; fail if there are none, because a statement about all of none is always true."""
    found = list(items)
    assert found, "there is nothing to make a statement about"
    return found


def for_each(names: str | tuple[str, ...], table: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Run a test that needs no set-up for each row of a table, as one case with subtests.

    It takes what `pytest.mark.parametrize` takes, and may stand above another one.
    """
    columns = tuple(names.replace(",", " ").split()) if isinstance(names, str) else names
    values = every(table)
    chosen = values[:: max(1, len(values) - 1)] if FAST else values

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        others = [each for each in signature(test).parameters.values() if each.name not in columns]
        is_stacked = any(each.name == "subtests" for each in others)

        @wraps(test)
        def run(subtests: pytest.Subtests, **given: Any) -> None:
            for value in chosen:
                row = dict(zip(columns, value if len(columns) > 1 else (value,), strict=True))
                with subtests.test(**row):
                    test(**row, **given, **({"subtests": subtests} if is_stacked else {}))

        own = Parameter("subtests", Parameter.KEYWORD_ONLY)
        kept = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in others if each.name != "subtests"]
        run.__signature__ = signature(test).replace(parameters=[own, *kept])  # type: ignore[attr-defined]
        return run

    return decorate
