"""What was called is kept: states before and after, no codes, within bounds, over a restart."""

from datetime import timedelta
import json
from typing import Any

from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.safety.journal import (
    MAX_LEDGER_ACTIONS,
    STORE_KEY,
    EarlierState,
    Journal,
    RecordedAction,
    clean_data,
)
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent
from tests.helpers.undo import LIGHT, control, undo_service


def actions(agent: Agent) -> list[RecordedAction]:
    """Return what is in the ledger, the newest first."""
    return agent.entry.runtime_data.handler.guard.journal.recent(MAX_LEDGER_ACTIONS)


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


async def test_codes_are_never_kept(hass: HomeAssistant, hass_storage: dict[str, Any], agent: Agent) -> None:
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
    assert Journal(hass, lambda: None).show(["input_text.wifi"]) == {"input_text.wifi": EarlierState("")}


async def test_a_restart(hass: HomeAssistant, hass_storage: dict[str, Any], agent: Agent) -> None:
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
