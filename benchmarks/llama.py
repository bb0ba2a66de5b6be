"""P4 and C2: what a real llama-server takes from its cache, and how long a plain command takes on it.

Needs a running server: `--url`, or `LLAMA_URL` (`scripts/bench` starts one). The requests are those of a
conversation in a home. What the model has to write, a call and then a sentence, has a fixed length, so that
small models can be measured too.
"""

import os
from time import perf_counter
from typing import Any

import aiohttp
from pytest_homeassistant_custom_component.common import MockUser

from homeassistant.components import conversation
from homeassistant.const import ATTR_FRIENDLY_NAME
from homeassistant.core import Context
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

from .harness import add_ours, running_home
from .report import Table, middle

URL_VARIABLE = "LLAMA_URL"
QUESTIONS = (
    "Is the light in the kitchen on?",
    "And the one in the bedroom?",
    "How warm is it in the living room?",
    "Thank you",
)
ENTITIES, MORE_ENTITIES = 20, 60
COMMANDS = 6
CALL_TOKENS = 40
ANSWER_TOKENS = 12
"""About as long as the call of a plain command, and as the sentence about it."""


async def run_cache() -> list[Table]:
    """Return P4: prompt tokens that the server takes from its cache on the second turn."""
    columns = ("turn", "prompt tokens", "from the cache", "share %", "goal")
    table = Table("P4", "prompt tokens from the cache of llama-server (timings.cache_n)", columns)
    if not is_there(table):
        return [table]
    async with _session() as session:
        for number, request in enumerate(await _questions(), 1):
            timings = (await _answer(session, request, 1))["timings"]
            total = timings["cache_n"] + timings["prompt_n"]
            share = 100 * timings["cache_n"] / total
            table.add(number, total, timings["cache_n"], share, ">= 90" if number > 1 else "")
    return [table]


async def run_quick() -> list[Table]:
    """Return C2: the time of a plain command, with quick confirmations and without."""
    columns = ("quick confirmations", "requests per command", "median seconds", "slowest")
    table = Table("C2", "a plain command with a real model", columns)
    if not is_there(table):
        return [table]
    async with _session() as session:
        for quick in (False, True):
            commands = await _commands(quick=quick)
            await _seconds(session, commands[0])  # the server reads the prompt ahead
            times = [await _seconds(session, requests) for requests in commands]
            name, most = ("on" if quick else "off"), max(times)
            table.add(name, sum(map(len, commands)) / len(commands), middle(times), most)
    table.notes.append(
        f"{MORE_ENTITIES} entities; {CALL_TOKENS} tokens for the call, {ANSWER_TOKENS} for the sentence"
    )
    return [table]


def is_there(table: Table) -> bool:
    """Return whether a server was named, and note it in the table if not."""
    if not os.environ.get(URL_VARIABLE):
        table.notes.append("left out: no --url; scripts/bench starts a server")
    return URL_VARIABLE in os.environ


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=600))


async def _questions() -> list[Captured]:
    with ModelServer() as server:
        server.default = text("Yes, it is.")
        async with running_home(ENTITIES) as (hass, _home):
            entity_id = await add_ours(hass, server.url, {})
            server.clear()
            conversation_id = None
            for sentence in QUESTIONS:
                result = await conversation.async_converse(
                    hass, sentence, conversation_id, Context(), "en", entity_id
                )
                conversation_id = result.conversation_id
            return server.chats


async def _commands(*, quick: bool) -> list[list[Captured]]:
    """Return what the agent sends for plain commands in one conversation, command by command."""
    found: list[list[Captured]] = []
    with ModelServer() as server:
        async with running_home(MORE_ENTITIES) as (hass, home):
            options = {"quick_confirmations": quick, "memory_extraction_enabled": False}
            entity_id = await add_ours(hass, server.url, options)
            context = Context(user_id=MockUser(is_owner=True).add_to_hass(hass).id)
            conversation_id = None
            lights = [one for one in home.entities if one.startswith("light.")]
            for light in lights[:COMMANDS]:
                state = hass.states.get(light)
                assert state is not None
                verb = "off" if state.state == "on" else "on"
                call = ("ha_control", {"action": f"turn_{verb}", "entity_id": [light]})
                server.clear()
                server.script([tool_calls([call]), text("That light is switched now.")])
                sentence = f"Turn {verb} {state.attributes[ATTR_FRIENDLY_NAME]}"
                result = await conversation.async_converse(
                    hass, sentence, conversation_id, context, "en", entity_id
                )
                conversation_id = result.conversation_id
                found.append(server.chats)
    return found


async def _seconds(session: aiohttp.ClientSession, requests: list[Captured]) -> float:
    started = perf_counter()
    for number, request in enumerate(requests):
        await _answer(session, request, CALL_TOKENS if number == 0 else ANSWER_TOKENS)
    return perf_counter() - started


async def _answer(session: aiohttp.ClientSession, request: Captured, tokens: int) -> dict[str, Any]:
    """Have the server read a request and write so many tokens; return its answer."""
    dropped = ("stream", "stream_options", "model", "tool_choice")
    body = {key: value for key, value in request.json.items() if key not in dropped}
    limits = {"max_tokens": tokens, "ignore_eos": True, "cache_prompt": True}
    url = f"{os.environ[URL_VARIABLE]}/chat/completions"
    async with session.post(url, json={**body, **limits}) as answer:
        answer.raise_for_status()
        return dict(await answer.json())
