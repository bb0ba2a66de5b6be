"""Q1: several speakers at once on one model server, with the shared queue and without it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import mean
from time import monotonic
from typing import Any, Final, override

from custom_components.home_agent.connection import server_queue
from custom_components.home_agent.inference.models import ChatRequest, ModelServerError, background
from custom_components.home_agent.runtime import HomeAgentData
from homeassistant.components import conversation
from homeassistant.core import Context, Event, HomeAssistant, callback
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer, on_path
from tests.servers.replies import status, text

from .harness import add_ours, running_home, settle
from .report import Table, middle, p95

SPEAKERS: Final = (1, 4, 16)
SLOTS: Final = (1, 4)
SENTENCES: Final = 2
"""Of each speaker, one after the other."""
PROMPT_SECONDS: Final = 0.15
TOKENS: Final = 20
TOKEN_SECONDS: Final = 0.02
WORK_SECONDS: Final = 1.5
"""Of a request for memories."""
WORK: Final = 4
"""Requests for memories that are there when the speakers begin."""


class SlottedServer(ModelServer):
    """Answers as many requests at a time as it has slots, the others in the order in which they arrive."""

    def __init__(self, slots: int) -> None:
        super().__init__()
        self._slots = asyncio.Semaphore(slots)
        self.on(on_path("/props"), status(200, {"total_slots": slots}))
        self.default = lambda request: (
            text("[]", delay=WORK_SECONDS)
            if _is_work(request)
            else text(chunks=["word "] * TOKENS, delay=PROMPT_SECONDS, gap=TOKEN_SECONDS)
        )

    @override
    async def _respond(
        self, request: Captured, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        if not request.is_chat:
            return await super()._respond(request, reader, writer)
        async with self._slots:
            answering = asyncio.ensure_future(super()._respond(request, reader, writer))
            gone = asyncio.ensure_future(reader.read(1))  # real servers stop when nobody listens any more
            try:
                await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
                return answering.done() and answering.result()
            finally:
                answering.cancel()
                gone.cancel()
                await asyncio.wait({answering, gone})


def _is_work(request: Captured) -> bool:
    return bool(request.messages) and request.messages[-1]["content"] == "memories"


@dataclass(slots=True)
class _Measured:
    """What the speakers and the work waited for, in seconds."""

    first: dict[str, list[float]] = field(default_factory=dict)
    """Until the first word, by speaker."""
    refused: int = 0
    work: list[float] = field(default_factory=list)


async def run() -> list[Table]:
    """Measure and return the table."""
    columns = ("speakers", "slots", "queue", "median", "p95", "slowest speaker", "told to wait", "memories")
    table = Table("Q1", "s until the first word, with several speakers at once", columns)
    for slots in SLOTS:
        for speakers in SPEAKERS:
            for queued in (True, False):
                with SlottedServer(slots) as server:
                    found = await _measure(server, speakers, queued=queued)
                every = [seconds for one in found.first.values() for seconds in one]
                slowest = max(map(mean, found.first.values())) / mean(every)
                row = (speakers, slots, "yes" if queued else "no", middle(every), p95(every), slowest)
                table.add(*row, found.refused, mean(found.work) if found.work else "given up")
    answer = PROMPT_SECONDS + TOKENS * TOKEN_SECONDS
    table.notes += [
        f"{SENTENCES} sentences of each speaker; an answer takes {answer:.2f} s",
        "slowest speaker: their mean, as a multiple of the mean of all",
        f"memories: s until {WORK} requests of {WORK_SECONDS} s are done that were there first",
    ]
    return [table]


async def _measure(server: SlottedServer, speakers: int, *, queued: bool) -> _Measured:
    found = _Measured()
    async with _agents(server) as (hass, agents):
        queue = server_queue(hass, server.url)
        if not queued:
            queue.want("benchmark", 1_000)

        firsts: dict[str, float | None] = {}

        @callback
        def note(event: Event[Any]) -> None:
            firsts[event.data["conversation_id"]] = event.data["performance"]["ttft_ms"]

        async def speak(number: int) -> None:
            who = f"satellite {number}"
            for _ in range(SENTENCES):
                result = await conversation.async_converse(
                    hass,
                    "Tell me something",
                    None,
                    Context(),
                    "en",
                    agents[number % len(agents)],
                    device_id=who,
                    satellite_id=f"assist_satellite.{number}",
                )
                first = firsts.get(result.conversation_id or "")
                if first is None:
                    found.refused += 1
                else:
                    found.first.setdefault(who, []).append(first / 1000)

        data: HomeAgentData = hass.config_entries.async_entries("home_agent")[0].runtime_data

        async def remember() -> None:
            began = monotonic()
            request = ChatRequest(
                messages=[{"role": "user", "content": "memories"}], caller=background("memory")
            )
            try:
                await data.router.primary.complete(request)
            except ModelServerError:
                return  # given up, and tried again by those who need it
            found.work.append(monotonic() - began)

        stop = hass.bus.async_listen("home_agent.conversation.finished", note)
        work = [asyncio.create_task(remember()) for _ in range(WORK)]
        await asyncio.sleep(PROMPT_SECONDS)
        await asyncio.gather(*(speak(number) for number in range(speakers)))
        await asyncio.gather(*work)
        await hass.async_block_till_done()
        stop()
    return found


@asynccontextmanager
async def _agents(server: SlottedServer) -> AsyncGenerator[tuple[HomeAssistant, list[str]]]:
    async with running_home(50) as (hass, _home):
        options = {"memory_extraction_enabled": False}
        agents = [await add_ours(hass, server.url, options) for _ in range(2)]
        await settle()
        yield hass, agents
