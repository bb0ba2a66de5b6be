"""The one guard: no way around it, and nothing private behind it."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent import const
from custom_components.home_agent.domains import DOMAINS, gated_domains
from custom_components.home_agent.errors import PermissionDenied
from custom_components.home_agent.knowledge.speaker import Speaker
from custom_components.home_agent.safety.frozen import ServiceCall
from custom_components.home_agent.tools import own_calls
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.conversation import trace
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant, ServiceCall as ServiceCallOfHass
from homeassistant.exceptions import HomeAssistantError
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent, speech
from tests.servers.model_server import ModelServer
from tests.servers.replies import reset, text, tool_calls

INTEGRATION = Path(const.__file__).parent
FILES = {
    file.relative_to(INTEGRATION).as_posix(): file.read_text(encoding="utf-8")
    for file in sorted(INTEGRATION.rglob("*.py"))
}
LIGHT = "light.kitchen_ceiling"
RUN = "tools/run.py"
OWN = "tools/own_calls.py"
"""What no model has a part in: each domain stands there by name."""
EVENTS = [value for name, value in vars(const).items() if name.startswith("EVENT_")]


def nodes(source: str, *kinds: type[ast.AST]) -> Iterator[Any]:
    yield from (node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds))


def using(*ways: str) -> set[str]:
    """Return the files that name an attribute with one of these endings."""
    endings = tuple(f".{way}" for way in ways)
    return {
        name
        for name, source in FILES.items()
        if any(f".{ast.unparse(node)}".endswith(endings) for node in nodes(source, ast.Attribute))
    }


def importing(module: str) -> dict[str, set[str]]:
    return {
        name: {
            alias.name
            for node in nodes(source, ast.ImportFrom)
            if (node.module or "").split(".")[-1] == module
            for alias in node.names
        }
        for name, source in FILES.items()
    }


class TestOneWay:
    """What the source says."""

    def test_services_are_called_in_two_files(self) -> None:
        """Of what the guard let through, or in domains that stand there by name, always with a context."""
        assert using("services.async_call", "services.call", "services.async_call_from_config") == {RUN, OWN}
        calls = {
            file: [
                node
                for node in nodes(FILES[file], ast.Call)
                if ast.unparse(node.func).endswith("services.async_call")
            ]
            for file in (RUN, OWN)
        }
        assert [ast.unparse(call.args[0]) for call in calls[RUN]] == ["call.domain"] * 2
        assert len(calls[OWN]) == 1
        for call in (call for file in calls for call in calls[file]):
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            assert given["blocking"] == "True"
            assert "context" in given["context"].casefold()

    def test_who_makes_calls(self) -> None:
        """Only the guard and the handler, which have judged them."""
        making = {"async_make", "async_read", "async_handle", "async_look"}
        assert {name for name, names in importing("run").items() if names & making} == {
            "tools/guard.py",
            "tools/handler.py",
        }

    def test_who_calls_without_a_model(self) -> None:
        """Timers, questions and proactive messages, approved automations, and the bot; nothing else."""
        assert set(own_calls.SECONDS) == {"notify", "assist_satellite", "automation", "telegram_bot"}
        imports = importing("own_calls")
        calls = [name for name in vars(own_calls) if name.startswith("async_")]
        assert {call: {name for name, names in imports.items() if call in names} for call in calls} == {
            "async_notify": {"channels/phones.py"},
            "async_announce": {
                "channels/announcing.py",
                "channels/asking.py",
                "proactive/briefing.py",
            },  # timers, the end of a question, a briefing
            "async_ask_question": {"channels/asking.py"},
            "async_reload_automation": {"tools/automating/kept.py"},
            "async_switch_automation": {"tools/automating/writing.py"},
            "async_telegram": {"channels/telegram.py"},
        }

    def test_what_may_wake_people(self) -> None:
        """Quiet hours hold for all but an alarm that rings."""
        waking = {
            name
            for name, source in FILES.items()
            for call in nodes(source, ast.Call)
            if any(keyword.arg == "wakes" for keyword in call.keywords)
        }
        assert waking == {"channels/ringing.py"}

    def test_no_other_way_to_the_house(self) -> None:
        """Where a way is used at all, it is where it belongs."""
        assert using("bus.async_fire") == {"events.py"}
        assert using("intent.async_handle") == {RUN}
        assert using("async_call_tool") == {"lifecycle/llm_api.py"}  # of its own tools, which ask the handler
        assert using("script.async_run", "Script", "async_run_action", "states.async_set") == set()

    def test_the_imports_run_one_way(self) -> None:
        """The parts that know nothing of Home Assistant still do not."""
        pure = {name for name in FILES if name.startswith(("inference/", "vector/", "agent/speech"))}
        assert pure
        for name in pure:
            modules = [node.module or "" for node in nodes(FILES[name], ast.ImportFrom)]
            modules += [alias.name for node in nodes(FILES[name], ast.Import) for alias in node.names]
            assert not [module for module in modules if module.startswith("homeassistant")], name


async def test_the_last_door(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """Whatever a tool makes of its arguments is judged once more where the service would be called."""
    agent = await async_agent(hass, model_server, {"allow_scripts_and_scenes": False})
    for call, why in [
        (ServiceCall(domain="homeassistant", service="restart", entity_ids=(LIGHT,)), "not offered"),
        (ServiceCall(domain="shell_command", service="run", entity_ids=(LIGHT,)), "not offered"),
        (ServiceCall(domain="automation", service="trigger", entity_ids=(LIGHT,)), "not offered"),
        (ServiceCall(domain="script", service="turn_on", entity_ids=(LIGHT,)), "switched off"),
        (ServiceCall(domain="light", service="turn_on", entity_ids=()), "needs a target"),
        (ServiceCall(domain="light", service="turn_on", entity_ids=("light.secret_light",)), "not exposed"),
        (ServiceCall(domain="light", service="turn_on", entity_ids=(LIGHT, "light.nowhere")), "not exposed"),
        *(
            (ServiceCall(domain="light", service="turn_on", entity_ids=(LIGHT,), data={key: "x"}), "Targets")
            for key in ("entity_id", "area_id", "device_id", "floor_id", "label_id", "target")
        ),
    ]:
        with subtests.test(call=call, why=why):
            services = async_capture_events(hass, EVENT_CALL_SERVICE)
            with pytest.raises(PermissionDenied, match=why):
                await agent.entry.runtime_data.handler.guard.async_call_service(
                    call, Speaker(context=Context(), language="en")
                )
            assert not services


def test_what_is_gated() -> None:
    """Scripts and scenes reach past the limits of their own domain; nothing else is behind the gate."""
    assert gated_domains() == {"scene", "script"}
    assert "trigger" not in DOMAINS["automation"].actions


@pytest.fixture
async def movie(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent that may not use them, with an exposed script and scene that switch a hidden light."""
    agent = await async_agent(hass, model_server, {"allow_scripts_and_scenes": False})
    hidden = {"action": "light.turn_on", "target": {"entity_id": "light.secret_light"}}
    scene = {"name": "Movie Night", "entities": {"light.secret_light": "on"}}
    assert await async_setup_component(hass, "script", {"script": {"party": {"sequence": [hidden]}}})
    assert await async_setup_component(hass, "scene", {"scene": [scene]})
    await hass.async_block_till_done()
    for entity_id in ("script.party", "scene.movie_night"):
        async_expose_entity(hass, "conversation", entity_id, True)
    await hass.async_block_till_done()
    return agent


