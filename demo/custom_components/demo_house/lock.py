"""Door locks."""

from typing import Any, override

from homeassistant.components.lock import LockEntity

from .entity import HouseEntity, platform


class HouseLock(HouseEntity, LockEntity):
    """A lock."""

    _attr_is_locked = True

    @override
    async def async_lock(self, **kwargs: Any) -> None:
        """Lock."""
        self.change(is_locked=True)

    @override
    async def async_unlock(self, **kwargs: Any) -> None:
        """Unlock."""
        self.change(is_locked=False)


async_setup_entry = platform("lock", HouseLock)
