"""Exposed scripts with fields: each is a tool of its own, with the fields as its parameters."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm, service
from homeassistant.util.json import JsonValueType

from ..const import CONF_ALLOW_SCRIPTS, CONF_TOOLS_DISABLED
from ..errors import ToolExecutionError, ValidationError
from ..knowledge.house import HouseSnapshot
from ..safety.frozen import ServiceCall
from ..texts import leaves, one_line
from .base import HomeAgentTool, ToolOutput, ToolRun
from .calls.schema import MAX_CHARS, JsonSchema
from .control.arguments import TIME_SLOTS
from .control.asked import check_asked
from .control.scripts import (
    SCRIPT,
    field_values,
    fields_of,
    responds,
    schema_in_words,
    scripts_as_tools,
)
from .outside.other_apis import wire_name
from .results import ToldAct, to_json
from .run import STILL_RUNNING, script_service

MAX_DESCRIPTION: Final = 200

type Fields = Mapping[str, Mapping[str, Any]]


class ScriptTool(HomeAgentTool):
    """Runs one script through the guard, which judges what it does with these values."""

    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    max_text = MAX_CHARS

    def __init__(self, entity_id: str, name: str, description: str, fields: Fields) -> None:
        self.entity_id = entity_id
        self.name = wire_name(f"{SCRIPT}__{entity_id.partition('.')[2]}")
        self.title = name
        about = f"{name}: {description}" if description else name
        self.description = one_line(about, MAX_DESCRIPTION)
        written = schema_in_words(fields)
        checks = {
            (probatio.Required if key in written.get("required", ()) else probatio.Optional)(key): object
            for key in fields
        }
        checks |= {probatio.Optional(slot): object for slot in TIME_SLOTS if slot not in fields}
        self.parameters = JsonSchema(written, probatio.Schema(checks))

    @override
    def has_use(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        return self.entity_id in house.entities

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return the texts of a response: nobody knows where a script has them from."""
        response = result.get("response") if isinstance(result, dict) else None
        return [text for text in leaves(response, keys=True) if isinstance(text, str)]

    @override
    async def async_check(self, args: Mapping[str, Any], run: ToolRun) -> None:
        if responds(run.hass, self.entity_id):
            return  # the household wrote it to answer something
        check_asked(run)
        fields = fields_of(run.hass, self.entity_id)
        if times := [slot for slot in TIME_SLOTS if slot in args and slot not in fields]:
            raise ValidationError(
                f"{times[0]} is no parameter of {self.name}. To run it later, call ha_control: action "
                f"activate, entity_id {self.entity_id}, parameters with its values, and when, for or repeat"
            )

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[ToldAct, ...]:
        """Return that the script was started; what it responds needs words of the model."""
        if not isinstance(result, Mapping) or "response" in result:
            return ()
        return (ToldAct(key="started", names=[self.title or self.name]),)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        if not run.guard.is_exposed(self.entity_id):
            raise ToolExecutionError("The script does not exist or is not exposed")
        values = field_values(run, args, fields_of(run.hass, self.entity_id))
        response = await run.call(
            ServiceCall(
                domain=SCRIPT,
                service="turn_on",
                entity_ids=(self.entity_id,),
                data={"variables": values} if values else {},
                waits=True,
            )
        )
        name = str(self.title)
        if response is STILL_RUNNING:
            return {"started": name, "note": "it is still running"}
        if not response:
            return {"done": name}
        return {"done": name, "response": to_json(response)}


class ScriptTools:
    """The scripts of one agent that are tools, kept while nothing about them changes."""

    def __init__(self, hass: HomeAssistant, settings: Mapping[str, Any]) -> None:
        self._hass = hass
        self._is_allowed = bool(settings[CONF_ALLOW_SCRIPTS])
        self._disabled = frozenset(settings[CONF_TOOLS_DISABLED])
        self._known: list[tuple[str, str, str, Fields]] = []

    def renewed(self, house: HouseSnapshot) -> list[HomeAgentTool] | None:
        """Return the tools for this home; None if they are the same as before."""
        shown = scripts_as_tools(self._hass, house) if self._is_allowed and SCRIPT in house.domains else {}
        known = [
            (entity_id, house.entities[entity_id].name, self._description(entity_id), fields)
            for entity_id, fields in shown.items()
        ]
        if known == self._known:
            return None
        self._known = known
        tools: list[HomeAgentTool] = [ScriptTool(*one) for one in known]
        return [tool for tool in tools if tool.name not in self._disabled]

    def _description(self, entity_id: str) -> str:
        written = service.async_get_cached_service_description(
            self._hass, SCRIPT, script_service(self._hass, entity_id)
        )
        return str((written or {}).get("description") or "")
