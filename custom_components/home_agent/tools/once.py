"""`when` and `if` of a call, where they are no times: an event that is waited for, and what must hold then.

Both are read as text ("binary_sensor.washer off for 5 minutes until 22:00") or as an object with the keys of
Home Assistant's triggers. Which entity is meant and which states it has is read as for automations; what the
speaker may not know is not watched.
"""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final

from homeassistant.const import STATE_HOME
from homeassistant.util import dt as dt_util

from ..domains.showing import GONE
from ..errors import NotExposed, ValidationError
from ..knowledge.names import squash
from ..knowledge.speaker import async_is_member
from ..planned.events import HOME, Clause, Event, async_holds, entities_of
from ..planned.records import Once, PlannedItem, schedule_of
from ..regex import lazy_regex
from ..texts import opened
from ..when import end_of, read
from .automating.writing import CONDITION, SUNRISE, SUNSET, TRIGGER, ClauseReader, StateWords
from .base import ToolRun
from .control.asked import EVENT_FORMS, WHEN_FORMS
from .everyday.notify_tool import self_words
from .people import is_called
from .waiting import as_values

MAX_CHARS: Final = 250
EXPIRES: Final = timedelta(days=1)
"""How long an event is waited for, unless the person says otherwise."""
LONGEST: Final = timedelta(days=31)
NOT_YOURS: Final = (
    "this person may not know where others are, so it cannot wait for that. Nothing was planned"
)
UNTIL_KEYS: Final = ("until", "within", "expires", "timeout")
TIME_KEYS: Final = ("time", "at", "delay", "datetime", "in", "when")
ANYBODY: Final = frozenset(
    ("nobody", "noone", "somebody", "someone", "anybody", "anyone", "everybody", "everyone")
)
"""Words for persons who are not named."""
CLAUSE_KEYS: Final = frozenset(("entity_id", "entity", "name", "person", "zone"))
SUN: Final = "sun.sun"
IF_KEYS: Final = ("if", "condition", "conditions", "only_if")
"""Keys of an object by what models call them: the end of the waiting, a time, and what must hold then."""
_ENTITY: Final = lazy_regex(r"(?<![\w.])[a-z_]+\.[a-z0-9_]+(?![\w.])")
_IF: Final = lazy_regex(r"(?:^|\s)(?:(?:but )?only )?(?:if|while)\s+")
_UNTIL: Final = lazy_regex(r"\s(?:until|within|before|but not after)\s+(.+)$")
_FOR: Final = lazy_regex(r"\sfor\s+(?:at least\s+)?(.+)$")
_COMPARED: Final = lazy_regex(
    r"(?:(>=?|above|over|exceeds|reaches|at least|(?:more|greater|higher) than)"
    r"|<=?|below|under|at most|(?:less|lower|fewer) than)\s*(-?\d+(?:[.,]\d+)?)\D{0,8}$"
)
_BETWEEN: Final = lazy_regex(
    r"\s*(?:==?|:|->|=>|\b(?:is|are|was|becomes?|turns?|gets?|goes|go|changes?|reports?|equals|reaches|drops"
    r"|falls|rises|to|has been|state)\b)\s*"
)
_NOT: Final = lazy_regex(r"^(?:not|!=?|no longer|isn't|is not)\s*")
_COMES: Final = lazy_regex(
    r"\b(?:comes?|arrives?|gets?|returns?|is|are)\b(?: back)?(?: (?:at|in|to))?|\bback\b"
)
_LEAVES: Final = lazy_regex(r"\b(?:leaves?|left|goes out|goes away|departs?)\b")
_LEAD: Final = lazy_regex(r"^(?:when|once|as soon as|if|after|the moment)\s+(?:the )?|^(?:the )?state of\s+")
_DONE: Final = frozenset({"done", "finished", "complete", "completed", "ready", "over", "stopped"})
_QUOTES: Final = "\"'`()[] "


