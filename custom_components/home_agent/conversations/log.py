"""Conversation logs: one file per day, for users who want to read along. Off by default.

A line is a JSON object. Codes, numbers that could be one, and addresses are masked before anything is
written; what is forgotten goes from the files too.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
import json
import os
from pathlib import Path
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util
from homeassistant.util.file import WriteError, write_utf8_file_atomic

from ..const import DOMAIN, LOGGER
from ..safety.sanitizer.private_names import find_numbers, find_patterns, masked
from ..texts import fold_letters

FOLDER: Final = "conversations"
MAX_TEXT: Final = 4_000
"""Characters kept of a sentence or an answer."""
MAX_WAITING: Final = 200
LEAST_CHARS: Final = 4
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
        known = {key: value for key, value in details.items() if value not in (None, [], "")}
        line = {"at": dt_util.as_local(at).isoformat(timespec="seconds"), **known}
        self._waiting.append({**line, "said": masked_line(said), "answer": masked_line(answer)})
        if len(self._waiting) == 1:
            self._hass.async_create_background_task(self.async_flush(), "home_agent conversation log")

    async def async_flush(self) -> None:
        """Write what waits."""
        async with self._lock:
            lines, self._waiting = self._waiting, []
            if lines:
                await self._async_do(_append, lines)

    async def async_forget(
        self, texts: Iterable[str] = (), *, person: str | None = None, conversation: str | None = None
    ) -> None:
        """Remove the lines that contain a text, or that are of a person or of a conversation."""
        wanted = [folded for text in texts if len(folded := fold_letters(text).strip(" .!?")) >= LEAST_CHARS]

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
        """Work on the files in a thread; return whether that worked."""
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


def _append(folder: Path, lines: Sequence[Line]) -> None:
    """Add lines to the files of their days, readable by their owner only."""
    folder.mkdir(parents=True, exist_ok=True)
    for line in lines:
        file = os.open(folder / f"{line['at'][:10]}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "a", encoding="utf-8") as out:
            out.write(f"{json.dumps(line, ensure_ascii=False)}\n")


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
    """Return all lines that can be read; none where there are no files, or none that can be opened."""
    found: list[Line] = []
    for path in sorted(folder.glob("*.jsonl")):
        with suppress(OSError):
            lines = path.read_text(encoding="utf-8").splitlines()
            found += [line for text in lines if (line := _read(text)) is not None]
    return found


def _read(text: str) -> Line | None:
    """Return a line; None for one that cannot be read."""
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _delete_before(folder: Path, day: date) -> None:
    """Delete the files of earlier days, and the folder with the last of them."""
    for path in folder.glob("*.jsonl"):
        if path.stem < day.isoformat():
            path.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
