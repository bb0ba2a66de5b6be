"""Calls that wait for a confirmation, as they are and as they will be run."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from homeassistant.helpers import llm
from homeassistant.util.ulid import ulid_now

from ..errors import TooMuchAtOnce
from ..knowledge.speaker import Speaker
from .disclosure import AT_HOME, Disclosure
from .rules import Effect
from .sanitizer.origins import Origins

MAX_THINGS = 4
"""What one spoken question can name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOrigin:
    """The turn that made a call, as it was at that moment; the call runs as if it were still that moment."""

    speaker: Speaker
    """Also says whether the turn had read text from outside."""
    sentence: str = ""
    disclosure: Disclosure = AT_HOME
    words: Origins = field(default_factory=Origins)
    """What was said and read in the conversation."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """What every call that waits carries."""

    origin: CallOrigin | None = field(default=None, compare=False, repr=False)
    registered: Mapping[str, str | None] = field(default_factory=dict, compare=False)
    """The registry's id of each entity that the call names, None for one without. Entity ids can be given to
    other entities while a question is open."""
    after_outside: bool = field(default=False, compare=False)
    """Whether it waits only because the turn has read text from outside."""


@dataclass(frozen=True, kw_only=True)
class ServiceCall:
    """One service call on targets that are already resolved."""

    domain: str
    service: str
    entity_ids: tuple[str, ...]
    data: Mapping[str, Any] = field(default_factory=dict)
    tool: str = ""
    """The custom tool that makes the call: the guard knows which one service the household wrote for it."""
    waits: bool = False
    """Whether it runs a script whose end, and response, is waited for."""
    already: frozenset[str] = frozenset()
    """Targets that show what the call asks for before it is made."""
    tells_of_people: bool = False
    """Whether a message contains what is remembered of a person and was not said."""


@dataclass(frozen=True, kw_only=True)
class FrozenCall(Waiting, ServiceCall):
    """A service call that waits."""

    contents: tuple[Effect, ...] = ()
    """Restricted effects in groups, scripts and scenes, which the question lists."""
    pin: bool = False
    """Whether a rule asks for the PIN before it."""


@dataclass(frozen=True, kw_only=True)
class FrozenIntent(Waiting):
    """One intent of Home Assistant, with the calls it was going to make when it was asked about."""

    intent_type: str
    slots: Mapping[str, Any]
    calls: tuple[FrozenCall, ...]


@dataclass(frozen=True, kw_only=True)
class FrozenTool(Waiting):
    """One call of a tool that is not ours."""

    tool: llm.Tool
    args: Mapping[str, Any]
    llm_context: llm.LLMContext
    contents: tuple[Effect, ...] = ()
    """Restricted effects of the script that the call runs."""
    due: datetime | None = field(default=None, compare=False)
    """When a reminder is due, in UTC; the question names it and the words of the reminder only."""
    days: tuple[int, ...] = ()
    """The days of the week on which it is repeated, from 0 for Monday."""
    event: Mapping[str, Any] | None = field(default=None, compare=False)
    """What a reminder waits for, as Home Assistant writes a trigger."""


@dataclass(frozen=True, kw_only=True)
class FrozenLook(Waiting):
    """One look through a camera. What was seen is said after the yes."""

    entity_id: str
    question: str
    look: Callable[[], Awaitable[str]] = field(compare=False, repr=False)
    sends: tuple[FrozenCall, ...] = ()
    """Messages that show the picture on phones of the person who asks."""
    seen: list[str] = field(default_factory=list, compare=False)
    unsent: list[str] = field(default_factory=list, compare=False)
    """Why messages did not go out."""


@dataclass(frozen=True, kw_only=True)
class FrozenPlan(Waiting):
    """Calls that are made later, or now and for a while only."""

    calls: tuple[FrozenCall, ...]
    due: datetime | None = None
    """When they are made, in UTC; None for now; of an event the time after which it is not waited for."""
    repeats: bool = False
    event: Mapping[str, Any] | None = None
    """What is waited for, as Home Assistant writes a trigger."""
    conditions: tuple[Mapping[str, Any], ...] = ()
    """What must hold then."""
    hold: float = 0
    """Seconds after which the states from before are restored; 0 if they are not."""
    begin: Callable[[], Awaitable[object]] = field(compare=False, repr=False)
    """Keeps the command, once a person has confirmed it."""


class AutomationChange(StrEnum):
    """What becomes of an automation. The names are part of the keys of the sentences about it."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, kw_only=True)
