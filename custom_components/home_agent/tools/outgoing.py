"""What leaves the house for somebody else's server: one sanitiser for all of it, and an audit log."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

from homeassistant.core import HomeAssistant
from homeassistant.helpers.json import json_dumps

from ..const import CONF_SANITIZER_KEYWORDS
from ..errors import PermissionDenied, ToolExecutionError, ValidationError
from ..memory.memories import Memories
from ..memory.profile import Profile
from ..memory.profile_records import Sensitivity
from ..memory.visibility import is_entry_visible, is_visible
from ..safety.audit import AuditKind
from ..safety.disclosure import Disclosure
from ..safety.redaction import redacted
from ..safety.sanitizer.private_patterns import Kind
from ..safety.sanitizer.sanitizer import Sanitized, Sanitizer, Sending, Shortened
from ..safety.sanitizer.shortening import LEFT_OUT, STATES, Untold
from .base import ToolRun

OF_STATES: Final = frozenset({Kind.ROOM, Kind.PLACE, Kind.DEVICE, Kind.ENTITY_ID})
"""What a model that may read states knows anyway."""
OF_PEOPLE: Final = frozenset({Kind.PERSON, Kind.SCHEDULE})
"""What a model that may know the household knows anyway."""
ALLOWING: Final = "If this tool is to have it, the person writes private_words: true into its handler."
MAX_DEPTH: Final = 20


class Outgoing:
    """Sanitises queries, arguments and questions of one agent before they leave, and notes them."""

    def __init__(self, sanitizer: Sanitizer, memories: Memories, profile: Profile) -> None:
        """Take what finds private words, what is remembered, and what is known of persons."""
        self._sanitizer = sanitizer
        self._memories = memories
        self._profile = profile

    @classmethod
    def of(
        cls, hass: HomeAssistant, settings: Mapping[str, Any], memories: Memories, profile: Profile
    ) -> Self:
        """Return what the options want: nothing remembered in private leaves either."""

        def private_texts() -> Iterator[str]:
            yield from (memory.content for memory in memories.all() if memory.private)
            hidden = profile.entries(lambda entry: entry.sensitivity is Sensitivity.SENSITIVE)
            yield from (entry.value for entry in hidden)

        return cls(Sanitizer(hass, settings[CONF_SANITIZER_KEYWORDS], private_texts), memories, profile)

    async def async_query(self, tool: str, query: str, run: ToolRun) -> Sanitized:
        """Return what is searched for; the caller notes it. Raises ToolExecutionError for a held one."""
        sent = await self._sanitizer.async_clean(
            query, language=run.speaker.language, strict=run.tainted, said=run.sentence
        )
        if sent.blocked:
            self.note(tool, query, sent, run)
            raise ToolExecutionError(sent.advice)
        return sent

    async def async_check(self, tool: str, args: Mapping[str, Any], run: ToolRun, *, private: bool) -> None:
        """Let the arguments of a call through as they are; `private`: the household lets the tool have all.

        Text from outside gets nothing private out whatever the household allows. Raises PermissionDenied.
        """
        texts = [text for value in args.values() for text in _texts(value)]
        checked = Sanitized("")
        if texts and (run.tainted or not private):
            checked = await self._sanitizer.async_check(texts, _sending(run))
        self.note(tool, json_dumps(redacted(args)), checked, run)
        if checked.blocked:
            raise PermissionDenied(checked.advice if run.tainted else f"{checked.advice} {ALLOWING}")

    async def async_question(
        self, tool: str, prompt: str, context: Any, run: ToolRun, model: Disclosure
    ) -> Shortened:
        """Return what of a question a model outside may read. Raises ValidationError where nothing is left.

        Sentences that tell what is remembered go, but for words that the person has just said. Where states
        stay at home the context goes, and with it each sentence that names an entity.
        """
        kept = context if model.states else None
        known = (OF_STATES if model.states else frozenset()) | (OF_PEOPLE if model.people else frozenset())
        names = () if model.states else tuple(_names(run))
        untold = Untold(texts=tuple(self._untold(run.speaker.person_id, model)), names=names)
        sent = await self._sanitizer.async_shorten(prompt, kept, untold, _sending(run, known, own_words=True))
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
        speaker = run.speaker
        run.handler.journal.note(
            AuditKind.SEARCH,
            tool=tool,
            query=query,
            sent=None if sent.blocked else sent.text or query,
            blocked=sent.blocked,
            reason=", ".join(sent.found) or problem,
            error=problem if sent.found else None,
            tainted=run.tainted or None,
            user_id=speaker.context.user_id,
            device_id=speaker.device_id,
            conversation_id=speaker.conversation_id,
        )

    def _untold(self, person_id: str | None, model: Disclosure) -> Iterator[str]:
        """Yield what is remembered and not for a model outside."""
        yield from (
            memory.content for memory in self._memories.all() if not is_visible(memory, person_id, model)
        )
        entries = self._profile.entries(lambda entry: not is_entry_visible(entry, person_id, model))
        yield from (f"{entry.key} {entry.value}" for entry in entries)


def _sending(run: ToolRun, known: frozenset[Kind] = frozenset(), *, own_words: bool = False) -> Sending:
    """Return in which turn something is about to leave."""
    return Sending(
        language=run.speaker.language,
        strict=run.tainted,
        said=run.sentence,
        known=known,
        own_words=own_words,
    )


def _names(run: ToolRun) -> Iterator[str]:
    """Yield what the entities of the house are called."""
    for record in run.house.entities.values():
        yield from (record.entity_id, record.name, *record.aliases)


def _texts(value: Any, depth: int = MAX_DEPTH) -> Iterator[str]:
    """Yield the texts and numbers of an argument, and the names of its fields."""
    if isinstance(value, Mapping) and depth:
        for key, item in value.items():
            yield from _texts(key, depth - 1)
            yield from _texts(item, depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for item in value:
            yield from _texts(item, depth - 1)
    elif value is not None and not isinstance(value, bool) and (text := str(value)).strip():
        yield text
