"""Forgotten is forgotten: in the store, in the index, in conversations, in every file."""

import errno
from pathlib import Path
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.const import DOMAIN, EVENT_TOOL_EXECUTED
from homeassistant.auth.const import GROUP_ID_USER
from homeassistant.auth.models import Group
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError, Unauthorized
from tests.helpers.agent import Agent, async_agent, call_action
from tests.helpers.real_files import (
    files_with,
    hass_storage,  # noqa: F401 - a fixture
)
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

SECRET_WORD = "marzipan"
FACT = "Anna is fond of marzipan"


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """An agent whose memories have vectors too."""
    options = {
        "vector_db_embedding_provider": "openai",
        "vector_db_embedding_base_url": model_server.url,
        "vector_db_embedding_model": "test-embedding",
        "memory_extraction_enabled": False,
    }
    return await async_agent(hass, model_server, options)


@pytest.fixture
def anna(hass: HomeAssistant) -> Context:
    """A user who is no administrator."""
    group = Group(id=GROUP_ID_USER, name="Users", policy={})
    return Context(user_id=MockUser(name="Anna", groups=[group]).add_to_hass(hass).id)


async def flush(hass: HomeAssistant, agent: Agent) -> None:
    """Write everything that waits to be written."""
    for store in agent.entry.runtime_data.shared.stores:
        await store.async_flush()
    await hass.async_block_till_done(wait_background_tasks=True)


async def tell(agent: Agent, context: Context) -> None:
    """Have something remembered, and talk about it in another conversation."""
    store = ("store_memory", {"content": FACT})
    await agent.act(store, sentence="Remember that I am fond of marzipan", context=context)
    agent.server.script([text("Anna is fond of marzipan, as you told me.")])
    await agent.say("What am I fond of?", context=context)
    agent.server.script([text("Twelve degrees.")])
    await agent.say("How cold is it outside?", context=context)


@pytest.mark.parametrize("how", ["tool", "service"])
async def test_forgotten_is_found_nowhere(hass: HomeAssistant, agent: Agent, anna: Context, how: str) -> None:
    """Neither on disk nor in what the model is told; what else was said stays."""
    await tell(agent, anna)
    await flush(hass, agent)
    before = await hass.async_add_executor_job(list, files_with(hass.config.config_dir, SECRET_WORD))
    assert ".storage/home_agent.memories" in before
    assert ".storage/home_agent.history" in before
    assert not [path for path in before if "vectors" in path]
    (memory,) = agent.entry.runtime_data.memories.all()
    if how == "tool":
        agent.server.script([tool_calls([("forget_memory", {"memory": "marzipan"})]), text("Forgotten.")])
        await agent.say("Forget that about the marzipan", context=anna)
    else:
        await hass.services.async_call(
            DOMAIN, "delete_memory", {"memory_id": memory.id}, blocking=True, context=anna
        )
    await flush(hass, agent)
    assert not await hass.async_add_executor_job(list, files_with(hass.config.config_dir, SECRET_WORD))
    agent.server.script([text("I do not know.")])
    await agent.say("What do you know about me?", context=anna)
    sent = str(agent.server.chats[-1].messages)
    assert SECRET_WORD not in sent
    assert "How cold is it outside?" in sent


async def test_everything_about_a_person_is_shown_and_erased(
    hass: HomeAssistant, agent: Agent, anna: Context
) -> None:
    """Their own, and nobody else's."""
    await tell(agent, anna)
    ben = Context(user_id=MockUser(name="Ben", is_owner=True).add_to_hass(hass).id)
    agent.server.script([text("Hello Ben.")])
    await agent.say("It is me, with a pretzel", context=ben)
    held = await call_action(hass, "export_data", {}, anna)
    assert isinstance(held, dict)
    assert held["person"] == {"id": f"user:{anna.user_id}", "name": "Anna"}
    assert [memory["content"] for memory in held["memories"]] == [FACT]  # type: ignore[index, union-attr]
    listed = await call_action(hass, "list_memories", {}, anna)
    assert isinstance(listed, dict)
    assert [item["source"] for item in listed["memories"]] == [item["source"] for item in held["memories"]]  # type: ignore[index, union-attr]
    assert "pretzel" not in str(held)
    assert SECRET_WORD in str(held["conversations"])
    erased = await call_action(hass, "erase_data", {"confirm": True}, anna)
    assert isinstance(erased, dict)
    counts = erased["erased"]
    assert isinstance(counts, dict)
    assert counts["memories"] == 1
    await flush(hass, agent)
    left = await hass.async_add_executor_job(list, files_with(hass.config.config_dir, SECRET_WORD))
    assert left == []
    assert await hass.async_add_executor_job(list, files_with(hass.config.config_dir, "cold is it")) == []
    assert await hass.async_add_executor_job(list, files_with(hass.config.config_dir, "pretzel")) != []


