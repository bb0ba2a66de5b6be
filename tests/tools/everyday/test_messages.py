"""Messages to persons and looks through cameras: whom they reach, what they wait for, what is sent."""

import base64
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.tools.recipients import shows_camera
from homeassistant.components import ai_task
from homeassistant.const import Platform
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import device_registry as dr
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.checks import every
from tests.helpers.everyday_house import async_add_demo
from tests.helpers.phones import Phones, push_service
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import status, text, tool_calls

TARGETS = [
    {"person": "person.anna", "targets": ["notify.mobile_app_anna_phone"]},
    {"person": "person.ben", "targets": ["notify.mobile_app_ben_phone"]},
]
CAMERA = "camera.demo_camera"


@pytest.fixture
async def phones(hass: HomeAssistant, hass_client_no_auth: ClientSessionGenerator) -> AsyncIterator[Phones]:
    """Return two phones of two persons."""
    for domain in ("homeassistant", "camera"):  # its pages too have to be there when the server starts
        assert await async_setup_component(hass, domain, {})
    async with push_service(hass, hass_client_no_auth) as service:
        for name in ("Anna", "Ben"):
            user = MockUser(name=name).add_to_hass(hass)
            user.mock_policy({"entities": True})
            await service.async_register(f"{name.lower()}_phone", user)
        yield service


def said(phones: Phones, name: str) -> list[str]:
    """Return the messages on a phone."""
    return [push["message"] for push in phones.of(name)]


async def test_a_message_reaches_the_person(
    hass: HomeAssistant, model_server: ModelServer, phones: Phones
) -> None:
    agent = await async_agent(hass, model_server, {"notify_targets": TARGETS})
    sent = await agent.call("notify_person", person="Anna", message="Dinner is ready")
    assert sent["result"] == {"told": ["Anna"], "message": "Dinner is ready"}
    assert said(phones, "anna_phone") == ["Dinner is ready"]
    assert said(phones, "ben_phone") == []
    await agent.call("notify_person", person="everybody", message="Come down")
    assert said(phones, "ben_phone") == ["Come down"]
    unknown = await agent.call("notify_person", person="the neighbour", message="Hi")
    assert "everybody" in unknown["error"]
    assert "anna" not in unknown["error"]


async def test_the_receiver_of_tools_of_other_agents(
    hass: HomeAssistant, model_server: ModelServer, phones: Phones
) -> None:
    """Whoever is named hears it alone, by the most telling of several fields, whatever their order."""
    agent = await async_agent(hass, model_server, {"notify_targets": TARGETS})
    for name, to in (
        ("notify", {"target": "anna"}),
        ("send_message", {"target": ["Anna"]}),
        ("notify", {"entity_id": "media_player.kitchen", "person": "Anna"}),
        ("notify_person", {"target": "Anna"}),
    ):
        await agent.act((name, {**to, "message": "Hi"}), sentence="Tell Anna hi")
    assert said(phones, "anna_phone") == ["Hi"] * 4
    assert said(phones, "ben_phone") == []


async def test_nobody_can_be_reached(agent: Agent) -> None:
    """Without targets a model is not told of the tool, and a call says why it cannot work."""
    answer = await agent.call("notify_person", person="Anna", message="Hi")
    assert "nobody can be reached" in answer["error"]
    assert "notify_person" not in str(agent.server.chats[-1].json["tools"])


type MakeAgent = Callable[..., Coroutine[Any, Any, Agent]]


