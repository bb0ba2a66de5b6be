"""What we rely on in Home Assistant: one test for each contract, named by what broke when it fails."""

import asyncio
from collections.abc import AsyncIterator
import dataclasses
import inspect
from typing import Any, override

import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.agent.turn import GuardedAPIInstance
from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.runtime import DATA_SHARED
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components import conversation
from homeassistant.components.homeassistant import exposed_entities
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity, async_should_expose
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from homeassistant.helpers import intent, llm, selector
from homeassistant.helpers.translation import async_get_cached_translations, async_get_translations
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent
from tests.helpers.household import async_furnish
from tests.helpers.listening import LONG, Listener, open_session

AGENT = "conversation.probe"
LIGHT = "light.kitchen_ceiling"


class Waiting(llm.APIInstance):
    """Tools that run until they are released."""

    def __init__(self) -> None:
        super().__init__(api=None, api_prompt="", llm_context=None, tools=[])
        self.called: list[str] = []
        self.started, self.release = asyncio.Event(), asyncio.Event()

    @override
    async def async_call_tool(self, tool_input: llm.ToolInput) -> llm.ToolResult:
        """Note the call and wait."""
        self.called.append(tool_input.id)
        self.started.set()
        async with asyncio.timeout(LONG):
            await self.release.wait()
        return llm.ToolResult(data={"id": tool_input.id})


def user_input(text: str, **options: Any) -> conversation.ConversationInput:
    """Return a sentence."""
    given = {
        "context": Context(),
        "conversation_id": None,
        "device_id": None,
        "satellite_id": None,
        **options,
    }
    return conversation.ConversationInput(text=text, language="en", agent_id=AGENT, **given)


async def add_deltas(chat_log: conversation.ChatLog, *deltas: Any) -> list[conversation.Content]:
    """Let deltas into a chat log and return what was added."""

    async def stream() -> AsyncIterator[Any]:
        for delta in deltas:
            if callable(delta):
                await delta()
            else:
                yield delta

    return [content async for content in chat_log.async_add_delta_content_stream(AGENT, stream())]


class TestChatLog:
    """conversation.ChatLog."""

    @pytest.fixture
    def chat_log(self, hass: HomeAssistant) -> conversation.ChatLog:
        return conversation.ChatLog(hass, "a conversation")

    async def test_a_tool_starts_when_its_delta_arrives(self, chat_log: conversation.ChatLog) -> None:
        tools = chat_log.llm_api = Waiting()
        call = llm.ToolInput(id="1", tool_name="probe", tool_args={})

        async def later() -> None:
            async with asyncio.timeout(LONG):
                await tools.started.wait()
            tools.release.set()

        await add_deltas(chat_log, {"role": "assistant"}, {"tool_calls": [call]}, later, {"content": "Done"})
        assert tools.called == ["1"]

    async def test_results_follow_in_the_order_of_the_calls(self, chat_log: conversation.ChatLog) -> None:
        tools = chat_log.llm_api = Waiting()
        tools.release.set()
        calls = [llm.ToolInput(id=name, tool_name="probe", tool_args={}) for name in "abc"]
        added = await add_deltas(chat_log, {"role": "assistant"}, *({"tool_calls": [call]} for call in calls))
        results = [content for content in added if isinstance(content, conversation.ToolResultContent)]
        assert [result.tool_call_id for result in results] == ["a", "b", "c"]
        assert results[0].result.data == {"id": "a"}
        assert chat_log.unresponded_tool_results

    async def test_an_empty_thought_reaches_the_listener_and_nothing_else(
        self, chat_log: conversation.ChatLog
    ) -> None:
        """The sign of life that keeps a satellite awake."""
        listener = chat_log.delta_listener = Listener()
        await add_deltas(chat_log, {"role": "assistant"}, {"thinking_content": ""}, {"content": "Hello"})
        assert listener.deltas[1] == {"thinking_content": ""}
        last = chat_log.content[-1]
        assert (last.content, last.thinking_content) == ("Hello", None)

    def test_the_system_prompt_stands_first_and_can_be_replaced(self, chat_log: conversation.ChatLog) -> None:
        assert isinstance(chat_log.content[0], conversation.SystemContent)
        chat_log.content[0] = conversation.SystemContent(content="Rules")
        assert chat_log.as_dict()["content"][0]["content"] == "Rules"

    def test_contents_know_when_they_came(self, chat_log: conversation.ChatLog) -> None:
        """What was cleared is told from what came later by it."""
        chat_log.async_add_user_content(conversation.UserContent(content="Hello"))
        assert chat_log.content[-1].created >= chat_log.created

    async def test_the_index_decides_which_results_count(self, chat_log: conversation.ChatLog) -> None:
        """The response of an intent tool of this turn becomes the result; one of an earlier turn does not."""
        old = intent.IntentResponse(language="en")
        data = llm.IntentResponseDict(old)
        chat_log.async_add_assistant_content_without_tools(
            conversation.ToolResultContent(
                agent_id=AGENT, tool_call_id="1", tool_name="x", result=llm.ToolResult(data=data)
            )
        )
        chat_log.async_add_assistant_content_without_tools(
            conversation.AssistantContent(agent_id=AGENT, content="Is it?")
        )
        result = conversation.async_get_result_from_chat_log(user_input("Hello"), chat_log)
        assert result.response is old
        chat_log.llm_input_provided_index = len(chat_log.content)
        result = conversation.async_get_result_from_chat_log(user_input("Hello"), chat_log)
        assert result.response is not old
        assert result.response.speech["plain"]["speech"] == "Is it?"
        assert result.conversation_id == "a conversation"

    def test_a_result_needs_words_at_the_end(self, chat_log: conversation.ChatLog) -> None:
        chat_log.async_add_user_content(conversation.UserContent(content="Hello"))
        with pytest.raises(HomeAssistantError):
            conversation.async_get_result_from_chat_log(user_input("Hello"), chat_log)

    async def test_the_listener_is_handed_over_with_the_log(self, hass: HomeAssistant) -> None:
        """As the voice pipeline does it: whoever opens the log inside gets the same one."""
        listener = Listener()
        with (
            open_session(hass, "kitchen") as session,
            conversation.async_get_chat_log(hass, session, chat_log_delta_listener=listener) as outer,
            conversation.async_get_chat_log(hass, session, user_input("Hello")) as inner,
        ):
            assert inner is outer
            assert inner.delta_listener is listener
            assert inner.content[-1].content == "Hello"
            await add_deltas(inner, {"role": "assistant", "content": "Hi"})