class FrozenAutomation(Waiting):
    """An automation that is written, deleted or switched."""

    change: AutomationChange
    name: str
    triggers: tuple[Mapping[str, Any], ...] = ()
    """What it waits for, as Home Assistant writes it; of one that is changed what is new."""
    conditions: tuple[Mapping[str, Any], ...] = ()
    steps: tuple[FrozenPlan, ...] = ()
    """What it does, step by step; a step without calls waits for its time."""
    calls: tuple[FrozenCall, ...] = ()
    """All that it calls. None of it may need a confirmation: nobody would be there to give it."""
    yaml: str = ""
    pin: bool = False
    """Whether a rule asks for the PIN before it is switched."""
    begin: Callable[[], Awaitable[None]] = field(compare=False, repr=False)
    """Writes it, once an administrator has confirmed it."""


type Frozen = FrozenCall | FrozenIntent | FrozenTool | FrozenLook | FrozenPlan | FrozenAutomation


@dataclass(slots=True, kw_only=True)
class WaitingCalls:
    """The calls of one turn that require a confirmation."""

    speaker: Speaker
    conversation_id: str
    action_id: str = field(default_factory=ulid_now)
    frozen: list[Frozen] = field(default_factory=list)
    things: set[str] = field(default_factory=set)
    """The things that the question names."""
    left_out: set[str] = field(default_factory=set)
    """The things that were refused because the question has no room for them."""
    confirmed: tuple[FrozenCall, ...] = ()
    """What the sentence of this turn has confirmed, and what was done then."""

    def __bool__(self) -> bool:
        """Return whether anything waits."""
        return bool(self.frozen)

    def add(self, call: Frozen, things: Iterable[str]) -> str:
        """Keep a call and return the id of the action that it belongs to.

        Raises TooMuchAtOnce if one question cannot name everything.
        """
        if call not in self.frozen:
            named = set(things)
            if len(self.things | named) > MAX_THINGS:
                self.left_out |= named - self.things
                raise TooMuchAtOnce(MAX_THINGS)
            self.things |= named
            self.left_out -= named
            self.frozen.append(call)
        return self.action_id

    def take(self) -> tuple[str, tuple[Frozen, ...], bool]:
        """Return the id, the calls, and whether some were left out; begin a new action."""
        taken = self.action_id, tuple(self.frozen), bool(self.left_out)
        self.action_id, self.frozen, self.things, self.left_out = ulid_now(), [], set(), set()
        return taken


@dataclass(slots=True, kw_only=True)
class CallDraft:
    """The part of one call of a turn that requires a confirmation."""

    draft: WaitingCalls
    origin: CallOrigin
    waits: bool = False
    """Whether anything of this call waits."""
    quotes: bool = False
    """Whether an error in its result repeats what an outsider may have written."""


def frozen_call(
    call: ServiceCall, contents: tuple[Effect, ...] = (), *, after_outside: bool = False, pin: bool = False
) -> FrozenCall:
    """Return a call as it waits: its data do not change any more."""
    return FrozenCall(
        domain=call.domain,
        service=call.service,
        entity_ids=call.entity_ids,
        data=deepcopy(dict(call.data)),
        tool=call.tool,
        contents=contents,
        after_outside=after_outside,
        pin=pin,
    )
