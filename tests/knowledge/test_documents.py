"""Automations, scripts and scenes as redacted YAML, rooms in words, on a real `hass`."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from custom_components.home_agent.knowledge.house import House
from custom_components.home_agent.knowledge.indexer import HouseKnowledge
from custom_components.home_agent.knowledge.semantic import KnowledgeDocument
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, label_registry as lr
from homeassistant.setup import async_setup_component
from tests.helpers.household import async_furnish
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture

KITCHEN = "light.kitchen_ceiling"
COUNTER = "light.kitchen_counter"
LAMP = "light.reading_lamp"
HIDDEN = "light.secret_light"
LOCK = "lock.front_door"
AT_TEN = {"trigger": "time", "at": "22:00:00"}
KITCHEN_ON = {"action": "light.turn_on", "target": {"entity_id": KITCHEN}}


@pytest.fixture
async def knowledge(hass: HomeAssistant) -> HouseKnowledge:
    """Return what is known of the furnished house."""
    await async_furnish(hass)
    house = House(hass)
    await house.async_start()
    return HouseKnowledge(hass, house)


async def documents(hass: HomeAssistant, knowledge: HouseKnowledge) -> Mapping[str, KnowledgeDocument]:
    await hass.async_block_till_done()
    await knowledge._house.async_start()
    knowledge._dirty = True
    return await knowledge.async_documents()


async def automations(
    hass: HomeAssistant, knowledge: HouseKnowledge, *configs: Mapping[str, Any]
) -> Sequence[KnowledgeDocument]:
    """Set automations up and return what is known of them."""
    numbered = [{"alias": f"Auto {number}", **config} for number, config in enumerate(configs)]
    assert await async_setup_component(hass, "automation", {"automation": numbered})
    found = await documents(hass, knowledge)
    return [document for document in found.values() if document.source == "automation"]


async def test_whole_automation(hass: HomeAssistant, knowledge: HouseKnowledge) -> None:
    (document,) = await automations(
        hass,
        knowledge,
        {
            "alias": "Evening light",
            "description": "Light for cooking.",
            "triggers": [{"trigger": "state", "entity_id": LOCK, "to": "unlocked", "for": {"minutes": 5}}],
            "conditions": [{"condition": "state", "entity_id": COUNTER, "state": "off"}],
            "actions": [{**KITCHEN_ON, "data": {"brightness_pct": 40}}],
        },
    )
    assert document.id == "automation:evening_light"
    assert document.title == "Evening light"
    assert document.text == (
        "Evening light. Light for cooking. "
        "When: {trigger: state, entity_id: Front Door, to: unlocked, for: {minutes: 5}}. "
        "Only if: {condition: state, entity_id: Kitchen Counter, state: off}. "
        "Then: {action: light.turn_on, entity_id: Kitchen Ceiling, brightness_pct: 40}. "
        "Touches: Kitchen Ceiling."
    )
    assert set(document.entity_ids) == {LOCK, COUNTER, KITCHEN}
    assert document.person is None


LAMP_OFF = {"action": "light.turn_off", "target": {"entity_id": LAMP}}
IS_DARK = {"condition": "sun", "after": "sunset"}


async def test_what_is_not_exposed_has_no_name(hass: HomeAssistant, knowledge: HouseKnowledge) -> None:
    """It is another device wherever it stands, in templates too; what touches nothing else is not known."""
    hidden_off = {"action": "light.turn_off", "target": {"entity_id": HIDDEN}}
    on_hidden = {"trigger": "state", "entity_id": HIDDEN, "to": "on"}
    template = "{{ is_state('light.secret_light', 'on') or states.lock.cellar_door.state == 'locked' }}"
    found = await automations(
        hass,
        knowledge,
        {"triggers": on_hidden, "conditions": [template], "actions": [hidden_off, KITCHEN_ON]},
        {"alias": "Cellar only", "triggers": on_hidden, "actions": [hidden_off]},
    )
    assert [document.title for document in found] == ["Auto 0"]
    (document,) = found
    assert "When: {trigger: state, entity_id: another device, to: on}." in document.text
    assert "Then: [{action: light.turn_off, entity_id: another device}, " in document.text
    assert "is_state('another device', 'on') or another device == 'locked'" in document.text
    for name in ("ecret", "ellar"):
        assert name not in document.text
    assert document.entity_ids == (KITCHEN,)


async def test_secrets_stay_out(hass: HomeAssistant, knowledge: HouseKnowledge) -> None:
    """Codes, tokens and whatever else a step carries are not told."""
    config = {
        "triggers": [
            {"trigger": "webhook", "webhook_id": "hook-5f3a"},
            {"trigger": "event", "event_type": "login", "event_data": {"password": "geheim"}},
        ],
        "actions": [
            KITCHEN_ON,
            {"action": "lock.unlock", "target": {"entity_id": LOCK}, "data": {"code": "4711"}},
            {"action": "rest_command.call", "data": {"token": "tok-123", "url": "http://x/?key=k-1"}},
            {
                "action": "input_text.set_value",
                "target": {"entity_id": "input_text.pin"},
                "data": {"value": "0815"},
            },
            {"action": "notify.notify", "data": {"message": "The code is 47114711 today"}},
        ],
    }
    (document,) = await automations(hass, knowledge, config)
    text = document.text
    assert "When: [{trigger: webhook}, {trigger: event, event_type: login}]." in text
    assert "{action: lock.unlock, entity_id: Front Door}" in text
    for secret in ("5f3a", "geheim", "4711", "tok-123", "k-1", "0815"):
        assert secret not in text


async def test_touched_through_scripts_scenes_and_labels(
    hass: HomeAssistant, knowledge: HouseKnowledge
) -> None:
    label = lr.async_get(hass).async_create("Mood")
    er.async_get(hass).async_update_entity(LAMP, labels={label.label_id})
    assert await async_setup_component(
        hass, "script", {"script": {"cosy": {"sequence": [{"scene": "scene.dinner"}]}}}
    )
    scene = {"name": "Dinner", "entities": {COUNTER: {"state": "on", "brightness": 128}}}
    assert await async_setup_component(hass, "scene", {"scene": [scene]})
    found = await automations(
        hass,
        knowledge,
        {"triggers": AT_TEN, "actions": [{"action": "script.cosy"}]},
        {
            "triggers": AT_TEN,
            "actions": [{"action": "light.turn_off", "target": {"label_id": label.label_id}}],
        },
    )
    by_script, by_label = found
    assert by_script.text == (
        "Auto 0. When: {trigger: time, at: 22:00:00}. Then: {action: another script}. "
        "Touches: Dinner and Kitchen Counter."
    )
    assert by_script.entity_ids == ("scene.dinner", COUNTER)
    assert (
        "Then: {action: light.turn_off, label_id: Mood}. Touches: Reading Lamp (Living Room)."
    ) in by_label.text


async def test_texts_are_bounded(hass: HomeAssistant, knowledge: HouseKnowledge) -> None:
    steps = [KITCHEN_ON, {"delay": 1}] * 200
    nested: Any = [KITCHEN_ON]
    for _ in range(20):
        nested = [{"if": [IS_DARK], "then": nested}]
    found = await automations(
        hass,
        knowledge,
        {"description": "x " * 5000, "triggers": [AT_TEN] * 50, "actions": steps},
        {"triggers": AT_TEN, "actions": nested},
    )
    assert len(found) == 2
    assert all(len(document.text) < 1500 for document in found)
    assert found[0].text.endswith("…. Touches: Kitchen Ceiling.")
    assert "…" in found[1].text


async def test_script(hass: HomeAssistant, knowledge: HouseKnowledge) -> None:
    script = {
        "alias": "Good Night",
        "description": "Everything off",
        "fields": {"delay_minutes": {"name": "Delay"}, "who": {}},
        "sequence": [LAMP_OFF, {"action": "lock.lock", "target": {"entity_id": LOCK}}],
    }
    assert await async_setup_component(hass, "script", {"script": {"good_night": script}})
    found = await documents(hass, knowledge)
    assert found["script:good_night"].text == (
        "Good Night. Everything off. Asks for: Delay and who. "
        "Does: [{action: light.turn_off, entity_id: Reading Lamp}, {action: lock.lock, "
        "entity_id: Front Door}]. "
        "Touches: Reading Lamp (Living Room) and Front Door (Living Room)."
    )


async def test_scene(hass: HomeAssistant, knowledge: HouseKnowledge) -> None:
    """Members with their states but for those not exposed; one that lives elsewhere needs exposure."""
    entities = {KITCHEN: {"state": "on", "brightness": 128}, LAMP: "off", HIDDEN: "on"}
    assert await async_setup_component(
        hass,
        "scene",
        {"scene": [{"name": "Movie", "entities": entities}, {"name": "Dark", "entities": {HIDDEN: "off"}}]},
    )
    async_expose_entity(hass, "conversation", "scene.dark", should_expose=False)
    async_expose_entity(hass, "conversation", "scene.bridge", should_expose=False)
    hass.states.async_set("scene.bridge", "unknown", {"friendly_name": "Bridge scene"})
    found = await documents(hass, knowledge)
    assert found["scene:movie"].text == (
        "Movie. Sets: [{entity_id: Kitchen Ceiling, state: on, brightness: 50 %}, "
        "{entity_id: Reading Lamp, state: off}]. "
        "Touches: Kitchen Ceiling and Reading Lamp (Living Room)."
    )
    assert "scene:dark" not in found
    assert "scene:bridge" not in found
    async_expose_entity(hass, "conversation", "scene.bridge", should_expose=True)
    assert (await documents(hass, knowledge))["scene:bridge"].text == "Bridge scene."


async def test_rooms_and_floors(hass: HomeAssistant, knowledge: HouseKnowledge) -> None:
    kitchen = ar.async_get(hass).async_get_area_by_name("Kitchen")
    assert kitchen is not None
    ar.async_get(hass).async_update(kitchen.id, aliases={"galley"})
    found = await documents(hass, knowledge)
    assert found["area:kitchen"].text == (
        "Kitchen. A room on Ground floor. Also called galley. In it: 2 lights and 1 sensor. "
        "Kitchen Ceiling, Kitchen Counter and Kitchen Temperature."
    )
    assert found["floor:ground_floor"].text == (
        "Ground floor. A floor with Kitchen and Living Room. On it: 3 lights, 1 sensor and 1 lock."
    )
    assert "Secret" not in found["area:bedroom"].text


async def test_changes_are_followed(hass: HomeAssistant, knowledge: HouseKnowledge) -> None:
    """A new automation, a new name, a hidden entity: the next look knows. A state changes nothing."""
    leave = knowledge.async_use()
    told_of: list[None] = []
    knowledge.async_listen(lambda: told_of.append(None))
    assert await async_setup_component(
        hass, "automation", {"automation": [{"alias": "One", "triggers": AT_TEN, "actions": [KITCHEN_ON]}]}
    )
    await hass.async_block_till_done()
    assert told_of
    assert "entity_id: Kitchen Ceiling" in (await knowledge.async_documents())["automation:one"].text
    er.async_get(hass).async_update_entity(KITCHEN, name="Big Lamp")
    await hass.async_block_till_done()
    assert "entity_id: Big Lamp" in (await knowledge.async_documents())["automation:one"].text
    before = await knowledge.async_documents()
    told_of.clear()
    await hass.services.async_call("light", "turn_on", {"entity_id": KITCHEN}, blocking=True)
    await hass.async_block_till_done()
    assert await knowledge.async_documents() is before
    assert not told_of
    async_expose_entity(hass, "conversation", KITCHEN, should_expose=False)
    await hass.async_block_till_done()
    assert "automation:one" not in await knowledge.async_documents()
    leave()
    await knowledge._house.async_stop()
