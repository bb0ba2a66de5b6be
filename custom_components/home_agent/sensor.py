"""Platform: usage of the last turn and of all turns, number of memories, state of the index."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import cast, override

from homeassistant.components.sensor import (
    RestoreSensor,
    SensorDeviceClass,
    SensorEntity,
    SensorEntityDescription,
    SensorStateClass,
)
from homeassistant.const import PERCENTAGE, EntityCategory, Platform, UnitOfTime
from homeassistant.core import HomeAssistant
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.helpers.typing import StateType

from .const import CONF_MEMORY
from .entity import HomeAgentBaseEntity, forget_entity
from .knowledge.indexer import IndexState
from .runtime import HomeAgentConfigEntry, HomeAgentData, Topic, signal_of
from .tools.turn_calls import Fit

PARALLEL_UPDATES = 0


@dataclass(frozen=True, kw_only=True)
class FigureDescription(SensorEntityDescription):
    """A figure, where it comes from, and what of the agent it shows."""

    value: Callable[[HomeAgentData], StateType | datetime]
    topic: Topic = Topic.TURNS


def _total(key: str, *counts: str, enabled: bool = False) -> FigureDescription:
    """Return a counter in which some counts of the turns are added up."""
    return FigureDescription(
        key=key,
        state_class=SensorStateClass.TOTAL_INCREASING,
        entity_registry_enabled_default=enabled,
        value=lambda data: sum(data.totals[name] for name in counts),
    )


TOTALS: tuple[FigureDescription, ...] = (
    _total("total_tokens", "prompt", "completion", enabled=True),
    _total("total_external_tokens", "external"),
    _total("total_turns", "turns"),
    _total("total_failed", "failed"),
    *(_total(fit.value, fit.value) for fit in (Fit.REPAIRED, Fit.RETRIED, Fit.EXHAUSTED)),
)


def _figure(
    key: str, value: Callable[[HomeAgentData], float | None], unit: str | None = None
) -> FigureDescription:
    """Return a figure for measuring a model; it is disabled by default."""
    return FigureDescription(
        key=key,
        device_class=SensorDeviceClass.DURATION if unit == UnitOfTime.SECONDS else None,
        native_unit_of_measurement=unit,
        state_class=SensorStateClass.MEASUREMENT,
        entity_registry_enabled_default=False,
        value=value,
    )


def _of_turn(key: str) -> Callable[[HomeAgentData], float | None]:
    return lambda data: data.figures.get(key)


SENSORS: tuple[FigureDescription, ...] = (
    *(_figure(key, _of_turn(key)) for key in ("tokens", "cached_tokens", "external_tokens")),
    *(_figure(key, _of_turn(key), UnitOfTime.SECONDS) for key in ("latency", "first_token")),
    _figure("first_try_rate", lambda data: data.quality.first_try_rate, PERCENTAGE),
)

MEMORY_SENSORS: tuple[FigureDescription, ...] = (
    FigureDescription(
        key="memories",
        state_class=SensorStateClass.MEASUREMENT,
        topic=Topic.MEMORIES,
        value=lambda data: len(data.memories),
    ),
)
"""Where the agent remembers."""

INDEX_SENSORS: tuple[FigureDescription, ...] = (
    FigureDescription(
        key="index_state",
        device_class=SensorDeviceClass.ENUM,
        options=[state.value for state in IndexState],
        topic=Topic.INDEX,
        value=lambda data: data.indexer.state.value,
    ),
    FigureDescription(
        key="index_size",
        state_class=SensorStateClass.MEASUREMENT,
        topic=Topic.INDEX,
        value=lambda data: data.indexer.size,
    ),
    FigureDescription(
        key="last_sync",
        device_class=SensorDeviceClass.TIMESTAMP,
        entity_registry_enabled_default=False,
        topic=Topic.INDEX,
        value=lambda data: data.indexer.last_sync,
    ),
)
"""Where an embedding model is chosen."""


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the sensors, and remove sensors of features that are turned off."""
    data = entry.runtime_data
    data.memories.on_change = partial(async_dispatcher_send, hass, signal_of(Topic.MEMORIES, entry.entry_id))
    groups = ((MEMORY_SENSORS, data.settings[CONF_MEMORY]), (INDEX_SENSORS, data.semantic.configured))
    optional = [description for group, wanted in groups if wanted for description in group]
    async_add_entities(FigureSensor(entry, description) for description in (*SENSORS, *optional))
    async_add_entities(TotalSensor(entry, description) for description in TOTALS)
    for description in (one for group, wanted in groups if not wanted for one in group):
        forget_entity(hass, Platform.SENSOR, f"{entry.entry_id}_{description.key}")


class FigureSensor(HomeAgentBaseEntity, SensorEntity):
    """One figure of an agent."""

    _attr_entity_category = EntityCategory.DIAGNOSTIC
    entity_description: FigureDescription

    def __init__(self, entry: HomeAgentConfigEntry, description: FigureDescription) -> None:
        super().__init__(entry, description.key, description.topic)
        self.entity_description = description

    @property
    @override
    def native_value(self) -> StateType | datetime:
        """Return the figure as it is now."""
        return self.entity_description.value(self.data)


class TotalSensor(FigureSensor, RestoreSensor):
    """Usage of all turns of an agent; counting continues after a reload or a restart."""

    _before = 0

    @property
    @override
    def native_value(self) -> int:
        """Return the total from before and after the setup of the entry."""
        return self._before + cast("int", super().native_value)

    @override
    async def async_added_to_hass(self) -> None:
        """Go on from where the counter stood, and follow the turns."""
        await super().async_added_to_hass()
        if (last := await self.async_get_last_sensor_data()) and isinstance(last.native_value, (int, float)):
            self._before = int(last.native_value)
