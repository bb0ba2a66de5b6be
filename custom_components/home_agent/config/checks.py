"""Checks of the pages of the options that look further than a field: servers are asked, names are looked up.

The module loads when such a page is saved.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import yarl

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession

from .. import const
from ..channels.telegram import read_chats
from ..connection import embedding_address, embedding_endpoint, is_cloud
from ..const import DEFAULTS, DOMAIN
from ..errors import AuthenticationError, InvalidInput
from ..inference.models import Endpoint, ModelServerError
from ..knowledge.indexer import knowledge_collection
from ..knowledge.search import async_create_embedder, chroma_address
from ..knowledge.speaker import PERSON
from ..memory.learner.sources import InfluxError, InfluxTrouble, influx_source
from ..safety.rules import DECISION, PIN
from ..safety.spoken_numbers import MAX_DIGITS, MIN_DIGITS, hash_pin
from ..settings import defaults_of
from ..tools.outside.search_services import PROVIDERS, SearchError, SearchTrouble, search_provider
from ..tools.recipients import TARGETS, route_to, user_id_of
from ..vector.chroma import ChromaAPI
from ..vector.embeddings import EmbeddingError
from ..vector.store import StoreProblem, VectorStoreError
from .choices import async_check_choices
from .fields import SAVED, Checked, normalise_url
from .lists import TELEGRAM, bot_chats
from .probe import (
    async_find_server,
    async_probe_model,
    candidates,
    failure_of,
    typed_endpoint,
)
from .rule_names import async_rule_names, rules_of

type Check = Callable[[HomeAssistant, ConfigEntry, Checked, Mapping[str, Any]], Awaitable[None]]
"""Takes the agent, a page's checked values, which it may complete or refuse, and the stored options."""

QUERY: Final = "weather"
"""Searched to see whether that works."""
SEARCH_TROUBLES: Final = {
    SearchTrouble.REFUSED: (const.CONF_SEARCH_KEY, "invalid_auth"),
    SearchTrouble.RATE_LIMIT: (const.CONF_SEARCH_PROVIDER, "rate_limited"),
    SearchTrouble.BLOCKED: (const.CONF_SEARCH_PROVIDER, "search_blocked"),
    SearchTrouble.UNREACHABLE: (const.CONF_SEARCH_URL, "cannot_connect"),
}
"""The field of each trouble, and its sentence."""


def _changed(
    chosen: Mapping[str, Any], stored: Mapping[str, Any], keys: Sequence[str], otherwise: Mapping[str, Any]
) -> bool:
    """Return whether a page changes one of these options."""
    return any(chosen.get(key, otherwise[key]) != stored.get(key, otherwise[key]) for key in keys)


async def _async_check_web(
    hass: HomeAssistant, _entry: ConfigEntry, checked: Checked, stored: Mapping[str, Any]
) -> None:
    """Try the search service and the other models, where they are entered or changed."""
    keys = (const.CONF_SEARCH_PROVIDER, const.CONF_SEARCH_URL, const.CONF_SEARCH_KEY)
    service, url, key = (checked.values.get(key, DEFAULTS[key]) for key in keys)
    is_new = service != const.SEARCH_NONE and _changed(checked.values, stored, keys, DEFAULTS)
    if is_new and not checked.errors:
        try:
            provider = search_provider(hass, dict(zip(keys, (service, url, key), strict=True)))
            if not (url or PROVIDERS[service].default_url):
                checked.fail(const.CONF_SEARCH_URL, InvalidInput("search_url_missing"))
            elif PROVIDERS[service].needs_key and not key:
                checked.fail(const.CONF_SEARCH_KEY, InvalidInput("search_key_missing"))
            elif not provider.key_can_be_sent:
                checked.fail(const.CONF_SEARCH_KEY, InvalidInput("invalid_key"))
            else:
                await provider.async_search(QUERY, hass.config.language)
        except AuthenticationError:
            checked.fail(const.CONF_SEARCH_KEY, InvalidInput("invalid_key_template"))
        except SearchError as err:
            field, error = SEARCH_TROUBLES.get(err.trouble, (const.CONF_SEARCH_URL, "search_failed"))
            checked.fail(field, InvalidInput(error, url=provider.address, detail=str(err)))
    for name in SERVERS:
        chosen = _server_of(checked.values, name)
        if chosen is None or checked.errors:
            continue
        for part in ("base_url", "model"):
            if not chosen[part]:
                checked.fail(f"{name}_llm_{part}", InvalidInput(f"{name}_incomplete"))
        if checked.errors or chosen == _server_of(stored, name):
            continue
        try:
            typed = typed_endpoint(hass, {f"llm_{part}": value for part, value in chosen.items()})
            server = await async_find_server(hass, replace(typed, model=""))
            await async_probe_model(hass, replace(typed, base_url=server.base_url))
        except InvalidInput as err:
            part = {"key": "api_key", "model": "model"}.get(err.part, "base_url")
            checked.fail(f"{name}_llm_{part}", err)
            continue
        checked.values[f"{name}_llm_base_url"] = server.base_url
        _warn_about_cloud(checked, server.base_url, f"{name}_cloud")


