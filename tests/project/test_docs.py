"""The documentation says what the code does: tables, links and examples are held against it."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
import re
from typing import Any
from urllib.parse import unquote

import probatio
import pytest
from pytest_homeassistant_custom_component.common import (
    MockUser,
    async_capture_events,
    async_fire_time_changed,
)

from custom_components.home_agent import connection, const, services
from custom_components.home_agent.agent import turn
from custom_components.home_agent.config import fields, probe
from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.inference.dialects.base import is_azure, is_cloud, parse_address
from custom_components.home_agent.inference.models import Endpoint, ErrorKind
from custom_components.home_agent.planned import scheduler
from custom_components.home_agent.planned.records import REMIND, PlannedItem, Schedule
from custom_components.home_agent.planned.scheduler import CATCH_UP
from custom_components.home_agent.tools import ha_query, turn_calls
from custom_components.home_agent.tools.control.arguments import TIME_SLOTS
from custom_components.home_agent.tools.ha_control import ControlTool
from custom_components.home_agent.tools.native import NATIVE
from custom_components.home_agent.tools.remembering import EARLIER
from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
from scripts.lib import reference
from tests.helpers.agent import IDLE_SECONDS, Agent, call_action
from tests.helpers.checks import every, for_each
from tests.helpers.documents import PAGES, ROOT, code, rows, section
from tests.helpers.indexed import equipped
from tests.helpers.suggested import async_suggested
from tests.servers.model_server import ModelServer
from tests.servers.replies import cut, reset, text, tool_calls

INTEGRATION = ROOT / "custom_components" / DOMAIN
UNLOCK = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
EVENTS = {value for name, value in vars(const).items() if name.startswith("EVENT_")}


@for_each("page", reference.TABLES)
def test_generated_tables(page: str) -> None:
    """`scripts/reference` has nothing to write, and each option, action and field has a text."""
    assert reference.generated(page, PAGES[page]) == PAGES[page]
    described = [cells for columns in (3, 5) for cells in rows(PAGES[page], columns)]
    assert all(cells[-1] for cells in every(described))


def test_tools() -> None:
    """Each tool has a row with the parameters that models are offered; those of two are named below it."""
    described = {code(cells[0])[0]: cells for cells in rows(PAGES[reference.TOOLS], 4)}
    assert set(described) - {"script__…"} == set(NATIVE) - set(EARLIER)
    assert set(EARLIER) <= set(code(PAGES[reference.TOOLS]))
    for name, tool in NATIVE.items():
        known = {*_words_of(getattr(tool.parameters, "schema", {}))}
        if known and name not in EARLIER and not described[name][3].startswith("["):
            assert set(code(described[name][3])) <= known, name
    slots = {name for cells in rows(section(reference.TOOLS, "Targets"), 2) for name in code(cells[0])}
    accepted = {*map(str, ha_query.QueryTool.parameters.schema), *map(str, ControlTool().parameters.schema)}
    assert slots == accepted - {"state", "history", "why", "attributes", "action", "parameters", *TIME_SLOTS}
    for name in ("state", "history", "why", "attributes", "duration", "at", *ha_query.AGGREGATES):
        assert f"`{name}`" in section(reference.TOOLS, "ha_query")


def _words_of(schema: dict[Any, Any]) -> Iterator[str]:
    """Yield the names of parameters and the values that they choose from."""
    for key, value in schema.items():
        yield str(key)
        if isinstance(value, probatio.In):
            yield from value.container


@for_each(
    ("page", "sentence", "number"),
    [
        (reference.TOOLS, "requests to the model | {}, the last one", turn.MAX_ROUNDS),
        (reference.TOOLS, "at most {} with all repetitions", turn.MAX_REQUESTS),
        ("docs/first-week.md", "{} timers", scheduler.MAX_TIMERS),
        ("docs/first-week.md", "and {} commands for later", scheduler.MAX_COMMANDS),
    ],
)
def test_limits(page: str, sentence: str, number: float) -> None:
    assert sentence.format(number) in " ".join(PAGES[page].split())
    assert turn_calls.MAX_SAME_FAILURE == 2, f"{reference.TOOLS}: can be tried twice"


def test_services() -> None:
    """Each action has a section."""
    for name in (*services.SERVICES, "reload"):
        assert section(reference.ACTIONS, f"{DOMAIN}.{name}")
    assert "`entry_id`" in PAGES[reference.ACTIONS]


@pytest.fixture
async def agent(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer, tmp_path: Path
) -> AsyncIterator[Agent]:
    """Return an agent with all that it can have; it is unloaded at the end."""
    async with equipped(hass, model_server, other_model_server, tmp_path) as agent:
        await hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
        yield agent


async def test_responses(hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser) -> None:
    """What the actions return is named, and nothing else."""
    asked = async_capture_events(hass, const.EVENT_CONFIRMATION_REQUESTED)
    tool_name, parameters = UNLOCK
    for _ in range(2):
        data = {"tool_name": tool_name, "parameters": parameters}
        await call_action(hass, "execute_tool", data)
    confirmed, rejected = ({"action_id": event.data["action_id"]} for event in asked)
    given: dict[str, dict[str, Any]] = {
        "confirm_action": confirmed,
        "reject_action": rejected,
        "ask": {"question": "Are you there?"},
        "process": {"text": "Hello"},
        "execute_tool": {"tool_name": "ha_query", "parameters": {"domain": "light"}},
        "index_documents": {"collection": "manuals", "folder": "texts/manuals"},
        "index_entity": {"entity_id": "light.bed_light"},
        "search_memories": {"query": "tea"},
        "add_memory": {"content": "Anna likes tea"},
        "clear_memories": {"confirm": True},
        "export_data": {},
        "erase_data": {"confirm": True},
        "answer_suggestion": {"suggestion_id": await async_suggested(agent), "answer": "preview"},
    }
    added = await call_action(hass, "add_memory", {"content": "Ben likes coffee"})
    given["delete_memory"] = added
    for name in services.SERVICES:
        response = await call_action(hass, name, given.get(name, {}), Context(user_id=hass_admin_user.id))
        assert set(response) <= set(code(section(reference.ACTIONS, f"{DOMAIN}.{name}")))


async def test_events(
    hass: HomeAssistant, agent: Agent, model_server: ModelServer, hass_admin_user: MockUser
) -> None:
    """Each event is fired and holds what its table says, no more and no less."""
    captured = {event: async_capture_events(hass, event) for event in EVENTS}
    await hass.services.async_call(DOMAIN, "reindex_entities", blocking=True)
    model_server.script([tool_calls([UNLOCK])])
    asked = await agent.say("Unlock the front door")
    await agent.say("No", conversation_id=asked.conversation_id)
    model_server.script([cut(2, chunks=["It is ", "open ", "now."]), text("It is open.")])
    await agent.say("Is the front door open?")
    model_server.script([text("All right."), text('{"memories": []}')])
    await agent.say("I am vegetarian", context=Context(user_id=hass_admin_user.id))
    soon = Schedule(due=dt_util.utcnow() + timedelta(seconds=5))
    await agent.entry.runtime_data.planned.async_add(PlannedItem(verb=REMIND, schedule=soon))
    missed = PlannedItem(
        verb="turn_on",
        entity_ids=("light.bed_light",),
        schedule=Schedule(due=dt_util.utcnow() - CATCH_UP * 2),
    )
    await agent.entry.runtime_data.planned.async_add(missed)
    await hass.services.async_call(DOMAIN, "add_memory", {"content": "Anna likes tea"}, blocking=True)
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=IDLE_SECONDS + 1))
    await hass.async_block_till_done(wait_background_tasks=True)
    await agent.set_options(max_context_tokens=2500)
    await agent.say("Listen: " + "a word and another " * 400)
    model_server.default = reset()
    await agent.say("Tell me a story")
    await hass.services.async_call(DOMAIN, "clear_history", blocking=True)
    answer = {"suggestion_id": await async_suggested(agent), "answer": "reject"}
    await hass.services.async_call(DOMAIN, "answer_suggestion", answer, blocking=True)
    listed = {
        code(cells[0])[0]: set(code(cells[2])) for cells in rows(section(reference.EVENTS, "Events"), 3)
    }
    explained = {name for cells in rows(section(reference.EVENTS, "Data"), 2) for name in code(cells[0])}
    for event in EVENTS:
        documented = listed[event] | {"timestamp"}
        if event != const.EVENT_HISTORY_SAVED:
            documented.add("config_entry_id")
        assert {frozenset(fired.data) for fired in captured[event]} == {frozenset(documented)}, event
    assert set().union(*listed.values()) == explained
    assert {kind.value for kind in ErrorKind} <= set(code(PAGES[reference.EVENTS]))


def test_model_servers() -> None:
    """The addresses are taken as they are written, and lead to the API that the table names."""
    table = [
        line.strip("| ").split(" | ")
        for line in section("docs/reference/model-servers.md", "What to type").splitlines()
    ]
    servers = [cells for cells in table if len(cells) == 5 and code(cells[1])]
    assert {dialect for cells in servers for dialect in code(cells[4])} == set(const.DIALECTS) - {"auto"}
    for _, address, _, _, dialect in servers:
        url, api = code(address)[0].replace("HOST", "192.168.1.5").replace("NAME", "name"), code(dialect)[0]
        assert fields.normalise_url(url) == url
        assert is_azure(parse_address(url)) is (api == "azure")
        assert is_cloud(parse_address(url)) is connection.is_cloud(url)
        first = next(probe.candidates(Endpoint(base_url=url, model="", dialect=api)))
        assert first == (url if api != "openai" or connection.is_cloud(url) else f"{url}/v1")


def anchors(written: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub names them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", written, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@for_each("page", PAGES)
def test_links(page: str) -> None:
    """Relative links lead to files that are there, and to headings that are in them."""
    for target in re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)", PAGES[page]):
        if "://" in target:
            continue
        path, _, anchor = unquote(target).partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.is_file(), target
        assert not anchor or anchor in anchors(file.read_text(encoding="utf-8")), target


# The README: HACS shows it, and most people read nothing else

ROOT = Path(__file__).parents[2]
WRITTEN = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_page_can_be_reached() -> None:
    """The index names each page, the README those for households."""
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text(encoding="utf-8")
    for page in every(docs.rglob("*.md")):
        name = page.relative_to(docs).as_posix()
        assert name == "README.md" or f"({name})" in index
        assert "/" in name or f"(docs/{name}" in WRITTEN


def test_size() -> None:
    """All documents have at most 35,000 words, those for households 8,000."""
    households = [text for name, text in PAGES.items() if re.fullmatch(r"docs/(?!README)[\w-]+\.md", name)]
    assert sum(len(text.split()) for text in PAGES.values()) <= 35_000
    assert sum(len(text.split()) for text in every(households)) <= 8_000


# Pages for developers name files that exist
