"""The policy as a generated matrix, and the ways round it that people have tried."""

from contextlib import suppress
import itertools
from typing import Any

import pytest

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.safety.rules import Effect, RuleSet
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, EventOrigin, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er, llm
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, call_action, speech
from tests.helpers.policies import SERVICES
from tests.helpers.secure_house import ENTITIES, SecureHouse, agent, ask, pending_ids  # noqa: F401 - a fixture
from tests.helpers.turns import tool_results

# action of ha_control, entity, what is called, whether it is restricted as shipped
ORIGINS = ["anna", "satellite", "automation"]
ANSWERS = [
    "yes",
    "no",
    "nothing",
    "yes elsewhere",
    "yes by another",
    "yes too late",
    "yes after a detour",
    "yes twice",
]
PATHS = ["model", "phone", "execute_tool", "llm_api"]
SATELLITE = "satellite-1"


def origin(secure: SecureHouse, name: str) -> dict[str, Any]:
    """Return how a sentence of this origin arrives."""
    if name == "satellite":
        return {"context": Context(), "device_id": SATELLITE}
    return {"context": Context(user_id=secure.anna.id if name == "anna" else None)}


async def late(hass: HomeAssistant) -> None:
    """Let everything that waits reach its end."""
    for entry in hass.config_entries.async_loaded_entries(DOMAIN):
        for action in entry.runtime_data.confirmations.pending:
            action.deadline = hass.loop.time() - 1


async def by_model(agent: Agent, secure: SecureHouse, row: tuple[Any, ...]) -> None:
    """Ask the agent, then answer its question or not."""
    (action, entity_id, _, _), who, answer = row
    came = origin(secure, who)
    call = ("ha_control", {"action": action, "entity_id": entity_id})
    asked = await ask(agent, call, said=f"{action} it", **came)
    same = {**came, "conversation_id": asked.conversation_id}
    match answer:
        case "yes":
            await agent.say("Yes, please.", **same)
        case "yes twice":
            await agent.say("Yes", **same)
            await agent.say("Yes", **same)
        case "no":
            await agent.say("No", **same)
        case "yes elsewhere":
            await agent.say("Yes", **came)
        case "yes by another":
            # Home Assistant itself keeps others out of a conversation from 2026.11 on.
            other = {"conversation_id": asked.conversation_id, "context": Context(user_id=secure.ben.id)}
            with suppress(HomeAssistantError):
                await agent.say("Yes", **other)
        case "yes too late":
            await late(agent.hass)
            await agent.say("Yes", **same)
        case "yes after a detour":
            await agent.say("What time is it?", **same)
            await agent.say("Yes", **same)


async def by_phone(agent: Agent, secure: SecureHouse, row: tuple[Any, ...]) -> None:
    """Ask the agent, then press a button of a phone's notification or not."""
    (action, entity_id, _, _), who, answer = row
    call = ("ha_control", {"action": action, "entity_id": entity_id})
    await ask(agent, call, said=f"{action} it", **origin(secure, who))
    (action_id,) = pending_ids(agent.hass) or ["01AAAAAAAAAAAAAAAAAAAAAAAA"]
    if answer == "yes too late":
        await late(agent.hass)
    if answer == "nothing":
        return
    if answer == "yes elsewhere":
        action_id = "01AAAAAAAAAAAAAAAAAAAAAAAA"
    if answer == "yes after a detour":
        await agent.entry.runtime_data.confirmations.async_stop()
    user = secure.anna
    if answer == "yes by another":
        user = secure.ben if who == "anna" else secure.reader
    button = f"HOME_AGENT_{'REJECT' if answer == 'no' else 'APPROVE'}_{action_id}"
    for _ in range(2 if answer == "yes twice" else 1):
        agent.hass.bus.async_fire(
            "mobile_app_notification_action", {"action": button}, EventOrigin.remote, Context(user_id=user.id)
        )
        await agent.hass.async_block_till_done()


