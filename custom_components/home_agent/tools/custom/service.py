"""`type: service` and `type: template`: one action of Home Assistant, or a template."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, override

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, llm
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.util.json import JsonObjectType, JsonValueType

from ...errors import ToolExecutionError
from ...regex import lazy_regex
from ...safety.defaults import BLOCKED
from ...safety.firewall.own_values import texts_in, texts_repeated
from ...safety.rules import Effect, RuleSet
from ..base import ServiceCall, ToolRun
from .base import CustomTool
from .checks import MAX_SHOWN, Text, Writer, YamlSection, rendered

TARGETS: Final = (ATTR_ENTITY_ID, "device_id", "area_id", "floor_id", "label_id")
MAX_TARGETS: Final = 200
SCRIPT_SERVICES: Final = frozenset({"turn_on", "turn_off", "toggle", "reload"})
REFUSED: Final = {
    "automation.trigger": "action_skips_conditions",
    "scene.apply": "action_unchecked_states",
    "scene.create": "action_unchecked_states",
}
"""Actions that are never called, and what is said of them."""
_SERVICE = lazy_regex(r"[a-z0-9_]+\.[a-z0-9_]+")
_EXAMPLE = "action: notify.family"
_BLOCKED = RuleSet(BLOCKED)
EXAMPLE = "value_template: \"{{ states('sensor.power') }} W\""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceHandler:
    """The action as it was written."""

    domain: str
    service: str
    target: Mapping[str, Any]
    data: Mapping[str, Any]


class ServiceTool(CustomTool):
    """Calls the one action of the YAML through the guard."""

    judged = False
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    _handler: ServiceHandler

    @override
    @classmethod
    def read(cls, section: YamlSection, writer: Writer) -> ServiceHandler | None:
        """Return the action, its targets and data."""
        name = section.text("action", "service", required=_EXAMPLE)
        target = _mapping(section, "target", writer)
        data = _mapping(section, "data", writer, "service_data")
        for key in set(target) - set(TARGETS):
            section.problem("target", "unknown_target", name=str(key)[:MAX_SHOWN], known=", ".join(TARGETS))
        target |= {key: data.pop(key) for key in TARGETS if key in data}
        if name is None or (problem := _problem_of(name)):
            if name is not None:
                key = "action" if section.has("action") else "service"
                section.problem(key, problem, action=name, example=f"`{_EXAMPLE}`")
            return None
        domain, service = name.split(".")
        if domain == "script" and service not in SCRIPT_SERVICES:
            target, service, data = {ATTR_ENTITY_ID: name}, "turn_on", {"variables": data} if data else {}
        return ServiceHandler(domain=domain, service=service, target=target, data=data)

    @override
    def configure(self, handler: ServiceHandler) -> None:
        """Take the action."""
        self._handler = handler
        self.vetted_action = (handler.domain, handler.service)

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return the states of the targets that may be untrusted."""
        states = result.get("states") if isinstance(result, dict) else None
        for entity_id, state in (states if isinstance(states, dict) else {}).items():
            yield from texts_in(hass, entity_id, {"state": state})

    @override
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Work out the targets and call; return what was called."""
        domain, service = self._handler.domain, self._handler.service
        targets = _entities(run, domain, rendered(self._handler.target, variables))
        data = rendered(self._handler.data, variables)
        if self._handler.target and not targets:
            raise ToolExecutionError("The target holds no entity that is exposed to the assistant")
        if len(targets) > MAX_TARGETS:
            raise ToolExecutionError(f"{len(targets)} entities at once are too many")
        await run.call(
            ServiceCall(domain=domain, service=service, entity_ids=targets, data=data, tool=self.name)
        )
        states: JsonObjectType = {key: state.state for key in targets if (state := run.hass.states.get(key))}
        called = f"{domain}.{service}"
        return {"called": called, "states": states} if states else {"called": called}


def _mapping(section: YamlSection, key: str, writer: Writer, *older: str) -> dict[str, Any]:
    """Return targets or data with their templates."""
    if (part := section.section(key, *older)) is None:
        return {}
    return {name: writer.value(part, name, part.plain(name)) for name in part.names()}


def _problem_of(name: str) -> str:
    """Return why an action cannot be offered; empty if it can."""
    if "{" in name:
        return "action_is_template"
    if not _SERVICE.fullmatch(name):
        return "no_action"
    domain, service = name.split(".")
    if _BLOCKED.fits(Effect(domain, service)):
        return "action_blocked"
    return REFUSED.get(name, "")


def _entities(run: ToolRun, domain: str, target: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the entities that a target means.

    Those that are named go to the guard as they are; of a device, area, floor or label
    the exposed ones count.
    """
    given = {key: _listed(value) for key, value in target.items() if value not in (None, "", [])}
    if not given:
        return ()
    if ATTR_ENTITY_ID in given:
        given[ATTR_ENTITY_ID] = [key.lower() for key in given[ATTR_ENTITY_ID]]
    if "area_id" in given:
        given["area_id"] = [_area_id(run.hass, area) for area in given["area_id"]]
    found = async_extract_referenced_entity_ids(run.hass, TargetSelection(given))
    if missing := found.missing_areas | found.missing_floors | found.missing_devices | found.missing_labels:
        raise ToolExecutionError(f"There is no {', '.join(sorted(map(str, missing)))[:100]}")
    inside = {
        key for key in found.indirectly_referenced if key.partition(".")[0] == domain and run.is_exposed(key)
    }
    return tuple(sorted({_known(run.hass, key) for key in found.referenced} | inside))


def _known(hass: HomeAssistant, key: str) -> str:
    """Return the entity id behind an id of the registry."""
    return er.async_resolve_entity_id(er.async_get(hass), key) or key


def _area_id(hass: HomeAssistant, area: str) -> str:
    """Return the id of an area that is given by id or by name."""
    areas = ar.async_get(hass)
    named = None if areas.async_get_area(area) else areas.async_get_area_by_name(area)
    return named.id if named else area


def _listed(value: Any) -> list[str]:
    """Return one or several ids as a list."""
    if isinstance(value, (list, tuple)):
        return [str(item).strip() for item in value]
    return [part.strip() for part in str(value).split(",")]


class TemplateTool(CustomTool):
    """Renders a template; it changes nothing."""

    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    _template: Text

    @override
    @classmethod
    def read(cls, section: YamlSection, writer: Writer) -> Text | None:
        """Return the template."""
        source = section.text("value_template", "template", required=EXAMPLE)
        key = "template" if section.has("template") else "value_template"
        return None if source is None else writer.text(section, key, source)

    @override
    def configure(self, handler: Text) -> None:
        """Take the template."""
        self._template = handler

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return the untrusted texts that the template repeats."""
        return texts_repeated(hass, str(result))

    @override
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Return the value of the template."""
        result: JsonValueType = self._template.value(variables)
        return result
