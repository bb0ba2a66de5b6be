"""Custom tools: read from YAML one by one, reported where they are wrong, reloaded, offered, called."""

from textwrap import indent
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events, async_mock_service

from custom_components.home_agent.const import DOMAIN, EVENT_ERROR
from custom_components.home_agent.services.tools import async_load_custom_tools
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from homeassistant.helpers import area_registry as ar, entity_registry as er, issue_registry as ir
from homeassistant.setup import async_setup_component
from tests.helpers.agent import async_add_agent, call_action, speech
from tests.helpers.checks import every
from tests.helpers.custom_tools import OwnTools, async_confirm, async_reload, async_use, async_write, reported
from tests.helpers.examples import many
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

LIGHT = "light.kitchen_ceiling"
ADD = """
- name: add
  description: Add two numbers.
  parameters:
    type: object
    properties:
      a: {type: number, description: The first one}
      b: {type: integer, minimum: 0, maximum: 9}
    required: [a]
  handler:
    type: template
    value_template: "{{ a + (b | default(1)) }}"
"""

WRONG_TOOLS = [
    ("name: x", "required key 'handler' not provided"),
    ("name: x y", "must begin with a letter"),
    ("handler: {type: template, template: a}", "required key 'name' not provided"),
    ("name: ha_control\ndescription: X\nhandler: {type: template, template: a}", "'name'"),
    ("name: add\ndescription: X\nhandler: {type: template, template: a}", "another tool has this name"),
    ("name: x\nhandler: {type: template, template: a}", "required key 'description' not provided"),
    ("name: x\nhandler: {type: template}", "required key 'value_template' not provided"),
    ("name: x\nhandler: {type: shell}", "one of ['mcp', 'rest', 'service', 'template']"),
    ("name: x\nhandler: rest", "expected a mapping for dictionary value 'handler'"),
    ("name: x\nparameters: [a]", "expected a mapping for dictionary value 'parameters'"),
    ("name: x\nparameters: {city: {type: string}}", "required key 'properties' not provided"),
    ("name: x\nparameters: {properties: {a: {type: text}}}", "not a valid JSON Schema"),
    ("name: x\nparameters: {properties: {a: string}}", "expected dict"),
    ("name: x\nparameters: {properties: {a-b: {type: string}}}", "'parameters->properties->a-b'"),
    ("name: x\nparameters: {properties: {}, required: [a]}", "'parameters->required'"),
]
WRONG_HANDLERS = [
    ("template, template: '{{ 1 + }}'", "invalid template ("),
    ("template, template: '{{ citty }}'", "uses citty: not among the tool's parameters"),
    ("service, action: 'light.{{ x }}'", "expected <domain>.<action>, and no template"),
    ("service, action: homeassistant.restart", "is never allowed"),
    ("service, action: automation.trigger", "skips the conditions"),
    ("service, service: light.turn_on, target: {room: a}", "'handler->target->room'"),
    ("rest, url: 'ftp://a.b/'", "must begin with scheme"),
    ("rest, url: 'https://a.b{{ 1 }}/'", "must begin with scheme"),
    ("rest, url: 'https://u:p@a.b/'", "write them under auth"),
    ("rest, url: 'https://a.b/../c'", "no . or .."),
    ("rest, url: 'https://a.b:99999/'", "not an address"),
    ("rest, url: 'https://a.b/{% if 1 %}'", "only closed {{ }} templates"),
    ("rest, url: 'https://a.b', json: {a: 1}", "cannot be sent with this method"),
    ("rest, method: POST, url: 'https://a.b', json: {}, form: {a: 1}", "exclude each other"),
    ("rest, url: 'https://a.b', method: FETCH", "one of ['DELETE', 'GET'"),
    ("rest, url: 'https://a.b', timeout: 0", "at least 1 for dictionary value 'handler->timeout'"),
    ("rest, url: 'https://a.b', headers: {Host: c}", "'handler->headers->Host'"),
    ("rest, url: 'https://a.b', auth: {type: key}", "one of ['basic', 'bearer', 'oauth2']"),
    ("rest, url: 'https://a.b', auth: {type: bearer}", "required key 'token' not provided"),
    ("rest, url: 'https://a.b', response: {path: 'a..b'}", "not a path such as"),
    ("rest, url: 'https://a.b', response: {path: a, template: b}", "exclude each other"),
]

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates()
WORDS = st.sampled_from(
    [
        *("name", "description", "parameters", "handler", "type", "url", "properties", "rest", "service"),
        *("template", "value_template", "{{ 1 }}", "{{", "https://a.b/{{ x }}", "object", "auth", "json"),
        *("headers", "target", "data", "action", "light.turn_on", "response", "path", "x", "required"),
    ]
)
TREES = st.recursive(
    LEAVES | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | LEAVES, inner, max_size=6),
    max_leaves=25,
)