async def by_call(agent: Agent, secure: SecureHouse, row: tuple[Any, ...], path: str) -> None:
    """Call the tool without a conversation, then answer by the service or not."""
    (action, entity_id, _, _), who, answer = row
    hass, came = agent.hass, origin(secure, who)
    args = {"action": action, "entity_id": entity_id}
    if path == "execute_tool":
        await call_action(
            hass, "execute_tool", {"tool_name": "ha_control", "parameters": args}, came["context"]
        )
    else:
        context = llm.LLMContext("test", came["context"], "en", "conversation", came.get("device_id"))
        instance = await llm.async_get_api(hass, DOMAIN, context)
        await instance.async_call_tool(llm.ToolInput("ha_control", args))
    (action_id,) = pending_ids(hass) or [None]
    if action_id is None or answer == "nothing":
        return
    if answer == "yes too late":
        await late(hass)
    # An unknown voice and an automation may be answered by any user who could do it with own hands.
    user = secure.ben if answer == "yes by another" else secure.anna
    if answer == "yes by another" and who != "anna":
        user = secure.reader
    service = "reject_action" if answer == "no" else "confirm_action"
    if answer in ("yes elsewhere", "yes after a detour"):
        action_id = "01AAAAAAAAAAAAAAAAAAAAAAAA"
    for _ in range(2 if answer == "yes twice" else 1):
        with suppress(HomeAssistantError):
            await hass.services.async_call(
                DOMAIN, service, {"action_id": action_id}, blocking=True, context=Context(user_id=user.id)
            )


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
async def test_matrix(hass: HomeAssistant, secure: SecureHouse, agent: Agent, path: str) -> None:
    """A restricted service runs only after an approval of exactly that, by the same person, in time, once."""
    rows = list(itertools.product(SERVICES, ORIGINS, ANSWERS))
    assert len(rows) * len(PATHS) >= 300
    wrong = []
    for row in rows:
        (_, entity_id, service, restricted), who, answer = row
        secure.reset()
        if service == "light.turn_on":
            hass.states.async_set("light.hall", "off", hass.states.get("light.hall").attributes)
        if path == "model":
            await by_model(agent, secure, row)
        elif path == "phone":
            await by_phone(agent, secure, row)
        else:
            await by_call(agent, secure, row, path)
        approved = answer in ("yes", "yes twice") and (path, who) != ("model", "automation")
        runs = [(service, (entity_id,))] if not restricted or approved else []
        if secure.moved() != runs:
            wrong.append((row, secure.moved()))
        await agent.entry.runtime_data.confirmations.async_stop()
    assert not wrong


async def test_the_question(secure: SecureHouse, agent: Agent) -> None:
    """It names action and target in the speaker's language, opens the microphone, and is not the model's."""
    for language, expected in (
        ("en", "Should I unlock the Front Door?"),
        ("de", "Soll ich Front Door aufschließen?"),
        ("fr", "Dois-je déverrouiller Front Door ?"),
    ):
        result = await ask(agent, said="Open up", language=language)
        assert speech(result) == expected
        assert result.continue_conversation is True
        assert len(secure.server.chats) == 1, "the model is not asked for the words"
    assert secure.calls == []


def script_config(**scripts: Any) -> dict[str, Any]:
    """Return scripts as configuration."""
    return {"script": {name: {"sequence": sequence} for name, sequence in scripts.items()}}


