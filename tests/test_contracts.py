"""What we rely on in Home Assistant: one test for each contract, named by what broke when it fails."""

import dataclasses
import inspect
from typing import Any

import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.agent.turn import GuardedAPIInstance
from custom_components.home_agent.const import DOMAIN
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components import conversation
from homeassistant.components.homeassistant import exposed_entities
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity, async_should_expose
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import Unauthorized
from homeassistant.helpers import intent, llm, selector
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent
from tests.helpers.household import async_furnish

AGENT = "conversation.probe"
LIGHT = "light.kitchen_ceiling"


def user_input(text: str, **options: Any) -> conversation.ConversationInput:
    given = {
        "context": Context(),
        "conversation_id": None,
        "device_id": None,
        "satellite_id": None,
        **options,
    }
    return conversation.ConversationInput(text=text, language="en", agent_id=AGENT, **given)


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
