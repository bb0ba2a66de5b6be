"""Persons who come home and leave: triggers and conditions about one person, somebody or nobody."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from homeassistant.const import STATE_HOME, STATE_NOT_HOME, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import State, valid_entity_id

from ...automating.clauses import Clause
from ...errors import ValidationError
from ...knowledge.names import squash
from ...knowledge.persons import entity_of_person
from ...languages import table
from ...texts import first_name, fold
from ..base import ToolRun
from ..resolving.resolver import plain
from .items import Item
from .moments import held_for, read_for, take_length
from .words import is_self, means, split_by, spoken_in

PEOPLE: Final = "person"
ZONE: Final = "zone"
HOME: Final = "zone.home"
GONE: Final = [STATE_UNKNOWN, STATE_UNAVAILABLE]
ENTERING: Final = frozenset({"enter", "enters", "arrive", "arrives", "home"})
LEAVING: Final = frozenset({"leave", "leaves", "not_home", "away"})

NO_PERSONS: Final = (
    "person: Home Assistant has no persons. The household adds them under Settings > People. Nothing was "
    "created; say so"
)


class Who(StrEnum):
    """Persons who are not named."""

    NOBODY = "nobody"
    SOMEBODY = "somebody"
    EVERYBODY = "everybody"


class Comings:
    """Reads clauses about persons of the household, who need not be exposed: their state is not told."""

    def __init__(self, run: ToolRun) -> None:
        self._run = run
        self._language = run.speaker.language

    def trigger(self, item: Item) -> Clause | None:
        """Return the trigger of an item about persons; None for any other. Raises ValidationError."""
        if (read := self._read(item)) is None:
            return None
        who, comes, zone = read
        if isinstance(who, Who):
            clause = self._of_all(who, comes=comes, role="trigger")
        else:
            clause = self._of_persons(who, zone, comes=comes)
        return self._held(clause, item)

    def condition(self, item: Item) -> Clause | None:
        """Return the condition of an item about persons; None for any other. Raises ValidationError."""
        if (read := self._read(item)) is None:
            return None
        who, comes, zone = read
        if who is Who.EVERYBODY and comes:
            who = [state.entity_id for state in self._persons()]
        if isinstance(who, Who):
            return self._of_all(who, comes=comes, role="condition")
        if zone is not None:
            config: dict[str, Any] = {"condition": "zone", "entity_id": who, "zone": zone.entity_id}
            return Clause(
                key="is_at", config=config, entity_ids=tuple(who), values={"zone": plain(zone.name)}
            )
        state = {"condition": "state", "entity_id": who, "state": STATE_HOME}
        if comes:
            return self._held(Clause(key="is_home", config=state, entity_ids=tuple(who)), item)
        away = {"condition": "not", "conditions": [state]}
        return Clause(key="is_away", config=away, entity_ids=tuple(who))

    def in_words(self, text: str) -> Item | None:
        """Return the slots of a text about persons; None for any other text."""
        words, seconds = take_length(text.split(), self._language)
        said = " ".join(words)
        held = {"for": {"seconds": seconds}} if seconds else {}
        for way, event in (("arrives", "enter"), ("leaves", "leave")):
            if (parts := split_by(said, way, self._language)) is not None and self._is_person(parts[0]):
                return {"person": parts[0], "event": event, **held}
        for who in Who:
            if (parts := split_by(said, who, self._language)) is not None:
                is_there = self._is_home(parts[1]) or self._is_home(parts[0])
                event = "enter" if is_there else "leave"
                return {"person": who.value, "event": event, **held}
        words = fold(said).split()
        for size in range(1, len(words)):
            head, tail = " ".join(words[:size]), " ".join(words[size:])
            if self._is_person(head) and (self._is_home(tail) or self._is_away(tail)):
                return {"person": head, "event": "leave" if self._is_away(tail) else "enter", **held}
        return None

    def _read(self, item: Item) -> tuple[list[str] | Who, bool, State | None] | None:
        """Return who an item is about, whether they come or are there, and the zone if it is not home."""
        said = item.get("person")
        if said is None and _names_people(item.get("entity")):
            said = item["entity"]
        if said is None and str(item.get("entity", "")).casefold() == HOME:
            return self._count(item)
        if said is None:
            return None
        event, zone = item.get("event"), item.get("zone")
        for slot, comes in (("to", True), ("from", False)):
            if event is None and slot in item:
                event = item[slot]
                if not comes and self._is_home(str(event)):
                    return self._who(said), False, None
        found = None if zone is None or self._is_home(str(zone)) else self._zone(str(zone))
        word = " ".join(str(event or "enter").replace("_", " ").split())
        if found is None and not self._is_known(word):
            found, word = self._zone(word), "enter"
        return self._who(said), not self._is_leaving(word), found

    def _count(self, item: Item) -> tuple[Who, bool, None] | None:
        if (below := item.get("below")) is not None and str(below) in ("1", "0.5"):
            return Who.NOBODY, True, None
        if str(item.get("to", "")) == "0":
            return Who.NOBODY, True, None
        if str(item.get("above", "")) in ("0", "0.5"):
            return Who.SOMEBODY, True, None
        return None

    def _who(self, said: Any) -> list[str] | Who:
        """Return the persons that are meant. Raises ValidationError naming those that there are."""
        listed = said if isinstance(said, list | tuple) else [said]
        if len(listed) == 1:
            word = str(listed[0]).replace("_", " ")
            for who in Who:
                if fold(word) == who or means(word, who, self._language):
                    return who
        return [self._person(str(each)) for each in listed]

    def _person(self, said: str) -> str:
        if is_self(said, self._language):
            speaker = self._run.speaker
            own = entity_of_person(
                self._run.hass, person_id=speaker.person_id, user_id=speaker.context.user_id
            )
            if own is not None:
                return own
            if not self._persons():
                raise ValidationError(NO_PERSONS)
            whose = "" if speaker.context.user_id is None else ", and the user has no person"
            raise ValidationError(
                f"person: it is not known which person is speaking{whose}. "
                f"Give the name of a person: {self._listed()}"[:300]
            )
        wanted = squash(said.removeprefix("person."))
        found = [
            state.entity_id
            for state in self._persons()
            if wanted in (squash(state.name), squash(state.object_id), squash(first_name(state.name)))
        ]
        if not self._persons():
            raise ValidationError(NO_PERSONS)
        if len(found) != 1:
            raise ValidationError(f"person: {said[:40]!r} is not known. There are: {self._listed()}"[:300])
        return found[0]

    def _is_person(self, text: str) -> bool:
        if is_self(text, self._language):
            return True
        try:
            self._who(text)
        except ValidationError:
            return False
        return bool(text.strip())

    def _persons(self) -> list[State]:
        return sorted(self._run.hass.states.async_all(PEOPLE), key=lambda state: state.entity_id)

    def _listed(self) -> str:
        return ", ".join(plain(state.name) for state in self._persons())

    def _zone(self, said: str) -> State:
        """Return the zone of a name. Raises ValidationError naming those that there are."""
        wanted = squash(said.removeprefix(f"{ZONE}."))
        zones = [state for state in self._run.hass.states.async_all(ZONE) if state.entity_id != HOME]
        for state in zones:
            if wanted in (squash(state.name), squash(state.object_id)):
                return state
        names = ", ".join(["home", *(plain(state.name) for state in zones)])
        raise ValidationError(f"zone: {said[:40]!r} is not known. There are: {names}"[:300])

    def _is_known(self, word: str) -> bool:
        plain_word = fold(word).replace(" ", "_")
        return (
            plain_word in ENTERING | LEAVING
            or self._is_home(word)
            or self._is_away(word)
            or any(split_by(word, way, self._language) is not None for way in ("arrives", "leaves"))
        )

    def _is_leaving(self, word: str) -> bool:
        if fold(word).replace(" ", "_") in LEAVING or self._is_away(word):
            return True
        return split_by(word, "leaves", self._language) is not None and not self._is_home(word)

    def _is_home(self, word: str) -> bool:
        return self._says(word, "home")

    def _is_away(self, word: str) -> bool:
        return fold(word).replace(" ", "_") == STATE_NOT_HOME or self._says(word, "away")

    def _says(self, word: str, state: str) -> bool:
        said = f" {fold(word.removeprefix('zone.'))} "
        for each in spoken_in(self._language):
            entries = (table(each, "names.states") or {}).get(state, ())
            if any(said.endswith(f" {fold(entry)} ") for entry in (state, *entries)):
                return not (state == "home" and self._says(word, "away"))
        return False

    def _of_persons(self, who: list[str], zone: State | None, *, comes: bool) -> Clause:
        if zone is not None:
            config: dict[str, Any] = {
                "trigger": "zone",
                "entity_id": who,
                "zone": zone.entity_id,
                "event": "enter" if comes else "leave",
            }
            key = "arrives" if comes else "leaves"
            return Clause(key=key, config=config, entity_ids=tuple(who), values={"zone": plain(zone.name)})
        return Clause(
            key="comes_home" if comes else "leaves_home", config=_moves(who, comes), entity_ids=tuple(who)
        )

    def _of_all(self, who: Who, *, comes: bool, role: str) -> Clause:
        persons = [state.entity_id for state in self._persons()]
        if not persons or self._run.hass.states.get(HOME) is None:
            raise ValidationError(NO_PERSONS)
        count: dict[str, Any] = {role: "numeric_state", "entity_id": HOME}
        # "Everybody leaves" is said as well as "nobody is home" and "the last one leaves".
        if who is Who.NOBODY or (who is Who.EVERYBODY and not comes):
            return Clause(key="nobody_home", config={**count, "below": 1})
        if who is Who.EVERYBODY:
            raise ValidationError("person: everybody at home starts nothing; use it as a condition: if")
        if role == "condition":
            if not comes:
                raise ValidationError("person: name who must be away, or use nobody")
            return Clause(key="somebody_home", config={**count, "above": 0})
        key = "somebody_comes" if comes else "somebody_leaves"
        return Clause(key=key, config=_moves(persons, comes))

    def _held(self, clause: Clause, item: Item) -> Clause:
        if "for" not in item:
            return clause
        if clause.config.get("trigger") == "zone":
            raise ValidationError("for: is not available for a zone other than home")
        return held_for(clause, read_for(item["for"], self._language))


def _moves(who: list[str], comes: bool) -> Mapping[str, Any]:
    """Return the trigger of persons who come home or leave it; a restart is neither."""
    if comes:
        return {"trigger": "state", "entity_id": who, "to": STATE_HOME, "not_from": GONE}
    return {"trigger": "state", "entity_id": who, "from": STATE_HOME, "not_to": GONE}


def _names_people(entity: Any) -> bool:
    listed = entity if isinstance(entity, list | tuple) else [entity]
    return bool(listed) and all(
        isinstance(one, str) and valid_entity_id(one) and one.startswith(f"{PEOPLE}.") for one in listed
    )
