"""The web search: does the search service answer, and does it take the key?"""

from collections.abc import Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant

from ..const import (
    CONF_SEARCH_KEY,
    CONF_SEARCH_PROVIDER,
    CONF_SEARCH_URL,
    DEFAULTS,
    SEARCH_NONE,
)
from ..errors import AuthenticationError, InvalidInput
from ..tools.search import PROVIDERS, SearchError, SearchTrouble, search_provider
from .fields import Checked, Values

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
    """Send a harmless query to the service."""
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
    """Return the field and the sentence for what went wrong."""
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
