"""What the options say about learning from the home."""

from collections.abc import Mapping
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession

from ...const import (
    CONF_INFLUX_DATABASE,
    CONF_INFLUX_ORG,
    CONF_INFLUX_PASSWORD,
    CONF_INFLUX_TOKEN,
    CONF_INFLUX_URL,
    CONF_INFLUX_USERNAME,
    CONF_INFLUX_VERSION,
    CONF_LEARNING_SOURCE,
    INFLUX_1,
    SOURCE_INFLUXDB,
)
from ...knowledge.view import AgentView
from ..memories import Memories
from .acts import ObservationSource
from .influxdb import FluxSource, InfluxAddress, InfluxQLSource, InfluxSource
from .learner import Learner
from .observations import Observations
from .presentation import Phrase
from .recorder import RecorderSource


def build_learner(
    hass: HomeAssistant,
    settings: Mapping[str, Any],
    observations: Observations,
    memories: Memories,
    phrase: Phrase,
    view: AgentView,
) -> Learner:
    """Return the learner with the source that the options name."""
    from_influxdb = settings[CONF_LEARNING_SOURCE] == SOURCE_INFLUXDB
    source: ObservationSource = influx_source(hass, settings) if from_influxdb else RecorderSource(hass)
    return Learner(hass, observations, memories, source=source, phrase=phrase, view=view)


def influx_source(hass: HomeAssistant, settings: Mapping[str, Any]) -> InfluxSource:
    """Return the InfluxDB that the options name."""
    kind = InfluxQLSource if settings[CONF_INFLUX_VERSION] == INFLUX_1 else FluxSource
    return kind(
        async_get_clientsession(hass),
        InfluxAddress(
            url=settings[CONF_INFLUX_URL],
            database=settings[CONF_INFLUX_DATABASE],
            org=settings[CONF_INFLUX_ORG],
            username=settings[CONF_INFLUX_USERNAME],
            password=settings[CONF_INFLUX_PASSWORD],
            token=settings[CONF_INFLUX_TOKEN],
        ),
    )
