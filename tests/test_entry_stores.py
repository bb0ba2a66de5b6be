"""What each agent keeps of one kind, in one file of all agents: the same for memories, timers and others."""

from collections.abc import Callable
import json
from pathlib import Path
from typing import Any

import pytest

from custom_components.home_agent.conversations.sessions import ConversationSessionManager
from custom_components.home_agent.memory.learner.observations import ObservationStore
from custom_components.home_agent.memory.memories import MemoryManager
from custom_components.home_agent.memory.profile import ProfileManager
from custom_components.home_agent.panel.usage import COUNTERS, Usage
from custom_components.home_agent.planned.scheduler import PlannedStore
from custom_components.home_agent.proactive.state import ProactiveStore
from custom_components.home_agent.safety.journal import JournalStore
from custom_components.home_agent.self_test.kept import SelfTestResult
from custom_components.home_agent.store import EntryStore
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from tests.helpers.agent import Agent
from tests.helpers.checks import for_each
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture
from tests.helpers.tables import tables

GOOD = {**tables(__file__), "usage": {"2026-06-03": dict.fromkeys(COUNTERS, 3)}}

type Make = Callable[[HomeAssistant], EntryStore[Any]]


def _usage(hass: HomeAssistant) -> EntryStore[Any]:
    return EntryStore(hass, "home_agent.usage", Usage)


def _sessions(hass: HomeAssistant) -> EntryStore[Any]:
    return ConversationSessionManager(hass, lambda *_ids: True)


def _self_tests(hass: HomeAssistant) -> EntryStore[Any]:
    return EntryStore(hass, "home_agent.self_test", SelfTestResult)


STORES: dict[str, tuple[Make, Any]] = {
    "memories": (MemoryManager, [*GOOD["memories"], {"id": "x"}]),
    "profile": (ProfileManager, [*GOOD["profile"], 5]),
    "planned": (PlannedStore, [*GOOD["planned"], {"due": "soon"}]),
    "observations": (ObservationStore, {**GOOD["observations"], "seen": [["light.desk"]]}),
    "proactive": (ProactiveStore, {**GOOD["proactive"], "watches": 5}),
    "conversation_sessions": (_sessions, {"device:kitchen": {"history_id": "a", "last": 5}}),
    "journal": (JournalStore, {"ledger": []}),
    "self_test": (_self_tests, {"report": {"verdict": "good", "cases": 5}}),
    "usage": (_usage, {**GOOD["usage"], "yesterday": {}}),
}
"""Per file: who keeps it, and content of one agent of which a part cannot be read."""


def path_of(hass: HomeAssistant, name: str) -> Path:
    return Path(hass.config.path(".storage", f"home_agent.{name}"))


def write(hass: HomeAssistant, name: str, data: Any) -> None:
    """Put content into the file of a store."""
    path = path_of(hass, name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"version": 1, "minor_version": 1, "key": path.name, "data": data}))


def on_disk(hass: HomeAssistant, name: str) -> Any:
    """Return the content of the file of a store."""
    return json.loads(path_of(hass, name).read_text())["data"]


def kept_aside(hass: HomeAssistant, name: str) -> list[Path]:
    return list(path_of(hass, name).parent.glob(f"home_agent.{name}.corrupt-*"))


def is_reported(hass: HomeAssistant, name: str) -> bool:
    """Return whether the household was told that a store cannot be read."""
    return bool(ir.async_get(hass).async_get_issue("home_agent", f"store_unreadable_home_agent.{name}"))


@for_each("name", STORES)
async def test_content_comes_back_and_one_agent_leaves(hass: HomeAssistant, name: str) -> None:
    """What is read is written as it was; an agent that is removed takes only its own."""
    make, good = STORES[name][0], GOOD[name]
    write(hass, name, {"entries": {"one": good, "two": good}})
    store = make(hass)
    await store.async_load()
    store.forget("two")
    await store.async_flush()
    assert on_disk(hass, name) == {"entries": {"one": good}}
    assert not kept_aside(hass, name)
    assert not is_reported(hass, name)


@for_each("name", STORES)
async def test_what_cannot_be_read_costs_itself(hass: HomeAssistant, name: str) -> None:
    """The other agents keep theirs, and of a list the rest of it; the file is kept and reported."""
    (make, broken), good = STORES[name], GOOD[name]
    write(hass, name, {"entries": {"one": broken, "two": good, "three": "text"}})
    before = path_of(hass, name).read_text()
    store = make(hass)
    await store.async_load()
    assert [path.read_text() for path in kept_aside(hass, name)] == [before]
    assert is_reported(hass, name)
    assert store.of("two").stored() == good
    assert store.of("one").stored() == (good if isinstance(good, list) else make(hass).of("new").stored())
    await store.async_forget_set_aside()
    assert not kept_aside(hass, name)
    assert not is_reported(hass, name)


@pytest.mark.parametrize("data", [{"entries": []}, {"something": 1}])
@for_each("name", STORES)
async def test_content_of_another_shape(hass: HomeAssistant, name: str, data: Any) -> None:
    """It is kept aside, and the agents begin anew."""
    write(hass, name, data)
    store = STORES[name][0](hass)
    await store.async_load()
    assert len(kept_aside(hass, name)) == 1
    assert is_reported(hass, name)
    assert store.of("one").stored() == STORES[name][0](hass).of("one").stored()


async def test_the_last_agent_takes_every_copy(hass: HomeAssistant, agent: Agent) -> None:
    """Nothing of an agent is left in the storage folder when it is removed."""
    for name in (*STORES, "history", "confirmations"):
        path_of(hass, name).with_name(f"home_agent.{name}.corrupt-2026").write_text("secret")
    folder = path_of(hass, "memories").parent
    assert len(list(folder.glob("*.corrupt*"))) == len(STORES) + 2
    await hass.config_entries.async_remove(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert list(folder.glob("*.corrupt*")) == []
