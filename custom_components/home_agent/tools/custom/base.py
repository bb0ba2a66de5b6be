"""What every custom tool is made of."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType

from ...errors import PermissionDenied
from ...texts import leaves
from ..base import HomeAgentTool, ToolRun
from ..calls.bounds import MAX_CHARS
from ..calls.schema import JsonSchema
from ..outside.outgoing import Leaving, Outgoing, declared_by
from .checks import Writer, YamlSection, variables_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What all tools of the YAML have in common."""

    hass: HomeAssistant
    name: str
    description: str
    schema: JsonSchema

    @property
    def names(self) -> list[str]:
        """Return the names of the arguments."""
        return list(self.schema.written.get("properties", {}))


class CustomTool(HomeAgentTool):
    """A tool that the household wrote. Each handler type is a class of its own, see `HANDLERS`.

    One object serves one agent: `settings` are the options of its entry.
    """

    judged = True
    component = "custom_tools"
    max_text = MAX_CHARS
    leaves = False
    """Whether its arguments go to a server outside the home: then they are sanitised."""
    private_words = False
    """Whether the household lets it have private words."""
    host = ""
    """The server that is asked, if one is."""

    def __init__(
        self, definition: Definition, handler: Any, settings: Mapping[str, Any], outgoing: Outgoing
    ) -> None:
        """Store the handler that `read` has returned, and the check of arguments that leave the home."""
        self.name = definition.name
        self.title = definition.name
        self.description = definition.description
        self.parameters: JsonSchema = definition.schema
        self._names = definition.names
        self._settings = settings
        self._hass = definition.hass
        self._outgoing = outgoing
        self.configure(handler)

    @classmethod
    @abstractmethod
    def read(cls, section: YamlSection, writer: Writer) -> Any:
        """Return the handler of the YAML; None with problems reported."""

    @abstractmethod
    def configure(self, handler: Any) -> None:
        """Store the handler that `read` has returned."""

    @abstractmethod
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Do the work; `variables` are the arguments as templates take them."""

    @property
    @override
    def source(self) -> str | None:
        """Return the server outside that its results come from."""
        return self.host if self.leaves else None

    @override
    async def async_check(self, args: Mapping[str, Any], run: ToolRun) -> None:
        """Refuse entities that are not exposed, and words that may not leave."""
        for text in leaves(args):
            if isinstance(text, str) and run.hass.states.get(text) is not None and not run.is_exposed(text):
                raise PermissionDenied("An entity does not exist or is not exposed to the assistant")
        if self.leaves:
            await self._outgoing.async_check(self._leaving(args), run)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Note what leaves, and do the work."""
        if self.leaves:
            self._outgoing.note_sent(self._leaving(args), run)
        return await self.async_handle(variables_of(self._names, args), run)

    def _leaving(self, args: Mapping[str, Any]) -> Leaving:
        """Return the arguments that leave the home."""
        return Leaving(
            tool=self.name,
            args=args,
            source=self.host,
            declared=declared_by(self.parameters.written),
            only_reads=self.only_reads(args),
            private=self.private_words,
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """A tool that was read; each agent makes its own of it."""

    definition: Definition
    kind: type[CustomTool]
    handler: Any
    optional: bool = False
    """Whether only agents whose options let MCP tools change things have it."""

    @property
    def name(self) -> str:
        """Return the name of the tool."""
        return self.definition.name

    @property
    def written(self) -> tuple[str, str, str]:
        """Return the tool's description for a model."""
        return self.name, self.definition.description, str(self.definition.schema.written)

    def make(self, settings: Mapping[str, Any], outgoing: Outgoing) -> CustomTool:
        """Return the tool for an agent with these options."""
        return self.kind(self.definition, self.handler, settings, outgoing)
