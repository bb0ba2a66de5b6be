"""Sequences of scripts and automations, read step by step as Home Assistant reads them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.template import Template

from ..domains import DOMAINS
from .known_templates import NotKnown, resolve

TARGETS: Final = (ATTR_ENTITY_ID, "device_id", "area_id", "floor_id", "label_id")
QUIET: Final = frozenset(
    {
        cv.SCRIPT_ACTION_CHECK_CONDITION,
        cv.SCRIPT_ACTION_DELAY,
        cv.SCRIPT_ACTION_SET_CONVERSATION_RESPONSE,
        cv.SCRIPT_ACTION_STOP,
        cv.SCRIPT_ACTION_VARIABLES,
        cv.SCRIPT_ACTION_WAIT_FOR_TRIGGER,
        cv.SCRIPT_ACTION_WAIT_TEMPLATE,
    }
)
"""Steps without a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One service that a sequence calls."""

    domain: str = "script"
    service: str = "turn_on"
    targets: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    """The data as it is written, rendered where that is possible now."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """The part of the data that is known now."""
    known: bool = True
    """False where only the running script knows the service or its targets."""


UNKNOWN: Final = Step(known=False)


def assigned(node: Any) -> Iterator[str]:
    """Yield the names that the steps of a sequence give values to while they run."""
    if isinstance(node, list | tuple):
        for part in node:
            yield from assigned(part)
    elif isinstance(node, Mapping):
        variables = node.get("variables")
        names = getattr(variables, "variables", variables)
        if isinstance(names, Mapping):
            yield from map(str, names)
        if isinstance(stored := node.get("response_variable"), str):
            yield stored
        for key, part in node.items():
            if key not in ("data", "target", "variables"):
                yield from assigned(part)


def steps(node: Any, variables: Mapping[str, Any]) -> Iterator[Step]:
    """Yield the calls of the steps of a sequence at any depth."""
    if isinstance(node, list | tuple):
        for part in node:
            yield from steps(part, variables)
        return
    if not isinstance(node, Mapping):
        yield UNKNOWN
        return
    if node.get("enabled") is False:
        return
    try:
        kind = cv.determine_script_action(dict(node))
    except ValueError:
        yield UNKNOWN
        return
    if kind not in QUIET:
        yield from _step(kind, node, variables)


def _step(kind: str, node: Mapping[str, Any], variables: Mapping[str, Any]) -> Iterator[Step]:
    match kind:
        case cv.SCRIPT_ACTION_CALL_SERVICE:
            yield _service(node, variables)
        case cv.SCRIPT_ACTION_ACTIVATE_SCENE:
            yield Step(domain="scene", targets={ATTR_ENTITY_ID: node["scene"]})
        case cv.SCRIPT_ACTION_DEVICE_AUTOMATION:
            yield from _device_action(node)
        case cv.SCRIPT_ACTION_FIRE_EVENT:
            yield Step(domain="event", service="fire")
        case cv.SCRIPT_ACTION_CHOOSE:
            for option in node["choose"]:
                yield from steps(option["sequence"], variables)
            yield from steps(node.get("default") or [], variables)
        case cv.SCRIPT_ACTION_IF:
            yield from steps(node["then"], variables)
            yield from steps(node.get("else") or [], variables)
        case cv.SCRIPT_ACTION_PARALLEL:
            yield from steps(node["parallel"], variables)
        case cv.SCRIPT_ACTION_REPEAT:
            yield from steps(node["repeat"]["sequence"], variables)
        case cv.SCRIPT_ACTION_SEQUENCE:
            yield from steps(node["sequence"], variables)
        case _:
            yield UNKNOWN


def _service(node: Mapping[str, Any], variables: Mapping[str, Any]) -> Step:
    try:
        action = resolve(node.get("action", node.get("service", node.get("service_template"))), variables)
    except NotKnown:
        return UNKNOWN
    domain, dot, service = str(action).strip().lower().partition(".")
    if not dot:
        return UNKNOWN
    data: dict[str, Any] = {}
    partly: dict[str, Any] = {}
    known = True
    for key in ("data", "data_template", "target"):
        part = node.get(key)
        try:
            part = _rendered_mapping(part, variables)
        except NotKnown:
            return Step(domain=domain, service=service, known=False)
        for name, value in part.items():
            partly.pop(name, None)
            try:
                partly[name] = data[name] = resolve(value, variables)
            except NotKnown:
                data[name] = value
                known = known and name not in TARGETS
    if (own := node.get(ATTR_ENTITY_ID)) is not None:
        partly[ATTR_ENTITY_ID] = data[ATTR_ENTITY_ID] = own
    return Step(
        domain=domain,
        service=service,
        targets={key: partly[key] for key in TARGETS if partly.get(key) is not None},
        data=data,
        variables=partly,
        known=known,
    )


def _rendered_mapping(part: Any, variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data or the target of a step. Raises NotKnown if all of it is one template."""
    if isinstance(part, Template):
        part = resolve(part, variables)
    if part is None:
        return {}
    if not isinstance(part, Mapping):
        raise NotKnown
    return part


def _device_action(node: Mapping[str, Any]) -> Iterator[Step]:
    """Yield the possible calls of a device action: the matching service, and the service of the same name."""
    domain, kind = str(node.get("domain", "")), str(node.get("type", ""))
    named = node.get(ATTR_ENTITY_ID)
    for service in dict.fromkeys((DOMAINS[domain].service_of(kind), kind)):
        yield Step(
            domain=domain,
            service=service,
            targets={ATTR_ENTITY_ID: named} if named else {},
            known=bool(named) or not DOMAINS[domain].opening_services,
        )
