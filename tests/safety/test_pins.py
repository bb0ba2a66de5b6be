"""Whose PIN a confirmation needs, and when: by a rule, or always."""

from typing import Any

import pytest

from custom_components.home_agent.safety.spoken_numbers import hash_pin
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent, speech
from tests.helpers.secure_house import SecureHouse, ask
from tests.servers.model_server import ModelServer

HOUSEHOLD, ANNAS = "4711", "2580"
FRONT_DOOR = {"decision": "pin", "entities": ["lock.front_door"]}
LOCK, GARAGE = ("unlock", "lock.front_door"), ("open", "cover.garage")
YES, NEEDED, WRONG = "yes", "I need the PIN for that.", "That PIN is wrong. Please try again."


@pytest.fixture
async def secure(hass: HomeAssistant, secure: SecureHouse) -> SecureHouse:
    """Return the house with a person who has a PIN of her own, and one who has none."""
    for name, user in (("anna", secure.anna), ("ben", secure.ben)):
        hass.states.async_set(f"person.{name}", "home", {"user_id": user.id, "id": name})
    return secure


async def with_pins(secure: SecureHouse, server: ModelServer, *rules: dict[str, Any], always: bool) -> Agent:
    """Return an agent of a household with two PINs."""
    hashes = [hash_pin(pin) for pin in (HOUSEHOLD, ANNAS)]
    options = {
        "policy_choices": list(rules),
        "policy_pin": hashes[0],
        "policy_pin_always": always,
        "policy_pins": [{"person": "person.anna", "pin": hashes[1]}],
        "device_persons": [{"device": "annas", "person": "person.anna"}],
    }
    return await secure.async_agent(server, options)


def came_from(secure: SecureHouse, who: str) -> dict[str, Any]:
    """Return how a sentence of somebody arrives."""
    user = {"anna": secure.anna, "ben": secure.ben}.get(who)
    return {"context": Context(user_id=user.id)} if user else {"device_id": who}


async def answered(agent: Agent, secure: SecureHouse, act: tuple[str, str], who: str, answer: str) -> str:
    """Ask for something and answer the question; return what became of it."""
    secure.reset()
    call = ("ha_control", dict(zip(("action", "entity_id"), act, strict=True)))
    came = came_from(secure, who)
    asked = await ask(agent, call, **came)
    told = speech(await agent.say(answer, conversation_id=asked.conversation_id, **came))
    await agent.entry.runtime_data.confirmations.async_stop()
    return "done" if secure.moved() else told


@pytest.mark.parametrize(
    ("always", "act", "who", "answer", "told"),
    [
        # The PIN for the front door, a yes for the garage.
        (False, LOCK, "satellite", YES, NEEDED),
        (False, LOCK, "satellite", HOUSEHOLD, "done"),
        (False, GARAGE, "satellite", YES, "done"),
        # Every confirmation, as before there were such rules.
        (True, GARAGE, "satellite", YES, NEEDED),
        (True, GARAGE, "satellite", HOUSEHOLD, "done"),
        # One's own PIN in place of the household's, and only where an account tells who it is.
        (False, LOCK, "anna", ANNAS, "done"),
        (False, LOCK, "anna", HOUSEHOLD, WRONG),
        (True, GARAGE, "anna", ANNAS, "done"),
        (False, LOCK, "ben", HOUSEHOLD, "done"),
        (False, LOCK, "ben", ANNAS, WRONG),
        (False, LOCK, "annas", ANNAS, WRONG),
        (False, LOCK, "annas", HOUSEHOLD, "done"),
    ],
)
async def test_whose_pin(
    secure: SecureHouse, *, always: bool, act: tuple[str, str], who: str, answer: str, told: str
) -> None:
    agent = await with_pins(secure, secure.server, FRONT_DOOR, always=always)
    assert await answered(agent, secure, act, who, answer) == told


async def test_the_strictest_rule_counts(secure: SecureHouse) -> None:
    """What is always allowed needs the PIN where another rule asks for it, and none where none does."""
    always = {"decision": "always", "kinds": ["lock", "cover:garage"]}
    agent = await with_pins(secure, secure.server, always, FRONT_DOOR, always=True)
    assert await answered(agent, secure, LOCK, "satellite", YES) == NEEDED
    assert await answered(agent, secure, GARAGE, "satellite", YES) == "done"
    for decision in ("never", "only"):
        rules = [FRONT_DOOR, {"decision": decision, "kinds": ["lock" if decision == "never" else "light"]}]
        await agent.set_options(policy_choices=rules)
        assert await answered(agent, secure, LOCK, "satellite", HOUSEHOLD) not in ("done", NEEDED)


async def test_without_a_pin_nothing_opens(secure: SecureHouse) -> None:
    """A rule that asks for a PIN that nobody has set any more is not passed by a yes or a number."""
    agent = await secure.async_with({"policy_choices": [FRONT_DOOR]})
    for answer in (YES, HOUSEHOLD):
        assert await answered(agent, secure, LOCK, "satellite", answer) != "done"
