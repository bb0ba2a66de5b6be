"""What is remembered, by actions: one's own for everybody, all for administrators."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from homeassistant.auth.const import GROUP_ID_USER
from homeassistant.auth.models import Group
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.setup import async_setup_component
from tests.helpers.agent import async_agent, call_action
from tests.servers.model_server import ModelServer


@pytest.fixture
async def users(hass: HomeAssistant, model_server: ModelServer) -> dict[str, Context]:
    """Anna and Ben, who are persons and no administrators, and an agent."""
    group = Group(id=GROUP_ID_USER, name="Users", policy={})
    found = {name: MockUser(name=name, groups=[group]).add_to_hass(hass).id for name in ("anna", "ben")}
    people = [{"id": f"p-{name}", "name": name.title(), "user_id": user} for name, user in found.items()]
    assert await async_setup_component(hass, "person", {"person": people})
    await async_agent(hass, model_server)
    return {name: Context(user_id=user) for name, user in found.items()}


async def run(
    hass: HomeAssistant, service: str, context: Context | None = None, **data: Any
) -> dict[str, Any]:
    """Call a service and return its response."""
    response = await call_action(hass, service, data, context)
    assert isinstance(response, dict)
    return response


async def contents(hass: HomeAssistant, context: Context | None = None, **data: Any) -> list[Any]:
    """Return what a caller gets listed."""
    return [item["content"] for item in (await run(hass, "list_memories", context, **data))["memories"]]


async def test_what_is_added_is_listed_and_found(hass: HomeAssistant, users: dict[str, Context]) -> None:
    """With everything that is known of it."""
    added = await run(
        hass, "add_memory", users["anna"], content="Anna sings", type="preference", person="person.anna"
    )
    await run(hass, "add_memory", content="The bins go out on Tuesday", importance=0.9)
    assert await contents(hass) == ["The bins go out on Tuesday", "Anna sings"]
    assert await contents(hass, memory_type="preference") == ["Anna sings"]
    assert await contents(hass, person="Anna") == ["Anna sings"]
    assert await contents(hass, limit=1) == ["The bins go out on Tuesday"]
    found = await run(hass, "search_memories", query="who sings?")
    (memory,) = found["memories"]
    assert memory["id"] == added["memory_id"]
    assert memory["source"] == "told"
    assert memory["person"] == "p-anna"
    assert memory["told_by"][0]["person"] == "p-anna"
    assert 0 < memory["relevance_score"] <= 1
    assert (await run(hass, "search_memories", query="sings", min_importance=0.8))["total"] == 0


async def test_clear(hass: HomeAssistant, users: dict[str, Context]) -> None:
    """Only when it is confirmed; one's own without an administrator."""
    await run(hass, "add_memory", content="Something of Anna", person="anna")
    await run(hass, "add_memory", content="Something of Ben", person="ben")
    await run(hass, "add_memory", content="Something of all")
    with pytest.raises(ServiceValidationError, match="confirm"):
        await run(hass, "clear_memories", confirm=False)
    cleared = await run(hass, "clear_memories", users["anna"], confirm=True, person="person.anna")
    assert cleared == {"deleted_count": 1}
    await run(hass, "add_memory", content="Trains interest Ben", person="ben")
    assert await run(hass, "clear_memories", users["ben"], confirm=True) == {"deleted_count": 2}
    assert await contents(hass) == ["Something of all"]
    await run(hass, "add_memory", content="Sailing interests Ben", person="ben")
    assert await run(hass, "clear_memories", confirm=True) == {"deleted_count": 2}
    assert await contents(hass) == []


async def test_what_is_wrong_is_said(hass: HomeAssistant, users: dict[str, Context]) -> None:
    """In a sentence that says what to change."""
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("list_memories", {"person": "zoe"}, "no person zoe"),
        ("delete_memory", {"memory_id": "x"}, "no memory x"),
        ("add_memory", {"content": "  "}, "nothing to remember"),
    ]
    for service, data, error in wrong:
        with pytest.raises(HomeAssistantError, match=error):
            await run(hass, service, **data)


async def test_an_administrator_says_that_all_are_meant(
    hass: HomeAssistant, users: dict[str, Context], hass_admin_user: MockUser
) -> None:
    """An administrator without memories of their own deletes nothing, unless everybody is meant."""
    await run(hass, "add_memory", content="Something of all")
    admin = Context(user_id=hass_admin_user.id)
    assert await run(hass, "clear_memories", admin, confirm=True) == {"deleted_count": 0}
    assert await contents(hass) == ["Something of all"]
    assert await run(hass, "clear_memories", admin, confirm=True, everybody=True) == {"deleted_count": 1}


async def test_nothing_is_stored_while_memory_is_off(hass: HomeAssistant, model_server: ModelServer) -> None:
    """The action says where to turn it on."""
    await async_agent(hass, model_server, {"memory_enabled": False})
    with pytest.raises(ServiceValidationError) as raised:
        await run(hass, "add_memory", content="We sing on Sundays")
    assert raised.value.translation_key == "memory_off"
    assert await contents(hass) == []