class TestReading:
    """What stands in the YAML."""

    async def test_a_tool_reaches_the_model_as_it_was_written(self, own: OwnTools) -> None:
        said = await own.offer(ADD)
        assert said == {"tools": ["add"], "problems": 0}
        own.agent.server.script([tool_calls([("add", {"a": 2, "b": 3})]), text("Five.")])
        assert speech(await own.agent.say("Add two and three")) == "Five."
        first, second = own.agent.server.chats
        function = next(t["function"] for t in first.json["tools"] if t["function"]["name"] == "add")
        assert function == {
            "name": "add",
            "description": "Add two numbers.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "number", "description": "The first one"},
                    "b": {"type": "integer", "minimum": 0, "maximum": 9},
                },
                "required": ["a"],
            },
        }
        assert '"result":5' in second.messages[-1]["content"].replace(" ", "")

    @pytest.mark.parametrize("key", ["custom_tools", "tools_custom"])
    async def test_tools_are_there_from_the_start(
        self, hass: HomeAssistant, model_server: ModelServer, key: str
    ) -> None:
        handler = {"type": "template", "value_template": "{{ 1 + 1 }}"}
        config = {DOMAIN: {key: [{"name": "two", "description": "Two.", "handler": handler}]}}
        assert await async_setup_component(hass, "homeassistant", {})
        assert await async_setup_component(hass, DOMAIN, config)
        await async_add_agent(hass, model_server)
        assert (await async_use(hass, "two"))["result"] == 2

    async def test_a_wrong_tool_stops_neither_the_others_nor_the_agent(self, own: OwnTools) -> None:
        tools = f"""{ADD}
- name: bus
  description: Bus times.
  handler:
    type: rest
    methd: GET
    url: "https://{{{{ host }}}}/times"
"""
        assert await own.offer(tools) == {"tools": ["add"], "problems": 1}
        problems = reported(own.agent.hass)["bus"]
        assert "configuration.yaml, line 20: must begin with scheme, host and / as plain text" in problems
        assert "line 19: 'methd' is an invalid option for 'home_agent' (did you mean 'method'?)" in problems
        assert "check: handler->methd" in problems
        assert (await own.use("add", a=1))["result"] == 2

    async def test_problems(self, own: OwnTools) -> None:
        """Each says what is wrong and where, in Home Assistant's words."""
        start = "- Invalid config for 'home_agent' at configuration.yaml, line "
        for tool, problem in (
            *WRONG_TOOLS,
            *(
                (f"name: x\ndescription: X\nhandler: {{type: {handler}}}", problem)
                for handler, problem in WRONG_HANDLERS
            ),
        ):
            said = await own.offer(f"{ADD}{indent(tool, '  ').replace('  ', '- ', 1)}")
            assert said == {"tools": ["add"], "problems": 1}, tool
            (problems,) = reported(own.agent.hass).values()
            assert problem in problems
            assert all(line.startswith(start) for line in every(problems.splitlines()))
        await own.offer(ADD)
        assert not reported(own.agent.hass), "an issue goes when the tool is right"

    async def test_secrets_are_in_no_issue(self, own: OwnTools, caplog: pytest.LogCaptureFixture) -> None:
        tools = """
            - name: x
              description: X
              handler: {type: !secret key, url: !secret key, headers: !secret key}
            - name: y
              description: Y
              handler:
                type: rest
                url: !secret key
                method: !secret key
                headers: !secret key
                timeout: !secret key
                verify_ssl: !secret key
                auth: {type: !secret key}
                response: {format: !secret key, path: !secret key}
            - name: z
              description: Z
              parameters: !secret key
              handler: {type: service, action: !secret key, target: !secret key, data: !secret key}
            - !secret key
        """
        await own.offer(tools, "key: sesame-4711")
        assert len(reported(own.agent.hass)) == 4
        assert "sesame" not in str(ir.async_get(own.agent.hass).issues)
        assert "sesame" not in caplog.text

    @settings(
        suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=many(300), deadline=None
    )
    @given(tree=TREES | st.fixed_dictionaries({"custom_tools": st.lists(TREES, max_size=3)}))
    async def test_no_yaml_breaks_it(
        self, hass: HomeAssistant, caplog: pytest.LogCaptureFixture, tree: Any
    ) -> None:
        """Nothing raises, nothing unforeseen is logged, and nothing is called."""
        caplog.clear()
        tools = await async_load_custom_tools(hass, {DOMAIN: tree})
        assert len(tools.recipes) <= 3
        assert not [record for record in caplog.records if record.levelname == "ERROR"]


