"""Extractor: after a turn, in the background, one exchange at a time."""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
import json
import re
from typing import Any, Final, NamedTuple

from homeassistant.core import HomeAssistant, callback

from ..const import EVENT_MEMORY_EXTRACTED, LOGGER
from ..errors import HomeAgentError
from ..events import EventEmitter
from ..idle import IdleQueue
from ..inference.models import Message
from ..knowledge.speaker import Speaker
from ..languages import languages, words
from ..languages.lexicon import any_of
from ..regex import composed, lazy_regex
from ..safety.firewall import firewall
from ..texts import fold_letters, words as split
from .memories import Memories, SaveOutcome, make_memory
from .records import Memory, MemoryType, Origin, Provenance
from .sentences import holds_secret, is_grounded, is_households

MAX_CANDIDATES: Final = 5
"""Candidates taken from one reply."""
MAX_CHARS: Final = 20_000
SCALES: Final = (1, 10, 100)
"""The scale on which models rate importance, regardless of the instruction."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["memories"],
    "properties": {
        "memories": {
            "type": "array",
            "maxItems": MAX_CANDIDATES,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["content", "type", "importance", "about"],
                "properties": {
                    "content": {"type": "string"},
                    "type": {"type": "string", "enum": [kind.value for kind in MemoryType]},
                    "importance": {"type": "number"},
                    "about": {"type": "string", "enum": ["speaker", "household"]},
                },
            },
        }
    },
}

INSTRUCTION: Final = """\
Now do something else. Do not answer the person. From what the person said in the last exchange, write down \
what will still be worth knowing in weeks: facts about the person or the household, wishes and likings, \
plans and dates. Nothing about states of devices, nothing that you said yourself, nothing from lists, notes \
or tool results, no codes or passwords. Most exchanges hold nothing: then the list is empty.
Each as one short sentence in the person's language that can be understood alone, with the name {name} for \
the speaker. type: fact, preference, context (of these days) or event (has a date). importance: 0 to 1. \
about: speaker or household.
Answer with JSON only: \
{{"memories": [{{"content": "...", "type": "...", "importance": 0.5, "about": "speaker"}}]}}"""

_THOUGHT: Final = lazy_regex(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_CONTENT_KEYS: Final = ("content", "memory", "text", "fact")
_LIST_KEYS: Final = ("memories", "facts", "items", "results")


def read_candidates(reply: str) -> list[Candidate] | None:
    """Return the content of a reply; None if nothing in it is valid.

    Servers that do not enforce the schema get prose, fences, a bare list or other keys through.
    """
    text, start = _THOUGHT.sub("", reply[:MAX_CHARS]), 0
    decoder = json.JSONDecoder()
    while places := [place for char in "{[" if (place := text.find(char, start)) >= 0]:
        try:
            value, start = decoder.raw_decode(text, min(places))
        except ValueError, RecursionError:
            start = min(places) + 1
            continue
        if isinstance(value, dict):
            alone = [value] if any(key in value for key in _CONTENT_KEYS) else None
            value = next((value[key] for key in _LIST_KEYS if isinstance(value.get(key), list)), alone)
        if isinstance(value, list):
            found = (_candidate({"content": item} if isinstance(item, str) else item) for item in value)
            return [candidate for candidate in found if candidate is not None][:MAX_CANDIDATES]
    return None


def _candidate(item: object) -> Candidate | None:
    if not isinstance(item, dict):
        return None
    content = next((item[key] for key in _CONTENT_KEYS if isinstance(item.get(key), str)), "")
    if not content.strip():
        return None
    importance = item.get("importance")
    given = 0.5
    if isinstance(importance, (int, float)) and not isinstance(importance, bool) and importance >= 0:
        given = float(importance)
    about = str(item.get("about", "speaker")).strip().lower()
    written = str(item.get("type", "")).strip().lower()
    return Candidate(
        content=content.strip(),
        type=next((kind for kind in MemoryType if written.startswith(kind)), MemoryType.FACT),
        importance=min(given / next((scale for scale in SCALES if given <= scale), SCALES[-1]), 1.0),
        household=about in {"household", "family", "home", "house", "everyone", "everybody"},
    )


LEAST_WORDS: Final = 2
UNITS: Final = r"%|°|watts?|kwh?|lux|lx|ppm|hpa"


class Reason(StrEnum):
    """Why something was not kept."""

    TRANSIENT = "transient_state"
    """How the home is just now; Home Assistant knows that better."""
    META = "meta_talk"
    """About the conversation, not about the household."""
    EMPTY = "no_information"
    QUESTION = "question"
    UNIMPORTANT = "unimportant"
    SECRET = "secret"  # noqa: S105 - the name of a reason
    INSTRUCTION = "instruction"
    """It would change the agent's permissions, which belong to the options."""
    NOT_SAID = "not_said"
    """It shares no words with what the person said."""
    NOBODY = "unknown_speaker"
    """Is about an unknown speaker."""
    KNOWN = "known"
    FULL = "no_room"


