"""The tools of the YAML as all agents share them; loader.py reads them where there are any."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import probatio

from homeassistant.core import CALLBACK_TYPE, callback
from homeassistant.util.hass_dict import HassKey

from ...const import CONF_MCP_WRITES, CONF_TOOLS_DISABLED, DOMAIN

if TYPE_CHECKING:
    from .base import CustomTool, Recipe
    from .mcp import McpImport


DATA_CUSTOM_TOOLS: HassKey[CustomTools] = HassKey(f"{DOMAIN}.custom_tools")


class RawConfig(NamedTuple):
    """The raw configuration: Home Assistant drops line numbers once it has validated it."""

    node: Any

    @classmethod
    def of(cls, node: Any) -> RawConfig:
        """Keep a node; used as a validator."""
        return node if isinstance(node, cls) else cls(node)


class InvalidTool(NamedTuple):
    """A tool that cannot be used."""

    name: str
    problems: Sequence[str]
    """Home Assistant's messages, with file, line and path."""


@dataclass(slots=True)
class CustomTools:
    """The tools of the YAML, as all agents share them."""

    recipes: Sequence[Recipe] = ()
    imports: Sequence[McpImport] = ()
    wrong: Mapping[str, InvalidTool] = field(default_factory=dict)
    """The tools that are left out, by the id of their repair issue."""
    following: list[CALLBACK_TYPE] = field(default_factory=list)

    def make(self, settings: Mapping[str, Any]) -> list[CustomTool]:
        """Return the tools for one agent, without those that its options switch off."""
        return [
            recipe.make(settings)
            for recipe in self.known()
            if recipe.name not in settings[CONF_TOOLS_DISABLED]
            and (settings[CONF_MCP_WRITES] or not recipe.optional)
        ]

    @callback
    def async_follow(self, on_change: Callable[[], None]) -> None:
        """Follow the servers whose tools are imported, and stop following all others."""
        while self.following:
            self.following.pop()()
        self.following = [one.async_follow(on_change) for one in self.imports]

    def known(self) -> list[Recipe]:
        """Return the tools of the YAML and of the servers; of several with one name the first."""
        found: dict[str, Recipe] = {}
        for recipe in (*self.recipes, *(recipe for one in self.imports for recipe in one.recipes)):
            found.setdefault(recipe.name, recipe)
        return list(found.values())


CONFIG_SCHEMA: Final = probatio.Schema({DOMAIN: RawConfig.of}, extra=probatio.ALLOW_EXTRA)
"""Tools are checked one by one when they are read, so that a wrong one stops nothing."""