class TestReload:
    """Without a restart."""

    async def test_turns_under_way_keep_their_tools(self, own: OwnTools) -> None:
        await own.offer(ADD)
        own.agent.server.script([tool_calls([("add", {"a": 1})], delay=0.3)])
        own.agent.server.default = text("Two.")
        turn = own.agent.hass.async_create_task(own.agent.say("Add one"))
        await own.agent.server.arrived(1)
        await async_write(own.agent.hass, own.folder, "")
        assert await async_reload(own.agent.hass) == {"tools": [], "problems": 0}
        assert speech(await turn) == "Two."
        assert (await own.agent.say("And now?")).conversation_id
        names = [tool["function"]["name"] for tool in own.agent.server.chats[-1].json["tools"]]
        assert "add" not in names

    async def test_only_administrators_reload(self, own: OwnTools, hass_read_only_user: MockUser) -> None:
        await async_write(own.agent.hass, own.folder, ADD)
        with pytest.raises(Unauthorized):
            await async_reload(own.agent.hass, context=Context(user_id=hass_read_only_user.id))


class TestArguments:
    """Checked against the schema before anything runs, like those of all tools."""

    async def test_entities_that_are_not_exposed_do_not_exist(self, own: OwnTools) -> None:
        tools = """
            - name: look
              description: Look.
              parameters: {properties: {entity: {type: string}}}
              handler: {type: template, value_template: "{{ states(entity) }}"}
        """
        await own.offer(tools)
        assert (await own.use("look", entity=LIGHT))["result"] == "off"
        said = await own.use("look", entity="lock.cellar_door")
        assert said["error"] == "An entity does not exist or is not exposed to the assistant"

    async def test_a_template_that_fails_shows_nothing_of_itself(self, own: OwnTools) -> None:
        tools = """
            - name: broken
              description: Broken.
              parameters: {properties: {a: {type: string}}}
              handler: {type: template, value_template: "key-4711 {{ a | int }}"}
        """
        await own.offer(tools)
        errors = async_capture_events(own.agent.hass, EVENT_ERROR)
        said = await own.use("broken", a="b")
        (told,) = [event.data for event in errors]
        assert (told["component"], told["context"]) == ("custom_tools", {"tool": "broken"})
        assert told["error_message"] == "the tool broken failed"
        assert said["error"].startswith("The template of handler.value_template failed: ")
        assert "4711" not in said["error"]


