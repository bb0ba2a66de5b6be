"""The panel's commands on the websocket: for administrators, complete, bounded, live, and forgetful."""

from datetime import timedelta
import json
import re
from typing import Any

from aiohttp.test_utils import TestClient
import pytest
from pytest_homeassistant_custom_component.common import (
    MockUser,
    async_capture_events,
)
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.home_agent.agent.record import TurnOutcome
from custom_components.home_agent.const import DOMAIN, EVENT_TOOL_EXECUTED, EVENT_TOOL_PROGRESS
from custom_components.home_agent.context.window import STABLE_STEPS, STEPS
from custom_components.home_agent.knowledge.speaker import Surface
from custom_components.home_agent.memory.extractor import Reason, Refused
from custom_components.home_agent.memory.records import Origin, Sensitivity
from custom_components.home_agent.panel.sidebar import FILES
from custom_components.home_agent.panel.usage import MAX_DAYS
from custom_components.home_agent.panel.websocket import COMMANDS
from custom_components.home_agent.planned.records import REPEATS
from custom_components.home_agent.safety.confirmation import ActionOutcome
from custom_components.home_agent.safety.journal import AuditKind
from custom_components.home_agent.safety.spoken_numbers import hash_pin
from custom_components.home_agent.tools.turn_calls import Fit
from homeassistant.components import frontend
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_add_agent, async_agent, call_action
from tests.helpers.checks import every
from tests.helpers.panel import Panel
from tests.helpers.secure_house import SecureHouse
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, status, text, tool_calls

HOSTILE = "<img src=x onerror=alert(1)>"
LAMP = ("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"})
UNLOCK = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
CODE = {"action": "unlock", "entity_id": "lock.front_door", "parameters": {"code": "4711"}}
ADMIN = [name for name, row in COMMANDS.items() if not row.everybody]


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """An agent that learns nothing by itself and asks the model each time."""
    assert await async_setup_component(hass, "websocket_api", {})
    options = {"memory_extraction_enabled": False, "quick_confirmations": False}
    return await async_agent(hass, model_server, options)


@pytest.fixture
async def panel(agent: Agent, hass_ws_client: WebSocketGenerator) -> Panel:
    """The panel of an administrator."""
    return Panel(await hass_ws_client(agent.hass), agent)


@pytest.fixture
def owner(hass_admin_user: MockUser) -> Context:
    """The administrator who looks at the panel, speaking."""
    return Context(user_id=hass_admin_user.id)


async def test_a_turn_in_all_its_parts(panel: Panel, agent: Agent, model_server: ModelServer) -> None:
    """What was said, sent, found, called and answered, and when."""
    model_server.script([tool_calls([LAMP]), text("The bed light is on.")])
    await agent.say("Turn on the bed light")
    (listed,) = (await panel.get("turns"))["turns"]
    turn = await panel.turn()
    assert (listed["sentence"], listed["answer"]) == ("Turn on the bed light", "The bed light is on.")
    assert listed["tools"] == ["ha_control"]
    first, second = turn["requests"]
    names = {part["name"]: part["tokens"] for part in first["parts"]}
    assert {"rules", "catalogue", "tools", "said", "moment", "direct"} <= set(names)
    assert abs(sum(names.values()) - first["tokens"]) < 20
    assert names["tools"] > 300
    assert second["tokens"] > first["tokens"]
    assert first["model"] == "test-model"
    assert first["first_ms"] <= first["ms"]
    (call,) = turn["calls"]
    assert call["tool"] == "ha_control"
    assert json.loads(call["args"])["entity_id"] == "light.bed_light"
    assert "on" in call["result"]
    assert call["success"]
    assert bool(call["rules"]) is (call["fit"] == "repaired")
    assert first["at"] <= call["at"] <= second["at"] <= turn["ms"]
    for request, captured in zip(turn["requests"], model_server.chats[-2:], strict=True):
        assert [(item["role"], item["content"]) for item in request["messages"]] == [
            (item["role"], item["content"] or "") for item in captured.messages
        ]
        assert [json.loads(tool) for tool in request["tools"]] == captured.json["tools"]
    (sent_call,) = (made for message in second["messages"] for made in message["calls"])
    assert json.loads(sent_call["arguments"])["entity_id"] == "light.bed_light"
    (states,) = (slot for slot in turn["slots"] if slot["name"] == "direct")
    sent = str(model_server.chats[-1].messages)
    assert states["lines"]
    assert all(line["text"] in sent for line in every(states["lines"]))
    assert states["lines"][0]["scores"]["words"] > 0


