"""From a month of recorded life to an automation that runs, and to a no that lasts."""

from datetime import timedelta
from pathlib import Path

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events, async_fire_time_changed
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator
import yaml

from custom_components.home_agent import const
from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.memory.learner.patterns import EVERY_DAY
from custom_components.home_agent.runtime import DATA_SHARED
from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.learner_home import _database_first, home, the_learner, told  # noqa: F401 - fixtures
from tests.helpers.month import (
    ANNA,
    NOW,
    PUT_IN,
    TODAY,
    TOM,
    Month,
    Row,
    async_record,
    at,
    make_month,
)
from tests.helpers.phones import Phones, push_service
from tests.servers.model_server import ModelServer

pytestmark = pytest.mark.slow

DAY = timedelta(days=1)
COFFEE, CURTAINS = "switch.coffee_machine", "cover.bedroom_curtains"
CLOSED = "Bedroom Curtains is closed at about 22:00 every day."
BREWED = "Coffee Machine is turned on at about 6:30 on workdays."


@pytest.fixture
def hass_config_dir(tmp_path: Path) -> str:
    """Give every test files of its own, as Home Assistant is shipped."""
    (tmp_path / "configuration.yaml").write_text("automation: !include automations.yaml\n")
    (tmp_path / "automations.yaml").write_text("[]\n")
    return str(tmp_path)


class Days:
    """The days after the month, as they pass for an agent."""

    def __init__(self, agent: Agent, clock: FrozenDateTimeFactory, phones: Phones) -> None:
        self.agent = agent
        self.hass = agent.hass
        self.phones = phones
        self._clock = clock
        self._midnight = NOW.replace(hour=0, minute=0)

    async def until(self, hour: int, minute: int = 0, *, days: int = 0) -> None:
        """Let the clock move on."""
        self._midnight += days * DAY
        moment = self._midnight.replace(hour=hour, minute=minute)
        self._clock.move_to(moment)
        async_fire_time_changed(self.hass, moment)
        await self.hass.async_block_till_done(wait_background_tasks=True)

    async def pass_one(self) -> None:
        """Let a night pass in which is learned, and a morning on which is suggested."""
        await self.until(4, 30, days=1)
        await self.until(7)

    async def suggested(self) -> dict[str, str]:
        """Return what became of all suggestions, by what they say."""
        found = await self.hass.services.async_call(
            DOMAIN, "list_suggestions", {}, blocking=True, return_response=True
        )
        assert found
        return {item["summary"]: item["state"] for item in found["suggestions"]}  # type: ignore[index, union-attr]

    async def press(self, title: str) -> None:
        """Press a button of the newest notification on Anna's phone that has it."""
        shown = [push for push in self.phones.of("anna") if push.get("data", {}).get("actions")]
        actions = {button["title"]: button["action"] for button in shown[-1]["data"]["actions"]}
        await self.phones.async_press("anna", actions[title])
        await self.hass.async_block_till_done(wait_background_tasks=True)

    async def restart(self) -> None:
        """Have only what was written left."""
        shared = self.hass.data[DATA_SHARED]
        assert await self.hass.config_entries.async_unload(self.agent.entry.entry_id)
        for store in (shared.proactive, shared.observations, shared.memories):
            await store.async_flush()
            store._entries.clear()
            await store.async_load()
        assert await self.hass.config_entries.async_setup(self.agent.entry.entry_id)
        await self.hass.async_block_till_done(wait_background_tasks=True)

    def messages(self, name: str) -> str:
        """Return all that a phone showed."""
        return "\n".join(push["message"] for push in self.phones.of(name))


def longer_month() -> Month:
    """Return a month after which the curtains go on to be closed, and nothing else is done."""
    month = make_month(0)
    for day in (TODAY + number * DAY for number in range(16)):
        month.rows += [Row(at(day, 22 * 60 + 2), CURTAINS, "closed"), Row(at(day, 700), CURTAINS, "open")]
    return month