@pytest.mark.parametrize("data", [{}, {"confirm": False}])
async def test_erasing_is_confirmed(
    hass: HomeAssistant, agent: Agent, anna: Context, data: dict[str, bool]
) -> None:
    """Without it nothing goes, and the caller is told what is missing."""
    await tell(agent, anna)
    kept = len(agent.entry.runtime_data.memories)
    with pytest.raises(ServiceValidationError, match="confirm") as refused:
        await hass.services.async_call(DOMAIN, "erase_data", data, blocking=True, context=anna)
    assert refused.value.translation_key == "erase_unconfirmed"
    assert len(agent.entry.runtime_data.memories) == kept > 0


async def test_others_data_needs_an_administrator(hass: HomeAssistant, agent: Agent, anna: Context) -> None:
    """And an automation has to say whose it means."""
    ben = MockUser(name="Ben", is_owner=True).add_to_hass(hass)
    for service in ("export_data", "erase_data"):
        with pytest.raises(Unauthorized):
            await call_action(hass, service, {"person": ben.id}, anna)
        with pytest.raises(ServiceValidationError, match="whose"):
            await call_action(hass, service)
        await call_action(
            hass,
            service,
            {"person": anna.user_id, **({"confirm": True} if service == "erase_data" else {})},
            Context(user_id=ben.id),
        )


async def test_somebody_who_is_gone_can_still_be_erased(
    hass: HomeAssistant, agent: Agent, anna: Context
) -> None:
    """By the id under which it is held, when neither person nor user is there any more."""
    await tell(agent, anna)
    user = await hass.auth.async_get_user(str(anna.user_id))
    assert user is not None
    del hass.auth._store._users[user.id]
    (memory,) = agent.entry.runtime_data.memories.all()
    data = {"confirm": True, "person": memory.person}
    erased = await call_action(hass, "erase_data", data)
    assert isinstance(erased, dict)
    assert erased["erased"]["memories"] == 1  # type: ignore[index, call-overload]
    with pytest.raises(ServiceValidationError):
        await call_action(hass, "erase_data", data)
    await flush(hass, agent)
    left = await hass.async_add_executor_job(list, files_with(hass.config.config_dir, SECRET_WORD))
    assert left == []


def full_disk(*_args: Any, **_options: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("how", ["erase_data", "delete_memory", "clear_history", "tool"])
async def test_what_a_full_disk_keeps_is_told(
    hass: HomeAssistant, agent: Agent, anna: Context, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody hears that all is erased before it is; it is forgotten at once, and written later."""
    await tell(agent, anna)
    await flush(hass, agent)
    (memory,) = agent.entry.runtime_data.memories.all()
    store = hass.config.path(".storage", "home_agent.history" if "history" in how else "home_agent.memories")
    with monkeypatch.context() as patched:
        patched.setattr("tempfile.mkstemp", full_disk)
        if how == "tool":
            call = ("memory", {"action": "forget", "text": "marzipan"})
            await agent.act(call, sentence="Forget that about the marzipan", context=anna)
            assert "disk cannot be written" in str(agent.server.chats[-1].messages[-1])
        else:
            data = {"delete_memory": {"memory_id": memory.id}, "erase_data": {"confirm": True}}.get(how, {})
            context = Context(user_id=MockUser(is_owner=True).add_to_hass(hass).id)
            caller = context if how == "clear_history" else anna
            with pytest.raises(HomeAssistantError) as failed:
                await hass.services.async_call(DOMAIN, how, data, blocking=True, context=caller)
            assert failed.value.translation_key == "not_erased"
            assert store in str(failed.value)
        assert bool(agent.entry.runtime_data.memories.all()) is (how == "clear_history")
        assert SECRET_WORD in await hass.async_add_executor_job(Path(store).read_text)
    await flush(hass, agent)
    assert SECRET_WORD not in await hass.async_add_executor_job(Path(store).read_text)


async def test_events_do_not_hold_what_is_remembered(
    hass: HomeAssistant, agent: Agent, anna: Context
) -> None:
    """The recorder would keep them."""
    events = async_capture_events(hass, EVENT_TOOL_EXECUTED)
    everything = async_capture_events(hass, "home_agent.tool.progress")
    await tell(agent, anna)
    assert events[0].data["tool_name"] == "store_memory"
    assert SECRET_WORD not in str([event.data for event in (*events, *everything)])
