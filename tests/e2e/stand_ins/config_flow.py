"""Config flow of the stand-ins: there is nothing to ask."""

from typing import Any, override

from homeassistant.config_entries import ConfigFlow, ConfigFlowResult

from . import DOMAIN


class StandInsFlow(ConfigFlow, domain=DOMAIN):
    """Create the one entry."""

    @override
    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        return self.async_create_entry(title="Stand-ins", data={})

    async def async_step_import(self, _config: dict[str, Any]) -> ConfigFlowResult:
        """Create the entry from configuration.yaml."""
        return await self.async_step_user()