class Candidate(NamedTuple):
    """Something that a conversation may have brought."""

    content: str
    type: MemoryType
    importance: float
    household: bool = False


@composed
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Return patterns for folded text, each composed by language.

    A verb of one language with a state of another says nothing.
    """

    def sources(language: str) -> dict[str, str]:
        def any_word(*tables: str) -> str:
            return any_of((entry for table in tables for entry in words(language, table)), fold_letters)

        be, now = any_word("questions.copulas"), any_word("memory.now")
        states = any_word("questions.states", "memory.states")
        at, units = any_word("memory.at"), any_word("memory.units")
        subject, may = any_word("memory.meta"), any_word("memory.may")
        return {
            # A sentence that ends with a state; "is on March 15" does not. Or a measured value.
            "transient": rf"{be}(?: {now})? {states}(?: {now})?\W*$"
            rf"|{be}(?: {now}| {at})? -?\d+(?:[.,]\d+)? ?(?:{UNITS}|{units})\W*",
            "habit": any_word("memory.habits"),
            "meta": f"{any_word('memory.speakers')} {any_word('memory.requests')}|{subject}",
            "instruction": f"{any_word('memory.instructions')}|{subject} {may} {any_word('memory.powers')}",
        }

    by_language = [sources(language) for language in languages()]
    return {name: lazy_regex("|".join(each[name] for each in by_language)) for name in by_language[0]}


def refusal(candidate: Candidate, least_importance: float) -> Reason | None:
    """Return why something is not to be remembered; None if it may be.

    Only for what no one asked to remember.
    """
    content = candidate.content.strip()
    folded = fold_letters(content)
    if len([word for word in split(content) if len(word) > 1 or word.isdigit()]) < LEAST_WORDS:
        return Reason.EMPTY
    found = {name: bool(pattern.search(folded)) for name, pattern in _patterns().items()}
    checks = (
        (content.endswith(("?", "\uff1f", "\u061f")), Reason.QUESTION),
        (holds_secret(content), Reason.SECRET),
        (found["instruction"], Reason.INSTRUCTION),
        (found["meta"], Reason.META),
        (found["transient"] and not found["habit"], Reason.TRANSIENT),
        (candidate.importance < least_importance, Reason.UNIMPORTANT),
    )
    return next((reason for applies, reason in checks if applies), None)


MAX_REFUSED: Final = 100
"""What was not kept, remembered with the reason until the next start."""


class Exchange(NamedTuple):
    """What was said, as the model saw it."""

    messages: Sequence[Message]
    """The last request, and the answer."""
    tools: Sequence[Mapping[str, Any]]
    speaker: Speaker
    said: str
    """The person's own words."""
    at: datetime
    at_home: bool = False
    """Whether only a model at home may be shown this."""


class Refused(NamedTuple):
    """Something that was not kept."""

    at: datetime
    content: str
    reason: Reason
    person: str | None


type Ask = Callable[[Exchange], Awaitable[str]]
"""Asks a model; returns its reply. Raises HomeAgentError."""


