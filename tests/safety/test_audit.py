"""The audit log: actions, denials and confirmations, for administrators, without codes and sentences."""

import json
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import Unauthorized
from tests.helpers.agent import Agent, async_agent, call_action
from tests.helpers.undo import LIGHT, control, undo_service
from tests.servers.model_server import ModelServer


async def audit_log(hass: HomeAssistant, context: Context | None = None, **data: Any) -> list[dict[str, Any]]:
    """Return what the service returns."""
    response = await call_action(hass, "audit_log", data, context)
    assert isinstance(response, dict)
    entries: Any = response["entries"]
    return entries


async def test_actions_and_denials(hass: HomeAssistant, agent: Agent) -> None:
    """What ran, what was refused and why, who asked; nothing of what was said."""
    reader = MockUser(is_owner=False, name="Reader").add_to_hass(hass)
    reader.mock_policy({"entities": {"all": {POLICY_READ: True}}})
    first = await agent.act(control("turn_on"), sentence="Wondrous words")
    await agent.act(control("turn_off"), context=Context(user_id=reader.id))
    denial, action = await audit_log(hass)
    assert (action["kind"], action["service"], action["targets"]) == ("action", "light.turn_on", [LIGHT])
    assert action["success"] is True
    assert action["conversation_id"] == first.conversation_id
    assert (denial["kind"], denial["service"], denial["user_id"]) == ("denial", "light.turn_off", reader.id)
    assert "may not control" in denial["reason"]
    assert "Wondrous" not in json.dumps([denial, action])


async def test_only_administrators_read_it(
    hass: HomeAssistant, model_server: ModelServer, hass_admin_user: MockUser, hass_read_only_user: MockUser
) -> None:
    """Others are refused; an automation has no user and may."""
    await async_agent(hass, model_server)
    with pytest.raises(Unauthorized):
        await audit_log(hass, Context(user_id=hass_read_only_user.id))
    assert await audit_log(hass, Context(user_id=hass_admin_user.id)) == []
    assert await audit_log(hass) == []


async def test_an_undo_is_an_action(hass: HomeAssistant, agent: Agent) -> None:
    """It is marked as one."""
    await agent.act(control("turn_on"))
    await undo_service(hass)
    newest, oldest = await audit_log(hass)
    assert newest["undo"] is True
    assert "undo" not in oldest


async def test_confirmations(hass: HomeAssistant, model_server: ModelServer) -> None:
    """What waited for a word, and how it ended."""
    agent = (await async_agent(hass, model_server, {"policy_restricted": [LIGHT]})).at_satellite()
    first = await agent.act(control("turn_on"))
    assert hass.states.get(LIGHT).state == "off"
    await agent.say("yes", conversation_id=first.conversation_id)
    assert hass.states.get(LIGHT).state == "on"
    found = await audit_log(hass, kind="confirmation")
    assert [entry["outcome"] for entry in found] == ["approved", "requested"]
    assert found[0]["targets"] == [LIGHT]
    assert (await audit_log(hass, kind="action"))[0]["service"] == "light.turn_on"
    assert set((await undo_service(hass))["restored"]) == set(), "what was restricted waits for a word again"
