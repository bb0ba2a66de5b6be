"""Platform: what the last turn cost, how well the model calls its tools, how the index is."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import override

from homeassistant.components.sensor import (
    SensorDeviceClass,
    SensorEntity,
    SensorEntityDescription,
    SensorStateClass,
)
from homeassistant.const import PERCENTAGE, EntityCategory, Platform, UnitOfTime
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.helpers.typing import StateType

from .agent.turn import Figures
from .const import DOMAIN
from .entity import HomeAgentBaseEntity
from .knowledge.indexer import IndexState
from .runtime import HomeAgentConfigEntry, HomeAgentData, index_signal, turn_signal
from .tools.quality import Fit

PARALLEL_UPDATES = 0


@dataclass(frozen=True, kw_only=True)
class FigureDescription(SensorEntityDescription):
    """A figure, where it comes from and what tells that it has changed."""

    value: Callable[[HomeAgentData], StateType | datetime]
    signal: Callable[[str], str] = turn_signal


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
        key="external_tokens",
        translation_key="external_tokens",
        state_class=SensorStateClass.MEASUREMENT,
        entity_registry_enabled_default=False,
        value=_of_turn(lambda figures: figures.external_tokens),
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


INDEX_SENSORS: tuple[FigureDescription, ...] = (
    FigureDescription(
        key="index_state",
        translation_key="index_state",
        device_class=SensorDeviceClass.ENUM,
        options=[state.value for state in IndexState],
        signal=index_signal,
        value=lambda data: data.indexer.state.value,
    ),
    FigureDescription(
        key="index_size",
        translation_key="index_size",
        state_class=SensorStateClass.MEASUREMENT,
        signal=index_signal,
        value=lambda data: data.indexer.size,
    ),
    FigureDescription(
        key="last_sync",
        translation_key="last_sync",
        device_class=SensorDeviceClass.TIMESTAMP,
        entity_registry_enabled_default=False,
        signal=index_signal,
        value=lambda data: data.indexer.last_sync,
    ),
)
"""Where an embedding model is chosen."""


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the figures; those of an index that is no longer wanted go."""
    indexed = entry.runtime_data.semantic.configured
    wanted = (*SENSORS, *INDEX_SENSORS) if indexed else SENSORS
    async_add_entities(FigureSensor(entry, description) for description in wanted)
    registry = er.async_get(hass)
    for description in () if indexed else INDEX_SENSORS:
        unique_id = f"{entry.entry_id}_{description.key}"
        if entity_id := registry.async_get_entity_id(Platform.SENSOR, DOMAIN, unique_id):
            registry.async_remove(entity_id)


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
    def native_value(self) -> StateType | datetime:
        """Return the figure as it is now."""
        return self.entity_description.value(self.data)

    @override
    async def async_added_to_hass(self) -> None:
        """Follow what the figure is of."""
        signal = self.entity_description.signal(self.entry.entry_id)
        self.async_on_remove(async_dispatcher_connect(self.hass, signal, self.async_write_ha_state))
