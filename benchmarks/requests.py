"""P3, P5: how much of a request stays the same, and what the first one costs, beside core's own agent."""

from itertools import pairwise
import json
from typing import Any

from homeassistant.components import conversation
from homeassistant.core import Context
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

from .harness import Bench, bench
from .report import Table, middle

STABLE_HOUSE = 200
STABLE_TURNS = 20
SIZES = (11, 20, 30, 50, 200, 500, 1000, 5000)
GOAL_TOKENS = 3500
SENTENCES = (
    "Is the light in the kitchen on?",
    "How warm is it in the bedroom?",
    "Turn on the light in the living room",
    "Is a window open?",
    "Close the blind in the bathroom",
)


async def run() -> list[Table]:
    """Measure and return the tables."""
    return [await _stability(), await _first_request()]


async def _stability() -> Table:
    """Return P3: bytes that equal the request before, over changing states."""
    table = Table(
        "P3",
        f"bytes of a request that equal the turn before, {STABLE_TURNS} turns, {STABLE_HOUSE} entities",
        ("agent", "median %", "lowest %", "system, tools and catalogue the same", "goal"),
    )
    with ModelServer() as server:
        server.default = text("Here is a short answer to that.")
        async with bench(STABLE_HOUSE, server.url) as house:
            for agent, entity_id in (("Home Agent", house.ours), ("core", house.core)):
                server.clear()
                await _talk(house, entity_id)
                chats = server.chats
                shares = [_share(earlier, later) for earlier, later in pairwise(chats)]
                heads = {json.dumps([chat.messages[0], chat.json.get("tools")]) for chat in chats}
                goal = ">= 95 %" if agent == "Home Agent" else "no states in the request"
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


def _share(earlier: Captured, later: Captured) -> float:
    """Return which part of a request a server has seen before, in percent: tools, then messages."""
    before, after = _as_read(earlier.json), _as_read(later.json)
    same = next(
        (index for index, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before)
    )
    return 100 * same / len(after)


def _as_read(body: dict[str, Any]) -> str:
    return json.dumps([body.get("tools"), body["messages"]], ensure_ascii=False)


async def _first_request() -> Table:
    """Return P5: tokens of the first request."""
    table = Table(
        "P5",
        "tokens of the first request (o200k)",
        ("entities", "Home Agent", "core", "goal", "estimate of Home Agent"),
    )
    with ModelServer() as server:
        for size in SIZES:
            async with bench(size, server.url) as house:
                tokens = []
                for entity_id in (house.ours, house.core):
                    server.clear()
                    await conversation.async_converse(
                        house.hass, SENTENCES[0], None, Context(), "en", entity_id
                    )
                    tokens.append(count_tokens(as_text(server.chats[0].json)))
                    if entity_id == house.ours:
                        estimate = estimated(as_text(server.chats[0].json))
                goal = f"<= {GOAL_TOKENS}" if size >= 500 else "<= core"
                table.add(size, *tokens, goal, estimate)
    return table


def as_text(body: dict[str, Any]) -> str:
    """Return what the model reads: tool schemas and messages."""
    tools = "".join(json.dumps(tool["function"], ensure_ascii=False) for tool in body.get("tools") or [])
    return tools + "\n".join(str(message.get("content") or "") for message in body["messages"])


def count_tokens(sent: str) -> int:
    """Return the tokens of a text in the o200k encoding."""
    import bpe_openai  # noqa: PLC0415 - only benchmarks need it

    return len(bpe_openai.get_encoding("o200k_base").encode(sent))


def estimated(sent: str) -> int:
    """Return what the integration's own estimator says."""
    from custom_components.home_agent.context.window import estimate_tokens  # noqa: PLC0415

    return estimate_tokens(sent)
