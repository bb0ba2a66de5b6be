"""States as people and models say them, as Home Assistant keeps them."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Final

from homeassistant.core import HomeAssistant, State
from homeassistant.helpers.translation import async_get_translations

from ...domains import DOMAINS
from ...domains.binary_sensor import BINARY_WORDS
from ...errors import ValidationError
from ...knowledge.names import word_similarity
from ...languages import DEFAULT, find, languages_with, table
from ...memory.sentences import negations
from ...texts import fold

CATEGORY: Final = "entity_component"
SAME: Final = 0.86
ON_OFF: Final = frozenset({"on", "off"})
MAX_STATE: Final = 60
TRUE: Final = {True: "on", False: "off"}
"""What YAML makes of on and off."""
MODES: Final[Mapping[str, str]] = {"climate": "hvac_modes", "water_heater": "operation_list"}
"""The attribute with the states of an entity, where not every entity of a domain has all of them."""
MOMENTS: Final = frozenset({"event", "button", "input_button", "scene"})
"""Domains whose state is the time of what happened last."""
TIMES: Final = frozenset({"timestamp", "date", "uptime"})
"""Device classes of sensors whose state is a time."""
GONE: Final = "unavailable"


class StateWords:
    """The names of states in the speaker's language and in English."""

    def __init__(self, names: Mapping[str, str], language: str, zones: Sequence[str] = ()) -> None:
        self._names = names
        self._language = language
        self._zones = zones

    @classmethod
    async def async_load(cls, hass: HomeAssistant, language: str) -> StateWords:
        """Return the names of states that Home Assistant shows."""
        names: dict[str, str] = {}
        for each in dict.fromkeys((DEFAULT, language)):
            for key, name in (await async_get_translations(hass, each, CATEGORY)).items():
                names[f"{each}.{key}"] = name
        return cls(names, language, [zone.name for zone in hass.states.async_all("zone")])

    def allowed(self, state: State) -> dict[str, list[str]]:
        """Return the states that an entity can have, each with its names; empty if they are not known."""
        found: dict[str, list[str]] = {}
        if isinstance(options := state.attributes.get("options"), list | tuple):
            found |= {str(option): [str(option)] for option in options}
        classes = [str(state.attributes.get("device_class") or "_"), "_"]
        for each in (DEFAULT, self._language):
            for device_class in classes:
                start = f"{each}.component.{state.domain}.{CATEGORY}.{device_class}.state."
                own = {key[len(start) :]: name for key, name in self._names.items() if key.startswith(start)}
                if own:
                    for key, name in own.items():
                        found.setdefault(key, [key]).append(name)
                    break
        if state.domain == "binary_sensor":
            pair = BINARY_WORDS.get(classes[0], ())
            for key, word in zip(("on", "off"), pair, strict=False):
                found.setdefault(key, [key]).append(word)
        for action in DOMAINS[state.domain].actions.values():
            for key in (*action.expected, *action.passing):
                found.setdefault(key, [key])
        modes = state.attributes.get(MODES.get(state.domain, ""))
        if isinstance(modes, list | tuple) and modes:
            found = {key: said for key, said in found.items() if key in modes}
        if state.domain == "device_tracker":
            found |= {name: [name] for name in self._zones}
        return found

    def shown(self, state: State, value: str) -> str:
        """Return the name of a state as a sentence says it."""
        names = self.allowed(state).get(value, [value])
        device_class = str(state.attributes.get("device_class") or "_")
        for each in (device_class, "_"):
            key = f"{self._language}.component.{state.domain}.{CATEGORY}.{each}.state.{value}"
            if key in self._names:
                return self._names[key]
        return names[1] if len(names) > 1 else value

    def read(self, state: State, said: object) -> str:
        """Return the state that a word means. Raises ValidationError naming the states that there are."""
        value = TRUE[said] if isinstance(said, bool) else str(said).strip()
        allowed = self.allowed(state)
        if value in allowed or not value:
            return value
        word = fold(value.replace("_", " "))
        for key, names in allowed.items():
            if any(word == fold(name.replace("_", " ")) for name in names):
                return key
        if (meant := self._meant(word, allowed)) is not None:
            return meant
        verb, _, last = word.partition(" ")
        if last in ON_OFF and last in allowed and verb not in negations():  # "turns on"
            return last
        if word == GONE or self._meant(word, {GONE: [GONE]}) is not None:
            return GONE
        if not allowed or (state.domain == "sensor" and "options" not in state.attributes):
            _check_text(state, value)
            return state.state if word == fold(state.state) else value[:MAX_STATE]
        near = get_close_matches(word, [name for names in allowed.values() for name in names], 3, 0.5)
        raise ValidationError(
            f"to: {value[:40]!r} is no state of {state.entity_id}. "
            f"Allowed: {', '.join(dict.fromkeys((*near, *allowed)))}"[:300]
        )

    def _meant(self, word: str, allowed: Mapping[str, list[str]]) -> str | None:
        own = find(self._language)
        for each in dict.fromkeys((own, DEFAULT, *languages_with("names"))):
            if each is None or (canonical := _states(each).get(word)) is None:
                continue
            for key, names in allowed.items():
                if any(fold(canonical) == fold(name) for name in (key, *names)):
                    return key
        said = {**_states(DEFAULT), **(_states(own) if own else {})}
        near = {
            key
            for key, names in allowed.items()
            for known in (*names, *(each for each, state in said.items() if state in (key, *names)))
            if word_similarity(word, fold(known)) >= SAME
        }
        return near.pop() if len(near) == 1 else None


def _check_text(state: State, value: str) -> None:
    """Raise ValidationError for a state that an entity cannot have: a word for a number or for a time."""
    kinds = state.attributes
    if state.domain in MOMENTS or kinds.get("device_class") in TIMES:
        raise ValidationError(
            f"to: {value[:40]!r} is no state of {state.entity_id}: its state is a time. As a trigger, leave "
            "out to: it starts whenever the time changes"
        )
    unit = str(kinds.get("unit_of_measurement") or "")
    if unit or kinds.get("state_class"):
        now = f"{state.state} {unit}".strip()
        raise ValidationError(
            f"to: {value[:40]!r} is no state of {state.entity_id}: it is a number, now {now}. "
            "Give above or below"
        )


@cache
def _states(language: str) -> Mapping[str, str]:
    found = {
        fold(word): state
        for state, said in (table(language, "topics") or {}).items()
        if state in ("on", "off", "open", "closed", "locked", "playing") and isinstance(said, list)
        for word in said
        if "*" not in word
    }
    named = table(language, "names.states") or {}
    return found | {fold(word): state for state, said in named.items() for word in said}
