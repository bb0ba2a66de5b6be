"""What every tool is made of: who asked, one run, one way to a service."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ..const import DOMAIN
from ..errors import ToolExecutionError
from ..knowledge.speaker import Speaker
from ..safety.frozen import Draft

__all__ = ["HomeAgentTool", "PartlyFailed", "ServiceCall", "Speaker", "ToolRun", "as_list"]

if TYPE_CHECKING:
    from ..knowledge.house import HouseSnapshot
    from .handler import ToolHandler


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall:
    """One service call on targets that are already resolved."""

    domain: str
    service: str
    entity_ids: tuple[str, ...]
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """One run of one tool. Services are reached through `call` and no other way."""

    hass: HomeAssistant
    handler: ToolHandler
    house: HouseSnapshot
    speaker: Speaker
    sentence: str
    """What the person said, as the model saw it."""
    touched: list[str] = field(default_factory=list)
    """Entities that a service was called on."""
    draft: Draft | None = None
    """Where calls wait that need a person's word; without one they are refused."""
    tainted: bool = False
    """Whether this turn has read text that somebody outside wrote."""
    meanings: Mapping[str, str] = field(default_factory=dict)
    """What the action means by domain, where the call came in words of Home Assistant's own intents."""

    def is_exposed(self, entity_id: str) -> bool:
        """Return whether the agent may see this entity, asked now."""
        return self.handler.is_exposed(entity_id)

    async def call(self, call: ServiceCall) -> None:
        """Call a service through the guard and wait for it.

        Raises PermissionDenied for what is not allowed, ConfirmationNeeded for what waits for a person's
        word, and ToolExecutionError for what failed.
        """
        await self.handler.async_call_service(call, self.speaker, self.draft)
        self.touched.extend(call.entity_ids)


class HomeAgentTool(llm.Tool):
    """A tool of the agent's own.

    `async_run` gets arguments that fit `parameters` and returns what JSON can hold. It raises
    HomeAgentError with a detail the model can act on.
    """

    integration = DOMAIN
    for_large_houses = False
    """Whether the model is told of it only where the prompt cannot list every entity."""

    async def async_prepare(self, hass: HomeAssistant, house: HouseSnapshot) -> None:
        """Build what the first call would have to wait for."""

    def only_reads(self, args: Mapping[str, Any]) -> bool:  # noqa: ARG002 - some do both
        """Return whether a call with these arguments changes nothing."""
        return self.annotations.read_only

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        """Return the tool itself: Home Assistant's traces copy what they are given."""
        return self

    @abstractmethod
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Do the work of one call."""

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        """Refuse a call that did not come through the guard."""
        raise ToolExecutionError(f"{self.name} runs only through Home Agent's tool handler")


class PartlyFailed(ToolExecutionError):
    """Some targets were done and some were not; `result` says which."""

    def __init__(self, detail: str, result: JsonValueType) -> None:
        """Store what was done beside what failed."""
        super().__init__(detail)
        self.result = result


def as_list(value: str | Sequence[str] | None) -> list[str]:
    """Return a string or a list of strings as a list."""
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)