SERVERS: Final = ("fallback", "external")
"""What the names of the options of the other models begin with, and their errors and reports."""


def _server_of(values: Mapping[str, Any], name: str) -> dict[str, str] | None:
    """Return the values of a server's fields, None if it is not in use: a fallback is, once it is entered."""
    server = {part: values.get(f"{name}_llm_{part}", "") for part in ("base_url", "api_key", "model")}
    is_used = values.get(const.CONF_EXTERNAL) if name == "external" else any(server.values())
    return server if is_used else None


def _warn_about_cloud(checked: Checked, address: str, step: str) -> None:
    """Show in a step which data leaves the home, if this server is outside it."""
    if is_cloud(address):
        checked.reports.append((step, {"host": yarl.URL(address).host or ""}))


def _take_apart(checked: Checked) -> None:
    """Split an address that was typed as the host."""
    typed: str = checked.values.get(const.CONF_VECTOR_HOST, "")
    if not typed or ("/" not in typed and typed.count(":") != 1):
        return
    try:
        url = yarl.URL(normalise_url(typed))
    except InvalidInput as err:
        checked.fail(const.CONF_VECTOR_HOST, err)
        return
    secure = url.scheme == "https"
    checked.values[const.CONF_VECTOR_HOST] = url.host
    if secure or url.explicit_port:
        checked.values[const.CONF_VECTOR_PORT] = url.port
    if secure or "://" in typed:
        checked.values[const.CONF_VECTOR_SSL] = secure


EMBEDDING_KEYS: Final = (
    const.CONF_EMBEDDING_PROVIDER,
    const.CONF_EMBEDDING_BASE_URL,
    const.CONF_EMBEDDING_MODEL,
    const.CONF_EMBEDDING_API_KEY,
)
STORE_KEYS: Final = (
    const.CONF_VECTOR_BACKEND,
    const.CONF_VECTOR_HOST,
    const.CONF_VECTOR_PORT,
    const.CONF_VECTOR_SSL,
    const.CONF_VECTOR_TOKEN,
    const.CONF_VECTOR_TENANT,
    const.CONF_VECTOR_DATABASE,
    const.CONF_COLLECTIONS,
)
EMBEDDING_PARTS: Final = {
    "url": const.CONF_EMBEDDING_BASE_URL,
    "key": const.CONF_EMBEDDING_API_KEY,
    "model": const.CONF_EMBEDDING_MODEL,
}
EMBEDDING_SECONDS: Final = 90
"""A server may load its model first, and the built-in one is installed."""
STORE_SECONDS: Final = 20
STORE_PROBLEMS: Final = {
    StoreProblem.UNAVAILABLE: (const.CONF_VECTOR_HOST, "cannot_connect"),
    StoreProblem.REFUSED: (const.CONF_VECTOR_TOKEN, "chroma_refused"),
}
"""The field of each problem, and its sentence."""
SENTENCE: Final = "light"
"""Embedded to see whether that works."""


