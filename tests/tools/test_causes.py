"""Why something changed, and who changed it: real automations, scripts and people, a real recorder."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_fire_time_changed

from homeassistant.auth.const import GROUP_ID_USER
from homeassistant.auth.models import Group
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.recorder import Recorder, get_instance
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.helpers.json import json_dumps
from homeassistant.helpers.recorder import DATA_INSTANCE
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent
from tests.helpers.checks import every, for_each
from tests.helpers.cloud import names_lead_home, outside
from tests.helpers.demo_house import async_demo_house
from tests.helpers.injection import payloads
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.helpers.tables import tables
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

TABLES = tables(__file__)

HALL = "light.hallway"
MOTION = "binary_sensor.hallway_motion"
VISITOR = "sensor.visitor"
"""What somebody outside has written."""
PEOPLE = {"anna": True, "tom": False}
"""People with an account, and whether they are administrators."""


@dataclass(slots=True)
class CauseHouse:
    """A recorded demo house with people."""

    hass: HomeAssistant
    agent: Agent
    users: dict[str, MockUser]

    def by(self, person: str) -> Context:
        """Return a context of a person, as that of a tap in the app."""
        return Context(user_id=self.users[person].id)

    async def call(self, action: str, entity_id: str, context: Context | None = None, **data: Any) -> None:
        """Call a service, as its caller does, and wait until all that follows is done."""
        domain, _, service = action.partition(".")
        await self.hass.services.async_call(
            domain, service, {"entity_id": entity_id, **data}, blocking=True, context=context or Context()
        )
        await self.settle()

    async def become(self, entity_id: str, state: str, context: Context | None = None) -> None:
        """Let a device report another state by itself."""
        now = self.hass.states.get(entity_id)
        assert now is not None, entity_id
        self.hass.states.async_set(entity_id, state, now.attributes, context=context)
        await self.settle()

    async def settle(self) -> None:
        """Wait for automations and for the recorder."""
        await self.hass.async_block_till_done()
        if DATA_INSTANCE in self.hass.data:
            await get_instance(self.hass).async_block_till_done()

    async def read(
        self,
        tool: str = "ha_query",
        /,
        *,
        speaker: str | None = "anna",
        sentence: str = "Why did that happen?",
        **args: Any,
    ) -> Any:
        """Ask something and return what the model reads of its call; None means an unknown voice."""
        self.agent.server.clear()
        self.agent.server.script([tool_calls([(tool, args)]), text("I looked.")])
        agent = self.agent if speaker else self.agent.at_satellite()
        await agent.say(sentence, context=self.by(speaker) if speaker else None)
        return self.agent.results[-1]

    async def why(self, entity_id: str, **args: Any) -> Any:
        """Return what the model reads of the last change of an entity."""
        result = await self.read(entity_id=entity_id, why=True, **args)
        assert result["success"], result["error"]
        return result["result"]["why"][entity_id][-1]


async def async_cause_house(hass: HomeAssistant, server: ModelServer, **data: Any) -> CauseHouse:
    await async_demo_house(hass, TABLES["more"])
    assert await async_setup_component(hass, "conversation", {})
    assert await async_setup_component(hass, "input_boolean", {"input_boolean": {"guests": {}}})
    group = Group(id=GROUP_ID_USER, name="Users", policy={"entities": True})
    users = {
        name: MockUser(name=name.title(), is_owner=is_admin, groups=[group]).add_to_hass(hass)
        for name, is_admin in PEOPLE.items()
    }
    people = [{"id": name, "name": name.title(), "user_id": user.id} for name, user in users.items()]
    assert await async_setup_component(hass, "person", {"person": people})
    async_expose_entity(hass, "conversation", "input_boolean.guests", True)
    await hass.async_block_till_done()
    agent = await async_add_agent(hass, server, {"memory_extraction_enabled": False}, **data)
    house = CauseHouse(hass, agent, users)
    await house.settle()
    return house


pytestmark = pytest.mark.usefixtures("recorder_db_url")  # before Home Assistant is there

__all__ = ["names_lead_home"]


DONE = text("Done.")

NOON = datetime(2026, 1, 14, 12, 0, tzinfo=UTC)
"""13:00 in Berlin."""
NOBODY = "not through Home Assistant: by hand at the device, in its own app, or by itself"


@pytest.fixture
async def home(
    recorder_mock: Recorder, hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory
) -> CauseHouse:
    """Return the recorded demo house at noon of UTC in Berlin."""
    await hass.config.async_set_time_zone("Europe/Berlin")
    freezer.move_to(NOON)
    found = await async_cause_house(hass, model_server)
    freezer.tick(60)
    return found


def cause(told: Any) -> dict[str, Any]:
    """Return what is told of a change without when and what it was."""
    return {name: value for name, value in told.items() if name not in ("at", "change")}


async def test_a_scene_by_the_time(home: CauseHouse, freezer: FrozenDateTimeFactory) -> None:
    """A scene that an automation applied at three o'clock."""
    at = datetime(2026, 1, 14, 14, 0, 1, tzinfo=UTC)
    freezer.move_to(at)
    async_fire_time_changed(home.hass, at)
    await home.settle()
    assert cause(await home.why("light.sofa_strip")) == {
        "scene": "Movie Night",
        "automation": "Afternoon",
        "trigger": "time",
    }


