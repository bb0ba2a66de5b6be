"""P3, P5, P12: how much of a request stays the same, and what the first one costs, beside core's agent."""

from itertools import pairwise
import json
from typing import Any

import bpe_openai

from homeassistant.components import conversation
from homeassistant.core import Context
from tests.helpers.demo_house import async_demo_house
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

from .harness import Bench, add_ours, bench, running_hass
from .report import Table, middle

STABLE_HOUSE = 200
STABLE_TURNS = 20
SIZES = (11, 20, 30, 50, 200, 500, 1000, 5000)
GOAL_TOKENS = 3500
GOALS = {"rules": "<= 200", "tools": "<= 1100", "first request": "<= 1900"}
SENTENCES = (
    "Is the light in the kitchen on?",
    "How warm is it in the bedroom?",
    "Turn on the light in the living room",
    "Is a window open?",
    "Close the blind in the bathroom",
)


async def run() -> list[Table]:
    """Measure and return the tables."""
    return [await _stability(), await _first_request(), await _parts()]


async def _stability() -> Table:
    table = Table(
        "P3",
        f"bytes of a request that equal the turn before, {STABLE_TURNS} turns, {STABLE_HOUSE} entities",
        ("agent", "median %", "lowest %", "system, tools and catalogue the same", "goal"),
    )
    with ModelServer() as server:
        server.default = text("Here is a short answer to that.")
        async with bench(STABLE_HOUSE, server.url) as house:
            for agent, entity_id, goal in (
                ("Home Agent", house.ours, ">= 95 %"),
                ("core", house.core, "no states in the request"),
            ):
                server.clear()
                await _talk(house, entity_id)
                bodies = [chat.json for chat in server.chats]
                shares = [_share(earlier, later) for earlier, later in pairwise(bodies)]
                heads = {json.dumps([body["messages"][0], body.get("tools")]) for body in bodies}
                table.add(agent, middle(shares), min(shares), "yes" if len(heads) == 1 else "no", goal)
    return table


async def _talk(house: Bench, entity_id: str) -> None:
    conversation_id = None
    for turn in range(STABLE_TURNS):
        for index, changed in enumerate(house.home.entities[turn::7]):
            state = house.hass.states.get(changed)
            assert state is not None
            house.hass.states.async_set(changed, "on" if (index + turn) % 2 else "off", state.attributes)
        result = await conversation.async_converse(
            house.hass, SENTENCES[turn % len(SENTENCES)], conversation_id, Context(), "en", entity_id
        )
        conversation_id = result.conversation_id


def _share(earlier: dict[str, Any], later: dict[str, Any]) -> float:
    """Return which part of a request a server has seen before, in percent: tools, then messages."""
    before, after = (
        json.dumps([body.get("tools"), body["messages"]], ensure_ascii=False) for body in (earlier, later)
    )
    differing = (index for index, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    return 100 * next(differing, len(before)) / len(after)


async def _first_request() -> Table:
    columns = ("entities", "Home Agent", "core", "goal")
    table = Table("P5", "tokens of the first request (o200k)", columns)
    with ModelServer() as server:
        for size in SIZES:
            async with bench(size, server.url) as house:
                tokens = []
                for agent in (house.ours, house.core):
                    server.clear()
                    await conversation.async_converse(house.hass, SENTENCES[0], None, Context(), "en", agent)
                    tokens.append(count_tokens(as_text(server.chats[0].json)))
                table.add(size, *tokens, f"<= {GOAL_TOKENS}" if size >= 500 else "<= core")
    return table


async def _parts() -> Table:
    with ModelServer() as server:
        server.default = text("All right.")
        async with running_hass() as hass:
            await async_demo_house(hass)
            ours = await add_ours(hass, server.url, {})
            await conversation.async_converse(hass, "Turn on the kitchen light", None, Context(), "en", ours)
            body = server.chats[-1].json
    tools = {
        tool["function"]["name"]: json.dumps(tool["function"], ensure_ascii=False, separators=(",", ":"))
        for tool in body["tools"]
    }
    system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
    rules, _, house = system.partition("\nExposed entities")
    every = "".join(tools.values())
    table = Table("T2", "first request, demo house", ("part", "characters", "tokens (o200k)", "goal"))
    for part, sent in {
        "rules": rules,
        "list of the house": f"Exposed entities{house}",
        **{f"`{tool}`": schema for tool, schema in tools.items()},
        "tools": every,
        "sentence and states": user,
        "first request": f"{every}\n{system}\n{user}",
    }.items():
        table.add(part, len(sent), count_tokens(sent), GOALS.get(part, ""))
    table.notes.append(f"{len(tools)} tools; schemas as compact JSON")
    return table


def as_text(body: dict[str, Any]) -> str:
    """Return what the model reads: tool schemas and messages."""
    tools = "".join(json.dumps(tool["function"], ensure_ascii=False) for tool in body.get("tools") or [])
    return tools + "\n".join(str(message.get("content") or "") for message in body["messages"])


def count_tokens(sent: str) -> int:
    """Return the tokens of a text in the o200k encoding."""
    return len(bpe_openai.get_encoding("o200k_base").encode(sent))
