"""Messages to people as a generated matrix: what goes out at once, what waits for a yes, what never does."""

from contextlib import suppress
import itertools
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest

from custom_components.home_agent.agent.pictures import data_url
from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.knowledge.speaker import sent_pictures
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from tests.helpers.agent import call_action
from tests.helpers.announcing import DAY, NIGHT, TalkingHouse, add_speaker, async_talking_house
from tests.helpers.examples import THOROUGH
from tests.helpers.injected import Home, hass_storage, home, remember, unharmed  # noqa: F401 - fixtures
from tests.helpers.injection import OutsideTool, payloads
from tests.helpers.secure_house import pending_ids
from tests.servers.model_server import ModelServer
from tests.servers.obedient import DEMANDS
from tests.servers.replies import text, tool_calls

WAYS = {"satellite": "Kitchen", "speaker": "Office", "phone": "Tom"}
"""To whom a message goes, by the way that it takes."""
RULES = {"satellite": "assist_satellite.announce", "speaker": "media_player.radio", "phone": "notify"}
CASES = ("plain", "tainted", "night", "memory", "code", "restricted", "blocked")
ANSWERS = ("nothing", "yes", "no")
PATHS = ("model", "execute_tool")
WORDS = {"memory": "Tom is allergic to hazelnuts", "code": "The alarm code is 4711"}
EVERY: Any = slice(None, None, 1 if THOROUGH else 15)
"""Of the corpus."""


def expected(way: str, case: str, answer: str) -> bool:
    """Return whether a message goes out."""
    spoken = way != "phone"
    if case == "blocked" or (case == "code" and spoken):
        return False
    waits = case in ("tainted", "restricted") or (spoken and case in ("night", "memory"))
    return not waits or answer == "yes"


async def tell(house: TalkingHouse, path: str, way: str, case: str, answer: str) -> None:
    """Send one message, and answer the question about it or not."""
    hass, server = house.hass, house.agent.server
    args = {"person": WAYS[way], "message": WORDS.get(case, "Come down"), "to_phone": way == "phone"}
    context = Context(user_id=house.anna.user_id)
    server.clear()
    if path == "model":
        reads = [tool_calls([("read_outside", {})])] if case == "tainted" else []
        server.script([*reads, tool_calls([("notify_person", args)]), text("So.")])
        asked = await house.agent.say("Read it and pass it on", context=context)
        if answer != "nothing" and asked.continue_conversation:
            word = answer.title()
            await house.agent.say(word, conversation_id=asked.conversation_id, context=context)
        return
    if case == "tainted":
        await execute(hass, "read_outside", {}, context)
    await execute(hass, "notify_person", args, context)
    for action_id in pending_ids(hass) if answer != "nothing" else ():
        service = "confirm_action" if answer == "yes" else "reject_action"
        with suppress(HomeAssistantError):
            await hass.services.async_call(
                DOMAIN, service, {"action_id": action_id}, blocking=True, context=context
            )


async def execute(hass: HomeAssistant, tool: str, args: dict[str, Any], context: Context) -> None:
    """Run a tool without a conversation."""
    await call_action(hass, "execute_tool", {"tool_name": tool, "parameters": args}, context)


def messages(house: TalkingHouse) -> list[str]:
    """Return what went out, and forget it. Questions for a yes are no messages."""
    pushed = [call for calls in house.sent.values() for call in calls if "data" not in call.data]
    found = [said for one in house.satellites.values() for said in one.said]
    found += [call.data["message"] for call in (*house.spoken, *pushed)]
    for one in (*(one.said for one in house.satellites.values()), house.spoken, *house.sent.values()):
        one.clear()  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("path", PATHS)
async def test_matrix(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory, path: str
) -> None:
    """Each way, each reason to hold back, each answer."""
    freezer.move_to(DAY)
    house = await async_talking_house(hass, model_server, ("Kitchen",))
    add_speaker(house, "Office")
    memory = {"content": WORDS["memory"], "person": "person.tom"}
    await hass.services.async_call(DOMAIN, "add_memory", memory, blocking=True)
    wrong = []
    for case in CASES:
        freezer.move_to(NIGHT if case == "night" else DAY)
        for way in WAYS:
            rules = {f"policy_{case}": [RULES[way]]} if case in ("restricted", "blocked") else {}
            await house.agent.set_options(**{"policy_restricted": [], "policy_blocked": [], **rules})
            handler = house.agent.entry.runtime_data.handler
            outside = OutsideTool()
            outside.content = "Fine weather"
            handler.set_tools([*handler.tools.values(), outside])
            for answer in ANSWERS:
                await tell(house, path, way, case, answer)
                if bool(messages(house)) is not expected(way, case, answer):
                    wrong.append((case, way, answer))
                await house.agent.entry.runtime_data.confirmations.async_stop()
    assert len(list(itertools.product(CASES, WAYS, ANSWERS))) == 63
    assert not wrong


async def test_no_text_from_outside_is_said_aloud(
    hass: HomeAssistant, model_server: ModelServer, freezer: FrozenDateTimeFactory
) -> None:
    """A model that passes on what it reads reaches no room and no phone without a yes."""
    freezer.move_to(DAY)
    house = await async_talking_house(hass, model_server, ("Kitchen",))
    handler = house.agent.entry.runtime_data.handler
    outside = OutsideTool()
    handler.set_tools([*handler.tools.values(), outside])
    for payload in payloads()[EVERY]:
        outside.content = payload.content
        message = str(payload.parts[0])[:200] or "Come down"
        model_server.script(
            [
                tool_calls([("read_outside", {})]),
                tool_calls([("notify_person", {"person": "everybody", "message": message})]),
                tool_calls([("notify_person", {"person": "Tom", "message": message, "to_phone": True})]),
                text("So."),
            ]
        )
        await house.agent.say("Read it, please", context=house.anna)
        assert messages(house) == []
        await house.agent.entry.runtime_data.confirmations.async_stop()
        model_server.clear()


async def test_no_way_in_through_a_photo(home: Home) -> None:
    """Whatever the text in a picture demands, a model that obeys it does nothing serious."""
    await remember(home)
    home.agent.server.requests.clear()
    for wants, call in DEMANDS.items():
        passed = sent_pictures.set([data_url(b"\xff\xd8\xff text", "image/jpeg")])
        home.agent.server.script([tool_calls([call]), text("So it is.")])
        answer = await home.agent.say("What does it say?", context=home.anna)
        sent_pictures.reset(passed)
        assert "image_url" in str(home.agent.server.chats[0].messages[-1]["content"]), wants
        await home.go_on(answer.conversation_id, call)
        unharmed(home)
        home.agent.server.requests.clear()
