"""Platform: what the last turn cost, and how well the model calls its tools."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import override

from homeassistant.components.sensor import (
    SensorDeviceClass,
    SensorEntity,
    SensorEntityDescription,
    SensorStateClass,
)
from homeassistant.const import PERCENTAGE, EntityCategory, UnitOfTime
from homeassistant.core import HomeAssistant
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .agent.turn import Figures
from .entity import HomeAgentBaseEntity
from .runtime import HomeAgentConfigEntry, HomeAgentData, turn_signal
from .tools.quality import Fit

PARALLEL_UPDATES = 0


@dataclass(frozen=True, kw_only=True)
class FigureDescription(SensorEntityDescription):
    """A figure and where it comes from."""

    value: Callable[[HomeAgentData], float | None]


def _of_turn(read: Callable[[Figures], float | None]) -> Callable[[HomeAgentData], float | None]:
    """Return what reads a figure of the last turn."""

    def value(data: HomeAgentData) -> float | None:
        return None if data.figures is None else read(data.figures)

    return value


def _seconds(milliseconds: float | None) -> float | None:
    """Return milliseconds as seconds."""
    return None if milliseconds is None else round(milliseconds / 1000, 3)


def _calls(fit: Fit) -> FigureDescription:
    """Return the counter of calls that went so."""
    return FigureDescription(
        key=fit.value,
        translation_key=fit.value,
        state_class=SensorStateClass.TOTAL_INCREASING,
        entity_registry_enabled_default=False,
        value=lambda data: data.quality.total(fit),
    )


SENSORS: tuple[FigureDescription, ...] = (
    FigureDescription(
        key="tokens",
        translation_key="tokens",
        state_class=SensorStateClass.MEASUREMENT,
        value=_of_turn(lambda figures: figures.prompt_tokens + figures.completion_tokens),
    ),
    FigureDescription(
        key="cached_tokens",
        translation_key="cached_tokens",
        state_class=SensorStateClass.MEASUREMENT,
        entity_registry_enabled_default=False,
        value=_of_turn(lambda figures: figures.cached_tokens),
    ),
    FigureDescription(
        key="latency",
        translation_key="latency",
        device_class=SensorDeviceClass.DURATION,
        native_unit_of_measurement=UnitOfTime.SECONDS,
        state_class=SensorStateClass.MEASUREMENT,
        entity_registry_enabled_default=False,
        value=_of_turn(lambda figures: _seconds(figures.total_ms)),
    ),
    FigureDescription(
        key="first_token",
        translation_key="first_token",
        device_class=SensorDeviceClass.DURATION,
        native_unit_of_measurement=UnitOfTime.SECONDS,
        state_class=SensorStateClass.MEASUREMENT,
        entity_registry_enabled_default=False,
        value=_of_turn(lambda figures: _seconds(figures.ttft_ms)),
    ),
    FigureDescription(
        key="first_try_rate",
        translation_key="first_try_rate",
        native_unit_of_measurement=PERCENTAGE,
        state_class=SensorStateClass.MEASUREMENT,
        entity_registry_enabled_default=False,
        value=lambda data: data.quality.first_try_rate,
    ),
    *map(_calls, (Fit.REPAIRED, Fit.RETRIED, Fit.EXHAUSTED)),
)


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the figures."""
    async_add_entities(FigureSensor(entry, description) for description in SENSORS)


class FigureSensor(HomeAgentBaseEntity, SensorEntity):
    """One figure of an agent."""

    entity_description: FigureDescription
    _attr_entity_category = EntityCategory.DIAGNOSTIC
    _attr_should_poll = False

    def __init__(self, entry: HomeAgentConfigEntry, description: FigureDescription) -> None:
        """Name the figure."""
        super().__init__(entry)
        self.entity_description = description
        self._attr_unique_id = f"{entry.entry_id}_{description.key}"

    @property
    @override
    def native_value(self) -> float | None:
        """Return the figure as it is now."""
        return self.entity_description.value(self.data)

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the turns."""
        signal = turn_signal(self.entry.entry_id)
        self.async_on_remove(async_dispatcher_connect(self.hass, signal, self.async_write_ha_state))
