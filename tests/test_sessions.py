"""Sessions: a device or a person stays in its conversation for as many minutes as were set."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from freezegun.api import FrozenDateTimeFactory
import pytest

from custom_components.home_agent.conversations.sessions import (
    STORE_KEY,
    ConversationSessionManager,
)
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
from tests.helpers.real_files import hass_storage  # noqa: F401 - a fixture

NOW = datetime(2026, 1, 14, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _noon(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    freezer.move_to(NOW)


class Sessions:
    """A manager and the histories that are known to exist."""

    def __init__(self, hass: HomeAssistant) -> None:
        self.known: set[tuple[str, str]] = set()
        self.manager = ConversationSessionManager(hass, lambda entry, history: (entry, history) in self.known)

    def speak(
        self,
        conversation_id: str,
        *,
        device_id: str | None = None,
        user_id: str | None = None,
        entry_id: str = "entry",
        timeout_minutes: float = 30,
    ) -> str:
        """Take a turn, which leaves a history behind; return its id."""
        history_id = self.manager.resolve(
            entry_id,
            conversation_id=conversation_id,
            device_id=device_id,
            user_id=user_id,
            timeout_minutes=timeout_minutes,
            now=dt_util.utcnow(),
        )
        self.known.add((entry_id, history_id))
        return history_id


def path_of(hass: HomeAssistant) -> Path:
    return Path(hass.config.path(".storage", STORE_KEY))


async def test_a_device_continues_for_29_minutes_and_not_for_31(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    sessions = Sessions(hass)
    assert sessions.speak("first", device_id="kitchen") == "first"
    freezer.tick(timedelta(minutes=29))
    assert sessions.speak("second", device_id="kitchen") == "first"
    freezer.tick(timedelta(minutes=29))
    assert sessions.speak("third", device_id="kitchen") == "first"
    freezer.tick(timedelta(minutes=31))
    assert sessions.speak("fourth", device_id="kitchen") == "fourth"
    assert sessions.speak("fifth", device_id="kitchen") == "fourth"


async def test_whoever_speaks_next_at_a_device_does_not_hear_what_a_known_person_said(
    hass: HomeAssistant,
) -> None:
    """A known person at a device is in a conversation of their own, and may end it."""
    sessions = Sessions(hass)
    sessions.speak("a", device_id="kitchen", user_id="anna")
    assert sessions.speak("b", device_id="kitchen", user_id="ben") == "b"
    assert sessions.speak("x", device_id="kitchen") == "x"
    assert sessions.speak("y", device_id="kitchen", user_id="anna") == "a"
    assert sessions.manager.of("entry").clear(user_id="ben") == 1
    assert sessions.speak("z", device_id="kitchen", user_id="ben") == "z"
    assert sessions.manager.of("entry").clear(device_id="kitchen") == 3


async def test_an_id_with_a_history_is_used_as_it_is(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    sessions = Sessions(hass)
    sessions.known.add(("entry", "telegram-1234"))
    sessions.speak("a", user_id="anna")
    assert sessions.speak("telegram-1234", user_id="anna") == "telegram-1234"
    freezer.tick(timedelta(hours=5))
    assert sessions.speak("telegram-1234", user_id="anna") == "telegram-1234"
    assert sessions.speak("telegram-1234") == "telegram-1234"


async def test_a_clock_put_back_or_far_off_does_not_keep_a_session_for_ever(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    sessions = Sessions(hass)
    freezer.move_to(NOW + timedelta(days=400))
    sessions.speak("future", device_id="kitchen")
    freezer.move_to(NOW)
    assert sessions.speak("now", device_id="kitchen") == "now"
    freezer.move_to(NOW - timedelta(minutes=2))
    assert sessions.speak("later", device_id="kitchen") == "now"


async def test_sessions_survive_a_restart_if_they_are_to(hass: HomeAssistant) -> None:
    sessions = Sessions(hass)
    sessions.manager.of("forgetful").set_persistence(enabled=False)
    sessions.speak("a", device_id="kitchen")
    sessions.speak("b", device_id="kitchen", entry_id="forgetful")
    await sessions.manager.async_flush()
    assert '"b"' not in path_of(hass).read_text()

    again = Sessions(hass)
    await again.manager.async_load()
    assert again.speak("c", device_id="kitchen") == "a"
    assert again.speak("d", device_id="kitchen", entry_id="forgetful") == "d"


async def test_clear_ends_sessions_in_memory_and_on_disk(hass: HomeAssistant) -> None:
    sessions = Sessions(hass)
    for entry_id in ("entry", "other"):
        sessions.speak("secret_a", device_id="kitchen", entry_id=entry_id)
        sessions.speak("secret_b", user_id="anna", entry_id=entry_id)
    await sessions.manager.async_flush()
    assert sessions.manager.of("entry").clear(user_id="anna") == 1
    sessions.manager.forget("other")
    assert sessions.speak("c", user_id="anna") == "c"
    assert sessions.manager.of("entry").clear() == 2
    await sessions.manager.async_flush()
    assert "secret" not in path_of(hass).read_text()
