"""What triggers and conditions of the automation editor share: their agent and their people."""

from collections.abc import Mapping
from typing import Any, Final

import probatio

from homeassistant.const import CONF_OPTIONS
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.typing import ConfigType

from .const import DOMAIN
from .knowledge.speaker import entity_of_person

CONF_AGENT: Final = "config_entry_id"
CONF_PERSON: Final = "person"

AGENT_SCHEMA: Final = {probatio.Optional(CONF_AGENT): cv.string}
PERSON_SCHEMA: Final = {**AGENT_SCHEMA, probatio.Optional(CONF_PERSON): cv.entities_domain("person")}


def options_schema(options: Mapping[Any, Any]) -> probatio.Schema:
    """Return the schema of a trigger or condition with these options; without options, it is about all."""
    return probatio.Schema({probatio.Required(CONF_OPTIONS, default=dict): dict(options)})


@callback
def checked(hass: HomeAssistant, schema: probatio.Schema, config: ConfigType) -> ConfigType:
    """Return a valid configuration of a trigger or condition.

    Raises probatio.Invalid, also for an agent that does not exist: nothing would ever happen.
    """
    config = schema(config)
    if entry_id := config[CONF_OPTIONS].get(CONF_AGENT):
        entries = hass.config_entries.async_entries(DOMAIN)
        if not any(entry_id == entry.entry_id or entry_id in entry.subentries for entry in entries):
            raise probatio.Invalid(f"There is no agent {entry_id}", path=[CONF_AGENT])
    return config


@callback
def title_of(hass: HomeAssistant, entry_id: str | None, subentry_id: str | None) -> str:
    """Return the name of an agent; an empty text if it is gone."""
    entry = hass.config_entries.async_get_entry(entry_id) if entry_id else None
    if entry is None or subentry_id is None:
        return entry.title if entry else ""
    subentry = entry.subentries.get(subentry_id)
    return subentry.title if subentry else ""


@callback
def person_of(hass: HomeAssistant, data: Mapping[str, Any]) -> str | None:
    """Return the person entity of an event's data; None for an unknown voice."""
    return entity_of_person(hass, person_id=data.get("person"), user_id=data.get("user_id"))
