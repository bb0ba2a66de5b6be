"""Domains whose state is the time at which something last happened."""

from .base import DomainFacts

EVENT = DomainFacts(name="event", is_moment=True, reported=("event_type",))
CONVERSATION, IMAGE, NOTIFY, STT, TTS, WAKE_WORD = (
    DomainFacts(name=name, is_moment=True)
    for name in ("conversation", "image", "notify", "stt", "tts", "wake_word")
)
