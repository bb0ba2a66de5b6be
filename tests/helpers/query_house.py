"""A house to ask about, and the tool that asks, on a real `hass`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from custom_components.home_agent.const import DEFAULTS
from custom_components.home_agent.knowledge.house import House, is_exposed
from custom_components.home_agent.knowledge.speaker import Speaker
from custom_components.home_agent.safety.frozen import CallOrigin
from custom_components.home_agent.safety.journal import Journal
from custom_components.home_agent.safety.policy import Policy, Reader
from custom_components.home_agent.tools.base import ToolRun
from custom_components.home_agent.tools.calls.repair import fit
from custom_components.home_agent.tools.ha_query import QueryTool
from custom_components.home_agent.tools.turn_calls import TurnCalls
from homeassistant.auth.models import User
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import json_loads


@dataclass(frozen=True, slots=True)
class Guard:
    """What the tool asks of the guard."""

    hass: HomeAssistant
    journal: Journal
    policy: Policy

    def is_exposed(self, entity_id: str) -> bool:
        return self.hass.states.get(entity_id) is not None and is_exposed(self.hass, entity_id)


@dataclass(slots=True)
class QueryHouse:
    """States with names and rooms, exposed unless said otherwise."""

    hass: HomeAssistant
    house: House
    context: Context = field(default_factory=Context)
    area_id: str | None = None
    language: str = "en"

    def add(
        self,
        entity_id: str,
        state: str,
        attributes: Mapping[str, Any] | None = None,
        *,
        area: str | None = None,
        exposed: bool = True,
    ) -> None:
        """Add an entity of the registry, named like its id."""
        domain, _, object_id = entity_id.partition(".")
        entry = er.async_get(self.hass).async_get_or_create(
            domain, "test", entity_id, suggested_object_id=object_id
        )
        assert entry.entity_id == entity_id
        if area:
            area_id = ar.async_get(self.hass).async_get_or_create(area).id
            er.async_get(self.hass).async_update_entity(entity_id, area_id=area_id)
        async_expose_entity(self.hass, "conversation", entity_id, exposed)
        name = object_id.replace("_", " ").title()
        self.hass.states.async_set(entity_id, state, {"friendly_name": name, **(attributes or {})})

    async def ask(self, sentence: str = "", **args: Any) -> Any:
        """Return the answer of one query, as JSON brought it over."""
        tool = QueryTool()
        speaker = Speaker(context=self.context, language=self.language, area_id=self.area_id)
        run = ToolRun(
            hass=self.hass,
            guard=Guard(  # type: ignore[arg-type]
                self.hass, Journal(self.hass, lambda: None), Policy(self.hass, DEFAULTS)
            ),
            house=await self.house.async_snapshot(),
            speaker=speaker,
            reader=Reader(self.hass, Policy(self.hass, DEFAULTS), speaker, await self._async_user()),
            calls=TurnCalls.of_origin(CallOrigin(speaker=speaker, sentence=sentence), {}),
        )
        return json_loads(json_dumps(await tool.async_run(fit(tool, args)[0], run)))

    async def _async_user(self) -> User | None:
        user = await self.hass.auth.async_get_user(self.context.user_id or "")
        return user if user is not None and user.is_active else None

    async def ask_one(self, sentence: str = "", **args: Any) -> Any:
        """Return what an answer says of its only entity: `shown`, its attributes, and its `history`."""
        answer = await self.ask(sentence, **args)
        ((entity_id, told),) = answer["history" if "history" in args else "states"].items()
        found = {"entity_id": entity_id, **answer.get("attributes", {}).get(entity_id, {})}
        if isinstance(told, str):
            return {**found, "shown": told}
        own = {"now", "unit"}
        history = {key: value for key, value in told.items() if key not in own}
        return {**found, "shown": told["now"], "unit": told.get("unit"), "history": history}
