"""The `home_agent.*` services."""

from collections.abc import Mapping
from typing import Final, cast

import probatio

from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse, callback
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.service import async_register_admin_service

from ..const import DOMAIN
from . import asking, conversations, index, memories, tools
from .base import AGENT_FIELDS, AliasedSchema, Service, async_require_admin, entry_of

WHOSE: Final = {probatio.Optional(field): cv.string for field in AGENT_FIELDS}
SERVICES: Final[Mapping[str, Service]] = {
    **conversations.SERVICES,
    **tools.SERVICES,
    **index.SERVICES,
    **memories.SERVICES,
    **asking.SERVICES,
}


@callback
def async_setup_services(hass: HomeAssistant) -> None:
    """Register the services once, for all entries."""
    for name, service in SERVICES.items():

        async def handle(call: ServiceCall, service: Service = service) -> ServiceResponse:
            if service.admin:
                await async_require_admin(call)
            return cast("ServiceResponse", await service.handler(call, entry_of(call)))

        hass.services.async_register(
            DOMAIN,
            name,
            handle,
            schema=AliasedSchema({**service.fields, **WHOSE}, service.aliases),
            supports_response=service.response,
        )
    async_register_admin_service(
        hass, DOMAIN, "reload", tools.async_reload, supports_response=SupportsResponse.OPTIONAL
    )
