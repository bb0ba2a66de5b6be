"""A long life in short: nothing grows but what is kept, and that is bounded."""

from collections import Counter
import gc
from itertools import pairwise

import pytest

from benchmarks import soak as bench
from benchmarks.soak import Look, Soak
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import async_add_agent
from tests.helpers.examples import THOROUGH
from tests.helpers.homes import build_home
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer

pytestmark = pytest.mark.slow

TURNS = 600 if THOROUGH else 60
OURS = "custom_components.home_agent"
BOUNDS = {
    "agent.record.MAX_CONVERSATIONS": 4,
    "conversations.history.MAX_CONVERSATIONS": 4,
    "conversations.history.MAX_MESSAGES": 20,
    "memory.extractor.MAX_REFUSED": 4,
    "memory.memories.MAX_PROVENANCE": 1,
    "memory.records.MAX_PROVENANCE": 1,
    "safety.journal.MAX_ENTRIES": 4,
    "safety.journal.MAX_LEDGER_ACTIONS": 4,
    "conversations.sessions.MAX_SESSIONS": 4,
}
"""What is kept, so small here that it is full after the first part."""


def objects() -> Counter[str]:
    kinds = Counter(map(type, gc.get_objects()))
    return Counter(
        {
            f"{kind.__module__}.{kind.__qualname__}": number
            for kind, number in kinds.items()
            if str(kind.__module__).startswith(OURS)
        }
    )


async def test_nothing_grows(
    hass: HomeAssistant, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What grows in each part of a life is a leak.

    One part may end with a few turns more than another: a timer that was cancelled keeps the context that
    it was made in until its time comes.
    """
    monkeypatch.setattr(bench, "AN_EVENING", 20)
    for name, limit in BOUNDS.items():
        monkeypatch.setattr(f"{OURS}.{name}", limit)
    for component in ("homeassistant", "conversation"):
        assert await async_setup_component(hass, component, {})
    home = build_home(hass, 40)
    light = next(entity_id for entity_id in home.entities if entity_id.startswith("light."))
    agent = await async_add_agent(hass, model_server, {"automation_turns_per_minute": 1000})
    model_server.load(bench.script(light))
    soak = Soak(hass, agent.entry, home.entities, light)
    looks: list[Look] = []
    kept: list[Counter[str]] = []
    for _part in range(4):
        await soak.live(TURNS, 10 * TURNS)
        model_server.requests.clear()
        looks.append(await soak.look())
        kept.append(objects())
    assert soak.failed == 0
    _, _, earlier, later = looks
    assert later.tasks == earlier.tasks
    assert later.timers <= earlier.timers
    assert later.stored < earlier.stored + 4_000
    growth = [more - less for less, more in pairwise(kept)]
    assert not [kind for kind in growth[0] if all(part[kind] > 2 for part in growth)], growth
