"""Statements about every item of a list, and about every row of a table."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, iscoroutinefunction, signature
from typing import Any

import pytest

from tests.helpers.examples import FAST


def every[Item](items: Iterable[Item]) -> list[Item]:
    """Return the items; fail if there are none, because a statement about all of none is always true."""
    found = list(items)
    assert found, "there is nothing to make a statement about"
    return found


def for_each(names: str | tuple[str, ...], table: Iterable[Any]) -> Callable[[Callable[..., Any]], Any]:
    """Run a test for each row of a table with one set-up, as one case with subtests.

    The rows must leave nothing behind. It takes what `pytest.mark.parametrize` takes, and may stand above
    another one.
    """
    columns = tuple(names.replace(",", " ").split()) if isinstance(names, str) else names
    values = every(table)
    chosen = values[:: max(1, len(values) - 1)] if FAST else values

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        others = [each for each in signature(test).parameters.values() if each.name not in columns]
        is_stacked = any(each.name == "subtests" for each in others)

        rows = [dict(zip(columns, one if len(columns) > 1 else (one,), strict=True)) for one in chosen]

        @wraps(test)
        def run(subtests: pytest.Subtests, **given: Any) -> None:
            for row in rows:
                with subtests.test(**row):
                    test(**row, **given, **({"subtests": subtests} if is_stacked else {}))

        @wraps(test)
        async def run_async(subtests: pytest.Subtests, **given: Any) -> None:
            for row in rows:
                with subtests.test(**row):
                    await test(**row, **given)

        chosen_run = run_async if iscoroutinefunction(test) else run
        own = Parameter("subtests", Parameter.KEYWORD_ONLY)
        kept = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in others if each.name != "subtests"]
        new = signature(test).replace(parameters=[own, *kept])
        chosen_run.__signature__ = new  # type: ignore[attr-defined]
        return chosen_run

    return decorate
