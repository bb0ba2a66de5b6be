"""What is watched and becomes a repair issue: the server, pipelines, automations, names in options."""

from collections.abc import Callable
from datetime import datetime

from homeassistant.core import CALLBACK_TYPE, CoreState, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later


class Calm:
    """Looks a while after the first of several changes, when more may have changed."""

    def __init__(self, hass: HomeAssistant, seconds: float, look: Callable[[], None]) -> None:
        self._hass = hass
        self._seconds = seconds
        self._look = look
        self._cancel: CALLBACK_TYPE | None = None

    @callback
    def wait(self, _event: object = None) -> None:
        """Look in a while, unless that is going to happen or Home Assistant has not started."""

        @callback
        def look(_now: datetime) -> None:
            self._cancel = None
            self._look()

        if self._cancel is None and self._hass.state is CoreState.running:
            job = HassJob(look, "home_agent watching", cancel_on_shutdown=True)
            self._cancel = async_call_later(self._hass, self._seconds, job)

    @callback
    def stop(self) -> None:
        """Look no more."""
        if self._cancel is not None:
            self._cancel()
            self._cancel = None
