"""Rules that are picked from lists: what they stop, ask about and allow."""

from typing import Any

import pytest

from custom_components.home_agent.config.choices import async_labels
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, label_registry as lr
from homeassistant.setup import async_setup_component
from tests.helpers.agent import speech
from tests.helpers.checks import every
from tests.helpers.secure_house import RAN, SecureHouse, ask

NEVER, ASK, ALWAYS = "never", "ask", "always"


@pytest.fixture
async def secure(hass: HomeAssistant, secure: SecureHouse) -> SecureHouse:
    """Return a house with locks, a garage and a kitchen with a lamp that has a label."""
    kitchen = ar.async_get(hass).async_get_or_create("Kitchen")
    label = lr.async_get(hass).async_create("Kids")
    registry = er.async_get(hass)
    registry.async_update_entity("light.hall", area_id=kitchen.id, labels={label.label_id})
    return secure


def rule(decision: str, **fields: Any) -> dict[str, Any]:
    """Return one rule."""
    return {"decision": decision, **fields}


@pytest.mark.parametrize(
    ("choice", "action", "entity_id", "runs", "asks"),
    [
        (rule(NEVER, actions=["turn_on"], entities=["light.hall"]), "turn_on", "light.hall", False, False),
        (rule(NEVER, actions=["turn_on"], entities=["light.hall"]), "turn_off", "light.hall", True, False),
        (rule(NEVER, actions=["turn_on"], entities=["light.hall"]), "turn_on", "switch.oven", True, False),
        (rule(ASK, kinds=["switch"]), "turn_on", "switch.oven", False, True),
        (rule(ASK, kinds=["switch"]), "turn_on", "light.hall", True, False),
        (rule(ASK, areas=["kitchen"]), "turn_on", "light.hall", False, True),
        (rule(ASK, areas=["kitchen"]), "turn_on", "switch.oven", True, False),
        (rule(NEVER, labels=["kids"], kinds=["light"]), "turn_off", "light.hall", False, False),
        (rule(NEVER, labels=["kids"], kinds=["switch"]), "turn_off", "light.hall", True, False),
        (rule(NEVER, actions=["lock"]), "unlock", "lock.front_door", False, False),
        (rule(NEVER, actions=["lock"]), "lock", "lock.front_door", True, False),
        (
            rule(ALWAYS, actions=["lock"], entities=["lock.front_door"]),
            "unlock",
            "lock.front_door",
            True,
            False,
        ),
        (rule(ALWAYS, entities=["lock.front_door"]), "unlock", "lock.front_door", True, False),
        (rule(ALWAYS, actions=["lock"], entities=["lock.cellar"]), "unlock", "lock.front_door", False, True),
        (rule(ALWAYS, actions=["cover"]), "open", "cover.garage", True, False),
        (rule(NEVER, actions=["cover"]), "open", "cover.garage", False, False),
        (rule(NEVER, actions=["cover"]), "close", "cover.garage", True, False),
        (rule(NEVER, kinds=["cover:garage"]), "close", "cover.garage", False, False),
        (rule(ALWAYS, kinds=["cover:blind"]), "open", "cover.garage", False, True),
    ],
)
async def test_what_a_rule_does(
    secure: SecureHouse, *, choice: dict[str, Any], action: str, entity_id: str, runs: bool, asks: bool
) -> None:
    """What was called, and what waits for a confirmation."""
    agent = await secure.async_with({"policy_choices": [choice]})
    call = ("ha_control", {"action": action, "entity_id": entity_id})
    result = await ask(agent, call, said=f"{action} {entity_id}")
    assert bool(secure.moved()) is runs
    assert bool(agent.entry.runtime_data.confirmations.pending) is asks
    assert speech(result)


async def test_the_strictest_rule_applies(secure: SecureHouse) -> None:
    choices = [rule(ALWAYS, actions=["lock"]), rule(NEVER, entities=["lock.front_door"]), rule("of later")]
    agent = await secure.async_with({"policy_choices": [*choices, "x"]})
    for action in ("unlock", "open"):
        call = ("ha_control", {"action": action, "entity_id": "lock.front_door"})
        await ask(agent, call, said=f"{action} the front door")
    assert secure.moved() == []
    assert not agent.entry.runtime_data.confirmations.pending
    await agent.set_options(policy_choices=choices[:1])
    await ask(agent)
    assert secure.moved() == RAN


async def test_an_action_of_a_later_release(secure: SecureHouse) -> None:
    """A rule that limits is read strictly, one that allows is left out."""
    choices = [
        rule(NEVER, actions=["of_later"], entities=["switch.oven"]),
        rule(ALWAYS, actions=["of_later"], entities=["lock.front_door"]),
    ]
    agent = await secure.async_with({"policy_choices": choices})
    calls = [("turn_on", "switch.oven"), ("unlock", "lock.front_door")]
    for action, entity_id in calls:
        await ask(agent, ("ha_control", {"action": action, "entity_id": entity_id}))
    assert secure.moved() == []


@pytest.mark.parametrize(
    ("choice", "runs"),
    [
        (rule(ALWAYS, actions=["run"]), False),
        (rule(ALWAYS, kinds=["script"]), False),
        (rule(ALWAYS, entities=["script.open_up"]), True),
        (rule(ALWAYS, actions=["run"], entities=["script.open_up"]), True),
        (rule(ALWAYS, actions=["turn_off"], entities=["script.open_up"]), False),
    ],
)
async def test_content_is_trusted_by_name_only(
    hass: HomeAssistant, secure: SecureHouse, *, choice: dict[str, Any], runs: bool
) -> None:
    """Who allows all scripts has not looked at what each of them unlocks."""
    step = {"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}}
    assert await async_setup_component(hass, "script", {"script": {"open_up": {"sequence": [step]}}})
    async_expose_entity(hass, "conversation", "script.open_up", True)
    agent = await secure.async_with({"policy_choices": [choice]})
    await hass.async_block_till_done()
    call = ("ha_control", {"action": "turn_on", "entity_id": "script.open_up"})
    await ask(agent, call, said="Run it")
    await hass.async_block_till_done()
    assert bool(secure.calls) is runs
    assert bool(agent.entry.runtime_data.confirmations.pending) is not runs


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "nl", "ja"])
async def test_each_word_means_one_thing(hass: HomeAssistant, secure: SecureHouse, language: str) -> None:
    """In any language, also in one without labels of its own."""
    hass.config.language = language
    hass.states.async_set("cover.front_door", "closed", {"device_class": "door"})
    labels = await async_labels(hass, {})
    for words in every(labels.by_field.values()):
        assert len(set(words.values())) == len(words)
    item = {field: list(words) for field, words in labels.by_field.items()}
    assert labels.values(labels.show([item])) == [item]