async def test_by_hand_or_by_itself(home: CauseHouse) -> None:
    """Nobody is blamed for what came from the device."""
    await home.become(HALL, "on")
    assert cause(await home.why(HALL)) == {"by": NOBODY}
    await home.hass.services.async_call("light", "turn_off", {"entity_id": HALL}, blocking=True)
    await home.settle()
    assert cause(await home.why(HALL)) == {
        "by": "an integration or an app that is connected to Home Assistant"
    }


async def test_what_is_not_exposed_is_not_named(home: CauseHouse) -> None:
    """A sensor that the agent may not see stays hidden, also from an administrator."""
    async_expose_entity(home.hass, "conversation", MOTION, False)
    await home.become(MOTION, "on")
    assert cause(await home.why(HALL)) == {"automation": "Hall by day", "trigger": "not exposed"}


async def test_an_agent_with_a_list(home: CauseHouse) -> None:
    """What the list leaves out is not named, and neither is the room in which somebody has asked."""
    area = ar.async_get(home.hass).async_get_or_create("Cellar")
    devices = dr.async_get(home.hass)
    device = devices.async_get_or_create(
        config_entry_id=home.agent.entry.entry_id, identifiers={("test", "satellite")}
    )
    devices.async_update_device(device.id, area_id=area.id)
    home.agent.server.script([tool_calls([("ha_control", {"action": "turn_on", "entity_id": HALL})]), DONE])
    await replace(home.agent, device_id=device.id).say("Hallway light on")
    await home.settle()
    assert cause(await home.why(HALL)) == {"by": "you", "asked_by": "somebody", "in": "Cellar"}
    assert cause(await home.why(HALL, speaker=None)) == {"by": "you", "asked_by": "somebody"}
    await home.agent.set_options(visible_entities={"entities": [HALL]})
    assert cause(await home.why(HALL)) == {"by": "you", "asked_by": "somebody"}
    await home.call("light.turn_off", HALL)
    await home.become(MOTION, "on")
    assert cause(await home.why(HALL)) == {"automation": "not exposed", "trigger": "not exposed"}


@pytest.mark.usefixtures("names_lead_home")
async def test_a_model_outside_reads_no_names(
    recorder_mock: Recorder, hass: HomeAssistant, model_server: ModelServer
) -> None:
    """Names of people stay at home unless the option lets them out."""
    home = await async_cause_house(hass, model_server, llm_base_url=outside(model_server))
    await home.call("light.turn_on", HALL, home.by("tom"))
    assert cause(await home.why(HALL)) == {"by": "a member of the household"}


async def test_a_period_and_a_state(home: CauseHouse, freezer: FrozenDateTimeFactory) -> None:
    """Only what happened then, and only what brought the state about that was asked for."""
    await home.call("light.turn_on", HALL, home.by("tom"))
    freezer.tick(3600)
    await home.call("light.turn_off", HALL, home.by("anna"))
    freezer.tick(60)
    told = await home.why(HALL, state="on")
    assert told == {"at": "2026-01-14 13:01", "change": "off -> on", "by": "Tom"}
    lately = await home.why(HALL, history={"duration": "30m"})
    assert lately == {"at": "2026-01-14 14:01", "change": "on -> off", "by": "Anna (who asks)"}
    assert await home.why(HALL, history={"at": "10:00"}) == "no change of this kind is recorded in this time"


