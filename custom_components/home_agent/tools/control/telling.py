"""What a call of ha_control did, told without the model: the entities or their place, and their values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import State
from homeassistant.util import dt as dt_util

from ...domains import DOMAINS
from ...domains.base import STATE, ControlParameter, NothingToDo
from ...errors import ValidationError
from ...knowledge.house import HouseSnapshot
from ...knowledge.spoken_words import colors
from ...planned.records import PlannedItem
from ...texts import fold, one_line
from ..base import ToolRun
from ..resolving.resolver import Target
from ..results import ToldAct, ToldTime, ToldValue, ValueKind
from .arguments import normalise, read_args

MAX_NAMED: Final = 3
MAX_GROUPS: Final = 3
"""Sentences about one call."""
MAX_NAME: Final = 60
UNTOLD_KINDS: Final = frozenset(("seconds", "flash", "code", "ids"))
"""Kinds of parameters that say how something is done, not what it is then."""
CHANGED: Final = "changed"
SET: Final = "set"
CLEANS: Final = "cleans"
GROUPED: Final = frozenset(("joined", "parted"))
"""Sentences about groups, whose players are in several rooms."""
FULL_BYTE: Final = 255
WHOLES: Final[Mapping[str, float]] = {"percent": 100, "volume": 1, "brightness": FULL_BYTE}
"""What is 100 percent, by the kind of a parameter."""
WHOLE: Final = frozenset(("done", "unchanged"))
PLANNED: Final = frozenset(("planned", "id"))
SHORTEST: Final = timedelta(minutes=1)
"""An end that is nearer is not told by the clock."""
BY_ACTION: Final[Mapping[str, str]] = {
    "turn_on": "on",
    "turn_off": "off",
    "open": "open",
    "close": "closed",
    "lock": "locked",
    "unlock": "unlocked",
    "disarm": "disarmed",
    "install": "installed",
    "start": "started",
    "stop": "stopped",
    "pause": "paused",
    "play": "playing",
    "next": "next",
    "previous": "previous",
    "mute": "muted",
    "unmute": "unmuted",
    "press": "pressed",
    "activate": "activated",
    "trigger": "started",
    "return_to_base": "returning",
    "cancel": "stopped",
    **dict.fromkeys(("arm_away", "arm_home", "arm_night", "arm_vacation"), "armed"),
}
"""The act of each action, where a domain does not say otherwise."""
BY_SERVICE: Final[Mapping[str, str]] = {
    **BY_ACTION,
    "toggle": "toggled",
    "set_cover_position": "moved",
    "set_valve_position": "moved",
    "transfer_queue": "music_moved",
}
"""The act of a service that no action of its domain calls alone."""
BY_STATE: Final = frozenset(("on", "off", "open", "closed", "opening", "closing"))
"""States with a sentence, which tells more than the action: something may be on its way only."""
PLAIN_STATES: Final = frozenset(("on", "off", "open", "closed", "locked", "unlocked"))
"""States that are called as the act is that leads to them."""
STATES_FIRST: Final = frozenset(("toggle", "open", "close"))
"""Actions that are told by the state afterwards."""
type _Sentence = tuple[str, tuple[ToldValue, ...]]


def act_of(domain: str, service: str) -> str:
    """Return the act of a service; nothing if that would tell too little, as of one that arms in a mode."""
    actions = DOMAINS[domain].actions if domain in DOMAINS else {}
    acts = {
        (action.service, act)
        for verb, action in actions.items()
        if (act := DOMAINS[domain].told.get(verb) or BY_ACTION.get(verb))
    }
    own = {act for name, act in acts if name == service}
    sole = [act for act in own if len(own) == 1 and sum(act == other for _, other in acts) == 1]
    return sole[0] if sole else BY_SERVICE.get(service, "")


def tell(args: Mapping[str, Any], result: object, run: ToolRun) -> tuple[ToldAct, ...]:
    """Return what a call did; nothing if only words of the model can tell it."""
    if not isinstance(result, Mapping) or not result or not result.keys() <= WHOLE:
        return ()
    verb, target, given = read_args(args)
    done, unchanged = (tuple(result.get(part, ())) for part in ("done", "unchanged"))
    acts: dict[_Sentence, list[str]] = {}
    for entity_id in done or unchanged:
        state = run.hass.states.get(entity_id)
        act = _act(verb, given, state, run) if state is not None else None
        if act is None:
            return ()
        acts.setdefault(act, []).append(entity_id)
    if len(acts) > MAX_GROUPS:
        return ()
    referents = _referents(target, (*done, *unchanged), run.house)
    told = tuple(
        replace(_told(act, ids, target, referents, run), already=not done) for act, ids in acts.items()
    )
    is_clear = all(act.entity_ids or act.count for act in told) and (
        len(told) == 1 or not any(act.count for act in told)
    )
    return told if is_clear else ()


def tell_planned(
    args: Mapping[str, Any], result: object, command: PlannedItem | None, run: ToolRun
) -> tuple[ToldAct, ...]:
    """Return what a call planned, or did until a time; nothing if only words of the model can tell it."""
    if not isinstance(result, Mapping) or command is None or not result.keys() <= WHOLE | PLANNED:
        return ()
    due, schedule = command.due, command.schedule
    if command.restores:
        now = tell(args, {part: result[part] for part in WHOLE & result.keys()}, run)
        is_clear = "done" in result and due - dt_util.utcnow() >= SHORTEST and _days_ahead(due) == 0
        return tuple(replace(act, until=due) for act in now) if is_clear else ()
    domains = {entity_id.partition(".")[0] for entity_id in command.entity_ids}
    is_sayable = not schedule.sun if schedule.days else bool(schedule.event) or _days_ahead(due) in (0, 1)
    if result.keys() & WHOLE or command.hold or not is_sayable or len(domains) > 1:
        return ()
    state = run.hass.states.get(command.entity_ids[0])
    act = _act(command.verb, command.given, state, run, later=True) if state is not None else None
    if act is None or act[0] == CHANGED:
        return ()
    _verb, target, _given = read_args(args)
    told = _told(act, command.entity_ids, target, _referents(target, command.entity_ids, run.house), run)
    return (replace(told, when=ToldTime.of(schedule)),) if told.entity_ids or told.count else ()


def _days_ahead(due: datetime) -> int:
    return (dt_util.as_local(due).date() - dt_util.now().date()).days


def _act(
    verb: str, given: Mapping[str, Any], state: State, run: ToolRun, *, later: bool = False
) -> _Sentence | None:
    """Return the sentence about one entity and its values; None if there is none."""
    facts = DOMAINS[state.domain]
    meant = run.meanings.get(state.domain, verb)
    action = facts.actions.get(meant)
    if action is None:
        return None
    if action.direction:
        parameter = facts.parameters[facts.step.parameter] if facts.step else None
        value = _number(parameter, None, state, later=later) if parameter is not None else None
        return None if value is None else (SET, (value,))
    try:
        unit = run.hass.config.units.temperature_unit
        parameters = normalise(state.domain, meant, action, given, unit)
        if (now := facts.adapt(state, meant, parameters)).verb != meant:
            meant, parameters = now.verb, {}
    except ValidationError, NothingToDo:
        return None
    if facts.rooms is not None and meant == facts.rooms.action:
        areas = (run.house.areas.get(area) for area in parameters.get(str(action.value), ()))
        names = (one_line(area.name, MAX_NAME) for area in areas if area is not None)
        return CLEANS, tuple(ToldValue(ValueKind.TEXT, name) for name in names)
    parameters = {
        name: value for name, value in parameters.items() if facts.parameters[name].kind not in UNTOLD_KINDS
    }
    values = [
        _value(facts.parameters[name], value, given, state, run, later=later)
        for name, value in parameters.items()
    ]
    if not values:
        shown = state.state if state.state in BY_STATE and meant in STATES_FIRST and not later else None
        key = shown or facts.told.get(meant) or BY_ACTION.get(meant)
        return None if key is None else (key, ())
    told = tuple(value for value in values if value is not None)
    if len(told) == len(values):
        return SET, told
    return None if told else (CHANGED, ())


def _value(
    parameter: ControlParameter,
    wanted: Any,
    given: Mapping[str, Any],
    state: State,
    run: ToolRun,
    *,
    later: bool,
) -> ToldValue | None:
    """Return a value that was set; None if only words of the model can tell it."""
    if parameter.kind == "color":
        english = frozenset(colors().values())
        words = (colors().get(fold(text), fold(text)) for text in given.values() if isinstance(text, str))
        name = next((word for word in words if word in english), None)
        return None if name is None else ToldValue(ValueKind.COLOR, name)
    if parameter.kind == "text":
        # What a device calls its choices is in a language of its own; only the person's own word is repeated.
        text = one_line(str(wanted), MAX_NAME)
        return ToldValue(ValueKind.TEXT, text) if fold(text) in fold(run.sentence) else None
    if parameter.kind == "hvac_mode":
        return ToldValue(ValueKind.MODE, str(wanted))
    return _number(parameter, wanted, state, later=later)


def _number(parameter: ControlParameter, wanted: Any, state: State, *, later: bool) -> ToldValue | None:
    """Return a number: as the entity shows it, or as it was asked for where it does not show yet."""
    attribute = parameter.attribute or ("brightness" if parameter.kind == "signed" else "")
    shown, whole = state.attributes.get(attribute), WHOLES.get(parameter.kind)
    if later or state.state in parameter.passing:
        shown = wanted if isinstance(wanted, int | float) and not isinstance(wanted, bool) else None
    elif attribute == STATE:
        shown = state.state
    elif attribute == "brightness":
        whole = FULL_BYTE
    try:
        number = float(shown)  # type: ignore[arg-type]
    except TypeError, ValueError:
        return None
    if parameter.kind in ("number", "integer"):
        unit = state.attributes.get("unit_of_measurement")
        return ToldValue(ValueKind.TEXT, f"{number:g} {unit}" if unit else f"{number:g}")
    if parameter.kind == "temperature":
        return ToldValue(ValueKind.DEGREES, round(number, 1))
    return None if whole is None else ToldValue(ValueKind.PERCENT, round(number * 100 / whole))


def tell_names(key: str, entity_ids: Iterable[str], run: ToolRun) -> tuple[ToldAct, ...]:
    """Return one sentence about entities by their names, or by their kind and number."""
    ids = sorted(set(entity_ids) & run.house.entities.keys())
    told = _told((key, ()), ids, Target(name="*"), len(ids), run) if ids else None
    return (told,) if told and (told.entity_ids or told.count) else ()


def tell_undone(restored: Mapping[str, object], run: ToolRun) -> tuple[ToldAct, ...]:
    """Return which entities are as they were, by their state where that is one and the same."""
    states = {str(shown) for shown in restored.values()}
    if len(states) > 1 or not states <= PLAIN_STATES:
        return tell_names("undone", restored, run)
    return tuple(replace(act, undone=True) for act in tell_names(states.pop(), restored, run))


def _told(act: _Sentence, ids: Sequence[str], target: Target, referents: int, run: ToolRun) -> ToldAct:
    """Return what was done to some entities: by name if they are few, else by kind, number and place."""
    key, values = act
    # Without the groups whose members are among them: nothing is counted twice.
    states = {entity_id: run.hass.states.get(entity_id) for entity_id in ids}
    members = {key: state.attributes.get(ATTR_ENTITY_ID) or () for key, state in states.items() if state}
    own = [entity_id for entity_id in ids if set(ids).isdisjoint(members.get(entity_id, ()))]
    records = [run.house.entities[entity_id] for entity_id in own if entity_id in run.house.entities]
    by_place = len(own) > 1 and not (target.entity_id or target.name) and key not in GROUPED
    named = len(own) <= MAX_NAMED and not by_place
    kinds = {entity_id.partition(".")[0] for entity_id in own}
    place = ""
    if not named:
        areas = {record.area_id for record in records}
        shared = run.house.areas.get(next(iter(areas)) or "") if len(areas) == 1 else None
        place = one_line(shared.name, MAX_NAME) if shared else ""
    return ToldAct(
        key=key,
        entity_ids=tuple(record.entity_id for record in records) if named else (),
        count=0 if named else len(own),
        kind=kinds.pop() if len(kinds) == 1 else "",
        place=place,
        values=values,
        referents=max(referents, len(values)),
    )


def _referents(target: Target, ids: Iterable[str], house: HouseSnapshot) -> int:
    if target.entity_id or target.name:
        return max(len(target.entity_id), 1)
    areas = {record.area_id for entity_id in ids if (record := house.entities.get(entity_id))}
    listed = len(areas) if target.area and "," in target.area else 1
    return max(len(target.domain), len(target.device_class), listed)
