"""P8, P9: what the integration costs Home Assistant at start and in memory."""

import asyncio
import os
from pathlib import Path
import subprocess
import sys
from time import perf_counter, thread_time
from typing import Any

from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant
from tests.servers.model_server import ModelServer

from .harness import agent_entity_id, our_entry, running_home
from .report import Table, middle

ROOT = Path(__file__).parents[1]
ENTITIES = 1500
RUNS = 5
VARIANTS: dict[str, dict[str, Any]] = {
    "words only": {},
    "built-in embedder": {"context_mode": "vector_db", "vector_db_embedding_provider": "builtin"},
}

IMPORT = """
import time
import homeassistant.bootstrap, homeassistant.components.homeassistant.exposed_entities
import homeassistant.components.conversation, homeassistant.components.ai_task
import homeassistant.components.recorder, homeassistant.config_entries, homeassistant.helpers.selector
import homeassistant.components.recorder.history, homeassistant.components.recorder.statistics
import homeassistant.helpers.aiohttp_client, homeassistant.components.intent
def rss():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
before = rss()
started, worked = time.perf_counter(), time.process_time()
import custom_components.home_agent.conversation, custom_components.home_agent.ai_task
import custom_components.home_agent.config_flow
print(time.perf_counter() - started, time.process_time() - worked, (rss() - before) / 1024)
"""


class LoopWatch:
    """Measures how long the event loop was held at once, in milliseconds.

    `longest` is what somebody waits; `work` is the loop's own work in it, whatever else the machine does.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self.work = 0.0
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            before, worked = perf_counter(), thread_time()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, (perf_counter() - before) * 1000 - 1)
            self.work = max(self.work, (thread_time() - worked) * 1000)

    def stop(self) -> tuple[float, float]:
        """Return the longest block and the most work at once."""
        self._task.cancel()
        return self.longest, self.work


async def run() -> list[Table]:
    """Measure and return the tables."""
    tables = [await _setup(name, options) for name, options in VARIANTS.items()]
    return [*tables, _imports()]


async def _setup(name: str, options: dict[str, Any]) -> Table:
    table = Table("P8", f"start with {ENTITIES} entities, {name}", ("what", "median", "worst", "goal"))
    seconds: list[float] = []
    indexed: list[float] = []
    blocks: dict[str, list[tuple[float, float]]] = {"setup and indexing": [], "turns": []}
    with ModelServer() as server:
        for run_number in range(RUNS + 1):
            async with running_home(ENTITIES) as (hass, _home):
                entry = our_entry(hass, server.url, options)
                watch = LoopWatch()
                started = perf_counter()
                assert await hass.config_entries.async_setup(entry.entry_id)
                elapsed = perf_counter() - started
                await hass.async_block_till_done(wait_background_tasks=True)
                settled = perf_counter() - started
                indexing = watch.stop()
                turns = await _turns(hass, agent_entity_id(hass, "home_agent", entry.entry_id))
                entries = entry.runtime_data.indexer.size
                assert await hass.config_entries.async_unload(entry.entry_id)
                if run_number == 0:  # imports what Home Assistant imports once, compiled or not
                    continue
                seconds.append(elapsed)
                indexed.append(settled)
                blocks["setup and indexing"].append(indexing)
                blocks["turns"].append(turns)
    table.add("setup, s", middle(seconds), max(seconds), "0.3")
    table.add(f"until {entries} texts are indexed, s", middle(indexed), max(indexed), "")
    for what, measured in blocks.items():
        longest, work = zip(*measured, strict=True)
        table.add(f"longest block of the loop in {what}, ms", middle(longest), max(longest), "20")
        table.add(f"most work of the loop at once in {what}, ms", middle(work), max(work), "20")
    return table


async def _turns(hass: HomeAssistant, entity_id: str) -> tuple[float, float]:
    await conversation.async_converse(hass, "Hello", None, Context(), "en", entity_id)
    watch = LoopWatch()
    for _turn in range(10):
        await conversation.async_converse(hass, "Is the kitchen light on?", None, Context(), "en", entity_id)
    return watch.stop()


def _imports() -> Table:
    """Return P9, of processes of their own; what Home Assistant imports anyway comes before."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", IMPORT]
    printed = [
        subprocess.run(  # noqa: S603 - our own code
            command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment
        ).stdout.split()
        for _run in range(RUNS + 1)
    ]
    table = Table("P9", "import of the integration", ("what", "median", "worst", "goal"))
    goals = {"time, s": "0.15", "processor time, s": "", "memory, MB": "15"}
    for (what, goal), texts in zip(goals.items(), zip(*printed[1:], strict=True), strict=True):
        figures = [float(each) for each in texts]  # without the first run, which compiles
        table.add(what, middle(figures), max(figures), goal)
    return table
