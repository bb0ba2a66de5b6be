"""Domains whose state is the time at which something last happened."""

from typing import Final

from .base import DomainFacts

DOMAINS: Final = (
    DomainFacts(name="event", is_moment=True, reported=("event_type",)),
    *(
        DomainFacts(name=name, is_moment=True)
        for name in ("conversation", "image", "notify", "stt", "tts", "wake_word")
    ),
)
