"""The page Channels: who is asked on which phone."""

from collections.abc import Mapping
from typing import Any

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.selector import SelectOptionDict

from ..channels.notify_targets import APP, NOTIFY, TARGETS, route_to, user_id_of
from ..const import CONF_NOTIFY_TARGETS
from ..knowledge.persons import PERSON
from ..errors import InvalidInput
from .fields import Checked


@callback
def notify_options(hass: HomeAssistant) -> list[SelectOptionDict]:
    """Return what can be chosen: phones by their services, and notify entities."""
    services = [name for name in hass.services.async_services_for_domain(NOTIFY) if name.startswith(APP)]
    phones = [SelectOptionDict(value=f"{NOTIFY}.{name}", label=f"{NOTIFY}.{name}") for name in services]
    entities = [
        SelectOptionDict(value=state.entity_id, label=f"{state.name} ({state.entity_id})")
        for state in hass.states.async_all(NOTIFY)
    ]
    return [*phones, *entities]


async def async_check_targets(hass: HomeAssistant, checked: Checked, _stored: Mapping[str, Any]) -> None:
    """Look whether the targets are there, and whether the persons can answer at all."""
    for item in checked.values.get(CONF_NOTIFY_TARGETS, []):
        if user_id_of(hass, item[PERSON]) is None:
            checked.fail(CONF_NOTIFY_TARGETS, InvalidInput("person_without_user", person=item[PERSON]))
        for target in item[TARGETS]:
            if route_to(hass, target) is None:
                checked.fail(CONF_NOTIFY_TARGETS, InvalidInput("notify_target_missing", target=target))
