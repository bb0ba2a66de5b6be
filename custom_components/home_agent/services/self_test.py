"""The service that tries the configured model."""

from collections.abc import Mapping
from typing import Final

from homeassistant.core import ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.exceptions import ServiceValidationError

from ..const import DOMAIN
from ..parts import async_part
from ..runtime import HomeAgentConfigEntry
from ..tools.ha_control import ControlTool
from ..tools.ha_query import QueryTool
from .base import Service


async def _async_self_test(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Ask the model a small corpus in an imaginary house; nothing is called."""
    if missing := {ControlTool.name, QueryTool.name} - entry.runtime_data.handler.tools.keys():
        raise ServiceValidationError(
            translation_domain=DOMAIN,
            translation_key="self_test_without_tools",
            translation_placeholders={"tools": ", ".join(sorted(missing))},
        )
    runner = await async_part(call.hass, "self_test.runner")
    report: ServiceResponse = await runner.SelfTest(call.hass, entry.runtime_data).async_run()
    return report


SERVICES: Final[Mapping[str, Service]] = {
    "self_test": Service(_async_self_test, {}, SupportsResponse.ONLY, admin=True)
}
