"""S1: does anything grow? Many turns and state changes in one life of Home Assistant."""

import asyncio
from collections.abc import Callable, Iterator
import ctypes
from dataclasses import dataclass, field
from datetime import timedelta
import gc
from itertools import count, cycle, islice
import json
from pathlib import Path
import random
from time import perf_counter
from typing import Any

import aiohttp
from pytest_homeassistant_custom_component.common import async_fire_time_changed, get_scheduled_timer_handles

from custom_components.home_agent.runtime import DATA_SHARED
from homeassistant.components import conversation
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util

from .harness import ServerProcess, agent_entity_id, our_entry, running_home
from .report import Table

ENTITIES = 200
TURNS = 10_000
CHANGES = 100_000
PARTS = 10
"""Looks at the memory; what comes before the second one fills what is bounded."""
AN_EVENING = 100
"""Turns after which nobody speaks for a while."""
GOAL_MB = 5

VARIANTS: dict[str, dict[str, Any]] = {
    "words only": {},
    "by meaning": {"context_mode": "vector_db", "vector_db_embedding_provider": "openai"},
}
SENTENCES = (
    "Is the kitchen light on?",
    "Turn on the {light}",
    "Turn on the lamp on the moon",
    "Tell me a long story",
    "I am a vegetarian, and my sister comes on Sunday",
)
SPEAKERS: tuple[dict[str, Any], ...] = (
    {},
    {"device_id": "tablet"},
    {"device_id": "satellite"},
    {"conversation_id": "kitchen"},
)


def script(light: str) -> dict[str, Any]:
    """Return what the model server answers: calls that work, calls that do not, long texts, notes."""
    notes = {"memories": [{"content": "The speaker is vegetarian", "type": "fact", "importance": 0.8}]}

    def call(**arguments: Any) -> dict[str, Any]:
        return {"calls": [["ha_control", {"action": "turn_on", **arguments}]]}

    return {
        "default": {"chunks": ["It ", "is ", "on."]},
        "rules": [
            {"last_role": "tool", "reply": {"chunks": ["All ", "right."]}},
            {"contains": "worth knowing in weeks", "reply": {"text": json.dumps(notes)}},
            {"contains": "on the moon", "reply": call(name="Moon Lamp")},
            {"contains": "Turn on", "reply": call(entity_id=light)},
            {"contains": "long story", "reply": {"chunks": ["Once ", "upon a time. "] * 40}},
        ],
    }


@dataclass(frozen=True, slots=True)
class Look:
    """What there is at one moment."""

    turns: int
    memory: float
    """Megabytes."""
    objects: int
    tasks: int
    timers: int
    stored: int
    """Bytes in the store files."""


