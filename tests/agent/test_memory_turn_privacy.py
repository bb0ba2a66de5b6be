"""Nobody sees what is another person's: however it is asked for, in every mode, from whatever device."""

# ruff: noqa: S311 - households are made the same way every time

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.knowledge.search import folder_of
from custom_components.home_agent.memory.memories import make_memory
from custom_components.home_agent.memory.records import Memory, Origin, ProfileEntry, Provenance, Sensitivity
from homeassistant.auth.const import GROUP_ID_USER
from homeassistant.auth.models import Group
from homeassistant.const import MATCH_ALL
from homeassistant.core import Context, Event, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, call_action
from tests.helpers.checks import every
from tests.helpers.indexed import async_indexed, embedding_options
from tests.helpers.real_files import (
    files_with,
    hass_storage,  # noqa: F401 - a fixture
)
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

ANNA, BEN = "a" * 32, "b" * 32
USERS = {"anna": ANNA, "ben": BEN}
VIEWERS = ("anna", "ben", None)
DEVICES = (None, "kitchen", "hall")


@dataclass(frozen=True, slots=True)
class Held:
    """Something that is known, with a word of its own by which it is found in whatever is sent."""

    word: str
    owner: str | None
    private: bool
    sensitive: bool = False

    def is_for(self, viewer: str | None) -> bool:
        """Return whether somebody may see it; written down here a second time on purpose."""
        if self.owner is None:
            return viewer is not None or not self.private
        return self.owner == viewer


class Home:
    """An agent that knows things about Anna, Ben and the household."""

    def __init__(self, agent: Agent, random: Random) -> None:
        self.agent = agent
        self.random = random
        self.held: list[Held] = []
        self.seen: list[str] = []
        """What was given to the present viewer, or told to everybody."""
        agent.hass.bus.async_listen(MATCH_ALL, self._heard)

    def _heard(self, event: Event) -> None:
        """Note an event; anybody may listen to those."""
        if event.event_type.startswith(f"{DOMAIN}."):
            self.seen.append(str(event.data))

    @property
    def memories(self) -> list[Memory]:
        found: list[Memory] = self.agent.entry.runtime_data.memories.all()
        return found

    async def fill(self) -> None:
        data, now = self.agent.entry.runtime_data, dt_util.utcnow()
        for number in range(18):
            owner, private = self.random.choice(VIEWERS), self.random.random() < 0.4
            self.held.append(Held(f"zq{number}mem", owner, private))
            words = f"The blue box on the shelf holds {self.held[-1].word}"
            memory = make_memory(
                words,
                person=owner,
                private=private,
                importance=0.9,
                heard=Provenance(at=now, person=owner, said=words),
            )
            origin = self.random.choice(list(Origin))
            await data.memories.async_observe(replace(memory, origin=origin))
        for number in range(18):
            owner, sensitivity = self.random.choice(VIEWERS), self.random.choice(list(Sensitivity))
            private, sensitive = sensitivity is not Sensitivity.PUBLIC, sensitivity is Sensitivity.SENSITIVE
            self.held.append(Held(f"zq{number}pro", owner, private, sensitive))
            await data.profile.async_note(
                ProfileEntry(
                    category="household" if owner is None else "shelf",
                    key=f"box {number}",
                    value=f"blue with {self.held[-1].word}",
                    person=owner,
                    sensitivity=sensitivity,
                    confidence=0.9,
                    origin=Origin.TOLD,
                    first_seen=now,
                    last_seen=now,
                )
            )
        await self.agent.hass.async_block_till_done(wait_background_tasks=True)

    async def try_everything(self, viewer: str | None) -> str:
        """Ask in all ways, in any order, as one person; return all that came back or went out."""
        self.seen.clear()
        self.agent.server.requests.clear()
        foreign = [memory for memory in self.memories if memory.person not in (None, viewer)]
        one = self.random.choice(foreign)
        other = self.random.choice([name for name in USERS if name != viewer])
        calls: list[tuple[str, dict[str, Any]]] = [
            ("recall_memory", {"query": "*", "limit": 20}),
            ("recall_memory", {"query": "blue box shelf", "limit": 20}),
            ("recall_memory", {"query": f"box of {other}, {one.id}", "limit": 20}),
            ("forget_memory", {"memory": one.id}),
            ("forget_memory", {"memory": "blue box on the shelf"}),
            ("get_user_profile", {}),
            ("get_user_profile", {"category": "shelf"}),
            ("retrieve_knowledge", {"query": "blue box shelf"}),
            ("retrieve_knowledge", {"query": f"shelf, {other}, box 1 blue"}),
        ]
        services: list[tuple[str, dict[str, Any]]] = [
            ("process", {"text": "What is in the blue box on the shelf?"}),
            *(("execute_tool", {"tool_name": name, "parameters": args}) for name, args in calls[:2]),
            ("list_memories", {"limit": 1000}),
            ("list_memories", {"person": other}),
            ("search_memories", {"query": "blue box shelf", "limit": 1000}),
            ("delete_memory", {"memory_id": one.id}),
            ("clear_memories", {"confirm": True, "person": other}),
            ("export_data", {"person": other}),
            ("erase_data", {"confirm": True, "person": other}),
        ]
        # What has no user comes from an automation of the household's, and may see all.
        ways = [*calls, *(services if viewer else services[:3])]
        self.random.shuffle(ways)
        for name, args in ways:
            if (name, args) in calls:
                await self._turn(viewer, name, args)
            else:
                await self._service(viewer, name, args)
        sent = [request.raw.decode() for request in self.agent.server.requests]
        return "\n".join((*self.seen, *sent))

    async def _turn(self, viewer: str | None, tool: str, args: dict[str, Any]) -> None:
        self.agent.server.script([tool_calls([(tool, args)]), text("There you are.")])
        await self.agent.say(
            self.random.choice(("What about the blue box on the shelf?", "Who am I?", "Who told you that?")),
            context=context_of(viewer),
            device_id=self.random.choice(DEVICES),
        )

    async def _service(self, viewer: str | None, name: str, args: dict[str, Any]) -> None:
        """Call a service; what is refused gives nothing but the refusal."""
        self.agent.server.script([text("There you are.")] if name == "process" else [])
        try:
            answer = await call_action(self.agent.hass, name, args, context_of(viewer))
        except HomeAssistantError as err:
            answer = {"refused": str(err)}
        self.seen.append(str(answer))
        await self.agent.hass.async_block_till_done()