async def _async_check_vector_store(
    hass: HomeAssistant, entry: ConfigEntry, checked: Checked, stored: Mapping[str, Any]
) -> None:
    _take_apart(checked)
    defaults = {**DEFAULTS, **entry.data}
    chosen = {**defaults, **checked.values}
    provider, house = chosen[const.CONF_EMBEDDING_PROVIDER], chosen[const.CONF_VECTOR_COLLECTION]
    in_chroma = chosen[const.CONF_VECTOR_BACKEND] == const.BACKEND_CHROMA
    if in_chroma and provider == const.EMBEDDING_NONE:
        checked.fail(const.CONF_EMBEDDING_PROVIDER, InvalidInput("embedding_needed"))
    if (
        provider not in (const.EMBEDDING_NONE, const.EMBEDDING_BUILTIN)
        and not chosen[const.CONF_EMBEDDING_MODEL]
    ):
        checked.fail(const.CONF_EMBEDDING_MODEL, InvalidInput("embedding_model_missing"))
    for name in (house, knowledge_collection(house)):
        if name in chosen[const.CONF_COLLECTIONS]:
            checked.fail(const.CONF_COLLECTIONS, InvalidInput("collection_clash", collection=name))
    if not checked.errors and in_chroma and _changed(checked.values, stored, STORE_KEYS, defaults):
        address = chroma_address(chosen)
        try:
            async with asyncio.timeout(STORE_SECONDS):
                await ChromaAPI(async_get_clientsession(hass), address).check()
        except TimeoutError:
            checked.fail(const.CONF_VECTOR_HOST, InvalidInput("cannot_connect", url=address.base_url))
        except VectorStoreError as err:
            field, error = STORE_PROBLEMS.get(err.problem, (const.CONF_VECTOR_HOST, "not_chroma"))
            checked.fail(field, InvalidInput(error, url=address.base_url, detail=err.detail))
    is_new = _changed(checked.values, stored, EMBEDDING_KEYS, defaults)
    if provider == const.EMBEDDING_NONE or not is_new or checked.errors:
        return
    typed, is_built_in = chosen[const.CONF_EMBEDDING_BASE_URL], provider == const.EMBEDDING_BUILTIN
    addresses = [""]  # the agent's own server
    if typed:
        addresses = list(dict.fromkeys(candidates(Endpoint(base_url=typed, model="", dialect=provider))))
    failures: list[InvalidInput] = []
    for tried in addresses:
        try:
            await _async_embed(hass, {**chosen, const.CONF_EMBEDDING_BASE_URL: tried})
        except InvalidInput as err:
            failures.append(err)
            continue
        if tried:
            checked.values[const.CONF_EMBEDDING_BASE_URL] = tried
        if not is_built_in:
            _warn_about_cloud(checked, embedding_address({**chosen, **checked.values}), "vector_cloud")
        return
    field = const.CONF_EMBEDDING_PROVIDER if is_built_in else EMBEDDING_PARTS.get(failures[0].part, "base")
    checked.fail(field, failures[0])


async def _async_embed(hass: HomeAssistant, settings: Mapping[str, Any]) -> None:
    """Embed a word. Raises InvalidInput."""
    try:
        async with asyncio.timeout(EMBEDDING_SECONDS):
            embedder = await async_create_embedder(hass, settings)
            assert embedder is not None  # a provider is chosen
            try:
                await embedder.async_embed([SENTENCE])
            finally:
                await embedder.async_close()
    except TimeoutError as err:
        raise InvalidInput("timeout") from err
    except EmbeddingError as err:
        if isinstance(err.__cause__, AuthenticationError):
            raise InvalidInput("invalid_key_template") from err
        if isinstance(cause := err.__cause__, ModelServerError):
            raise failure_of(cause, embedding_endpoint(hass, settings), "embedding_failed") from err
        raise InvalidInput("embedding_failed", detail=err.detail) from err


