"""T2: what the first request of a conversation in the demo house consists of."""

import json
from typing import Any

from homeassistant.components import conversation
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from tests.helpers.demo_house import async_demo_house
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

from .harness import add_ours, running_hass
from .report import Table
from .requests import count_tokens, estimated

SENTENCE = "Turn on the kitchen light"
GOALS = {"tools": 1100, "first request": 1900}
GOAL_OF_TOOLS = 10
BESIDE = {
    "todo.shopping": 127,
    "todo.tasks": 127,
    "calendar.family": 7,
    "weather.home": 3,
}
"""What a household adds to the demo house: entity id and what the entity supports."""


async def run() -> list[Table]:
    """Measure and return the tables."""
    return [await _parts("demo house", {}), await _parts("demo house with lists, calendar, weather", BESIDE)]


async def _parts(name: str, beside: dict[str, int]) -> Table:
    """Return T2: each tool and each part of the first request."""
    with ModelServer() as server:
        server.default = text("All right.")
        async with running_hass() as hass:
            await async_demo_house(hass)
            _add(hass, beside)
            ours = await add_ours(hass, server.url, {})
            await conversation.async_converse(hass, SENTENCE, None, Context(), "en", ours)
            body = server.chats[-1].json
    return _table(name, body)


def _add(hass: HomeAssistant, beside: dict[str, int]) -> None:
    for entity_id, features in beside.items():
        domain, _, name = entity_id.partition(".")
        er.async_get(hass).async_get_or_create(
            domain,
            "bench",
            name,
            object_id_base=name,
            original_name=name.title(),
            supported_features=features,
        )
        hass.states.async_set(entity_id, "1", {"friendly_name": name.title(), "supported_features": features})
        async_expose_entity(hass, "conversation", entity_id, True)


def _table(name: str, body: dict[str, Any]) -> Table:
    columns = ("part", "characters", "tokens (o200k)", "characters / 4", "estimate of Home Agent", "goal")
    table = Table("T2", f"first request, {name}", columns)
    tools = {tool["function"]["name"]: _compact(tool["function"]) for tool in body["tools"]}
    system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
    rules, _, house = system.partition("\nExposed entities")
    parts = {
        "rules": rules,
        "list of the house": f"Exposed entities{house}",
        **{f"`{tool}`": schema for tool, schema in tools.items()},
        "tools": "".join(tools.values()),
        "sentence and states": user,
    }
    parts["first request"] = "\n".join((parts["tools"], system, user))
    for part, sent in parts.items():
        limit = GOALS.get(part)
        goal = "" if limit is None else f"<= {limit}"
        table.add(part, len(sent), count_tokens(sent), len(sent) // 4, estimated(sent), goal)
    table.notes.append(f"{len(tools)} tools, goal <= {GOAL_OF_TOOLS}; schemas as compact JSON")
    return table


def _compact(function: dict[str, Any]) -> str:
    return json.dumps(function, ensure_ascii=False, separators=(",", ":"))
