"""Conversations to be kept, and what is left of them on the disk."""

from datetime import UTC, datetime
import json
from pathlib import Path
from typing import Any

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.conversations.history import (
    STORE_KEY,
    ConversationHistoryManager,
    make_turn,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir

type Message = dict[str, Any]

NOW = datetime(2026, 1, 14, 12, 0, tzinfo=UTC)
LIMITS = {"max_messages": 100, "max_tokens": 50_000}


def path_of(hass: HomeAssistant) -> Path:
    return Path(hass.config.path(".storage", STORE_KEY))


def kept_aside(hass: HomeAssistant) -> list[Path]:
    return sorted(path_of(hass).parent.glob(f"{STORE_KEY}.corrupt*"))


def issues(hass: HomeAssistant) -> list[str | None]:
    return [issue.translation_key for issue in ir.async_get(hass).issues.values() if issue.domain == DOMAIN]


def turn(index: int, *, calls: int = 0, words: int = 5) -> list[Message]:
    messages: list[Message] = [{"role": "user", "content": f"question {index} " + "word " * words}]
    for call in range(calls):
        key = f"call_{index}_{call}"
        function = {"name": "ha_query", "arguments": '{"entity_id": "light.x"}'}
        messages += [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": key, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": key, "content": '{"success": true}'},
        ]
    return [*messages, {"role": "assistant", "content": f"answer {index}"}]


async def loaded(hass: HomeAssistant, **options: Any) -> ConversationHistoryManager:
    history = ConversationHistoryManager(hass, **options)
    await history.async_load()
    return history


def add(
    history: ConversationHistoryManager,
    messages: list[Message],
    *,
    entry_id: str = "entry",
    history_id: str = "talk",
    at: datetime = NOW,
    persist: bool = True,
) -> None:
    if made := make_turn(messages, at=at, persist=persist):
        history.append_turn(entry_id, history_id, made)


def assert_paired(window: list[Message]) -> None:
    """Check that a server would take these messages."""
    waiting: list[str] = []
    for message in window:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting
            waiting = [call["id"] for call in message.get("tool_calls", ())]
    assert not waiting
    if window:
        assert window[0]["role"] == "user"


def file_text(data: Any, version: int = 1, minor_version: int = 2) -> str:
    envelope = {"version": version, "minor_version": minor_version, "key": STORE_KEY, "data": data}
    return json.dumps(envelope)
