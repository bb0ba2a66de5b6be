"""Conversations: turns as values, the window of them that a request carries, the store, and the log files."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property
import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, cast

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util
from homeassistant.util.file import WriteError, write_utf8_file_atomic

from ..const import DOMAIN, LOGGER, EventData
from ..context.window import messages_tokens
from ..inference.models import Message, MessageCall
from ..safety.sanitizer.private_names import find_numbers, find_patterns, masked
from ..store import UNREADABLE, Content, EntryStore, read_moment, read_text_or_none
from ..texts import fold_letters

MAX_MESSAGES = 500
"""Messages kept of one conversation."""
MAX_TOKENS = 60_000
"""Tokens kept of one conversation; more than the largest window."""
MAX_MESSAGE_CHARS = 16_000
RECENT_TURNS = 3
"""Turns in which entities were mentioned that a sentence may go on about."""
MAX_ABOUT = 20
"""Entities that are kept of a turn."""

SUMMARY_FROM = 0.6
"""Share of its limits from which on a window is summarised, before it moves on."""
SUMMARY_HEADING = "[Added by Home Assistant: what was said earlier in this conversation]"

AT_HOME_ONLY = "at_home"
"""Key of messages that an external model must not receive."""

_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", AT_HOME_ONLY})
_ROLES = frozenset({"user", "assistant", "tool"})


class StoredTurn(NamedTuple):
    """The sentence of one person, and the calls and the answer."""

    at: datetime
    messages: tuple[Message, ...]
    tokens: int
    persist: bool = True
    person: str | None = None
    """Id of the speaker, if known."""
    tainted: bool = False
    """Whether it has read text from an untrusted source, or continues a turn that has."""
    about: tuple[str, ...] = ()
    """Ids of the entities that it changed, else that were asked about."""

    def content(self) -> Content:
        """Return the data to store."""
        stored: Content = {"at": self.at.isoformat(), "person": self.person, "messages": list(self.messages)}
        if self.tainted:
            stored["tainted"] = True
        if self.about:
            stored["about"] = list(self.about)
        return stored

    def holds(self, texts: Iterable[str]) -> bool:
        """Return whether any of these folded texts is in it."""
        contents = [message["content"] for message in self.messages]
        for message in self.messages:
            contents += [call["function"]["arguments"] for call in message.get("tool_calls", ())]
        whole = fold_letters(" ".join(contents))
        return any(text in whole for text in texts)

    def words_only(self) -> Self:
        """Return the turn without its tool calls: the sentence and the last answer."""
        said = [message for message in self.messages if message["role"] == "user"]
        answers = [
            message.copy()
            for message in self.messages
            if message["role"] == "assistant" and message["content"]
        ]
        for answer in answers[-1:]:
            answer.pop("tool_calls", None)
        messages = (*said, *answers[-1:])
        return self._replace(messages=messages, tokens=messages_tokens(messages))


@dataclass(frozen=True)
class Conversation:
    """Turns, oldest first, and the index of the turn at which the window begins."""

    turns: tuple[StoredTurn, ...] = ()
    start: int = 0
    summary: str = ""
    """What was said before the window, as the model put it; it stays as long as the window does."""
    ready: str = ""
    """The summary that is shown when the window moves on."""
    tainted: frozenset[str] = frozenset()
    """Which of both come from turns that have read text from outside: "summary", "ready"."""

    @property
    def reads_outside(self) -> bool:
        """Return whether the window, or the summary in front of it, holds text from outside."""
        told = any(turn.tainted for turn in self.turns[self.start :])
        return told or bool(self.summary and "summary" in self.tainted)

    def with_summary(self, summary: str) -> Self:
        """Return the conversation with a summary for when the window moves on."""
        tainted = self.tainted - {"ready"} | ({"ready"} if self.reads_outside else set())
        return replace(self, ready=summary, tainted=frozenset(tainted))

    @cached_property
    def at_home(self) -> bool:
        """Return whether anything in it is for models in the home only; then its summary is too."""
        return any(message.get(AT_HOME_ONLY) for turn in self.turns for message in turn.messages)

    @cached_property
    def message_count(self) -> int:
        """Return how many messages are kept."""
        return sum(len(turn.messages) for turn in self.turns)

    @cached_property
    def tokens(self) -> int:
        """Return how many tokens are kept."""
        return sum(turn.tokens for turn in self.turns)

    @property
    def about(self) -> tuple[str, ...]:
        """Return the entities of the newest turn that was about any, among the last ones."""
        return next((turn.about for turn in reversed(self.turns[-RECENT_TURNS:]) if turn.about), ())

    @property
    def persons(self) -> set[str]:
        """Return the ids of the known speakers."""
        return {turn.person for turn in self.turns if turn.person is not None}

    def with_turn(self, turn: StoredTurn) -> Conversation:
        """Return the conversation with one turn more, without the oldest beyond the limits."""
        turns = (*self.turns, turn)
        while len(turns) > 1 and not _fit(turns, MAX_MESSAGES, MAX_TOKENS):
            turns = turns[1:]
        dropped = len(self.turns) + 1 - len(turns)
        return replace(self, turns=turns, start=max(0, self.start - dropped))

    def window(self, max_messages: int, max_tokens: int) -> tuple[Sequence[StoredTurn], Conversation]:
        """Return the turns that fit, and the conversation with the window where it then begins."""
        if self.summary:
            taken = summary_messages(self.summary)
            max_messages = max(1, max_messages - len(taken))
            max_tokens = max(1, max_tokens - messages_tokens(taken))
        usable: list[StoredTurn] = []
        for turn in self.turns[self.start :]:  # whole, as its words, or empty
            words = turn if _fit([turn], max_messages, max_tokens) else turn.words_only()
            is_usable = _fit([words], max_messages, max_tokens)
            usable.append(words if is_usable else turn._replace(messages=(), tokens=0))
        skip, moved = 0, self
        if not _fit(usable, max_messages, max_tokens):
            while not _fit(usable[skip:], max_messages / 2, max_tokens / 2) and skip < len(usable) - 1:
                skip += 1
            moved = replace(self, start=self.start + skip, summary=self.ready or self.summary, ready="")
            if self.ready:
                moved = replace(moved, tainted=frozenset({"summary"} if "ready" in self.tainted else ()))
        return [turn for turn in usable[skip:] if turn.messages], moved

    def without(self, is_unwanted: Callable[[StoredTurn], bool]) -> Conversation | None:
        """Return the conversation without some turns, None if nothing is left.

        What was summed up from them goes too.
        """
        kept = tuple(turn for turn in self.turns if not is_unwanted(turn))
        if len(kept) == len(self.turns):
            return self
        gone_before = sum(is_unwanted(turn) for turn in self.turns[: self.start])
        start = min(self.start - gone_before, max(0, len(kept) - 1))
        return Conversation(kept, start) if kept else None

    def wants_summary(self, max_messages: int, max_tokens: int) -> bool:
        """Return whether the window will soon move on without a summary of what it leaves behind."""
        limits = SUMMARY_FROM * max_messages, SUMMARY_FROM * max_tokens
        return not self.ready and not _fit(self.turns[self.start :], *limits)

    def content(self) -> Content | None:
        """Return the data to store; None if nothing may be stored."""
        turns = [turn.content() for turn in self.turns if turn.persist]
        if not turns:
            return None
        unstored = sum(not turn.persist for turn in self.turns[: self.start])
        stored: Content = {"turns": turns, "start": min(self.start - unstored, len(turns) - 1)}
        if len(turns) == len(self.turns):
            parts = {"summary": self.summary, "ready": self.ready, "tainted": sorted(self.tainted)}
            stored |= {key: value for key, value in parts.items() if value}
        return stored

    @classmethod
    def from_messages(cls, messages: Any, now: datetime) -> Conversation:
        """Return a conversation from a plain list of messages.

        Raises ValueError or TypeError for invalid data.
        """
        if not isinstance(messages, list):
            raise TypeError("not a list of messages")
        parts: list[list[Any]] = []
        for message in messages:
            if message["role"] == "user" or not parts:
                parts.append([])
            parts[-1].append(message)
        conversation = cls()
        for part in parts:
            at, stamp = now, part[-1].get("timestamp")  # some carry a time of their own
            if stamp:
                is_seconds = isinstance(stamp, int | float)
                at = dt_util.utc_from_timestamp(stamp) if is_seconds else read_moment(stamp)
            if (turn := make_turn(part, at=at, persist=True)) is not None:
                conversation = conversation.with_turn(turn)
        return conversation


def _fit(turns: Sequence[StoredTurn], max_messages: float, max_tokens: float) -> bool:
    messages, tokens = sum(len(turn.messages) for turn in turns), sum(turn.tokens for turn in turns)
    return messages <= max_messages and tokens <= max_tokens


def parse_conversation(content: Any) -> Conversation:
    """Return a stored conversation.

    Raises LookupError, TypeError, ValueError or AttributeError where it is not one.
    """
    conversation = Conversation()
    for stored in content["turns"]:
        person = read_text_or_none(stored.get("person"))
        turn = make_turn(
            stored["messages"],
            at=read_moment(stored["at"]),
            persist=True,
            person=person,
            tainted=bool(stored.get("tainted")),
            about=map(str, stored.get("about", ())),
        )
        if turn is not None:
            conversation = conversation.with_turn(turn)
    if not conversation.turns:
        raise ValueError("no turns")
    start = content.get("start", 0)
    return replace(
        conversation,
        start=max(0, min(int(start), len(conversation.turns) - 1)),
        summary=str(content.get("summary", "")),
        ready=str(content.get("ready", "")),
        tainted=frozenset(map(str, content.get("tainted", ()))),
    )


def summary_messages(summary: str, *, at_home: bool = False) -> list[Message]:
    """Return a summary as messages: a pair, since some models want person and assistant to take turns."""
    pair: list[Message] = [
        {"role": "user", "content": f"{SUMMARY_HEADING}\n{summary}"},
        {"role": "assistant", "content": "OK."},
    ]
    return kept_at_home(pair) if at_home else pair


def kept_at_home(messages: Iterable[Message]) -> list[Message]:
    """Return messages marked as for models in the home only."""
    return [{**message, "at_home": True} for message in messages]


def make_turn(
    messages: Iterable[Mapping[str, Any]],
    *,
    at: datetime,
    persist: bool,
    person: str | None = None,
    tainted: bool = False,
    about: Iterable[str] = (),
) -> StoredTurn | None:
    """Return a turn: the sentence, the calls with their results, the answer; None without any answer.

    A call without a result, and a result without its call, are left out. Without `persist` it is kept in
    memory alone. Raises TypeError, LookupError or AttributeError for invalid messages.
    """
    cleaned = [_clean(message) for message in messages if message["role"] in _ROLES]
    answered = {message.get("tool_call_id") for message in cleaned if message["role"] == "tool"}
    kept: list[Message] = []
    called: set[str] = set()
    for message in cleaned:
        if message["role"] == "tool":
            if message.get("tool_call_id") in called:
                called.discard(message["tool_call_id"])
                kept.append(message)
            continue
        calls = [call for call in message.pop("tool_calls", ()) if call["id"] in answered]
        if calls:
            message["tool_calls"] = calls
            called.update(call["id"] for call in calls)
        if calls or message["content"]:
            kept.append(message)
    if not any(message["role"] == "assistant" for message in kept):
        return None
    return StoredTurn(
        at, tuple(kept), messages_tokens(kept), persist, person, tainted, tuple(about)[:MAX_ABOUT]
    )


def _clean(message: Mapping[str, Any]) -> Message:
    kept = {key: value for key, value in message.items() if key in _KEYS and value is not None}
    content = message.get("content")
    if isinstance(content, list):  # images are not kept
        content = "\n".join(part["text"] for part in content if part.get("type") == "text")
    kept["content"] = ("" if content is None else str(content))[:MAX_MESSAGE_CHARS]
    if calls := kept.pop("tool_calls", None):
        made: list[MessageCall] = []
        for call in calls:
            function = call["function"]
            arguments = str(function.get("arguments") or "{}")
            arguments = arguments if len(arguments) <= MAX_MESSAGE_CHARS else "{}"
            made.append(
                {
                    "id": str(call["id"]),
                    "type": "function",
                    "function": {"name": str(function["name"]), "arguments": arguments},
                }
            )
        kept["tool_calls"] = made
    return cast("Message", kept)


FOLDER: Final = "conversations"
MAX_TEXT: Final = 4_000
"""Characters kept of a sentence or an answer."""
MAX_WAITING: Final = 200
LEAST_LOGGED: Final = 4
"""Shorter texts are in too many lines to be forgotten by."""

type Line = Mapping[str, Any]


class ConversationLog:
    """The files of one entry. Writing never delays a turn; a failure is reported once."""

    def __init__(self, hass: HomeAssistant, entry_id: str, *, enabled: bool) -> None:
        self._hass = hass
        self._enabled = enabled
        self.folder = folder_of(hass, entry_id)
        self._waiting: list[Line] = []
        self._lock = asyncio.Lock()
        self._failed = False
        self.unforgotten = False
        """Whether lines are still in the files that were to go."""

    @callback
    def note(self, said: str, answer: str, at: datetime, **details: Any) -> None:
        """Write a turn down, soon."""
        if not self._enabled or len(self._waiting) >= MAX_WAITING:
            return
        filled = {key: value for key, value in details.items() if value not in (None, [], "")}
        line = {"at": dt_util.as_local(at).isoformat(timespec="seconds"), **filled}
        self._waiting.append({**line, "said": masked_line(said), "answer": masked_line(answer)})
        if len(self._waiting) == 1:
            self._hass.async_create_background_task(self.async_flush(), "home_agent conversation log")

    async def async_flush(self) -> None:
        """Write what waits."""
        async with self._lock:
            lines, self._waiting = self._waiting, []

            def append(folder: Path, lines: Sequence[Line]) -> None:
                folder.mkdir(parents=True, exist_ok=True)
                for line in lines:
                    path = folder / f"{line['at'][:10]}.jsonl"
                    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                    with os.fdopen(file, "a", encoding="utf-8") as out:
                        out.write(f"{json.dumps(line, ensure_ascii=False)}\n")

            if lines:
                await self._async_do(append, lines)

    async def async_forget(
        self, texts: Iterable[str] = (), *, person: str | None = None, conversation: str | None = None
    ) -> None:
        """Remove the lines that contain a text, or that are of a person or of a conversation."""
        wanted = [folded for text in texts if len(folded := fold_letters(text).strip(" .!?")) >= LEAST_LOGGED]

        def is_unwanted(line: Line) -> bool:
            held = fold_letters(f"{line.get('said')} {line.get('answer')}")
            return (
                (person is not None and line.get("person") == person)
                or (conversation is not None and line.get("conversation") == conversation)
                or any(text in held for text in wanted)
            )

        if wanted or person is not None or conversation is not None:
            await self.async_flush()
            async with self._lock:
                self.unforgotten = not await self._async_do(_without, is_unwanted)

    async def async_of_person(self, person: str) -> list[Line]:
        """Return the lines of a person, the oldest first."""
        await self.async_flush()
        async with self._lock:
            lines = await self._hass.async_add_executor_job(_lines, self.folder)
        return [line for line in lines if line.get("person") == person]

    async def async_clear(self) -> None:
        """Delete all files."""
        async with self._lock:
            self._waiting = []
            self.unforgotten = not await self._async_do(_delete_before, date.max)

    async def async_prune(self, days: float) -> None:
        """Delete older files; 0 days keep everything."""
        if days > 0:
            async with self._lock:
                await self._async_do(_delete_before, (dt_util.now() - timedelta(days=days)).date())

    async def _async_do(self, work: Callable[[Path, Any], None], what: Any) -> bool:
        try:
            await self._hass.async_add_executor_job(work, self.folder, what)
            self._failed = False
        except (OSError, WriteError) as err:
            if not self._failed:
                LOGGER.warning("The conversation log cannot be written: %s", err)
            self._failed = True
        return not self._failed


def folder_of(hass: HomeAssistant, entry_id: str) -> Path:
    """Return where the files of an entry are, whatever it is called by now."""
    return Path(hass.config.path(DOMAIN, FOLDER, entry_id))


def masked_line(text: str) -> str:
    """Return a text with private patterns masked."""
    text = text[:MAX_TEXT]
    return masked(text, [*find_patterns(text, (), lambda _id: False), *find_numbers(text)])


def _without(folder: Path, is_unwanted: Callable[[Line], bool]) -> None:
    """Write files again without lines; a line that cannot be read goes too."""
    for path in folder.glob("*.jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [text for text in lines if (line := _read(text)) is not None and not is_unwanted(line)]
        if not kept:
            path.unlink()
        elif len(kept) < len(lines):
            write_utf8_file_atomic(str(path), "".join(f"{text}\n" for text in kept), private=True)


def _lines(folder: Path) -> list[Line]:
    rows: list[Line] = []
    for path in sorted(folder.glob("*.jsonl")):
        with suppress(OSError):
            lines = path.read_text(encoding="utf-8").splitlines()
            rows += [line for text in lines if (line := _read(text)) is not None]
    return rows


def _read(text: str) -> Line | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _delete_before(folder: Path, day: date) -> None:
    for path in folder.glob("*.jsonl"):
        if path.stem < day.isoformat():
            path.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


STORE_KEY = f"{DOMAIN}.history"
STORE_VERSION = 1
STORE_MINOR_VERSION = 2

MAX_CONVERSATIONS = 200
"""Conversations kept of one entry; the longest silent go first."""
MAX_ENTRY_TOKENS = 1_000_000
LEAST_CHARS = 8
"""Shorter texts are not looked for: they are in half of all turns."""


class Conversations(dict[str, Conversation]):
    """The conversations of one agent, by history id."""

    def stored(self) -> Content:
        """Return the content to write; runs in a worker thread on immutable copies."""
        kept = {history_id: conversation.content() for history_id, conversation in dict(self).items()}
        return {history_id: content for history_id, content in kept.items() if content}

    def restore(self, stored: Mapping[str, Any]) -> Exception | None:
        """Take what is stored; return what was wrong with what is left out."""
        problem: Exception | None = None
        for history_id, content in stored.items():
            try:
                self[history_id] = parse_conversation(content)
            except UNREADABLE as err:
                problem = err
        self.bound()
        return problem

    @callback
    def bound(self) -> None:
        """Drop the longest silent beyond the limits."""
        tokens = sum(conversation.tokens for conversation in self.values())
        silent = sorted(self, key=lambda key: self[key].turns[-1].at, reverse=True)
        while len(silent) > 1 and (len(self) > MAX_CONVERSATIONS or tokens > MAX_ENTRY_TOKENS):
            tokens -= self.pop(silent.pop()).tokens


class ConversationHistoryManager(EntryStore[Conversations]):
    """Keeps conversations by entry and history id, in memory and on disk.

    There is one manager for the whole integration, so that no two entries write one file.
    """

    def __init__(self, hass: HomeAssistant, on_saved: Callable[[EventData], None] | None = None) -> None:
        self._hass = hass
        self._on_saved = on_saved
        super().__init__(
            hass,
            STORE_KEY,
            lambda _changed: Conversations(),
            version=STORE_VERSION,
            minor_version=STORE_MINOR_VERSION,
            migrate=self._migrate,
            on_written=self._written,
        )

    @callback
    def get_window(
        self, entry_id: str, history_id: str, *, max_messages: int, max_tokens: int
    ) -> list[Message]:
        """Return the newest whole turns that fit, as messages of a request, oldest first.

        When they no longer fit the window moves on by half, and then stays where it begins for many
        turns, so that a model server finds the same beginning in its cache.
        """
        conversation = self.find(entry_id, history_id)
        turns, moved = conversation.window(max_messages, max_tokens)
        if moved is not conversation:
            self._entries[entry_id][history_id] = moved
        summary = summary_messages(moved.summary, at_home=moved.at_home) if moved.summary else []
        return [*summary, *(message.copy() for turn in turns for message in turn.messages)]

    @callback
    def keep_summary(self, entry_id: str, history_id: str, summary: str) -> None:
        """Keep a summary until the window moves on; nothing if the conversation no longer exists."""
        if (conversation := self.find(entry_id, history_id)).turns:
            self._entries[entry_id][history_id] = conversation.with_summary(summary)
            if any(turn.persist for turn in conversation.turns):
                self.schedule()

    @callback
    def append_turn(self, entry_id: str, history_id: str, turn: StoredTurn) -> None:
        """Add a turn; one that does not persist never reaches the disk."""
        conversations = self.of(entry_id)
        conversation = conversations.pop(history_id, None) or Conversation()
        conversations[history_id] = conversation.with_turn(turn)
        conversations.bound()
        if turn.persist:
            self.schedule()

    @callback
    def find(self, entry_id: str, history_id: str) -> Conversation:
        """Return a conversation; one without turns if nothing is known of it."""
        return self.of(entry_id).get(history_id) or Conversation()

    @callback
    def clear(self, entry_id: str | None = None, history_id: str | None = None) -> int:
        """Forget conversations, in memory at once and on disk right after; return how many.

        Without any limit, files that were set aside as unreadable are removed too. `async_flush` waits for
        the disk.
        """
        removed = self._remove(entry_id, lambda key, _conversation: history_id in (None, key))

        async def clear_disk() -> None:
            await self.async_flush()
            if entry_id is None and history_id is None:
                await self.async_forget_set_aside()

        self._hass.async_create_task(clear_disk(), "home_agent clear history")
        return removed

    @callback
    def of_person(self, entry_id: str, person_id: str) -> list[dict[str, Any]]:
        """Return the turns in which a person spoke, as they are stored."""
        return [
            {"conversation": history_id, "at": turn.at.isoformat(), "messages": list(turn.messages)}
            for history_id, conversation in self.of(entry_id).items()
            for turn in conversation.turns
            if turn.person == person_id
        ]

    @callback
    def forget_texts(self, entry_id: str, texts: Iterable[str]) -> int:
        """Forget the turns that contain any of these texts; return how many."""
        wanted = [folded for text in texts if len(folded := fold_letters(text).strip(" .!?")) >= LEAST_CHARS]
        return self.forget_turns(entry_id, lambda turn: turn.holds(wanted)) if wanted else 0

    @callback
    def forget_turns(self, entry_id: str, is_unwanted: Callable[[StoredTurn], bool]) -> int:
        """Forget turns; return how many. `async_flush` waits for the disk."""
        conversations = self.of(entry_id)
        before = sum(len(conversation.turns) for conversation in conversations.values())
        kept = {key: conversation.without(is_unwanted) for key, conversation in conversations.items()}
        conversations.clear()
        conversations.update((key, conversation) for key, conversation in kept.items() if conversation)
        if gone := before - sum(len(conversation.turns) for conversation in conversations.values()):
            self.schedule()
        return gone

    @callback
    def prune(self, retention_days: float, entry_id: str | None = None) -> int:
        """Forget conversations whose last turn is older; 0 days keep everything. Return how many."""
        if retention_days <= 0:
            return 0
        oldest = dt_util.utcnow() - timedelta(days=retention_days)
        return self._remove(entry_id, lambda _key, conversation: conversation.turns[-1].at < oldest)

    def _remove(self, entry_id: str | None, is_unwanted: Callable[[str, Conversation], bool]) -> int:
        removed = 0
        for conversations in [kept for key, kept in self._entries.items() if entry_id in (None, key)]:
            unwanted = [key for key, conversation in conversations.items() if is_unwanted(key, conversation)]
            for key in unwanted:
                del conversations[key]
            removed += len(unwanted)
        if removed:
            self.schedule()
        return removed

    def _migrate(self, _major: int, _minor: int, data: Any) -> Content:
        """Bring conversations that were kept without an entry to the first entry.

        Raises TypeError or LookupError for content that was never written by this integration.
        """
        entries = self._hass.config_entries.async_entries(DOMAIN)
        moved: dict[str, Any] = {}
        for history_id, messages in data["conversations"].items():
            conversation = Conversation.from_messages(messages, dt_util.utcnow())
            if content := conversation.content():
                moved[history_id] = content
        return {"entries": {entries[0].entry_id: moved} if entries and moved else {}}

    @callback
    def _written(self, size: int) -> None:
        if self._on_saved is None:
            return
        conversations = [conversation for entry in self._entries.values() for conversation in entry.values()]
        self._on_saved(
            {
                "conversation_count": len(conversations),
                "message_count": sum(conversation.message_count for conversation in conversations),
                "size_bytes": size,
                "timestamp": dt_util.utcnow().isoformat(),
            }
        )
