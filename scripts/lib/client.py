"""Home Assistant from outside: onboarding, REST, websocket commands and subscriptions."""

import asyncio
from collections.abc import AsyncIterator
import contextlib
import itertools
import time
from typing import Any, Self

import aiohttp

USERNAME = "demo"
PASSWORD = "demo-demo"  # noqa: S105 - of a throw-away house on loopback
RUNNING_SECONDS = 120
COMMAND_SECONDS = 60
EVENT_SECONDS = 240

type Json = dict[str, Any]


class CallError(RuntimeError):
    """Home Assistant refused a call."""


async def onboard(url: str) -> str:
    """Create the owner, which ends onboarding, and return a long-lived token."""
    client_id = f"{url}/"
    owner = {
        "client_id": client_id,
        "name": "Demo",
        "username": USERNAME,
        "password": PASSWORD,
        "language": "en",
    }
    async with aiohttp.ClientSession(url, raise_for_status=True) as session:
        async with session.post("/api/onboarding/users", json=owner) as response:
            code = (await response.json())["auth_code"]
        form = {"client_id": client_id, "grant_type": "authorization_code", "code": code}
        async with session.post("/auth/token", data=form) as response:
            token = (await response.json())["access_token"]
    async with Client(url, token) as client:
        name = f"demo {time.time()}"
        return str(await client.command("auth/long_lived_access_token", client_name=name, lifespan=3650))


class Client:
    """One logged-in connection. Use it with `async with`."""

    def __init__(self, url: str, token: str) -> None:
        """Remember where and as whom."""
        self._session = aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {token}"})
        self._token = token
        self._ids = itertools.count(1)
        self._queues: dict[int, asyncio.Queue[Json]] = {}
        self._ws: aiohttp.ClientWebSocketResponse
        self._reader: asyncio.Task[None]

    async def __aenter__(self) -> Self:
        self._ws = await self._session.ws_connect("/api/websocket", max_msg_size=0)
        await self._ws.receive_json()
        await self._ws.send_json({"type": "auth", "access_token": self._token})
        if (reply := await self._ws.receive_json())["type"] != "auth_ok":
            await self._session.close()
            raise CallError(f"login: {reply.get('message')}")
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader
        await self._ws.close()
        await self._session.close()

    async def _read(self) -> None:
        async for message in self._ws:
            for part in parts if isinstance(parts := message.json(), list) else [parts]:
                if queue := self._queues.get(part["id"]):
                    queue.put_nowait(part)
        for number, queue in self._queues.items():
            queue.put_nowait({"id": number, "type": "result", "success": False, "error": "connection closed"})

    async def _send(self, kind: str, body: Json) -> tuple[int, asyncio.Queue[Json]]:
        number = next(self._ids)
        queue = self._queues[number] = asyncio.Queue()
        await self._ws.send_json({"id": number, "type": kind, **body})
        return number, queue

    async def command(self, kind: str, **body: Any) -> Any:
        """Run a websocket command; return its result. Raises CallError."""
        number, queue = await self._send(kind, body)
        try:
            return _result(kind, await asyncio.wait_for(queue.get(), COMMAND_SECONDS))
        finally:
            del self._queues[number]

    @contextlib.asynccontextmanager
    async def subscribe(self, kind: str, **body: Any) -> AsyncIterator[AsyncIterator[Json]]:
        """Run a subscribing command; give its events; TimeoutError when none comes for EVENT_SECONDS."""
        number, queue = await self._send(kind, body)

        async def events() -> AsyncIterator[Json]:
            while True:
                message = await asyncio.wait_for(queue.get(), EVENT_SECONDS)
                if message["type"] == "event":
                    yield message["event"]
                else:
                    _result(kind, message)

        try:
            _result(kind, await asyncio.wait_for(queue.get(), COMMAND_SECONDS))
            yield events()
        finally:
            del self._queues[number]

    async def rest(self, method: str, path: str, body: Json | None = None) -> Any:
        """Call the REST API; return its JSON. Raises CallError."""
        async with self._session.request(method, f"/api/{path}", json=body) as response:
            if not response.ok:
                raise CallError(f"{method} {path}: {response.status} {(await response.text())[:300]}")
            return await response.json()

    async def wait_running(self) -> None:
        """Wait until Home Assistant has started everything. Raises CallError."""
        deadline = time.monotonic() + RUNNING_SECONDS
        while (config := await self.rest("GET", "config"))["state"] != "RUNNING":
            if time.monotonic() > deadline:
                raise CallError(f"Home Assistant is still {config['state']} after {RUNNING_SECONDS} s")
            await asyncio.sleep(0.1)
        if config.get("recovery_mode"):
            raise CallError("Home Assistant started in recovery mode: its log says what is missing")

    async def state(self, entity_id: str) -> Json:
        """Return state and attributes of an entity."""
        return dict(await self.rest("GET", f"states/{entity_id}"))

    async def call(self, action: str, data: Json | None = None, *, response: bool = False) -> Any:
        """Call an action such as light.turn_on; return its response if it has one."""
        domain, service = action.split(".")
        query = "?return_response" if response else ""
        result = await self.rest("POST", f"services/{domain}/{service}{query}", data or {})
        return result["service_response"] if response else result


def _result(kind: str, message: Json) -> Any:
    if not message.get("success"):
        raise CallError(f"{kind}: {message.get('error')}")
    return message["result"]
