"""ConversationHistoryManager: the conversations of all entries, in one store."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, override

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..event_data import HistorySaved
from ..inference.models import Message
from ..store import UNREADABLE, Content, KeptStore, StoredFile
from ..texts import fold_letters
from .turns import (
    Conversation,
    PersonTurn,
    StoredTurn,
    make_turn,
    parse_conversation,
    summary_messages,
)

STORE_KEY = f"{DOMAIN}.history"
STORE_VERSION = 1
STORE_MINOR_VERSION = 2

MAX_CONVERSATIONS = 200
"""Conversations kept of one entry; the longest silent go first."""
MAX_ENTRY_TOKENS = 1_000_000
LEAST_CHARS = 8
"""Shorter texts are not looked for: they are in half of all turns."""

type Conversations = dict[str, Conversation]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationInfo:
    """A conversation in an overview."""

    history_id: str
    first_at: datetime
    last_at: datetime
    message_count: int
    tokens: int


class ConversationHistoryManager(StoredFile):
    """Keeps conversations by entry and history id, in memory and on disk.

    There is one manager for the whole integration, so that no two entries write one file.
    """

    def __init__(self, hass: HomeAssistant, on_saved: Callable[[HistorySaved], None] | None = None) -> None:
        self._hass = hass
        self._on_saved = on_saved
        self._entries: dict[str, Conversations] = {}
        self._store = KeptStore(
            hass,
            STORE_KEY,
            self._content,
            version=STORE_VERSION,
            minor_version=STORE_MINOR_VERSION,
            migrate=self._migrate,
            on_written=self._written,
        )

    @override
    async def async_load(self) -> None:
        """Read the store; conversations that cannot be read are kept aside and left out."""
        data = await self._store.async_read()
        if not data:
            return
        entries, problem = await self._hass.async_add_executor_job(_parse, data)
        if problem is not None:
            await self._store.async_set_aside(problem, keep_in_place=True)
        for entry_id, conversations in entries.items():
            self._entries[entry_id] = conversations | self._entries.get(entry_id, {})
            self._bound(self._entries[entry_id])

    @callback
    def get_window(
        self, entry_id: str, history_id: str, *, max_messages: int, max_tokens: int
    ) -> list[Message]:
        """Return the newest whole turns that fit, as messages of a request, oldest first.

        When they no longer fit the window moves on by half, and then stays where it begins for many
        turns, so that a model server finds the same beginning in its cache.
        """
        conversation = self._find(entry_id, history_id)
        if conversation is None:
            return []
        turns, moved = conversation.window(max_messages, max_tokens)
        if moved is not conversation:
            self._entries[entry_id][history_id] = moved
        summary = summary_messages(moved.summary, at_home=moved.at_home) if moved.summary else []
        return [*summary, *(message.copy() for turn in turns for message in turn.messages)]

    @callback
    def reads_outside(self, entry_id: str, history_id: str) -> bool:
        """Return whether the window, where it begins now, holds text from an untrusted source."""
        conversation = self._find(entry_id, history_id)
        return conversation is not None and conversation.reads_outside

    @callback
    def wants_summary(self, entry_id: str, history_id: str, *, max_messages: int, max_tokens: int) -> bool:
        """Return whether a conversation should be summarised before its window moves on."""
        conversation = self._find(entry_id, history_id)
        return conversation is not None and conversation.wants_summary(max_messages, max_tokens)

    @callback
    def keep_summary(self, entry_id: str, history_id: str, summary: str) -> None:
        """Keep a summary until the window moves on; nothing if the conversation no longer exists."""
        if (conversation := self._find(entry_id, history_id)) is not None:
            self._entries[entry_id][history_id] = conversation.with_summary(summary)
            if any(turn.persist for turn in conversation.turns):
                self._store.schedule()

    @callback
    def append_turn(
        self,
        entry_id: str,
        history_id: str,
        messages: Iterable[Mapping[str, Any]],
        *,
        at: datetime,
        persist: bool,
        person: str | None = None,
        tainted: bool = False,
        about: Iterable[str] = (),
    ) -> None:
        """Add a turn: the sentence, the calls with their results, the answer.

        A call without a result, and a result without its call, are left out; without any answer there is
        no turn. With `persist` off the turn never reaches the disk.
        """
        turn = make_turn(
            messages, at=dt_util.as_utc(at), persist=persist, person=person, tainted=tainted, about=about
        )
        if turn is None:
            return
        conversations = self._entries.setdefault(entry_id, {})
        conversation = conversations.pop(history_id, None) or Conversation()
        conversations[history_id] = conversation.with_turn(turn)
        self._bound(conversations)
        if persist:
            self._store.schedule()

    @callback
    def about(self, entry_id: str, history_id: str) -> tuple[str, ...]:
        """Return the entities that a conversation was about last."""
        conversation = self._find(entry_id, history_id)
        return conversation.about if conversation else ()

    @callback
    def persons(self, entry_id: str, history_id: str) -> set[str]:
        """Return the ids of the known speakers of a conversation."""
        return {turn.person for turn in self.turns(entry_id, history_id) if turn.person is not None}

    @callback
    def has(self, entry_id: str, history_id: str) -> bool:
        """Return whether anything is known of a conversation."""
        return self._find(entry_id, history_id) is not None

    @callback
    def last_at(self, entry_id: str, history_id: str) -> datetime | None:
        """Return when the last turn of a conversation ended."""
        conversation = self._find(entry_id, history_id)
        return conversation.last_at if conversation else None

    @callback
    def turns(self, entry_id: str, history_id: str) -> tuple[StoredTurn, ...]:
        """Return all that is kept of a conversation."""
        conversation = self._find(entry_id, history_id)
        return conversation.turns if conversation else ()

    @callback
    def conversations(self, entry_id: str) -> list[ConversationInfo]:
        """Return the conversations of an entry, the newest first."""
        known = self._entries.get(entry_id, {})
        infos = [
            ConversationInfo(
                history_id=history_id,
                first_at=conversation.turns[0].at,
                last_at=conversation.last_at,
                message_count=conversation.message_count,
                tokens=conversation.tokens,
            )
            for history_id, conversation in known.items()
        ]
        return sorted(infos, key=lambda info: info.last_at, reverse=True)

    @callback
    def clear(self, entry_id: str | None = None, history_id: str | None = None) -> int:
        """Forget conversations, in memory at once and on disk right after; return how many.

        Without any limit, files that were set aside as unreadable are removed too. `async_flush` waits for
        the disk.
        """
        removed = self._remove(
            lambda entry, history, _conversation: entry_id in (None, entry) and history_id in (None, history)
        )
        if removed:
            self._store.schedule()
        self._hass.async_create_task(
            self._async_clear_disk(everything=entry_id is None and history_id is None),
            "home_agent clear history",
        )
        return removed

    @callback
    def of_person(self, entry_id: str, person_id: str) -> list[PersonTurn]:
        """Return the turns in which a person spoke, as they are stored."""
        return [
            {"conversation": history_id, "at": turn.at.isoformat(), "messages": list(turn.messages)}
            for history_id, conversation in self._entries.get(entry_id, {}).items()
            for turn in conversation.turns
            if turn.person == person_id
        ]

    @callback
    def forget_person(self, entry_id: str, person_id: str) -> int:
        """Forget the turns in which a person spoke; return how many. `async_flush` waits for the disk."""
        return self._forget(entry_id, lambda turn: turn.person == person_id)

    @callback
    def forget_texts(self, entry_id: str, texts: Iterable[str]) -> int:
        """Forget the turns that contain any of these texts; return how many."""
        wanted = [folded for text in texts if len(folded := fold_letters(text).strip(" .!?")) >= LEAST_CHARS]
        return self._forget(entry_id, lambda turn: turn.holds(wanted)) if wanted else 0

    def _forget(self, entry_id: str, is_unwanted: Callable[[StoredTurn], bool]) -> int:
        """Forget turns, and the summaries of them; return how many."""
        conversations = self._entries.get(entry_id, {})
        before = sum(len(conversation.turns) for conversation in conversations.values())
        for history_id, conversation in list(conversations.items()):
            kept = conversation.without(is_unwanted)
            if kept is None:
                del conversations[history_id]
            else:
                conversations[history_id] = kept
        gone = before - sum(len(conversation.turns) for conversation in conversations.values())
        if gone:
            self._store.schedule()
        return gone

    @callback
    def prune(
        self, retention_days: float, entry_id: str | None = None, *, now: datetime | None = None
    ) -> int:
        """Forget conversations whose last turn is older; 0 days keep everything. Return how many."""
        if retention_days <= 0:
            return 0
        oldest = (now or dt_util.utcnow()) - timedelta(days=retention_days)
        removed = self._remove(
            lambda entry, _history, conversation: entry_id in (None, entry) and conversation.last_at < oldest
        )
        if removed:
            self._store.schedule()
        return removed

    async def _async_clear_disk(self, *, everything: bool) -> None:
        await self._store.async_flush()
        if everything:
            await self._store.async_forget_set_aside()

    def _find(self, entry_id: str, history_id: str) -> Conversation | None:
        return self._entries.get(entry_id, {}).get(history_id)

    def _remove(self, is_unwanted: Callable[[str, str, Conversation], bool]) -> int:
        unwanted = [
            (entry_id, history_id)
            for entry_id, conversations in self._entries.items()
            for history_id, conversation in conversations.items()
            if is_unwanted(entry_id, history_id, conversation)
        ]
        for entry_id, history_id in unwanted:
            del self._entries[entry_id][history_id]
            if not self._entries[entry_id]:
                del self._entries[entry_id]
        return len(unwanted)

    @staticmethod
    def _bound(conversations: Conversations) -> None:
        tokens = sum(conversation.tokens for conversation in conversations.values())
        if len(conversations) <= MAX_CONVERSATIONS and tokens <= MAX_ENTRY_TOKENS:
            return
        for history_id in sorted(conversations, key=lambda key: conversations[key].last_at):
            if len(conversations) <= MAX_CONVERSATIONS and tokens <= MAX_ENTRY_TOKENS:
                return
            if len(conversations) > 1:
                tokens -= conversations.pop(history_id).tokens

    def _content(self) -> Content:
        """Return the content to write; runs in a worker thread on immutable copies."""
        entries: dict[str, Any] = {}
        for entry_id, conversations in dict(self._entries).items():
            stored = {
                history_id: content
                for history_id, conversation in dict(conversations).items()
                if (content := conversation.content())
            }
            if stored:
                entries[entry_id] = stored
        return {"entries": entries}

    def _migrate(self, _major: int, _minor: int, data: Any) -> Content:
        """Bring conversations that were kept without an entry to the first entry.

        Raises TypeError or LookupError for content that was never written by this integration.
        """
        known = self._hass.config_entries.async_entries(DOMAIN)
        moved: dict[str, Any] = {}
        for history_id, messages in data["conversations"].items():
            conversation = Conversation.from_messages(messages, dt_util.utcnow())
            if content := conversation.content():
                moved[history_id] = content
        return {"entries": {known[0].entry_id: moved} if known and moved else {}}

    @callback
    def _written(self, size: int) -> None:
        if self._on_saved is None:
            return
        known = [conversation for entry in self._entries.values() for conversation in entry.values()]
        self._on_saved(
            {
                "conversation_count": len(known),
                "message_count": sum(conversation.message_count for conversation in known),
                "size_bytes": size,
                "timestamp": dt_util.utcnow().isoformat(),
            }
        )


def _parse(data: Content) -> tuple[dict[str, Conversations], Exception | None]:
    """Return the valid part of a store, and the problems of the rest."""
    problem: Exception | None = None
    entries: dict[str, Conversations] = {}
    stored = data.get("entries")
    if not isinstance(stored, dict):
        return {}, ValueError("no entries")
    for entry_id, conversations in stored.items():
        if not isinstance(conversations, dict):
            problem = ValueError("not conversations")
            continue
        for history_id, content in conversations.items():
            try:
                entries.setdefault(entry_id, {})[history_id] = parse_conversation(content)
            except UNREADABLE as err:
                problem = err
    return entries, problem
