"""Photos in Telegram: what reaches the model, what is said where it cannot, and that nothing stays behind."""

import base64
from pathlib import Path
import time
from typing import Any

import pytest

from custom_components.home_agent.agent.pictures import MAX_BYTES
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.injected import AFTER_OUTSIDE
from tests.helpers.secure_house import UNLOCK, SecureHouse
from tests.helpers.telegram_chats import ANNA, OPTIONS, Telegram
from tests.servers.replies import status, text, tool_calls

JPEG = b"\xff\xd8\xff\xe0 a red door"


@pytest.fixture
async def agent(secure: SecureHouse, telegram: Telegram) -> Agent:
    """Return an agent that may open locks without a question."""
    return await secure.async_with({**OPTIONS, "policy_allowed": ["lock"]})


async def show(telegram: Telegram, picture: bytes = JPEG, **fields: Any) -> list[str]:
    """Send a photo and return what came back."""
    before = len(telegram.server.texts(ANNA))
    telegram.server.show(ANNA, picture, **fields)
    await telegram.until(lambda: len(telegram.server.texts(ANNA)) > before)
    return telegram.server.texts(ANNA)[before:]


def seen(request: Any) -> tuple[str, str]:
    """Return the words and the picture of the newest message of a request."""
    words, picture = request.messages[-1]["content"]
    return words["text"], picture["image_url"]["url"]


@pytest.mark.parametrize(
    ("picture", "kind"),
    [
        (JPEG, "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n pixels", "image/png"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
    ids=["jpeg", "png", "webp"],
)
async def test_a_photo_reaches_the_model(
    hass: HomeAssistant, agent: Agent, telegram: Telegram, picture: bytes, kind: str
) -> None:
    """With its caption, as what it is whatever the sender says, and no file is left on the disk."""
    agent.server.script([text("A red door.")])
    assert await show(telegram, picture, caption="What is this?") == ["A red door."]
    words, url = seen(agent.server.chats[-1])
    assert words.startswith("What is this?")
    assert url == f"data:{kind};base64,{base64.b64encode(picture).decode()}"
    folder = Path(hass.config.path("telegram_bot"))
    assert await hass.async_add_executor_job(lambda: list(folder.iterdir())) == []


async def test_a_photo_without_words(agent: Agent, telegram: Telegram) -> None:
    """The model is asked what it shows; the next sentence goes without it."""
    agent.server.script([text("A red door."), text("Red.")])
    assert await show(telegram) == ["A red door."]
    assert seen(agent.server.chats[-1])[0].startswith("What can be seen in this picture?")
    assert await telegram.write(ANNA, "Which colour?") == ["Red."]
    said = [message["content"] for message in agent.server.chats[-1].messages]
    assert "A red door." in said
    assert "base64" not in str(said)


@pytest.mark.parametrize("when", ["at once", "in the next sentence"])
async def test_text_in_a_photo_steers_nothing(
    agent: Agent, telegram: Telegram, secure: SecureHouse, when: str
) -> None:
    """What the household allows without a question is asked about after a photo."""
    if when == "at once":
        agent.server.script([tool_calls([UNLOCK]), text("Done.")])
        (asked,) = await show(telegram, caption="Do what it says")
    else:
        agent.server.script([text("It says: unlock the door."), tool_calls([UNLOCK]), text("Done.")])
        await show(telegram)
        (asked,) = await telegram.write(ANNA, "Go on")
    assert asked.startswith(f"{AFTER_OUTSIDE}Should I unlock")
    assert secure.moved() == []


async def test_a_model_that_cannot_see(agent: Agent, telegram: Telegram) -> None:
    """The person learns why there is no answer; another refusal is still told as what it is."""
    agent.server.script([status(400, "image input is not supported")] * 2)
    assert await show(telegram) == [
        "The model refused the picture. Choose a model that can see in the options."
    ]
    agent.server.script([status(400, "no")] * 2)
    (told,) = await telegram.write(ANNA, "Tell me a story of whales")
    assert told.startswith("The model server refused my request.")


@pytest.mark.parametrize(
    ("picture", "fields", "told"),
    [
        (JPEG, {"file_size": MAX_BYTES + 1}, "This picture is too large"),
        (JPEG + b" " * MAX_BYTES, {"file_size": 9}, "This picture is too large"),
        (b"%PDF-1.7", {}, "I can only read text and look at pictures here."),
    ],
    ids=["said to be large", "large", "no picture"],
)
async def test_what_is_not_shown(
    agent: Agent, telegram: Telegram, picture: bytes, fields: dict[str, Any], told: str
) -> None:
    """The model is asked nothing, and the person is told why."""
    (answer,) = await show(telegram, picture, **fields)
    assert answer.startswith(told)
    assert agent.server.chats == []


async def test_a_download_that_fails(agent: Agent, telegram: Telegram) -> None:
    """Telegram may have forgotten the file."""
    telegram.server.refuse = lambda method, _params: "wrong file_id" if method == "getFile" else ""
    file = {"file_id": "gone", "file_unique_id": "1", "mime_type": "image/png", "file_size": 9}
    telegram.server.write(ANNA, "", document=file, caption="What is this?")
    await telegram.until(lambda: telegram.server.texts(ANNA))
    assert telegram.server.texts(ANNA) == ["I could not download the picture. Please send it again."]
    assert agent.server.chats == []


async def test_only_the_sentence_of_the_photo_has_it(
    hass: HomeAssistant, agent: Agent, telegram: Telegram
) -> None:
    """An automation that asks because of what the turn did gets no picture."""
    agent.server.script([tool_calls([("ha_control", {"action": "turn_on", "entity_id": "light.hall"})])])
    agent.server.default = text("Okay.")

    async def ask(_event: Any) -> None:
        await agent.say("Is it on?", context=Context(parent_id="01K0AUT0MAT10N000000000000"))

    hass.bus.async_listen_once("state_changed", ask)
    await show(telegram, caption="Light, please")
    carried = [chat for chat in agent.server.chats if "base64" in str(chat.messages)]
    others = [chat for chat in agent.server.chats if "Is it on?" in str(chat.messages[-1]["content"])]
    assert carried
    assert others
    assert "base64" not in str([chat.messages for chat in others])


async def test_an_album_is_one_turn(agent: Agent, telegram: Telegram) -> None:
    """Telegram sends each photo on its own; the model gets all of them with the caption, once."""
    agent.server.script([text("Two doors."), text("A third one.")])
    at = int(time.time())
    telegram.server.show(ANNA, JPEG, caption="Which one is red?", date=at)
    telegram.server.show(ANNA, b"\xff\xd8\xff\xe0 a blue door", date=at)
    await telegram.until(lambda: telegram.server.texts(ANNA))
    assert telegram.server.texts(ANNA) == ["Two doors."]
    words, *pictures = agent.server.chats[-1].messages[-1]["content"]
    assert words["text"].startswith("Which one is red?")
    assert len(pictures) == 2
    assert await show(telegram, JPEG) == ["A third one."]
    assert len(agent.server.chats[-1].messages[-1]["content"]) == 2
