"""Shows what a model sees: an OpenAI-compatible server whose answers are typed into the terminal.

A line such as `ha_query {"name": "hall"}` calls a tool, any other line is text, and an empty line sends the
answer. Prompts that are read ahead and the check for tool calls are answered at once.
"""

import argparse
import asyncio
from collections.abc import Iterable, Iterator
import json
import sys
from typing import Any, Final

from aiohttp import web

PORT: Final = 8130
MAX_BODY: Final = 64 * 1024 * 1024
PROBE_TOOL: Final = "get_temperature"


class AnswerError(ValueError):
    """A typed answer cannot be sent; the message says why."""


def message_of(lines: Iterable[str], tools: list[str]) -> dict[str, Any]:
    """Return the message that lines describe: calls of tools, and text. Raises AnswerError."""
    calls: list[dict[str, Any]] = []
    texts = []
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
        at, function = len(calls), {"name": name, "arguments": arguments or "{}"}
        calls.append({"index": at, "id": f"call_{at}", "type": "function", "function": function})
    if not texts and not calls:
        raise AnswerError("an answer has a text or calls")
    message = {"role": "assistant", "content": "\n".join(texts) or None}
    return {**message, "tool_calls": calls} if calls else message


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

    async def chat(self, request: web.Request) -> web.Response:
        """Show a request, and send the answer."""
        if "Origin" in request.headers:
            raise web.HTTPForbidden(reason="a web page may not ask")
        body = await request.json()
        message = prepared(body)
        if message is None:
            async with self._typing:
                message = await self._typed(body)
        is_streamed = bool(body.get("stream"))
        choice = {
            "index": 0,
            "delta" if is_streamed else "message": message,
            "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
        }
        kind = "chat.completion.chunk" if is_streamed else "chat.completion"
        head = {"id": "by-hand", "object": kind, "created": 0, "model": self._model}
        answer = json.dumps({**head, "choices": [choice]})
        if not is_streamed:
            return web.Response(text=answer, content_type="application/json")
        return web.Response(text=f"data: {answer}\n\ndata: [DONE]\n\n", content_type="text/event-stream")

    async def _typed(self, body: dict[str, Any]) -> dict[str, Any]:
        print("\n" + "\n".join(shown(body, self._before)), flush=True)
        self._before = body
        tools = [tool["function"]["name"] for tool in body.get("tools") or ()]
        while True:
            print("> ", end="", flush=True)
            lines = []
            while (line := await asyncio.to_thread(sys.stdin.readline)).strip():
                lines.append(line)
            try:
                return message_of(lines, tools)
            except AnswerError as err:
                print(err, flush=True)
                if not line:  # nobody types any more
                    raise web.HTTPServiceUnavailable(reason="nobody answers") from err


def prepared(body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer to what nobody asked: a prompt read ahead, the check whether a model calls tools."""
    if 1 in (body.get("max_tokens"), body.get("max_completion_tokens")):
        return message_of(["OK"], [])
    if [tool["function"]["name"] for tool in body.get("tools") or ()] == [PROBE_TOOL]:
        return message_of([f'{PROBE_TOOL} {{"room": "kitchen"}}'], [PROBE_TOOL])
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
