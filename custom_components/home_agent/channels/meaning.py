"""Which of several answers a sentence names."""

from collections.abc import Mapping
from typing import Final

from ..safety.answers import Answer, read_reply
from ..texts import fold

YES: Final = "yes"
NO: Final = "no"


def meant(heard: str, titles: Mapping[str, str], language: str) -> str | None:
    """Return the one answer that a sentence names; None if it names none or several."""
    if set(titles) == {YES, NO}:
        read = read_reply(heard, language).answer
        return {Answer.YES: YES, Answer.NO: NO}.get(read)
    said = f" {' '.join(_words(heard))} "
    found = [answer for answer, title in titles.items() if f" {' '.join(_words(title))} " in said]
    return found[0] if len(found) == 1 else None


def _words(text: str) -> list[str]:
    """Return the words of a text, without marks."""
    return "".join(letter if letter.isalnum() else " " for letter in fold(text)).split()
