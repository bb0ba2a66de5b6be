"""A server of the Model Context Protocol as it was written; its tools, and all agents, share its session."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from aiohttp import ClientSession

from homeassistant.core import HomeAssistant

from ...errors import ToolExecutionError
from ..hosts import async_session, is_local_name
from .auth import Auth, OAuth2, read_auth
from .checks import Section
from .http import CONTROL, FORBIDDEN_HEADERS, HEADER, without_keys
from .mcp_client import McpClient, RemoteTool, Unauthorized
from .templates import Text, Writer
from .url import UrlTemplate, read_url

DEFAULT_SECONDS: Final = 15.0
MAX_SECONDS: Final = 120
RESERVED_HEADERS: Final = FORBIDDEN_HEADERS | {"mcp-session-id", "mcp-protocol-version", "accept"}


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
        """Return what speaks to the server; nothing is sent yet."""
        if self._client is None:
            self._client = McpClient(
                http=self._http(hass, self.url),
                url=self.url.build({}),
                headers=partial(self._async_headers, hass),
                spawn=partial(hass.async_create_background_task, name="home_agent mcp"),
            )
        return self._client

    async def async_tools(self, hass: HomeAssistant) -> Mapping[str, RemoteTool]:
        """Return what the server offers. Raises ToolExecutionError in words without keys."""
        return await self._async_ask(hass, McpClient.tools)

    async def async_call(
        self,
        hass: HomeAssistant,
        tool: str,
        args: Mapping[str, Any],
        check: Callable[[Mapping[str, RemoteTool]], None],
    ) -> dict[str, Any]:
        """Return what a tool answers; `check` raises for one that may not be called, by the server's list.

        Raises ToolExecutionError and PermissionDenied in words without keys.
        """

        async def ask(client: McpClient) -> dict[str, Any]:
            check(await client.tools())
            return await client.call(tool, args)

        found: dict[str, Any] = without_keys(await self._async_ask(hass, ask), self._secrets())
        return found

    async def _async_ask[T](self, hass: HomeAssistant, ask: Callable[[McpClient], Awaitable[T]]) -> T:
        """Return what is asked for, within the time; credentials that can be renewed get a second try."""
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


def read_server(section: Section, writer: Writer) -> McpServer | None:
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