class TestService:
    """The handler that calls one action."""

    async def test_it_acts_and_says_what_shows(self, own: OwnTools) -> None:
        tools = """
            - name: dim
              description: Dim lights of a room.
              parameters:
                properties: {room: {type: string}, level: {type: integer}}
                required: [room]
              handler:
                type: service
                action: light.turn_on
                target: {area_id: "{{ room }}"}
                data: {brightness_pct: "{{ level }}"}
        """
        await own.offer(tools)
        said = await own.use("dim", room="Kitchen", level=40)
        assert said["result"]["called"] == "light.turn_on"
        assert said["result"]["states"] == {LIGHT: "on", "light.kitchen_counter": "on"}
        assert own.agent.hass.states.get(LIGHT).attributes["brightness"] == 102
        said = await own.use("dim", room="Bedroom")
        assert set(said["result"]["states"]) == {"light.bed_light"}
        assert "There is no Attic" in (await own.use("dim", room="Attic"))["error"]

    async def test_targets_pass_the_guard(self, own: OwnTools, hass_admin_user: MockUser) -> None:
        tools = """
            - name: switch_on
              description: Switch on.
              parameters: {properties: {what: {type: string}, with: {type: string}}}
              handler:
                type: service
                service: light.turn_on
                data: {entity_id: "{{ what }}", profile: "{{ with }}"}
            - name: open_up
              description: Open a door.
              parameters: {properties: {door: {type: string}}}
              handler: {type: service, service: lock.unlock, target: {entity_id: "lock.{{ door }}"}}
        """
        calls = async_mock_service(own.agent.hass, "lock", "unlock")
        await own.offer(tools)
        for target in ("light.secret_light", "all", "light.none", "none"):
            assert " exposed" in (await own.use("switch_on", what=target))["error"]
        assert "not exposed" in (await own.use("open_up", door="cellar_door"))["error"]
        said = await own.use("open_up", door="front_door")
        assert "waits for the person's confirmation" in said["error"]
        assert not calls
        await async_confirm(own.agent.hass, said, hass_admin_user)
        assert [call.data for call in calls] == [{"entity_id": ["lock.front_door"]}]

    async def test_entities_in_the_data_are_read_as_home_assistant_reads_them(
        self, own: OwnTools, hass_read_only_user: MockUser
    ) -> None:
        """Spaces, commas, capitals, lists, ids of the registry, addresses: a hidden entity stays hidden."""
        tools = """
            - name: say
              description: Say it.
              parameters:
                properties: {player: {}, where: {type: string}, device: {type: string}}
              handler:
                type: service
                action: tts.speak
                data:
                  media_player_entity_id: "{{ player | default('light.bed_light') }}"
                  options: {area_id: "{{ where | default('bedroom') }}", link: "{{ device | default('') }}"}
        """
        said = async_mock_service(own.agent.hass, "tts", "speak")
        await own.offer(tools)
        entry = er.async_get(own.agent.hass).async_get_or_create("lock", "test", "deep_inside")
        own.agent.hass.states.async_set(entry.entity_id, "locked")
        async_expose_entity(own.agent.hass, "conversation", entry.entity_id, False)
        ar.async_get(own.agent.hass).async_create("Empty room")
        for player in (
            "light.secret_light",
            " light.secret_light ",
            "LIGHT.Secret_Light",
            "light.bed_light,light.secret_light",
            "light.bed_light , light.secret_light",
            ["light.bed_light", "light.secret_light "],
            "['light.bed_light', 'light.secret_light']",
            {"one": {"light.secret_light": "on"}},
            "media-source://camera/light.secret_light",
            "/api/camera_proxy/light.secret_light?width=5",
            entry.id,
            f" {entry.id.upper()}",
        ):
            assert "not exposed" in (await own.use("say", player=player))["error"], player
        assert "exposed" in (await own.use("say", where="empty_room"))["error"]
        assert "exposed" in (await own.use("say", where="nowhere"))["error"]
        assert said == []
        assert (await own.use("say", player=" LIGHT.bed_light"))["success"]
        assert len(said) == 1
        answer = await call_action(
            own.agent.hass,
            "execute_tool",
            {"tool_name": "say", "parameters": {"player": "light.bed_light "}},
            Context(user_id=hass_read_only_user.id),
        )
        assert "may not control" in answer["error"]
        assert len(said) == 1

    async def test_an_action_of_its_own_is_vetted_for_this_tool_alone(
        self, own: OwnTools, hass_admin_user: MockUser
    ) -> None:
        tools = """
            - name: tell
              description: Tell the family.
              parameters: {properties: {message: {type: string}, count: {type: integer}}}
              handler:
                type: service
                action: notify.family
                data: {message: "{{ message }}", title: "{{ count }}", data: {ttl: 0}}
            - name: say
              description: Say it.
              parameters: {properties: {player: {type: string}}}
              handler:
                type: service
                action: tts.speak
                data: {media_player_entity_id: "{{ player }}", message: "Hi"}
        """
        told = async_mock_service(own.agent.hass, "notify", "family")
        said = async_mock_service(own.agent.hass, "tts", "speak")
        await own.offer(tools)
        assert (await own.use("tell", message="007", count=3))["success"]
        assert told[0].data == {"message": "007", "title": 3, "data": {"ttl": 0}}
        assert not (await own.use("say", player="light.secret_light"))["success"]
        assert not said
        await own.agent.set_options(policy_restricted=["notify.family"])
        answer = await own.use("tell", message="Hello")
        await async_confirm(own.agent.hass, answer, hass_admin_user)
        assert told[1].data["message"] == "Hello"
        for option in ({"policy_blocked": ["notify"]}, {"policy_blocked": ["tool:tell"]}):
            await own.agent.set_options(policy_restricted=[], **option)
            assert not (await own.use("tell", message="No"))["success"]
        assert len(told) == 2

    async def test_a_confirmed_call_of_a_tool_that_is_gone_does_not_run(
        self, own: OwnTools, hass_admin_user: MockUser
    ) -> None:
        tools = """
            - name: tell
              description: Tell the family.
              handler: {type: service, action: notify.family, data: {message: Hi}}
        """
        told = async_mock_service(own.agent.hass, "notify", "family")
        await own.agent.set_options(policy_restricted=["tool:tell"])
        await own.offer(tools)
        answer = await own.use("tell")
        await own.offer("")
        with pytest.raises(HomeAssistantError):
            await async_confirm(own.agent.hass, answer, hass_admin_user)
        assert not told
