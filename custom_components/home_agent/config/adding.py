"""Adding an agent, beside the connection itself: the servers that are found, and the last page."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

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

from ..const import CONF_BASE_URL, CONF_MODEL
from ..inference.client import ModelClient
from ..inference.models import Dialect, Endpoint, ModelServerError
from .fields import Field, form, switch

PORTS: Final[Mapping[int, str]] = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
"""Usual ports of model servers."""
HOSTS: Final = ("localhost", "host.docker.internal")
ANSWER_SECONDS: Final = 2.0


async def async_find_servers(hass: HomeAssistant) -> dict[str, str]:
    """Return the model servers on this machine, each once: what a form shows of them, by their addresses."""
    asked = [(f"http://{host}:{port}", name) for port, name in PORTS.items() for host in HOSTS]
    lists = await asyncio.gather(*(_async_models(hass, url) for url, _ in asked))
    found: dict[tuple[str, frozenset[str]], str] = {}
    for (url, name), models in zip(asked, lists, strict=True):
        if models is not None:
            found.setdefault((name, models), url)
    return {url: f"{name}: {url}" for (name, _), url in found.items()}


async def _async_models(hass: HomeAssistant, url: str) -> frozenset[str] | None:
    endpoint = Endpoint(base_url=url, model="", dialect=Dialect.OPENAI)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            listed = await ModelClient(async_get_clientsession(hass), endpoint).model_list()
    except TimeoutError, ModelServerError:
        return None
    return frozenset(model["id"] for model in listed) or None


FIELD_ASSISTANT: Final = "make_assistant"
DEFAULT_NAME: Final = "Home Agent"
SEARCH_SECONDS: Final = 0.5
"""How long the first form waits for servers on this machine."""
ASSISTANT: Final = switch(FIELD_ASSISTANT)


def connection_form(
    fields: Iterable[Field],
    shown: Mapping[str, Any],
    servers: Mapping[str, str],
    opened: Collection[str],
) -> probatio.Schema:
    """Return the form of a connection, which offers the servers that were found."""
    listed = list(fields)
    if servers:
        options = [SelectOptionDict(value=url, label=label) for url, label in servers.items()]
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


def model_field(options: Sequence[SelectOptionDict]) -> Field:
    """Return the field of the page of models."""
    mode = SelectSelectorMode.DROPDOWN
    config = SelectSelectorConfig(options=list(options), mode=mode, custom_value=True)
    return Field(key=CONF_MODEL, selector=SelectSelector(config), required=True)
