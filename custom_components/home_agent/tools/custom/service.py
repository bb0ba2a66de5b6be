"""`type: service` and `type: template`: one action of Home Assistant, or a template."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, override

import probatio

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, config_validation as cv, entity_registry as er, llm
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.util.json import JsonObjectType, JsonValueType

from ...errors import ToolExecutionError
from ...safety.firewall.own_values import texts_in, texts_repeated
from ...safety.frozen import ServiceCall
from ...safety.rules import BLOCKED, Effect, RuleSet
from ..base import ToolRun
from .base import TEXT, CustomTool, Recipe, Templates, Text, rendered

TARGETS: Final = (ATTR_ENTITY_ID, "device_id", "area_id", "floor_id", "label_id")
MAX_TARGETS: Final = 200
SCRIPT_SERVICES: Final = frozenset({"turn_on", "turn_off", "toggle", "reload"})
REFUSED: Final = {
    "automation.trigger": "skips the conditions of automations: put the actions into a script and run that",
    "scene.apply": "applies states that nobody has checked: save them as a scene and use scene.turn_on",
    "scene.create": "applies states that nobody has checked: save them as a scene and use scene.turn_on",
}
"""Actions that are never called, and why."""
_BLOCKED = RuleSet(BLOCKED)


def _allowed(action: str) -> str:
    if reason := REFUSED.get(action):
        raise probatio.Invalid(reason)
    domain, service = action.split(".")
    if _BLOCKED.fits(Effect(domain, service)):
        raise probatio.Invalid("is never allowed: use the action of the entity's own domain")
    return action


type ServiceHandler = tuple[str, str, Mapping[str, Any], Mapping[str, Any]]
"""Domain, service, target and data of an action as it was written."""


class ServiceTool(CustomTool):
    """Calls the one action of the YAML through the guard."""

    schema = probatio.Schema(
        {
            probatio.Alias("action", "service", required=True): probatio.All(
                str,
                probatio.Match(
                    r"[a-z0-9_]+\.[a-z0-9_]+\Z", msg="expected <domain>.<action>, and no template"
                ),
                _allowed,
            ),
            probatio.Optional("target", default=dict): {probatio.In(TARGETS): object},
            probatio.Alias("data", "service_data", default=dict): dict,
        }
    )
    judged = False
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    handler: ServiceHandler

    def __init__(self, recipe: Recipe, settings: Mapping[str, Any]) -> None:
        super().__init__(recipe, settings)
        self.vetted_action = self.handler[:2]

    @override
    @classmethod
    def read(cls, config: Mapping[str, Any], templates: Templates) -> ServiceHandler:
        target, data = (templates.value(config[key], key) for key in ("target", "data"))
        target |= {key: data.pop(key) for key in TARGETS if key in data}
        domain, service = config["action"].split(".")
        if domain == "script" and service not in SCRIPT_SERVICES:
            target, data = {ATTR_ENTITY_ID: config["action"]}, {"variables": data} if data else {}
            service = "turn_on"
        return domain, service, target, data

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        states = result.get("states") if isinstance(result, dict) else None
        for entity_id, state in (states if isinstance(states, dict) else {}).items():
            yield from texts_in(hass, entity_id, {"state": state})

    @override
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        domain, service, target, fields = self.handler
        targets = _entities(run, domain, rendered(target, variables))
        data = rendered(fields, variables)
        if target and not targets:
            raise ToolExecutionError("The target holds no entity that is exposed to the assistant")
        if len(targets) > MAX_TARGETS:
            raise ToolExecutionError(f"{len(targets)} entities at once are too many")
        await run.call(
            ServiceCall(domain=domain, service=service, entity_ids=targets, data=data, tool=self.name)
        )
        states: JsonObjectType = {
            key: state.state
            for key in targets
            if run.reader.sees(key) and (state := run.hass.states.get(key))
        }
        called = f"{domain}.{service}"
        return {"called": called, "states": states} if states else {"called": called}


def _entities(run: ToolRun, domain: str, target: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the entities that a target means.

    Those that are named go to the guard as they are; of a device, area, floor or label
    the exposed ones count.
    """
    given = {
        key: [str(item).strip() for item in cv.ensure_list_csv(value)]
        for key, value in target.items()
        if value not in (None, "", [])
    }
    if not given:
        return ()
    if ATTR_ENTITY_ID in given:
        given[ATTR_ENTITY_ID] = [key.lower() for key in given[ATTR_ENTITY_ID]]
    areas = ar.async_get(run.hass)
    for number, area in enumerate(given.get("area_id", ())):
        if areas.async_get_area(area) is None and (named := areas.async_get_area_by_name(area)):
            given["area_id"][number] = named.id
    found = async_extract_referenced_entity_ids(run.hass, TargetSelection(given))
    if missing := found.missing_areas | found.missing_floors | found.missing_devices | found.missing_labels:
        raise ToolExecutionError(f"There is no {', '.join(sorted(map(str, missing)))[:100]}")
    registry = er.async_get(run.hass)
    inside = {
        key
        for key in found.indirectly_referenced
        if key.partition(".")[0] == domain and run.guard.is_exposed(key)
    }
    return tuple(
        sorted({er.async_resolve_entity_id(registry, key) or key for key in found.referenced} | inside)
    )


class TemplateTool(CustomTool):
    """Renders a template; it changes nothing."""

    schema = probatio.Schema({probatio.Alias("value_template", "template", required=True): TEXT})
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    handler: Text

    @override
    @classmethod
    def read(cls, config: Mapping[str, Any], templates: Templates) -> Text:
        return templates.text(config["value_template"], "value_template")

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        return texts_repeated(hass, str(result))

    @override
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        result: JsonValueType = self.handler.value(variables)
        return result
