"""Entries of an earlier version, or of another integration with the same domain: converted, or refused."""

from collections.abc import Mapping
from typing import Any, Final

import probatio

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.selector import (
    BooleanSelector,
    DurationSelector,
    NumberSelector,
    SelectSelector,
    TextSelector,
)

from ..const import CONF_BASE_URL, CONF_DIRECT_ENTITIES, CONF_MODEL, LOGGER, MINOR_VERSION, VERSION
from ..errors import InvalidInput
from ..issues import report
from .fields import Field
from .schemas import PAGES

CHECKED: Final = (BooleanSelector, DurationSelector, NumberSelector, SelectSelector, TextSelector)
"""Fields whose values can mean something else elsewhere. Rules, profiles and other lists are kept."""


async def async_migrate(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Migrate an entry to the current version; return whether it can be used."""
    missing = [key for key in (CONF_BASE_URL, CONF_MODEL) if not isinstance(entry.data.get(key), str)]
    if entry.version != VERSION or missing:
        found = f"{entry.version}.{entry.minor_version}"
        LOGGER.error(
            "The entry %s (version %s) belongs to something else: remove it and add the agent again",
            entry.title,
            found,
        )
        report(
            hass,
            f"entry_refused_{entry.entry_id}",
            "entry_refused",
            fix={"entry_id": entry.entry_id},
            title=entry.title,
            version=found,
        )
        return False
    if entry.minor_version >= MINOR_VERSION:
        return True
    options, dropped = converted(entry.options)
    hass.config_entries.async_update_entry(entry, options=options, minor_version=MINOR_VERSION)
    if dropped:
        LOGGER.warning("These options of %s have their defaults now: %s", entry.title, ", ".join(dropped))
        report(
            hass,
            f"options_converted_{entry.entry_id}",
            "options_converted",
            persistent=True,
            fix={"entry_id": entry.entry_id},
            title=entry.title,
            options="\n".join(f"- `{key}`: `{str(value)[:40]}`" for key, value in dropped.items()),
        )
    return True


def converted(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the usable options and the unusable ones, such as a distance instead of a similarity."""
    fields = {field.key: field for page in PAGES.values() for field in page}
    kept: dict[str, Any] = {}
    dropped: dict[str, Any] = {}
    for key, value in options.items():
        if key == CONF_DIRECT_ENTITIES:
            kept[key] = _entities(value)
        elif key not in fields or _fits(fields[key], value):
            kept[key] = value
        else:
            dropped[key] = value
    return kept, dropped


def _entities(value: Any) -> list[str]:
    """Return the chosen entities, which elsewhere are written with their attributes."""
    items = value if isinstance(value, list) else [value]
    named = (item.get("entity_id") if isinstance(item, Mapping) else item for item in items)
    return [name for name in named if isinstance(name, str) and name]


def _fits(field: Field, value: Any) -> bool:
    if field.secret or not isinstance(field.selector, CHECKED):
        return True
    if isinstance(field.selector, SelectSelector | TextSelector) and field.selector.config.get("multiple"):
        return isinstance(value, list)
    if isinstance(field.selector, BooleanSelector):
        return isinstance(value, bool)
    try:
        field.clean(value if isinstance(field.selector, DurationSelector) else field.selector(value))
    except InvalidInput, probatio.Invalid, TypeError, ValueError, AttributeError:
        return False
    return True
