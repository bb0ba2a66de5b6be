"""`when` and `if` of a call, where they are no times: an event that is waited for, and what must hold then.

Both are texts ("binary_sensor.washer off for 5 minutes until 22:00") or objects with the keys of Home
Assistant's triggers. Which entity is meant, and which of its states, is read as for automations.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, time, timedelta
from typing import Any, Final

from homeassistant.const import STATE_HOME
from homeassistant.util import dt as dt_util

from ..domains.showing import GONE
from ..errors import NotExposed, ValidationError
from ..knowledge.names import squash
from ..knowledge.speaker import async_is_member
from ..planned.events import HOME, Clause, Event, async_holds, entities_of
from ..planned.records import PlannedItem, Schedule, read_schedule
from ..regex import lazy_regex
from ..texts import opened
from ..when import read
from .automating.writing import CONDITION, SUNRISE, SUNSET, TRIGGER, ClauseReader, StateWords
from .base import ToolRun
from .control.asked import EVENT_FORMS, WHEN_FORMS
from .everyday.notify_tool import self_words
from .pending import as_values
from .recipients import is_called

MAX_CHARS: Final = 250
EXPIRES: Final = timedelta(days=1)
"""How long an event is waited for, unless the person says otherwise."""
LONGEST: Final = timedelta(days=31)
NOT_YOURS: Final = "this person may not know where others are, so nothing was planned"
UNTIL_KEYS: Final = ("until", "within", "expires", "timeout")
ANYBODY: Final = frozenset(
    ("nobody", "noone", "somebody", "someone", "anybody", "anyone", "everybody", "everyone")
)
"""Words for persons who are not named."""
SUN: Final = "sun.sun"
_ENTITY: Final = lazy_regex(r"(?<![\w.])[a-z_]+\.[a-z0-9_]+(?![\w.])")
_IF: Final = lazy_regex(r"(?:^|\s)(?:(?:but )?only )?(?:if|while)\s+")
_UNTIL: Final = lazy_regex(r"\s(?:until|within|before|but not after)\s+(.+)$")
_FOR: Final = lazy_regex(r"\sfor\s+(?:at least\s+)?(.+)$")
_COMPARED: Final = lazy_regex(
    r"(?:(>=?|above|over|exceeds|reaches|at least|(?:more|greater|higher) than)"
    r"|<=?|below|under|at most|(?:less|lower|fewer) than)\s*(-?\d+(?:[.,]\d+)?)\D{0,8}$"
)
_BETWEEN: Final = lazy_regex(
    r"\s{0,9}(?:==?|:|->|=>|\b(?:is|are|was|becomes?|turns?|gets?|goes|go|changes?|reports?|equals|reaches|drops"
    r"|falls|rises|to|has been|state)\b)\s{0,9}"
)
_NOT: Final = lazy_regex(r"(?:(?<!\w)(?:is )?not\b|!=?|\bno longer\b|\bisn't\b)\s*")
_COMES: Final = lazy_regex(
    r"\b(?:comes?|arrives?|gets?|returns?|is|are)\b(?: back)?(?: (?:at|in|to))?|\bback\b"
)
_LEAVES: Final = lazy_regex(r"\b(?:leaves?|left|goes out|goes away|departs?)\b")
_LEAD: Final = lazy_regex(r"^(?:when|once|as soon as|if|after|the moment)\s+(?:the )?|^(?:the )?state of\s+")
_QUOTES: Final = "\"'`()[] "


async def async_read_once(args: Mapping[str, Any], run: ToolRun) -> tuple[str, Schedule | None, list[Clause]]:
    """Split `when` and `if` into a time or nothing, an event to wait for, and conditions that must hold then.

    Raises ValidationError, and PermissionDenied for what the speaker may not know.
    """
    given, only = (opened(args.get(slot) or "") for slot in ("when", "if"))
    if len(str(given)) > MAX_CHARS or len(str(only)) > MAX_CHARS:
        raise ValidationError(f"when, if: at most {MAX_CHARS} characters")
    conditions, until, when = list(as_values(only)), "", ""
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    if isinstance(given, Mapping):
        given = {str(key).casefold(): value for key, value in given.items()}
        until = next((str(given.pop(key)) for key in UNTIL_KEYS if key in given), "")
        conditions += as_values(given.pop("if", None))
    elif isinstance(given, str):
        given, *others = _IF.split(given, maxsplit=1)
        conditions += others
        if (moment := _UNTIL.search(given)) and not _is_time(given, run):
            given, until = given[: moment.start()], moment[1]
        if not given.strip() or _is_time(given, run):
            given, when = "", given
    if SUN in str(given):
        given, when = "", SUNSET if "below" in str(given) else SUNRISE
    reader = _Reader(run, await StateWords.async_load(run.hass, run.speaker.language))
    event = None
    if given:
        (clause,) = reader.read(given, TRIGGER)
        # "Leaves" counts from the next time on by what it leaves.
        if "to" not in clause and "from" not in clause and (kept := clause.get("not_to")):
            states = map(run.hass.states.get, entities_of(clause))
            clause = {**clause, "not_to": [*kept, *(state.state for state in states if state)]}
        event = Schedule(due=_until(until, run), event=Event(clause=clause))
    parts = (each.split(" and ") if isinstance(each, str) else [each] for each in conditions if each)
    clauses = [clause for part in parts for each in part for clause in reader.read(each, CONDITION)]
    watched = ([event.event.clause] if event and event.event else []) + clauses
    # Whether something is so now is told at once, what is waited for is not.
    receiver = str(args.get("person") or "") if event or when else None
    await async_check_known(watched, receiver, run)
    return when, event, clauses


async def async_check_known(clauses: list[Clause], receiver: str | None, run: ToolRun) -> None:
    """Refuse clauses about what the speaker may not know.

    Where people are is known to members of the household. Who has a person told something when that person
    comes learns nothing, and neither does anybody from what happens while nobody is at home, unless that is
    now: `receiver` is None then. Raises PermissionDenied.
    """
    for clause in clauses:
        for entity_id in entities_of(clause):
            if run.reader.sees(entity_id):
                continue
            if not entity_id.startswith("person.") and entity_id != HOME:
                raise NotExposed(f"{entity_id} does not exist or is not exposed to the assistant")
            state = run.hass.states.get(entity_id)
            waits = receiver is not None
            is_told = waits and state is not None and is_called(squash(receiver), state.name, entity_id)
            is_empty = waits and entity_id == HOME and "below" in clause
            is_known = run.reader.permits(entity_id) and not run.guard.policy.view.narrows
            if not (is_known and (is_told or is_empty or await async_is_member(run.hass, run.speaker))):
                raise NotExposed(NOT_YOURS)


async def async_unmet(item: PlannedItem, run: ToolRun) -> bool | None:
    """Return whether a condition of an item does not hold; None if that cannot be seen of any.

    Raises PermissionDenied for what the person who planned it may not know any more.
    """
    schedule, receiver = item.schedule, item.message.receiver if item.message else ""
    await async_check_known(schedule.clauses, receiver, run)
    values = [await async_holds(run.hass, clause) for clause in schedule.conditions]
    return None if None in values and False not in values else False in values


def _is_time(text: str, run: ToolRun) -> bool:
    return not _ENTITY.search(text) and read(text, run.speaker.language) is not None


def _until(text: str, run: ToolRun) -> datetime:
    now, language = dt_util.utcnow(), run.speaker.language
    if not text:
        return now + EXPIRES
    accepted = "until 22:00 or within 2 hours"
    due = read_schedule(run.hass, text, None, language, accepted=accepted, years=1, clock=time.max).due
    if due > now + LONGEST:
        raise ValidationError(f"until: an event is waited for at most {LONGEST.days} days")
    return due


class _Reader:
    def __init__(self, run: ToolRun, states: StateWords) -> None:
        self._run = run
        self._clauses = ClauseReader(run, states)

    def read(self, value: Any, role: str) -> list[Clause]:
        """Return the clauses of one text or object. Raises ValidationError."""
        if isinstance(value, Mapping):
            return self._made({str(key): each for key, each in value.items()}, role)
        problem, slot = "", "when" if role == TRIGGER else "if"
        text = _LEAD.sub("", " ".join(str(value).split()).strip(_QUOTES))
        for fields in self._tried(text):
            try:
                return self._made(fields, role)
            except ValidationError as err:
                problem = problem or str(err)
        if problem and _ENTITY.search(text):
            raise ValidationError(f"{slot}: {problem}"[:300])
        forms = f"{WHEN_FORMS}, or {EVENT_FORMS}" if role == TRIGGER else EVENT_FORMS
        raise ValidationError(f"{slot}: {text[:40]!r} is not understood; give {forms}")

    def _made(self, fields: dict[str, Any], role: str) -> list[Clause]:
        is_not = fields.pop("not", False)
        for key in ("entity_id", "name", "entity"):
            if self._is_person(fields.get(key)):
                fields["person"] = fields.pop(key)
        clauses = self._clauses.read([fields], role)
        if role == CONDITION:
            if is_not and any(each.get(CONDITION) not in ("state", "zone") for each in clauses):
                raise ValidationError("not: give the state of an entity, such as cover.x not closed")
            return [{CONDITION: "not", "conditions": [each]} if is_not else each for each in clauses]
        if len(clauses) != 1 or not entities_of(clauses[0]):
            raise ValidationError("give one event of an entity")
        if is_not:
            if "to" not in clauses[0]:
                raise ValidationError("not: give the state that ends, such as cover.x not closed")
            before = clauses[0].pop("to")
            clauses = [{**clauses[0], "from": before, "not_to": [*GONE]}]
        return list(clauses)

    def _is_person(self, name: Any) -> bool:
        word, persons = squash(str(name or "")), self._run.hass.states.async_all("person")
        is_named = any(is_called(word, state.name, state.entity_id) for state in persons)
        return bool(word) and (word in ANYBODY or word in self_words() or is_named)

    def _tried(self, text: str) -> Iterator[dict[str, Any]]:
        """Yield what a text may mean, the likeliest first."""
        lasts: dict[str, Any] = {}
        if (length := _FOR.search(text)) is not None:
            text, lasts = text[: length.start()], {"for": length[1]}
        entity = _ENTITY.search(text)
        if (compared := _COMPARED.search(text)) is not None:
            number, sign = float(compared[2].replace(",", ".")), text[compared.start() :]
            # Home Assistant's limits are not part of the range.
            nudge = 1e-9 * max(1, abs(number)) * sign.startswith((">=", "<=", "at", "reaches"))
            limit = {"above": number - nudge} if compared[1] else {"below": number + nudge}
            name = _BETWEEN.sub(" ", text[: compared.start()]).strip(_QUOTES)
            yield {"entity_id": entity[0] if entity else name, **limit, **lasts}
        elif entity is not None:
            yield self._with_state(entity[0], text[entity.end() :]) | lasts
        else:
            words = text.split()
            for size in range(len(words) - 1, 0, -1):
                name = " ".join(words[:size])
                if not (_BETWEEN.search(name) or _NOT.search(name)):
                    yield self._with_state(name, " ".join(words[size:])) | lasts

    def _with_state(self, name: str, rest: str) -> dict[str, Any]:
        name, rest = name.strip(_QUOTES), rest.strip(_QUOTES)
        if name.startswith("person.") or self._is_person(name):
            leaves = bool(_LEAVES.search(rest))
            place = _BETWEEN.sub(" ", (_LEAVES if leaves else _COMES).sub(" ", rest)).strip(_QUOTES)
            leaves |= bool(_NOT.match(place))
            place = _NOT.sub("", place).removeprefix("the ").strip(_QUOTES) or STATE_HOME
            if leaves and place not in (STATE_HOME, "house"):
                return {"person": name, "zone": place, "event": "leave"}
            return {"person": name, "to": "not_home" if leaves else place}
        state = _BETWEEN.sub("", rest, count=1) if _BETWEEN.match(rest) else rest
        is_not = {"not": True} if _NOT.match(state) else {}
        state = _BETWEEN.sub(" ", _NOT.sub("", state)).strip(_QUOTES)
        return {"entity_id": name, **({"state": state} if state else {}), **is_not}
