"""What every custom tool is made of."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, override

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType

from ...errors import PermissionDenied
from ...texts import leaves
from ..base import HomeAgentTool, ToolRun
from ..calls.bounds import MAX_CHARS
from ..calls.schema import JsonSchema
from ..outside.outgoing import Leaving, Outgoing, declared_by
from .checks import Templates, variables_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A tool that was read; each agent makes its own of it."""

    hass: HomeAssistant
    name: str
    description: str
    parameters: JsonSchema
    kind: type[CustomTool]
    handler: Any
    """What `kind.read` has returned."""
    optional: bool = False
    """Whether only agents whose options let MCP tools change things have it."""

    def make(self, settings: Mapping[str, Any], outgoing: Outgoing) -> CustomTool:
        """Return the tool for an agent with these options."""
        return self.kind(self, settings, outgoing)


class CustomTool(HomeAgentTool):
    """A tool that the household wrote. Each handler type is a class of its own, see `HANDLERS`.

    One object serves one agent: `settings` are the options of its entry.
    """

    schema: ClassVar[Any]
    """The keys of its handler besides `type`."""
    judged = True
    component = "custom_tools"
    max_text = MAX_CHARS
    leaves = False
    """Whether its arguments go to a server outside the home: then they are sanitised."""
    private_words = False
    """Whether the household lets it have private words."""
    host = ""
    """The server that is asked, if one is."""

    def __init__(self, recipe: Recipe, settings: Mapping[str, Any], outgoing: Outgoing) -> None:
        self.name = self.title = recipe.name
        self.description = recipe.description
        self.parameters: JsonSchema = recipe.parameters
        self._settings = settings
        self._hass = recipe.hass
        self._outgoing = outgoing
        self.configure(recipe.handler)

    @classmethod
    @abstractmethod
    def read(cls, config: Mapping[str, Any], templates: Templates) -> Any:
        """Return a handler that fits the schema. Raises probatio.Invalid for a template that cannot work."""

    @abstractmethod
    def configure(self, handler: Any) -> None:
        """Store the handler that `read` has returned."""

    @abstractmethod
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Do the work; `variables` are the arguments as templates take them."""

    @property
    @override
    def source(self) -> str | None:
        return self.host if self.leaves else None

    @override
    async def async_check(self, args: Mapping[str, Any], run: ToolRun) -> None:
        for text in leaves(args):
            if isinstance(text, str) and run.hass.states.get(text) is not None and not run.reader.sees(text):
                raise PermissionDenied("An entity does not exist or is not exposed to the assistant")
        if self.leaves:
            await self._outgoing.async_check(self._leaving(args), run)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        if self.leaves:
            self._outgoing.note_sent(self._leaving(args), run)
        return await self.async_handle(variables_of(self.parameters.written.get("properties", {}), args), run)

    def _leaving(self, args: Mapping[str, Any]) -> Leaving:
        return Leaving(
            tool=self.name,
            args=args,
            source=self.host,
            declared=declared_by(self.parameters.written) | {self.description or ""},
            only_reads=self.only_reads(args),
            private=self.private_words,
        )
