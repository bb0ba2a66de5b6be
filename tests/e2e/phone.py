"""A phone with the companion app: its registration, its push channel and its webhook."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from scripts.lib.client import Client, Json

SECONDS = 20
HOME = [52.37, 4.89]
"""Where the demo house is; degrees."""
AWAY = [52.0, 5.0]
REGISTRATION = {
    "app_data": {"push_websocket_channel": True},
    "app_id": "io.home",
    "app_name": "Home",
    "app_version": "1",
    "device_id": "phone-1",
    "device_name": "Phone",
    "manufacturer": "Maker",
    "model": "Model",
    "os_name": "Android",
    "os_version": "16",
    "supports_encryption": False,
}


class Phone:
    """The phone of the user who is logged in."""

    def __init__(self, client: Client, hook: str) -> None:
        self._client = client
        self.hook = hook
        self._pushed: asyncio.Queue[Json] = asyncio.Queue()

    async def pushed(self, words: str) -> Json:
        """Return the next notification with these words. Raises TimeoutError."""
        async with asyncio.timeout(SECONDS):
            while True:
                notification = await self._pushed.get()
                if words in notification["message"]:
                    return notification

    async def press(self, notification: Json, title: str) -> None:
        buttons = {button["title"]: button["action"] for button in notification["data"]["actions"]}
        data = {"action": buttons[title], "reply_text": ""}
        await self._send("fire_event", {"event_type": "mobile_app_notification_action", "event_data": data})

    async def go(self, place: list[float]) -> None:
        await self._send("update_location", {"gps": place, "gps_accuracy": 10})

    async def _send(self, kind: str, data: dict[str, Any]) -> None:
        await self._client.rest("POST", f"webhook/{self.hook}", {"type": kind, "data": data})

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Receive notifications, as the app does while it is connected."""

        async def receive(events: AsyncIterator[Json]) -> None:
            async for event in events:
                self._pushed.put_nowait(event)

        async with self._client.subscribe(
            "mobile_app/push_notification_channel", webhook_id=self.hook
        ) as events:
            receiving = asyncio.create_task(receive(events))
            try:
                yield
            finally:
                receiving.cancel()


async def register(client: Client) -> str:
    """Register a phone of the user who is logged in; return its webhook."""
    return str((await client.rest("POST", "mobile_app/registrations", REGISTRATION))["webhook_id"])
