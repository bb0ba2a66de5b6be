"""Platform: guest mode, which is on until noon of the next day."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final, override

from homeassistant.components.switch import SwitchEntity
from homeassistant.const import EntityCategory
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers.dispatcher import async_dispatcher_connect, async_dispatcher_send
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.helpers.event import async_track_point_in_utc_time
from homeassistant.helpers.restore_state import RestoreEntity, async_get
from homeassistant.util import dt as dt_util

from .const import DOMAIN
from .entity import HomeAgentBaseEntity
from .knowledge.speaker import GUESTS_UNTIL, is_guest_mode
from .runtime import HomeAgentConfigEntry
from .safety.journal import AuditKind

PARALLEL_UPDATES = 1
KEY: Final = "guest_mode"
UNTIL: Final = "until"
SIGNAL: Final = f"{DOMAIN}_{KEY}"
NOON: Final = 12


async def async_setup_entry(
    _hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the switch."""
    async_add_entities([GuestMode(entry)])


class GuestMode(HomeAgentBaseEntity, SwitchEntity, RestoreEntity):
    """Has whoever speaks without an account count as a guest, in the whole home and for all agents."""

    _attr_entity_category = EntityCategory.CONFIG

    def __init__(self, entry: HomeAgentConfigEntry) -> None:
        super().__init__(entry, KEY)
        self._stop_timer: Callable[[], None] = lambda: None

    @override
    async def async_added_to_hass(self) -> None:
        """Go on after a restart."""
        await super().async_added_to_hass()
        known = await self.async_get_last_state()
        if known and (until := dt_util.parse_datetime(str(known.attributes.get(UNTIL)))):
            self.hass.data.setdefault(GUESTS_UNTIL, until)
        self.async_on_remove(async_dispatcher_connect(self.hass, SIGNAL, self._async_show))
        self.async_on_remove(self._async_stop_timer)
        self._async_show(write=False)

    @callback
    def _async_show(self, *, write: bool = True) -> None:
        self._async_stop_timer()
        if self.is_on:
            until = self.hass.data[GUESTS_UNTIL]
            self._stop_timer = async_track_point_in_utc_time(self.hass, self._async_end, until)
        if write:
            self.async_write_ha_state()

    @callback
    def _async_stop_timer(self) -> None:
        self._stop_timer()
        self._stop_timer = lambda: None

    @callback
    def _async_end(self, _now: datetime) -> None:
        self._stop_timer = lambda: None
        self._async_set(None, None)

    @property
    @override
    def is_on(self) -> bool:
        """Return whether it is on."""
        return is_guest_mode(self.hass, dt_util.utcnow())

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return until when it is on."""
        return {UNTIL: self.hass.data[GUESTS_UNTIL].isoformat()} if self.is_on else {}

    @override
    async def async_turn_on(self, **_data: Any) -> None:
        """Turn it on until tomorrow at noon."""
        tomorrow = dt_util.now() + timedelta(days=1)
        noon = tomorrow.replace(hour=NOON, minute=0, second=0, microsecond=0)
        await self._async_change(dt_util.as_utc(noon))

    @override
    async def async_turn_off(self, **_data: Any) -> None:
        """Turn it off."""
        await self._async_change(None)

    async def _async_change(self, until: datetime | None) -> None:
        self._async_set(until, self._context)
        await async_get(self.hass).async_dump_states()  # a power cut must not end it

    @callback
    def _async_set(self, until: datetime | None, context: Context | None) -> None:
        """Set it for all agents, tell them, and keep it in the activity."""
        if until is None and self.hass.data.pop(GUESTS_UNTIL, None) is None:
            return  # another agent's switch has ended it
        if until is not None:
            self.hass.data[GUESTS_UNTIL] = until
        self.data.handler.guard.journal.note(
            AuditKind.ACTION,
            service=f"switch.turn_{'off' if until is None else 'on'}",
            targets=[self.entity_id],
            success=True,
            user_id=context.user_id if context else None,
        )
        async_dispatcher_send(self.hass, SIGNAL)