@pytest.fixture
def with_camera(hass: HomeAssistant, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> MakeAgent:
    """Return what makes an agent with options, and a camera that really gives pictures."""

    async def make(**options: Any) -> Agent:
        agent = await async_agent(hass, model_server, options)
        await async_add_demo(hass, monkeypatch, Platform.CAMERA)
        return agent

    return make


def picture(request: Any) -> bytes:
    """Return the picture in a request."""
    (content,) = [item["content"] for item in request.messages if isinstance(item["content"], list)]
    url = next(part["image_url"]["url"] for part in content if part["type"] == "image_url")
    assert url.startswith("data:image/")
    return base64.b64decode(url.partition(",")[2])


async def test_a_camera_waits_for_a_word(model_server: ModelServer, with_camera: MakeAgent) -> None:
    """After a yes one picture goes to the model, and what it sees is said."""
    agent = (await with_camera()).at_satellite()
    args = {"camera": CAMERA, "question": "Who is at the door?"}
    model_server.script([tool_calls([("look_at_camera", args)])])
    asked = await agent.say("Who is at the door?")
    assert speech(asked) == "Should I look through the camera Demo camera?"
    sent = [item["content"] for chat in every(model_server.chats) for item in chat.messages]
    assert not any(isinstance(content, list) for content in sent)
    model_server.script([text("A postman with a **parcel**.")])
    seen = await agent.say("Yes", conversation_id=asked.conversation_id)
    assert speech(seen) == "A postman with a parcel."
    assert picture(model_server.chats[-1]).startswith((b"\xff\xd8", b"\x89PNG"))
    assert "Who is at the door?" in str(model_server.chats[-1].messages[0]["content"][0])


async def test_a_camera_that_the_household_allows(model_server: ModelServer, with_camera: MakeAgent) -> None:
    agent = await with_camera(policy_allowed=["camera.snapshot"])
    model_server.script(
        [tool_calls([("look_at_camera", {"camera": CAMERA})]), text("A cat."), text("There is a cat.")]
    )
    assert speech(await agent.say("What is in the garden?")) == "There is a cat."
    result = tool_results(model_server.chats[-1])[-1]["result"]
    assert result == {"camera": "Demo camera", "seen": "A cat."}
    audit = agent.entry.runtime_data.handler.guard.journal.stored()["audit"]
    assert any(item.get("service") == "camera.snapshot" for item in audit)


async def test_a_model_that_cannot_see(model_server: ModelServer, with_camera: MakeAgent) -> None:
    agent = await with_camera(policy_allowed=["camera.snapshot"])
    model_server.script(
        [
            tool_calls([("look_at_camera", {"camera": CAMERA})]),
            status(400, "image input is not supported"),
            text("I cannot see pictures."),
        ]
    )
    await agent.say("What is in the garden?")
    assert "takes no pictures" in tool_results(model_server.chats[-1])[-1]["error"]


async def test_a_blocked_camera_is_not_looked_through(with_camera: MakeAgent) -> None:
    agent = await with_camera(policy_blocked=["camera"])
    answer = await agent.call("look_at_camera", camera=CAMERA)
    assert "A rule of the household" in answer["error"]


ALLOWED = {"policy_allowed": ["camera.snapshot"], "notify_targets": TARGETS}
PICTURE = {"image": f"/api/camera_proxy/{CAMERA}"}


def pictures(phones: Phones, name: str) -> list[tuple[str, Any]]:
    """Return the messages on a phone with what they show."""
    return [(push["message"], push.get("data")) for push in phones.of(name)]


def user_of(hass: HomeAssistant, name: str) -> Context:
    """Return the context of a person's user."""
    state = hass.states.get(f"person.{name}")
    assert state is not None
    return Context(user_id=state.attributes["user_id"])


async def test_a_picture_waits_for_a_word(
    hass: HomeAssistant, model_server: ModelServer, with_camera: MakeAgent, phones: Phones
) -> None:
    """The question says where the picture goes; nothing goes there before the yes."""
    agent = await with_camera(notify_targets=TARGETS)
    anna = user_of(hass, "anna")
    model_server.script([tool_calls([("look_at_camera", {"camera": CAMERA, "send": True})])])
    asked = await agent.say("Show me the garden on my phone", context=anna)
    assert speech(asked) == "Should I look through the camera Demo camera and send the picture to anna phone?"
    before = pictures(phones, "anna_phone")
    assert ("Demo camera", PICTURE) not in before
    model_server.script([text("A cat.")])
    seen = await agent.say("Yes", conversation_id=asked.conversation_id, context=anna)
    assert speech(seen) == "A cat. The picture is on anna phone."
    assert ("Demo camera", PICTURE) in pictures(phones, "anna_phone")
    assert ("Demo camera", PICTURE) not in pictures(phones, "ben_phone")


async def test_a_picture_that_does_not_arrive(
    hass: HomeAssistant, model_server: ModelServer, with_camera: MakeAgent, phones: Phones
) -> None:
    """What was seen is said all the same."""
    agent = await with_camera(**ALLOWED)

    async def broken(_call: ServiceCall) -> None:
        raise HomeAssistantError("no network")

    hass.services.async_register("notify", "mobile_app_anna_phone", broken)
    model_server.script(
        [tool_calls([("look_at_camera", {"camera": CAMERA, "send": True})]), text("A cat."), text("A cat.")]
    )
    await agent.say("What is in the garden?", context=user_of(hass, "anna"))
    result = tool_results(model_server.chats[-1])[-1]
    assert result["result"]["seen"] == "A cat."
    assert "could not be sent" in result["error"]


@pytest.mark.parametrize(("args", "sent"), [({}, 1), ({"send": False}, 0), ({"send": True}, 1)])
async def test_asked_from_the_phone(
    hass: HomeAssistant,
    model_server: ModelServer,
    with_camera: MakeAgent,
    phones: Phones,
    args: dict[str, bool],
    sent: int,
) -> None:
    """Who speaks to the phone gets the picture there without asking for it, unless it is not wanted."""
    agent = await with_camera(**ALLOWED)
    device = next(
        device
        for device in dr.async_get(hass).devices
        if ("mobile_app", "device-anna_phone") in device.identifiers
    )
    model_server.script(
        [tool_calls([("look_at_camera", {"camera": CAMERA, **args})]), text("A cat."), text("A cat.")]
    )
    await agent.say("What is in the garden?", context=user_of(hass, "anna"), device_id=device.id)
    assert pictures(phones, "anna_phone") == [("Demo camera", PICTURE)] * sent
    assert len(phones.pushed) == sent
    result = tool_results(model_server.chats[-1])[-1]["result"]
    assert (result["seen"], result.get("picture")) == (
        "A cat.",
        "sent to the speaker's phone" if sent else None,
    )


async def test_no_phone_for_the_picture(
    hass: HomeAssistant, model_server: ModelServer, with_camera: MakeAgent, phones: Phones
) -> None:
    """A voice that nobody knows sends pictures nowhere; a household without phones is not offered it."""
    agent = await with_camera(**ALLOWED)
    answer = await agent.call("look_at_camera", camera=CAMERA, send=True)
    assert "no phone of the speaker" in answer["error"]
    await agent.set_options(policy_blocked=["notify"])
    model_server.script([tool_calls([("look_at_camera", {"camera": CAMERA, "send": True})]), text("No.")])
    await agent.say("Show me the garden", context=user_of(hass, "anna"))
    assert "does not allow notify" in tool_results(model_server.chats[-1])[-1]["error"]
    assert phones.pushed == []
    await agent.set_options(notify_targets=[])
    await agent.say("Hello")
    (schema,) = [
        tool["function"]["parameters"]["properties"]
        for tool in model_server.chats[-1].json["tools"]
        if tool["function"]["name"] == "look_at_camera"
    ]
    assert set(schema) == {"camera", "question"}


def test_a_message_shows_cameras_only() -> None:
    for data in (
        {"image": "/api/camera_proxy/camera.a?token=1"},
        {"image": "https://example.com/?q=secret"},
        {"image": "/api/camera_proxy/camera.a", "url": "/lovelace"},
        {"actions": []},
        "text",
    ):
        assert not shows_camera(data)
    assert shows_camera({"image": "/api/camera_proxy/camera.front_door"})


async def test_attachments_of_a_task(hass: HomeAssistant, model_server: ModelServer, tmp_path: Path) -> None:
    """Pictures of an AI task reach the model beside its instructions; other files are refused."""
    assert await async_setup_component(hass, "media_source", {})
    agent = await async_agent(hass, model_server)
    hass.config.media_dirs["local"] = str(tmp_path)
    shown, note = tmp_path / "door.png", tmp_path / "note.txt"
    shown.write_bytes(b"\x89PNG pixels")
    note.write_text("hello")
    model_server.script([text("A red door.")])

    async def ask(name: str, kind: str) -> Any:
        attachment = {
            "media_content_id": f"media-source://media_source/local/{name}",
            "media_content_type": kind,
        }
        return await ai_task.async_generate_data(
            hass,
            task_name="door",
            entity_id="ai_task.home_agent_tasks",
            instructions="What is this?",
            attachments=[attachment],
        )

    assert (await ask(shown.name, "image/png")).data == "A red door."
    assert picture(agent.server.chats[-1]) == b"\x89PNG pixels"
    with pytest.raises(HomeAssistantError, match="cannot be used"):
        await ask(note.name, "text/plain")
