"""The stored connection as what the model client takes."""

from collections.abc import Mapping
from typing import Any

from homeassistant.core import HomeAssistant, callback

from ..const import (
    CONF_API_KEY,
    CONF_AZURE_API_VERSION,
    CONF_BASE_URL,
    CONF_DIALECT,
    CONF_EMBEDDING_API_KEY,
    CONF_EMBEDDING_BASE_URL,
    CONF_EMBEDDING_MODEL,
    CONF_EMBEDDING_PROVIDER,
    CONF_EXTERNAL,
    CONF_EXTERNAL_API_KEY,
    CONF_EXTERNAL_BASE_URL,
    CONF_EXTERNAL_MODEL,
    CONF_FALLBACK_API_KEY,
    CONF_FALLBACK_BASE_URL,
    CONF_FALLBACK_MODEL,
    CONF_MODEL,
    CONF_PROXY_HEADERS,
)
from ..inference.models import Dialect, Endpoint
from .validators import parse_headers, render_key


@callback
def endpoint(hass: HomeAssistant, settings: Mapping[str, Any]) -> Endpoint:
    """Return the server of an entry, with its key rendered.

    Raises AuthenticationError if the key is a template that does not render.
    """
    return Endpoint(
        base_url=settings[CONF_BASE_URL],
        model=settings[CONF_MODEL],
        api_key=render_key(hass, settings.get(CONF_API_KEY)),
        headers=parse_headers(settings.get(CONF_PROXY_HEADERS)),
        dialect=settings.get(CONF_DIALECT, "auto"),
        api_version=settings.get(CONF_AZURE_API_VERSION),
    )


@callback
def fallback_endpoint(hass: HomeAssistant, settings: Mapping[str, Any]) -> Endpoint | None:
    """Return the server that is asked while the first one is down; None where there is none."""
    if not settings.get(CONF_FALLBACK_BASE_URL) or not settings.get(CONF_FALLBACK_MODEL):
        return None
    return Endpoint(
        base_url=settings[CONF_FALLBACK_BASE_URL],
        model=settings[CONF_FALLBACK_MODEL],
        api_key=render_key(hass, settings.get(CONF_FALLBACK_API_KEY)),
    )


@callback
def external_endpoint(hass: HomeAssistant, settings: Mapping[str, Any]) -> Endpoint | None:
    """Return the server of the model that is asked by a tool; None where there is none, or it is off."""
    if not settings[CONF_EXTERNAL]:
        return None
    if not settings.get(CONF_EXTERNAL_BASE_URL) or not settings.get(CONF_EXTERNAL_MODEL):
        return None
    return Endpoint(
        base_url=settings[CONF_EXTERNAL_BASE_URL],
        model=settings[CONF_EXTERNAL_MODEL],
        api_key=render_key(hass, settings.get(CONF_EXTERNAL_API_KEY)),
    )


@callback
def embedding_endpoint(hass: HomeAssistant, settings: Mapping[str, Any]) -> Endpoint:
    """Return the server that embeds texts: the agent's own one where no address is given.

    The agent's key and headers go to the agent's own server only. Raises AuthenticationError if a key is a
    template that does not render.
    """
    own = endpoint(hass, settings)
    address = settings.get(CONF_EMBEDDING_BASE_URL) or own.base_url
    key = render_key(hass, settings.get(CONF_EMBEDDING_API_KEY))
    same = address == own.base_url
    azure = same and own.dialect == Dialect.AZURE
    return Endpoint(
        base_url=address,
        model=settings.get(CONF_EMBEDDING_MODEL) or "",
        api_key=key or (own.api_key if same else ""),
        headers=own.headers if same else {},
        dialect=own.dialect if azure else settings[CONF_EMBEDDING_PROVIDER],
        api_version=own.api_version if azure else None,
    )
