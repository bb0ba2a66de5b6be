"""Other model servers on the pages of the options: reached when they are entered or changed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import yarl

from homeassistant.core import HomeAssistant

from ..connection import is_cloud
from ..const import (
    CONF_API_KEY,
    CONF_BASE_URL,
    CONF_EXTERNAL,
    CONF_EXTERNAL_API_KEY,
    CONF_EXTERNAL_BASE_URL,
    CONF_EXTERNAL_MODEL,
    CONF_FALLBACK_API_KEY,
    CONF_FALLBACK_BASE_URL,
    CONF_FALLBACK_MODEL,
    CONF_MODEL,
)
from ..errors import InvalidInput
from .fields import Checked
from .probe import async_find_server, async_probe_model, typed_endpoint
from .search import async_check_search


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFields:
    """The fields that describe one server."""

    base_url: str
    api_key: str
    model: str

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the fields in the order they are checked."""
        return self.base_url, self.api_key, self.model

    def chosen(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Return the values of the fields."""
        return {key: values.get(key, "") for key in self.keys}


FALLBACK: Final = ServerFields(
    base_url=CONF_FALLBACK_BASE_URL, api_key=CONF_FALLBACK_API_KEY, model=CONF_FALLBACK_MODEL
)
EXTERNAL: Final = ServerFields(
    base_url=CONF_EXTERNAL_BASE_URL, api_key=CONF_EXTERNAL_API_KEY, model=CONF_EXTERNAL_MODEL
)


async def async_check_web(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any]) -> None:
    """Try the search service and the other models, where they are entered or changed."""
    for try_one in (async_check_search, async_check_fallback, async_check_external):
        await try_one(hass, checked, stored)
        checked.keep_report()


async def async_check_fallback(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any]) -> None:
    """Reach a fallback server that was entered or changed, and complete its address."""
    chosen = FALLBACK.chosen(checked.values)
    if not any(chosen.values()) or checked.errors:
        return
    _require(checked, FALLBACK, chosen, InvalidInput("fallback_incomplete"))
    if not checked.errors and chosen != FALLBACK.chosen(stored):
        await _async_reach(hass, checked, FALLBACK, chosen)
        warn_about_cloud(checked, checked.values[FALLBACK.base_url], "fallback_cloud")


async def async_check_external(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any]) -> None:
    """Reach an external model that is switched on or changed, and complete its address."""
    chosen = EXTERNAL.chosen(checked.values)
    if not checked.values.get(CONF_EXTERNAL) or checked.errors:
        return
    _require(checked, EXTERNAL, chosen, InvalidInput("external_incomplete"))
    known = bool(stored.get(CONF_EXTERNAL)) and chosen == EXTERNAL.chosen(stored)
    if not checked.errors and not known:
        await _async_reach(hass, checked, EXTERNAL, chosen)
        warn_about_cloud(checked, checked.values[EXTERNAL.base_url], "external_cloud")


def warn_about_cloud(checked: Checked, address: str, step: str) -> None:
    """Show in a step which data leaves the home, if this server is outside it."""
    if not checked.errors and is_cloud(address):
        checked.report = step
        checked.placeholders["host"] = yarl.URL(address).host or ""


def _require(
    checked: Checked, fields: ServerFields, chosen: Mapping[str, str], missing: InvalidInput
) -> None:
    """Ask for an address and a model."""
    for key in (fields.base_url, fields.model):
        if not chosen[key]:
            checked.fail(key, missing)


async def _async_reach(
    hass: HomeAssistant, checked: Checked, fields: ServerFields, chosen: Mapping[str, str]
) -> None:
    """Ask the server for its models, and the model for a word."""
    settings = {
        CONF_BASE_URL: chosen[fields.base_url],
        CONF_API_KEY: chosen[fields.api_key],
        CONF_MODEL: chosen[fields.model],
    }
    parts = {"key": fields.api_key, "model": fields.model}
    try:
        typed = typed_endpoint(hass, settings)
        server = await async_find_server(hass, typed)
        await async_probe_model(hass, replace(typed, base_url=server.base_url))
    except InvalidInput as err:
        checked.fail(parts.get(err.part, fields.base_url), err)
        return
    checked.values[fields.base_url] = server.base_url
