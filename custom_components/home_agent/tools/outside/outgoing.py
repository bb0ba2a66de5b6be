"""Data that leaves the home for an external server: one sanitiser for all of it, and an audit log."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_dumps

from ...const import CONF_SANITIZER_KEYWORDS
from ...errors import PermissionDenied, ToolExecutionError, ValidationError
from ...memory.memories import Memories
from ...memory.profile import Profile
from ...memory.records import Sensitivity, is_entry_visible, is_visible
from ...safety.disclosure import Disclosure
from ...safety.journal import AuditKind
from ...safety.redaction import redacted
from ...safety.sanitizer.private_names import PrivateKind
from ...safety.sanitizer.sanitizer import LEFT_OUT, STATES, Sanitized, Sanitizer, Sending, Shortened
from ..base import Leaving, ToolRun
from ..calls.schema import json_schema

OF_STATES: Final = frozenset({PrivateKind.ROOM, PrivateKind.PLACE, PrivateKind.DEVICE, PrivateKind.ENTITY_ID})
"""What a model that may read states knows anyway."""
OF_PEOPLE: Final = frozenset({PrivateKind.PERSON, PrivateKind.SCHEDULE})
"""What a model that may know the household knows anyway."""
MAX_DEPTH: Final = 20
SPOKEN: Final = frozenset({"const", "default", "description", "example"})
"""Keys of a schema whose values the server itself has written."""


class Outgoing:
    """Sanitises queries, arguments and questions of one agent before they leave, and notes them."""

    def __init__(
        self, hass: HomeAssistant, settings: Mapping[str, Any], memories: Memories, profile: Profile
    ) -> None:
        """Take the options of the agent; private memories do not leave either."""
        self._memories = memories
        self._profile = profile

        def private_texts() -> Iterator[str]:
            yield from (memory.content for memory in memories.all() if memory.private)
            hidden = profile.entries(lambda entry: entry.sensitivity is Sensitivity.SENSITIVE)
            yield from (entry.value for entry in hidden)

        self._sanitizer = Sanitizer(hass, settings[CONF_SANITIZER_KEYWORDS], private_texts)

    async def async_query(self, tool: str, query: str, run: ToolRun) -> Sanitized:
        """Return what is searched for; the caller notes it. Raises ToolExecutionError for a held one."""
        sent = await self._sanitizer.async_clean(
            query,
            language=run.speaker.language,
            strict=run.tainted,
            said=run.sentence,
            origins=run.calls.origins,
        )
        if sent.blocked:
            self.note(tool, query, sent, run)
            raise ToolExecutionError(sent.advice)
        return sent

    async def async_check(self, call: Leaving, run: ToolRun) -> None:
        """Let the arguments of a call through as they are. Raises PermissionDenied.

        In a turn that has read text from outside nothing private leaves whatever the household allows, and
        words of unknown origin leave only where a person is asked about them.
        """
        texts = [text for value in call.args.values() for text in texts_of(value)]
        checked = Sanitized("")
        if texts and (run.tainted or not call.private):
            sending = _sending(run)._replace(
                destination=call.source,
                declared=call.declared,
                asks=run.confirmed or not call.only_reads,
            )
            checked = await self._sanitizer.async_check(texts, sending)
        if checked.blocked:
            self.note(call.tool, json_dumps(redacted(call.args)), checked, run)
            raise PermissionDenied(f"{checked.advice} {call.allowing}" if not run.tainted else checked.advice)

    def note_sent(self, call: Leaving, run: ToolRun) -> None:
        """Keep in the audit log what leaves with a call."""
        self.note(call.tool, json_dumps(redacted(call.args)), Sanitized(""), run)

    async def async_question(
        self, tool: str, prompt: str, context: Any, run: ToolRun, model: Disclosure
    ) -> Shortened:
        """Return what of a question an external model may read. Raises ValidationError if nothing is left.

        Sentences that tell what is remembered go, but for words that the person has just said. Where states
        stay at home the context goes, and with it each sentence that names an entity.
        """
        kept = context if model.states else None
        known = (OF_STATES if model.states else frozenset()) | (OF_PEOPLE if model.people else frozenset())
        records = () if model.states else run.house.entities.values()
        names = tuple(name for record in records for name in (record.entity_id, *record.names))
        person_id = run.speaker.person_id
        # Memories that an external model may not receive.
        private = [
            memory.content for memory in self._memories.all() if not is_visible(memory, person_id, model)
        ]
        entries = self._profile.entries(lambda entry: not is_entry_visible(entry, person_id, model))
        private += [f"{entry.key} {entry.value}" for entry in entries]
        sent = await self._sanitizer.async_shorten(
            prompt, kept, _sending(run, known), memories=private, names=names
        )
        left_out = tuple(sorted({*sent.left_out, *((STATES,) if context and not model.states else ())}))
        held_back = not sent.text.replace(LEFT_OUT, "").strip()
        told = "" if held_back else sent.text
        self.note(tool, prompt, Sanitized(told, left_out, blocked=held_back), run)
        if held_back:
            kept_back = ", ".join(left_out)
            raise ValidationError(f"prompt: the external model is outside the house and not told {kept_back}")
        return Shortened(sent.text, sent.data, left_out)

    def note(self, tool: str, query: str, sent: Sanitized, run: ToolRun, problem: str | None = None) -> None:
        """Keep what left, or was held back, in the audit log."""
        run.guard.journal.note(
            AuditKind.SEARCH,
            run.speaker,
            tool=tool,
            query=query,
            sent=None if sent.blocked else sent.text or query,
            blocked=sent.blocked,
            reason=", ".join(sent.found) or problem,
            error=problem if sent.found else None,
            tainted=run.tainted or None,
        )


def _sending(run: ToolRun, known: frozenset[PrivateKind] = frozenset()) -> Sending:
    return Sending(
        language=run.speaker.language,
        strict=run.tainted,
        said=run.sentence,
        known=known,
        own_words=True,
        origins=run.calls.origins,
    )


def texts_of(value: Any, depth: int = MAX_DEPTH) -> Iterator[str]:
    """Yield the texts and numbers of an argument, and the names of its fields."""
    if isinstance(value, Mapping) and depth:
        for key, item in value.items():
            yield from texts_of(key, depth - 1)
            yield from texts_of(item, depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for item in value:
            # A list of yes and no may spell something.
            yield from texts_of(str(item) if isinstance(item, bool) else item, depth - 1)
    elif value is not None and not isinstance(value, bool) and (text := str(value)).strip():
        yield text


def declared_by(tool: llm.Tool) -> frozenset[str]:
    """Return the names of fields, the values and the descriptions that a tool's own schema offers."""
    return frozenset((*_declared(json_schema(tool)), tool.description or ""))


def _declared(schema: Any, depth: int = MAX_DEPTH) -> Iterator[str]:
    if isinstance(schema, Mapping) and depth:
        for key, item in schema.items():
            if (key == "properties" and isinstance(item, Mapping)) or (
                key == "enum" and isinstance(item, list | tuple)
            ):
                yield from map(str, item)
            elif key in SPOKEN and isinstance(item, str | int | float):
                yield str(item)
            yield from _declared(item, depth - 1)
    elif isinstance(schema, list | tuple) and depth:
        for item in schema:
            yield from _declared(item, depth - 1)
