"""`type: mcp`: a tool of an MCP server, called by its own name, or all of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, override

from aiohttp import ClientSession
from jinja2 import Undefined

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ...const import CONF_MCP_WRITES, CONF_REST_ALLOWED_HOSTS
from ...errors import PermissionDenied, ToolExecutionError
from ..base import ToolRun
from ..outside.hosts import async_session, is_allowed, is_local_name
from .auth import Auth, OAuth2, read_auth
from .base import CustomTool
from .checks import Text, Writer, YamlSection
from .http import CONTROL, FORBIDDEN_HEADERS, HEADER, UrlTemplate, read_url, without_keys
from .mcp_client import McpClient, RemoteTool, Unauthorized

DEFAULT_SECONDS: Final = 15.0
MAX_SECONDS: Final = 120
RESERVED_HEADERS: Final = FORBIDDEN_HEADERS | {"mcp-session-id", "mcp-protocol-version", "accept"}
MAX_NAME: Final = 128
MAX_FAILURE: Final = 300
MAX_PATTERNS: Final = 100
OTHER_KINDS: Final = {"image": "an image", "audio": "a sound", "resource_link": "a link"}
"""What else servers answer with, and models at this end of the wire do not read."""
RAW_METHODS: Final = ("tools/call", "tools/list")


@dataclass(slots=True, kw_only=True)
class McpServer:
    """Where a server is, and who we say we are."""

    url: UrlTemplate
    headers: Mapping[str, Text]
    auth: Auth | None
    seconds: float
    verify_ssl: bool
    private_network: bool
    sent: str = field(default="", init=False)
    """The Authorization header that was sent last."""
    _client: McpClient | None = field(default=None, init=False)

    @property
    def is_local(self) -> bool:
        """Return whether the server as it was written can only be one of the private network."""
        return is_local_name(self.url.host)

    def client(self, hass: HomeAssistant) -> McpClient:
        """Return the client of the server; nothing is sent yet."""
        if self._client is None:
            self._client = McpClient(
                http=self._http(hass, self.url),
                url=self.url.build({}),
                headers=partial(self._async_headers, hass),
                spawn=partial(hass.async_create_background_task, name="home_agent mcp"),
            )
        return self._client

    async def async_tools(self, hass: HomeAssistant) -> Mapping[str, RemoteTool]:
        """Return the tools of the server. Raises ToolExecutionError without keys in its text."""
        return await self._async_ask(hass, McpClient.tools)

    async def async_call(
        self,
        hass: HomeAssistant,
        tool: str,
        args: Mapping[str, Any],
        check: Callable[[Mapping[str, RemoteTool]], None],
    ) -> dict[str, Any]:
        """Return the answer of a tool; `check` raises for a tool that may not be called.

        Raises ToolExecutionError and PermissionDenied in words without keys.
        """

        async def ask(client: McpClient) -> dict[str, Any]:
            check(await client.tools())
            return await client.call(tool, args)

        found: dict[str, Any] = without_keys(await self._async_ask(hass, ask), self._secrets())
        return found

    async def _async_ask[T](self, hass: HomeAssistant, ask: Callable[[McpClient], Awaitable[T]]) -> T:
        """Return the result in time; credentials that can be renewed get a second attempt."""
        client = self.client(hass)
        try:
            async with asyncio.timeout(self.seconds) as limit:
                for is_last in (self.auth is None or not self.auth.renewable, True):
                    try:
                        return await ask(client)
                    except Unauthorized:
                        client.forget()
                        if self.auth is not None:
                            self.auth.forget(self.sent)
                        if is_last:
                            break
        except TimeoutError as err:
            if not limit.expired():
                raise
            raise ToolExecutionError(f"The MCP server did not answer within {self.seconds:g} s") from err
        except ToolExecutionError as err:
            raise ToolExecutionError(without_keys(str(err), self._secrets())) from err
        raise ToolExecutionError(
            "The MCP server refuses the credentials of this tool. The person has to correct them"
        )

    def _secrets(self) -> set[str]:
        """Return the secrets, which must never be shown."""
        of_auth = self.auth.secrets() if self.auth is not None else []
        return {*of_auth, self.sent, *(text.source for text in self.headers.values())}

    def _http(self, hass: HomeAssistant, url: UrlTemplate) -> ClientSession:
        """Return a session; private addresses are reached only if the configuration names them."""
        local = self.private_network or is_local_name(url.host)
        return async_session(hass, local=local, verify_ssl=self.verify_ssl)

    async def _async_headers(self, hass: HomeAssistant) -> dict[str, str]:
        """Return the headers of a request."""
        headers = {name: CONTROL.sub(" ", text.render({})) for name, text in self.headers.items()}
        if self.auth is not None:
            http = self._http(hass, self.auth.url) if isinstance(self.auth, OAuth2) else None
            self.sent = CONTROL.sub("", await self.auth.async_header(http, {}))
            headers["Authorization"] = self.sent
        return headers


def read_server(section: YamlSection, writer: Writer) -> McpServer | None:
    """Return the server that a handler writes; None with the problem reported."""
    fixed = Writer(writer.hass, writer.environment, ())
    url = read_url(section, fixed, "server_url")
    if url is not None and len(url.parts) > 1:
        section.problem("server_url", "no_templates_here")
    headers = _headers(section, fixed)
    auth = read_auth(section, fixed)
    seconds = section.seconds("timeout", 1, MAX_SECONDS) or DEFAULT_SECONDS
    verify_ssl, private = section.flag("verify_ssl"), section.flag("private_network")
    if url is None:
        return None
    return McpServer(
        url=url,
        headers=headers,
        auth=auth,
        seconds=seconds,
        verify_ssl=verify_ssl is not False,
        private_network=bool(private),
    )


def _headers(section: YamlSection, writer: Writer) -> dict[str, Text]:
    """Return headers that are sent with each request."""
    if (part := section.section("headers")) is None:
        return {}
    found: dict[str, Text] = {}
    for name in part.names():
        if not HEADER.fullmatch(name) or name.lower() in RESERVED_HEADERS:
            section.problem("headers", "refused_header", name=name[:40])
        elif (source := part.text(name, secret=True)) is not None:
            found[name] = writer.text(part, name, source)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class McpHandler:
    """One tool of a server."""

    server: McpServer
    tool: str
    read_only: bool | None
    """What the household says of the tool; None leaves it to the server to say that it reads only."""
    private_words: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTools:
    """All tools of a server, or those whose names fit."""

    server: McpServer
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    read_only: bool | None
    private_words: bool

    def handler(self, tool: RemoteTool) -> McpHandler | None:
        """Return how a tool is called; None for one that changes something and was not let in."""
        read_only = None if tool.only_reads else self.read_only
        if read_only is None and not tool.only_reads:
            return None
        return McpHandler(
            server=self.server, tool=tool.name, read_only=read_only, private_words=self.private_words
        )


class McpTool(CustomTool):
    """Calls a tool of an MCP server. Its results are untrusted."""

    untrusted = True
    _handler: McpHandler
    _allowed: list[str]

    @override
    @classmethod
    def read(cls, section: YamlSection, writer: Writer) -> McpHandler | McpTools | None:
        """Return the server and the name of its tool; without a name its tools."""
        server = read_server(section, writer)
        tool = section.text("tool", "method")
        if tool in RAW_METHODS or (tool and len(tool) > MAX_NAME):
            section.problem("tool" if section.has("tool") else "method", "no_tool_name")
        read_only, private = section.flag("read_only"), bool(section.flag("private_words"))
        include, exclude = (_patterns(section, key) for key in ("include", "exclude"))
        if tool is not None and (include or exclude):
            section.problem("tool", "excludes", other="include" if include else "exclude")
        if server is None:
            return None
        if tool is None:
            return McpTools(
                server=server,
                include=include or ("*",),
                exclude=exclude,
                read_only=read_only,
                private_words=private,
            )
        return McpHandler(server=server, tool=tool, read_only=read_only, private_words=private)

    @override
    def configure(self, handler: McpHandler) -> None:
        """Take the server."""
        self._handler = handler
        self.host = handler.server.url.host
        self.leaves = not handler.server.is_local
        self.private_words = handler.private_words
        self._allowed = list(self._settings.get(CONF_REST_ALLOWED_HOSTS) or ())
        # A call that is refused in any case needs no confirmation first.
        reads = handler.read_only is not False or not self._settings[CONF_MCP_WRITES]
        self.annotations = llm.ToolAnnotations(
            read_only=reads, destructive=not reads, idempotent=False, open_world=True
        )

    @override
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Call the tool and return what it said. Raises PermissionDenied and ToolExecutionError."""
        handler, host = self._handler, self._handler.server.url.host
        if handler.read_only is False and not self._settings[CONF_MCP_WRITES]:
            raise PermissionDenied("This tool changes something, which the options forbid (mcp_allow_writes)")
        if not is_allowed(host, self._allowed):
            raise PermissionDenied(f"The host {host} is not among the allowed ones (rest_allowed_hosts)")
        args = {name: value for name, value in variables.items() if not isinstance(value, Undefined)}
        result = await handler.server.async_call(run.hass, handler.tool, args, self._check)
        content = _content_of(result)
        if result.get("isError") is True:
            raise ToolExecutionError(f"The tool of the MCP server failed: {str(content)[:MAX_FAILURE]}")
        return content

    def _check(self, tools: Mapping[str, RemoteTool]) -> None:
        """Raise unless the server has the tool, and it only reads or the configuration allows more."""
        handler = self._handler
        if (tool := tools.get(handler.tool)) is None:
            known = ", ".join(sorted(tools))[:MAX_FAILURE]
            raise ToolExecutionError(f"The MCP server has no tool {handler.tool}. It has: {known or 'none'}")
        if handler.read_only is None and not tool.only_reads:
            raise PermissionDenied(
                "The MCP server does not say that this tool only reads. The person has to write read_only: "
                "true, or false with the option mcp_allow_writes"
            )


def _patterns(section: YamlSection, key: str) -> tuple[str, ...]:
    """Return names of tools with wildcards, one or a list of them."""
    written = section.plain(key)
    found = [written] if isinstance(written, str) else written or []
    if isinstance(found, list) and all(isinstance(item, str) and item for item in found[:MAX_PATTERNS]):
        return tuple(found[:MAX_PATTERNS])
    section.problem(key, "no_patterns")
    return ()


def _content_of(result: Mapping[str, Any]) -> JsonValueType:
    """Return the content of a result: its data if there is any, else its texts."""
    data = result.get("structuredContent")
    if isinstance(data, dict) and data:
        # One value that is not an object is wrapped by servers under this name.
        value: JsonValueType = data["result"] if set(data) == {"result"} else data
        return value
    content = result.get("content")
    texts = (
        [_text_of(item) for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    )
    return "\n".join(text for text in texts if text)


def _text_of(item: Mapping[str, Any]) -> str:
    """Return a part of a result as text."""
    inner = item.get("resource") if item.get("type") == "resource" else item
    if isinstance(inner, dict) and isinstance(text := inner.get("text"), str):
        return text
    return f"({OTHER_KINDS.get(str(item.get('type')), 'something else')} that is not shown)"
