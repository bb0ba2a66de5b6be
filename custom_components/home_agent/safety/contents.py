"""Opened up: what groups, scenes, scripts and automations would call."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, State, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.template import Template

from .defaults import GENERIC_MEANING, GENERIC_SERVICES, RISKY_SERVICES, STATE_SERVICES
from .rules import Effect

MAX_DEPTH = 6
TARGETS = (ATTR_ENTITY_ID, "device_id", "area_id", "floor_id", "label_id")
PRIMITIVES = (str, int, float, bool, type(None))
RUNNING_SERVICES = {
    "script": ("turn_on", "toggle"),
    "automation": ("turn_on", "toggle", "trigger"),
    "scene": ("turn_on",),
}


@callback
def effects(hass: HomeAssistant, domain: str, service: str, entity_ids: Iterable[str]) -> list[Effect]:
    """Return all that a service on entities comes down to, the call itself first."""
    return list(_Opener(hass).call(domain, service, entity_ids, 0))


class _Opener:
    """One look into a call; nothing is opened twice."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start with nothing opened."""
        self._hass = hass
        self._seen: set[tuple[str, str]] = set()

    def call(self, domain: str, service: str, entity_ids: Iterable[str], depth: int) -> Iterator[Effect]:
        """Yield the effects of one service call."""
        entity_ids = list(entity_ids)
        if not entity_ids:
            yield Effect(domain, service)
        for entity_id in entity_ids:
            yield from self._on_entity(domain, service, entity_id, depth)

    def _on_entity(self, domain: str, service: str, entity_id: str, depth: int) -> Iterator[Effect]:
        """Yield what a service does to one entity and to what stands behind it."""
        own = entity_id.partition(".")[0]
        if domain == "homeassistant" and service in GENERIC_SERVICES:
            domain, service = own, GENERIC_MEANING.get((service, own), service)
        yield self._effect(domain, service, entity_id)
        key = (f"{domain}.{service}", entity_id)
        if key in self._seen:
            return
        self._seen.add(key)
        runs = own == domain and service in RUNNING_SERVICES.get(own, ())
        if depth >= MAX_DEPTH:
            yield Effect(domain, service, entity_id, known=False)
        elif runs and own == "scene":
            yield from self._scene(entity_id)
        elif runs:
            yield from self._sequence_of(own, entity_id, depth)
        else:
            yield from self._members(domain, service, entity_id, depth)

    def _effect(self, domain: str, service: str, entity_id: str) -> Effect:
        """Return one service on one entity."""
        state = self._hass.states.get(entity_id)
        device_class = state.attributes.get(ATTR_DEVICE_CLASS) if state else None
        if device_class is None and (entry := er.async_get(self._hass).async_get(entity_id)):
            device_class = entry.device_class or entry.original_device_class
        return Effect(domain, service, entity_id, device_class)

    def _members(self, domain: str, service: str, entity_id: str, depth: int) -> Iterator[Effect]:
        """Yield what a service on a group does to its members."""
        state = self._hass.states.get(entity_id)
        members = state.attributes.get(ATTR_ENTITY_ID) if state else None
        if not isinstance(members, list | tuple | set) or domain in ("scene", "script", "automation"):
            return
        for member in members:
            if isinstance(member, str) and member != entity_id:
                own = member.partition(".")[0]
                meant = service
                if own != domain:
                    meant = GENERIC_MEANING.get((service, own), service)
                yield from self._on_entity(own, meant, member, depth + 1)

    def _scene(self, entity_id: str) -> Iterator[Effect]:
        """Yield what a scene would call; scenes that live in a bridge cannot be looked into."""
        # homeassistant_scene is the key of core's scene platform; it has no accessor for the states.
        platform = self._hass.data.get("homeassistant_scene")
        scene = platform.entities.get(entity_id) if platform is not None else None
        config = getattr(scene, "scene_config", None)
        if config is None:
            yield Effect("scene", "turn_on", entity_id, known=False)
            return
        for target, state in config.states.items():
            yield from self._brought_to(target, state.state if isinstance(state, State) else str(state))

    def _brought_to(self, entity_id: str, state: str) -> Iterator[Effect]:
        """Yield what brings an entity into a state."""
        own = entity_id.partition(".")[0]
        meant = STATE_SERVICES.get((own, state))
        services = (
            (meant,) if meant else RISKY_SERVICES.get(own, ("turn_off" if state == "off" else "turn_on",))
        )
        for service in services:
            yield self._effect(own, service, entity_id)

    def _sequence_of(self, domain: str, entity_id: str, depth: int) -> Iterator[Effect]:
        """Yield what a script or an automation would call."""
        component = self._hass.data.get(domain)
        entity = component.get_entity(entity_id) if component is not None else None
        script = getattr(entity, "script", None) or getattr(entity, "action_script", None)
        sequence = getattr(script, "sequence", None)
        if sequence is None:
            yield Effect(domain, "turn_on", entity_id, known=False)
            return
        yield from self._steps(sequence, depth + 1)

    def _steps(self, node: Any, depth: int) -> Iterator[Effect]:
        """Yield what the steps of a sequence call, however deep they stand in it."""
        if isinstance(node, list | tuple):
            for part in node:
                yield from self._steps(part, depth)
        elif isinstance(node, Mapping):
            if node.get("enabled") is False:
                return
            if (action := node.get("action", node.get("service"))) is not None:
                yield from self._action(action, node, depth)
                return
            if isinstance(node.get("scene"), str):
                yield from self._on_entity("scene", "turn_on", node["scene"], depth)
            elif "device_id" in node and "domain" in node and "condition" not in node:
                yield from self._device_action(node)
            else:
                yield from self._steps(
                    [value for value in node.values() if not isinstance(value, PRIMITIVES)], depth
                )

    def _action(self, action: Any, step: Mapping[str, Any], depth: int) -> Iterator[Effect]:
        """Yield what one step that calls a service does."""
        if not isinstance(action, str) or "." not in action or "{" in action:
            yield Effect("script", "turn_on", known=False)
            return
        domain, service = action.lower().split(".", 1)
        data = step.get("data") or {}
        templated = step.get("data_template") or {}
        given: dict[str, Any] = {}
        for part in (data, templated, step.get("target") or {}, step):
            if isinstance(part, Template):
                yield Effect(domain, service, known=False)
                return
            given |= {key: part[key] for key in TARGETS if part.get(key) is not None}
        if any(_is_templated(value) for value in given.values()):
            yield Effect(domain, service, known=False)
        if domain == "scene" and service == "apply":
            for entity_id, state in dict(data.get("entities") or {}).items():
                shown = state.get("state", "") if isinstance(state, Mapping) else state
                yield from self._brought_to(entity_id, str(shown))
            return
        if domain == "script" and service not in (*GENERIC_SERVICES, "reload"):
            yield from self._on_entity("script", "turn_on", f"script.{service}", depth)
            return
        yield from self.call(domain, service, self._targets(domain, given), depth)

    def _targets(self, domain: str, given: Mapping[str, Any]) -> list[str]:
        """Return the entities that a target means for a domain."""
        plain = {key: value for key, value in given.items() if not _is_templated(value)}
        if plain.get(ATTR_ENTITY_ID) == "all":
            return [state.entity_id for state in self._hass.states.async_all(domain)]
        found = async_extract_referenced_entity_ids(self._hass, TargetSelection(plain))
        registry = er.async_get(self._hass)
        named = {er.async_resolve_entity_id(registry, key) or key for key in found.referenced}
        inferred = {
            key for key in found.indirectly_referenced if domain in (key.partition(".")[0], "homeassistant")
        }
        return sorted(named | inferred)

    def _device_action(self, step: Mapping[str, Any]) -> Iterator[Effect]:
        """Yield what a device action may do."""
        domain, kind = str(step["domain"]), str(step.get("type", ""))
        named = str(step.get(ATTR_ENTITY_ID) or "")
        entity_id = er.async_resolve_entity_id(er.async_get(self._hass), named) if named else None
        for service in {_ACTION_SERVICES.get((domain, kind), kind), kind}:
            if entity_id:
                yield self._effect(domain, service, entity_id)
            else:
                yield Effect(domain, service, known=domain not in RISKY_SERVICES)


_ACTION_SERVICES = {
    ("cover", "open"): "open_cover",
    ("cover", "close"): "close_cover",
    ("cover", "set_position"): "set_cover_position",
    ("alarm_control_panel", "disarm"): "alarm_disarm",
    ("alarm_control_panel", "trigger"): "alarm_trigger",
}


def _is_templated(value: Any) -> bool:
    """Return whether a value is known only when it runs."""
    if isinstance(value, list | tuple | set):
        return any(_is_templated(part) for part in value)
    return isinstance(value, Template) or (isinstance(value, str) and "{" in value)