class TestTools:
    """helpers.llm."""

    def test_the_instance_we_derive_from(self) -> None:
        names = [field.name for field in dataclasses.fields(llm.APIInstance)]
        assert names == ["api", "api_prompt", "llm_context", "tools", "custom_serializer"]
        ours = inspect.signature(GuardedAPIInstance.async_call_tool).parameters
        theirs = inspect.signature(llm.APIInstance.async_call_tool).parameters
        assert list(ours) == list(theirs) == ["self", "tool_input"]

    def test_selectors_and_descriptions_become_schemas(self) -> None:
        schema = probatio.Schema(
            {
                probatio.Required("name", description="who"): str,
                probatio.Optional("level"): selector.NumberSelector({"min": 0, "max": 9}),
            }
        )
        made = probatio.to_openapi(schema, custom_serializer=llm.selector_serializer, openapi_version="3.1.0")
        assert made["required"] == ["name"]
        assert made["properties"]["name"] == {"type": "string", "description": "who"}
        assert made["properties"]["level"]["type"] == "number"

    def test_all_problems_of_arguments_are_told(self) -> None:
        schema = probatio.Schema({probatio.Required("a"): int, probatio.Required("b"): int})
        with pytest.raises(probatio.MultipleInvalid) as error:
            schema({"a": "x"})
        assert {str(problem.path[-1]) for problem in error.value.errors} == {"a", "b"}

    def test_a_tool_that_declares_nothing_may_do_anything(self) -> None:
        """We trust what a tool of another integration declares, so silence has to mean the least safe."""
        assert dataclasses.asdict(llm.Tool.annotations) == {
            "read_only": False,
            "destructive": True,
            "idempotent": False,
            "open_world": True,
        }

    async def test_tools_of_home_assistant_are_named_after_their_integration(
        self, hass: HomeAssistant, agent: Agent
    ) -> None:
        """They are recognised by the part behind the prefix, and told from ours by having one."""
        context = llm.LLMContext(DOMAIN, Context(), "en", conversation.DOMAIN, None)
        offered = (await llm.async_get_api(hass, llm.LLM_API_ASSIST, context)).tools
        names = {tool.name for tool in offered}
        assert "intent__HassTurnOn" in names
        assert all("__" in name for name in names)
        assert not any("__" in name for name in agent.entry.runtime_data.handler.tools)


