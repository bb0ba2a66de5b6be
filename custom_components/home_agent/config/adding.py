"""Adding an agent, beside the connection itself: the servers that are found, the self-test, the last page."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import json
from typing import Any, Final, override

import aiohttp
import probatio

from homeassistant.config_entries import ConfigEntry, ConfigFlow, ConfigFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
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
from ..runtime import DATA_SHARED
from ..self_test.cases import Capability
from ..self_test_reports import Report
from ..texts import without_embeds
from .fields import Field, async_language, form, stripped, switch
from .probe import Draft, async_shared, async_try

SENTENCES: Final = 3
MIN_LIGHTS: Final = 2
_COMMANDS: Final = ("light", "switch", "fan", "media_player", "cover")
_OPENINGS: Final = frozenset({"door", "garage_door", "window", "opening", "garage"})
_BLINDS: Final = frozenset({"blind", "curtain", "shade", "shutter", "awning"})
_ROOMS: Final = frozenset({"temperature", "lights_off"})
"""Sentences about a room."""

type Try = tuple[str, str]
"""The key of a sentence in the translations, and the name in it."""


async def async_first_sentences(hass: HomeAssistant, house: HouseSnapshot) -> list[str]:
    """Return three sentences in the language of Home Assistant, each of another kind."""
    language = hass.config.language
    return [await _async_sentence(hass, language, key, name) for key, name in _tries(hass, house)]


async def _async_sentence(hass: HomeAssistant, language: str, key: str, name: str) -> str:
    case = NameCase.PREPOSITION if key in _ROOMS else NameCase.OBJECT
    named = with_article(name, language, case) if name else ""
    return await async_phrase(hass, language, f"try_{key}", name=named)


def _tries(hass: HomeAssistant, house: HouseSnapshot) -> Sequence[Try]:
    """Return what to try: a command, a question, several things at once, then what needs no device."""
    kinds = (_command(hass, house), _question(house), _several(house))
    found = [entry for kind in kinds if (entry := next(kind, None))]
    return [*found, ("ability", ""), ("timer", ""), ("memory", "")][:SENTENCES]


def _records(house: HouseSnapshot, domain: str) -> Iterator[EntityRecord]:
    """Yield the entities of a domain that people use, those in a room first."""
    of_it = [each for each in house.entities.values() if each.domain == domain and each.category is None]
    yield from sorted(of_it, key=lambda record: record.area_id is None)


def _command(hass: HomeAssistant, house: HouseSnapshot) -> Iterator[Try]:
    for domain in _COMMANDS:
        for record in _records(house, domain):
            state = hass.states.get(record.entity_id)
            if state is None or (domain == "cover" and record.device_class not in _BLINDS):
                continue
            if state.state in ("on", "playing"):
                yield "turn_off", record.name
            elif state.state in ("off", "idle", "standby"):
                yield "turn_on", record.name
            elif state.state in ("open", "closed"):
                yield ("close" if state.state == "open" else "open"), record.name


def _question(house: HouseSnapshot) -> Iterator[Try]:
    for record in _records(house, "binary_sensor"):
        if record.device_class in _OPENINGS:
            yield "is_open", record.name
    for record in _records(house, "lock"):
        yield "is_locked", record.name
    for record in _records(house, "climate"):
        if record.area_id in house.areas:
            yield "temperature", house.areas[str(record.area_id)].name
    for record in _records(house, "sensor"):
        if record.device_class == "temperature" and record.area_id in house.areas:
            yield "temperature", house.areas[str(record.area_id)].name


def _several(house: HouseSnapshot) -> Iterator[Try]:
    lights = [record.area_id for record in _records(house, "light")]
    for area_id, area in house.areas.items():
        if lights.count(area_id) >= MIN_LIGHTS:
            yield "lights_off", area.name
    for domain in ("light", "switch"):
        for record in _records(house, domain):
            yield "turn_off_later", record.name


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


FIELD_TEST: Final = "test_model"
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
        listed = [_offering(field, servers) if field.key == CONF_BASE_URL else field for field in listed]
    return form(listed, shown, opened)


def _offering(field: Field, servers: Sequence[FoundServer]) -> Field:
    options = [SelectOptionDict(value=server.url, label=server.label) for server in servers]
    mode = SelectSelectorMode.DROPDOWN
    selector = SelectSelector(SelectSelectorConfig(options=options, mode=mode, custom_value=True))
    return replace(field, selector=selector)


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


class AddingSteps(ConfigFlow):
    """Looks for servers, tests the model, and makes an assistant."""

    def __init__(self) -> None:
        self._search: asyncio.Task[list[FoundServer]] | None = None
        self._test: asyncio.Task[Report] | None = None
        self._test_error = ""
        self._report: Report | None = None
        self._makes_assistant = False
        self._told: dict[str, str] = {}

    def _draft(self) -> Draft:
        raise NotImplementedError

    async def async_step_finish(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Go on with the chosen model."""
        raise NotImplementedError

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

    async def async_step_self_test(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Run the self-test with the chosen model, and show how far it is."""
        draft = self._draft()
        if self._test is None:
            # Before the task: who closes the dialog ends the test, but not the set-up of the integration.
            shared = await async_shared(self.hass)
            language = await async_language(self.hass)
            task = async_try(self.hass, shared, draft, self.async_update_progress, language)
            self._test = self.hass.async_create_background_task(task, "home_agent self-test")
        if not self._test.done():
            return self.async_show_progress(
                step_id="self_test",
                progress_action="self_test",
                progress_task=self._test,
                description_placeholders={"model": draft.data[CONF_MODEL]},
            )
        return self.async_show_progress_done(next_step_id="verdict")

    async def async_step_verdict(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show what the test found out."""
        test, self._test = self._test, None
        if test is not None:
            self._report = None
            try:
                self._report = test.result()
            except HomeAssistantError as err:
                self._test_error = str(err)
                return await self.async_step_test_failed()
        if (report := self._report) is None:
            return await self.async_step_self_test()
        fit = report["verdict"] in ("good", "usable")
        scores = {
            name: f"{score['passed']} / {score['total']}" for name, score in report["capabilities"].items()
        }
        return self._show_test(
            "verdict",
            ["finish", "model"] if fit else ["model", "finish"],
            advice=report["advice"],
            passed=str(report["passed"]),
            total=str(report["total"]),
            seconds=str(max(1, round(report["median_seconds"]))),
            **dict.fromkeys(map(str, Capability), "-") | scores,
        )

    async def async_step_test_failed(self, _user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Say why the test was not completed."""
        options = ["self_test", "model", "finish"]
        return self._show_test("test_failed", options, error=self._test_error)

    def _show_test(self, step_id: str, options: list[str], **placeholders: str) -> ConfigFlowResult:
        told = {"model": str(self._draft().data[CONF_MODEL]), **placeholders}
        shown = {name: without_embeds(text) for name, text in told.items()}
        return self.async_show_menu(step_id=step_id, menu_options=options, description_placeholders=shown)

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
        """Make the assistant, and keep what the test found out."""
        entry = result["result"]
        self._keep_report(entry.entry_id)
        if self._makes_assistant:
            await async_make_assistant(self.hass, entry)
        return result

    def _keep_report(self, entry_id: str) -> None:
        report, shared = self._report, self.hass.data.get(DATA_SHARED)
        if report is not None and shared is not None and report["model"] == self._draft().data[CONF_MODEL]:
            shared.self_tests.of(entry_id).keep(report)

    @override
    def async_remove(self) -> None:
        """Stop looking for servers."""
        if self._search is not None:
            self._search.cancel()
