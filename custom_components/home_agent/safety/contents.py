"""The effects of groups, scenes, scripts and automations."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from jinja2 import Environment, TemplateError as JinjaError, nodes
import probatio

from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, State, callback
from homeassistant.exceptions import TemplateError
from homeassistant.helpers import (
    config_validation as cv,
    device_registry as dr,
    entity_registry as er,
    intent,
)
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.template import Template
from homeassistant.loader import IntegrationNotLoaded, async_get_loaded_integration

from ..domains import DOMAINS
from ..domains.base import UNKNOWN_SERVICE
from .rules import GENERIC_SERVICES, Effect

MAX_CHARS: Final = 2_000
FILTERS: Final = frozenset(
    {"default", "d", "int", "float", "join", "lower", "string", "title", "trim", "upper"}
)
TESTS: Final = frozenset({"defined", "eq", "equalto", "in", "ne", "none", "number", "string", "undefined"})
NODES: Final = (
    *(nodes.Template, nodes.Output, nodes.Literal, nodes.Pair, nodes.If, nodes.CondExpr, nodes.Compare),
    *(nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Concat, nodes.Getitem, nodes.Getattr),
)
"""Parts of a template that contain only constants: no states, no clock, no loops."""

_PARSER: Final = Environment()  # noqa: S701 - it only parses, and renders nothing


class NotKnown(Exception):
    """A value depends on more than the variables that are known."""


def resolve(value: Any, variables: Mapping[str, Any]) -> Any:
    """Return a value with its templates rendered. Raises NotKnown if only the running script can."""
    if isinstance(value, Mapping):
        return {resolve(key, variables): resolve(item, variables) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [resolve(item, variables) for item in value]
    if isinstance(value, Template):
        return _rendered(value, variables)
    if isinstance(value, str) and "{" in value:
        raise NotKnown
    return value


def is_templated(value: Any) -> bool:
    """Return whether a value contains a template."""
    if isinstance(value, Mapping):
        return any(is_templated(part) for pair in value.items() for part in pair)
    if isinstance(value, list | tuple | set):
        return any(map(is_templated, value))
    return isinstance(value, Template) or (isinstance(value, str) and "{" in value)


def _rendered(template: Template, variables: Mapping[str, Any]) -> Any:
    text = template.template
    if len(text) > MAX_CHARS:
        raise NotKnown
    try:
        for node in _PARSER.parse(text).find_all(nodes.Node):
            match node:
                case nodes.Name():
                    is_known = node.name in variables
                case nodes.Filter():
                    is_known = node.name in FILTERS
                case nodes.Test():
                    is_known = node.name in TESTS
                case _:
                    is_known = isinstance(node, NODES)
            if not is_known:
                raise NotKnown
        return template.async_render(dict(variables))
    except (TemplateError, JinjaError, RecursionError) as err:
        raise NotKnown from err


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


class ScriptStep(NamedTuple):
    """One service that a sequence calls."""

    domain: str = "script"
    service: str = "turn_on"
    targets: Mapping[str, Any] = MappingProxyType({})
    data: Mapping[str, Any] = MappingProxyType({})
    """The data as it is written, rendered where that is possible now."""
    variables: Mapping[str, Any] = MappingProxyType({})
    """The part of the data that is known now."""
    known: bool = True
    """False where only the running script knows the service or its targets."""


UNKNOWN: Final = ScriptStep(known=False)


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


def steps(node: Any, variables: Mapping[str, Any]) -> Iterator[ScriptStep]:
    """Yield the calls of the steps of a sequence at any depth."""
    if isinstance(node, list | tuple):
        for part in node:
            yield from steps(part, variables)
        return
    kind = ""
    if isinstance(node, Mapping):
        if node.get("enabled") is False:
            return
        with suppress(ValueError):
            kind = cv.determine_script_action(dict(node))
    match kind:
        case _ if kind in QUIET:
            return
        case cv.SCRIPT_ACTION_CALL_SERVICE:
            yield _service(node, variables)
        case cv.SCRIPT_ACTION_ACTIVATE_SCENE:
            yield ScriptStep(domain="scene", targets={ATTR_ENTITY_ID: node["scene"]})
        case cv.SCRIPT_ACTION_DEVICE_AUTOMATION:
            # The matching service, and the service of the same name.
            domain, action = str(node.get("domain", "")), str(node.get("type", ""))
            named = node.get(ATTR_ENTITY_ID)
            for service in dict.fromkeys((DOMAINS[domain].service_of(action), action)):
                yield ScriptStep(
                    domain=domain,
                    service=service,
                    targets={ATTR_ENTITY_ID: named} if named else {},
                    known=bool(named) or not DOMAINS[domain].opening_services,
                )
        case cv.SCRIPT_ACTION_FIRE_EVENT:
            yield ScriptStep(domain="event", service="fire")
        case cv.SCRIPT_ACTION_CHOOSE:
            chosen = [option["sequence"] for option in node["choose"]]
            yield from steps([*chosen, node.get("default") or []], variables)
        case cv.SCRIPT_ACTION_IF:
            yield from steps([node["then"], node.get("else") or []], variables)
        case cv.SCRIPT_ACTION_REPEAT:
            yield from steps(node["repeat"]["sequence"], variables)
        case cv.SCRIPT_ACTION_PARALLEL | cv.SCRIPT_ACTION_SEQUENCE:
            yield from steps(node[kind], variables)
        case _:
            yield UNKNOWN


def _service(node: Mapping[str, Any], variables: Mapping[str, Any]) -> ScriptStep:
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
            part = resolve(part, variables) if isinstance(part, Template) else part
        except NotKnown:
            part = ""
        if part is not None and not isinstance(part, Mapping):
            return ScriptStep(domain=domain, service=service, known=False)
        for name, value in (part or {}).items():
            partly.pop(name, None)
            try:
                partly[name] = data[name] = resolve(value, variables)
            except NotKnown:
                data[name] = value
                known = known and name not in TARGETS
    if (own := node.get(ATTR_ENTITY_ID)) is not None:
        partly[ATTR_ENTITY_ID] = data[ATTR_ENTITY_ID] = own
    return ScriptStep(
        domain=domain,
        service=service,
        targets={key: partly[key] for key in TARGETS if partly.get(key) is not None},
        data=data,
        variables=partly,
        known=known,
    )


MAX_DEPTH = 6
MAX_EFFECTS = 2_000
"""The limit of the analysis; beyond it the contents of the call count as unknown."""
POSITIONS: Final[Mapping[str, str]] = {
    "set_cover_position": "close_cover",
    "set_cover_tilt_position": "close_cover_tilt",
    "set_valve_position": "close_valve",
}
"""The meaning of a position of zero."""
LIGHT_BRIDGES: Final = frozenset({"deconz", "hue", "lutron_caseta", "sunricher_dali"})
"""Integrations whose scenes hold the settings of lamps, and run no programs as those of other hubs do."""
SWITCHED: Final = frozenset({"button", "fan", "light", "scene", "switch"})
"""Domains of such a bridge. Of one that also controls anything else, the content of scenes is unknown."""
APPLYING: Final = ("apply", "create")
"""Services of scenes that bring their own states along; creating one is judged as if it were applied."""


@callback
def effects(
    hass: HomeAssistant,
    domain: str,
    service: str,
    entity_ids: Iterable[str],
    data: Mapping[str, Any] | None = None,
) -> list[Effect]:
    """Return all that a service on entities comes down to, the call itself first."""
    found: list[Effect] = []
    for effect in _Opener(hass).call(domain, service, list(entity_ids), data or {}, _Place()):
        found.append(effect)
        if len(found) >= MAX_EFFECTS:
            found.append(Effect(domain, service, known=False))
            break
    return found


class _Place(NamedTuple):
    """The nesting depth of a call, and whether it is a step of a script, scene or automation."""

    depth: int = 0
    inside: bool = False
    variables: Mapping[str, Any] = MappingProxyType({})
    """The values that a script received."""

    def within(self, variables: Mapping[str, Any] | None = None) -> _Place:
        """Return the place of the content of a script, a scene or an automation."""
        return _Place(self.depth + 1, inside=True, variables=variables or {})


class _Opener:
    """The analysis of one call; nothing is opened twice."""

    def __init__(self, hass: HomeAssistant) -> None:
        self._hass = hass
        self._seen: set[tuple[str, str, str, bool]] = set()
        self._created: set[str] = set()
        """Scenes that a script creates before it sets them."""

    def call(
        self, domain: str, service: str, entity_ids: list[str], data: Mapping[str, Any], place: _Place
    ) -> Iterator[Effect]:
        """Yield the effects of one service call."""
        if domain == "scene" and service in APPLYING:
            yield Effect(domain, service, inside=place.inside)
            try:
                states = _as_states(resolve(data.get("entities") or {}, {}))
                taken = cv.entity_ids(resolve(data.get("snapshot_entities") or [], {}))
            except NotKnown, probatio.Invalid:
                yield Effect("scene", "apply", known=False, inside=place.inside)
                return
            if isinstance(scene_id := data.get("scene_id"), str) and not is_templated(scene_id):
                self._created.add(f"scene.{scene_id}")
            for state in states:
                yield from self._brought_to(state, place.within())
            for entity_id in taken:
                yield from self._brought_back(entity_id, place.within())
            return
        if domain == "intent_script":
            handlers = (item for item in intent.async_get(self._hass) if item.intent_type == service)
            config = getattr(next(handlers, None), "config", None)
            if not isinstance(config, Mapping):
                yield Effect(domain, service, known=False, inside=place.inside)
            elif (script := config.get("action")) is not None:
                yield from self._steps_of(script, {}, place)
            return
        if domain == "script":
            own = service not in (*GENERIC_SERVICES, "reload")
            if own:
                entity_ids, service = [f"script.{service}"], "turn_on"
            given = data if own else data.get("variables")
            place = place._replace(variables=given if isinstance(given, Mapping) else {})
        if not entity_ids:
            yield Effect(domain, service, inside=place.inside)
        for key, action in DOMAINS[domain].comes_to.get(service, {}).items():
            named = _named(data.get(key), place.variables) if key else entity_ids
            if named is None:
                yield Effect(domain, service, known=False, inside=place.inside)
            of_domain, _, of_service = action.partition(".")
            for entity_id in named or ():
                yield from self._on_entity(of_domain, of_service, entity_id, place)
        if (groups := DOMAINS[domain].groups) and service == groups.join:
            added = _named(data.get(groups.members), place.variables)
            if added is None:
                yield Effect(domain, service, known=False, inside=place.inside)
            entity_ids = list(dict.fromkeys((*entity_ids, *(added or ()))))
        for entity_id in entity_ids:
            yield from self._on_entity(domain, service, entity_id, place)

    def _on_entity(self, domain: str, service: str, entity_id: str, place: _Place) -> Iterator[Effect]:
        own = entity_id.partition(".")[0]
        if domain == "homeassistant" and service in GENERIC_SERVICES:
            domain, service = own, DOMAINS[own].generic_services.get(service, service)
        state = self._hass.states.get(entity_id)
        device_class = state.attributes.get(ATTR_DEVICE_CLASS) if state else None
        if device_class is None and (entry := er.async_get(self._hass).async_get(entity_id)):
            device_class = entry.device_class or entry.original_device_class
        yield Effect(domain, service, entity_id, device_class, inside=place.inside)
        variables = repr(place.variables) if own == "script" else ""
        key = (f"{domain}.{service}", entity_id, variables, place.inside)
        if key in self._seen:
            return
        self._seen.add(key)
        runs = own == domain and service in DOMAINS[own].runs
        if place.depth >= MAX_DEPTH:
            yield Effect(domain, service, entity_id, known=False, inside=place.inside)
        elif runs and own == "scene":
            # homeassistant_scene is the key of core's scene platform; it has no accessor for the states.
            platform = self._hass.data.get("homeassistant_scene")
            scene = platform.entities.get(entity_id) if platform is not None else None
            config = getattr(scene, "scene_config", None)
            if config is not None:
                for brought in config.states.values():
                    yield from self._brought_to(brought, place.within())
            elif lamps := _lamps_of_bridge(self._hass, entity_id):
                for lamp in lamps:
                    yield from self._on_entity(lamp.partition(".")[0], "turn_on", lamp, place.within())
            elif entity_id not in self._created or state is not None:
                yield Effect("scene", "turn_on", entity_id, known=False, inside=place.inside)
        elif runs:
            component = self._hass.data.get(own)
            entity = component.get_entity(entity_id) if component is not None else None
            script = getattr(entity, "script", None) or getattr(entity, "action_script", None)
            if getattr(script, "sequence", None) is None:
                yield Effect(own, "turn_on", entity_id, known=False, inside=place.inside)
            else:
                yield from self._steps_of(script, place.variables if own == "script" else {}, place)
        else:
            yield from self._members(domain, service, entity_id, place)

    def _members_of(self, entity_id: str) -> list[str]:
        state = self._hass.states.get(entity_id)
        members = state.attributes.get(ATTR_ENTITY_ID) if state else None
        if not isinstance(members, list | tuple | set):
            return []
        return [member for member in members if isinstance(member, str) and member != entity_id]

    def _members(self, domain: str, service: str, entity_id: str, place: _Place) -> Iterator[Effect]:
        if DOMAINS[domain].runs:
            return
        groups, state = DOMAINS[domain].groups, self._hass.states.get(entity_id)
        if groups and state and service in groups.heard:
            together = state.attributes.get(groups.members)
            for other in together if isinstance(together, list | tuple) else ():
                if other != entity_id and isinstance(other, str):
                    yield from self._on_entity(domain, service, other, place._replace(depth=place.depth + 1))
        for member in self._members_of(entity_id):
            own = member.partition(".")[0]
            meant = service if own == domain else DOMAINS[own].generic_services.get(service, service)
            yield from self._on_entity(own, meant, member, place._replace(depth=place.depth + 1))

    def _brought_to(self, state: State, place: _Place) -> Iterator[Effect]:
        if state.domain == "group":
            if place.depth >= MAX_DEPTH:
                yield Effect("group", "turn_on", state.entity_id, known=False, inside=True)
                return
            for member in self._members_of(state.entity_id):
                brought = State(member, state.state, state.attributes)
                yield from self._brought_to(brought, place._replace(depth=place.depth + 1))
            return
        for service in services_for(self._hass, state):
            if service == UNKNOWN_SERVICE:
                yield Effect(state.domain, "turn_on", state.entity_id, known=False, inside=True)
            else:
                yield from self._on_entity(state.domain, service, state.entity_id, place)

    def _brought_back(self, entity_id: str, place: _Place) -> Iterator[Effect]:
        own = entity_id.partition(".")[0]
        facts = DOMAINS[own]
        services = ("turn_on",) if facts.runs else facts.opening_services
        if services:
            for service in services:
                yield from self._on_entity(own, service, entity_id, place)
        elif (state := self._hass.states.get(entity_id)) is not None:
            if own == "group":
                for member in self._members_of(entity_id)[:MAX_EFFECTS] if place.depth < MAX_DEPTH else ():
                    yield from self._brought_back(member, place._replace(depth=place.depth + 1))
            else:
                yield from self._brought_to(state, place)

    def _steps_of(self, script: Any, given: Mapping[str, Any], place: _Place) -> Iterator[Effect]:
        # Passed variables override the script's own, and variables that a step sets override both.
        variables = dict(given)
        own = getattr(getattr(script, "variables", None), "variables", None)
        for name, value in (own if isinstance(own, Mapping) else {}).items():
            if name not in variables:
                with suppress(NotKnown):
                    variables[name] = resolve(value, variables)
        for name in (*assigned(script.sequence), "context", "repeat", "this", "trigger", "wait"):
            variables.pop(name, None)
        inner = place.within()
        for step in steps(script.sequence, variables):
            if not step.known:
                yield Effect(step.domain, step.service, known=False, inside=True)
            facts = DOMAINS[step.domain]
            brings = step.domain == "scene" or facts.groups or facts.comes_to
            given = step.data if brings else step.variables
            targets = self._targets(step)
            if targets is None:
                yield Effect(step.domain, step.service, known=False, inside=True)
            yield from self.call(step.domain, step.service, targets or [], given, inner)

    def _targets(self, step: ScriptStep) -> list[str] | None:
        """Return the entities that a step targets, or None if a place or a device does not exist (yet)."""
        given = dict(step.targets)
        if named := given.get(ATTR_ENTITY_ID):
            try:
                given[ATTR_ENTITY_ID] = named = cv.comp_entity_ids_or_uuids(named)
            except probatio.Invalid:
                del given[ATTR_ENTITY_ID]
        if named == "all":
            return [state.entity_id for state in self._hass.states.async_all(step.domain)]
        registry = er.async_get(self._hass)
        found = async_extract_referenced_entity_ids(self._hass, TargetSelection(given))
        if found.missing_areas or found.missing_devices or found.missing_floors or found.missing_labels:
            return None
        named = {er.async_resolve_entity_id(registry, key) or key for key in found.referenced}
        inferred = {
            key
            for key in found.indirectly_referenced
            if step.domain in (key.partition(".")[0], "homeassistant")
        }
        return sorted(named | inferred)


def _named(value: Any, variables: Mapping[str, Any]) -> list[str] | None:
    """Return the entities that data name; None if only the running script knows them."""
    try:
        return cv.entity_ids(resolve(value or [], variables))
    except NotKnown, probatio.Invalid:
        return None


def _lamps_of_bridge(hass: HomeAssistant, scene_id: str) -> list[str]:
    """Return what a scene of a bridge of lamps may change: the lamps in its room, else all of the bridge."""
    registry, devices = er.async_get(hass), dr.async_get(hass)
    scene = registry.async_get(scene_id)
    if scene is None or scene.platform not in LIGHT_BRIDGES or scene.config_entry_id is None:
        return []

    def room(entry: er.RegistryEntry) -> str | None:
        device = devices.async_get(entry.device_id) if entry.device_id else None
        return entry.area_id or (device.area_id if device else None)

    entries = [
        entry
        for entry in er.async_entries_for_config_entry(registry, scene.config_entry_id)
        if entry.entity_category is None and DOMAINS[entry.domain].actions
    ]
    if any(entry.domain not in SWITCHED for entry in entries):
        return []
    lamps = [entry for entry in entries if entry.domain in ("light", "switch") and not entry.disabled]
    here = [entry.entity_id for entry in lamps if room(entry) and room(entry) == room(scene)]
    return here or [entry.entity_id for entry in lamps]


def _as_states(entities: Any) -> list[State]:
    """Return the states in the data of a service. Raises probatio.Invalid for states that core refuses."""
    if not isinstance(entities, Mapping):
        raise probatio.Invalid("entities should be a mapping")
    states = []
    for key, shown in entities.items():
        attributes = dict(shown) if isinstance(shown, Mapping) else {}
        state = attributes.pop("state", None) if isinstance(shown, Mapping) else shown
        if isinstance(state, bool):
            state = "on" if state else "off"
        if not isinstance(state, str):
            raise probatio.Invalid("a state should be a text")
        states.append(State(cv.entity_id(key), state, attributes))
    return states


@callback
def services_for(hass: HomeAssistant, state: State) -> Iterator[str]:
    """Yield the services of the entity's own domain that bring it into a state that a scene holds.

    Each domain's `reproduce_state` platform decides this in Home Assistant; the facts about the domains
    repeat it.
    """
    facts = DOMAINS[state.domain]
    known = facts.reproduced
    if known is None:
        # The integration behind the domain may know how to bring about a state.
        with suppress(IntegrationNotLoaded):
            integration = async_get_loaded_integration(hass, state.domain)
            if not integration.platforms_exists(("reproduce_state",)):
                return
        yield UNKNOWN_SERVICE
        return
    services = list(known.states.get(state.state, known.other))
    for attribute, service in facts.reproducing_services.items():
        value = state.attributes.get(attribute)
        if value is not None or (attribute in state.attributes and state.state != "off"):
            is_zero = value == 0 and not isinstance(value, bool)
            services.append(POSITIONS.get(service, service) if is_zero else service)
    yield from dict.fromkeys(services)