class Extractor:
    """Finds what is worth remembering, and never delays a turn."""

    def __init__(
        self,
        hass: HomeAssistant,
        memories: Memories,
        *,
        ask: Ask,
        is_busy: Callable[[], bool],
        emitter: EventEmitter,
        least_importance: float,
        model: str = "local",
    ) -> None:
        self._memories = memories
        self._ask = ask
        self._queue = IdleQueue(hass, "memory extraction", self._async_look_at, is_busy=is_busy)
        self._emitter = emitter
        self._least_importance = least_importance
        self.model = model
        self._failing = False
        self.refused: deque[Refused] = deque(maxlen=MAX_REFUSED)

    @callback
    def note(self, exchange: Exchange) -> None:
        """Schedule an exchange, together with earlier ones of the same conversation."""
        conversation_id = exchange.speaker.conversation_id
        if (earlier := self._queue.get(conversation_id)) is not None:
            exchange = exchange._replace(said=f"{earlier.said}\n{exchange.said}")
        self._queue.put(conversation_id, exchange)

    @callback
    def stop(self) -> None:
        """Stop extracting."""
        self._queue.stop()

    @callback
    def forget(self, memories: Iterable[Memory]) -> None:
        """Forget rejected candidates that match what a person wants to forget."""
        texts = [memory.content for memory in memories]
        kept = [
            item for item in self.refused if not any(is_grounded(item.content, text, "") for text in texts)
        ]
        self.refused = deque(kept, MAX_REFUSED)

    async def _async_look_at(self, conversation_id: str, exchange: Exchange) -> bool:
        """Ask the model for memories of an exchange, and keep the useful ones; False if that failed."""
        try:
            reply = await self._ask(exchange)
        except HomeAgentError as err:
            (LOGGER.debug if self._failing else LOGGER.warning)(
                "Nothing can be learned from conversations just now: %s", err
            )
            if not self._failing:
                self._emitter.fire_error("extraction", err, str(err), conversation_id)
            self._failing = True
            return False
        self._failing = False
        candidates = read_candidates(reply)
        if candidates is None:
            LOGGER.debug("The model's notes on a conversation could not be read")
            return True
        refused = [await self._async_keep(candidate, exchange) for candidate in candidates]
        kept = refused.count(None)
        if candidates:
            reasons = Counter(reason.value for reason in refused if reason is not None)
            LOGGER.info(
                "Of %d notes on a conversation %d are new; left: %s", len(refused), kept, dict(reasons)
            )
        self._emitter.fire(
            EVENT_MEMORY_EXTRACTED,
            {"conversation_id": conversation_id, "memories_extracted": kept, "extraction_llm": self.model},
            exchange.speaker.context,
        )
        return True

    async def _async_keep(self, candidate: Candidate, exchange: Exchange) -> Reason | None:
        """Remember something, or note why not; return the reason."""
        speaker, content = exchange.speaker, candidate.content
        name = speaker.person or ""
        shared = candidate.household and is_households(content, exchange.said, name)
        reason = refusal(candidate, self._least_importance)
        if reason is None and not is_grounded(content, exchange.said, name):
            reason = Reason.NOT_SAID
        if reason is None and speaker.person_id is None:
            if not shared:
                reason = Reason.NOBODY
            elif firewall.clean(content, addressed=True).found:
                reason = Reason.INSTRUCTION
        if reason is None:
            outcome, _ = await self._memories.async_remember(
                make_memory(
                    candidate.content,
                    type=candidate.type,
                    importance=candidate.importance,
                    person=None if shared else speaker.person_id,
                    origin=Origin.EXTRACTED,
                    heard=Provenance(
                        at=exchange.at,
                        person=speaker.person_id,
                        conversation_id=speaker.conversation_id,
                        said=exchange.said[:200],
                    ),
                ),
                speaker.context,
            )
            reason = {SaveOutcome.MERGED: Reason.KNOWN, SaveOutcome.FULL: Reason.FULL}.get(outcome)
        if reason is not None:
            self.refused.append(Refused(exchange.at, candidate.content, reason, speaker.person_id))
            told = "a code or password" if reason is Reason.SECRET else candidate.content
            LOGGER.debug("Not remembered (%s): %s", reason, told)
        return reason