async def test_scripts_and_scenes_do_not_run(movie: Agent) -> None:
    """Although they are exposed; the model is told in words that it can pass on."""
    for entity_id in ("script.party", "scene.movie_night"):
        for action in ("turn_on", "activate", "toggle", "script.turn_on", "scene.turn_on"):
            movie.server.clear()
            control = {"action": action, "entity_id": entity_id}
            await movie.act(("ha_control", control), sentence=f"{action} {entity_id}")
            (envelope,) = results(movie)
            assert envelope["success"] is False
            assert 0 < len(envelope["error"]) <= 300
            assert entity_id.partition(".")[0] in envelope["error"]
    assert movie.hass.states.get("light.secret_light").state == "off"


async def test_nor_by_home_assistants_own_sentences(movie: Agent) -> None:
    """Neither before the model nor in its place."""
    movie.server.default = reset()
    for options in ({"local_first_enabled": True}, {"local_first_enabled": False}):
        await movie.set_options(**options)
        for sentence in ("turn on party", "run party", "activate movie night", "turn on movie night"):
            await movie.say(sentence)
    assert movie.hass.states.get("light.secret_light").state == "off"


def results(agent: Agent) -> list[dict[str, Any]]:
    """Return the envelopes of the newest request."""
    return agent.results


class TestWhoMayDoWhat:
    """The user's permissions, asked at the call."""

    async def test_reading(self, hass: HomeAssistant, model_server: ModelServer, agent: Agent) -> None:
        """A user who may see one room does not see the other through the agent."""
        reader = MockUser(is_owner=False).add_to_hass(hass)
        reader.mock_policy({"entities": {"entity_ids": {LIGHT: {POLICY_READ: True}}}})
        queries = [LIGHT, "light.bed_light", "light.*"]
        model_server.script(
            [tool_calls([("ha_query", {"entity_id": query}) for query in queries]), text("Hm.")]
        )
        await agent.say("Which lights are on?", context=Context(user_id=reader.id))
        allowed, refused, all_lights = results(agent)
        assert allowed["success"] is True
        assert refused["success"] is False
        assert LIGHT in str(all_lights)
        assert "bed_light" not in str(all_lights)

    async def test_a_user_who_is_switched_off(self, hass: HomeAssistant, model_server: ModelServer) -> None:
        agent = await async_agent(hass, model_server)
        await hass.auth.async_create_user("Owner", group_ids=["system-admin"])
        somebody = await hass.auth.async_create_user("Somebody", group_ids=["system-admin"])
        await hass.auth.async_deactivate_user(somebody)
        calls = [
            ("ha_control", {"action": "turn_on", "entity_id": LIGHT}),
            ("ha_query", {"entity_id": LIGHT}),
        ]
        model_server.script([tool_calls(calls), text("Hm.")])
        await agent.say("On", context=Context(user_id=somebody.id))
        assert [envelope["success"] for envelope in results(agent)] == [False, False]
        assert hass.states.get(LIGHT).state == "off"


