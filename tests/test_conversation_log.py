"""Conversation logs: what is written, what never is, and that forgetting reaches the files."""

from collections.abc import AsyncIterator
from datetime import timedelta
import json
from pathlib import Path
import shutil
import stat
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.conversations.history import masked_line
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_agent, call_action
from tests.helpers.checks import for_each
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

ON = {"conversation_log_enabled": True, "memory_extraction_enabled": False}


def folder(hass: HomeAssistant) -> Path:
    return Path(hass.config.path(DOMAIN, "conversations"))


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> AsyncIterator[Agent]:
    """Return an agent that writes what is said down."""
    shutil.rmtree(folder(hass), ignore_errors=True)
    yield await async_agent(hass, model_server, ON)
    shutil.rmtree(folder(hass), ignore_errors=True)


async def said(hass: HomeAssistant) -> list[dict[str, Any]]:
    """Return the lines of all files, the oldest first."""
    await hass.async_block_till_done(wait_background_tasks=True)
    files = sorted(folder(hass).rglob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


async def test_a_turn(hass: HomeAssistant, agent: Agent) -> None:
    agent.server.script([tool_calls([("ha_query", {"entity_id": "light.kitchen"})]), text("It is off.")])
    await agent.say("Is the kitchen light on?")

    (line,) = await said(hass)

    assert line["said"] == "Is the kitchen light on?"
    assert line["answer"] == "It is off."
    assert line["tools"] == ["ha_query"]
    assert line["surface"] == "automation"
    (file,) = folder(hass).rglob("*.jsonl")
    assert file.stem == dt_util.now().date().isoformat()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@for_each(
    ("written", "kept"),
    [
        ("Call me on +49 30 1234567 please", "Call me on [phone] please"),
        ("Mail anna@example.org", "Mail [email]"),
        ("My number is 4711", "My number is [number]"),
        ("The router is 192.168.1.7.", "The router is [ip_address]."),
        ("Set it to 21.5 degrees at 18:30", "Set it to 21.5 degrees at 18:30"),
        ("The PIN is 4711 and the mail a@b.de", "[secret]"),
    ],
)
def test_what_is_masked(written: str, kept: str) -> None:
    assert masked_line(written) == kept


async def test_what_is_forgotten_goes(hass: HomeAssistant, agent: Agent) -> None:
    agent.server.default = text("Noted.")
    await agent.say("Anna's cat is called Mimi")
    await agent.say("Good morning")
    added = await call_action(hass, "add_memory", {"content": "Anna's cat is called Mimi"})

    await hass.services.async_call(DOMAIN, "delete_memory", added, blocking=True)

    assert [line["said"] for line in await said(hass)] == ["Good morning"]


async def test_old_days_go(hass: HomeAssistant, agent: Agent, freezer: FrozenDateTimeFactory) -> None:
    agent.server.default = text("Noted.")
    await agent.say("Long ago")
    await said(hass)

    freezer.tick(timedelta(days=9))
    await hass.config_entries.async_reload(agent.entry.entry_id)

    assert await said(hass) == []


async def test_it_goes_with_the_entry(hass: HomeAssistant, agent: Agent) -> None:
    agent.server.default = text("Noted.")
    await agent.say("One")
    assert await said(hass)

    await hass.config_entries.async_remove(agent.entry.entry_id)

    assert not list(folder(hass).iterdir())


async def test_a_folder_that_cannot_be_written(
    hass: HomeAssistant, agent: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    folder(hass).parent.mkdir(parents=True, exist_ok=True)
    folder(hass).write_text("in the way")
    agent.server.default = text("Noted.")

    await agent.say("One")
    await hass.async_block_till_done(wait_background_tasks=True)
    await agent.say("Two")
    await hass.async_block_till_done(wait_background_tasks=True)

    assert caplog.text.count("The conversation log cannot be written") == 1
    folder(hass).unlink()
