"""Scenes and scripts: used by name where the household allows it, scripts with values for their fields."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, cast

import probatio

from homeassistant.core import HomeAssistant, State, callback
from homeassistant.helpers import (
    area_registry as ar,
    config_validation as cv,
    label_registry as lr,
    llm,
    selector,
)

from ...errors import ValidationError
from ...knowledge.house import HouseSnapshot
from ...knowledge.names import labels_in, squash
from ...texts import fold, one_line
from ...when import forms, read_length
from ..base import ToolRun
from ..resolving.resolver import Target, find_place, resolve, texts, unknown_place
from .arguments import VARIABLES
from .planning import Expectation, Plan, PlannedCall, action_of
from .values import READERS

SCRIPT: Final = "script"
MAX_ERROR: Final = 400
MAX_ABOUT: Final = 80
MAX_OPTIONS: Final = 12
MAX_FIELD: Final = 60
MAX_VALUES: Final = 50
MAX_TOOLS: Final = 6
MAX_TOOL_CHARS: Final = 4000
"""Characters of the fields, as they are written, of all scripts that are tools of their own."""
MOMENTS: Final = ("time", "date", "datetime", "duration")
TEXTS: Final = ("area", "floor", "label", "entity", "device", "text", "template", "icon", *MOMENTS)
"""Selectors whose values models write as text; core's own serializer writes the others."""
UNITS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
"""Seconds of the units of time of numbers; "m" is a metre."""


