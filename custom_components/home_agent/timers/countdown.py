"""Home Assistant's own timers on devices that count down by themselves, with a ring of lights or a sound."""

from collections.abc import Iterator
from typing import Final

from homeassistant.components.intent import TimerInfo, async_device_supports_timers
from homeassistant.components.intent.const import TIMER_DATA
from homeassistant.components.intent.timers import TimerManager, TimerNotFoundError
from homeassistant.core import HomeAssistant, callback

MAX_SECONDS: Final = 24 * 3600
"""What is longer is told by us: no device counts down for days."""


class Countdown:
    """Shows timers on the device where they were set; what became of them there is asked, never assumed."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Show nothing yet."""
        self._hass = hass
        self._shown: dict[str, str] = {}
        """Id of a timer of ours: of Home Assistant's."""

    @callback
    def show(self, timer_id: str, device_id: str | None, seconds: float, name: str, language: str) -> None:
        """Have a device count down, if it can."""
        manager = self._manager
        if manager is None or device_id is None or not 0 < seconds <= MAX_SECONDS:
            return
        if async_device_supports_timers(self._hass, device_id):
            whole = round(seconds)
            self._shown[timer_id] = manager.start_timer(
                device_id, whole // 3600, whole // 60 % 60, whole % 60, language, name or None
            )

    @callback
    def is_shown(self, timer_id: str) -> bool:
        """Return whether a device rings for a timer; not any more once the device is gone."""
        if timer_id not in self._shown:
            return False
        there = self._there(timer_id)
        if there is None or async_device_supports_timers(self._hass, there.device_id or ""):
            return True
        self.end(timer_id)
        return False

    @callback
    def seconds_left(self, timer_id: str) -> int | None:
        """Return how long a device still counts; None once it was cancelled there, or has rung."""
        there = self._there(timer_id)
        return there.seconds_left if there else None

    @callback
    def move(self, timer_id: str, seconds: float) -> None:
        """Have a device count down from so many seconds."""
        if (manager := self._manager) is not None and (there := self._there(timer_id)) is not None:
            manager.add_time(there.id, round(seconds) - there.seconds_left)

    @callback
    def end(self, timer_id: str) -> None:
        """Have a device count down no longer."""
        core_id = self._shown.pop(timer_id, None)
        if core_id is None or (manager := self._manager) is None:
            return
        try:
            manager.cancel_timer(core_id)
        except TimerNotFoundError:
            return

    @callback
    def leave(self, timer_id: str) -> None:
        """Leave a timer to its device."""
        self._shown.pop(timer_id, None)

    @callback
    def others(self, device_id: str) -> Iterator[TimerInfo]:
        """Yield the timers of a device that Home Assistant's own sentences have set."""
        known = set(self._shown.values())
        for timer in list(self._manager.timers.values()) if self._manager else ():
            if timer.device_id == device_id and timer.id not in known and not timer.conversation_command:
                yield timer

    @callback
    def adopt(self, timer_id: str, core_id: str) -> None:
        """Take a timer of a device as the one that shows one of ours."""
        self._shown[timer_id] = core_id

    @property
    def _manager(self) -> TimerManager | None:
        """Return what holds Home Assistant's own timers."""
        return self._hass.data.get(TIMER_DATA)

    def _there(self, timer_id: str) -> TimerInfo | None:
        """Return Home Assistant's timer for one of ours."""
        manager, core_id = self._manager, self._shown.get(timer_id)
        return manager.timers.get(core_id) if manager and core_id else None
