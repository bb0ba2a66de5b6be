"""Calls that wait for a person's word, as they are and as they will be run."""

from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from homeassistant.helpers import llm
from homeassistant.util.ulid import ulid_now

from ..knowledge.speaker import Speaker
from .rules import Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenCall:
    """One service call on resolved targets."""

    domain: str
    service: str
    entity_ids: tuple[str, ...]
    data: Mapping[str, Any]
    tool: str = ""
    """The custom tool that makes the call, if one does."""
    contents: tuple[Effect, ...] = ()
    """What it does in groups, scripts and scenes that is not free: the question says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenIntent:
    """One intent of Home Assistant, with the calls it was going to make when it was asked about."""

    intent_type: str
    slots: Mapping[str, Any]
    calls: tuple[FrozenCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenTool:
    """One call of a tool that is not ours."""

    tool: llm.Tool
    args: Mapping[str, Any]
    llm_context: llm.LLMContext
    contents: tuple[Effect, ...] = ()
    """What the script behind it does that is not free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenLook:
    """One look through a camera. What was seen is said after the yes."""

    entity_id: str
    question: str
    look: Callable[[], Awaitable[str]] = field(compare=False, repr=False)
    sends: tuple[FrozenCall, ...] = ()
    """Messages that show the picture on phones of the person who asks."""
    seen: list[str] = field(default_factory=list, compare=False)
    unsent: list[str] = field(default_factory=list, compare=False)
    """Why messages did not go out."""


type Frozen = FrozenCall | FrozenIntent | FrozenTool | FrozenLook


@dataclass(slots=True, kw_only=True)
class Draft:
    """What one turn wants to do and may not do without a person's word."""

    speaker: Speaker
    conversation_id: str
    action_id: str = field(default_factory=ulid_now)
    frozen: list[Frozen] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Return whether anything waits."""
        return bool(self.frozen)

    def freeze(self, call: Frozen) -> str:
        """Keep a call as it is now and return the id of the action that it belongs to."""
        if call not in self.frozen:
            self.frozen.append(call)
        return self.action_id

    def take(self) -> tuple[str, tuple[Frozen, ...]]:
        """Return the id and the calls, and begin a new action."""
        taken = self.action_id, tuple(self.frozen)
        self.action_id, self.frozen = ulid_now(), []
        return taken


def frozen_call(
    domain: str,
    service: str,
    entity_ids: tuple[str, ...],
    data: Mapping[str, Any],
    tool: str = "",
    contents: tuple[Effect, ...] = (),
) -> FrozenCall:
    """Return a call that nothing can change any more."""
    own = deepcopy(dict(data))
    return FrozenCall(
        domain=domain,
        service=service,
        entity_ids=tuple(entity_ids),
        data=own,
        tool=tool,
        contents=contents,
    )
