"""The tool calls of one turn: budget, repeats, what is still running."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
import json
from typing import Any

from homeassistant.helpers import llm

from ..knowledge.speaker import Speaker

MAX_SAME_FAILURE = 2
"""How often a call that fails may be tried with the same arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One executed call."""

    tool_name: str
    success: bool
    read_only: bool
    duration_ms: float
    args: dict[str, Any]
    """Without codes and keys."""


@dataclass(slots=True, kw_only=True)
class TurnCalls:
    """What one turn may still call, and what it called.

    Two people may speak at once, so all of this lives here and not on the handler.
    """

    speaker: Speaker
    sentence: str
    conversation_id: str
    tools: Mapping[str, llm.Tool]
    llm_context: llm.LLMContext
    max_calls: int
    records: list[CallRecord] = field(default_factory=list)
    started: int = 0
    announced: int = 0
    """Calls that were handed to the chat log."""
    answered: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while every announced call has its answer."""
    touched: list[str] = field(default_factory=list)
    """Entities that a service was called on, in order."""

    _calls: dict[str, asyncio.Future[llm.ToolResult]] = field(default_factory=dict)
    _failures: dict[str, int] = field(default_factory=dict)

    @property
    def exhausted(self) -> bool:
        """Return whether no further call will be run."""
        return self.started >= self.max_calls

    @property
    def acted(self) -> bool:
        """Return whether something was changed, and nothing failed."""
        return bool(self.touched) and all(record.success for record in self.records)

    def summary(self) -> list[dict[str, Any]]:
        """Return what was called, for the caller of a service."""
        return [
            {
                "tool_name": record.tool_name,
                "parameters": record.args,
                "success": record.success,
                "duration_ms": round(record.duration_ms, 1),
            }
            for record in self.records
        ]

    def twin(self, key: str) -> asyncio.Future[llm.ToolResult] | None:
        """Return the same call, running or done: it is not run a second time."""
        return self._calls.get(key)

    def begin(self, key: str) -> None:
        """Count a call that starts to run."""
        self.started += 1
        self._calls[key] = asyncio.get_running_loop().create_future()

    def end(self, key: str, record: CallRecord, result: llm.ToolResult) -> None:
        """Note how a call ended."""
        self.records.append(record)
        self._calls[key].set_result(result)
        if result.error:
            self._failures[key] = self._failures.get(key, 0) + 1
            del self._calls[key]

    def announce(self, count: int) -> None:
        """Expect the answers of so many calls."""
        self.announced += count
        self.idle.clear()

    def answer(self) -> None:
        """Note that a call has its answer, whether it was run or refused."""
        self.answered += 1
        if self.answered >= self.announced:
            self.idle.set()

    def failed_too_often(self, key: str) -> bool:
        """Return whether the same call has failed as often as it may."""
        return self._failures.get(key, 0) >= MAX_SAME_FAILURE


def call_key(name: str, args: dict[str, Any]) -> str:
    """Return what makes two calls the same call."""
    return f"{name}:{json.dumps(args, sort_keys=True, default=str)}"
