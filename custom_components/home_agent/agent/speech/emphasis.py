"""Tells the stars, underscores and tildes of markdown from those that mean something."""

from collections.abc import Callable
from typing import ClassVar
import unicodedata


def is_word(char: str) -> bool:
    """Return whether a character belongs to a word: a letter, a digit or a mark on one."""
    return bool(char) and (char.isalnum() or unicodedata.category(char)[0] == "M")


def _is_operator(before: str, after: str, *, single: bool) -> bool:
    """Return whether stars between two characters multiply them."""
    if not (is_word(before) and is_word(after)):
        return False
    return before.isdigit() or after.isdigit() or (single and before.isascii() and after.isascii())


class Emphasis:
    """Follows the emphasis of one line."""

    def __init__(self) -> None:
        """Start without emphasis."""
        self.open = False

    def keeps(self, run: str, before: str, after: str, last: str) -> bool:
        """Return whether a run of one character is to be read.

        `before` and `after` are its neighbours, `last` is the last character that is no space.
        """
        if before == run[0]:
            return False
        return self._RULES[run[0]](self, run, before, after, last)

    def _star(self, run: str, before: str, after: str, last: str) -> bool:
        """Return whether stars are a sign, as in 2*3, 3 * 4 and a footnote."""
        opens = bool(after) and not after.isspace()
        closes = not before.isspace()
        single = len(run) == 1
        if not opens and not closes:
            return single or last.isdigit()
        if not self.open:
            if not closes:
                sign = single and after.isdigit() and last.isdigit()
            elif not opens:
                sign = single
            else:
                sign = _is_operator(before, after, single=single)
            if sign:
                return True
        self.open = opens and not (closes and self.open)
        return False

    def _underscore(self, _run: str, before: str, after: str, _last: str) -> bool:
        """Return whether underscores belong to a name."""
        return is_word(before) and is_word(after)

    def _tilde(self, run: str, _before: str, _after: str, _last: str) -> bool:
        """Return whether a tilde means about."""
        return len(run) == 1

    _RULES: ClassVar[dict[str, Callable[[Emphasis, str, str, str, str], bool]]] = {
        "*": _star,
        "_": _underscore,
        "~": _tilde,
    }