async def async_read_once(args: Mapping[str, Any], run: ToolRun) -> Once:
    """Return what `when` and `if` of a call wait for. Raises ValidationError, PermissionDenied."""
    given, only = (opened(args.get(slot) or "") for slot in ("when", "if"))
    if len(str(given)) > MAX_CHARS or len(str(only)) > MAX_CHARS:
        raise ValidationError(f"when, if: at most {MAX_CHARS} characters")
    conditions, until, when = list(as_values(only)), "", ""
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    if isinstance(given, Mapping):
        fields = {str(key).casefold(): value for key, value in given.items()}
        until = next((str(fields.pop(key)) for key in UNTIL_KEYS if key in fields), "")
        for key in IF_KEYS:
            inner = fields.get(key)
            if isinstance(inner, Mapping | list) or (isinstance(inner, str) and key == "if"):
                conditions += as_values(fields.pop(key))
        when = next((str(fields.pop(key)) for key in TIME_KEYS if key in fields), "")
        if when and fields.keys() & CLAUSE_KEYS:
            conditions.append(fields)
        given = "" if when else fields
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
        if "to" not in clause and (kept := clause.get("not_to")):
            states = map(run.hass.states.get, entities_of(clause))
            clause = {**clause, "not_to": [*kept, *(state.state for state in states if state)]}
        event = Event(clause=clause)
    parts = [
        part for item in conditions for part in (item.split(" and ") if isinstance(item, str) else [item])
    ]
    clauses = tuple(each for item in parts if item for each in reader.read(item, CONDITION))
    for clause in (*((event.clause,) if event else ()), *clauses):
        await async_check_known(clause, str(args.get("person") or ""), run)
    return Once(when=when, event=event, until=_until(until, run) if event else None, conditions=clauses)


async def async_check_known(clause: Clause, receiver: str, run: ToolRun) -> None:
    """Refuse a clause about what the speaker may not know.

    Where people are is known to members of the household. Who tells a person something when that person
    comes learns nothing, and neither does anybody from what happens while nobody is at home.
    Raises PermissionDenied.
    """
    for entity_id in entities_of(clause):
        if run.reader.sees(entity_id):
            continue
        if not entity_id.startswith("person.") and entity_id != HOME:
            raise NotExposed(f"{entity_id} does not exist or is not exposed to the assistant")
        state = run.hass.states.get(entity_id)
        is_told = state is not None and is_called(squash(receiver), state.name, entity_id)
        is_empty = entity_id == HOME and "below" in clause
        is_known = run.reader.permits(entity_id) and not run.guard.policy.view.narrows
        if not (is_known and (is_told or is_empty or await async_is_member(run.hass, run.speaker))):
            raise NotExposed(NOT_YOURS)


async def async_unmet(item: PlannedItem, run: ToolRun) -> tuple[Clause, bool] | None:
    """Return the first condition of an item that does not hold, and whether it is known that it does not.

    Raises PermissionDenied for what the person who planned it may not know any more.
    """
    schedule, receiver = item.schedule, item.message.receiver if item.message else ""
    for clause in (*((schedule.event.clause,) if schedule.event else ()), *schedule.conditions):
        await async_check_known(clause, receiver, run)
    for clause in schedule.conditions:
        if not (holds := await async_holds(run.hass, clause)):
            return clause, holds is not None
    return None


def _is_time(text: str, run: ToolRun) -> bool:
    return not _ENTITY.search(text) and read(text, run.speaker.language) is not None


def _until(text: str, run: ToolRun) -> datetime:
    now = dt_util.utcnow()
    if not text:
        return now + EXPIRES
    value = read(text, run.speaker.language, until=True)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = end_of(value)
    schedule = schedule_of(run.hass, value, now) if value is not None else None
    if schedule is None or not now < schedule.due <= now + LONGEST:
        raise ValidationError(f"until: {text[:40]!r} is no time within {LONGEST.days} days; give until 22:00")
    return schedule.due


