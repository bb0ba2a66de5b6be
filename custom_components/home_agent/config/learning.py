"""The pages of the memory: is the InfluxDB that is to be learned from there, and does it take the key."""

from collections.abc import Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant

from ..const import (
    CONF_INFLUX_DATABASE,
    CONF_INFLUX_ORG,
    CONF_INFLUX_PASSWORD,
    CONF_INFLUX_TOKEN,
    CONF_INFLUX_URL,
    CONF_INFLUX_USERNAME,
    CONF_INFLUX_VERSION,
    CONF_LEARNING,
    CONF_LEARNING_SOURCE,
    DEFAULTS,
    INFLUX_1,
    INFLUX_2,
    SOURCE_INFLUXDB,
)
from ..errors import InvalidInput
from ..memory.learner.influxdb import InfluxError, InfluxTrouble
from ..memory.learner.learner import influx_source
from .fields import Checked

INFLUX_KEYS: Final = (
    CONF_INFLUX_VERSION,
    CONF_INFLUX_URL,
    CONF_INFLUX_DATABASE,
    CONF_INFLUX_ORG,
    CONF_INFLUX_USERNAME,
    CONF_INFLUX_PASSWORD,
    CONF_INFLUX_TOKEN,
)
NEEDED: Final = {
    INFLUX_1: (CONF_INFLUX_URL, CONF_INFLUX_DATABASE),
    INFLUX_2: (CONF_INFLUX_URL, CONF_INFLUX_DATABASE, CONF_INFLUX_ORG, CONF_INFLUX_TOKEN),
}
KEY_FIELD: Final = {INFLUX_1: CONF_INFLUX_PASSWORD, INFLUX_2: CONF_INFLUX_TOKEN}


async def async_check_learning(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any]) -> None:
    """Ask an InfluxDB that was entered or changed, where it is to be learned from.

    The switch and the source are on two pages.
    """
    chosen = {**DEFAULTS, **checked.others, **checked.values}
    before = {**DEFAULTS, **stored}
    wanted = chosen[CONF_LEARNING] and chosen[CONF_LEARNING_SOURCE] == SOURCE_INFLUXDB
    if not wanted or checked.errors:
        return
    for key in NEEDED[chosen[CONF_INFLUX_VERSION]]:
        if not chosen[key]:
            checked.fail(key, InvalidInput("influxdb_incomplete"))
    watched = (*INFLUX_KEYS, CONF_LEARNING, CONF_LEARNING_SOURCE)
    if checked.errors or all(chosen[key] == before[key] for key in watched):
        return
    try:
        await influx_source(hass, chosen).async_check()
    except InfluxError as err:
        field, failure = _failure(err, chosen)
        checked.fail(field, failure)


def _failure(err: InfluxError, chosen: Mapping[str, Any]) -> tuple[str, InvalidInput]:
    """Return which field is wrong, and how."""
    if err.trouble is InfluxTrouble.UNREACHABLE:
        return CONF_INFLUX_URL, InvalidInput("cannot_connect", url=chosen[CONF_INFLUX_URL])
    if err.trouble is InfluxTrouble.REFUSED:
        return KEY_FIELD[chosen[CONF_INFLUX_VERSION]], InvalidInput("influxdb_refused", detail=err.detail)
    if err.trouble is InfluxTrouble.MISSING:
        return CONF_INFLUX_DATABASE, InvalidInput("influxdb_missing", detail=err.detail)
    return CONF_INFLUX_URL, InvalidInput("influxdb_failed", detail=err.detail)
