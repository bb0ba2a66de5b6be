"""The base of all tools: the caller, one run, one way to a service."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Self, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ..const import DOMAIN
from ..errors import ConfirmationNeeded, HomeAgentError, ToolExecutionError
from ..knowledge.speaker import Speaker
from ..safety.disclosure import DataCategory, Disclosure
from ..safety.frozen import CallDraft, FrozenCall, FrozenTool, ServiceCall
from ..safety.sanitizer.origins import PUBLIC
from .pending import freeze
from .resolving.resolver import Target, resolve
from .results import ToldAct

MAX_SLOT_CHARS: Final = 255
"""Characters of an argument that holds a name, an id or a word."""

__all__ = ["HomeAgentTool", "ServiceCall", "Speaker", "ToolOutput", "ToolRun"]

if TYPE_CHECKING:
    from ..knowledge.house import EntityRecord, HouseSnapshot
    from ..planned.events import Clause
    from ..planned.records import Schedule
    from ..safety.policy import Reader
    from .guard import Guard
    from .turn_calls import TurnCalls


type ReadOnce = Callable[[Mapping[str, Any], ToolRun], Awaitable[tuple[str, Schedule | None, list[Clause]]]]
type ToolOutput = JsonValueType | Mapping[str, object]
"""What a tool of this integration returns: JSON, or a `TypedDict` of JSON."""


class ToolRun(NamedTuple):
    """One run of one tool. Services are reached through `call` and no other way."""

    hass: HomeAssistant
    guard: Guard
    house: HouseSnapshot
    speaker: Speaker
    """Who asks, as this call is judged."""
    reader: Reader
    """What may be told of the home: asked wherever a result has a state."""
    calls: TurnCalls
    """The calls of the turn that this one is of, and all that is known of the turn."""
    draft: CallDraft | None = None
    """The draft in which calls wait for a confirmation; without a draft they are refused."""
    confirmed: bool = False
    """Whether a person has said yes to this very call."""
    approved: tuple[FrozenCall, ...] | None = None
    """The calls of a planned command that a person confirmed when it was given."""
    read_once: ReadOnce | None = None
    """Reads what a call waits for beside a time, as `once.async_read_once` does."""
    meanings: Mapping[str, str] = MappingProxyType({})
    """What the action means by domain, where the call came in words of Home Assistant's own intents."""

    @property
    def sentence(self) -> str:
        """Return the sentence of the person, as the model saw it."""
        return self.calls.sentence

    @property
    def tainted(self) -> bool:
        """Return whether the model had read text from an untrusted source when it made the call."""
        return self.speaker.tainted

    @property
    def disclosure(self) -> Disclosure:
        """Return which data the calling model may receive."""
        return self.calls.disclosure.model

    def resolve(
        self, target: Target, sentence: str, allowed_domains: Collection[str] | None = None
    ) -> list[EntityRecord]:
        """Return the entities that a call means; an id that exists and is not exposed is not misspelt."""
        return resolve(
            self.house,
            target,
            speaker=self.speaker,
            sentence=sentence,
            allowed_domains=allowed_domains,
            exists=lambda entity_id: self.hass.states.get(entity_id) is not None,
        )

    def note_quotes(self, err: HomeAgentError) -> None:
        """Note that the result of this call repeats an error, which may quote what outsiders wrote."""
        if err.quotes and self.draft is not None:
            self.draft.quotes = True

    def ask_first(self, tool: HomeAgentTool, args: Mapping[str, Any], **told: Any) -> NoReturn:
        """Let a call wait for a person because text from outside was read.

        `told` is what the question names instead of the arguments.
        Raises ConfirmationNeeded, and PermissionDenied for what one question cannot tell.
        """
        context = self.calls.llm_context
        item = FrozenTool(tool=tool, args=dict(args), llm_context=context, after_outside=True, **told)
        raise ConfirmationNeeded(freeze(self.hass, self.draft, item))

    async def call(self, call: ServiceCall) -> Any:
        """Call a service through the guard, wait for it, and return its response if it has one.

        Raises PermissionDenied for a refused call, ConfirmationNeeded for one that waits for a
        confirmation, and ToolExecutionError for what failed.
        """
        response = await self.guard.async_call_service(call, self.speaker, self.draft, self.approved)
        self.calls.touched.extend(call.entity_ids)
        return response

    async def read(self, call: ServiceCall) -> dict[str, Any]:
        """Call a service that only responds through the guard, and return its response by entity.

        Raises PermissionDenied for what the speaker may not read, and ToolExecutionError for what failed.
        """
        return await self.guard.async_read_service(call, self.speaker)


class Leaving(NamedTuple):
    """A call whose arguments go to a server outside the home."""

    tool: str
    args: Mapping[str, Any]
    source: str
    """The server, or the LLM API, that gets them."""
    only_reads: bool
    """Whether no one is asked before it runs."""
    allowing: str
    """How the household lets the tool have private words."""
    declared: frozenset[str] = frozenset()
    """Texts that the tool's own schema holds."""
    private: bool = False
    """Whether the household lets the tool have private words."""


