"""Calls that a model wrote into its answer instead of making them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from homeassistant.helpers import llm

from ..inference.calls import new_call_id
from ..safety.redaction import UNPARSED
from ..tools.calls.bounds import bounded
from ..tools.calls.dialect_calls import is_known
from ..tools.calls.text_calls import MAX_CALLS, MAX_CHARS, read_calls, stands_alone


@dataclass(slots=True)
class WrittenCalls:
    """Collects one answer, and what the speech filter took for calls in it."""

    tools: Mapping[str, llm.Tool]
    _content: list[str] = field(default_factory=list)
    _size: int = 0
    _raw: list[str] = field(default_factory=list)

    def add(self, content: str, raw: list[str]) -> None:
        """Keep a piece of the answer, within bounds."""
        if self._size < MAX_CHARS:
            self._content.append(content)
            self._size += len(content)
        if len(self._raw) < MAX_CALLS:
            self._raw += raw

    def inputs(self) -> list[llm.ToolInput]:
        """Return the calls, each once, as if the model had made them."""
        if not self._raw or not self.tools:
            return []
        content = "".join(self._content)
        calls = [
            call
            for raw in self._raw
            for call in read_calls(raw, self._is_known, alone=stands_alone(content, raw))
        ]
        return [
            bounded(
                llm.ToolInput(
                    id=new_call_id(),
                    tool_name=call.name,
                    tool_args={UNPARSED: ""} if call.args is None else call.args,
                )
            )
            for call in calls[:MAX_CALLS]
        ]

    def _is_known(self, name: str) -> bool:
        """Return whether a name stands for a tool."""
        return is_known(name, self.tools)
