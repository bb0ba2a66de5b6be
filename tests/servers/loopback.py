"""An HTTP server on loopback that does what a real one never should: hang, reset, cut characters in half.

It runs in a thread with an event loop of its own, so that a blocked Home Assistant shows.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
import contextlib
from dataclasses import dataclass, field
from http import HTTPStatus
import json
import socket
import struct
import threading
import time
from typing import Any, Self

from .replies import Fault, Reply, Signal

KEPT_REQUESTS = 20_000
REASONS = {code.value: code.phrase for code in HTTPStatus}


@dataclass(slots=True, eq=False)
class Captured:
    """A request as it arrived, and when its answer left (monotonic seconds)."""

    number: int
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    raw: bytes
    received: float
    first_byte: float | None = None
    last_byte: float | None = None
    reached_fault: Signal = field(default_factory=Signal)
    gone: Signal = field(default_factory=Signal)
    done: Signal = field(default_factory=Signal)

    @property
    def json(self) -> Any:
        """Return the body, decoded; None if it is not JSON."""
        try:
            return json.loads(self.raw)
        except ValueError:
            return None

    @property
    def messages(self) -> list[dict[str, Any]]:
        return (self.json or {}).get("messages") or []

    @property
    def is_chat(self) -> bool:
        """Tell whether this asks for a chat completion."""
        return self.path.endswith(("/chat/completions", "/api/chat"))

    def summary(self) -> dict[str, Any]:
        """Return what a benchmark needs to know."""
        times = {"received": self.received, "first_byte": self.first_byte, "last_byte": self.last_byte}
        return {"method": self.method, "path": self.path, "bytes": len(self.raw), **times}


@dataclass(slots=True, frozen=True)
class Rendered:
    """A body as it goes over the wire: whole, or in events."""

    content_type: str
    whole: bytes | None = None
    events: Iterable[bytes] = ()
    error: bytes = b""


class LoopbackServer:
    """Listens, captures, answers; a subclass says what."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.requests: list[Captured] = []
        self.connections = 0
        self._count = 0
        self._arrivals: list[tuple[int, Signal]] = []
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._connections: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None

    def choose(self, request: Captured) -> Reply:
        raise NotImplementedError

    def render(self, request: Captured, reply: Reply) -> Rendered:
        """Return the reply as bytes."""
        raise NotImplementedError

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def arrived(self, count: int) -> Captured:
        """Wait until that many requests were captured and return the newest of them."""
        with self._lock:
            signal = Signal()
            self._arrivals.append((count, signal))
            self._announce()
        await signal.wait()
        return self.requests[count - 1]

    def start(self) -> Self:
        """Listen, in a thread of our own."""
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready.set,), name="model-server", daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def stop(self) -> None:
        """Drop every connection and end the thread."""
        if self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def serve_forever(self, ready: Callable[[], object]) -> None:
        """Serve in this thread until interrupted; `ready` is called once it listens."""
        with contextlib.suppress(KeyboardInterrupt):
            self._run(ready)

    def _run(self, ready: Callable[[], object]) -> None:
        loop = self._loop
        listen = asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=1 << 20)
        server = loop.run_until_complete(listen)
        self.port = server.sockets[0].getsockname()[1]
        ready()
        try:
            loop.run_forever()
        finally:
            server.close()
            loop.run_until_complete(self._hang_up())
            loop.close()

    async def _hang_up(self) -> None:
        if tasks := list(self._connections):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        self.connections += 1
        try:
            while request := await self._read(reader):
                if not await self._respond(request, reader, writer):
                    break
        except ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError:
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Captured | None:
        """Read one request; None when the client has gone."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError, ConnectionError:
            return None
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
        }
        body = await reader.readexactly(int(headers.get("content-length") or 0))
        path, _, query = target.partition("?")
        with self._lock:
            self._count += 1
            request = Captured(self._count, method, path, query, headers, body, time.perf_counter())
            if not path.startswith("/_"):
                self.requests.append(request)
                del self.requests[:-KEPT_REQUESTS]
                self._announce()
        return request

    def _announce(self) -> None:
        for count, signal in self._arrivals:
            if len(self.requests) >= count:
                signal.set()

    async def _respond(
        self, request: Captured, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Send the answer; return whether the connection may be used again."""
        reply = self.choose(request)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        try:
            return await self._send(request, reply, reader, writer)
        except ConnectionError:
            request.gone.set()
            return False
        finally:
            request.last_byte = time.perf_counter()
            request.done.set()

    async def _send(
        self, request: Captured, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Write head and body with the faults that were asked for; return whether all of it was sent."""

        async def survives(sent: int) -> bool:
            return sent != reply.fault_at or await self._fail(request, reply, error, reader, writer)

        rendered = self.render(request, reply)
        error = rendered.error
        if not await survives(-1):
            return False
        if rendered.whole is not None:
            half = (
                len(rendered.whole) // 2
                if reply.fault_at is not None and reply.fault is not Fault.ERROR
                else 0
            )
            writer.write(_head(reply, rendered.content_type, len(rendered.whole)) + rendered.whole[:half])
            request.first_byte = time.perf_counter()
            if half and not await survives(reply.fault_at or 0):
                return False
            writer.write(rendered.whole[half:])
            await writer.drain()
            return True
        writer.write(_head(reply, rendered.content_type, None))
        sent = 0
        for event in rendered.events:
            if not await survives(sent):
                return False
            await _write(writer, event, reply.piece_size)
            request.first_byte = request.first_byte or time.perf_counter()
            sent += 1
            if reply.gap:
                await asyncio.sleep(reply.gap)
        if not await survives(sent):
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _fail(
        self,
        request: Captured,
        reply: Reply,
        error: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """Do what the reply's fault says; return whether to go on."""
        await writer.drain()
        request.reached_fault.set()
        match reply.fault:
            case Fault.HANG:
                return await self._hang(request, reply, reader)
            case Fault.ERROR:
                await _write(writer, error, None)
                writer.write(b"0\r\n\r\n")
                await writer.drain()
            case Fault.RESET:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            case _:
                pass
        return False

    async def _hang(self, request: Captured, reply: Reply, reader: asyncio.StreamReader) -> bool:
        """Wait for the release or for the client to give up; return whether to go on."""
        released = asyncio.ensure_future(reply.release.wait(600))
        closed = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({released, closed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            released.cancel()
            if not (gone := closed.done()):
                closed.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await closed
        if gone:
            request.gone.set()
        return not gone


def _head(reply: Reply, content_type: str, length: int | None) -> bytes:
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    lines = [
        f"HTTP/1.1 {reply.status} {REASONS.get(reply.status, 'Status')}",
        f"Content-Type: {content_type}",
        size,
    ]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _write(writer: asyncio.StreamWriter, data: bytes, piece_size: int | None) -> None:
    size = piece_size or len(data) or 1
    for start in range(0, len(data), size):
        piece = data[start : start + size]
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await writer.drain()