async def test_only_for_administrators(
    hass: HomeAssistant, agent: Agent, hass_ws_client: WebSocketGenerator, hass_read_only_access_token: str
) -> None:
    panel = Panel(await hass_ws_client(hass, hass_read_only_access_token), agent)
    for command in every(ADMIN):
        answer = await panel.ask(command, **FIELDS.get(command, {}))
        assert answer["error"]["code"] == "unauthorized", command


FIELDS: dict[str, dict[str, Any]] = {
    "turn": {"turn_id": "x"},
    "undo": {"turn_id": "x"},
    "memory/add": {
        "content": "x", "memory_type": "fact", "importance": 0.5, "private": False, "person": "x",
    },
    "mine/memory/delete": {"memory_id": "x"},
    "mine/profile/delete": {"profile_id": "x"},
    "mine/timer/cancel": {"timer_id": "x"},
    "mine/planned/cancel": {"planned_id": "x"},
    "memory/update": {
        "memory_id": "x", "content": "x", "memory_type": "fact", "importance": 0.5, "private": False,
    },
    "memory/delete": {"memory_id": "x"},
    "profile/update": {"profile_id": "x", "value": "x", "sensitivity": "public"},
    "profile/delete": {"profile_id": "x"},
    "confirm": {"action_id": "x"},
    "reject": {"action_id": "x"},
    "suggestion/answer": {"suggestion_id": "x", "answer": "accept"},
}  # fmt: skip


async def test_memories(hass: HomeAssistant, panel: Panel, owner: Context) -> None:
    """Searched, changed and forgotten; who said it stands beside it."""
    data = {"content": f"Anna likes tea {HOSTILE}"}
    await call_action(hass, "add_memory", data, owner)
    await call_action(hass, "add_memory", {"content": "The bins go out on Tuesday"})
    found = await panel.get("memories", query="tea")
    (tea,) = found["memories"]
    assert HOSTILE in tea["content"]
    assert tea["told_by"][0]["name"]
    assert (await panel.get("memories"))["memories_total"] == 2
    change = {"memory_type": "preference", "importance": 0.9, "private": True}
    await panel.get("memory/update", memory_id=tea["id"], content="Anna likes coffee", **change)
    assert (await panel.get("memories", query="tea"))["memories"] == []
    (coffee,) = (await panel.get("memories", query="coffee"))["memories"]
    assert (coffee["id"], coffee["type"], coffee["private"]) == (tea["id"], "preference", True)
    assert len(coffee["told_by"]) == 2
    await panel.get("memory/delete", memory_id=tea["id"])
    assert [item["content"] for item in (await panel.get("memories"))["memories"]] == [
        "The bins go out on Tuesday"
    ]


async def test_what_was_not_kept_is_shown_with_its_reason(panel: Panel, agent: Agent) -> None:
    """A code is not shown, and a search is about what is kept."""
    refused = agent.entry.runtime_data.extractor.refused
    refused.append(Refused(dt_util.utcnow(), "The light is on", Reason.TRANSIENT, None))
    refused.append(Refused(dt_util.utcnow(), "The safe opens with 4711", Reason.SECRET, None))

    told = (await panel.get("memories"))["refused"]

    assert [(item["reason"], item["content"]) for item in told] == [
        ("secret", ""),
        ("transient_state", "The light is on"),
    ]
    assert (await panel.get("memories", query="light"))["refused"] == []


async def test_profile(panel: Panel, agent: Agent, owner: Context) -> None:
    note = {"category": "diet", "key": "style", "value": "vegetarian"}
    await agent.act(("update_user_profile", note), sentence="I am vegetarian", context=owner)
    (entry,) = (await panel.get("memories"))["profile"]
    assert (entry["value"], entry["source"]) == ("vegetarian", "told")
    await panel.get("profile/update", profile_id=entry["id"], value="vegan", sensitivity="sensitive")
    (entry,) = (await panel.get("memories", query="vegan"))["profile"]
    assert (entry["sensitivity"], entry["previous"]) == ("sensitive", "vegetarian")
    refused = await panel.ask(
        "profile/update", profile_id=entry["id"], value="password: hunter2hunter2", sensitivity="public"
    )
    assert refused["error"]["code"] == "home_assistant_error"
    await panel.get("profile/delete", profile_id=entry["id"])
    assert (await panel.get("memories"))["profile"] == []
    assert (await panel.get("turns"))["turns"] == []


