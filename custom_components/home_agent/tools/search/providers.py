"""Which search service the options mean."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from aiohttp import ClientSession

from homeassistant.core import HomeAssistant

from ...connection import render_key
from ...const import (
    CONF_SEARCH_KEY,
    CONF_SEARCH_PROVIDER,
    CONF_SEARCH_URL,
    SEARCH_DUCKDUCKGO,
    SEARCH_SEARXNG,
    SEARCH_TAVILY,
)
from ..outside.hosts import async_session
from ..outside.outgoing import Outgoing
from ..outside.web_search import SearchTool
from .base import SearchProvider, Web
from .duckduckgo import DuckDuckGo
from .searxng import SearXNG
from .tavily import Tavily

PROVIDERS: Final[Mapping[str, type[SearchProvider]]] = {
    SEARCH_TAVILY: Tavily,
    SEARCH_DUCKDUCKGO: DuckDuckGo,
    SEARCH_SEARXNG: SearXNG,
}


def search_tools(
    hass: HomeAssistant, settings: Mapping[str, Any], outgoing: Outgoing
) -> Iterator[SearchTool]:
    """Yield the tool if a search service is set up."""
    if is_set_up(settings):
        yield SearchTool(hass, partial(search_provider, hass, settings), outgoing)


def search_provider(hass: HomeAssistant, settings: Mapping[str, Any]) -> SearchProvider:
    """Return the chosen service, which has to be set up.

    Raises AuthenticationError for a key whose template cannot be rendered.
    """
    key = render_key(hass, settings[CONF_SEARCH_KEY])
    made = PROVIDERS[settings[CONF_SEARCH_PROVIDER]]
    return made(Web(partial(_session, hass)), settings[CONF_SEARCH_URL], key)


def _session(hass: HomeAssistant, may_be_private: bool) -> ClientSession:
    """Return a session; one for public addresses connects to the address that it has checked."""
    return async_session(hass, local=may_be_private, verify_ssl=True)


def is_set_up(settings: Mapping[str, Any]) -> bool:
    """Return whether a service is chosen, and has the address and the key that it needs."""
    made = PROVIDERS.get(settings[CONF_SEARCH_PROVIDER])
    return (
        made is not None
        and bool(settings[CONF_SEARCH_URL] or made.default_url)
        and (bool(settings[CONF_SEARCH_KEY]) or not made.needs_key)
    )
