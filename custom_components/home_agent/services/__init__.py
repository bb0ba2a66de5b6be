"""The `home_agent.*` services."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, cast

import probatio

from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, callback
from homeassistant.helpers import config_validation as cv

from ..const import DOMAIN
from . import asking, confirmations, conversations, index, memories, tools
from .base import (
    ATTR_AGENT_ID,
    ATTR_CONFIG_ENTRY_ID,
    ATTR_ENTRY_ID,
    AliasedSchema,
    CommonService,
    Service,
    async_require_admin,
    entry_of,
)
from .tools import COMMON

ENTRY_FIELDS: Final = {
    probatio.Optional(ATTR_CONFIG_ENTRY_ID): cv.string,
    probatio.Optional(ATTR_ENTRY_ID): cv.string,
    probatio.Optional(ATTR_AGENT_ID): cv.string,
}
SERVICES: Final[Mapping[str, Service]] = {
    **conversations.SERVICES,
    **tools.SERVICES,
    **index.SERVICES,
    **memories.SERVICES,
    **confirmations.SERVICES,
    **asking.SERVICES,
}


@callback
def async_setup_services(hass: HomeAssistant) -> None:
    """Register the services once, for all entries."""
    for name, service in SERVICES.items():
        hass.services.async_register(
            DOMAIN,
            name,
            _bound(service),
            schema=AliasedSchema({**service.fields, **ENTRY_FIELDS}, service.aliases),
            supports_response=service.response,
        )
    for name, common in COMMON.items():
        hass.services.async_register(
            DOMAIN,
            name,
            _bound_to_all(common),
            schema=probatio.Schema(common.fields),
            supports_response=common.response,
        )


def _bound_to_all(service: CommonService) -> Callable[[ServiceCall], Coroutine[Any, Any, ServiceResponse]]:
    async def handle(call: ServiceCall) -> ServiceResponse:
        if service.admin:
            await async_require_admin(call)
        response = await service.handler(call)
        return cast("ServiceResponse", response) if call.return_response else None

    return handle


def _bound(service: Service) -> Callable[[ServiceCall], Coroutine[Any, Any, ServiceResponse]]:
    async def handle(call: ServiceCall) -> ServiceResponse:
        if service.admin:
            await async_require_admin(call)
        response = await service.handler(call, entry_of(call))
        return cast("ServiceResponse", response) if call.return_response else None

    return handle
