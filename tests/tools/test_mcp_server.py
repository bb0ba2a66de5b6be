"""Our tools in the hands of MCP clients: Home Assistant's own server serves them, through our guard."""

from typing import Any

from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.const import DOMAIN
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.secure_house import SecureHouse, pending_ids
from tests.servers.model_server import ModelServer

JSON = {"Accept": "application/json", "Content-Type": "application/json"}


async def test_mcp_clients_pass_our_guard(
    hass: HomeAssistant, model_server: ModelServer, hass_client: ClientSessionGenerator, hass_admin_user: Any
) -> None:
    """A lamp is switched in the client's name, a lock waits for a person, what is hidden stays hidden."""
    secure = SecureHouse(hass)
    await secure.async_build()
    await secure.async_agent(model_server)
    assert await async_setup_component(hass, "mcp_server", {})
    entry = MockConfigEntry(
        domain="mcp_server", data={"llm_hass_api": [DOMAIN], "require_admin": False, "stateless": True}
    )
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    client = await hass_client()

    async def call(entity_id: str, action: str) -> str:
        params = {"name": "ha_control", "arguments": {"action": action, "entity_id": entity_id}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await client.post(f"/api/mcp/{DOMAIN}", json=body, headers=JSON)
        assert answer.status == 200
        return await answer.text()

    answer = await call("light.hall", "turn_on")
    assert '"isError": false' in answer, answer
    assert secure.moved() == [("light.turn_on", ("light.hall",))]
    assert secure.calls[0].context.user_id == hass_admin_user.id
    assert "confirmation" in await call("lock.front_door", "unlock")
    await call("lock.cellar", "unlock")
    assert len(secure.calls) == 1
    (action_id,) = pending_ids(hass)
    await hass.services.async_call(
        DOMAIN,
        "confirm_action",
        {"action_id": action_id},
        blocking=True,
        context=Context(user_id=hass_admin_user.id),
    )
    assert secure.moved()[1:] == [("lock.unlock", ("lock.front_door",))]
