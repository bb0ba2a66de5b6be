"""What a model repeats of its context: ids of entities become names, labels at the beginning are cut."""

from bisect import bisect_left
from collections.abc import Collection, Mapping
from typing import Final

from ..knowledge.records import HouseSnapshot
from ..languages import DEFAULT, find, words
from ..regex import lazy_regex
from ..texts import fold, is_word

CODE: Final = "entity_id"
"""Behind this word an answer is code, which needs ids."""
NAMES: Final = "names by id"
"""Key of what is derived from a snapshot."""
FENCE: Final = 3
"""Backticks around code."""
TAIL_CHARS: Final = 120
"""How much of what was said is kept, to see that a name precedes its id."""
_TOKEN: Final = lazy_regex(r"(?: ?\()?[\w.]+")
_OPEN: Final = lazy_regex(r" ?\($| $")
_ID_PARTS: Final = lazy_regex(r"[\w.]+")


class RepeatedContext:
    """Filters one answer as it arrives. The result does not depend on how the answer was cut."""

    def __init__(self, names: Mapping[str, str], labels: Collection[str]) -> None:
        """Take the names by entity id, sorted, and the lines of the context that are no answer."""
        self._names = names
        self._ids = list(names)
        self._labels = sorted(labels, key=len, reverse=True)
        self._beginning: str | None = ""
        """What may be labels, until the answer begins."""
        self._cut = ""
        self._held = ""
        self._tail = ""
        self._ticks = 0
        self._is_fenced = False
        self._is_code = False
        self._closes = False
        """Whether the bracket around an id that was left out is still open."""

    def feed(self, text: str, *, final: bool = False) -> str:
        """Take the next piece and return the text that is certain by now."""
        if self._beginning is not None:
            text = self._begin(text, final=final)
        return self._named(text, final=final)

    def _begin(self, text: str, *, final: bool) -> str:
        """Cut labels off the beginning; an answer that is nothing else stays as it is."""
        rest = (self._beginning or "") + text
        while True:
            stripped = rest.lstrip()
            if not final and any(label.startswith(stripped) for label in self._labels):
                self._beginning = rest
                return ""
            label = next((one for one in self._labels if stripped.startswith(one)), None)
            if label is None:
                break
            length = len(rest) - len(stripped) + len(label)
            self._cut += rest[:length]
            rest = rest[length:]
        self._beginning = None
        if not self._cut:
            return rest
        return stripped or (self._cut + rest if final else "")

    def _named(self, text: str, *, final: bool) -> str:
        """Return a text with names instead of ids, as far as it is certain."""
        text, self._held = self._held + text, ""
        if not self._ids:
            return text
        at = 0
        out: list[str] = []
        for found in _TOKEN.finditer(text):
            self._say(text[at : found.start()], out)
            at = found.end()
            if at == len(text) and not final and self._may_grow(found[0]):
                self._held = found[0]
                return "".join(out)
            self._say_token(found[0], out)
        rest = text[at:]
        if not final and (waiting := _OPEN.search(rest)):
            self._held = waiting[0]
            rest = rest[: waiting.start()]
        self._say(rest, out)
        return "".join(out)

    def _may_grow(self, token: str) -> bool:
        """Return whether a token at the end of a piece may be the beginning of an id."""
        parts = _ID_PARTS.search(token)
        bare = parts[0].rstrip(".") if parts else ""
        at = bisect_left(self._ids, bare)
        return bool(bare) and at < len(self._ids) and self._ids[at].startswith(bare)

    def _say_token(self, token: str, out: list[str]) -> None:
        """Say a word, or the name of the entity whose id it is."""
        bare = token.lstrip(" (").rstrip(".")
        opening, end = token[: len(token) - len(token.lstrip(" ("))], token[len(token.rstrip(".")) :]
        before = opening[-1:] or self._tail[-1:]
        name = self._names.get(bare)
        if (
            name is None
            or self._is_code
            or self._is_fenced
            or (before and (is_word(before) or before in "./@\\-="))
        ):
            self._say(token, out)
        elif opening and not end and self._tail.endswith(name):
            self._closes = True
        else:
            self._say(f"{opening}{name}{end}", out)

    def _say(self, text: str, out: list[str]) -> None:
        """Let text out."""
        if self._closes and text:
            self._closes, text = False, text.removeprefix(")")
        for char in text:
            self._ticks = self._ticks + 1 if char == "`" else 0
            if self._ticks == FENCE:
                self._ticks, self._is_fenced = 0, not self._is_fenced
        self._tail = (self._tail + text)[-TAIL_CHARS:]
        self._is_code = self._is_code or CODE in self._tail
        out.append(text)


def repeated_context(
    house: HouseSnapshot, labels: Collection[str], sentence: str, language: str
) -> RepeatedContext:
    """Return the filter of one answer; who asks for ids or code gets them."""
    said = frozenset(fold(part.rstrip(".")) for part in _ID_PARTS.findall(sentence))
    asked = {
        fold(word) for each in (DEFAULT, find(language) or DEFAULT) for word in words(each, "questions.ids")
    }
    named = (part.rstrip(".") for part in _ID_PARTS.findall(sentence.casefold()))
    keeps_ids = bool(said & asked) or any(part in house.entities for part in named)
    return RepeatedContext({} if keeps_ids else house.derived(NAMES, _names), labels)


def _names(house: HouseSnapshot) -> Mapping[str, str]:
    """Return the names of the entities by id, sorted."""
    return {key: record.name for key, record in house.entities.items()}