@pytest.mark.parametrize(
    "by", ["delete_memory", "erase_data", "clear_history", "conversation", "panel", "tool"]
)
async def test_forgetting_reaches_the_turns(
    hass: HomeAssistant, panel: Panel, agent: Agent, owner: Context, by: str
) -> None:
    """However something is forgotten, it stands in no turn any more."""
    added = await call_action(hass, "add_memory", {"content": "Anna is fond of marzipan"})
    result = await agent.say("What is Anna fond of?", context=owner)
    assert "marzipan" in json.dumps(await panel.turn())
    if by == "panel":
        await panel.get("memory/delete", **added)
    elif by == "tool":
        await agent.act(
            ("forget_memory", {"memory": added["memory_id"]}), sentence="Forget that", context=owner
        )
    else:
        data = {
            "delete_memory": added,
            "erase_data": {"confirm": True},
            "clear_history": {},
            "conversation": {"conversation_id": result.conversation_id},
        }
        service = "clear_history" if by == "conversation" else by
        await hass.services.async_call(DOMAIN, service, data[by], blocking=True, context=owner)
    assert (await panel.get("turns"))["turns"] == []


@pytest.fixture
async def secure(
    hass: HomeAssistant, model_server: ModelServer, hass_ws_client: WebSocketGenerator
) -> tuple[SecureHouse, Panel]:
    """A house with a locked door, and the panel of an administrator."""
    house = SecureHouse(hass)
    await house.async_build()
    assert await async_setup_component(hass, "websocket_api", {})
    agent = await async_add_agent(hass, model_server)
    model_server.script([tool_calls([UNLOCK])])
    return house, Panel(await hass_ws_client(hass), agent)


async def test_confirmations(secure: tuple[SecureHouse, Panel], owner: Context) -> None:
    """What waits is shown at once; the door opens once."""
    house, panel = secure
    await panel.get("subscribe")
    await panel.agent.say("Unlock the front door", context=owner)
    topics = {(await panel.socket.receive_json())["event"]["topic"] for _ in range(3)}
    assert topics == {"confirmations", "turns", "memories"}
    (waiting,) = (await panel.get("confirmations"))["actions"]
    assert waiting["may_approve"]
    await panel.socket.send_json_auto_id(
        {"type": "home_agent/confirm", "entry_id": panel.agent.entry.entry_id, "action_id": waiting["id"]}
    )
    event, answer = await panel.socket.receive_json(), await panel.socket.receive_json()
    assert event["event"] == {"topic": "confirmations"}
    assert answer["success"]
    assert house.moved() == [("lock.unlock", ("lock.front_door",))]
    assert (await panel.get("confirmations"))["actions"] == []
    assert (await panel.get("audit", kind="confirmation"))["entries"]


async def test_a_pin(hass: HomeAssistant, secure: tuple[SecureHouse, Panel], owner: Context) -> None:
    """Where a PIN is set it is asked for here as well, and what is wrong is said."""
    house, panel = secure
    await panel.agent.set_options(policy_pin=await hass.async_add_executor_job(hash_pin, "4711"))
    panel.agent.server.script([tool_calls([UNLOCK])])
    await panel.agent.say("Unlock the front door", context=owner)
    (waiting,) = (await panel.get("confirmations"))["actions"]
    action_id = waiting["id"]
    assert waiting["wants_pin"]
    for typed, key in (({}, "confirmation_pin_needed"), ({"pin": "1234"}, "confirmation_pin_wrong")):
        refused = await panel.ask("confirm", action_id=action_id, **typed)
        assert refused["error"]["translation_key"] == key
    await panel.get("confirm", action_id=action_id, pin="4711")
    assert house.moved() == [("lock.unlock", ("lock.front_door",))]


