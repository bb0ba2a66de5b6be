"""The state that a query asks for: `on`, `open`, `low`, `>25`, or a word of the speaker's language."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from homeassistant.core import HomeAssistant, State
from homeassistant.helpers.translation import async_get_translations

from ...context.kind_lines import battery_level, is_active
from ...context.states import describe_state
from ...domains import DOMAINS
from ...domains.binary_sensor import BATTERY, BINARY_WORDS, LOW_BATTERY
from ...domains.showing import AT_REST, GONE
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.spoken_words import known_language, state_meanings
from ...regex import lazy_regex
from ...texts import as_number, fold, one_line

MAX_WORDS: Final = 5
MAX_KNOWN: Final = 8
MAX_WORD: Final = 20
CATEGORY: Final = "entity_component"

_SEPARATOR: Final = lazy_regex(r"[,;|/]|\bor\b")
_COMPARISON: Final = lazy_regex(
    r"([<>]=?|=)?\s*(-?\d{1,9}(?:[.,]\d{1,4})?)\s*(?:%|°?[a-zA-Z]{0,4})?\s*([+]?)"
)

_STATE_KEY: Final = lazy_regex(
    r"component\.(?P<domain>\w+)\.entity_component\.(?P<kind>\w+)"
    r"\.(?:state_attributes\.(?:hvac_)?action\.)?state\.(?P<state>[\w-]+)"
)
"""Keys of translations that name a state, or what a thermostat or a humidifier is doing."""

type Test = Callable[[EntityRecord, State], bool]
type StateNames = Mapping[tuple[str, str], Mapping[str, frozenset[str]]]
"""Domain and class: names of states in words, with the states that are called so."""


@dataclass(frozen=True, slots=True)
class StateFilter:
    """Finds the entities in a state; in one of several, if there is more than one test."""

    said: str
    tests: Sequence[Test] = field(default=())

    def matches(self, record: EntityRecord, state: State) -> bool:
        """Return whether an entity is in the state."""
        return any(test(record, state) for test in self.tests)


async def async_read_filter(
    hass: HomeAssistant,
    said: str,
    members: Sequence[tuple[EntityRecord, State]],
    language: str,
    *,
    broad: bool,
) -> StateFilter:
    """Return the filter that a text means for some entities.

    If it is `broad`, nothing tells which kinds are meant, and "on" means devices only.
    Raises ValidationError with the states that there are for a word that is no state of any of them.
    """
    domains = sorted({record.domain for record, _state in members})
    spoken = dict.fromkeys((known_language(language), "en"))
    names = _state_names([await async_get_translations(hass, one, CATEGORY, domains) for one in spoken])
    tests = []
    parts = [part.strip() for part in _SEPARATOR.split(said.strip().strip("'\""))]
    for word in [part for part in parts if part][:MAX_WORDS]:
        test = _comparison(word) or _of_word(word, members, names, broad=broad)
        if test is None:
            raise ValidationError(_unknown(word, members))
        tests.append(test)
    return StateFilter(one_line(said, 40), tests)


def _unknown(word: str, members: Iterable[tuple[EntityRecord, State]]) -> str:
    shown = dict.fromkeys(
        state.state
        for _record, state in members
        if as_number(state.state) is None and len(state.state) <= MAX_WORD
    )
    known = ", ".join(one_line(one, MAX_WORD) for one in list(shown)[:MAX_KNOWN])
    return f"state: {word[:40]!r} is no state of these. They are: {known or 'numbers, give >25'}"


def _comparison(word: str) -> Test | None:
    """Return the test for a number: ">25", "<= 20 %", "25+"."""
    found = _COMPARISON.fullmatch(word)
    if found is None:
        return None
    number, sign = float(found[2].replace(",", ".")), (">=" if found[3] else found[1] or "=")

    def test(_record: EntityRecord, state: State) -> bool:
        value = as_number(state.state)
        for name in DOMAINS[state.domain].measures.values() if value is None else ():
            value = as_number(str(state.attributes.get(name)))
            if value is not None:
                break
        return value is not None and (
            (value > number and ">" in sign)
            or (value < number and "<" in sign)
            or (value == number and "=" in sign)
        )

    return test


def _of_word(
    said: str, members: Iterable[tuple[EntityRecord, State]], names: StateNames, *, broad: bool
) -> Test | None:
    """Return the test for a state in words; None if it is none of these entities' states."""
    word = fold(said.replace("_", " "))
    english = state_meanings().get(word, word)
    meant = _MEANINGS.get(english)

    def is_called_so(record: EntityRecord, state: State) -> bool:
        if not {word, english}.isdisjoint((fold(state.state.replace("_", " ")), *_shown(record, state))):
            return True
        known = names.get((record.domain, record.device_class or "_")) or names.get((record.domain, "_"), {})
        action = str(state.attributes.get("hvac_action") or state.attributes.get("action") or "")
        return not known.get(word, frozenset()).isdisjoint((state.state, action))

    def test(record: EntityRecord, state: State) -> bool:
        if meant is not None and meant(record, state):
            return not broad or meant is not _is_on or _works(record, state)
        if broad and meant is not None:
            return False
        return is_called_so(record, state)

    known = meant is not None or english != word or any(word in table for table in names.values())
    return test if known or any(is_called_so(*member) for member in members) else None


