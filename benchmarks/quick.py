"""C2: how long a plain command takes with a real model, with quick confirmations and without.

Needs a running model server: `--url`, or `LLAMA_URL`. The requests are those of a conversation in a home.
What the model has to write, a call and then a sentence, has a fixed length, so that small models can be
measured too.
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
ENTITIES = 60
COMMANDS = 6
CALL_TOKENS = 40
ANSWER_TOKENS = 12
"""About as long as the call of a plain command, and as the sentence about it."""


async def run() -> list[Table]:
    """Capture the requests of plain commands and send them to the real server."""
    columns = ("quick confirmations", "requests per command", "median seconds", "slowest")
    table = Table("C2", "a plain command with a real model", columns)
    url = os.environ.get(URL_VARIABLE)
    if not url:
        table.notes.append("left out: no --url; scripts/bench starts a server")
        return [table]
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=600)) as session:
        for quick in (False, True):
            commands = await _commands(quick=quick)
            await _seconds(session, url, commands[0])  # the server reads the prompt ahead
            times = [await _seconds(session, url, requests) for requests in commands]
            name, most = ("on" if quick else "off"), max(times)
            table.add(name, sum(map(len, commands)) / len(commands), middle(times), most)
    table.notes.append(
        f"{ENTITIES} entities; {CALL_TOKENS} tokens for the call, {ANSWER_TOKENS} for the sentence"
    )
    return [table]


async def _commands(*, quick: bool) -> list[list[Captured]]:
    """Return what the agent sends for plain commands in one conversation, command by command."""
    found: list[list[Captured]] = []
    with ModelServer() as server:
        async with running_home(ENTITIES) as (hass, home):
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


async def _seconds(session: aiohttp.ClientSession, url: str, requests: list[Captured]) -> float:
    started = perf_counter()
    for number, request in enumerate(requests):
        dropped = ("stream", "stream_options", "model", "tool_choice")
        body: dict[str, Any] = {key: value for key, value in request.json.items() if key not in dropped}
        length = CALL_TOKENS if number == 0 else ANSWER_TOKENS
        limits = {"max_tokens": length, "ignore_eos": True, "cache_prompt": True}
        async with session.post(f"{url}/chat/completions", json={**body, **limits}) as answer:
            answer.raise_for_status()
            await answer.read()
    return perf_counter() - started
