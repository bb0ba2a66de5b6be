"""Shows what a model sees: an OpenAI-compatible server whose answers are typed into the terminal.

A line such as `ha_query {"name": "hall"}` calls a tool, any other line is text, and an empty line sends the
answer. Prompts that are read ahead and the check for tool calls are answered at once.
"""

import argparse
import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
import json
import sys
from typing import Any, Final

from aiohttp import web

PORT: Final = 8130
MAX_BODY: Final = 64 * 1024 * 1024
PROBE_TOOL: Final = "get_temperature"


class AnswerError(ValueError):
    """A typed answer cannot be sent; the message says why."""


@dataclass(slots=True)
class Answer:
    """What the model says."""

    text: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    """Names of tools, each with its arguments as JSON."""

    @property
    def message(self) -> dict[str, Any]:
        """Return the message of a completion."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{index}",
                    "type": "function",
                    "function": {"name": name, "arguments": arguments},
                }
                for index, (name, arguments) in enumerate(self.calls)
            ]
        return message

    @property
    def deltas(self) -> Iterator[dict[str, Any]]:
        """Yield the pieces of a stream, line by line."""
        yield {"role": "assistant", "content": ""}
        for line in self.text.splitlines(keepends=True):
            yield {"content": line}
        for index, call in enumerate(self.message.get("tool_calls", ())):
            yield {"tool_calls": [{"index": index, **call}]}


def read_answer(lines: Iterable[str], tools: list[str]) -> Answer:
    """Return the answer that lines describe. Raises AnswerError."""
    answer, texts = Answer(), []
    for line in lines:
        name, _, arguments = line.strip().partition(" ")
        if name not in tools:
            texts.append(line.rstrip("\n"))
            continue
        try:
            if not isinstance(json.loads(arguments or "{}"), dict):
                raise AnswerError(f"the arguments of {name} are not a JSON object")
        except ValueError as err:
            raise AnswerError(f"the arguments of {name} are not JSON: {err}") from err
        answer.calls.append((name, arguments or "{}"))
    answer.text = "\n".join(texts)
    if not answer.text and not answer.calls:
        raise AnswerError("an answer has a text or calls")
    return answer


def shown(body: dict[str, Any], before: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a request that the one before it lacked."""
    messages, earlier = body["messages"], before.get("messages", [])
    same = 0
    while same < min(len(messages), len(earlier)) and messages[same] == earlier[same]:
        same += 1
    if body.get("tools") != before.get("tools"):
        for tool in body.get("tools") or ():
            yield f"[tool] {json.dumps(tool['function'], ensure_ascii=False)}"
    if same:
        yield f"({same} messages as before)"
    for message in messages[same:]:
        calls = [json.dumps(call["function"], ensure_ascii=False) for call in message.get("tool_calls") or ()]
        yield f"[{message['role']}] {message.get('content') or ''}"
        yield from (f"  calls {call}" for call in calls)


class Server:
    """Answers one request after the other with what is typed."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._before: dict[str, Any] = {}
        self._typing = asyncio.Lock()

    async def models(self, _request: web.Request) -> web.Response:
        """List the model."""
        return web.json_response({"object": "list", "data": [{"id": self._model, "object": "model"}]})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """Show a request, and send the answer."""
        if "Origin" in request.headers:
            raise web.HTTPForbidden(reason="a web page may not ask")
        body = await request.json()
        answer = prepared(body)
        if answer is None:
            async with self._typing:
                answer = await self._typed(body)
        finish = "tool_calls" if answer.calls else "stop"
        if not body.get("stream"):
            choice = {"index": 0, "message": answer.message, "finish_reason": finish}
            return web.json_response({**self._head("chat.completion"), "choices": [choice]})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        choices: list[dict[str, Any]] = [
            {"index": 0, "delta": delta, "finish_reason": None} for delta in answer.deltas
        ]
        choices.append({"index": 0, "delta": {}, "finish_reason": finish})
        for choice in choices:
            piece = {**self._head("chat.completion.chunk"), "choices": [choice]}
            await response.write(f"data: {json.dumps(piece)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _typed(self, body: dict[str, Any]) -> Answer:
        print("\n" + "\n".join(shown(body, self._before)), flush=True)
        self._before = body
        tools = [tool["function"]["name"] for tool in body.get("tools") or ()]
        while True:
            print("> ", end="", flush=True)
            lines = []
            while (line := await asyncio.to_thread(sys.stdin.readline)).strip():
                lines.append(line)
            try:
                return read_answer(lines, tools)
            except AnswerError as err:
                print(err, flush=True)
                if not line:  # nobody types any more
                    raise web.HTTPServiceUnavailable(reason="nobody answers") from err

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": "by-hand", "object": kind, "created": 0, "model": self._model}


def prepared(body: dict[str, Any]) -> Answer | None:
    """Return the answer to what nobody asked: a prompt read ahead, the check whether a model calls tools."""
    if 1 in (body.get("max_tokens"), body.get("max_completion_tokens")):
        return Answer("OK")
    if [tool["function"]["name"] for tool in body.get("tools") or ()] == [PROBE_TOOL]:
        return Answer(calls=[(PROBE_TOOL, '{"room": "kitchen"}')])
    return None


async def serve(options: argparse.Namespace) -> None:
    """Serve until the program is stopped."""
    server = Server(options.model)
    app = web.Application(client_max_size=MAX_BODY)
    app.add_routes([web.get("/v1/models", server.models), web.post("/v1/chat/completions", server.chat)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port).start()
    print(f"Server: http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="scripts/as-model", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT, help=f"port ({PORT}); 0 takes a free one")
    parser.add_argument("--model", default="by-hand", help="name of the model (by-hand)")
    try:
        asyncio.run(serve(parser.parse_args()))
    except OSError as err:
        raise SystemExit(f"scripts/as-model: {err}") from err
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
