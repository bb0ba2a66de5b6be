"""OutsideMixin: what the model reads beside the sentence, as far as somebody outside wrote it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant
from homeassistant.util.json import json_loads

from ..context.fitting import Message
from ..context.manager import AssembledContext
from ..context.providers.base import Slot
from ..entity import HomeAgentBaseEntity
from ..knowledge.house import is_exposed
from ..safety.firewall import firewall
from ..safety.sanitizer.origins import PUBLIC
from ..tools.base import HomeAgentTool
from ..tools.other_apis import source_of
from ..tools.outgoing import texts_of
from .turn import Turn

TITLES: Final = (
    "media_title",
    "media_artist",
    "media_album_artist",
    "media_album_name",
    "media_series_title",
)
"""Attributes in which a player describes what it is playing."""


class OutsideMixin(HomeAgentBaseEntity):
    """Cleans texts from outside before they stand in a request, and marks the turn that reads them."""

    def _let_in(self, turn: Turn, context: AssembledContext) -> AssembledContext:
        """Return the context cleaned.

        Passages of the household's texts mark the turn: a manual was written by somebody else. What
        was said marks it only where something was removed. Of entities those do whose titles, messages or
        other texts are shown.
        """
        return replace(context, slots=tuple(self._let_in_slot(turn, slot) for slot in context.slots))

    def _let_in_slot(self, turn: Turn, slot: Slot) -> Slot:
        """Return one slot cleaned."""
        if slot.reference and slot.lines:
            turn.calls.taint()
        if (slot.reference or slot.said) and slot.lines:
            outside = None if slot.outside is None else self._cleaned(turn, slot.outside)
            return replace(slot, lines=self._cleaned(turn, slot.lines), outside=outside)
        if slot.texts:
            turn.calls.taint()
        if slot.removed:
            self.data.handler.report_injection(slot.removed, turn.calls, "context")
        return slot

    def _cleaned(self, turn: Turn, lines: Sequence[str]) -> tuple[str, ...]:
        """Return lines without what is written to steer the model."""
        cleaned = firewall.clean(list(lines), others=turn.calls.tools)
        if cleaned.found:
            turn.calls.taint()
            self.data.handler.report_injection(cleaned.found, turn.calls, "context")
        return tuple(cleaned.value)

    def _inherit(self, turn: Turn, earlier: Sequence[conversation.Content]) -> None:
        """Mark a turn that goes on from one that has read text from outside.

        `earlier` is what the chat log has of the conversation beyond the stored history.
        """
        if earlier and (
            turn.calls.conversation_id in self.data.memory.tainted or any(map(self._is_outside, earlier))
        ):
            turn.calls.taint()
        if turn.history_id is not None and self.data.shared.history.reads_outside(
            self.entry.entry_id, turn.history_id
        ):
            turn.calls.taint()

    def _note_origins(self, turn: Turn, history: Sequence[Message]) -> None:
        """Note what was said and read earlier in this conversation, as far as the model is shown it.

        What plays now counts as read: the model may be shown it in any turn.
        """
        turn.calls.origins.note_read(PUBLIC, _titles(self.hass))
        names: dict[str, str] = {}
        for message in history:
            content = message.get("content")
            for call in message.get("tool_calls", ()):
                names[call["id"]] = call["function"]["name"]
            if not isinstance(content, str):
                continue
            if message["role"] == "user":
                turn.calls.origins.said.append(content)
            elif message["role"] == "tool":
                tool = turn.calls.tools.get(names.get(message["tool_call_id"], ""))
                if tool is not None and (source := source_of(tool)):
                    turn.calls.origins.note_read(source, texts_of(_from_json(content)))

    def _is_outside(self, content: conversation.Content) -> bool:
        """Return whether this is the result of a tool that is not our own, or of one that reads outside."""
        if not isinstance(content, conversation.ToolResultContent):
            return False
        tool = self.data.handler.tools.get(content.tool_name)
        return not isinstance(tool, HomeAgentTool) or tool.untrusted


def _titles(hass: HomeAssistant) -> Iterator[str]:
    """Yield the titles that play: they are published, so a person may ask the web about them."""
    for state in hass.states.async_all("media_player"):
        if is_exposed(hass, state.entity_id):
            yield from (str(found) for name in TITLES if (found := state.attributes.get(name)))


def _from_json(content: str) -> Any:
    """Return the content of a result; older results were shortened and may no longer be valid JSON."""
    try:
        return json_loads(content)
    except ValueError:
        return content
