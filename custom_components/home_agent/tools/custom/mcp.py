"""`type: mcp`: one tool of an MCP server, called by its own name."""

import asyncio
from collections.abc import Mapping
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
from .auth import Auth, OAuth2, read_auth
from .base import CustomTool
from .checks import Section
from .hosts import async_session, is_allowed, is_local_name
from .mcp_client import McpClient, Unauthorized
from .rest import CONTROL, FORBIDDEN_HEADERS, HEADER, without_keys
from .templates import Text, Writer
from .url import UrlTemplate, read_url

DEFAULT_SECONDS: Final = 15.0
MAX_SECONDS: Final = 120
MAX_NAME: Final = 128
OTHER_KINDS: Final = {"image": "an image", "audio": "a sound", "resource_link": "a link"}
"""What else servers answer with, and models at this end of the wire do not read."""
MAX_FAILURE: Final = 300
RESERVED_HEADERS: Final = FORBIDDEN_HEADERS | {"mcp-session-id", "mcp-protocol-version", "accept"}
RAW_METHODS: Final = ("tools/call", "tools/list")


@dataclass(slots=True, kw_only=True)
class McpHandler:
    """The server and its tool as they were written; agents share the session."""

    url: UrlTemplate
    tool: str
    headers: Mapping[str, Text]
    auth: Auth | None
    seconds: float
    verify_ssl: bool
    private_network: bool
    read_only: bool | None
    """What the household says of the tool; None leaves it to the server to say that it reads only."""
    sent: str = field(default="", init=False)
    """The Authorization header that was sent last."""
    _client: McpClient | None = field(default=None, init=False)

    def connect(self, hass: HomeAssistant) -> McpClient:
        """Return what speaks to the server; nothing is sent yet."""
        if self._client is None:
            self._client = McpClient(
                http=self._http(hass, self.url),
                url=self.url.build({}),
                headers=partial(self._async_headers, hass),
                spawn=partial(hass.async_create_background_task, name="home_agent mcp"),
            )
        return self._client

    def secrets(self) -> set[str]:
        """Return what must never be seen outside."""
        of_auth = self.auth.secrets() if self.auth is not None else []
        return {*of_auth, self.sent, *(text.source for text in self.headers.values())}

    def _http(self, hass: HomeAssistant, url: UrlTemplate) -> ClientSession:
        """Return what reaches a host: a private one only if it was written as such."""
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


class McpTool(CustomTool):
    """Calls a tool of an MCP server. What comes back was written by somebody outside."""

    untrusted = True
    _handler: McpHandler
    _allowed: list[str]

    @override
    @classmethod
    def read(cls, section: Section, writer: Writer) -> McpHandler | None:
        """Return the server and the name of its tool."""
        fixed = Writer(writer.hass, writer.environment, ())
        url = read_url(section, fixed, "server_url")
        tool = section.text("tool", "method", required="tool: search_recipes")
        if tool in RAW_METHODS or (tool and len(tool) > MAX_NAME):
            section.problem("tool" if section.has("tool") else "method", "no_tool_name")
        if url is not None and len(url.parts) > 1:
            section.problem("server_url", "no_templates_here")
        headers = _headers(section, fixed)
        auth = read_auth(section, fixed)
        seconds = section.seconds("timeout", 1, MAX_SECONDS) or DEFAULT_SECONDS
        verify_ssl, private = section.flag("verify_ssl"), section.flag("private_network")
        read_only = section.flag("read_only")
        if url is None or tool is None:
            return None
        return McpHandler(
            url=url,
            tool=tool,
            headers=headers,
            auth=auth,
            seconds=seconds,
            verify_ssl=verify_ssl is not False,
            private_network=bool(private),
            read_only=read_only,
        )

    @override
    def configure(self, handler: McpHandler) -> None:
        """Take the server."""
        self._handler = handler
        self._allowed = list(self._settings.get(CONF_REST_ALLOWED_HOSTS) or ())
        # One that is refused needs nobody's word first.
        reads = handler.read_only is not False or not self._settings[CONF_MCP_WRITES]
        self.annotations = llm.ToolAnnotations(
            read_only=reads, destructive=not reads, idempotent=False, open_world=True
        )

    @override
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Call the tool and return what it said. Raises PermissionDenied and ToolExecutionError."""
        handler = self._handler
        if handler.read_only is False and not self._settings[CONF_MCP_WRITES]:
            raise PermissionDenied("This tool changes something, which the options forbid (mcp_allow_writes)")
        if not is_allowed(handler.url.host, self._allowed):
            raise PermissionDenied(
                f"The host {handler.url.host} is not among the allowed ones (rest_allowed_hosts)"
            )
        args = {name: value for name, value in variables.items() if not isinstance(value, Undefined)}
        client = handler.connect(run.hass)
        try:
            async with asyncio.timeout(handler.seconds) as limit:
                result = await self._async_call(client, args)
        except TimeoutError as err:
            if not limit.expired():
                raise
            raise ToolExecutionError(f"The MCP server did not answer within {handler.seconds:g} s") from err
        told: JsonValueType = without_keys(_told(result), handler.secrets())
        if result.get("isError") is True:
            raise ToolExecutionError(f"The tool of the MCP server failed: {str(told)[:MAX_FAILURE]}")
        return told

    async def _async_call(self, client: McpClient, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the tool answers; credentials that can be renewed get a second try."""
        handler = self._handler
        for is_last in (handler.auth is None or not handler.auth.renewable, True):
            try:
                await self._async_check(client)
                return await client.call(handler.tool, args)
            except Unauthorized:
                client.forget()
                if handler.auth is not None:
                    handler.auth.forget(handler.sent)
                if is_last:
                    break
            except ToolExecutionError as err:
                raise ToolExecutionError(without_keys(str(err), handler.secrets())) from err
        raise ToolExecutionError(
            "The MCP server refuses the credentials of this tool. The person has to correct them"
        )

    async def _async_check(self, client: McpClient) -> None:
        """Raise unless the server has the tool, and somebody says that it only reads or may do more."""
        handler = self._handler
        tools = await client.tools()
        if (tool := tools.get(handler.tool)) is None:
            known = ", ".join(sorted(tools))[:MAX_FAILURE]
            raise ToolExecutionError(f"The MCP server has no tool {handler.tool}. It has: {known or 'none'}")
        if handler.read_only is None and not tool.only_reads:
            raise PermissionDenied(
                "The MCP server does not say that this tool only reads. The person has to write read_only: "
                "true, or false with the option mcp_allow_writes"
            )


def _headers(section: Section, writer: Writer) -> dict[str, Text]:
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


def _told(result: Mapping[str, Any]) -> JsonValueType:
    """Return what a result says: its data where it has some, else its texts."""
    data = result.get("structuredContent")
    if isinstance(data, dict) and data:
        # One value that is no object is wrapped by servers under this name.
        return data["result"] if set(data) == {"result"} else data
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