async def test_without_a_recorder(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The last change is told from its context and from the traces."""
    home = await async_cause_house(hass, model_server)
    await home.become(MOTION, "on")
    expected = {"automation": "Hall by day", "trigger": "Hallway Motion: motion"}
    assert cause(await home.why(HALL)) == expected
    assert (await home.read(entity_id=HALL))["result"]["changed_by"] == expected


TEXTS = [" ".join(each.parts)[:255] for each in payloads()][::30]
WRITTEN = [text for text in TEXTS if any(char.isalpha() for char in text)]
"""Texts of the corpus as the states of a sensor; one of digits alone counts as a number."""


async def test_texts_of_others_do_not_pass(home: CauseHouse) -> None:
    """A state that set off an automation is not repeated, neither as a change nor as a reason."""
    hass = home.hass
    hass.states.async_set(VISITOR, "nobody", {"friendly_name": "Visitor"})
    async_expose_entity(hass, "conversation", VISITOR, True)
    for written in every(WRITTEN):
        hass.states.async_set(VISITOR, written, {"friendly_name": "Visitor"})
        await hass.async_block_till_done()
    await home.settle()
    for entity_id in (VISITOR, "light.terrace"):
        told = json_dumps(await home.read(entity_id=entity_id, why=True, history={"duration": "1h"}))
        assert [written for written in WRITTEN if written[:20] in told] == []
        assert "another text" in told


async def test_why_not(home: CauseHouse) -> None:
    """The automation for the night was triggered at noon, and another one is turned off."""
    await home.call("automation.turn_on", "automation.hallway_light_at_night")
    await home.become(MOTION, "on")
    await home.call("automation.turn_off", "automation.hall_by_day")
    result = (await home.read(entity_id=HALL, why=True))["result"]
    off, stopped = result["not_done"]
    assert off == {"automation": "Hall by day", "state": "turned off"}
    assert stopped == {
        "automation": "Hallway light at night",
        "at": "2026-01-14 13:01",
        "stopped_by": "its conditions",
        "trigger": "Hallway Motion",
    }
    unknown = (await home.read(speaker=None, entity_id=HALL, why=True))["result"]["not_done"]
    assert unknown[0] == {"automation": "not exposed", "state": "turned off"}


async def test_what_happened_in_the_home(home: CauseHouse) -> None:
    """Without a target the last changes of all devices are told, with who brought them about."""
    await home.become(MOTION, "on")
    await home.call("climate.set_temperature", "climate.bedroom", home.by("tom"), temperature=19)
    result = await home.read(sentence="What happened while I was away?", why=True, history={"duration": "1h"})
    told = result["result"]["why"]
    assert told[HALL]["trigger"] == "Hallway Motion: motion"
    assert (told["climate.bedroom"]["change"], told["climate.bedroom"]["by"]) == (
        "temperature 18 -> 19.0",
        "Tom",
    )
    assert "person.tom" not in told
    assert "sensor.office_co2" not in told
    upstairs = await home.read(sentence="What happened upstairs?", why=True, floor="upstairs")
    assert [*upstairs["result"]["why"]] == ["climate.bedroom"]


@for_each(
    ("sentence", "language", "is_told"),
    [
        ("Why is the hallway light on?", "en", True),
        ("Warum ist das Licht im Flur an?", "de", True),
        ("Почему горит свет в прихожей?", "ru", True),
        ("Is the hallway light on?", "en", False),
    ],
)
async def test_the_request_says_where_reasons_are(
    home: CauseHouse, sentence: str, language: str, is_told: bool
) -> None:
    """A state does not give a reason. A small model invents one if it reads the state with the sentence."""
    home.agent.server.clear()
    home.agent.server.script([text("It is.")])
    await home.agent.say(sentence, language=language, context=home.by("anna"))
    asked = home.agent.server.chats[0].json["messages"][-1]["content"]
    assert HALL in asked
    assert ("States, others by ha_query; reasons only by ha_query with why:" in asked) == is_told


async def test_the_rule_that_lets_nothing_be_changed(home: CauseHouse) -> None:
    """Why somebody may not do something is told before they try."""
    rule = {"decision": "never", "areas": ["hallway"], "whom": ["guests"]}
    await home.agent.set_options(policy_choices=[rule])
    guest = await home.read(
        speaker=None, sentence="Why can I not turn off the hallway light?", entity_id=HALL, why=True
    )
    assert guest["result"]["rule"].startswith(
        "A rule of the household says: nothing may be changed in Hallway by this person"
    )
    anna = await home.read(sentence="Why is it on?", entity_id=HALL, why=True)
    assert "rule" not in anna["result"]
