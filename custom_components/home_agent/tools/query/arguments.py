"""The arguments of a query: what models are offered, and what is read beside it."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, override

import probatio

from homeassistant.components.alarm_control_panel.const import ATTR_CHANGED_BY
from homeassistant.core import State

from ..resolving.targets import NO_VALUE, texts

AGGREGATES: Final = ("avg", "min", "max", "sum", "count")

_OFFERED: Final = {
    probatio.Optional("entity_id", description="light.* for all of a kind"): [str],
    probatio.Optional("name"): str,
    probatio.Optional("area"): str,
    probatio.Optional("floor"): str,
    probatio.Optional("label"): str,
    probatio.Optional("kind", description="domain or device class: light, window, temperature"): str,
    probatio.Optional("state", description="only these: on, open, low, playing, unavailable, >25"): str,
    probatio.Optional("history"): {
        probatio.Optional("duration", description="24h, 7d, today, yesterday, 2026-03-29"): str,
        probatio.Optional("at", description="03:00, yesterday 3:00"): str,
        probatio.Optional("aggregate"): probatio.In(AGGREGATES),
    },
    probatio.Optional("why", description="who or what changed it"): bool,
}
_HISTORY: Final = ("duration", "at", "aggregate")
LABEL: Final = "label"
_LABELS: Final = (LABEL, "label_id", "labels", "tag", "tags")
"""What models call the slot of a label."""
_KINDS: Final = ("kind", "domain", "device_class")
_CAUSES: Final = frozenset(
    {"cause", "causes", "changed_by", "last_changed_by", "reason", "triggered_by", "who", "why"}
)
"""Names under which models ask who or what changed something."""
_READ_TOO: Final = {
    probatio.Optional("kind"): [str],
    probatio.Optional("domain"): [str],
    probatio.Optional("device_class"): [str],
    probatio.Optional("attributes"): [str],
}
"""Slots that are not offered, or take less than is read."""


class QuerySchema(probatio.Schema):
    """The schema of a query. It also reads some slots that are not offered."""

    def __init__(self) -> None:
        """Declare the slots."""
        super().__init__(_OFFERED)
        kept = {key: value for key, value in _OFFERED.items() if key != "kind"}
        self._read = probatio.Schema({**kept, **_READ_TOO})

    @override
    def __call__(self, data: Any, **options: Any) -> Any:
        """Return the arguments in order: lists of kinds, and what belongs to the history within it."""
        if not isinstance(data, Mapping):
            raise probatio.Invalid("an object is needed")
        return self._read(_in_order(data), **options)


def _in_order(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments under the slots they belong to."""
    left_out = (*_HISTORY, *_KINDS, *_LABELS, *_CAUSES, "history")
    tidy = {key: value for key, value in args.items() if key not in left_out}
    tidy |= _label_of(args)
    if isinstance(ids := tidy.get("entity_id"), str):
        tidy["entity_id"] = list(texts(ids))
    for slot in _KINDS:
        if found := _listed(args.get(slot)):
            tidy[slot] = found
    if isinstance(attributes := tidy.get("attributes"), str):
        tidy["attributes"] = _listed(attributes)
    if isinstance(state := tidy.get("state"), (list, tuple)):
        tidy["state"] = ", ".join(texts(state))
    elif isinstance(state, bool):
        tidy["state"] = "on" if state else "off"
    if isinstance(state, str) and state.strip().casefold() in NO_VALUE - {"unknown"}:
        del tidy["state"]
    if _asks_why(args, args.get("history"), tidy.get("attributes")):
        tidy["why"] = True
    if history := _history_in(args):
        tidy["history"] = history
    return tidy


def _history_in(args: Mapping[str, Any]) -> Any:
    """Return the query about the past, with its arguments from the outer level."""
    history = args.get("history")
    if isinstance(history, str):
        history = {"duration": history} if texts(history) else {}
    beside = {key: args[key] for key in _HISTORY if args.get(key)}
    if beside and not history:
        history = {}
    if not isinstance(history, Mapping):
        return history
    given = {**beside, **history}.items()
    return {key: value for key, value in given if value not in (None, "") and key not in _CAUSES}


def _asks_why(args: Mapping[str, Any], history: object, attributes: object) -> bool:
    """Return whether it is asked who or what changed something, wherever that stands."""
    within = history if isinstance(history, Mapping) else {}
    named = _CAUSES.intersection(attributes if isinstance(attributes, list) else ())
    return bool(named) or any(_is_true(part.get(key)) for part in (args, within) for key in _CAUSES)


def has_changed_by(asked: Sequence[str], state: State) -> bool:
    """Return whether a query names the attribute of a lock or an alarm that says who used it."""
    return ATTR_CHANGED_BY in asked and bool(state.attributes.get(ATTR_CHANGED_BY))


def _is_true(value: object) -> bool:
    """Return whether a model says yes, or names what it asks about."""
    return bool(value) and str(value).strip().casefold() not in {"false", "no", "none", "null"}


@cache
def with_labels() -> Mapping[str, Any]:
    """Return the parameters as JSON Schema, as a home with labels is offered them."""
    schema = probatio.to_openapi(probatio.Schema(_OFFERED), openapi_version="3.1.0")
    history = dict(schema["properties"]["history"])
    for part in (schema, history):
        part.pop("additionalProperties", None)
    return {**schema, "properties": {**schema["properties"], "history": history}}


def _label_of(args: Mapping[str, Any]) -> dict[str, str]:
    """Return the label of a query, whatever its slot is called."""
    labels = next(filter(None, (texts(args.get(slot)) for slot in _LABELS)), ())
    return {LABEL: ", ".join(labels)} if labels else {}


def _listed(value: Any) -> list[str]:
    """Return the words of a slot: a list, one word, or several with commas between them."""
    return [part.strip() for text in texts(value) for part in text.split(",") if part.strip()]
