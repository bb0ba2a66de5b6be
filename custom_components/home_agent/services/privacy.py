"""Services for the right to know and the right to be forgotten."""

from collections.abc import Mapping
from typing import Final

import probatio

from homeassistant.core import ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import config_validation as cv
from homeassistant.util.json import JsonValueType

from ..const import DOMAIN
from ..knowledge.persons import Person, async_person_of_user
from ..privacy import async_erase, async_export
from ..runtime import HomeAgentConfigEntry
from .base import Service, async_require_admin
from .memories import async_person


async def _async_export(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Return everything that is held about a person."""
    person = await _async_whose(call)
    held: dict[str, JsonValueType] = await async_export(entry.runtime_data, person)
    return {"person": {"id": person.id, "name": person.name}, **held}


async def _async_erase(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Erase everything that is held about a person."""
    person = await _async_whose(call)
    if not call.data["confirm"]:
        raise ServiceValidationError(translation_domain=DOMAIN, translation_key="erase_unconfirmed")
    counts: dict[str, JsonValueType] = {**await async_erase(entry.runtime_data, person)}
    return {"erased": counts}


async def _async_whose(call: ServiceCall) -> Person:
    """Return whom a call is about: the caller where nobody is named; others need an administrator."""
    caller = await async_person_of_user(call.hass, call.context.user_id)
    person = await async_person(call) or caller
    if person is None:
        raise ServiceValidationError(translation_domain=DOMAIN, translation_key="person_missing")
    if person != caller:
        await async_require_admin(call)
    return person


SERVICES: Final[Mapping[str, Service]] = {
    "export_data": Service(_async_export, {probatio.Optional("person"): cv.string}, SupportsResponse.ONLY),
    # Not required: without it the action itself says what is missing, in the user's language.
    "erase_data": Service(
        _async_erase,
        {probatio.Optional("confirm", default=False): cv.boolean, probatio.Optional("person"): cv.string},
    ),
}
