"""Reminders come where they were asked for: on the phone that was spoken to, else on any, else in view."""

from collections.abc import AsyncIterator
from datetime import timedelta
from html import escape
from typing import Any

from freezegun.api import FrozenDateTimeFactory
import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.texts import literal
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import device_registry as dr
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_agent
from tests.helpers.everyday_house import NOW, async_pass, shown
from tests.helpers.phones import Phones, push_service
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

DUE = "It is time: Pasta."
ANNAS = [{"person": "person.anna", "targets": ["notify.mobile_app_anna_tablet"]}]


@pytest.fixture
async def phones(
    hass: HomeAssistant, hass_client_no_auth: ClientSessionGenerator, freezer: FrozenDateTimeFactory
) -> AsyncIterator[Phones]:
    """Return a phone and a tablet of Anna, and a phone of Ben."""
    freezer.move_to(NOW)
    assert await async_setup_component(hass, "homeassistant", {})
    async with push_service(hass, hass_client_no_auth) as service:
        users = {name: MockUser(name=name).add_to_hass(hass) for name in ("Anna", "Ben")}
        for device, owner in (("anna_phone", "Anna"), ("anna_tablet", "Anna"), ("ben_phone", "Ben")):
            await service.async_register(device, users[owner])
        yield service


def device_of(hass: HomeAssistant, phone: str) -> str:
    """Return the id of the device of a phone."""
    return next(
        device.id
        for device in dr.async_get(hass).devices
        if ("mobile_app", f"device-{phone}") in device.identifiers
    )


async def remind(agent: Agent, freezer: FrozenDateTimeFactory, phone: str, name: str = "Pasta") -> None:
    """Let Anna set a reminder on a phone, and let its time come: the phone counts down timers itself."""
    state = agent.hass.states.get("person.anna")
    assert state is not None
    context = Context(user_id=state.attributes["user_id"])
    at = dt_util.now() + timedelta(minutes=10)
    agent.server.script(
        [tool_calls([("timer", {"action": "set", "name": name, "when": f"{at:%H:%M}"})]), text("Set.")]
    )
    device_id = device_of(agent.hass, phone)
    await agent.say("Remind me of the pasta at ten past three", context=context, device_id=device_id)
    await async_pass(agent.hass, freezer, 601)


def said(phones: Phones) -> dict[str, list[str]]:
    """Return the messages of each phone that got any."""
    names = ("anna_phone", "anna_tablet", "ben_phone")
    found: dict[str, list[Any]] = {name: [push["message"] for push in phones.of(name)] for name in names}
    return {name: messages for name, messages in found.items() if messages}


async def test_on_the_phone_that_was_spoken_to(
    hass: HomeAssistant, model_server: ModelServer, phones: Phones, freezer: FrozenDateTimeFactory
) -> None:
    """There alone, also where the options name another one, and where they name none."""
    agent = await async_agent(hass, model_server, {"notify_targets": ANNAS})
    await remind(agent, freezer, "anna_phone")
    assert said(phones) == {"anna_phone": [DUE]}
    await agent.set_options(notify_targets=[])
    await remind(agent, freezer, "anna_phone")
    assert said(phones) == {"anna_phone": [DUE, DUE]}
    assert shown(hass) == []


async def test_a_phone_that_takes_nothing(
    hass: HomeAssistant, model_server: ModelServer, phones: Phones, freezer: FrozenDateTimeFactory
) -> None:
    """Then the other phones of the person get it."""
    agent = await async_agent(hass, model_server, {"notify_targets": ANNAS})

    async def broken(_call: ServiceCall) -> None:
        raise HomeAssistantError("no network")

    hass.services.async_register("notify", "mobile_app_anna_phone", broken)
    await remind(agent, freezer, "anna_phone")
    assert said(phones) == {"anna_tablet": [DUE]}


async def test_the_phone_of_somebody_else(
    hass: HomeAssistant, model_server: ModelServer, phones: Phones, freezer: FrozenDateTimeFactory
) -> None:
    """What Anna set on the phone of Ben comes to her: on her phones, or as a notification."""
    agent = await async_agent(hass, model_server, {"notify_targets": ANNAS})
    await remind(agent, freezer, "ben_phone")
    assert said(phones) == {"anna_tablet": [DUE]}
    await agent.set_options(notify_targets=[])
    await remind(agent, freezer, "ben_phone")
    assert said(phones) == {"anna_tablet": [DUE]}
    assert len(shown(hass)) == 1


async def test_a_name_is_shown_as_it_is(
    hass: HomeAssistant, model_server: ModelServer, phones: Phones, freezer: FrozenDateTimeFactory
) -> None:
    """No renderer hides an address behind words: neither that of the app nor that of Home Assistant."""
    agent = await async_agent(hass, model_server, {"notify_targets": ANNAS})
    name = "<a href='https://evil.example'>Bank</a>"
    await remind(agent, freezer, "anna_phone", name)
    assert said(phones) == {"anna_phone": [f"It is time: {escape(name, quote=False)}."]}
    await agent.set_options(notify_targets=[])
    await remind(agent, freezer, "ben_phone", "[Bank](https://evil.example)")
    assert shown(hass) == [f"It is time: {literal('[Bank](https://evil.example)')}."]
