"""Plain commands for later, and what undoes or cancels them, take one request to the model."""

from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest

from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.remembering import anna  # noqa: F401 - a fixture
from tests.helpers.turns import LIGHT
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

NOON = "2026-03-29 12:00:00"
SPOKEN = "Words of the model."
ON = {"action": "turn_on", "entity_id": LIGHT}
OFF = {"action": "turn_off", "entity_id": LIGHT}
LATER = {"when": "18:30"}


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory) -> Agent:
    freezer.move_to(dt_util.as_utc(dt_util.parse_datetime(NOON).replace(tzinfo=dt_util.UTC)))
    await hass.config.async_set_time_zone("UTC")
    return await async_agent(hass, model_server, {"quick_confirmations": True})


async def said(agent: Agent, sentence: str, anna: Context, call: tuple[str, Any], **options: Any) -> str:
    """Return what is spoken after a model's call; it would say more if it was asked again."""
    agent.server.clear()
    agent.server.script([tool_calls([call]), text(SPOKEN)])
    return speech(await agent.say(sentence, context=anna, **options))


async def test_a_command_for_later(agent: Agent, anna: Context, subtests: pytest.Subtests) -> None:
    """What will happen is said with its time."""
    for sentence, language, args, spoken in [
        ("Turn off the lamp at 18:30", "en", OFF | LATER, "At 18:30 I'll turn off the Kitchen Ceiling."),
        (
            "Dim the lamp to 40 percent on Mondays at 18:30",
            "en",
            ON | LATER | {"repeat": "monday", "brightness": 40},
            "At 18:30 on Mondays I'll set the Kitchen Ceiling to 40 percent.",
        ),
        (
            "Mach die Küche 20 Minuten lang an",
            "de",
            ON | {"for": "20 minutes"},
            "Ich habe Kitchen Ceiling eingeschaltet, bis 12:20 Uhr.",
        ),
    ]:
        with subtests.test(sentence=sentence, language=language):
            planned = agent.entry.runtime_data.planned
            await planned.async_cancel([item.id for item in planned.all()])
            await agent.hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
            assert await said(agent, sentence, anna, ("ha_control", args), language=language) == spoken
            assert len(agent.server.chats) == 1


async def test_what_has_no_sentence(agent: Agent, anna: Context, subtests: pytest.Subtests) -> None:
    """The model tells what is more than a time of today or tomorrow."""
    for args in [ON | {"when": "2026-04-03 18:30"}, ON | LATER | {"for": "5 minutes"}]:
        with subtests.test(args=args):
            assert (
                await said(agent, "Turn on the kitchen ceiling at 18:30", anna, ("ha_control", args))
                == SPOKEN
            )


@pytest.mark.parametrize(
    ("sentence", "tool", "args"),
    [("Undo that", "activity", {"action": "undo"}), ("Cancel that", "timer", {"action": "cancel"})],
)
async def test_a_planned_command_is_cancelled(
    agent: Agent, anna: Context, sentence: str, tool: str, args: dict[str, str]
) -> None:
    """By undoing it, and by the tool for timers."""
    await said(agent, "Turn off the kitchen ceiling at 18:30", anna, ("ha_control", OFF | LATER))
    spoken = "I cancelled what was planned for the Kitchen Ceiling."
    assert await said(agent, sentence, anna, (tool, args)) == spoken
    assert agent.entry.runtime_data.planned.all() == []


async def test_undo(
    hass: HomeAssistant,
    agent: Agent,
    anna: Context,
    freezer: FrozenDateTimeFactory,
    subtests: pytest.Subtests,
) -> None:
    """What is as it was before is told by name."""
    for sentence, language, spoken in [
        ("Put it back", "en", "I've undone that and turned off the Kitchen Ceiling."),
        ("Annule ça", "fr", "J'ai annulé ça et éteint Kitchen Ceiling."),
    ]:
        with subtests.test(sentence=sentence, language=language):
            await said(agent, "Turn on the kitchen ceiling", anna, ("ha_control", ON))
            freezer.tick(timedelta(seconds=20))
            undo = ("activity", {"action": "undo"})
            assert await said(agent, sentence, anna, undo, language=language) == spoken
            assert hass.states.get(LIGHT).state == "off"