@dataclass(slots=True)
class Soak:
    """One life: turns, state changes and evenings in a house."""

    hass: HomeAssistant
    entry: ConfigEntry[Any]
    entities: list[str]
    light: str
    after_evening: Callable[[], Any] | None = None
    """Called when nobody speaks."""
    turns: int = 0
    failed: int = 0
    _numbers: Iterator[int] = field(default_factory=count)
    _rng: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311

    async def live(self, turns: int, changes: int) -> None:
        """Take so many turns, with so many state changes spread between them."""
        agent = agent_entity_id(self.hass, "home_agent", self.entry.entry_id)
        state = self.hass.states.get(self.light)
        assert state is not None
        spoken = zip(cycle(SENTENCES), cycle(SPEAKERS[:-1]), strict=False)
        for sentence, speaker in islice(spoken, turns):
            self._change(changes // turns)
            said = sentence.format(light=state.name)
            options = {"conversation_id": None, "language": "en", **speaker}
            result = await conversation.async_converse(
                self.hass, said, context=Context(), agent_id=agent, **options
            )
            self.failed += result.response.error_code is not None
            self.turns += 1
            if self.turns % AN_EVENING == 0:
                await self.evening()

    def _change(self, changes: int) -> None:
        for entity_id in self._rng.choices(self.entities, k=changes):
            state = self.hass.states.get(entity_id)
            assert state is not None
            value = ("on", "off")[next(self._numbers) % 2] if state.state in ("on", "off") else state.state
            attributes = {**state.attributes, "measured": next(self._numbers)}
            self.hass.states.async_set(entity_id, value, attributes)

    async def evening(self) -> None:
        """Remember something, rename something, and let the time pass in which nobody speaks."""
        number = next(self._numbers)
        await self.hass.services.async_call(
            "home_agent",
            "add_memory",
            {"content": f"Shelf {self.turns // AN_EVENING % 3} is empty"},
            blocking=True,
        )
        registry, renamed = er.async_get(self.hass), self._rng.choice(self.entities)
        registry.async_update_entity(renamed, name=f"Renamed {number % 50}")
        await self._pass(timedelta(minutes=10))
        if self.after_evening is not None:
            await self.after_evening()

    async def look(self) -> Look:
        """Let a day pass, give back what is free, and count."""
        await self._pass(timedelta(hours=25))
        for store in self.hass.data[DATA_SHARED].stores:
            await store.async_flush()
        gc.collect()
        _give_back()
        loop = asyncio.get_running_loop()
        return Look(
            turns=self.turns,
            memory=_resident(),
            objects=len(gc.get_objects()),
            tasks=len(asyncio.all_tasks(loop)),
            timers=sum(not handle.cancelled() for handle in get_scheduled_timer_handles(loop)),
            stored=await self.hass.async_add_executor_job(_stored, Path(self.hass.config.config_dir)),
        )

    async def _pass(self, time: timedelta) -> None:
        async_fire_time_changed(self.hass, dt_util.utcnow() + time)
        await self.hass.async_block_till_done(wait_background_tasks=True)


def _resident() -> float:
    with Path("/proc/self/status").open(encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def _give_back() -> None:
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _stored(folder: Path) -> int:
    ours = folder.glob(".storage/home_agent*")
    files = [file for path in ours for file in (path.rglob("*") if path.is_dir() else [path])]
    return sum(file.stat().st_size for file in files if file.is_file())


async def run() -> list[Table]:
    """Measure and return the tables."""
    server = ServerProcess()
    try:
        return [await _life(name, options, server) for name, options in VARIANTS.items()]
    finally:
        server.stop()


async def _life(name: str, options: dict[str, Any], server: ServerProcess) -> Table:
    columns = ("turns", "state changes", "memory, MB", "objects", "tasks", "timers", "stored, kB")
    table = Table("S1", f"a long life with {ENTITIES} entities, {name}", columns)
    started = perf_counter()
    async with running_home(ENTITIES) as (hass, home), aiohttp.ClientSession() as session:
        light = next(entity_id for entity_id in home.entities if entity_id.startswith("light."))
        own = {"vector_db_embedding_base_url": server.url, "vector_db_embedding_model": "words"}
        entry = our_entry(hass, server.url, {**options, **(own if options else {})})
        await server.script(session, **script(light))
        before = asyncio.all_tasks()
        assert await hass.config_entries.async_setup(entry.entry_id)
        soak = Soak(hass, entry, home.entities, light, lambda: server.seconds(session))
        looks: list[Look] = []
        for part in range(PARTS):
            await soak.live(TURNS // PARTS, CHANGES // PARTS)
            looks.append(look := await soak.look())
            changes = CHANGES // PARTS * (part + 1)
            table.add(
                look.turns, changes, look.memory, look.objects, look.tasks, look.timers, look.stored // 1000
            )
        assert await hass.config_entries.async_unload(entry.entry_id)
        await hass.async_block_till_done(wait_background_tasks=True)
        left = asyncio.all_tasks() - before
    grown = max(look.memory for look in looks[2:]) - looks[1].memory
    table.notes += [
        f"memory since the second look: {grown:+.1f} MB; goal: less than {GOAL_MB}",
        f"tasks left when the agent is unloaded: {len(left)}; goal: 0",
        f"{soak.failed} of {soak.turns} turns failed; {perf_counter() - started:.0f} s",
    ]
    return table
