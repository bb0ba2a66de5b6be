"""Commands of a chat: list memories and searches, start a new conversation."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ...agent.phrases import async_phrase
from ...knowledge.speaker import async_person_of_user
from ...memory.records import Memory, is_visible
from ...privacy import async_forget
from ...runtime import HomeAgentData
from ...safety.journal import MAX_ENTRIES, AuditKind

MAX_SHOWN: Final = 20
MAX_QUERY: Final = 120


@dataclass(slots=True)
class Chat:
    """What is known of a chat while Home Assistant runs."""

    id: int
    conversation_id: str | None = None
    listed: list[str] = field(default_factory=list)
    """The memories of the last list, in its order."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who wrote a command, where, to which agent."""

    hass: HomeAssistant
    data: HomeAgentData
    user: User
    chat: Chat

    async def async_say(self, key: str, **placeholders: str) -> str:
        """Return a sentence of our own."""
        return await async_phrase(self.hass, self.hass.config.language, key, **placeholders)

    async def async_may_see(self) -> Callable[[Memory], bool]:
        """Return a filter for the memories of this person and of the household."""
        person = await async_person_of_user(self.hass, self.user.id)
        return partial(is_visible, person_id=person.id if person else None)


async def _async_memories(asker: Asker, said: str) -> str:
    may_see, memories = await asker.async_may_see(), asker.data.memories
    if said:
        found = await memories.async_search(said, MAX_SHOWN, may_see=may_see)
        listed, total = [item.memory for item in found], len(found)
    else:
        seen = [memory for memory in memories.all() if may_see(memory)]
        listed, total = seen[:MAX_SHOWN], len(seen)
    asker.chat.listed = [memory.id for memory in listed]
    if not listed:
        return await asker.async_say("telegram_no_memories")
    lines = [f"{number}. {memory.content}" for number, memory in enumerate(listed, 1)]
    if total > len(listed):
        lines.append(await asker.async_say("telegram_more", count=str(total - len(listed))))
    return "\n".join([*lines, "", await asker.async_say("telegram_how_to_forget")])


async def _async_forget(asker: Asker, said: str) -> str:
    """Forget one memory: by its number in the last list, or by words that fit only one."""
    may_see, memories = await asker.async_may_see(), asker.data.memories
    if not said:
        return await asker.async_say("telegram_how_to_forget")
    if said.isdecimal():
        number = int(said)
        ids = asker.chat.listed[number - 1 : number] if number else []
        meant = [memory for key in ids if (memory := memories.get(key)) and may_see(memory)]
    else:
        wanted = said.casefold()
        meant = [
            memory for memory in memories.all() if may_see(memory) and wanted in memory.content.casefold()
        ]
    if len(meant) != 1:
        return await asker.async_say("telegram_which_memory" if meant else "telegram_unknown_memory")
    await async_forget(asker.data, [meant[0].id])
    return await asker.async_say("telegram_forgotten", memory=meant[0].content)


async def _async_search_log(asker: Asker, _said: str) -> str:
    """List what was searched for on the web: all for an administrator, else this user's own."""
    found = asker.data.handler.guard.journal.audit.entries(MAX_ENTRIES, AuditKind.SEARCH)
    if not asker.user.is_admin:
        found = [item for item in found if item.get("user_id") == asker.user.id]
    if not found:
        return await asker.async_say("telegram_no_searches")
    lines = []
    for item in found[:MAX_SHOWN]:
        at = dt_util.parse_datetime(str(item["at"]))
        shown = f"{dt_util.as_local(at):%d.%m. %H:%M}" if at else ""
        held = f" ({await asker.async_say('telegram_held_back')})" if item.get("blocked") else ""
        lines.append(f"{shown} {str(item.get('sent') or item.get('query') or '')[:MAX_QUERY]}{held}")
    return "\n".join(lines)


async def _async_new(asker: Asker, _said: str) -> str:
    asker.chat.conversation_id = None
    asker.data.shared.sessions.clear(asker.data.entry_id, user_id=asker.user.id)
    return await asker.async_say("telegram_new")


async def _async_help(asker: Asker, _said: str) -> str:
    return await asker.async_say("telegram_help")


type ChatCommand = Callable[[Asker, str], Awaitable[str]]

COMMANDS: Final[Mapping[str, ChatCommand]] = {
    "/start": _async_help,
    "/help": _async_help,
    "/new": _async_new,
    "/memories": _async_memories,
    "/forget": _async_forget,
    "/searchlog": _async_search_log,
}


def command_of(word: str) -> ChatCommand:
    """Return the handler of a command, or the help. `/help@bot` is `/help`."""
    return COMMANDS.get(word.partition("@")[0].casefold(), _async_help)
