"""The HTTP server: OpenAI's API for the agent, a page for a person, an API for programs."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
import ipaddress
import json
import secrets
import time
from typing import Any, Final

from aiohttp import web

from .answers import Answer, AnswerError, read_answer
from .page import render
from .requests import ChatRequest, RequestError, Requests, State, estimate, give

MAX_BODY: Final = 64 * 1024 * 1024
MAX_WAIT: Final = 60.0
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
type Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line sets: the time to answer and the pause after each word, in seconds."""

    host: str = "127.0.0.1"
    model: str = "by-hand"
    timeout: float = 600
    delay: float = 0.03


class Server:
    """Answers requests when somebody wrote the answer."""

    def __init__(self, settings: Settings, requests: Requests) -> None:
        """Take the settings and where requests are kept."""
        self._settings, self._requests = settings, requests

    def application(self) -> web.Application:
        """Return the application."""
        app = web.Application(client_max_size=MAX_BODY, middlewares=[self._guard()])
        app.add_routes(
            [
                web.get("/", self._page),
                web.get(r"/requests/{number:\d+}", self._page),
                web.get("/v1/models", self._models),
                web.post("/v1/chat/completions", self._chat),
                web.get("/api/requests", self._list),
                web.get(r"/api/requests/{number:\d+}", self._one),
                web.post(r"/api/requests/{number:\d+}/answer", self._answer),
            ]
        )
        return app

    def _guard(self) -> Any:
        """Return what refuses pages of the web: a name that leads here, or another origin."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            host = request.headers.get("Host", "")
            origin = request.headers.get("Origin")
            if not self._is_own(host):
                return _error(HTTPStatus.FORBIDDEN, f"the host {host!r} is not this server: use its address")
            if origin is not None and origin.lower() != f"http://{host}".lower():
                return _error(HTTPStatus.FORBIDDEN, f"the origin {origin!r} is not this server's page")
            try:
                response = await handler(request)
            except web.HTTPException as err:
                return _error(HTTPStatus(err.status), err.reason)
            if not response.prepared:
                response.headers.update(_HEADERS)
            return response

        return guard

    def _is_own(self, host: str) -> bool:
        """Tell whether a Host header names this server. A name from the web's DNS never does."""
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if name.lower() in ("localhost", self._settings.host.lower()):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._settings.host in ("0.0.0.0", "::")  # noqa: S104 - compared only

    async def _page(self, request: web.Request) -> web.Response:
        number = request.match_info.get("number")
        shown = self._requests.to_show() if number is None else self._found(request)
        nonce = secrets.token_urlsafe(16)
        delay = round(self._settings.delay * 1000)
        html = render(shown, self._requests.all(), newest=self._requests.newest, delay=delay, nonce=nonce)
        headers = {"Content-Security-Policy": _POLICY.format(nonce)}
        body = html.encode(errors="replace")  # half a character in a prompt
        return web.Response(body=body, content_type="text/html", charset="utf-8", headers=headers)

    async def _models(self, _: web.Request) -> web.Response:
        model = {"id": self._settings.model, "object": "model", "created": 0, "owned_by": "as-model"}
        return web.json_response({"object": "list", "data": [model]})

    async def _list(self, request: web.Request) -> web.Response:
        try:
            after = int(request.query.get("after", "0"))
            wait = float(request.query.get("wait", "0"))
        except ValueError:
            return _error(HTTPStatus.BAD_REQUEST, "after and wait are not numbers")
        seconds = min(wait, MAX_WAIT) if wait > 0 else 0
        found = await self._requests.after(after, seconds)
        listed = [item.summary() for item in found]
        return web.json_response({"requests": listed, "newest": self._requests.newest})

    async def _one(self, request: web.Request) -> web.Response:
        return web.json_response(self._found(request).as_dict())

    async def _answer(self, request: web.Request) -> web.Response:
        asked = self._found(request)
        try:
            data = json.loads(await request.read())
        except ValueError as err:
            return _error(HTTPStatus.BAD_REQUEST, f"not JSON: {err}")
        try:
            answer = read_answer(data, asked.offered)
        except AnswerError as err:
            return _error(HTTPStatus.BAD_REQUEST, str(err))
        try:
            give(asked, answer)
        except AnswerError as err:
            return _error(HTTPStatus.CONFLICT, str(err))
        return web.json_response(asked.summary())

    def _found(self, request: web.Request) -> ChatRequest:
        number = request.match_info["number"]
        if (found := self._requests.get(int(number))) is None:
            raise web.HTTPNotFound(reason=f"there is no request {number}")
        return found

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = await self._requests.add(json.loads(await request.read()))
        except RequestError as err:
            return _error(HTTPStatus.BAD_REQUEST, str(err))
        except ValueError as err:
            return _error(HTTPStatus.BAD_REQUEST, f"not JSON: {err}")
        try:
            async with asyncio.timeout(self._settings.timeout):
                answer = await asyncio.shield(asked.answered)
        except TimeoutError:
            self._requests.end(asked, State.TIMEOUT)
            seconds = f"{self._settings.timeout:g}"
            return _error(HTTPStatus.GATEWAY_TIMEOUT, f"nobody answered within {seconds} seconds", "timeout")
        except asyncio.CancelledError:
            self._requests.end(asked, State.GONE)
            raise
        self._requests.end(asked, State.ANSWERED)
        if asked.body.get("stream"):
            return await self._stream(request, asked, answer)
        choice = {"index": 0, "message": answer.message(asked.number), "finish_reason": answer.finish}
        head = self._head(asked, "chat.completion")
        return web.json_response({**head, "choices": [choice], "usage": _usage(asked, answer)})

    async def _stream(self, request: web.Request, asked: ChatRequest, answer: Answer) -> web.StreamResponse:
        response = web.StreamResponse(headers={**_HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        head = self._head(asked, "chat.completion.chunk")
        delay = self._settings.delay if answer.delay is None else answer.delay

        async def send(**rest: Any) -> None:
            await response.write(f"data: {json.dumps({**head, **rest})}\n\n".encode())

        for delta in answer.deltas(asked.number):
            await send(choices=[{"index": 0, "delta": delta, "finish_reason": None}])
            await asyncio.sleep(0 if asked.state is State.AUTOMATIC else delay)
        await send(choices=[{"index": 0, "delta": {}, "finish_reason": answer.finish}])
        streamed = asked.body.get("stream_options")
        if isinstance(streamed, dict) and streamed.get("include_usage"):
            await send(choices=[], usage=_usage(asked, answer))
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    def _head(self, asked: ChatRequest, kind: str) -> dict[str, Any]:
        model = asked.body.get("model") or self._settings.model
        return {"id": f"chatcmpl-{asked.number}", "object": kind, "created": int(time.time()), "model": model}


def _usage(asked: ChatRequest, answer: Answer) -> dict[str, int]:
    prompt, completion = sum(asked.tokens.values()), estimate(answer.message(asked.number))
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _error(status: HTTPStatus, message: str, kind: str = "invalid_request_error") -> web.Response:
    """Return an error in OpenAI's form."""
    error = {"message": message, "type": kind, "param": None, "code": status.value}
    return web.json_response({"error": error}, status=status, headers=_HEADERS)