async def people(hass: HomeAssistant) -> tuple[User, User]:
    """Return Anna, who is an administrator, and Tom, who is none."""
    anna, tom = await hass.auth.async_get_user(ANNA), await hass.auth.async_get_user(TOM)
    assert anna is not None
    assert tom is not None
    anna.is_owner = True
    return anna, tom


async def test_from_a_month_to_an_automation(
    home: HomeAssistant,
    model_server: ModelServer,
    freezer: FrozenDateTimeFactory,
    hass_client_no_auth: ClientSessionGenerator,
) -> None:
    """Recorded, learned at night, suggested, previewed, approved, loaded, run; and a no that lasts."""
    anna, tom = await people(home)
    await async_record(home, longer_month())
    assert await async_setup_component(home, "http", {})
    targets = [
        {"person": f"person.{who}", "targets": [f"notify.mobile_app_{who}"]} for who in ("anna", "tom")
    ]
    async with push_service(home, hass_client_no_auth) as phones:
        await phones.async_register("anna", anna)  # type: ignore[arg-type]
        await phones.async_register("tom", tom)  # type: ignore[arg-type]
        options = {"learning_enabled": True, "proactive_enabled": True, "notify_targets": targets}
        agent = await async_add_agent(home, model_server, options)
        days = Days(agent, freezer, phones)
        events = async_capture_events(home, const.EVENT_SUGGESTION_REQUESTED)
        await days.until(5, 30)
        assert told(the_learner(agent)) == PUT_IN
        await approve_coffee_and_refuse_the_rest(days)
        assert {event.data["summary"] for event in events} == {"", CLOSED}
        await check_the_automation_runs(days)
        await check_no_lasts(days)
        assert days.messages("tom") == ""
        assert not home.data.get("persistent_notification")


async def approve_coffee_and_refuse_the_rest(days: Days) -> None:
    """Answer on the phone, day by day; nothing is made before the yes."""
    path = Path(days.hass.config.path("automations.yaml"))
    while not {BREWED, CLOSED} <= (known := await days.suggested()).keys():
        assert len(known) < len(PUT_IN)
        await days.pass_one()
        (newest,) = [text for text, state in (await days.suggested()).items() if state == "open"]
        assert f"{newest} Should I create an automation for this?" in days.messages("anna")
        if newest != BREWED:
            await days.press("No")
            continue
        await days.press("Preview")
        assert "06:30:00" in days.messages("anna")
        assert await days.hass.async_add_executor_job(path.read_text) == "[]\n"
        await days.press("Yes")
    known = await days.suggested()
    assert known.pop(BREWED) == "accepted"
    assert set(known.values()) == {"rejected"}
    (made,) = yaml.safe_load(await days.hass.async_add_executor_job(path.read_text))
    assert made["actions"] == [{"action": "switch.turn_on", "target": {"entity_id": COFFEE}}]
    (state,) = [state for state in days.hass.states.async_all("automation") if made["id"] in str(state)]
    assert (state.state, state.name) == ("on", "Coffee Machine, 6:30")


async def check_the_automation_runs(days: Days) -> None:
    """The real switch goes on when its time comes, on workdays only."""
    await days.until(23)
    runs = async_capture_events(days.hass, "automation_triggered")
    for _ in range(7):
        await days.hass.services.async_call("switch", "turn_off", {"entity_id": COFFEE}, blocking=True)
        await days.until(6, 29, days=1)
        assert days.hass.states.is_state(COFFEE, "off")
        await days.until(6, 30)
        is_workday = days._midnight.weekday() < 5
        assert days.hass.states.is_state(COFFEE, "on" if is_workday else "off")
    assert [event.data["name"] for event in runs].count("Coffee Machine, 6:30") == 5


async def check_no_lasts(days: Days) -> None:
    """After a restart, on other nights, while the curtains still are a habit: it is not asked again."""
    before, asked = await days.suggested(), days.messages("anna").count(CLOSED)
    await days.restart()
    for _ in range(3):
        await days.pass_one()
    assert (CURTAINS, "closed", EVERY_DAY, None) in told(the_learner(days.agent))
    assert await days.suggested() == before
    assert days.messages("anna").count(CLOSED) == asked
