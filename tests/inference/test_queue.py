"""The queue of a model server: people before work, in turn, with an end, and clean after whatever happens."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from custom_components.home_agent.inference import queue as queues
from custom_components.home_agent.inference.client import ModelClient, Router
from custom_components.home_agent.inference.models import (
    Caller,
    Delta,
    ErrorKind,
    Priority,
    background,
)
from custom_components.home_agent.inference.queue import ServerBusy, ServerQueue
from homeassistant.core import HomeAssistant
from tests.helpers.inference_kit import ask, client_of
from tests.servers.model_server import ModelServer
from tests.servers.replies import hang, text


def one_slot() -> ServerQueue:
    """Return the queue of a server that answers one request at a time."""
    queue = ServerQueue()
    queue.want("agent", 1)
    return queue


@pytest.fixture
async def client(hass: HomeAssistant, model_server: ModelServer) -> ModelClient:
    return client_of(hass, model_server.url, queue=one_slot())


def person(who: str) -> Caller:
    return Caller(who)


@asynccontextmanager
async def asked(client: ModelClient, words: str, caller: Caller) -> AsyncIterator[asyncio.Task[Delta]]:
    """Ask in a task, and see it end."""
    task = asyncio.create_task(client.complete(ask(words, caller=caller)))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until_waiting(client: ModelClient, count: int) -> None:
    """Let the event loop go on until so many requests wait."""
    async with asyncio.timeout(20):
        for _ in iter(lambda: client.queue.waiting < count, False):
            await asyncio.sleep(0)


def order(server: ModelServer) -> list[str]:
    """Return what was asked, in the order in which it arrived."""
    return [str(request.messages[-1]["content"]) for request in server.chats]


async def test_people_come_before_work_and_speakers_in_turn(
    client: ModelClient, model_server: ModelServer
) -> None:
    first = hang()
    model_server.script([first])
    wanted = [
        ("summary", background("summary")),
        ("task", Caller("task", Priority.TASK)),
        ("kitchen 1", person("kitchen")),
        ("kitchen 2", person("kitchen")),
        ("kitchen 3", person("kitchen")),
        ("office 1", person("office")),
        ("office 2", person("office")),
    ]
    async with asked(client, "first", person("hall")) as running:
        await model_server.arrived(1)
        tasks = []
        for index, (words, caller) in enumerate(wanted):
            tasks.append(asyncio.create_task(client.complete(ask(words, caller=caller))))
            await until_waiting(client, index + 1)
        assert (client.queue.running, client.queue.waiting) == (1, 7)
        first.release.set()
        await asyncio.gather(running, *tasks)
    assert order(model_server) == [
        "first",
        "kitchen 1",
        "office 1",
        "kitchen 2",
        "office 2",
        "kitchen 3",
        "task",
        "summary",
    ]
    assert (client.queue.running, client.queue.waiting) == (0, 0)
    assert wanted[0][1].waited > 0


async def test_a_turn_that_has_begun_goes_on_first(client: ModelClient, model_server: ModelServer) -> None:
    begun, first = person("hall"), hang()
    await client.complete(ask("round 1", caller=begun))
    model_server.script([first])
    async with asked(client, "first", person("kitchen")):
        await model_server.arrived(2)
        async with asked(client, "new", person("office")) as new:
            await until_waiting(client, 1)
            async with asked(client, "round 2", begun) as second:
                await until_waiting(client, 2)
                first.release.set()
                await asyncio.gather(new, second)
    assert order(model_server) == ["round 1", "first", "round 2", "new"]


async def test_work_gives_way_and_is_done_later(client: ModelClient, model_server: ModelServer) -> None:
    work = hang()
    model_server.on(lambda request: request.is_chat and request.messages[-1]["content"] == "memories", work)
    async with asked(client, "memories", background("memory")) as extraction:
        interrupted = await model_server.arrived(1)
        model_server.on(
            lambda request: request.is_chat and request.messages[-1]["content"] == "memories", text("nothing")
        )
        answer = await client.complete(ask("light", caller=person("kitchen")))
        assert answer.content == "Done."
        assert (await extraction).content == "nothing"
    await interrupted.gone.wait()
    assert order(model_server) == ["memories", "light", "memories"]


async def test_work_is_given_up_after_it_gave_way_often_and_a_task_never_gives_way(
    client: ModelClient, model_server: ModelServer
) -> None:
    model_server.default = lambda request: (
        text("person") if request.messages[-1]["content"] == "light" else hang()
    )
    async with asked(client, "memories", background("memory")) as extraction:
        for turn in range(4):
            await model_server.arrived(2 * turn + 1)
            await client.complete(ask("light", caller=person("kitchen")))
        with pytest.raises(ServerBusy):
            await extraction
    async with asked(client, "task", Caller("task", Priority.TASK)) as task:
        await model_server.arrived(9)
        async with asked(client, "light", person("kitchen")):
            await until_waiting(client, 1)
            assert not task.done()


async def test_a_server_of_unknown_size_does_people_first(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    client = client_of(hass, model_server.url)
    model_server.script([hang(), text("yes"), text("later")])
    async with asked(client, "memories", background("memory")) as extraction:
        first = await model_server.arrived(1)
        assert (await client.complete(ask("light", caller=person("kitchen")))).content == "yes"
        await first.gone.wait()
        assert (await extraction).content == "later"


async def test_a_person_hears_soon_that_others_are_first(
    client: ModelClient, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "PERSON_SECONDS", 0)
    model_server.script([hang()])
    async with asked(client, "first", person("hall")):
        await model_server.arrived(1)
        with pytest.raises(ServerBusy) as raised:
            await client.complete(ask("light", caller=person("kitchen")))
    assert raised.value.kind is ErrorKind.BUSY
    assert raised.value.is_down  # the fallback may answer
    assert len(model_server.chats) == 1
    assert (client.queue.running, client.queue.waiting) == (0, 0)


async def test_many_texts_are_embedded_when_nobody_waits(client: ModelClient) -> None:
    """A person's own sentence is embedded at once."""
    async with client.queue.place(person("hall")):
        filling = asyncio.create_task(client.embed(["text"] * 8))
        await until_waiting(client, 1)
        assert len(await client.embed(["a sentence"])) == 1
        assert not filling.done()
    assert len(await filling) == 8
    assert (client.queue.running, client.queue.waiting) == (0, 0)


async def test_a_busy_server_is_not_a_broken_one(
    hass: HomeAssistant, client: ModelClient, other_model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "PERSON_SECONDS", 0)
    monkeypatch.setattr(queues, "WORK_SECONDS", 0)
    router = Router(client, client_of(hass, other_model_server.url))
    async with client.queue.place(person("hall")):
        asked_person = ask("light", caller=person("kitchen"))
        assert (await router.complete({"primary": asked_person, "fallback": asked_person})).content == "Done."
        work = ask("memories", caller=background("memory"))
        with pytest.raises(ServerBusy):
            await router.complete({"primary": work, "fallback": work})
    assert not router.primary_rests
    assert len(other_model_server.chats) == 1


async def test_the_options_name_the_slots(hass: HomeAssistant, model_server: ModelServer) -> None:
    queue = client_of(hass, model_server.url).queue
    assert queue.limit == queues.GUESSED_SLOTS
    queue.want("one agent", 4)
    queue.want("another", 2)
    assert queue.limit == 2
    queue.want("another", None)
    assert queue.limit == 4