UNLOCK = {"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}}
LIGHT = {"action": "light.turn_on", "target": {"entity_id": "light.hall"}}


async def test_scripts_by_default(hass: HomeAssistant, secure: SecureHouse) -> None:
    """An exposed script is used; a stored "off" stays off, and the error names the option."""
    scripts = script_config(light_only=[LIGHT], plain=[UNLOCK])
    assert await async_setup_component(hass, "script", scripts)
    agent = await secure.async_with()
    for name in ("light_only", "plain"):
        async_expose_entity(hass, "conversation", f"script.{name}", True)
    await hass.async_block_till_done()
    for allowed, target in itertools.product(
        (True, False), ({"entity_id": "script.light_only"}, {"name": "light only"})
    ):
        if not allowed:
            await agent.set_options(allow_scripts_and_scenes=False)
        secure.reset()
        await ask(agent, ("ha_control", {"action": "activate", **target}), said="Run it")
        await hass.async_block_till_done()
        assert bool(secure.calls) is allowed
        told = str(tool_results(secure.server.chats[1]))
        assert ("Let it run scripts and scenes (allow_scripts_and_scenes)" in told) is not allowed
        assert pending_ids(hass) == []


async def test_a_room_is_not_its_scenes(hass: HomeAssistant, secure: SecureHouse) -> None:
    """Who switches a room on, or everything in it, runs no scene and no script there; those are named."""
    assert await async_setup_component(hass, "script", script_config(one=[UNLOCK], two=[UNLOCK]))
    scenes = [
        {"id": name, "name": name.title(), "entities": {"lock.front_door": "unlocked"}}
        for name in ("dim", "dark")
    ]
    assert await async_setup_component(hass, "scene", {"scene": scenes})
    await hass.async_block_till_done()
    hall = ar.async_get(hass).async_get_area_by_name("Hall")
    assert hall is not None
    agent = await secure.async_with()
    for entity_id in ("script.one", "script.two", "scene.dim", "scene.dark"):
        er.async_get(hass).async_update_entity(entity_id, area_id=hall.id)
        async_expose_entity(hass, "conversation", entity_id, True)
    await hass.async_block_till_done()
    for given, asks in (
        ({"area": "Hall"}, ""),
        ({"area": "Hall", "domain": "light"}, ""),
        ({"area": "Hall", "domain": "scene"}, ""),
        ({"area": "Hall", "domain": "script"}, ""),
        ({"domain": ["script", "scene"]}, ""),
        ({"entity_id": "scene.*"}, ""),
        ({"entity_id": "*"}, ""),
        ({"name": "scripts"}, ""),
        ({"name": "everything", "area": "Hall"}, ""),
        ({"name": "Dim"}, "Should I activate the scene Dim and unlock the Front Door?"),
        ({"name": "Dim", "area": "Hall"}, "Should I activate the scene Dim and unlock the Front Door?"),
    ):
        secure.reset()
        call = ("ha_control", {"action": "turn_on", **given})
        said = speech(await ask(agent, call, said="Switch everything in the hall on"))
        waiting = agent.entry.runtime_data.confirmations.pending
        asked = [target for action in waiting for target in action.entity_ids]
        if asks:
            assert said == asks
        else:
            assert not {"scene.dim", "scene.dark", "script.one", "script.two"} & set(asked), given
        assert ("lock.unlock", ("lock.front_door",)) not in secure.moved()
        await agent.entry.runtime_data.confirmations.async_stop()


async def test_a_group_with_a_garage_asks(hass: HomeAssistant, secure: SecureHouse) -> None:
    hass.states.async_set(
        "cover.all", "closed", {"entity_id": ["cover.blind", "cover.garage"], "supported_features": 15}
    )
    nested = {"entity_id": ["cover.all", "cover.everything"], "supported_features": 15}
    hass.states.async_set("cover.everything", "closed", nested)
    agent = await secure.async_with()
    for group in ("cover.all", "cover.everything"):
        async_expose_entity(hass, "conversation", group, True)
        call = ("ha_control", {"action": "open", "entity_id": group})
        assert speech(await ask(agent, call, said="Open all")).startswith("Should I open")
    assert secure.calls == []


async def test_an_area_asks_for_what_is_restricted(secure: SecureHouse, agent: Agent) -> None:
    """A room with a siren in it: the light goes on, the siren is asked about by name."""
    hall = ("ha_control", {"action": "turn_on", "area": "Hall"})
    result = await ask(agent, hall, said="Everything in the hall on")
    assert "siren.turn_on" not in dict(secure.moved())
    if pending_ids(secure.hass):
        assert "Roof" in speech(result)


async def became(agent: Agent, secure: SecureHouse, action: str, entity_id: str, **came: Any) -> str:
    """Have the model do something; return whether it runs, asks or is blocked."""
    secure.reset()
    if action == "turn_off":
        agent.hass.states.async_set(entity_id, "on", ENTITIES[entity_id][1])
    call = ("ha_control", {"action": action, "entity_id": entity_id})
    asked = speech(await ask(agent, call, said="Do it", **came)).startswith("Should I")
    return "asks" if asked else "runs" if secure.calls else "blocked"


async def test_rules_for_some(hass: HomeAssistant, secure: SecureHouse) -> None:
    """A child's rules hold for the person and for the device, and not for others."""
    hass.states.async_set("person.anna", "home", {"user_id": secure.anna.id})
    anna, ben = ["person.anna"], [f"user:{secure.ben.id}"]
    rules = [
        {"decision": "only", "kinds": ["light"], "whom": anna},
        {"decision": "ask", "kinds": ["light.turn_off"], "whom": anna},
        {"decision": "never", "entities": ["switch.oven"], "whom": ["device:tablet"]},
        {"decision": "always", "kinds": ["lock.unlock"], "whom": ben},
    ]
    agent = await secure.async_with({"policy_choices": rules})
    anna, ben = Context(user_id=secure.anna.id), Context(user_id=secure.ben.id)
    cases: list[tuple[dict[str, Any], str, str, str]] = [
        ({"context": anna}, "turn_on", "light.hall", "runs"),
        ({"context": anna}, "turn_off", "light.hall", "asks"),
        ({"context": anna}, "turn_on", "switch.oven", "blocked"),
        ({"context": anna}, "lock", "lock.front_door", "blocked"),
        ({"context": ben}, "turn_on", "switch.oven", "runs"),
        ({"context": ben}, "unlock", "lock.front_door", "runs"),
        ({"context": ben}, "open", "cover.garage", "asks"),
        ({"device_id": "tablet"}, "turn_on", "switch.oven", "blocked"),
        ({"device_id": "tablet", "context": ben}, "turn_on", "switch.oven", "blocked"),
        ({"device_id": "tablet"}, "turn_on", "light.hall", "runs"),
        ({"device_id": "other"}, "turn_on", "switch.oven", "runs"),
    ]
    for came, action, entity_id, expected in cases:
        assert await became(agent, secure, action, entity_id, **came) == expected, (came, action, entity_id)


async def test_options(secure: SecureHouse) -> None:
    """Blocked beats everything, restricted adds, allowed takes away what is shipped."""
    options = {
        "policy_blocked": ["siren", "lock.front_door"],
        "policy_restricted": ["switch.oven", "light.turn_off"],
        "policy_allowed": ["cover:garage", "siren", "valve.*"],
    }
    agent = await secure.async_with(options)
    for action, entity_id, expected in (
        ("turn_on", "siren.roof", "blocked"),
        ("lock", "lock.front_door", "blocked"),
        ("turn_on", "switch.oven", "asks"),
        ("turn_off", "light.hall", "asks"),
        ("open", "cover.garage", "runs"),
        ("open", "valve.water", "runs"),
        ("disarm", "alarm_control_panel.home", "asks"),
    ):
        assert await became(agent, secure, action, entity_id) == expected, (action, entity_id)


def test_rules() -> None:
    garage = Effect("cover", "open_cover", "cover.left", "garage")
    for rule, fits in {
        "cover": True,
        "cover.*": True,
        "cover.open_cover": True,
        "cover.left": True,
        "cover:garage": True,
        "cover:garage.open*": True,
        "cover:gate": False,
        "cover.right": False,
        "cover.close_cover": False,
        "light": False,
        "*": True,
        "tool:cover": False,
        "not a rule": False,
    }.items():
        assert RuleSet([rule]).fits(garage) is fits, rule
    closing = RuleSet(["cover:garage"], ["cover:garage.close_cover*"])
    assert not closing.fits(Effect("cover", "close_cover", "cover.left", "garage"))
    assert closing.fits(Effect("cover", "open_cover", "cover.close_cover", "garage")), "a door of this name"
