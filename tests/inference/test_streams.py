"""Streams of eight kinds of servers, cut into pieces in every way."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st
import pytest

from custom_components.home_agent.inference.dialects import WIRES
from custom_components.home_agent.inference.models import Delta, Dialect, ModelServerError, TokenUsage
from custom_components.home_agent.inference.transport import DONE, JSONReader
from tests.helpers.examples import many

STREAMS = {
    path.name: path.read_bytes() for path in (Path(__file__).parents[1] / "fixtures/streams").iterdir()
}

# Words, thoughts, calls (name, arguments), reason to finish, usage.
EXPECTED: dict[str, tuple[str, str, list[tuple[str, Any]], str | None, TokenUsage | None]] = {
    "openai.sse": (
        "",
        "",
        [
            ("ha_control", {"action": "turn_on", "entity_id": "light.küche"}),
            ("ha_query", {"entity_id": "sensor.*"}),
        ],
        "tool_calls",
        TokenUsage(120, 30, 64),
    ),
    "azure.sse": ("Il fait 21,5 °C 🌡️", "", [], "stop", TokenUsage(10, 5, 0)),
    "ollama_v1.sse": (
        "",
        "Two lamps.",
        [("ha_control", {"entity_id": "light.a"}), ("ha_control", {"entity_id": "light.b"})],
        "tool_calls",
        TokenUsage(7, 9, 0),
    ),
    "ollama.ndjson": (
        "Ich schalte das Licht ein 💡.",
        "Küche, hell.",
        [("ha_control", {"entity_id": "light.küche", "brightness": 40}), ("ha_query", {})],
        "tool_calls",
        TokenUsage(26, 14, 0),
    ),
    "llama_cpp.sse": ("Good morning", "Hmm, ok.", [], "stop", TokenUsage(400, 4, 392)),
    "vllm.sse": (
        "One moment",
        "",
        [("ha_control", {"action": "turn_off"})],
        "tool_calls",
        TokenUsage(5, 12, 0),
    ),
    "lm_studio.sse": (" done", "", [("ha_query", {"area": "Büro"})], "tool_calls", None),
    "openrouter_gemini.sse": (
        "",
        "Let me see",
        [("ha_query", {"entity_id": "a.b"}), ("ha_query", {"entity_id": "c.d"})],
        "tool_calls",
        TokenUsage(50, 6, 40),
    ),
}


def dialect_of(name: str) -> Dialect:
    return Dialect.OLLAMA if name.endswith("ndjson") else Dialect.OPENAI


def replay(name: str, pieces: list[bytes]) -> list[Delta]:
    """Return the deltas of a stream that arrives in these pieces."""
    reader, answer = JSONReader(), WIRES[dialect_of(name)].answer()
    objects = [found for piece in pieces for found in reader.feed(piece)] + reader.close()
    assert reader.failure is None
    deltas = [answer.read(found) for found in objects if found is not DONE] + [answer.close()]
    return [delta for delta in deltas if delta is not None]


def without_ids(deltas: list[Delta]) -> list[Any]:
    return [
        (d.content, d.thinking, [(c.name, c.arguments) for c in d.tool_calls], d.finish_reason, d.usage)
        for d in deltas
    ]


@settings(max_examples=many(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(sorted(EXPECTED)), data=st.data())
def test_any_chunking_gives_the_same_deltas(name: str, data: st.DataObject) -> None:
    stream = STREAMS[name]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=40)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert without_ids(replay(name, pieces)) == without_ids(replay(name, [stream]))


def test_a_call_goes_out_as_soon_as_the_next_begins() -> None:
    deltas = replay("openai.sse", [STREAMS["openai.sse"]])
    assert [[call.name for call in delta.tool_calls] for delta in deltas] == [
        ["ha_control"],
        ["ha_query"],
        [],
    ]


def test_a_call_waits_while_its_arguments_are_unfinished() -> None:
    answer = WIRES[Dialect.OPENAI].answer()

    def fragment(index: int, name: str | None, arguments: str) -> Delta | None:
        entry = {"index": index, "function": {"name": name, "arguments": arguments}}
        return answer.read({"choices": [{"delta": {"tool_calls": [entry]}}]})

    assert fragment(0, "a", '{"x":') is None
    assert fragment(1, "b", '{"y": 2}') is None
    assert fragment(0, None, " 1}") is None
    last = answer.close()
    assert last
    assert [(call.name, call.arguments) for call in last.tool_calls] == [("a", '{"x": 1}'), ("b", '{"y": 2}')]


def test_calls_in_odd_fragments(subtests: pytest.Subtests) -> None:
    for entries, expected in [
        ([{"index": 0, "function": {"name": "a", "arguments": None}}], [("a", "{}")]),
        (
            [
                {"index": 0, "function": {"name": "a", "arguments": "{}"}},
                {"index": 0, "function": {"arguments": '{"b":1}'}},
            ],
            [("a", '{"b":1}')],
        ),
        (
            [{"index": 0, "id": "x1y2z3w4q", "function": {"name": "a", "arguments": '{"b":1}'}}] * 2,
            [("a", '{"b":1}')],
        ),
        (
            [{"function": {"name": "a", "arguments": '{"b"'}}, {"function": {"arguments": ":1}"}}],
            [("a", '{"b":1}')],
        ),
        (
            [
                {"index": 0, "function": {"name": "a", "arguments": ""}},
                {"index": 0, "function": {"name": "b", "arguments": "{}"}},
            ],
            [("a", "{}"), ("b", "{}")],
        ),
        ([{"id": "k1", "name": "a", "arguments": {"b": 1}}], [("a", '{"b":1}')]),
    ]:
        with subtests.test(entries=entries, expected=expected):
            answer = WIRES[Dialect.OPENAI].answer()
            deltas = [answer.read({"choices": [{"delta": {"tool_calls": [entry]}}]}) for entry in entries]
            calls = [call for delta in [*deltas, answer.close()] if delta for call in delta.tool_calls]
            assert [(call.name, call.arguments) for call in calls] == expected


def test_contents_in_odd_shapes(subtests: pytest.Subtests) -> None:
    for delta, words, thoughts in [
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "yes"},
                    "!",
                ]
            },
            "yes!",
            "hm",
        ),
        ({"content": "hm", "extra_content": {"google": {"thought": True}}}, "", "hm"),
        ({"content": None, "refusal": "No."}, "No.", ""),
        ({"reasoning": "same", "reasoning_content": "same"}, "", "same"),
        ({"content": 5, "tool_calls": [None]}, "", ""),
    ]:
        with subtests.test(delta=delta, words=words):
            answer = WIRES[Dialect.OPENAI].answer()
            read = answer.read({"choices": [{"delta": delta}]}) or Delta()
            assert (read.content, read.thinking) == (words, thoughts)


def test_what_is_no_json_is_said(subtests: pytest.Subtests) -> None:
    for stream, failure in [
        (b"<!DOCTYPE html><html>", "not JSON: a web page"),
        (b"Internal Server Error", "not JSON"),
        (b"data: oops\n\n", "not JSON"),
        (b'data: {"a": \n\n', "broken JSON"),
        (b'{"a": [', "broken JSON"),
        (b"data: " + b"[" * 5000, "broken JSON"),
    ]:
        with subtests.test(stream=stream, failure=failure):
            reader = JSONReader()
            assert [*reader.feed(stream), *reader.close(), *reader.feed(b"{}\n"), *reader.close()] == []
            assert reader.failure == failure


def test_json_in_odd_dress(subtests: pytest.Subtests) -> None:
    for stream, objects in [
        (b'data: {"a":\ndata: 1\ndata: }\n\n', [{"a": 1}]),
        (b'{\n  "a": {\n  },\n  "b": 2\n}\n', [{"a": {}, "b": 2}]),
        (b'event: message\nid: 4\nretry: 10\ndata:{"a":1}\n\n', [{"a": 1}]),
        (b'data: {"a":1}\r\ndata: {"a":2}\r\n\r\n', [{"a": 1}, {"a": 2}]),
        (b'data: {"a":"\xff"}\n\n', [{"a": "\ufffd"}]),
    ]:
        with subtests.test(stream=stream, objects=objects):
            for size in (1, 3, len(stream)):
                reader = JSONReader()
                found = [o for i in range(0, len(stream), size) for o in reader.feed(stream[i : i + size])]
                assert found + reader.close() == objects
                assert reader.failure is None


def test_memory_is_bounded(subtests: pytest.Subtests) -> None:
    for chunk, failure in [
        (b"x" * 70, "a line of the answer is too long"),
        (b'{"a":1}\n' * 30, "the answer is too large"),
        (b"{\n" * 60, "a line of the answer is too long"),
    ]:
        with subtests.test(chunk=chunk, failure=failure):
            reader = JSONReader(line_bytes=64, body_bytes=200)
            for _ in range(5):
                reader.feed(chunk)
            assert reader.failure == failure


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "message",
                    "content",
                    "tool_calls",
                    "function",
                    "usage",
                    "error",
                    "index",
                    "id",
                    "done",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=many(400), deadline=None)
@given(dialect=st.sampled_from(list(Dialect)), data=JSON)
def test_no_shape_of_json_escapes(dialect: Dialect, data: Any) -> None:
    """Whatever a server says, it becomes an answer or a ModelServerError."""
    answer = WIRES[dialect].answer()
    with suppress(ModelServerError):
        answer.take(data)
        answer.close()
