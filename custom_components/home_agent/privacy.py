"""What is held about a person: shown, and erased everywhere at once."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from .errors import NotErased
from .knowledge.speaker import Person
from .memory.records import Memory, ProfileEntry
from .planned.records import dump_item
from .runtime import HomeAgentData
from .store import dump
from .tools.automating.kept import async_forget_person


async def async_forget(data: HomeAgentData, memory_ids: Collection[str]) -> list[Memory]:
    """Forget memories with the turns that contain them, on disk as well; return which they were.

    Raises NotErased, as all here, where a file still holds what is forgotten.
    """
    gone = await _async_forget(data, memory_ids)
    await _async_flush(data)
    return gone


async def _async_forget(data: HomeAgentData, memory_ids: Collection[str]) -> list[Memory]:
    gone = await data.memories.async_forget(memory_ids)
    await _async_forget_texts(data, [text for memory in gone for text in memory.texts])
    for agent in data.remembering:
        agent.extractor.forget(gone)
    await _async_forget_suggestions(data, habits={memory.id for memory in gone})
    return gone


async def async_forget_profile(data: HomeAgentData, entry_ids: Collection[str]) -> list[ProfileEntry]:
    """Forget profile entries with the turns that contain them, on disk as well; return which they were."""
    gone = await data.profile.async_forget(entry_ids)
    await _async_forget_texts(data, [entry.value for entry in gone])
    await _async_flush(data)
    return gone


async def _async_forget_texts(data: HomeAgentData, texts: Sequence[str]) -> None:
    for agent in data.remembering:
        if agent.shared.history.forget_texts(agent.entry_id, texts):
            agent.recent.note_cleared(None)
        await agent.log.async_forget(texts)
        agent.turn_log.clear()


async def async_export(data: HomeAgentData, person: Person) -> dict[str, Any]:
    """Return everything that is held about a person, by what it is."""
    items = data.planned.of_user(person.user_id)
    automations = data.shared.automations.of(data.entry_id)

    def told(record: Memory | ProfileEntry) -> dict[str, Any]:
        return {"source" if key == "origin" else key: value for key, value in dump(record).items()}

    return {
        "memories": [told(item) for item in data.memories.records() if item.person == person.id],
        "profile": [told(item) for item in data.profile.records() if item.person == person.id],
        "conversations": data.shared.history.of_person(data.entry_id, person.id),
        "suggestions": [
            dump(item) for item in data.suggested.suggestions.values() if item.kind.person == person.id
        ],
        "observations": [
            {"at": seen.at.isoformat(), "entity_id": seen.subject, "state": seen.value}
            for seen in data.shared.observations.of(data.entry_id).all()
            if seen.person == person.id
        ],
        "timers": [dump_item(item) for item in items if item.is_timer],
        "planned": [dump_item(item) for item in items if not item.is_timer],
        "automations": dump(automations.of_user(person.user_id)),
        "audit": data.handler.guard.journal.entries_of(person.user_id) if person.user_id else [],
        "log": await data.log.async_of_person(person.id),
    }


async def async_erase_everywhere(data: HomeAgentData, person: Person) -> dict[str, int]:
    """Erase what all agents of a connection hold about a person, and what is kept of removed agents."""
    counts: Counter[str] = Counter()
    for agent in data.connected:
        counts.update(await _async_erase(agent, person))
    for agent_id in data.shared.agents.removed():
        memories, profile = data.shared.memories.of(agent_id), data.shared.profiles.of(agent_id)
        await profile.async_forget(profile.ids_of(person.id))
        memories.forget_sayer(person.id)
        counts["memories"] += len(await memories.async_drop(memories.ids_of(person.id)))
    await _async_flush(data)
    return dict(counts)


async def async_erase(data: HomeAgentData, person: Person) -> dict[str, int]:
    """Erase what one agent holds about a person, on disk as well; return how much of each."""
    counts = await _async_erase(data, person)
    await _async_flush(data)
    return counts


async def _async_erase(data: HomeAgentData, person: Person) -> dict[str, int]:
    """Erase what one agent holds about a person; return how much of each."""
    history, sessions = data.shared.history, data.shared.sessions
    counts = {"memories": len(await _async_forget(data, data.memories.ids_of(person.id)))}
    data.memories.forget_sayer(person.id)
    counts["profile"] = len(await data.profile.async_forget(data.profile.ids_of(person.id)))
    counts["suggestions"] = await _async_forget_suggestions(data, person=person.id)
    # After the memories: a habit that is forgotten is noted, so that it is not learned again.
    counts["observations"] = data.shared.observations.of(data.entry_id).erase_person(person.id)
    counts["conversations"] = history.forget_turns(data.entry_id, lambda turn: turn.person == person.id)
    await data.log.async_forget(person=person.id)
    automations = data.shared.automations.of(data.entry_id)
    counts |= dict.fromkeys(("sessions", "timers", "planned", "audit", "automations"), 0)
    if (user_id := person.user_id) is not None:
        counts["sessions"] = sessions.of(data.entry_id).clear(user_id=user_id)
        for item in data.planned.of_user(user_id):
            counts["timers" if item.is_timer else "planned"] += 1
        await async_forget_person(data.handler.hass, automations.concerning(user_id))
        counts["audit"] = data.handler.guard.journal.forget_user(user_id)
        counts["automations"] = automations.forget_user(user_id)
        data.planned.forget_user(user_id)
    data.recent.note_cleared(None)
    data.turn_log.clear()
    return counts


async def _async_forget_suggestions(data: HomeAgentData, **whose: Any) -> int:
    """Forget suggestions, and take back the questions about them; return how many."""
    if not data.suggested.suggestions:
        return 0
    return (await data.async_proactive()).suggestions.forget(**whose)


async def _async_flush(data: HomeAgentData) -> None:
    """Write the current data to disk; files that were set aside may contain the old data too."""
    left = [str(agent.log.folder) for agent in data.connected if agent.log.unforgotten]
    for store in data.shared.stores:
        is_written, is_clear = await store.async_flush(), await store.async_forget_set_aside()
        if not (is_written and is_clear):
            left.append(store.path)
    if left:
        raise NotErased(files=", ".join(left))
