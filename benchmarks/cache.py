"""P4: prompt tokens that a real llama-server takes from its cache on the second turn.

Needs a running llama-server; `LLAMA_URL` names it (`scripts/bench` starts one).
"""

import os
from typing import Any

import aiohttp

from homeassistant.components import conversation
from homeassistant.core import Context
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

from .harness import add_ours, running_home
from .report import Table

ENTITIES = 20
SENTENCES = (
    "Is the light in the kitchen on?",
    "And the one in the bedroom?",
    "How warm is it in the living room?",
    "Thank you",
)


async def run() -> list[Table]:
    """Capture the requests of a conversation and send them to the real server."""
    table = Table(
        "P4",
        "prompt tokens from the cache of llama-server (timings.cache_n)",
        ("turn", "prompt tokens", "from the cache", "share %", "goal"),
    )
    url = os.environ.get("LLAMA_URL")
    if not url:
        table.notes.append("left out: no LLAMA_URL; scripts/bench starts a server")
        return [table]
    requests = await _requests()
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=600)) as session:
        for number, request in enumerate(requests, 1):
            timings = await _timings(session, url, request.json)
            total = timings["cache_n"] + timings["prompt_n"]
            share = 100 * timings["cache_n"] / total
            table.add(number, total, timings["cache_n"], share, ">= 90" if number > 1 else "")
    return [table]


async def _requests() -> list[Captured]:
    with ModelServer() as server:
        server.default = text("Yes, it is.")
        async with running_home(ENTITIES) as (hass, _home):
            entity_id = await add_ours(hass, server.url, {})
            server.clear()
            conversation_id = None
            for sentence in SENTENCES:
                result = await conversation.async_converse(
                    hass, sentence, conversation_id, Context(), "en", entity_id
                )
                conversation_id = result.conversation_id
            return server.chats


async def _timings(session: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return how the server read a request; the answer is cut after one token."""
    body = {key: value for key, value in body.items() if key not in ("stream", "stream_options", "model")}
    async with session.post(f"{url}/chat/completions", json={**body, "max_tokens": 1}) as answer:
        answer.raise_for_status()
        timings: dict[str, Any] = (await answer.json())["timings"]
        return timings
