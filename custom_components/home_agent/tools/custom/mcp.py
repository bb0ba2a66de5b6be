"""`type: mcp`: a tool of an MCP server, called by its own name, or all of them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, override

from jinja2 import Undefined
import probatio
from yarl import URL

from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv, llm
from homeassistant.util.json import JsonValueType

from ...const import CONF_MCP_WRITES, CONF_REST_ALLOWED_HOSTS
from ...errors import PermissionDenied, ToolExecutionError
from ..base import ToolRun
from ..outside.hosts import is_allowed, is_local_name
from .auth import AUTH, Auth, read_auth
from .base import CustomTool
from .checks import TEXT, Templates, Text
from .http import (
    CONTROL,
    FIXED_ADDRESS,
    FORBIDDEN_HEADERS,
    Connection,
    connection_schema,
    header_name,
    without_keys,
)
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

    url: str
    headers: Mapping[str, Text]
    auth: Auth | None
    connection: Connection
    private_words: bool
    read_only: bool | None
    """What the household says of its tools; None leaves it to the server to say that they only read."""
    include: Sequence[str]
    exclude: Sequence[str]
    """Names of tools with wildcards."""
    sent: str = field(default="", init=False)
    """The Authorization header that was sent last."""
    _client: McpClient | None = field(default=None, init=False)

    @property
    def host(self) -> str:
        """Return the host as it was written."""
        return URL(self.url).host or ""

    def handler(self, tool: RemoteTool) -> McpHandler | None:
        """Return how a tool is called; None for one that changes something and was not let in."""
        if tool.only_reads:
            return McpHandler(self, tool.name, None)
        return None if self.read_only is None else McpHandler(self, tool.name, self.read_only)

    def client(self, hass: HomeAssistant) -> McpClient:
        """Return the client of the server; nothing is sent yet."""
        if self._client is None:
            self._client = McpClient(
                http=self.connection.session(hass, self.host),
                url=self.url,
                headers=partial(self._async_headers, hass),
                spawn=partial(hass.async_create_background_task, name="home_agent mcp"),
            )
        return self._client

    async def async_tools(self, hass: HomeAssistant) -> Mapping[str, RemoteTool]:
        """Return the tools of the server. Raises ToolExecutionError without keys in its text."""
        return await self._async_ask(hass, McpClient.tools)

    async def async_call(
        self, hass: HomeAssistant, handler: McpHandler, args: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the answer of a tool. Raises ToolExecutionError and PermissionDenied without keys."""

        async def ask(client: McpClient) -> dict[str, Any]:
            handler.check(await client.tools())
            return await client.call(handler.tool, args)

        answer: dict[str, Any] = without_keys(await self._async_ask(hass, ask), self._secrets())
        return answer

    async def _async_ask[T](self, hass: HomeAssistant, ask: Callable[[McpClient], Awaitable[T]]) -> T:
        """Return the result in time; credentials that can be renewed get a second attempt."""
        client = self.client(hass)
        try:
            async with self.connection.in_time("MCP server"):
                for is_last in (self.auth is None or not self.auth.renewable, True):
                    try:
                        return await ask(client)
                    except Unauthorized:
                        client.forget()
                        if self.auth is not None:
                            self.auth.forget(self.sent)
                        if is_last:
                            break
        except ToolExecutionError as err:
            raise ToolExecutionError(without_keys(str(err), self._secrets())) from err
        raise ToolExecutionError(
            "The MCP server refuses the credentials of this tool. The person has to correct them"
        )

    def _secrets(self) -> set[str]:
        of_auth = self.auth.secrets() if self.auth is not None else []
        return {*of_auth, self.sent, *(text.source for text in self.headers.values())}

    async def _async_headers(self, hass: HomeAssistant) -> dict[str, str]:
        headers = {name: CONTROL.sub(" ", text.render({})) for name, text in self.headers.items()}
        if self.auth is not None:
            header = await self.auth.async_header(partial(self.connection.session, hass), {})
            self.sent = CONTROL.sub("", header)
            headers["Authorization"] = self.sent
        return headers


