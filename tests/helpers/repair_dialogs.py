"""The dialogs of repair issues."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import CLIENT_ID, MockUser, async_fire_time_changed
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.watching.unmatched import CALM_SECONDS
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util


class Dialog:
    """What Home Assistant's dialog asks of a flow, as one user."""

    def __init__(self, hass: HomeAssistant, client: Any) -> None:
        self.hass = hass
        self.client = client

    async def open(self, issue_id: str) -> dict[str, Any]:
        return await self._post("/api/repairs/issues/fix", handler=DOMAIN, issue_id=issue_id)

    async def go_on(self, shown: dict[str, Any], option: str | None = None) -> dict[str, Any]:
        """Press the button, or an entry of a menu."""
        chosen = {"next_step_id": option} if option else {}
        found = await self._post(f"/api/repairs/issues/fix/{shown['flow_id']}", **chosen)
        await self.hass.async_block_till_done(wait_background_tasks=True)
        return found

    async def mend(self, issue_id: str) -> dict[str, Any]:
        return await self.go_on(await self.open(issue_id))

    async def _post(self, path: str, **data: str) -> dict[str, Any]:
        response = await self.client.post(path, json=data)
        assert response.status == HTTPStatus.OK, await response.text()
        return dict(await response.json())


type Dialogs = Callable[..., Awaitable[Dialog]]


@pytest.fixture
async def dialog(
    hass: HomeAssistant, hass_client: ClientSessionGenerator, hass_admin_user: MockUser
) -> Dialogs:
    """Return what opens the dialog, for an administrator if nobody else is named."""

    async def opened(user: MockUser = hass_admin_user) -> Dialog:
        assert await async_setup_component(hass, "repairs", {})
        refresh = await hass.auth.async_create_refresh_token(user, CLIENT_ID)
        return Dialog(hass, await hass_client(hass.auth.async_create_access_token(refresh)))

    return opened


def issues(hass: HomeAssistant, key: str) -> list[str]:
    """Return the ids of the issues of one kind that are shown."""
    found = ir.async_get(hass).issues.values()
    return [item.issue_id for item in found if item.active and item.translation_key == key]


def only(hass: HomeAssistant, key: str) -> str:
    """Return the id of the one issue of a kind."""
    (found,) = issues(hass, key)
    return found


async def settle(hass: HomeAssistant) -> None:
    """Let what waits for calm look at the names in options."""
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=CALM_SECONDS + 1))
    await hass.async_block_till_done(wait_background_tasks=True)
