"""Blinds, curtains and the garage door."""

from typing import Any, override

from homeassistant.components.cover import ATTR_POSITION, CoverEntity, CoverEntityFeature

from .entity import HouseEntity, platform


class HouseCover(HouseEntity, CoverEntity):
    """A cover that is where it was sent, at once. Positions in percent, 100 is open."""

    _attr_current_cover_position = 100

    def __init__(self, entity_id: str, spec: dict[str, Any]) -> None:
        """Doors open and close; everything else can stop halfway."""
        self._attr_supported_features = CoverEntityFeature.OPEN | CoverEntityFeature.CLOSE
        if spec.get("device_class") != "garage":
            self._attr_supported_features |= CoverEntityFeature.SET_POSITION | CoverEntityFeature.STOP
        super().__init__(entity_id, spec)

    @property
    @override
    def is_closed(self) -> bool:
        """Tell whether it is shut."""
        return self.current_cover_position == 0

    @override
    async def async_open_cover(self, **kwargs: Any) -> None:
        """Open."""
        self.change(current_cover_position=100)

    @override
    async def async_close_cover(self, **kwargs: Any) -> None:
        """Close."""
        self.change(current_cover_position=0)

    @override
    async def async_set_cover_position(self, **kwargs: Any) -> None:
        """Go to a position."""
        self.change(current_cover_position=kwargs[ATTR_POSITION])

    @override
    async def async_stop_cover(self, **kwargs: Any) -> None:
        """Stop where it is."""
        self.change()


async_setup_entry = platform("cover", HouseCover)
