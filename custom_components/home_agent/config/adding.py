"""Adding an agent, beside the connection itself: the servers that are found, and the last page."""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import json
from typing import Any, Final, override

import aiohttp
import probatio

from homeassistant.config_entries import ConfigEntry, ConfigFlow, ConfigFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.selector import (
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)

from ..agent.describe import NameCase, async_phrase, with_article
from ..agents.assistants import async_make_assistant, may_be_assistant
from ..const import CONF_BASE_URL, CONF_MODEL, DOMAIN, LOGGER
from ..knowledge.house import EntityRecord, HouseSnapshot
from ..texts import without_embeds
from .fields import Field, form, stripped, switch
from .probe import async_shared

SENTENCES: Final = 3
MIN_LIGHTS: Final = 2


async def async_first_sentences(hass: HomeAssistant, house: HouseSnapshot) -> list[str]:
    """Return three sentences to try in the language of Home Assistant, each of another kind."""
    records = [record for record in house.entities.values() if record.category is None]
    # Those in a room first.
    records.sort(key=lambda record: record.area_id is None)

    def of(*domains: str) -> Iterator[EntityRecord]:
        return (record for domain in domains for record in records if record.domain == domain)

    tries: list[tuple[str, str, NameCase]] = []
    for record in of("light", "switch", "fan"):
        if (state := hass.states.get(record.entity_id)) and state.state in ("on", "off"):
            verb = "turn_off" if state.state == "on" else "turn_on"
            tries.append((verb, record.name, NameCase.OBJECT))
            break
    if (lock := next(of("lock"), None)) is not None:
        tries.append(("is_locked", lock.name, NameCase.OBJECT))
    lit = Counter(record.area_id for record in of("light"))
    if room := next((area.name for key, area in house.areas.items() if lit[key] >= MIN_LIGHTS), None):
        tries.append(("lights_off", room, NameCase.PREPOSITION))
    warm = {record.area_id for record in of("climate")}
    if room := next((area.name for key, area in house.areas.items() if key in warm), None):
        tries.append(("temperature", room, NameCase.PREPOSITION))
    tries += [(key, "", NameCase.OBJECT) for key in ("ability", "timer", "memory")]
    language = hass.config.language
    return [
        await async_phrase(
            hass, language, f"try_{key}", name=with_article(name, language, case) if name else ""
        )
        for key, name, case in tries[:SENTENCES]
    ]


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
    """Return the names in a list of models, None if it is something else."""
    listed = answer.get("models", answer.get("data")) if isinstance(answer, dict) else None
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        return None
    return sorted(str(item.get("id") or item.get("name")) for item in listed)


FIELD_ASSISTANT: Final = "make_assistant"
DEFAULT_NAME: Final = "Home Agent"
SEARCH_SECONDS: Final = 0.5
"""How long the first form waits for servers on this machine."""
EXPOSURE_PAGE: Final = "/config/voice-assistants/expose"
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
    return (Field(key=CONF_MODEL, selector=SelectSelector(config), clean=stripped, required=True),)


class AddingSteps(ConfigFlow):
    """Looks for servers, and makes an assistant."""

    def __init__(self) -> None:
        self._search: asyncio.Task[list[FoundServer]] | None = None
        self._makes_assistant = False
        self._told: dict[str, str] = {}

    async def _async_servers(self) -> list[FoundServer]:
        """Return the servers that were found so far, those that no agent uses first."""
        if self._search is None:
            task = async_find_servers(self.hass)
            self._search = self.hass.async_create_background_task(task, "home_agent servers")
        await asyncio.wait([self._search], timeout=SEARCH_SECONDS)
        found = self._search.result() if self._search.done() else []
        used = {
            entry.data.get(CONF_BASE_URL, "").removesuffix("/v1")
            for entry in self.hass.config_entries.async_entries(DOMAIN)
        }
        return sorted(found, key=lambda server: server.url in used)

    async def async_step_ready(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Say what can be done now, and offer to make the assistant."""
        if user_input is not None:
            self._makes_assistant = bool(user_input.get(FIELD_ASSISTANT))
            return await self._async_store()
        house = await (await async_shared(self.hass)).house.async_snapshot()
        sentences = await async_first_sentences(self.hass, house)
        self._told = {
            "count": str(len(house.entities)),
            "sentences": "\n".join(f"- *{without_embeds(sentence)}*" for sentence in sentences),
        }
        offered = may_be_assistant(self.hass)
        return self.async_show_form(
            step_id="ready",
            data_schema=form([ASSISTANT] if offered is not None else [], {FIELD_ASSISTANT: offered}),
            description_placeholders=self._told,
            last_step=True,
        )

    async def _async_store(self) -> ConfigFlowResult:
        raise NotImplementedError

    def _create(self, title: str, data: Mapping[str, Any], options: Mapping[str, Any]) -> ConfigFlowResult:
        """Create the entry. The link is in its dialog only: on a page of the flow it would end the flow."""
        return self.async_create_entry(
            title=title,
            data=data,
            options=options,
            description="assistant" if self._makes_assistant else "default",
            description_placeholders={**self._told, "expose": EXPOSURE_PAGE},
        )

    @override
    async def async_on_create_entry(self, result: ConfigFlowResult) -> ConfigFlowResult:
        """Make the assistant."""
        if self._makes_assistant:
            await async_make_assistant(self.hass, result["result"])
        return result

    @override
    def async_remove(self) -> None:
        """Stop looking for servers."""
        if self._search is not None:
            self._search.cancel()