class HomeAgentTool(llm.Tool):
    """A tool of the agent's own.

    `async_run` gets arguments that fit `parameters` and returns what JSON can hold. It raises
    HomeAgentError with a detail the model can act on.
    """

    integration = DOMAIN
    discloses: DataCategory = DataCategory.STATES
    """What its results tell. A tool that tells of people leaves out on its own what the model that calls it
    may not read."""
    offered = True
    """Whether models are told of it; False for an earlier tool that another one replaces and that is still
    accepted when a model, a custom prompt or `execute_tool` calls it."""
    unoffered: Collection[str] = ()
    """Parameters that models are not told of: they are rarely needed, or refused with advice, and still
    accepted."""
    stores_memory = False
    """Whether a successful call that changes something stores a memory, so that nothing else is learned from
    the turn."""
    names_targets = False
    """Whether its results name the entities that they are about."""
    reverses = False
    """Whether it may reverse what any tool has done."""
    private: bool = False
    """No event contains its arguments or its result: Home Assistant's recorder stores events."""
    for_large_houses = False
    """Whether the model gets it only if the prompt cannot list every entity."""
    judged = False
    """Whether the policy judges its calls by the tool's name, as those of other integrations' tools."""
    max_text = MAX_SLOT_CHARS
    """Characters that a text among its arguments may have."""
    untrusted = False
    """Whether its results hold text from an untrusted source: they are cleaned, and mark the turn."""

    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:  # noqa: ARG002 - most have none
        """Return what an outsider may have written where a result is otherwise the home's own."""
        return ()

    def leaving(self, args: Mapping[str, Any]) -> Leaving | None:  # noqa: ARG002 - most stay at home
        """Return what leaves the home with a call, for the sanitiser; None for a tool that asks it itself."""
        return None

    @property
    def source(self) -> str | None:
        """Return where its results come from, if that is outside the home.

        In a turn that has read from outside, words of them may go back there; those of public texts may go
        anywhere.
        """
        return PUBLIC if self.untrusted and self.annotations.open_world else None

    reports_targets = False
    """Whether its result says for each target what became of it, as that of ha_control does."""
    slot_words: Mapping[str, str] = MappingProxyType({})
    """Its slots by what models call them, beside the common words for targets."""
    vetted_action: tuple[str, str] | None = None
    """Domain and service of an action that a person has written for this tool, and that it alone may call."""
    domain: str | None = None
    """The model gets it only if an entity of this domain is exposed."""
    needs_component: str | None = None
    """The model gets it only if this part of Home Assistant is set up."""

    async def async_prepare(self, hass: HomeAssistant, house: HouseSnapshot) -> None:
        """Build caches that the first call would otherwise wait for."""

    def has_use(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        """Return whether this home has anything that the tool acts on."""
        if self.needs_component is not None and self.needs_component not in hass.config.components:
            return False
        return self.domain is None or (self.domain in house.domains and self.is_useful(hass, house))

    def parameters_in(self, hass: HomeAssistant, house: HouseSnapshot) -> Mapping[str, Any] | None:  # noqa: ARG002 - most are the same everywhere
        """Return the parameters as JSON Schema for this home, where they depend on it.

        They stay the same as long as the snapshot does.
        """
        return None

    def is_useful(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:  # noqa: ARG002 - some look further
        """Return whether the tool can act on an entity of its domain, of which the home has some."""
        return True

    def only_reads(self, args: Mapping[str, Any]) -> bool:  # noqa: ARG002 - some do both
        """Return whether a call with these arguments changes nothing."""
        return self.annotations.read_only

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        """Return the tool itself: Home Assistant's traces copy what they are given."""
        return self

    def in_order(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return arguments in the form that `parameters` checks. Raises probatio.Invalid."""
        return args

    async def async_check(self, args: Mapping[str, Any], run: ToolRun) -> None:
        """Refuse calls that no confirmation could allow, before a person is asked. Raises HomeAgentError."""

    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> Sequence[ToldAct]:  # noqa: ARG002 - most need the model's words
        """Return what a call did, if that is the whole answer to a plain command."""
        return ()

    @abstractmethod
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> ToolOutput:
        """Do the work of one call."""

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        raise ToolExecutionError(f"{self.name} runs only through Home Agent's tool handler")


def is_offered(tool: llm.Tool) -> bool:
    """Return whether models are told of a tool, rather than that it is only accepted."""
    return not isinstance(tool, HomeAgentTool) or tool.offered


def useful_tools(hass: HomeAssistant, house: HouseSnapshot, tools: Iterable[llm.Tool]) -> list[llm.Tool]:
    """Return the offered tools that have anything to act on in this home; the others can still be called."""
    return [
        tool
        for tool in tools
        if is_offered(tool) and (not isinstance(tool, HomeAgentTool) or tool.has_use(hass, house))
    ]


class TargetsFailed(ToolExecutionError):
    """No target was done; `result` says what failed."""

    def __init__(self, detail: str, result: JsonValueType) -> None:
        super().__init__(detail)
        self.result = result


class PartlyFailed(TargetsFailed):
    """Some targets were done and some were not: a success whose error names the rest."""
