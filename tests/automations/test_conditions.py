"""Each condition of the automation editor lets an automation run, or not."""

from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.home_agent.condition import CONDITIONS
from custom_components.home_agent.const import DOMAIN
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.automations import as_user, async_automate, async_household, is_enabled
from tests.helpers.everyday_house import NOW, async_pass
from tests.helpers.timers import call
from tests.servers.model_server import ModelServer
from tests.servers.replies import reset, tool_calls

pytestmark = pytest.mark.freeze_time(NOW)

UNLOCK = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
ASK = {"trigger": "event", "event_type": "ask"}


@pytest.fixture
def hass_config_dir(tmp_path: Path) -> str:
    """Keep the stores of one test from those of others."""
    return str(tmp_path)


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer, hass_admin_user: MockUser) -> Agent:
    """Return an agent in a house where the administrator is Anna."""
    return await async_household(hass, model_server, hass_admin_user)


class Asker:
    """An automation with one condition, which is tested when asked."""

    def __init__(self, hass: HomeAssistant, seen: list[Any]) -> None:
        self._hass = hass
        self._seen = seen

    async def holds(self) -> bool:
        """Return whether the condition lets the automation run."""
        before = len(self._seen)
        self._hass.bus.async_fire("ask")
        await self._hass.async_block_till_done()
        return len(self._seen) > before


async def asking(hass: HomeAssistant, condition: str, **options: Any) -> Asker:
    """Set up an automation with a condition."""
    config = {"condition": f"home_agent.{condition}", **({"options": options} if options else {})}
    return Asker(hass, await async_automate(hass, ASK, config))


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, True), ({"person": ["person.anna"]}, True), ({"person": "person.ben"}, False)],
)
async def test_confirmation_pending(
    hass: HomeAssistant,
    agent: Agent,
    hass_admin_user: MockUser,
    options: dict[str, Any],
    expected: bool,
) -> None:
    """It is true until somebody answers."""
    asker = await asking(hass, "is_confirmation_pending", **options)
    assert not await asker.holds()
    agent.server.script([tool_calls([UNLOCK])])
    asked = await agent.say("Unlock the front door", context=as_user(hass_admin_user))
    assert await asker.holds() is expected
    await agent.say("No", conversation_id=asked.conversation_id, context=as_user(hass_admin_user))
    assert not await asker.holds()


async def test_timer_running(
    hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser, freezer: FrozenDateTimeFactory
) -> None:
    asker = await asking(hass, "is_timer_running")
    assert not await asker.holds()
    await call(agent, action="set", when="5 min", context=as_user(hass_admin_user))
    assert await asker.holds()
    await async_pass(hass, freezer, 301)
    assert not await asker.holds()


async def test_timer_of_another_person(hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser) -> None:
    asker = await asking(hass, "is_timer_running", person=["person.ben"])
    await call(agent, action="set", when="5 min", context=as_user(hass_admin_user))
    assert not await asker.holds()


async def test_repeated_reminder_is_not_running(
    hass: HomeAssistant, agent: Agent, hass_admin_user: MockUser
) -> None:
    """Otherwise the condition would be true for ever."""
    asker = await asking(hass, "is_timer_running")
    said = "Remind me every day at 18:30 of the plants"
    told = await call(
        agent,
        said,
        action="set",
        when="18:30",
        name="plants",
        repeat="daily",
        context=as_user(hass_admin_user),
    )
    assert told["success"]
    assert not await asker.holds()


async def test_server_reachable(hass: HomeAssistant, agent: Agent) -> None:
    asker = await asking(hass, "is_server_reachable", config_entry_id=agent.entry.entry_id)
    assert await asker.holds()
    agent.server.on(lambda _request: True, reset())
    await agent.say("Tell me a story", context=Context())
    await hass.async_block_till_done(wait_background_tasks=True)
    assert not await asker.holds()


async def test_agent_that_is_not_loaded(hass: HomeAssistant, agent: Agent) -> None:
    """Its server counts as unreachable, and nothing of it is pending."""
    asker = await asking(hass, "is_server_reachable")
    assert await hass.config_entries.async_unload(agent.entry.entry_id)
    assert not await asker.holds()


async def test_unknown_agent_is_refused(hass: HomeAssistant, agent: Agent) -> None:
    await asking(hass, "is_server_reachable", config_entry_id="gone")
    assert not is_enabled(hass)


async def test_the_editor_offers_them(
    hass: HomeAssistant, agent: Agent, hass_ws_client: WebSocketGenerator
) -> None:
    """The editor learns of all conditions and their fields."""
    client = await hass_ws_client()
    await client.send_json_auto_id({"type": "condition_platforms/subscribe"})
    assert (await client.receive_json())["success"]
    offered = (await client.receive_json())["event"]
    ours = {key: value for key, value in offered.items() if key.startswith(f"{DOMAIN}.")}
    assert set(ours) == {f"{DOMAIN}.{name}" for name in CONDITIONS}
    for name, condition in CONDITIONS.items():
        taken = {str(key) for key in condition.schema.schema["options"]}
        assert set(ours[f"{DOMAIN}.{name}"]["fields"]) == taken, name