@dataclass(frozen=True, slots=True)
class McpHandler:
    """One tool of a server."""

    server: McpServer
    tool: str
    read_only: bool | None

    def check(self, tools: Mapping[str, RemoteTool]) -> None:
        """Raise unless the server has the tool, and it only reads or the configuration allows more."""
        if (tool := tools.get(self.tool)) is None:
            known = ", ".join(sorted(tools))[:MAX_FAILURE]
            raise ToolExecutionError(f"The MCP server has no tool {self.tool}. It has: {known or 'none'}")
        if self.read_only is None and not tool.only_reads:
            raise PermissionDenied(
                "The MCP server does not say that this tool only reads. The person has to write read_only: "
                "true, or false with the option mcp_allow_writes"
            )


_PATTERNS: Final = probatio.All(cv.ensure_list, [str], probatio.Length(max=MAX_PATTERNS))
"""Names of tools with wildcards."""


def _one_or_all(config: dict[str, Any]) -> dict[str, Any]:
    if "tool" in config and (config["include"] != ["*"] or config["exclude"]):
        raise probatio.Invalid("tool and include or exclude are for different things", ["tool"])
    return config


class McpTool(CustomTool):
    """Calls a tool of an MCP server. Its results are untrusted."""

    schema = probatio.All(
        {
            probatio.Required("server_url"): FIXED_ADDRESS,
            probatio.Alias("tool", "method"): probatio.All(
                TEXT, probatio.Length(max=MAX_NAME), probatio.NotIn(RAW_METHODS)
            ),
            probatio.Optional("headers", default=dict): {header_name(RESERVED_HEADERS): TEXT},
            probatio.Optional("auth"): AUTH,
            probatio.Optional("include", default=lambda: ["*"]): _PATTERNS,
            probatio.Optional("exclude", default=list): _PATTERNS,
            probatio.Optional("private_words", default=False): bool,
            probatio.Optional("read_only"): bool,
            **connection_schema(DEFAULT_SECONDS, MAX_SECONDS),
        },
        _one_or_all,
    )
    untrusted = True
    _handler: McpHandler
    _allowed: list[str]

    @override
    @classmethod
    def read(cls, config: Mapping[str, Any], templates: Templates) -> McpHandler | McpServer:
        """Return the server and the name of its tool; without a name the server."""
        fixed = replace(templates, names=())
        server = McpServer(
            url=config["server_url"],
            headers=fixed.value(config["headers"], "headers"),
            auth=read_auth(config.get("auth"), fixed),
            connection=Connection.of(config),
            private_words=config["private_words"],
            read_only=config.get("read_only"),
            include=config["include"],
            exclude=config["exclude"],
        )
        return McpHandler(server, config["tool"], server.read_only) if "tool" in config else server

    @override
    def configure(self, handler: McpHandler) -> None:
        self._handler = handler
        self.host = handler.server.host
        self.leaves = not is_local_name(self.host)
        self.private_words = handler.server.private_words
        self._allowed = list(self._settings.get(CONF_REST_ALLOWED_HOSTS) or ())
        # A call that is refused in any case needs no confirmation first.
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
        if not is_allowed(self.host, self._allowed):
            raise PermissionDenied(f"The host {self.host} is not among the allowed ones (rest_allowed_hosts)")
        args = {name: value for name, value in variables.items() if not isinstance(value, Undefined)}
        result = await handler.server.async_call(run.hass, handler, args)
        content = _content_of(result)
        if result.get("isError") is True:
            raise ToolExecutionError(f"The tool of the MCP server failed: {str(content)[:MAX_FAILURE]}")
        return content


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
    inner = item.get("resource") if item.get("type") == "resource" else item
    if isinstance(inner, dict) and isinstance(text := inner.get("text"), str):
        return text
    return f"({OTHER_KINDS.get(str(item.get('type')), 'something else')} that is not shown)"
