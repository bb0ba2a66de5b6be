"""Names of entities instead of the ids that a model repeats."""

from bisect import bisect_left
from collections.abc import Mapping
import re
from string import ascii_lowercase, digits
from typing import Final

from ..knowledge.house import HouseSnapshot
from ..languages import DEFAULT, find, words
from ..regex import lazy_regex
from ..texts import fold

TAIL_CHARS: Final = 80
"""How much of the answer is kept, to see what precedes an id."""
_ID_CHARS: Final = f"{ascii_lowercase}{digits}_."
_ID: Final = lazy_regex(r"( ?\()?(?<![\w./@\\=-])([a-z_]{1,40}\.[a-z0-9_]{1,120})(?!\.?\w)(\))?")
_CODE: Final = lazy_regex("entity_id|```")
"""Behind this an answer is code, which needs ids."""
_WORD: Final = lazy_regex(r"[\w.]+")


class NamesForIds:
    """Filters one answer as it arrives. The result does not depend on how the answer was cut."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._ids = list(names)
        self._held = ""
        self._tail = ""
        self._is_code = False

    def feed(self, text: str, *, final: bool = False) -> str:
        """Take the next piece and return the text that is certain by now."""
        text = self._held + text
        cut = len(text) if final or self._is_code or not self._ids else self._certain(text)
        self._held = text[cut:]
        whole, at = f"{self._tail}{text[:cut]}", len(self._tail)
        self._tail = whole[-TAIL_CHARS:]
        code = _CODE.search(whole)
        said: list[str] = []
        for token in (
            _ID.finditer(whole, at, code.start() if code else len(whole)) if not self._is_code else ()
        ):
            said += whole[at : token.start()], self._name(token)
            at = token.end()
        self._is_code = self._is_code or code is not None
        return "".join((*said, whole[at:]))

    def _certain(self, text: str) -> int:
        """Return where the beginning of an id, or of the bracket before it, may have been cut off."""
        start = len(text.rstrip(_ID_CHARS))
        id_part = text[start:].rstrip(".")
        at = bisect_left(self._ids, id_part)
        if start < len(text) and not (at < len(self._ids) and self._ids[at].startswith(id_part)):
            return len(text)
        start -= text.endswith("(", 0, start)
        return start - text.endswith(" ", 0, start)

    def _name(self, token: re.Match[str]) -> str:
        """Return the name of the entity; nothing for an id in brackets behind the name."""
        opening, entity_id, closing = token.groups(default="")
        name = self._names.get(entity_id, entity_id)
        is_told = opening and closing and token.string.endswith(name, 0, token.start())
        return "" if is_told else f"{opening}{name}{closing}"


def names_for_ids(house: HouseSnapshot, sentence: str, language: str) -> NamesForIds:
    """Return the filter of one answer; who asks for ids or code gets them."""
    parts = {part.rstrip(".") for part in _WORD.findall(sentence)}
    asking = {word for each in (DEFAULT, find(language) or DEFAULT) for word in words(each, "questions.ids")}
    is_named = any(part.casefold() in house.entities for part in parts)
    keeps_ids = is_named or {*map(fold, parts)} & {*map(fold, asking)}
    return NamesForIds({} if keeps_ids else house.derived("names by id", _names))


def _names(house: HouseSnapshot) -> Mapping[str, str]:
    return {key: record.name for key, record in house.entities.items()}
