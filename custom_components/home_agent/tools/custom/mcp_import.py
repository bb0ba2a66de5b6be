"""All tools of an MCP server from one entry of the YAML, updated when the server changes them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Final

import probatio

from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later

from ...const import DOMAIN, LOGGER
from ...errors import ToolExecutionError
from ...issues import report, withdraw
from ..calls.schema import JsonSchema
from ..outside.foreign import async_report_refused, async_sanitize, imitates
from ..outside.other_apis import wire_name
from .base import Recipe
from .mcp import McpServer, McpTool
from .mcp_client import LISTED_SECONDS, RemoteTool

MAX_IMPORTED: Final = 50
RETRY_SECONDS: Final = 30
"""Until a server that cannot be reached is asked again; twice as long each time."""
UNREACHABLE: Final = "mcp_unreachable"


@dataclass(slots=True)
class McpImport:
    """The tools of one server."""

    hass: HomeAssistant
    name: str
    """What the names of the tools begin with."""
    about: str
    """The household's description of the server, added to each tool."""
    server: McpServer
    reserved: Collection[str]
    """Names of our own tools."""
    recipes: tuple[Recipe, ...] = ()
    _shown: list[Any] = field(default_factory=list)
    _delay: float = RETRY_SECONDS

    async def async_refresh(self) -> bool:
        """Ask what the server offers; return whether that has changed. One that is away keeps its tools."""
        try:
            found = await self.server.async_tools(self.hass)
        except ToolExecutionError as err:
            self._report(str(err))
            return False
        self._report("")
        self._delay = RETRY_SECONDS
        wanted = [tool for tool in found.values() if self._wants(tool)]
        functions = [self._function(tool) for tool in wanted]
        sanitized = await async_sanitize(self.hass, functions)
        recipes: dict[str, Recipe] = {}
        refused: list[str] = []
        for tool, one in zip(wanted, sanitized, strict=True):
            recipe = self._recipe(tool, one.function, recipes)
            if recipe is not None:
                recipes[recipe.name] = recipe
            if recipe is None:
                refused.append(tool.name)
        async_report_refused(self.hass, f"mcp_{self.name}", self.name, refused)
        shown = [
            (recipe.name, recipe.description, str(recipe.parameters.written), recipe.handler)
            for recipe in recipes.values()
        ]
        changed, self._shown = shown != self._shown, shown
        self.recipes = tuple(recipes.values())
        return changed

    @callback
    def async_follow(self, on_change: Callable[[], None]) -> CALLBACK_TYPE:
        """Update the tools regularly and when the server reports a change; return how to stop it."""
        client = self.server.client(self.hass)
        timer: list[CALLBACK_TYPE] = []

        async def refresh() -> None:
            stop_waiting()
            if await self.async_refresh():
                on_change()
            delay = LISTED_SECONDS if client.listed else self._delay
            self._delay = min(self._delay * 2, LISTED_SECONDS)
            stop_waiting()
            timer.append(async_call_later(self.hass, delay, job))

        @callback
        def begin(_now: datetime | None = None) -> None:
            self.hass.async_create_background_task(refresh(), f"{DOMAIN} mcp {self.name}")

        @callback
        def stop_waiting() -> None:
            while timer:
                timer.pop()()

        @callback
        def stop() -> None:
            client.on_change = None
            stop_waiting()

        job = HassJob(begin, cancel_on_shutdown=True)
        client.on_change = begin
        begin()
        return stop

    @callback
    def async_forget(self) -> None:
        """Take back what was reported."""
        self._report("")
        async_report_refused(self.hass, f"mcp_{self.name}", self.name, ())

    def _wants(self, tool: RemoteTool) -> bool:
        return (
            any(fnmatchcase(tool.name, pattern) for pattern in self.server.include)
            and not any(fnmatchcase(tool.name, pattern) for pattern in self.server.exclude)
            and self.server.handler(tool) is not None
        )

    def _function(self, tool: RemoteTool) -> dict[str, Any]:
        about = f"{self.about} {tool.description}".strip()
        schema = {"type": "object", "properties": {}, **tool.schema}
        return {"name": tool.name, "description": about or tool.name, "parameters": schema}

    def _recipe(
        self, tool: RemoteTool, function: Mapping[str, Any] | None, taken: Mapping[str, Recipe]
    ) -> Recipe | None:
        """Return a tool as agents get it; None if it may not be offered, or cannot be called."""
        name, handler = wire_name(f"{self.name}_{tool.name}"), self.server.handler(tool)
        if function is None or handler is None or name in taken or imitates(name, self.reserved):
            return None
        if len(taken) >= MAX_IMPORTED:
            return None
        try:
            schema = JsonSchema(function["parameters"])
        except (probatio.Error, ValueError, TypeError, RecursionError) as err:
            LOGGER.info("The arguments of the MCP tool %s are no JSON Schema: %s", name, type(err).__name__)
            return None
        return Recipe(
            hass=self.hass,
            name=name,
            description=str(function["description"]),
            parameters=schema,
            kind=McpTool,
            handler=handler,
            optional=handler.read_only is False,
        )

    def _report(self, error: str) -> None:
        issue_id = f"{UNREACHABLE}_{self.name}"
        if not error:
            withdraw(self.hass, issue_id)
            return
        report(self.hass, issue_id, UNREACHABLE, name=self.name, error=error)
