"""What was called is kept: states before and after, no codes, within bounds, over a restart."""

from datetime import timedelta
import json
from typing import Any

from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.safety.journal import (
    MAX_LEDGER_ACTIONS,
    MAX_STATES,
    MAX_STORED,
    STORE_KEY,
    EarlierState,
    Ledger,
    RecordedAction,
    clean_data,
)
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, async_agent
from tests.helpers.undo import LIGHT, control, undo_service
from tests.servers.model_server import ModelServer


def actions(agent: Agent) -> list[RecordedAction]:
    """Return what is in the ledger, the newest first."""
    return agent.entry.runtime_data.handler.guard.journal.ledger.recent(MAX_LEDGER_ACTIONS)


def an_action(number: int, entities: int = 1) -> RecordedAction:
    """Return a call on so many entities."""
    ids = tuple(f"light.a{index}" for index in range(entities))
    return RecordedAction(
        at=dt_util.utcnow(),
        turn_id=f"turn {number}",
        conversation_id="c",
        user_id=None,
        device_id=None,
        context_id="x",
        domain="light",
        service="turn_on",
        entity_ids=ids,
        data={},
        before={entity_id: EarlierState("off") for entity_id in ids},
    )


async def test_a_call_is_kept(agent: Agent) -> None:
    """Who asked, what was called, and what it did."""
    context = Context()
    result = await agent.act(control("turn_on", brightness_pct=40), context=context)
    (action,) = actions(agent)
    assert (action.domain, action.service, action.entity_ids) == ("light", "turn_on", (LIGHT,))
    assert action.conversation_id == result.conversation_id
    assert action.context_id == context.id
    assert action.success
    assert action.before[LIGHT].state == "off"
    assert action.after[LIGHT].state == "on"
    assert action.after[LIGHT].attributes["brightness"] == 102


async def test_a_question_leaves_nothing(agent: Agent) -> None:
    """Reading is not recorded as an action."""
    await agent.act(("ha_query", {"entity_id": LIGHT}), sentence="Is it on?")
    assert actions(agent) == []


async def test_a_failed_call_is_kept_as_failed(hass: HomeAssistant, agent: Agent) -> None:
    """With its reason, and it is nothing to undo."""

    async def fail(_call: ServiceCall) -> None:
        raise HomeAssistantError("bridge unreachable")

    hass.services.async_register("light", "turn_on", fail)
    await agent.act(control("turn_on"))
    (action,) = actions(agent)
    assert not action.success
    assert "bridge unreachable" in (action.error or "")
    assert (await undo_service(hass))["restored"] == {}


async def test_codes_are_never_kept(
    hass: HomeAssistant, model_server: ModelServer, hass_storage: dict[str, Any], agent: Agent
) -> None:
    """Neither in memory nor on disk."""
    hass.states.async_set("lock.shed", "unlocked", {})
    async_expose_entity(hass, "conversation", "lock.shed", True)
    given: list[str] = []

    async def lock(call: ServiceCall) -> None:
        given.append(call.data["code"])
        hass.states.async_set("lock.shed", "locked", context=call.context)

    hass.services.async_register("lock", "lock", lock)
    await hass.async_block_till_done()
    await agent.act(control("lock", "lock.shed", code="483920"), sentence="Lock the shed with 483920")
    assert given == ["483920"], "the lock itself gets it"
    assert actions(agent)[0].entity_ids == ("lock.shed",)
    await agent.entry.runtime_data.shared.journals.async_flush()
    assert "lock.shed" in json.dumps(hass_storage[STORE_KEY])
    assert "483920" not in json.dumps(hass_storage[STORE_KEY])
    assert clean_data({"code": "1", "alarm_code": "2", "api_key": "3", "volume_level": 0.5}) == {
        "volume_level": 0.5
    }


async def test_passwords_are_never_kept(hass: HomeAssistant) -> None:
    """What stands in a password field is not read."""
    hass.states.async_set("input_text.wifi", "geheim", {"mode": "password"})
    assert Ledger(hass).show(["input_text.wifi"]) == {"input_text.wifi": EarlierState("")}


async def test_bounds(hass: HomeAssistant) -> None:
    """The number of calls and of states is limited; the newest stay."""
    ledger = Ledger(hass)
    for number in range(MAX_LEDGER_ACTIONS + 50):
        ledger.add(an_action(number))
    assert len(ledger.recent(1000)) == MAX_LEDGER_ACTIONS
    assert ledger.recent(1)[0].turn_id == f"turn {MAX_LEDGER_ACTIONS + 49}"
    for number in range(50):
        ledger.add(an_action(number, entities=200))
    assert sum(len(action.before) for action in ledger.recent(1000)) <= MAX_STATES
    assert len(ledger.stored()) <= MAX_STORED


async def test_a_restart(
    hass: HomeAssistant, model_server: ModelServer, hass_storage: dict[str, Any], agent: Agent
) -> None:
    """The last calls are written soon, read again, and can still be put back."""
    await agent.act(control("turn_on"))
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=30))
    await hass.async_block_till_done(wait_background_tasks=True)
    assert STORE_KEY in hass_storage
    journals = agent.entry.runtime_data.shared.journals
    journals._entries.clear()
    await journals.async_load()
    assert await hass.config_entries.async_reload(agent.entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert actions(agent)[0].entity_ids == (LIGHT,)
    assert set((await undo_service(hass))["restored"]) == {LIGHT}
    assert hass.states.get(LIGHT).state == "off"


async def test_a_broken_store_is_kept_aside(
    hass: HomeAssistant, model_server: ModelServer, hass_storage: dict[str, Any]
) -> None:
    """The agent starts with an empty ledger and works."""
    hass_storage[STORE_KEY] = {
        "version": 1,
        "minor_version": 1,
        "key": STORE_KEY,
        "data": {"entries": {"x": {"ledger": [{"at": 5}], "audit": []}}},
    }
    agent = await async_agent(hass, model_server)
    await agent.act(control("turn_on"))
    assert len(actions(agent)) == 1


async def test_removal_forgets(
    hass: HomeAssistant, model_server: ModelServer, hass_storage: dict[str, Any], agent: Agent
) -> None:
    """Nothing of a removed agent stays on disk."""
    await agent.act(control("turn_on"))
    await hass.config_entries.async_remove(agent.entry.entry_id)
    await hass.async_block_till_done()
    assert agent.entry.entry_id not in json.dumps(hass_storage)