class TestOwnSentences:
    """conversation.async_handle_intents."""

    @pytest.fixture
    async def home(self, hass: HomeAssistant) -> HomeAssistant:
        await async_furnish(hass)
        assert await async_setup_component(hass, "conversation", {})
        return hass

    async def handle(self, hass: HomeAssistant, text: str, **options: Any) -> Any:
        chat_log = conversation.ChatLog(hass, "a conversation")
        sentence = user_input(text)
        chat_log.async_add_user_content(conversation.UserContent(content=text))
        return await conversation.async_handle_intents(hass, sentence, chat_log, **options)

    async def test_the_filter_is_asked_first_and_true_means_no(self, home: HomeAssistant) -> None:
        """It sees the name of the intent and the slots, and nothing is called when it says no."""
        seen = []

        def refuse(result: Any) -> bool:
            seen.append((result.intent.name, {item.name: item.value for item in result.entities_list}))
            return True

        assert await self.handle(home, "turn on kitchen ceiling", intent_filter=refuse) is None
        assert home.states.get(LIGHT).state == "off"
        assert ("HassTurnOn", "Kitchen Ceiling") in [(name, slots.get("name")) for name, slots in seen]

    async def test_false_lets_it_happen(self, home: HomeAssistant) -> None:
        response = await self.handle(home, "turn on kitchen ceiling", intent_filter=lambda _result: False)
        await home.async_block_till_done()
        assert home.states.get(LIGHT).state == "on"
        assert response.response_type is intent.IntentResponseType.ACTION_DONE
        assert response.speech["plain"]["speech"]

    async def test_handlers_say_what_they_would_call(self, home: HomeAssistant) -> None:
        handlers = {handler.intent_type: handler for handler in intent.async_get(home)}
        handler = handlers["HassTurnOn"]
        assert isinstance(handler, intent.DynamicServiceIntentHandler)
        assert hasattr(handler, "required_domains")
        asked = intent.Intent(
            home, "conversation", "HassTurnOn", {}, None, Context(), "en", assistant="conversation"
        )
        state = home.states.get(LIGHT)
        assert handler.get_domain_and_service(asked, state) == ("homeassistant", "turn_on")

    async def test_the_matcher_knows_exposure(self, home: HomeAssistant) -> None:
        for name, found in (("Kitchen Ceiling", [LIGHT]), ("Secret Light", [])):
            constraints = intent.MatchTargetsConstraints(name=name, assistant="conversation")
            preferences = intent.MatchTargetsPreferences(area_id=None, floor_id=None)
            result = intent.async_match_targets(home, constraints, preferences)
            assert [state.entity_id for state in result.states] == found


class TestTheHouse:
    """Exposure, places, services."""

    async def test_exposure_is_known_at_once(self, hass: HomeAssistant) -> None:
        assert await async_setup_component(hass, "homeassistant", {})
        hass.states.async_set("light.a", "on")
        changes = []
        unsubscribe = exposed_entities.async_listen_entity_updates(
            hass, "conversation", lambda: changes.append(True)
        )
        for exposed in (True, False):
            async_expose_entity(hass, "conversation", "light.a", exposed)
            assert async_should_expose(hass, "conversation", "light.a") is exposed
        assert len(changes) == 2
        unsubscribe()

    async def test_entity_services_check_the_user_of_the_context(self, hass: HomeAssistant) -> None:
        """Our own check stands before it; this one stands behind."""
        await async_furnish(hass)
        reader = MockUser(is_owner=False).add_to_hass(hass)
        reader.mock_policy({"entities": {"all": {POLICY_READ: True}}})
        with pytest.raises(Unauthorized):
            await hass.services.async_call(
                "light", "turn_on", {"entity_id": LIGHT}, blocking=True, context=Context(user_id=reader.id)
            )


class TestEntities:
    """Hooks of the entity platforms, and what an entry keeps."""

    async def test_an_unloaded_entry_has_no_runtime_data(self, hass: HomeAssistant, agent: Agent) -> None:
        """That is why entities keep their own; what all entries share stays."""
        await hass.config_entries.async_unload(agent.entry.entry_id)
        assert not hasattr(agent.entry, "runtime_data")
        assert DATA_SHARED in hass.data


@pytest.mark.parametrize("category", ["exceptions", "selector"])
async def test_translations_are_loaded_by_category(hass: HomeAssistant, agent: Agent, category: str) -> None:
    """Spoken sentences stand in both."""
    loaded = await async_get_translations(hass, "de", category, {"home_agent"})
    assert any(key.startswith(f"component.home_agent.{category}.") for key in loaded)
    assert async_get_cached_translations(hass, "de", category, "home_agent") == loaded
