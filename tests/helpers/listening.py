"""A turn as the voice pipeline runs it: who listens hears every delta the moment it comes."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
import inspect
from typing import Any

from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.helpers import chat_session
from tests.helpers.agent import Agent, speech

LONG = 120
"""Seconds after which a test that waits for something gives up."""

OPEN = chat_session.async_get_chat_session
NOBODY: dict[str, Any] = {"context": None} if "context" in inspect.signature(OPEN).parameters else {}
"""What 2026.11 needs for a session that no user has yet."""


def open_session(
    hass: HomeAssistant, conversation_id: str | None = None
) -> AbstractContextManager[chat_session.ChatSession]:
    """Open the session of a conversation, as whoever speaks first does."""
    return OPEN(hass, conversation_id, **NOBODY)


def slow_light(hass: HomeAssistant) -> tuple[asyncio.Event, asyncio.Event]:
    """Let lights hang; return what tells that one does, and what releases it."""
    begun, release = asyncio.Event(), asyncio.Event()

    async def turn_on(call: ServiceCall) -> None:
        begun.set()
        async with asyncio.timeout(LONG):
            await release.wait()
        for entity_id in call.data["entity_id"]:
            hass.states.async_set(entity_id, "on", hass.states.get(entity_id).attributes)

    hass.services.async_register("light", "turn_on", turn_on)
    return begun, release


class Listener:
    """Keeps what a turn streams and lets a test wait for a part of it."""

    def __init__(self) -> None:
        self.deltas: list[dict[str, Any]] = []
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    def __call__(self, _chat_log: conversation.ChatLog, delta: dict[str, Any]) -> None:
        self.deltas.append(delta)
        for heard, future in self._waiting:
            if not future.done() and heard():
                future.set_result(None)

    async def until(self, heard: Callable[[], bool]) -> None:
        if heard():
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((heard, future))
        async with asyncio.timeout(LONG):
            await future

    @property
    def pieces(self) -> list[str]:
        return [delta["content"] for delta in self.said if isinstance(delta.get("content"), str)]

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def thoughts(self) -> str:
        return "".join(delta.get("thinking_content") or "" for delta in self.said)

    @property
    def beats(self) -> int:
        """Return how often nothing but a sign of life came."""
        return len([delta for delta in self.said if delta.get("thinking_content") == ""])

    @property
    def said(self) -> list[dict[str, Any]]:
        """Return the deltas without the results of tools."""
        return [delta for delta in self.deltas if delta.get("role") != "tool_result"]


def start_turn(
    agent: Agent, text: str, listener: Listener, *, conversation_id: str | None = None, **options: Any
) -> asyncio.Task[conversation.ConversationResult]:
    """Say a sentence with somebody listening; the turn goes on beside the test."""

    async def turn() -> conversation.ConversationResult:
        with (
            open_session(agent.hass, conversation_id) as session,
            conversation.async_get_chat_log(agent.hass, session, chat_log_delta_listener=listener),
        ):
            return await conversation.async_converse(
                agent.hass,
                text,
                session.conversation_id,
                options.pop("context", Context()),
                agent_id=agent.entity_id,
                **{"language": "en", **options},
            )

    # A task that Home Assistant does not know, so that a test can wait for all others while this one hangs.
    return asyncio.create_task(turn(), name="turn under test")


async def hear(agent: Agent, text: str, **options: Any) -> tuple[Listener, conversation.ConversationResult]:
    """Say a sentence and return what was heard of the whole turn."""
    listener = Listener()
    async with asyncio.timeout(LONG):
        result = await start_turn(agent, text, listener, **options)
    await agent.hass.async_block_till_done()
    return listener, result


async def heard(agent: Agent, sentence: str, **options: Any) -> tuple[str, list[str]]:
    """Say a sentence and return the answer and all pieces that a listener got meanwhile."""
    listener, result = await hear(agent, sentence, **options)
    return speech(result), listener.pieces
