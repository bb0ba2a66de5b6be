"""The speaker, and their location."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from homeassistant.core import Context
from homeassistant.util.ulid import ulid_now


class Surface(StrEnum):
    """The channel that a person uses; the model reads its value."""

    VOICE = "by voice"
    CHAT = "in writing"
    TELEGRAM = "in Telegram"
    AUTOMATION = "an automation"


surface: Final[ContextVar[Surface | None]] = ContextVar("home_agent_surface", default=None)
"""Set by channels that Home Assistant cannot tell apart."""

written_in: Final[ContextVar[int | None]] = ContextVar("home_agent_written_in", default=None)
"""The chat in which a person writes, where the channel has chats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """The person who asks, and their location."""

    context: Context
    language: str
    device_id: str | None = None
    area_id: str | None = None
    """Area of the device that was spoken to; it breaks ties, it never restricts."""
    floor_id: str | None = None
    person: str | None = None
    """Name of the speaker, if known."""
    person_id: str | None = None
    """Of `persons.Person`; None if it is not known who speaks."""
    voice: bool = False
    """Whether the answer is read out as it streams."""
    shown: bool = False
    """Whether the final answer is shown on a screen that renders markdown."""
    surface: Surface = Surface.CHAT
    chat: int | None = None
    """The chat in which they write; reminders are sent there."""
    conversation_id: str = ""
    turn_id: str = field(default_factory=ulid_now)
    """What belongs together: the calls of one turn are put back together."""
    undoes: bool = False
    """Whether what is called now puts something back."""
    planned: datetime | None = None
    """When what is called now was due, if it was planned earlier."""
    due: datetime | None = None
    """When what is judged now will be called, if that is later; it is judged again then."""
    anytime: bool = False
    """Whether what is judged now may be called at any time without being judged again."""
    tainted: bool = False
    """Whether what is called now may have been asked for by text from an untrusted source."""
    names: Callable[[str], bool] | None = field(default=None, compare=False, repr=False)
    """Whether the person's own words name an entity; None unless such text was read in this very turn."""

    @property
    def is_automation(self) -> bool:
        """Return whether no person speaks, so that questions are not heard and cannot be confirmed."""
        return self.surface is Surface.AUTOMATION
