"""Removed agents: what they kept is deleted, except for memories, which stay until somebody decides.

Home Assistant asks nothing when an entry or a subentry is removed. The memories and profiles of a removed
agent are kept for KEPT_DAYS, and a repair issue offers to give them to another agent or to erase them. With
the last connection everything is erased at once: Home Assistant then loads nothing that could do it later.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..conversations.log import ConversationLog
from ..entity import conversation_entity
from ..issues import report, withdraw, withdraw_all
from ..runtime import DATA_SHARED, Agent, HomeAgentConfigEntry, SharedData
from ..store import EntryStore
from . import async_agents
from .assistants import async_fall_back

KEPT_DAYS: Final = 30
ISSUE: Final = "memories_kept"


async def async_forget_removed(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Forget the further agents of a connection that were removed since it was set up last."""
    shared = hass.data[DATA_SHARED]
    known = {entry.entry_id, *entry.subentries}
    gone = [agent_id for agent_id in shared.agents.of_connection(entry.entry_id) if agent_id not in known]
    for agent_id in gone:
        await async_forget_agent(hass, shared, agent_id, entry.entry_id)
    for store in shared.stores if gone else ():
        await store.async_flush()


async def async_forget_agent(
    hass: HomeAssistant, shared: SharedData, agent_id: str, heir: str | None = None
) -> None:
    """Delete what an agent kept; its memories and profiles stay if there are any.

    Its assistants use Home Assistant's own agent from then on. What is known of the automations that it
    made, which stay, goes to the agent `heir`; without one nothing is kept.
    """
    record = shared.agents.of(agent_id)
    entity_id = conversation_entity(hass, agent_id)
    await async_fall_back(hass, {agent_id, entity_id, record.entity_id})
    await ConversationLog(hass, agent_id, enabled=False).async_clear()
    withdraw_all(hass, agent_id)
    shared.history.clear(agent_id, None)
    shared.sessions.clear(agent_id)
    shared.turn_logs.pop(agent_id, None)
    if heir is not None:
        shared.automations.of(heir).inherit(shared.automations.of(agent_id))
    remembering = (shared.memories, shared.profiles, shared.agents)
    for store in shared.stores:
        if isinstance(store, EntryStore) and store not in remembering:
            store.forget(agent_id)
    if heir is not None and any(_kept(shared, agent_id).values()):
        record.note_removed()
        report_kept(hass, shared, agent_id)
    else:
        _erase(hass, shared, agent_id)


def _kept(shared: SharedData, agent_id: str) -> Mapping[str, int]:
    return {
        "memories": len(shared.memories.of(agent_id).records()),
        "profile": len(shared.profiles.of(agent_id).records()),
    }


@callback
def report_kept(hass: HomeAssistant, shared: SharedData, agent_id: str) -> None:
    """Ask in a repair issue what becomes of the memories of a removed agent."""
    record = shared.agents.of(agent_id)
    removed = record.removed_at or dt_util.utcnow()
    counts = _kept(shared, agent_id)
    report(
        hass,
        f"{ISSUE}_{agent_id}",
        ISSUE,
        fix={"agent_id": agent_id},
        title=record.title,
        memories=str(counts["memories"]),
        profile=str(counts["profile"]),
        until=str(dt_util.as_local(removed + timedelta(days=KEPT_DAYS)).date()),
    )


async def async_look_after_kept(hass: HomeAssistant, now: datetime) -> None:
    """Erase memories of agents that were removed long ago, and ask about the others."""
    shared = hass.data[DATA_SHARED]
    for agent_id, record in shared.agents.removed().items():
        if record.removed_at is not None and now - record.removed_at >= timedelta(days=KEPT_DAYS):
            await async_erase_kept(hass, agent_id)
        else:
            report_kept(hass, shared, agent_id)


async def async_erase_kept(hass: HomeAssistant, agent_id: str) -> None:
    """Erase the memories of a removed agent, on disk as well."""
    shared = hass.data[DATA_SHARED]
    _erase(hass, shared, agent_id)
    for store in (shared.memories, shared.profiles, shared.agents):
        await store.async_flush()
        await store.async_forget_set_aside(agent_id)


async def async_give_kept(hass: HomeAssistant, agent_id: str, to: Agent) -> None:
    """Give the memories of a removed agent to another one, which merges what it knows already."""
    shared, data = hass.data[DATA_SHARED], to.runtime_data
    for memory in shared.memories.of(agent_id).records():
        await data.memories.async_adopt(memory)
    for entry in shared.profiles.of(agent_id).records():
        await data.profile.async_adopt(entry)
    await async_erase_kept(hass, agent_id)


@callback
def _erase(hass: HomeAssistant, shared: SharedData, agent_id: str) -> None:
    """Drop the memories of a removed agent, and what is known of it."""
    for store in (shared.memories, shared.profiles, shared.agents):
        store.forget(agent_id)
    withdraw(hass, f"{ISSUE}_{agent_id}")


@callback
def async_receivers(hass: HomeAssistant) -> list[Agent]:
    """Return the agents that can be given memories: those with a memory of their own."""
    return [agent for agent in async_agents(hass) if agent.runtime_data.owns_memory]