class _Reader:
    """Reads clauses as models write them."""

    def __init__(self, run: ToolRun, states: StateWords) -> None:
        self._run = run
        self._clauses = ClauseReader(run, states)

    def read(self, value: Any, role: str) -> list[Clause]:
        """Return the clauses of one text or object. Raises ValidationError."""
        slot = "when" if role == TRIGGER else "if"
        if isinstance(value, Mapping):
            return self._made({str(key): each for key, each in value.items()}, role)
        problem: ValidationError | None = None
        text = _LEAD.sub("", " ".join(str(value).split()).strip(_QUOTES))
        for fields in self._tried(text):
            try:
                return self._made(fields, role)
            except ValidationError as err:
                problem = problem if problem and "Allowed" in str(problem) else err
        if problem and _ENTITY.search(text):
            raise ValidationError(f"{slot}: {problem}"[:300])
        forms = f"{WHEN_FORMS}, or {EVENT_FORMS}" if role == TRIGGER else EVENT_FORMS
        raise ValidationError(f"{slot}: {text[:40]!r} is not understood; give {forms}")

    def _made(self, fields: dict[str, Any], role: str) -> list[Clause]:
        is_not = fields.pop("not", False)
        for key in ("entity_id", "name", "entity"):
            if self._is_person(fields.get(key)):
                fields["person"] = fields.pop(key)
        try:
            clauses = self._clauses.read([fields], role)
        except ValidationError:
            if str(fields.get("state") or fields.get("to")).casefold() not in _DONE:
                raise
            rest = {key: each for key, each in fields.items() if key not in ("to", "state")}
            clauses = self._clauses.read([{**rest, "to": "off"}], role)
        if role == TRIGGER and (len(clauses) != 1 or not entities_of(clauses[0])):
            raise ValidationError("give one event of an entity")
        if is_not and role == TRIGGER:
            before = clauses[0].pop("to", None)
            return [{**clauses[0], "from": before, "not_to": [*GONE]}]
        return [{CONDITION: "not", "conditions": [each]} for each in clauses] if is_not else list(clauses)

    def _is_person(self, name: Any) -> bool:
        word, persons = squash(str(name or "")), self._run.hass.states.async_all("person")
        is_named = any(is_called(word, state.name, state.entity_id) for state in persons)
        return bool(word) and (word in ANYBODY or word in self_words() or is_named)

    def _tried(self, text: str) -> Iterator[dict[str, Any]]:
        """Yield what a text may mean, the likeliest first."""
        lasts: dict[str, Any] = {}
        if (length := _FOR.search(text)) is not None:
            text, lasts = text[: length.start()], {"for": length[1]}
        if (compared := _COMPARED.search(text)) is not None:
            number = float(compared[2].replace(",", "."))
            sign = text[compared.start() :]
            # Home Assistant's limits are not part of the range.
            nudge = 1e-9 * max(1, abs(number)) * bool(sign.startswith((">=", "<=", "at", "reaches")))
            limit = {"above": number - nudge} if compared[1] else {"below": number + nudge}
            subject = self._named(_BETWEEN.sub(" ", text[: compared.start()]).strip(_QUOTES))
            yield {**subject, **limit, **lasts}
            return
        if (entity := _ENTITY.search(text)) is not None:
            yield from self._with_state(entity[0], text[entity.end() :], lasts)
            return
        for cut in sorted({match.start() for match in _BETWEEN.finditer(text)} | _verbs(text)):
            if cut:
                yield from self._with_state(text[:cut], text[cut:], lasts)
        words = text.split()
        for size in range(len(words) - 1, 0, -1):
            yield from self._with_state(" ".join(words[:size]), " ".join(words[size:]), lasts)

    def _named(self, name: str) -> dict[str, Any]:
        entity = _ENTITY.search(name)
        return {"entity_id": entity[0] if entity else name}

    def _with_state(self, name: str, rest: str, lasts: dict[str, Any]) -> Iterator[dict[str, Any]]:
        name, rest = name.strip(_QUOTES), rest.strip(_QUOTES)
        if name.startswith("person.") or self._is_person(name):
            leaves = bool(_LEAVES.search(rest))
            place = _BETWEEN.sub(" ", (_LEAVES if leaves else _COMES).sub(" ", rest)).strip(_QUOTES)
            leaves |= bool(_NOT.search(place))
            place = _NOT.sub("", place).removeprefix("the ").strip(_QUOTES) or STATE_HOME
            if leaves and place not in (STATE_HOME, "house"):
                yield {"person": name, "zone": place, "event": "leave"}
            yield {"person": name, "to": "not_home" if leaves else place, **lasts}
            return
        state = _BETWEEN.sub("", rest, count=1) if _BETWEEN.match(rest) else rest
        is_not = bool(_NOT.search(state))
        state = _BETWEEN.sub(" ", _NOT.sub("", state)).strip(_QUOTES)
        beside = {"state": state} if state else {}
        yield {"entity_id": name, **beside, **({"not": True} if is_not else {}), **lasts}


def _verbs(text: str) -> set[int]:
    return {match.start() for pattern in (_COMES, _LEAVES) for match in pattern.finditer(text)}