def fields_of(hass: HomeAssistant, entity_id: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the fields that a script declares."""
    fields = getattr(_script(hass, entity_id), "fields", None)
    return fields if isinstance(fields, Mapping) else {}


def responds(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether a script ends with a response."""

    def has_response(step: Any) -> bool:
        if isinstance(step, Mapping):
            return ("stop" in step and "response_variable" in step) or any(map(has_response, step.values()))
        return isinstance(step, list | tuple) and any(map(has_response, step))

    return has_response(getattr(getattr(_script(hass, entity_id), "script", None), "sequence", None))


def _script(hass: HomeAssistant, entity_id: str) -> object:
    component = hass.data.get(SCRIPT)
    return component.get_entity(entity_id) if component is not None else None


def schema_in_words(fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return fields as JSON Schema, as short as models need it."""
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    for key, field in fields.items():
        kind, config = _selector(field)
        written: dict[str, Any] = {"type": "string"} if kind in TEXTS else {}
        if kind and not written:
            with suppress(probatio.Invalid, ValueError, TypeError, KeyError):
                written = dict(llm.selector_serializer(selector.selector(dict(field["selector"]))))
        item = written.get("items", written)
        if config.get("custom_value") or len(item.get("enum", ())) > MAX_OPTIONS:
            item.pop("enum", None)
        if kind != "object" and config.get("multiple") and written.get("type") != "array":
            written = {"type": "array", "items": written}
        about = one_line(str(field.get("description") or field.get("name") or ""), MAX_ABOUT)
        if about and squash(about) != squash(key):
            example = f", such as {field['example']}" if field.get("example") is not None else ""
            written["description"] = one_line(f"{about}{example}", MAX_ABOUT)
        schema["properties"][key] = written
    needed = [key for key, field in fields.items() if field.get("required") and "default" not in field]
    return {**schema, "required": needed} if needed else schema


def _selector(field: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    given = field.get("selector")
    if not isinstance(given, Mapping) or not given:
        return "", {}
    kind, config = next(iter(given.items()))
    return str(kind), config if isinstance(config, Mapping) else {}


READ_BY_MEANING: Final = frozenset(
    ("entity", "area", "floor", "label", "select", "number", "boolean", "target", *MOMENTS)
)


def _options(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    options = config.get("options") or ()
    pairs = [
        (one["value"], one.get("label", one["value"])) if isinstance(one, Mapping) else (one, one)
        for one in options
    ]
    return [(str(value), str(label)) for value, label in pairs]


def _field_value(run: ToolRun, key: str, value: Any, field: Mapping[str, Any]) -> Any:
    """Return a value as the field's selector takes it; names of entities and rooms become ids."""
    kind, config = _selector(field)
    if not kind:
        return value
    try:
        if kind in READ_BY_MEANING and config.get("multiple"):
            is_text = isinstance(value, str | list | tuple)
            each = texts(value) if is_text else ()
            parts = [part.strip() for text in each for part in text.split(",")] if is_text else [value]
            read = [_meant(run, key, part, kind, config) for part in parts]
        else:
            read = _meant(run, key, value, kind, config)
        # Every selector checks values; their base class does not declare it.
        check = cast("Callable[[Any], Any]", selector.selector({kind: dict(config)}))
        return check(read)
    except ValidationError:
        raise
    except (probatio.Invalid, ValueError, TypeError) as err:
        raise ValidationError(f"{key}: {str(value)[:40]!r} does not fit: {err}"[:MAX_ERROR]) from err


def _meant(run: ToolRun, key: str, value: Any, kind: str, config: Mapping[str, Any]) -> Any:
    """Return what a value means to a selector of a kind. Raises ValidationError with what there is."""
    meant = value
    match kind:
        case "entity":
            meant = _entity(run, key, value, config)
        case "area" | "floor":
            meant = _place(run, key, value, kind)
        case "label":
            meant = _label(run, key, value)
        case "select":
            meant = _option(key, value, config)
        case "number":
            meant = _number(run, key, value, config)
        case "boolean" if isinstance(value, str):  # the selector takes any text for true
            meant = cv.boolean(value)
        case "duration" if not isinstance(value, Mapping):
            meant = {"seconds": _read(run, key, value, "seconds")}
        case "time" | "date" | "datetime":
            meant = _read(run, key, value, kind)
        case "target" if not isinstance(value, Mapping):  # a name is that of an entity, else of a room
            filters = config.get("entity") or {}
            try:
                meant = {"entity_id": [_entity(run, key, text, filters) for text in texts(value)]}
            except ValidationError:
                meant = {"area_id": [_place(run, key, text, "area") for text in texts(value)]}
    return meant


def _entity(run: ToolRun, key: str, value: Any, config: Mapping[str, Any]) -> Any:
    text = str(value).strip()
    if not isinstance(value, str) or run.hass.states.get(text.lower()) is not None:
        return value
    filters = config.get("filter") or {}
    filters = [filters] if isinstance(filters, Mapping) else [*filters]
    wanted = [config.get("domain"), *(each.get("domain") for each in filters if isinstance(each, Mapping))]
    records = resolve(
        run.house,
        Target(name=text),
        speaker=run.speaker,
        sentence="",
        allowed_domains=frozenset(domain for each in wanted for domain in texts(each)) or run.house.domains,
    )
    if len(records) != 1:
        raise ValidationError(f"{key}: {text[:40]!r} may be several. Give the entity_id")
    return records[0].entity_id


def _place(run: ToolRun, key: str, value: Any, slot: str) -> Any:
    if str(value) in (run.house.areas if slot == "area" else run.house.floors):
        return value
    place = find_place(run.house, str(value), slot)
    ids = sorted((place.area_ids if slot == "area" else place.floor_ids) if place else ())
    if not ids:
        raise ValidationError(f"{key}: {unknown_place(run.house, str(value), slot)}")
    return ids[0]


def _label(run: ToolRun, key: str, value: Any) -> Any:
    labels = lr.async_get(run.hass)
    if labels.async_get_label(str(value)) is not None:
        return value
    if (label := labels.async_get_label_by_name(str(value))) is None:
        known = ", ".join(sorted(labels_in(run.house)))[:200] or "none"
        raise ValidationError(f"{key}: there is no label {str(value)[:40]!r}. Known: {known}")
    return label.label_id


def _option(key: str, value: Any, config: Mapping[str, Any]) -> Any:
    options = _options(config)
    for spelled in (fold, squash):
        asked = spelled(str(value))
        meant = {own for own, label in options if asked in (spelled(own), spelled(label))}
        if len(meant) == 1:
            return meant.pop()
    if config.get("custom_value"):
        return value
    listed = ", ".join(own for own, _label in options)[:200]
    raise ValidationError(f"{key}: {str(value)[:40]!r} is not one of {listed}")


def _read(run: ToolRun, key: str, value: Any, kind: str) -> Any:
    try:
        return READERS[kind](value, run.hass.config.units.temperature_unit)
    except ValueError as err:
        raise ValidationError(f"{key}: {str(value)[:40]!r} is not {err}"[:MAX_ERROR]) from err


def _number(run: ToolRun, key: str, value: Any, config: Mapping[str, Any]) -> Any:
    """Return a number; a length of time in words is one in the unit of the field."""
    if isinstance(value, str):
        unit, language = UNITS.get(str(config.get("unit_of_measurement")).casefold()), run.speaker.language
        if unit and (length := read_length(value, language)):
            value = length.total_seconds() / unit
        else:
            value = next((form for form in forms(value, language) if form.isdecimal()), value)
    number = _read(run, key, value, "number")
    low, high = config.get("min"), config.get("max")
    if (low is not None and number < low) or (high is not None and number > high):
        span = f"{'' if low is None else f'{low:g}'} to {'' if high is None else f'{high:g}'}".strip()
        raise ValidationError(f"{key}: {number:g} is out of range. Allowed: {span}. Tell the person so")
    return number


def field_values(
    run: ToolRun, given: Mapping[str, Any], fields: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the values by field. Raises ValidationError naming the fields."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key not in fields:
            problem = f"{str(key)[:40]!r} is none of its fields. {told_fields(fields)}"
            raise ValidationError(problem[:MAX_ERROR])
        if value in ("", None) and _selector(fields[key])[0] != "text":
            continue
        found[key] = _field_value(run, key, value, fields[key])
    required = {key: field for key, field in fields.items() if field.get("required") and key not in found}
    found |= {key: field["default"] for key, field in required.items() if "default" in field}
    if missing := required.keys() - found.keys():
        problem = f"is missing {', '.join(sorted(missing))}. Ask for it if it was not said"
        raise ValidationError(f"{problem}. {told_fields(fields)}"[:MAX_ERROR])
    return found


def named_values(
    hass: HomeAssistant, values: Mapping[str, Any], fields: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return values under the names of their fields, with names of rooms, entities and options for ids."""
    areas, named = ar.async_get(hass), {}
    for key, value in values.items():
        field = fields.get(key, {})
        kind, config = _selector(field)
        shown: Any = value
        if kind == "area" and (area := areas.async_get_area(str(value))):
            shown = area.name
        elif kind == "entity" and (state := hass.states.get(str(value))):
            shown = state.name
        elif kind == "select":
            shown = next((label for own, label in _options(config) if own == value), value)
        name = str(field.get("name") or key)
        named[name if name not in named else key] = shown
    return named


def told_fields(fields: Mapping[str, Mapping[str, Any]]) -> str:
    """Return which fields there are."""
    if not fields:
        return "This script takes no values"
    named = []
    for key, field in fields.items():
        about = str(field.get("description") or field.get("name") or "")[:MAX_FIELD]
        named.append(f"{key} ({about})" if about else key)
    return f"Its fields, given as parameters: {', '.join(named[:MAX_VALUES])}"


def scripts_as_tools(hass: HomeAssistant, house: HouseSnapshot) -> dict[str, Mapping[str, Mapping[str, Any]]]:
    """Return the scripts with fields that models are shown as tools, with their fields.

    These are the first by their ids, as many as do not make a request too long; the others run with
    ha_control.
    """
    found: dict[str, Mapping[str, Mapping[str, Any]]] = {}
    room = MAX_TOOL_CHARS
    for record in house.of_domain(SCRIPT):
        if not (fields := fields_of(hass, record.entity_id)):
            continue
        room -= len(str(fields))
        if room < 0 or len(found) == MAX_TOOLS:
            break
        found[record.entity_id] = fields
    return found


NOT_RUNNING: Final = (
    "does not run now, so there is nothing to stop. What it turned on stays on: turn off those devices"
)


@callback
def plan_script(run: ToolRun, state: State, verb: str, given: Mapping[str, Any], *, gated: bool) -> Plan:
    """Return the call that runs a script with values. Raises ValidationError for what does not fit."""
    action = action_of(SCRIPT, verb, gated=gated)
    fields = fields_of(run.hass, state.entity_id)
    if action.service != "turn_on":
        if given:
            raise ValidationError(f"{verb} on a script takes no values")
        if state.state == "off":
            raise ValidationError(NOT_RUNNING)
        return Plan(SCRIPT, [PlannedCall(str(action.service), {})], Expectation())
    loose = dict(given)
    nested = loose.pop(VARIABLES, None) if VARIABLES not in fields else None
    if nested is not None and not isinstance(nested, Mapping):
        raise ValidationError(f"{VARIABLES}: an object is needed, not {str(nested)[:40]!r}")
    values = field_values(run, {**loose, **(nested or {})}, fields)
    data = {VARIABLES: values} if values else {}
    return Plan(SCRIPT, [PlannedCall("turn_on", data)], Expectation())
