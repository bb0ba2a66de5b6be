"""Triggers and conditions that a model writes as text, or as numbers within text, put into their slots."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from ...errors import ValidationError
from ...knowledge.name_index import name_index
from ...knowledge.names import squash, without_article
from ...languages.times import in_english
from ...memory.sentences import negations
from ...regex import lazy_regex
from ..base import ToolRun
from ..query.targets import with_door_sensors
from .items import CONDITION_FORMS, FORMS, SENTENCE, Item
from .moments import read_time, read_weekdays, take_length
from .people import Comings
from .states import StateWords
from .windows import SUN, lit
from .words import split_by

_NUMBER: Final = lazy_regex(r"[+]?(-?\d{1,9}(?:[.,]\d{1,6})?)\s*(?:%|°\s*[cfk]?|[^\W\d]{0,12})?\.?")
_COMPARED: Final = lazy_regex(r"([<>])=?\s*(.+)")
_FIRST: Final = lazy_regex(r"-?\d{1,9}(?:[.,]\d{1,6})?")
_BETWEEN: Final = lazy_regex(r" ?[-\u2013] ?| (?:to|until|and) ")
"""What is between the ends of a time window."""
SIDES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("after", "since", "from"), "after"),
    **dict.fromkeys(("before", "until"), "before"),
}
"""The end of a time window that a word begins."""


class WrittenClauses:
    """Reads the clauses of one call that are written as text."""

    def __init__(self, run: ToolRun, states: StateWords, comings: Comings) -> None:
        self._run = run
        self._states = states
        self._language = run.speaker.language
        self._comings = comings

    def opened(self, item: Item, slot: str) -> Item:
        """Return a clause that was written as text, or with a comparison in its state, by its slots."""
        if SENTENCE in item:
            return {**self._sentence(str(item[SENTENCE]), slot), **_without(item, SENTENCE)}
        said = item.get("to")
        if (
            isinstance(said, str)
            and not item.keys() & {"above", "below", "sun"}
            and item.get("entity") != SUN
        ):
            if match := _COMPARED.fullmatch(said.strip()):
                way = "above" if match[1] == ">" else "below"
                return {**_without(item, "to"), way: match[2]}
            for way in ("above", "below"):
                if (parts := split_by(said, way, self._language)) and parts[1]:
                    return {**_without(item, "to"), way: _number_in(said)}
        return item

    def _sentence(self, text: str, slot: str) -> Item:
        if (coming := self._comings.in_words(text)) is not None:
            return coming
        for way in ("above", "below"):
            if (parts := split_by(text, way, self._language)) and parts[0]:
                _, seconds = take_length(parts[1].split(), self._language)
                item: Item = {"entity": self._named_in(parts[0]), way: _number_in(text)}
                return {**item, "for": {"seconds": seconds}} if seconds else item
        return self._time(text, slot) or self._with_state(text, slot)

    def _time(self, text: str, slot: str) -> Item | None:
        """Return the slots of a text that is a time, a time window or days; None for any other text."""
        if slot == "if" and (window := self.window(text)):
            return window
        if slot == "if" and self._is_days(text):
            return {"days": text}
        if lit(text, self._language) is not None:
            return {"time": text}
        try:
            read_time(self._run.hass, text, self._language)
        except ValidationError:
            return None
        return {"time": text}

    def window(self, text: str) -> Item | None:
        """Return the ends of a time window: "after sunset", "between 22:00 and 6:00"; None for other text."""
        if (window := lit(text, self._language)) is not None:
            return {**window}
        for form in (text.casefold(), *in_english(text, self._language)):
            for separator in _BETWEEN.finditer(form):
                first, start = _side(form[: separator.start()].removeprefix("between "))
                second, end = _side(form[separator.end() :])
                if self._is_time(start) and self._is_time(end):
                    if (first, second) == ("before", "after"):
                        start, end = end, start
                    elif first == "before" or second == "after":
                        continue
                    return {"after": start, "before": end}
            side, rest = _side(form)
            if side and rest:
                return {side: rest}
        return None

    def _is_time(self, text: str) -> bool:
        try:
            return not read_time(self._run.hass, text, self._language).days
        except ValidationError:
            return False

    def _is_days(self, text: str) -> bool:
        try:
            read_weekdays(text, self._language)
        except ValidationError:
            return False
        return True

    def _named_in(self, text: str) -> str:
        said = without_article(text).split()
        exact = name_index(self._run.house).exact
        for size in range(len(said), 0, -1):
            if found := exact.get(squash(" ".join(said[:size]))):
                return found[0] if len(found) == 1 else " ".join(said[:size])
        return " ".join(said)

    def _with_state(self, text: str, slot: str) -> Item:
        """Return the entity and the state of a text: "the front door opens"."""
        words, seconds = take_length(without_article(text).split(), self._language)
        exact = name_index(self._run.house).exact
        for size in range(len(words), 0, -1):
            ids = exact.get(squash(" ".join(words[:size])), ())
            record = self._run.house.entities.get(ids[0]) if len(ids) == 1 else None
            if record is None:
                continue
            for start in range(size, len(words)):
                if negations().intersection(words[size:start]):
                    break
                # What a lock does not know may be a state of its door.
                for each in reversed(with_door_sensors(self._run.house, [record])):
                    if wanted := self._state_said(each.entity_id, " ".join(words[start:])):
                        item: Item = {"entity": each.entity_id, "to": wanted}
                        return {**item, "for": {"seconds": seconds}} if seconds else item
        forms = FORMS if slot == "when" else CONDITION_FORMS
        raise ValidationError(f"{slot}: {text[:40]!r} is not understood. Give {forms}"[:300])

    def _state_said(self, entity_id: str, text: str) -> str | None:
        """Return the state of an entity that a text means; None if it has none of that name."""
        state = self._run.hass.states.get(entity_id)
        try:
            return None if state is None else self._states.read(state, text)
        except ValidationError:
            return None


def read_number(value: Any, slot: str) -> float:
    """Return a number that may have a unit. Raises ValidationError."""
    text = str(value).strip().replace("\u2212", "-").replace("\u2013", "-")
    match = _NUMBER.fullmatch(text.casefold())
    number = float(match[1].replace(",", ".")) if match and not isinstance(value, bool) else float("nan")
    if not isfinite(number):
        raise ValidationError(f"{slot}: {text[:40]!r} is no number")
    return int(number) if number.is_integer() else number


def _number_in(text: str) -> str:
    """Return the first number of a text that is compared with one."""
    found = _FIRST.search(text.replace("\u2212", "-").replace("\u2013", "-"))
    return found[0] if found else text


def _without(item: Item, slot: str) -> Item:
    return {key: value for key, value in item.items() if key != slot}


def _side(form: str) -> tuple[str, str]:
    """Return which end of a window a text begins, empty if it does not say so, and the rest of it."""
    word, _, rest = form.strip().partition(" ")
    return (SIDES[word], rest.strip()) if word in SIDES else ("", form.strip())