def _shown(record: EntityRecord, state: State) -> Sequence[str]:
    """Return the words for the state of an entity, and what it is doing."""
    actions = (state.attributes.get("hvac_action"), state.attributes.get("action"))
    shown = describe_state(state, record, aged=False).partition(",")[0]
    return [fold(str(text).replace("_", " ")) for text in (shown, *actions) if text]


def _state_names(translations: Iterable[Mapping[str, str]]) -> StateNames:
    found: dict[tuple[str, str], dict[str, frozenset[str]]] = {}
    for key, text in ((key, text) for strings in translations for key, text in strings.items()):
        if named := _STATE_KEY.fullmatch(key):
            table = found.setdefault((named["domain"], named["kind"]), {})
            table[fold(text)] = table.get(fold(text), frozenset()) | {named["state"]}
    return found


def _works(record: EntityRecord, state: State) -> bool:
    """Return whether people mean an entity by "what is on": a device that is doing something."""
    facts = DOMAINS[record.domain]
    if state.attributes.get("hvac_action") in AT_REST or state.attributes.get("action") in AT_REST:
        return False
    return facts.is_switched_with_everything or facts.is_lively or facts.in_everything


def _on_word(record: EntityRecord) -> str:
    return BINARY_WORDS.get(record.device_class or "", ("on", "off"))[0]


def _is_on(record: EntityRecord, state: State) -> bool:
    facts = DOMAINS[record.domain]
    if facts.active in _OPEN:
        return False
    return state.state == "on" or (
        is_active(state) and ("turn_off" in facts.actions or state.state == facts.active)
    )


def _is_off(record: EntityRecord, state: State) -> bool:
    facts = DOMAINS[record.domain]
    if facts.active in _OPEN or state.state in GONE:
        return False
    return state.state == "off" or ("turn_off" in facts.actions and not is_active(state))


def _is_open(record: EntityRecord, state: State) -> bool:
    if record.domain == "binary_sensor":
        return _on_word(record) == "open" and state.state == "on"
    if record.domain == "lock":
        return state.state in {"open", "opening"}
    return DOMAINS[record.domain].active == "open" and is_active(state)


def _is_closed(record: EntityRecord, state: State) -> bool:
    if record.domain == "binary_sensor":
        return _on_word(record) == "open" and state.state == "off"
    return state.state == "closed"


def _is_unlocked(record: EntityRecord, state: State) -> bool:
    if record.domain == "binary_sensor":
        return _on_word(record) == "unlocked" and state.state == "on"
    return record.domain == "lock" and is_active(state)


def _is_locked(record: EntityRecord, state: State) -> bool:
    if record.domain == "binary_sensor":
        return _on_word(record) == "unlocked" and state.state == "off"
    return record.domain == "lock" and state.state == "locked"


def _is_low(record: EntityRecord, state: State) -> bool:
    level = battery_level(state) if record.device_class == BATTERY else None
    return level is not None and level <= LOW_BATTERY


def _is_home(record: EntityRecord, state: State) -> bool:
    return state.state == "home" or (_on_word(record) == "home" and state.state == "on")


def _is_away(record: EntityRecord, state: State) -> bool:
    if record.domain in {"person", "device_tracker"}:
        return state.state not in {"home", *GONE}
    return record.domain == "binary_sensor" and _on_word(record) == "home" and state.state == "off"


def _acts(action: str, mode: str) -> Test:
    """Return the test whether a thermostat is doing something; its mode tells where it does not say that."""

    def test(_record: EntityRecord, state: State) -> bool:
        doing = state.attributes.get("hvac_action")
        return doing == action if doing else state.state == mode

    return test


_OPEN: Final = frozenset({"open", "unlocked", "home"})
_MEANINGS: Final[Mapping[str, Test]] = {
    "on": _is_on,
    "off": _is_off,
    "open": _is_open,
    "closed": _is_closed,
    "unlocked": _is_unlocked,
    "locked": _is_locked,
    "low": _is_low,
    "home": _is_home,
    "away": _is_away,
    "heating": _acts("heating", "heat"),
    "cooling": _acts("cooling", "cool"),
    "unavailable": lambda _record, state: state.state == "unavailable",
    "unknown": lambda _record, state: state.state == "unknown",
}
"""What states in the words of every home mean, whatever an entity calls them."""
