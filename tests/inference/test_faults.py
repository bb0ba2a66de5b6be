"""Everything a model server does wrong, seen from the client."""

import asyncio
from contextlib import aclosing
from itertools import chain, repeat
import socket

import pytest

from custom_components.home_agent.inference import client as client_module
from custom_components.home_agent.inference.dialects.base import MAX_CALLS, TEXT_CHARS
from custom_components.home_agent.inference.models import ErrorKind, ModelServerError
from homeassistant.core import HomeAssistant
from tests.helpers.inference_kit import Naps, ask, client_of, collect, spoken
from tests.servers.model_server import ModelServer
from tests.servers.replies import (
    Reply,
    cut,
    error_in_stream,
    hang,
    html,
    huge_text,
    many_calls,
    raw,
    reset,
    status,
    text,
    too_long,
    tool_calls,
    without_done,
)

PAUSE = client_module.PAUSE


@pytest.fixture(autouse=True)
def _real_pause(_seconds: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the pauses as they are; nobody sleeps here."""
    monkeypatch.setattr(client_module, "PAUSE", PAUSE)


NOT_RETRIED: list[tuple[Reply, ErrorKind, str]] = [
    (status(401, "bad key"), ErrorKind.AUTH, "401: bad key"),
    (status(400, "API key not valid. Please pass a valid API key."), ErrorKind.AUTH, "API key not valid"),
    (status(404, "The model `x` does not exist"), ErrorKind.MODEL_NOT_FOUND, "does not exist"),
    (too_long(), ErrorKind.CONTEXT_TOO_LONG, "maximum context length"),
    (
        status(500, "prompt too long; exceeded max context length by 12 tokens"),
        ErrorKind.CONTEXT_TOO_LONG,
        "by 12",
    ),
    (status(400, "messages must alternate"), ErrorKind.BAD_REQUEST, "400: messages must alternate"),
    (
        status(422, {"detail": [{"loc": ["body", "messages"], "msg": "too odd", "input": "private"}]}),
        ErrorKind.BAD_REQUEST,
        "422: body.messages: too odd",
    ),
    (
        status(400, {"error": {"message": "Provider error", "metadata": {"raw": "why"}}}),
        ErrorKind.BAD_REQUEST,
        "Provider error: why",
    ),
    (status(400, b""), ErrorKind.BAD_REQUEST, "400: no explanation"),
    (
        status(429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
        ErrorKind.RATE_LIMIT,
        "quota",
    ),
    (status(408, "slow"), ErrorKind.TIMEOUT, "408"),
    (html(), ErrorKind.MALFORMED, "a web page"),
    (status(200, b"plain words"), ErrorKind.MALFORMED, "plain words"),
    (status(200, {"status": "ok"}), ErrorKind.MALFORMED, "is the address right?"),
    (
        status(302, {}, headers={"Location": "https://other.example/v1?key=abc"}),
        ErrorKind.BAD_REQUEST,
        "redirects to https://other.example/v1; set",
    ),
]

RETRIED: list[tuple[Reply, ErrorKind, str]] = [
    (reset(), ErrorKind.UNAVAILABLE, "connection"),
    (cut(1, chunks=["never", "said"]), ErrorKind.UNAVAILABLE, "broke"),
    (without_done(), ErrorKind.UNAVAILABLE, "empty"),
    (status(500, "boom"), ErrorKind.UNAVAILABLE, "500: boom"),
    (
        status(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
        ErrorKind.UNAVAILABLE,
        "Loading model",
    ),
    (status(429, "slow down"), ErrorKind.RATE_LIMIT, "slow down"),
    (
        error_in_stream({"message": "upstream broke", "code": 502}),
        ErrorKind.UNAVAILABLE,
        "502: upstream broke",
    ),
    (raw(b'data: {"object":"error","message":"vLLM says no"}\n\n'), ErrorKind.UNAVAILABLE, "vLLM says no"),
    (raw(b'event: error\ndata: {"detail":"no label"}\n\n'), ErrorKind.UNAVAILABLE, "no label"),
]


async def test_what_is_told_at_once(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for reply, kind, words in NOT_RETRIED:
        with subtests.test(reply=reply, kind=kind):
            model_server.clear()
            naps = Naps()
            model_server.default = reply
            client = client_of(hass, model_server.url, naps=naps)
            for asked in (collect(client.stream(ask())), client.complete(ask())):
                with pytest.raises(ModelServerError) as caught:
                    await asked
                assert caught.value.kind is kind
                assert words in caught.value.detail
                assert "private" not in caught.value.detail
            assert naps.taken == []
            assert len(model_server.requests) == 2


@pytest.mark.parametrize(("reply", "kind", "words"), RETRIED)
async def test_what_is_tried_once_more(
    hass: HomeAssistant, model_server: ModelServer, reply: Reply, kind: ErrorKind, words: str
) -> None:
    naps = Naps()
    model_server.script([reply, text("back again"), reply, reply])
    client = client_of(hass, model_server.url, naps=naps)
    assert spoken(await collect(client.stream(ask()))) == "back again"
    assert naps.taken == [1.0]
    fresh = client_of(hass, model_server.url, naps=naps)
    with pytest.raises(ModelServerError) as caught:
        await collect(fresh.stream(ask()))
    assert caught.value.kind is kind
    assert words in caught.value.detail
    assert naps.taken == [1.0, 1.0]


async def test_refused_connection(hass: HomeAssistant, socket_enabled: None) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    naps = Naps()
    with pytest.raises(ModelServerError) as caught:
        await client_of(hass, f"http://127.0.0.1:{port}/v1", naps=naps).complete(ask())
    assert caught.value.kind is ErrorKind.UNAVAILABLE
    assert caught.value.detail == f"cannot connect to the server at 127.0.0.1:{port}"
    assert naps.taken == [1.0]


async def test_retry_after_is_honoured(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for headers, taken in [
        ({"Retry-After": "7"}, [7.0]),
        ({"Retry-After": "0"}, [0.0]),
        ({"Retry-After": "soon"}, [1.0]),
        ({"Retry-After": "-4"}, [1.0]),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, [1.0]),
    ]:
        with subtests.test(headers=headers, taken=taken):
            naps = Naps()
            model_server.script([status(429, "slow down", headers=headers), text("ok")])
            assert (await client_of(hass, model_server.url, naps=naps).complete(ask())).content == "ok"
            assert naps.taken == taken


async def test_long_waits_are_not_waited(hass: HomeAssistant, model_server: ModelServer) -> None:
    naps = Naps()
    model_server.script([status(503, "busy", headers={"Retry-After": "3600"})])
    with pytest.raises(ModelServerError) as caught:
        await client_of(hass, model_server.url, naps=naps).complete(ask())
    assert caught.value.retry_after == 3600
    assert naps.taken == []


async def test_nothing_is_asked_again_after_the_first_word(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for reply in [cut(2, chunks=["One ", "two"]), reset(2, "One "), error_in_stream("broke", 2, text="One ")]:
        with subtests.test(reply=reply):
            model_server.clear()
            model_server.script([reply])
            deltas = client_of(hass, model_server.url).stream(ask())
            assert (await anext(deltas)).content == "One "
            with pytest.raises(ModelServerError) as caught:
                await anext(deltas)
            assert caught.value.kind is ErrorKind.UNAVAILABLE
            assert len(model_server.requests) == 1


async def test_ends_without_done(hass: HomeAssistant, model_server: ModelServer) -> None:
    model_server.script(
        [without_done("All of it."), tool_calls([("a", {"b": 1})], fault=without_done().fault)]
    )
    client = client_of(hass, model_server.url)
    assert spoken(await collect(client.stream(ask()))) == "All of it."
    calls = [call for delta in await collect(client.stream(ask())) for call in delta.tool_calls]
    assert [(call.name, call.arguments) for call in calls] == [("a", '{"b": 1}')]


async def test_what_breaks_after_the_finish_is_forgiven(
    hass: HomeAssistant, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for fault in [cut(3, chunks=["yes"]), hang(3, chunks=["yes"])]:
        with subtests.test(fault=fault):
            monkeypatch.setattr("custom_components.home_agent.inference.client.GRACE", 0.01)
            model_server.script([fault])
            deltas = await collect(client_of(hass, model_server.url).stream(ask()))
            assert spoken(deltas) == "yes"
            assert deltas[-1].finish_reason == "stop"


async def test_silence_has_an_end(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for after, limit in [(-1, "first_byte_timeout"), (0, "first_byte_timeout"), (2, "idle_timeout")]:
        with subtests.test(after=after, limit=limit):
            model_server.clear()
            naps = Naps()
            model_server.script([hang(after)])
            client = client_of(hass, model_server.url, naps=naps, **{limit: 0.05})
            with pytest.raises(ModelServerError) as caught:
                await collect(client.stream(ask()))
            assert caught.value.kind is ErrorKind.TIMEOUT
            assert naps.taken == []
            await model_server.requests[0].gone.wait()


WARM = {
    "comments": b": processing\n\n",
    "empty deltas": b'data: {"choices":[{"index":0,"delta":{"content":""}}]}\n\n',
    "empty calls": b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0}]}}]}\n\n',
}
"""What keeps a connection open and says nothing."""
WORD = b'data: {"choices":[{"index":0,"delta":{"content":"Well"}}]}\n\n'


async def test_what_says_nothing_is_no_progress(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """A server that only keeps the connection open ends the request like one that is silent."""
    for said in [(), (WORD,)]:
        for kind, nothing in WARM.items():
            with subtests.test(kind, said=said):
                model_server.clear()
                model_server.script([raw(pieces=chain(said, repeat(nothing)), gap=0.01)])
                client = client_of(hass, model_server.url, first_byte_timeout=0.2, idle_timeout=0.2)
                with pytest.raises(ModelServerError) as caught:
                    await collect(client.stream(ask()))
                assert caught.value.kind is ErrorKind.TIMEOUT
                await model_server.requests[0].gone.wait()


async def test_closing_the_generator_closes_the_connection(
    hass: HomeAssistant, model_server: ModelServer
) -> None:
    model_server.script([hang(2)])
    async with aclosing(client_of(hass, model_server.url).stream(ask())) as deltas:
        assert (await anext(deltas)).content == "Hello "
    await model_server.requests[0].gone.wait()


async def test_cancelling_is_not_an_error(hass: HomeAssistant, model_server: ModelServer) -> None:
    model_server.script([hang()])
    asked = asyncio.create_task(client_of(hass, model_server.url).complete(ask()))
    request = await model_server.arrived(1)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await request.gone.wait()


async def test_endless_text_is_cut(hass: HomeAssistant, model_server: ModelServer) -> None:
    model_server.script([huge_text(50)])
    deltas = await collect(client_of(hass, model_server.url).stream(ask()))
    assert len(spoken(deltas)) == TEXT_CHARS
    assert deltas[-1].finish_reason == "length"
    await model_server.requests[0].gone.wait()


async def test_a_thousand_tool_calls(hass: HomeAssistant, model_server: ModelServer) -> None:
    model_server.script([many_calls(1000)])
    answer = await client_of(hass, model_server.url).complete(ask())
    assert len(answer.tool_calls) == MAX_CALLS
    assert len({call.id for call in answer.tool_calls}) == MAX_CALLS


async def test_answers_a_stream_with_one_document(hass: HomeAssistant, model_server: ModelServer) -> None:
    document = b'{\n  "choices": [\n    {"message": {"content": "whole"}, "finish_reason": "stop"}\n  ]\n}'
    model_server.script([raw(document, content_type="application/json")])
    assert spoken(await collect(client_of(hass, model_server.url).stream(ask()))) == "whole"