LEARNING_KEYS: Final = (
    const.CONF_LEARNING,
    const.CONF_LEARNING_SOURCE,
    const.CONF_INFLUX_VERSION,
    const.CONF_INFLUX_URL,
    const.CONF_INFLUX_DATABASE,
    const.CONF_INFLUX_ORG,
    const.CONF_INFLUX_USERNAME,
    const.CONF_INFLUX_PASSWORD,
    const.CONF_INFLUX_TOKEN,
)


async def _async_check_learning(
    hass: HomeAssistant, _entry: ConfigEntry, checked: Checked, stored: Mapping[str, Any]
) -> None:
    """Ask an InfluxDB that was entered or changed, where it is to be learned from.

    The switch and the source are on two pages.
    """
    chosen = {**DEFAULTS, **checked.others, **checked.values}
    wanted = chosen[const.CONF_LEARNING] and chosen[const.CONF_LEARNING_SOURCE] == const.SOURCE_INFLUXDB
    if not wanted or checked.errors:
        return
    is_second = chosen[const.CONF_INFLUX_VERSION] == const.INFLUX_2
    of_second = (const.CONF_INFLUX_ORG, const.CONF_INFLUX_TOKEN) if is_second else ()
    for key in (const.CONF_INFLUX_URL, const.CONF_INFLUX_DATABASE, *of_second):
        if not chosen[key]:
            checked.fail(key, InvalidInput("influxdb_incomplete"))
    if checked.errors or not _changed(chosen, stored, LEARNING_KEYS, DEFAULTS):
        return
    try:
        await influx_source(hass, chosen).async_check()
    except InfluxError as err:
        secret = const.CONF_INFLUX_TOKEN if is_second else const.CONF_INFLUX_PASSWORD
        troubles = {
            InfluxTrouble.UNREACHABLE: (const.CONF_INFLUX_URL, "cannot_connect"),
            InfluxTrouble.REFUSED: (secret, "influxdb_refused"),
            InfluxTrouble.MISSING: (const.CONF_INFLUX_DATABASE, "influxdb_missing"),
        }
        field, error = troubles.get(err.trouble, (const.CONF_INFLUX_URL, "influxdb_failed"))
        checked.fail(field, InvalidInput(error, url=chosen[const.CONF_INFLUX_URL], detail=err.detail))


async def _async_check_channels(
    hass: HomeAssistant, entry: ConfigEntry, checked: Checked, _stored: Mapping[str, Any]
) -> None:
    """Look whether targets and chats are there, and whether the persons can answer at all."""
    for item in checked.values.get(const.CONF_NOTIFY_TARGETS, []):
        _check_person(hass, checked, const.CONF_NOTIFY_TARGETS, item[PERSON])
        for target in item[TARGETS]:
            if route_to(hass, target) is None:
                checked.fail(const.CONF_NOTIFY_TARGETS, InvalidInput("notify_target_missing", target=target))
    chats = read_chats(checked.values.get(const.CONF_TELEGRAM_CHATS, []))
    if not checked.values.get(const.CONF_TELEGRAM):
        return
    if not hass.config_entries.async_loaded_entries(TELEGRAM):
        checked.fail(const.CONF_TELEGRAM, InvalidInput("telegram_missing"))
        return
    if not chats and const.CONF_TELEGRAM_CHATS not in checked.errors:
        checked.fail(const.CONF_TELEGRAM_CHATS, InvalidInput("telegram_no_chats"))
    known = {chat for chat, _title in bot_chats(hass)}
    taken = {
        chat: other.title
        for other in hass.config_entries.async_entries(DOMAIN)
        if other is not entry and other.options.get(const.CONF_TELEGRAM)
        for chat in read_chats(other.options.get(const.CONF_TELEGRAM_CHATS, []))
    }
    for chat, person in chats.items():
        _check_person(hass, checked, const.CONF_TELEGRAM_CHATS, person)
        if chat not in known:
            checked.fail(const.CONF_TELEGRAM_CHATS, InvalidInput("telegram_chat_unknown", chat=str(chat)))
        if chat in taken:
            error = InvalidInput("telegram_chat_taken", chat=str(chat), title=taken[chat])
            checked.fail(const.CONF_TELEGRAM_CHATS, error)


