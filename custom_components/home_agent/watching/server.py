"""Background checks of the model server; an agent runs without it, and a repair issue reports it."""

import asyncio
from datetime import datetime
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.event import async_call_later

from ..connection import endpoint
from ..const import CONF_BASE_URL, CONF_MODEL, CONF_PARALLEL, LOGGER
from ..inference.client import PRIMARY
from ..inference.models import ErrorKind, ModelServerError, scrub
from ..issues import report, withdraw
from ..runtime import HomeAgentConfigEntry

FIRST_PAUSE: Final = 5.0
"""Seconds before the server is asked a second time; each further pause is twice as long."""
LONGEST_PAUSE: Final = 60.0
LIST_SECONDS: Final = 20.0
MAX_NAMED: Final = 10
_THERE: Final = frozenset({ErrorKind.BAD_REQUEST, ErrorKind.MODEL_NOT_FOUND, ErrorKind.RATE_LIMIT})
"""Errors of running servers that have no list of models or do not return it at the moment."""
_GONE: Final = frozenset({ErrorKind.TIMEOUT, ErrorKind.UNAVAILABLE})


class ServerWatch:
    """Asks the server for its models in the background, again and again while it does not answer."""

    def __init__(self, hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
        self._hass = hass
        self._entry = entry
        self._router = entry.runtime_data.router
        self._queue = self._router.primary.queue
        self._down = f"server_unavailable_{entry.entry_id}"
        self._missing = f"model_missing_{entry.entry_id}"
        self._models: list[str] = []
        self._pause = FIRST_PAUSE
        self._asking = False
        self._was_down = False
        self._cancel: CALLBACK_TYPE | None = None

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Ask now, and listen to what turns find out; return how to stop."""
        self._router.heard = self._note_result
        self._queue.want(self._entry.entry_id, self._entry.runtime_data.settings.get(CONF_PARALLEL))
        self._ask()

        @callback
        def stop() -> None:
            """Stop asking; the state of a server that is not asked is unknown."""
            self._router.heard = None
            self._queue.want(self._entry.entry_id, None)
            self._end_pause()
            withdraw(self._hass, self._down)
            withdraw(self._hass, self._missing)

        return stop

    @callback
    def _note_result(self, name: str, err: ModelServerError | None) -> None:
        if name != PRIMARY:
            return
        if err is None:
            withdraw(self._hass, self._missing)
            self._answered()
        elif err.kind is ErrorKind.AUTH:
            self._failed(err)
        elif err.kind is ErrorKind.MODEL_NOT_FOUND:
            report(
                self._hass,
                self._missing,
                "model_missing",
                fix={"entry_id": self._entry.entry_id},
                title=self._entry.title,
                model=self._entry.data[CONF_MODEL],
                models=", ".join(self._models[:MAX_NAMED]) or "?",
            )
        elif err.kind in _GONE and self._cancel is None:
            self._ask()

    @callback
    def _ask(self, _now: datetime | None = None) -> None:
        """Ask in the background, unless that is being done."""
        self._cancel = None
        if not self._asking:
            self._asking = True
            task = self._async_ask()
            self._entry.async_create_background_task(self._hass, task, "home_agent model server")

    async def _async_ask(self) -> None:
        """Ask the server for its models; whether it has ours, the first request tells."""
        try:
            models = await self._async_models()
            self._answered()
            self._models = [model["id"] for model in models]
        except ModelServerError as err:
            self._failed(err)
        finally:
            self._asking = False

    async def _async_models(self) -> list[dict[str, Any]]:
        """Return the listed models, or nothing if the server has no list. Raises ModelServerError."""
        try:
            async with asyncio.timeout(LIST_SECONDS):
                return await self._router.primary.model_list()
        except TimeoutError:
            raise ModelServerError(ErrorKind.TIMEOUT, "the server does not answer in time") from None
        except ModelServerError as err:
            if err.kind in _THERE:
                return []
            raise

    @callback
    def _answered(self) -> None:
        """Delete the issue, and do the work that was postponed while the server was unavailable."""
        self._end_pause()
        self._pause = FIRST_PAUSE
        self._entry.runtime_data.note_server(self._hass, reachable=True)
        if self._was_down:
            self._was_down = False
            withdraw(self._hass, self._down)
            LOGGER.info("The model server of %s answers again", self._entry.title)
            self._router.note_back()
            task = self._entry.runtime_data.async_prepare()
            self._entry.async_create_background_task(self._hass, task, "home_agent warm start")

    @callback
    def _failed(self, err: ModelServerError) -> None:
        """Tell the household, and plan the next attempt; ask for another key where this one is refused."""
        used = self._router.primary.endpoint
        if err.kind is ErrorKind.AUTH:
            now = endpoint(self._hass, self._entry.runtime_data.settings)
            if now.api_key != used.api_key and not now.unusable:  # its template renders another one by now
                self._hass.config_entries.async_schedule_reload(self._entry.entry_id)
                return
        refused = err.kind is ErrorKind.AUTH and not used.unusable
        self._entry.runtime_data.note_server(self._hass, reachable=refused)
        if refused:
            self._end_pause()
            withdraw(self._hass, self._down)
            self._entry.async_start_reauth(self._hass)
            return
        if not self._was_down:
            LOGGER.info("The model server of %s cannot be used: %s", self._entry.title, err.kind)
        self._was_down = True
        self._router.note_down()
        report(
            self._hass,
            self._down,
            "server_unavailable",
            severity=ir.IssueSeverity.WARNING if self._router.fallback else ir.IssueSeverity.ERROR,
            fix={"entry_id": self._entry.entry_id},
            title=self._entry.title,
            url=scrub(self._entry.data[CONF_BASE_URL]),
            error=err.detail,
        )
        self._end_pause()
        again = HassJob(self._ask, "home_agent model server", cancel_on_shutdown=True)
        self._cancel = async_call_later(self._hass, self._pause, again)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    @callback
    def _end_pause(self) -> None:
        if self._cancel is not None:
            self._cancel()
            self._cancel = None