async def test_only_who_asked_approves(hass: HomeAssistant, secure: tuple[SecureHouse, Panel]) -> None:
    """An administrator can drop what another person asked for, and not approve it."""
    house, panel = secure
    other = MockUser(name="Ben", is_owner=True).add_to_hass(hass)
    await panel.agent.say("Unlock the front door", context=Context(user_id=other.id))
    (action,) = (await panel.get("confirmations"))["actions"]
    assert (action["may_approve"], action["person"]) == (False, "Ben")
    refused = await panel.ask("confirm", action_id=action["id"])
    assert refused["error"]["translation_key"] == "confirmation_not_yours"
    await panel.get("reject", action_id=action["id"])
    assert house.moved() == []


async def test_usage(agent: Agent, freezer: Any) -> None:
    """Counted by days, and bounded."""
    agent.server.default = Reply(text="Yes.", usage=(100, 20, 60))
    await agent.say("One")
    freezer.tick(timedelta(hours=25))  # the longest day
    await agent.say("Two")
    usage = agent.entry.runtime_data.shared.usage.of(agent.entry.entry_id)
    before, today = usage.days(dt_util.now().date(), 2)
    assert [day["turns"] for day in (before, today)] == [1, 1]
    assert (today["prompt"], today["completion"], today["cached"]) == (100, 20, 60)
    for _ in range(MAX_DAYS + 5):
        freezer.tick(timedelta(days=1))
        usage.note(dt_util.now().date(), {"turns": 1})
    assert len(usage.stored()) == MAX_DAYS


async def test_the_sidebar(
    hass: HomeAssistant, model_server: ModelServer, hass_client: Any, hass_client_no_auth: Any
) -> None:
    """There for everybody while an agent wants it; its files can be kept by the browser."""
    assert await async_setup_component(hass, "frontend", {})
    agent = await async_agent(hass, model_server)
    shown = hass.data[frontend.DATA_PANELS][DOMAIN]
    assert not shown.require_admin, "everybody has a page of their own"
    address = shown.config["_panel_custom"]["module_url"]
    client: TestClient[Any, Any] = await hass_client_no_auth()
    folder = address.rpartition("/")[0]
    for file in every(FILES.glob("*.js")):
        answer = await client.get(f"{folder}/{file.name}")
        assert answer.status == 200
        assert "max-age" in answer.headers["Cache-Control"]
        assert "javascript" in answer.headers["Content-Type"]
    await agent.set_options(panel_enabled=False)
    assert not frontend.async_panel_exists(hass, DOMAIN)
    await agent.set_options(panel_enabled=True)
    assert hass.data[frontend.DATA_PANELS][DOMAIN].config["_panel_custom"]["module_url"] == address
    await hass.config_entries.async_remove(agent.entry.entry_id)
    assert not frontend.async_panel_exists(hass, DOMAIN)


def test_every_word_is_there() -> None:
    """The page uses no word that the translations lack, and they hold none that it does not use."""
    translated = json.loads((FILES.parents[1] / "translations" / "en.json").read_text(encoding="utf-8"))
    words = set(translated["selector"]["panel"]["options"])
    written = "".join(file.read_text(encoding="utf-8") for file in FILES.glob("*.js"))
    used = set(re.findall(r'\bt(?:\.count|\.line)?\(\s*"(\w+)"', written))
    made = tuple(re.findall(r"\bt(?:\.line)?\(`(\w+_)\$\{", written))
    assert used <= words
    assert [word for word in words if not word.startswith(made) and f'"{word}"' not in written] == []
    told = {f"kinds_{kind}" for kind in AuditKind} | {f"fit_{fit}" for fit in Fit}
    told |= {f"surface_{surface.name.lower()}" for surface in Surface}
    told |= {f"part_{name}" for name, _ in (*STABLE_STEPS, *STEPS)}
    told |= {f"outcome_{outcome}" for outcome in TurnOutcome} | {
        f"repeat_{repeat}" for repeat in (*REPEATS.values(), "weekly")
    }
    told |= {f"ended_{outcome}" for outcome in ("requested", *ActionOutcome)}
    told |= {f"source_{origin}" for origin in Origin} | {f"sensitivity_{level}" for level in Sensitivity}
    assert told <= words


