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
    CONF_SEARCH_KEY,
    CONF_SEARCH_PROVIDER,
    CONF_SEARCH_URL,
    DEFAULTS,
    SEARCH_NONE,
)
from ..errors import AuthenticationError, InvalidInput
from ..tools.search import PROVIDERS, SearchError, SearchTrouble, search_provider
from .fields import Checked, Values
from .probe import async_find_server, async_probe_model, typed_endpoint

KEYS: Final = (CONF_SEARCH_PROVIDER, CONF_SEARCH_URL, CONF_SEARCH_KEY)
QUERY: Final = "weather"
"""Searched to see whether that works."""


async def async_check_search(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any]) -> None:
    """Search once where the service, its address or its key was changed."""
    chosen = {key: checked.values.get(key, DEFAULTS[key]) for key in KEYS}
    before = {key: stored.get(key, DEFAULTS[key]) for key in KEYS}
    if checked.errors or chosen[CONF_SEARCH_PROVIDER] == SEARCH_NONE or chosen == before:
        return
    made = PROVIDERS[chosen[CONF_SEARCH_PROVIDER]]
    if not (chosen[CONF_SEARCH_URL] or made.default_url):
        checked.fail(CONF_SEARCH_URL, InvalidInput("search_url_missing"))
    elif made.needs_key and not chosen[CONF_SEARCH_KEY]:
        checked.fail(CONF_SEARCH_KEY, InvalidInput("search_key_missing"))
    else:
        await _async_try(hass, checked, chosen)


async def _async_try(hass: HomeAssistant, checked: Checked, chosen: Values) -> None:
    try:
        provider = search_provider(hass, chosen)
    except AuthenticationError:
        checked.fail(CONF_SEARCH_KEY, InvalidInput("invalid_key_template"))
        return
    if not provider.key_can_be_sent:
        checked.fail(CONF_SEARCH_KEY, InvalidInput("invalid_key"))
        return
    try:
        await provider.async_search(QUERY, hass.config.language)
    except SearchError as err:
        checked.fail(*_explained(err, provider.address))


def _explained(err: SearchError, address: str) -> tuple[str, InvalidInput]:
    match err.trouble:
        case SearchTrouble.REFUSED:
            return CONF_SEARCH_KEY, InvalidInput("invalid_auth")
        case SearchTrouble.RATE_LIMIT:
            return CONF_SEARCH_PROVIDER, InvalidInput("rate_limited")
        case SearchTrouble.BLOCKED:
            return CONF_SEARCH_PROVIDER, InvalidInput("search_blocked")
        case SearchTrouble.UNREACHABLE:
            return CONF_SEARCH_URL, InvalidInput("cannot_connect", url=address)
    return CONF_SEARCH_URL, InvalidInput("search_failed", detail=str(err))


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
