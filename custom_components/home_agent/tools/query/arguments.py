"""The arguments of a query: what models are offered, and what is read beside it."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import probatio

from homeassistant.components.alarm_control_panel.const import ATTR_CHANGED_BY
from homeassistant.core import State

from ..resolving.resolver import NO_VALUE, SLOTS, texts, tidy

AGGREGATES: Final = ("avg", "min", "max", "sum", "count")

PARAMETERS: Final = probatio.Schema(
    {
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
        probatio.Optional("domain"): [str],
        probatio.Optional("device_class"): [str],
        probatio.Optional("attributes"): [str],
    }
)
UNOFFERED: Final = ("domain", "device_class", "attributes")
_HISTORY: Final = ("duration", "at", "aggregate")
LABEL: Final = "label"
_CAUSES: Final = frozenset(
    {"cause", "causes", "changed_by", "last_changed_by", "reason", "triggered_by", "who", "why"}
)
"""Names under which models ask who or what changed something."""


def in_order(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as `PARAMETERS` checks them: lists of kinds, and what is of the past within it."""
    history, attributes = args.get("history"), _listed(args.get("attributes"))
    why = _asks_why(args, history, attributes)
    beside = {key: args[key] for key in _HISTORY if args.get(key)}
    if isinstance(history, str):
        history = {"duration": history} if texts(history) else {}
    if history is None or isinstance(history, Mapping):
        given = {**beside, **(history or {})}.items()
        history = {key: value for key, value in given if value not in (None, "") and key not in _CAUSES}
    state = args.get("state")
    if isinstance(state, bool):
        state = "on" if state else "off"
    elif isinstance(state, str) and state.strip().casefold() in NO_VALUE - {"unknown"}:
        state = None
    read = {
        **tidy(args),
        "domain": [kind for slot in ("kind", "domain") for kind in _listed(args.get(slot))],
        "device_class": _listed(args.get("device_class")),
        "attributes": attributes,
        "state": state,
        "history": history,
        "why": why,
    }
    left_out = (*SLOTS, *read, *_HISTORY, *_CAUSES, "kind")
    others = {key: value for key, value in args.items() if key not in left_out}
    return {key: value for key, value in read.items() if value} | others


def _asks_why(args: Mapping[str, Any], history: object, attributes: Sequence[str]) -> bool:
    within = history if isinstance(history, Mapping) else {}
    return not _CAUSES.isdisjoint(attributes) or any(
        _is_true(part.get(key)) for part in (args, within) for key in _CAUSES
    )


def has_changed_by(asked: Sequence[str], state: State) -> bool:
    """Return whether a query names the attribute of a lock or an alarm that says who used it."""
    return ATTR_CHANGED_BY in asked and bool(state.attributes.get(ATTR_CHANGED_BY))


def _is_true(value: object) -> bool:
    return bool(value) and str(value).strip().casefold() not in {"false", "no", "none", "null"}


@cache
def with_labels() -> Mapping[str, Any]:
    """Return the parameters as JSON Schema, as a home with labels is offered them."""
    schema = probatio.to_openapi(PARAMETERS, openapi_version="3.1.0")
    offered = {name: slot for name, slot in schema["properties"].items() if name not in UNOFFERED}
    history = dict(offered["history"])
    for part in (schema, history):
        part.pop("additionalProperties", None)
    return {**schema, "properties": {**offered, "history": history}}


def _listed(value: Any) -> list[str]:
    """Return the words of a slot: a list, one word, or several with commas between them."""
    return [part.strip() for text in texts(value) for part in text.split(",") if part.strip()]
