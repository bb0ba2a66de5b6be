"""Buttons."""

from typing import Final

from .base import ANY, Action, DomainFacts

_PRESS: Final = Action("press")

BUTTON, INPUT_BUTTON = (
    DomainFacts(
        name=name,
        actions={"press": _PRESS, "activate": _PRESS},
        synonyms=frozenset(("activate",)),
        turn_on="press",
        is_moment=True,
        contained=ANY,
    )
    for name in ("button", "input_button")
)
