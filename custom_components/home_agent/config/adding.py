"""Adding an agent, beside the connection itself: the servers that are found, and the last page."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import json
from typing import Any, Final

import aiohttp
import probatio

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.selector import (
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)

from ..const import CONF_BASE_URL, CONF_MODEL, LOGGER
from .fields import Field, form, stripped, switch

PORTS: Final[Mapping[int, tuple[str, str]]] = {
    11434: ("Ollama", "/api/tags"),
    1234: ("LM Studio", "/v1/models"),
    8080: ("llama.cpp", "/v1/models"),
    8000: ("vLLM", "/v1/models"),
}
"""Usual ports of model servers, and where each lists its models."""
HOSTS: Final = ("localhost", "host.docker.internal")
ANSWER_SECONDS: Final = 2.0
MAX_ADDONS: Final = 4
MAX_BYTES: Final = 2_000_000
_ADDONS: Final = ("ollama", "llama", "vllm", "lmstudio", "lm_studio", "localai")
"""Parts of the slugs of add-ons that are model servers."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A model server that answered."""

    url: str
    name: str
    models: tuple[str, ...]

    @property
    def label(self) -> str:
        """Return what the form shows."""
        return f"{self.name}: {self.url}"


async def async_find_servers(hass: HomeAssistant) -> list[FoundServer]:
    """Return the model servers on this machine and in its add-ons, each once, after some seconds at most."""
    hosts = list(_hosts(hass))
    asked = [(host, port) for port in PORTS for host in hosts]
    asking = (_async_ask(hass, host, port) for host, port in asked)
    found: dict[tuple[str, tuple[str, ...]], FoundServer] = {}
    for server in await asyncio.gather(*asking, return_exceptions=True):
        if isinstance(server, FoundServer):
            found.setdefault((server.name, server.models), server)
        elif server is not None:
            LOGGER.debug("Looking for a model server failed: %s", server)
    return list(found.values())


def _hosts(hass: HomeAssistant) -> Iterator[str]:
    """Yield the names and addresses of this machine, the best to remember first."""
    yield from HOSTS
    yield from _addon_hosts(hass)
    if (api := hass.config.api) is not None:
        yield api.local_ip


def _addon_hosts(hass: HomeAssistant) -> Iterator[str]:
    if "hassio" not in hass.config.components:
        return
    from homeassistant.components.hassio import (  # noqa: PLC0415 - only where there is a Supervisor
        HassioNotReadyError,
        get_addons_list,
        hostname_from_addon_slug,
    )

    try:
        slugs = [str(addon["slug"]) for addon in get_addons_list(hass)]
    except HassioNotReadyError:
        return
    servers = [slug for slug in slugs if any(part in slug for part in _ADDONS)]
    yield from map(hostname_from_addon_slug, servers[:MAX_ADDONS])


async def _async_ask(hass: HomeAssistant, host: str, port: int) -> FoundServer | None:
    name, path = PORTS[port]
    url = f"http://{host}:{port}"
    try:
        async with (
            asyncio.timeout(ANSWER_SECONDS),
            async_get_clientsession(hass).get(f"{url}{path}", allow_redirects=False) as response,
        ):
            if response.status != 200:
                return None
            body = b""
            async for part in response.content.iter_any():
                body += part
                if len(body) > MAX_BYTES:
                    return None
            models = _models(json.loads(body))
    except aiohttp.ClientError, OSError, TimeoutError, ValueError:
        return None
    return FoundServer(url, name, tuple(models)) if models is not None else None


def _models(answer: Any) -> Sequence[str] | None:
    listed = answer.get("models", answer.get("data")) if isinstance(answer, dict) else None
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        return None
    return sorted(str(item.get("id") or item.get("name")) for item in listed)


FIELD_TEST: Final = "test_model"
FIELD_ASSISTANT: Final = "make_assistant"
DEFAULT_NAME: Final = "Home Agent"
SEARCH_SECONDS: Final = 0.5
"""How long the first form waits for servers on this machine."""
ASSISTANT: Final = switch(FIELD_ASSISTANT)


def connection_form(
    fields: Iterable[Field],
    shown: Mapping[str, Any],
    servers: Sequence[FoundServer] = (),
    opened: Collection[str] = (),
) -> probatio.Schema:
    """Return the form of a connection, which offers the servers that were found."""
    listed = list(fields)
    if servers:
        options = [SelectOptionDict(value=server.url, label=server.label) for server in servers]
        mode = SelectSelectorMode.DROPDOWN
        offered = SelectSelector(SelectSelectorConfig(options=options, mode=mode, custom_value=True))
        listed = [
            replace(field, selector=offered) if field.key == CONF_BASE_URL else field for field in listed
        ]
    return form(listed, shown, opened)


def default_name(entries: Iterable[ConfigEntry]) -> str:
    """Return a name that no agent has."""
    taken = {entry.title for entry in entries}
    number = 1
    name = DEFAULT_NAME
    while name in taken:
        number += 1
        name = f"{DEFAULT_NAME} {number}"
    return name


def model_fields(options: Sequence[SelectOptionDict]) -> tuple[Field, ...]:
    """Return the fields of the page of models."""
    mode = SelectSelectorMode.DROPDOWN
    config = SelectSelectorConfig(options=list(options), mode=mode, custom_value=True)
    model = Field(key=CONF_MODEL, selector=SelectSelector(config), clean=stripped, required=True)
    return model, replace(switch(FIELD_TEST), transient=True)