def test_text_never_becomes_markup() -> None:
    """The page writes text nodes only, and loads nothing from elsewhere."""
    for file in every(FILES.glob("*.js")):
        written = file.read_text(encoding="utf-8")
        assert not any(word in written for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval("))
        outside = written.replace("http://www.w3.org/2000/svg", "")
        assert "://" not in outside
        assert len(written.splitlines()) < 400


async def test_a_call_that_waits_is_no_failure(
    panel: Panel, agent: Agent, model_server: ModelServer, owner: Context
) -> None:
    """It has neither worked nor failed, in the turn and in the events."""
    progress = async_capture_events(agent.hass, EVENT_TOOL_PROGRESS)
    executed = async_capture_events(agent.hass, EVENT_TOOL_EXECUTED)
    await agent.hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    model_server.script([tool_calls([UNLOCK, LAMP]), text("Done.")])
    await agent.say("Unlock the front door and turn on the bed light", context=owner)
    unlock, lamp = (await panel.turn())["calls"]
    assert (unlock["success"], unlock["waits"]) == (False, True)
    assert (lamp["success"], lamp["waits"]) == (True, False)
    ended = {event.data["status"]: event.data for event in progress if event.data["status"] != "started"}
    assert set(ended) == {"waiting", "completed"}
    assert (ended["waiting"]["success"], ended["waiting"]["error"]) == (None, None)
    assert sorted(event.data["waiting"] for event in executed) == [False, True]


async def test_turns_stay_when_the_agent_is_reloaded(panel: Panel, agent: Agent) -> None:
    """Turns before and after a change of options can be compared; each keeps the name of its model."""
    await agent.say("Before")
    await agent.set_options(temperature=0.3)
    before = await panel.turn()
    data = {**agent.entry.data, "llm_model": "another-model"}
    agent.hass.config_entries.async_update_entry(agent.entry, data=data)
    await agent.hass.async_block_till_done(wait_background_tasks=True)
    await agent.say("After")
    turns = (await panel.get("turns"))["turns"]
    assert [turn["sentence"] for turn in turns] == ["After", "Before"]
    assert (await panel.turn())["requests"][0]["model"] == "another-model"
    assert await panel.get("turn", turn_id=before["id"]) == before
    assert before["requests"][0]["model"] == "test-model"


@pytest.mark.parametrize("history", [True, False])
async def test_no_code_is_in_what_was_sent(
    panel: Panel, agent: Agent, model_server: ModelServer, history: bool
) -> None:
    """Neither in the request that led to the call, nor in the one behind it, nor in a later turn."""
    await agent.set_options(history_enabled=history)
    model_server.script([tool_calls([("ha_control", CODE)]), text("Done.")])
    first = await agent.say("Unlock the front door with 4711")
    assert "4711" in str(model_server.chats[-1].messages)
    turn = await panel.turn()
    assert "4711" not in json.dumps(turn)
    assert "Unlock the front door" in json.dumps(turn["requests"])
    model_server.script([text("It is a door.")])
    await agent.say("Which door was that?", conversation_id=first.conversation_id)
    turn = await panel.turn()
    assert turn["sentence"] == "Which door was that?"
    assert "4711" not in json.dumps(turn)


async def test_outcomes(panel: Panel, agent: Agent, model_server: ModelServer, owner: Context) -> None:
    """What became of each turn, in one word."""
    await agent.hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    missing = {"action": "turn_on", "entity_id": "light.not_there"}
    model_server.script([text("Hello.")])
    await agent.say("Hello there", context=owner)
    model_server.script([tool_calls([UNLOCK])])
    asked = await agent.say("Unlock the front door", context=owner)
    await agent.say("yes", context=owner, conversation_id=asked.conversation_id)
    await agent.act(("ha_control", missing), sentence="Turn on the light on the moon", context=owner)
    await agent.hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    await agent.set_options(local_fallback_enabled=False, local_first_enabled=True)
    await agent.say("Unlock Front Door", context=owner)
    model_server.default = status(500, "CUDA out of memory")
    await agent.say("Tell me a story", context=owner)
    turns = (await panel.get("turns"))["turns"]
    found = [(turn["outcome"], turn["tokens"] > 0) for turn in turns]
    assert found == [
        ("failed", False),
        ("asked", False),
        ("refused", True),
        ("local", False),
        ("asked", True),
        ("answered", True),
    ]


async def test_the_overview(panel: Panel, agent: Agent, model_server: ModelServer) -> None:
    """The server without its key, the model, what waits, and the figures of today."""
    model_server.default = Reply(text="Yes.", usage=(100, 20, 60))
    await agent.say("One")
    found = await panel.get("overview")
    assert found["reachable"] is True
    assert found["server"] in model_server.url
    assert "/" not in found["server"]
    assert (found["model"], found["waiting"], found["issues"]) == ("test-model", 0, 0)
    assert (found["today"]["turns"], found["today"]["prompt"], found["today"]["failed"]) == (1, 100, 0)
    assert found["exposed"] > 3
    assert found["features"]["memory"]


async def test_undo(hass: HomeAssistant, panel: Panel, agent: Agent, model_server: ModelServer) -> None:
    """An action has the names of its targets and can be put back once."""
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    model_server.script([tool_calls([LAMP]), text("The bed light is on.")])
    await agent.say("Turn on the bed light")
    (entry,) = (await panel.get("audit"))["entries"]
    assert (entry["names"], entry["kept"], entry["undoable"]) == (["Bed Light"], True, True)
    await panel.get("undo", turn_id=entry["turn_id"])
    assert hass.states.get("light.bed_light").state == "off"
    entries = (await panel.get("audit"))["entries"]
    assert [entry["undoable"] for entry in every(entries)] == [False, False]
    assert entries[0]["told"] == "I've undone that and turned off the Bed Light."
    again = await panel.ask("undo", turn_id=entry["turn_id"])
    assert again["error"]["translation_key"] == "nothing_to_undo"


async def test_a_confirmation_says_what_is_to_be_done(
    panel: Panel, agent: Agent, model_server: ModelServer, owner: Context
) -> None:
    """One row for each question, with the action and how it stands."""
    await agent.hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    model_server.script([tool_calls([UNLOCK])])
    await agent.say("Unlock the front door", context=owner)
    (asked,) = (await panel.get("audit", kind="confirmation"))["entries"]
    assert (asked["service"], asked["names"], asked["outcome"]) == (
        "lock.unlock",
        ["Front Door"],
        "requested",
    )
    (waiting,) = (await panel.get("confirmations"))["actions"]
    await panel.get("reject", action_id=waiting["id"])
    (asked,) = (await panel.get("audit", kind="confirmation"))["entries"]
    assert asked["outcome"] == "rejected"


async def test_activity_speaks(panel: Panel, agent: Agent, model_server: ModelServer, owner: Context) -> None:
    """What was done is a sentence in the language of the reader; a deed after a yes is one row."""
    await agent.hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
    model_server.script([tool_calls([UNLOCK])])
    asked = await agent.say("Unlock the front door", context=owner)
    await agent.say("yes", context=owner, conversation_id=asked.conversation_id)
    (row,) = (await panel.get("audit"))["entries"]
    assert (row["kind"], row["told"], row["confirmed"]) == ("action", "I unlocked the Front Door.", True)
    (german,) = (await panel.get("audit", language="de"))["entries"]
    assert german["told"] == "Ich habe Front Door aufgeschlossen."
    (mine,) = (await panel.get("mine"))["actions"]
    assert mine["told"] == row["told"]
    (yes,) = (await panel.get("audit", kind="confirmation"))["entries"]
    assert (yes["outcome"], yes["told"]) == ("approved", None)


async def test_a_memory_is_added_for_a_person(hass: HomeAssistant, panel: Panel, owner: Context) -> None:
    """For a person or the household, and not for anybody who is not there."""
    person = {"id": "p-ben", "friendly_name": "Ben"}
    hass.states.async_set("person.ben", "home", person)
    written = {"memory_type": "fact", "importance": 0.7, "private": False}
    assert {"id": "p-ben", "name": "Ben"} in (await panel.get("memories"))["people"]
    await panel.get("memory/add", content="Ben likes jazz", person="p-ben", **written)
    await panel.get("memory/add", content="The bins go out on Tuesday", person=None, **written)
    found = {item["content"]: item["name"] for item in (await panel.get("memories"))["memories"]}
    assert found == {"Ben likes jazz": "Ben", "The bins go out on Tuesday": None}
    refused = await panel.ask("memory/add", content="x", person="nobody", **written)
    assert refused["error"]["translation_key"] == "person_unknown"
    assert DOMAIN in refused["error"]["translation_domain"]
