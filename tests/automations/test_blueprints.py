"""Each blueprint is imported into a real Home Assistant and runs."""

from collections.abc import AsyncIterator
from pathlib import Path
import shutil
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from homeassistant.components.automation.config import AUTOMATION_BLUEPRINT_SCHEMA
from homeassistant.components.blueprint import models
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from homeassistant.util.yaml import load_yaml_dict
from tests.helpers.agent import Agent
from tests.helpers.automations import as_user, async_household, is_enabled
from tests.helpers.documents import ROOT, code, rows, section
from tests.helpers.everyday_house import NOW, Satellite, async_add_satellite, async_pass
from tests.helpers.phones import Phones, push_service
from tests.helpers.timers import call
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

pytestmark = pytest.mark.freeze_time(NOW)

SOURCE = ROOT / "blueprints" / "automation" / "home_agent"
FILES = sorted(path.name for path in SOURCE.glob("*.yaml"))
PHONE = "notify.pixel"
UNLOCK = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})


@pytest.fixture
def hass_config_dir(tmp_path: Path) -> str:
    """Import the blueprints into the configuration of this test."""
    shutil.copytree(SOURCE, tmp_path / "blueprints" / "automation" / "home_agent")
    return str(tmp_path)


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer, hass_admin_user: MockUser) -> Agent:
    """Return an agent in a house where the administrator is Anna."""
    return await async_household(hass, model_server, hass_admin_user)


@pytest.fixture
async def satellite(hass: HomeAssistant, agent: Agent) -> Satellite:
    """Put a satellite in the kitchen."""
    return await async_add_satellite(hass)


@pytest.fixture
async def phones(
    hass: HomeAssistant,
    satellite: Satellite,
    hass_client_no_auth: ClientSessionGenerator,
    hass_admin_user: MockUser,
) -> AsyncIterator[Phones]:
    """Give Anna a phone. The satellite comes first: it has pages that the server has to know at its start."""
    async with push_service(hass, hass_client_no_auth) as found:
        await found.async_register("pixel", hass_admin_user)
        yield found


async def use(hass: HomeAssistant, name: str, **inputs: Any) -> None:
    """Make an automation of a blueprint."""
    config = {
        "id": "watch",
        "alias": "Watch",
        "use_blueprint": {"path": f"home_agent/{name}.yaml", "input": inputs},
    }
    assert await async_setup_component(hass, "automation", {"automation": [config]})
    await hass.async_block_till_done()
    assert is_enabled(hass)


def pushed(phones: Phones) -> list[str]:
    """Return the messages that reached the phone."""
    return [push["message"] for push in phones.of("pixel")]


@pytest.mark.parametrize("name", FILES)
async def test_valid(hass: HomeAssistant, name: str) -> None:
    """Home Assistant accepts it, and it names where it comes from."""
    data = await hass.async_add_executor_job(load_yaml_dict, str(SOURCE / name))
    blueprint = models.Blueprint(
        data, expected_domain="automation", path=name, schema=AUTOMATION_BLUEPRINT_SCHEMA
    )
    assert blueprint.validate() is None
    assert blueprint.metadata["source_url"].endswith(f"/blueprints/automation/home_agent/{name}")
    assert all(given["name"] and given["selector"] for given in blueprint.inputs.values())


def test_documented() -> None:
    written = section("docs/automations.md", "Blueprints")
    assert sorted(code(cells[0])[0] for cells in rows(written, 2)) == FILES


async def test_pending_confirmation(
    hass: HomeAssistant, agent: Agent, phones: Phones, hass_admin_user: MockUser
) -> None:
    """The phone gets the question, and once more if it is still pending."""
    await use(hass, "pending_confirmation", recipients=[PHONE], remind_after={"seconds": 0})
    agent.server.script([tool_calls([UNLOCK])])
    await agent.say("Unlock the front door", context=as_user(hass_admin_user))
    assert pushed(phones) == ["Should I unlock the Front Door?"] * 2


async def test_answered_confirmation(
    hass: HomeAssistant, agent: Agent, phones: Phones, hass_admin_user: MockUser
) -> None:
    """After an answer there is no reminder."""
    inputs = {"recipients": [PHONE], "people": ["person.anna"], "remind_after": {"seconds": 0}}
    await use(hass, "pending_confirmation", **inputs)
    confirmations = agent.entry.runtime_data.confirmations

    async def reject() -> None:
        (action,) = confirmations.pending
        await confirmations.async_reject(action.id, user=hass_admin_user)

    phones.on_push = reject
    agent.server.script([tool_calls([UNLOCK])])
    await agent.say("Unlock the front door", context=as_user(hass_admin_user))
    assert pushed(phones) == ["Should I unlock the Front Door?"]


async def test_evening_summary(
    hass: HomeAssistant, agent: Agent, phones: Phones, satellite: Satellite, freezer: FrozenDateTimeFactory
) -> None:
    """The model is asked at that time, and its answer is sent and announced without markup."""
    inputs = {"time": "10:30:00", "recipients": [PHONE], "satellites": [satellite.entity_id]}
    await use(hass, "evening_summary", **inputs)
    agent.server.default = text("**All is closed.** It is 19 degrees in the bedroom.")
    await async_pass(hass, freezer, 1801)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)
    asked = [chat for chat in agent.server.chats if "before I go to bed" in str(chat.messages[-1])]
    assert len(asked) == 1
    assert pushed(phones) == ["All is closed. It is 19 degrees in the bedroom."] == satellite.said


async def test_announce_timer(
    hass: HomeAssistant, agent: Agent, phones: Phones, satellite: Satellite, freezer: FrozenDateTimeFactory
) -> None:
    """The phone gets it, and the device where it was set speaks once."""
    await use(hass, "announce_timer", recipients=[PHONE], satellites=[satellite.entity_id])
    await call(agent, action="set", when="5 min", name="Tea", device_id=satellite.device)
    await async_pass(hass, freezer, 301)
    assert satellite.said == ["It is time: Tea."]
    assert pushed(phones) == ["Tea: the time is up."]


async def test_announce_timer_elsewhere(
    hass: HomeAssistant,
    agent: Agent,
    satellite: Satellite,
    hass_admin_user: MockUser,
    freezer: FrozenDateTimeFactory,
) -> None:
    """A timer of the chat is announced in the kitchen."""
    await use(hass, "announce_timer", satellites=[satellite.entity_id], people="person.anna")
    await call(agent, action="set", when="5 min", context=as_user(hass_admin_user))
    await async_pass(hass, freezer, 301)
    assert satellite.said == ["The timer: the time is up."]
