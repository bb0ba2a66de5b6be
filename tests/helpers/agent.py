"""An agent set up on a real `hass` against a scripted model server."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.const import DOMAIN, MINOR_VERSION
from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
from tests.helpers.household import async_furnish
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

MODEL_SPEAKS = {"quick_confirmations": False}
"""Most tests look at what a model reads of its calls and says about them, also after a plain command."""
TURN = ("context", "conversation_id", "device_id", "language")
IDLE_SECONDS = 60
"""The silence after which work begins that waits for it; conftest.py sees to it."""


@dataclass(slots=True)
class Agent:
    """A loaded agent and the server behind it."""

    hass: HomeAssistant
    entry: MockConfigEntry
    server: ModelServer
    device_id: str | None = None
    """The satellite that is spoken to. Without it and without a user the sentence is an automation's."""

    def at_satellite(self) -> Agent:
        """Return the agent as a person speaks to it who is not known."""
        return replace(self, device_id="satellite")

    @property
    def entity_id(self) -> str:
        found = er.async_get(self.hass).async_get_entity_id("conversation", DOMAIN, self.entry.entry_id)
        assert found is not None
        return found

    async def say(
        self, text: str, *, conversation_id: str | None = None, context: Context | None = None, **options: Any
    ) -> conversation.ConversationResult:
        if context is None and self.device_id:
            options = {"device_id": self.device_id, "satellite_id": "assist_satellite.hall", **options}
        result = await conversation.async_converse(
            self.hass,
            text,
            conversation_id,
            context or Context(),
            agent_id=self.entity_id,
            **{"language": "en", **options},
        )
        await self.hass.async_block_till_done()
        return result

    async def act(
        self, *calls: tuple[str, dict[str, Any]], sentence: str = "Do it", **turn: Any
    ) -> conversation.ConversationResult:
        """Say a sentence that a model answers with calls and then with a word; return the answer."""
        self.server.replies([tool_calls(calls), text("Okay.")])
        return await self.say(sentence, **turn)

    async def call(self, tool: str, sentence: str = "Do it", /, **args: Any) -> dict[str, Any]:
        """Say a sentence that a model answers with one call; return the result as the model reads it.

        What `say` takes is the turn's; everything else are arguments of the tool.
        """
        turn = {key: args.pop(key) for key in TURN if key in args}
        await self.act((tool, args), sentence=sentence, **turn)
        return self.results[-1]

    @property
    def results(self) -> list[dict[str, Any]]:
        return tool_results(self.server.chats[-1])

    async def set_options(self, **options: Any) -> None:
        """Change options and wait until the agent runs with them."""
        self.hass.config_entries.async_update_entry(self.entry, options={**self.entry.options, **options})
        await self.hass.async_block_till_done(wait_background_tasks=True)


def speech(result: conversation.ConversationResult) -> str:
    return str(result.response.speech["plain"]["speech"])


async def call_action(
    hass: HomeAssistant, action: str, data: Mapping[str, Any] | None = None, context: Context | None = None
) -> Any:
    return await hass.services.async_call(
        DOMAIN, action, dict(data or {}), blocking=True, context=context, return_response=True
    )


async def async_agent(
    hass: HomeAssistant, server: ModelServer, options: Mapping[str, Any] | None = None, **data: Any
) -> Agent:
    await async_furnish(hass)
    assert await async_setup_component(hass, "conversation", {})
    return await async_add_agent(hass, server, options, **data)


async def async_add_agent(
    hass: HomeAssistant, server: ModelServer, options: Mapping[str, Any] | None = None, **data: Any
) -> Agent:
    entry = MockConfigEntry(
        domain=DOMAIN,
        minor_version=MINOR_VERSION,
        title="Home Agent",
        data={"name": "Home Agent", "llm_base_url": server.url, "llm_model": "test-model", **data},
        options={**MODEL_SPEAKS, **(options or {})},
    )
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)  # the prompt is read ahead
    server.clear()
    return Agent(hass, entry, server)