def _check_person(hass: HomeAssistant, checked: Checked, field: str, person: str) -> None:
    """Report a person without a user: no one could be identified by it."""
    if user_id_of(hass, person) is None:
        checked.fail(field, InvalidInput("person_without_user", person=person))


async def _async_check_safety(
    hass: HomeAssistant, _entry: ConfigEntry, checked: Checked, stored: Mapping[str, Any]
) -> None:
    """Refuse rules that can never apply, and warn of what they leave open; keep hashes of typed PINs."""
    pin = checked.values.get(const.CONF_POLICY_PIN)
    if pin and pin != stored.get(const.CONF_POLICY_PIN):
        await _async_hash(hass, checked, const.CONF_POLICY_PIN, checked.values, const.CONF_POLICY_PIN)
    own = {item[PERSON]: item[PIN] for item in stored.get(const.CONF_POLICY_PINS, [])}
    for item in checked.values.get(const.CONF_POLICY_PINS, []):
        _check_person(hass, checked, const.CONF_POLICY_PINS, item[PERSON])
        if item[PIN] == SAVED and item[PERSON] in own:
            item[PIN] = own[item[PERSON]]
        else:
            await _async_hash(hass, checked, const.CONF_POLICY_PINS, item, PIN)
    values = {**checked.others, **checked.values}
    rules = values.get(const.CONF_POLICY_CHOICES, [])
    if const.CONF_POLICY_PIN not in values and any(rule[DECISION] == PIN for rule in rules):
        checked.fail(const.CONF_POLICY_CHOICES, InvalidInput("choice_without_pin"))
    # Stored rules that match nothing stay; `watching/unmatched.py` reports them.
    new = {
        option: [
            rule
            for rule in rules_of(option, checked.values.get(option, []))
            if rule not in set(rules_of(option, stored.get(option, [])))
        ]
        for option in (*const.POLICY_RULES, const.CONF_POLICY_CHOICES)
    }
    if typed := [rule for rules in new.values() for rule in rules]:
        names = await async_rule_names(hass, typed)
        for option, rules in new.items():
            if wrong := next((rule for rule in rules if not names.has(rule)), None):
                checked.fail(option, InvalidInput("rule_unknown", rule=wrong[:60]))
    await async_check_choices(hass, checked, stored)


async def _async_hash(
    hass: HomeAssistant, checked: Checked, field: str, values: dict[str, Any], key: str
) -> None:
    """Put the hash of a typed PIN in its place."""
    pin: str = values[key]
    if pin.isascii() and pin.isdigit() and MIN_DIGITS <= len(pin) <= MAX_DIGITS:
        values[key] = await hass.async_add_executor_job(hash_pin, pin)
    else:
        checked.fail(field, InvalidInput("invalid_pin"))


async def _async_check_prompt(
    _hass: HomeAssistant, _entry: ConfigEntry, checked: Checked, stored: Mapping[str, Any]
) -> None:
    """Ask for a prompt where the default one is off; a default that depends on the prompt is not stored."""
    quick = const.CONF_QUICK_CONFIRMATIONS
    if quick not in stored and checked.values.get(quick) == defaults_of(stored)[quick]:
        checked.values.pop(quick, None)
    if (
        not checked.values.get(const.CONF_PROMPT_USE_DEFAULT, True)
        and const.CONF_PROMPT_CUSTOM not in checked.values
    ):
        checked.fail(const.CONF_PROMPT_CUSTOM, InvalidInput("prompt_missing"))


CHECKS: Final[dict[str, Check]] = {
    "answers": _async_check_prompt,
    "prompt": _async_check_prompt,
    "web": _async_check_web,
    "memory": _async_check_learning,
    "memory_details": _async_check_learning,
    "permissions": _async_check_safety,
    "safety": _async_check_safety,
    "messages": _async_check_channels,
    "vector_store": _async_check_vector_store,
}
"""The check of each page that has one."""