class TestCodes:
    """What opens a door is nobody's business but the door's."""

    CODE = "483920"

    async def test_no_code_in_events(
        self, hass: HomeAssistant, model_server: ModelServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Neither in the arguments nor in what went wrong, nor in a trace, nor in the log."""
        caplog.set_level("INFO", "custom_components.home_agent")
        agent = await async_agent(hass, model_server)
        fired = [async_capture_events(hass, event) for event in EVENTS]
        unlock = {"action": "unlock", "entity_id": "lock.front_door"}
        wrong: list[Any] = [
            {**unlock, "parameters": {"code": self.CODE}},
            {**unlock, "parameters": {"code": int(self.CODE)}},
            {"action": "disarm", "entity_id": "alarm_control_panel.none", "parameters": {"pin": self.CODE}},
            f'{{"action": "unlock", "entity_id": "lock.front_door", "parameters": {{"code": "{self.CODE}"',
            {**unlock, "parameters": [{"password": self.CODE}]},
        ]
        for arguments in wrong:
            model_server.script([tool_calls([("ha_control", arguments)]), text("Hm.")])
            await agent.say("Unlock the front door")
        seen = [event.data for events in fired for event in events]
        assert sum(data.get("tool_name") == "ha_control" for data in seen) >= len(wrong)
        kept = agent.entry.runtime_data.recent, [item.as_dict() for item in trace.async_get_traces()]
        assert self.CODE not in str((seen, kept))
        assert self.CODE not in "".join(r.getMessage() for r in caplog.records if "home_agent" in r.name)

    @pytest.mark.parametrize("allowed", [[], ["lock"]], ids=["confirmed", "free"])
    async def test_no_code_in_what_a_door_complains_about(
        self,
        hass: HomeAssistant,
        model_server: ModelServer,
        caplog: pytest.LogCaptureFixture,
        allowed: list[str],
    ) -> None:
        """Integrations quote what they were given, whether the call was free or confirmed."""
        caplog.set_level("INFO", "custom_components.home_agent")
        agent = (await async_agent(hass, model_server, {"policy_allowed": allowed})).at_satellite()

        async def unlock(call: ServiceCallOfHass) -> None:
            raise HomeAssistantError(f"{call.data['code']} is not the code")

        hass.services.async_register("lock", "unlock", unlock)
        fired = [async_capture_events(hass, event) for event in EVENTS]
        arguments = {"action": "unlock", "entity_id": "lock.front_door", "parameters": {"code": self.CODE}}
        model_server.script([tool_calls([("ha_control", arguments)]), text("Hm.")])
        said = await agent.say("Unlock the front door")
        if not allowed:
            said = await agent.say("Yes", conversation_id=said.conversation_id)
        seen = str([event.data for events in fired for event in events])
        if allowed:
            assert "is not the code" in seen
            (envelope,) = results(agent)
            assert "is not the code" in envelope["error"]
            assert self.CODE not in envelope["error"]
        journal = agent.entry.runtime_data.handler.guard.journal
        kept = str(journal.stored())
        assert "is not the code" in kept
        for text_ in (seen, kept, speech(said), str([t.as_dict() for t in trace.async_get_traces()])):
            assert self.CODE not in text_
        assert self.CODE not in "".join(r.getMessage() for r in caplog.records if "home_agent" in r.name)

    async def test_the_door_gets_it(self, hass: HomeAssistant, model_server: ModelServer) -> None:
        agent = (await async_agent(hass, model_server)).at_satellite()
        services = async_capture_events(hass, EVENT_CALL_SERVICE)
        await hass.services.async_call("lock", "lock", {"entity_id": "lock.front_door"}, blocking=True)
        await hass.async_block_till_done()
        arguments = {"action": "unlock", "entity_id": "lock.front_door", "parameters": {"code": self.CODE}}
        asked = await agent.act(("ha_control", arguments), sentence="Unlock the front door")
        assert not [event for event in services if event.data["service"] == "unlock"]
        await agent.say("Yes", conversation_id=asked.conversation_id)
        assert [e.data["service_data"]["code"] for e in services if e.data["service"] == "unlock"] == [
            self.CODE
        ]


async def test_what_is_switched_off(hass: HomeAssistant, model_server: ModelServer) -> None:
    """It is neither offered nor run; without events nothing is put on the bus."""
    agent = await async_agent(hass, model_server, {"tools_enable_native": False})
    on = tool_calls([("ha_control", {"action": "turn_on", "entity_id": LIGHT})])
    model_server.script([on, text("I cannot.")])
    assert speech(await agent.say("On")) == "I cannot."
    assert not model_server.chats[0].json.get("tools")
    model_server.clear()
    await agent.set_options(tools_enable_native=True, tools_disabled=["ha_control"])
    model_server.script([on, text("I cannot.")])
    await agent.say("On")
    offered = {tool["function"]["name"] for tool in model_server.chats[0].json["tools"]}
    assert offered >= {"activity", "ha_query"}
    assert "ha_control" not in offered
    assert "ha_query" in results(agent)[0]["error"]
    assert hass.states.get(LIGHT).state == "off"
    await agent.set_options(tools_disabled=[], emit_events=False)
    fired = [async_capture_events(hass, event) for event in EVENTS if event != const.EVENT_HISTORY_SAVED]
    model_server.script([on, text("On.")])
    await agent.say("On")
    assert hass.states.get(LIGHT).state == "on"
    assert not [event for events in fired for event in events]