def context_of(viewer: str | None) -> Context:
    return Context(user_id=USERS[viewer] if viewer else None)


@pytest.fixture(params=["direct-none", "direct-openai", "vector_db-none", "vector_db-openai"])
async def agent(
    request: pytest.FixtureRequest,
    hass: HomeAssistant,
    model_server: ModelServer,
    other_model_server: ModelServer,
    tmp_path: Path,
) -> AsyncGenerator[Agent]:
    """An agent with Anna and Ben, none of whom is an administrator, for each mode."""
    mode, _, provider = request.param.partition("-")
    for name, user_id in USERS.items():
        group = Group(id=GROUP_ID_USER, name="Users", policy={"entities": True})
        MockUser(id=user_id, name=name, groups=[group]).add_to_hass(hass)
    people = [{"id": name, "name": name, "user_id": user_id} for name, user_id in USERS.items()]
    assert await async_setup_component(hass, "person", {"person": people})
    options = embedding_options(other_model_server) if provider == "openai" else {}
    more = {"memory_context_top_k": 20, "memory_extraction_enabled": False, "context_mode": mode}
    found = await async_indexed(hass, model_server, {**options, **more}, tmp_path)
    yield found
    await hass.config_entries.async_unload(found.entry.entry_id)


@pytest.mark.slow
async def test_nobody_sees_what_is_another_persons(
    request: pytest.FixtureRequest, hass: HomeAssistant, agent: Agent
) -> None:
    """And everybody sees their own; the index holds no words of it."""
    home = Home(agent, Random(request.node.name))
    await home.fill()
    before = {memory.id for memory in home.memories}
    viewers = list(VIEWERS)
    home.random.shuffle(viewers)
    for viewer in viewers:
        given = await home.try_everything(viewer)
        for held in every(home.held):
            if not held.is_for(viewer):
                assert held.word not in given, (viewer, held)
            elif viewer and held.owner == viewer:
                assert held.word in given, (viewer, held)
    assert {memory.id for memory in home.memories} == before
    vectors = folder_of(hass, agent.entry.entry_id)
    assert not await hass.async_add_executor_job(list, files_with(str(vectors), "zq"))
