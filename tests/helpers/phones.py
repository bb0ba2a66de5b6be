"""Phones with the companion app, registered as they are, and a push service on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component

ASKED = {
    "notify_targets": [
        {"person": "person.anna", "targets": ["notify.mobile_app_anna"]},
        {"person": "person.ben", "targets": ["notify.mobile_app_ben"]},
    ],
    "proactive_quiet_start": "00:00:00",
    "proactive_quiet_end": "00:00:00",
}
"""Options by which Anna and Ben are asked on their phones at any time."""


class Phones:
    """The household's phones and what was pushed to them."""

    def __init__(self, hass: HomeAssistant, url: str) -> None:
        self._hass = hass
        self._url = url
        self.client: TestClient[Any, Any] | None = None
        self._hooks: dict[str, str] = {}
        self.pushed: list[dict[str, Any]] = []
        self.status = 201

    async def async_register(self, name: str, user: MockUser) -> None:
        hook = f"hook-{name}"
        entry = MockConfigEntry(
            domain="mobile_app",
            title=name,
            data={
                "app_data": {"push_token": name, "push_url": self._url},
                "app_id": "io.home",
                "app_name": "Home",
                "app_version": "1",
                "device_id": f"device-{name}",
                "device_name": name,
                "manufacturer": "Maker",
                "model": "Model",
                "os_name": "Android",
                "os_version": "16",
                "supports_encryption": False,
                "user_id": user.id,
                "webhook_id": hook,
            },
        )
        entry.add_to_hass(self._hass)
        assert await self._hass.config_entries.async_setup(entry.entry_id)
        await self._hass.async_block_till_done()
        self._hooks[name] = hook
        person = user.name.lower()
        self._hass.states.async_set(f"person.{person}", "home", {"user_id": user.id})

    def of(self, name: str) -> list[dict[str, Any]]:
        """Return what was pushed to a phone, without what every push carries."""
        extra = ("push_token", "registration_info")
        return [
            {key: value for key, value in push.items() if key not in extra}
            for push in self.pushed
            if push["push_token"] == name
        ]

    async def async_pushed(self, name: str, count: int = 1) -> dict[str, Any]:
        """Wait until so many notifications were pushed to a phone; return the last one of these."""
        async with asyncio.timeout(20):
            for _ in iter(lambda: len(self.of(name)) >= count, True):
                await asyncio.sleep(0.01)
        return self.of(name)[count - 1]

    async def async_press(self, name: str, action: str, **data: Any) -> None:
        """Press a button of a notification, as the app reports it."""
        event = {"event_type": "mobile_app_notification_action", "event_data": {"action": action, **data}}
        assert self.client
        answer = await self.client.post(
            f"/api/webhook/{self._hooks[name]}", json={"type": "fire_event", "data": event}
        )
        assert answer.status == 200
        await self._hass.async_block_till_done()


@asynccontextmanager
async def push_service(hass: HomeAssistant, connect: ClientSessionGenerator) -> AsyncIterator[Phones]:
    """Run a push service and the companion app's integration."""

    async def push(request: web.Request) -> web.Response:
        phones.pushed.append(await request.json())
        return web.json_response({"message": "no"}, status=phones.status)

    app = web.Application()
    app.router.add_post("/push", push)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    phones = Phones(hass, str(server.make_url("/push")))
    assert await async_setup_component(hass, "notify", {})
    assert await async_setup_component(hass, "mobile_app", {})
    await hass.async_block_till_done()
    assert await async_setup_component(
        hass, "ai_task", {}
    )  # brings pages that the server has to know at its start
    phones.client = await connect()
    try:
        yield phones
    finally:
        await server.close()


def buttons(push: dict[str, Any]) -> dict[str, str]:
    return {button["title"]: button["action"] for button in push["data"]["actions"]}
