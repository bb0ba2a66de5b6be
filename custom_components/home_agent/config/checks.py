"""Checks of the pages of the options that look further than a field: servers are asked, names are looked up.

The module loads when such a page is saved.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import yarl

from homeassistant.config_entries import ConfigEntry, ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession

from ..channels.telegram import read_chats
from ..connection import embedding_address, embedding_endpoint, is_cloud
from ..const import (
    BACKEND_CHROMA,
    CONF_API_KEY,
    CONF_BASE_URL,
    CONF_COLLECTIONS,
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
    CONF_INFLUX_DATABASE,
    CONF_INFLUX_ORG,
    CONF_INFLUX_PASSWORD,
    CONF_INFLUX_TOKEN,
    CONF_INFLUX_URL,
    CONF_INFLUX_USERNAME,
    CONF_INFLUX_VERSION,
    CONF_LEARNING,
    CONF_LEARNING_SOURCE,
    CONF_MODEL,
    CONF_NOTIFY_TARGETS,
    CONF_POLICY_PIN,
    CONF_POLICY_PROFILES,
    CONF_PROMPT_CUSTOM,
    CONF_PROMPT_USE_DEFAULT,
    CONF_QUICK_CONFIRMATIONS,
    CONF_SEARCH_KEY,
    CONF_SEARCH_PROVIDER,
    CONF_SEARCH_URL,
    CONF_TELEGRAM,
    CONF_TELEGRAM_CHATS,
    CONF_VECTOR_BACKEND,
    CONF_VECTOR_COLLECTION,
    CONF_VECTOR_DATABASE,
    CONF_VECTOR_HOST,
    CONF_VECTOR_PORT,
    CONF_VECTOR_SSL,
    CONF_VECTOR_TENANT,
    CONF_VECTOR_TOKEN,
    DEFAULTS,
    DOMAIN,
    EMBEDDING_BUILTIN,
    EMBEDDING_NONE,
    INFLUX_1,
    INFLUX_2,
    POLICY_RULES,
    SEARCH_NONE,
    SOURCE_INFLUXDB,
)
from ..errors import AuthenticationError, InvalidInput
from ..inference.models import Endpoint, ModelServerError
from ..knowledge.indexer import knowledge_collection
from ..knowledge.search import async_create_embedder, chroma_address
from ..knowledge.speaker import PERSON
from ..memory.learner.learner import influx_source
from ..memory.learner.sources import InfluxError, InfluxTrouble
from ..safety.spoken_numbers import MAX_DIGITS, MIN_DIGITS, hash_pin
from ..settings import defaults_of
from ..tools.people import TARGETS, route_to, user_id_of
from ..tools.search import PROVIDERS, SearchError, SearchTrouble, search_provider
from ..vector.chroma import ChromaAddress, ChromaAPI, ChromaStore
from ..vector.embeddings import EmbeddingError
from ..vector.store import StoreProblem, VectorStoreError
from .choices import async_labels, check_choices
from .fields import Checked, Values, normalise_url
from .lists import TELEGRAM, bot_chats
from .probe import (
    EMBEDDING_ERROR_KEYS,
    async_find_server,
    async_probe_model,
    candidates,
    failure_of,
    typed_endpoint,
)
from .rule_names import async_applies, async_rule_names, profiles_of, rules_of, whom

type Check = Callable[[HomeAssistant, ConfigEntry, Checked, Mapping[str, Any]], Awaitable[None]]
"""Takes the agent, a page's checked values, which it may complete or refuse, and the stored options."""

KEYS: Final = (CONF_SEARCH_PROVIDER, CONF_SEARCH_URL, CONF_SEARCH_KEY)
QUERY: Final = "weather"
"""Searched to see whether that works."""


async def _async_check_web(
    hass: HomeAssistant, _entry: ConfigEntry, checked: Checked, stored: Mapping[str, Any]
) -> None:
    """Try the search service and the other models, where they are entered or changed."""
    await _async_check_search(hass, checked, stored)
    for server in (FALLBACK, EXTERNAL):
        await _async_check_server(hass, checked, stored, server)
        checked.keep_report()


async def _async_check_search(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any]) -> None:
    """Search once where the service, its address or its key was changed."""
    chosen = {key: checked.values.get(key, DEFAULTS[key]) for key in KEYS}
    before = {key: stored.get(key, DEFAULTS[key]) for key in KEYS}
    if checked.errors or chosen[CONF_SEARCH_PROVIDER] == SEARCH_NONE or chosen == before:
        return
    made = PROVIDERS[chosen[CONF_SEARCH_PROVIDER]]
    if not (chosen[CONF_SEARCH_URL] or made.default_url):
        checked.fail(CONF_SEARCH_URL, InvalidInput("search_url_missing"))
        return
    if made.needs_key and not chosen[CONF_SEARCH_KEY]:
        checked.fail(CONF_SEARCH_KEY, InvalidInput("search_key_missing"))
        return
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
        match err.trouble:
            case SearchTrouble.REFUSED:
                checked.fail(CONF_SEARCH_KEY, InvalidInput("invalid_auth"))
            case SearchTrouble.RATE_LIMIT:
                checked.fail(CONF_SEARCH_PROVIDER, InvalidInput("rate_limited"))
            case SearchTrouble.BLOCKED:
                checked.fail(CONF_SEARCH_PROVIDER, InvalidInput("search_blocked"))
            case SearchTrouble.UNREACHABLE:
                checked.fail(CONF_SEARCH_URL, InvalidInput("cannot_connect", url=provider.address))
            case _:
                checked.fail(CONF_SEARCH_URL, InvalidInput("search_failed", detail=str(err)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFields:
    """The fields that describe one server, and what is said of it."""

    base_url: str
    api_key: str
    model: str
    switch: str | None
    """The field that switches it on; None if it is in use once it is entered."""
    name: str
    """What its errors and reports begin with."""

    def chosen(self, values: Mapping[str, Any]) -> dict[str, str] | None:
        """Return the values of the fields, None if the server is not in use."""
        found = {key: values.get(key, "") for key in (self.base_url, self.api_key, self.model)}
        return found if (values.get(self.switch) if self.switch else any(found.values())) else None


FALLBACK: Final = ServerFields(
    base_url=CONF_FALLBACK_BASE_URL,
    api_key=CONF_FALLBACK_API_KEY,
    model=CONF_FALLBACK_MODEL,
    switch=None,
    name="fallback",
)
EXTERNAL: Final = ServerFields(
    base_url=CONF_EXTERNAL_BASE_URL,
    api_key=CONF_EXTERNAL_API_KEY,
    model=CONF_EXTERNAL_MODEL,
    switch=CONF_EXTERNAL,
    name="external",
)


async def _async_check_server(
    hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any], fields: ServerFields
) -> None:
    """Reach a server that is switched on or changed, ask its model for a word, and complete its address."""
    chosen = fields.chosen(checked.values)
    if chosen is None or checked.errors:
        return
    for key in (fields.base_url, fields.model):
        if not chosen[key]:
            checked.fail(key, InvalidInput(f"{fields.name}_incomplete"))
    if checked.errors or chosen == fields.chosen(stored):
        return
    settings = {
        CONF_BASE_URL: chosen[fields.base_url],
        CONF_API_KEY: chosen[fields.api_key],
        CONF_MODEL: chosen[fields.model],
    }
    try:
        typed = typed_endpoint(hass, settings)
        server = await async_find_server(hass, typed)
        await async_probe_model(hass, replace(typed, base_url=server.base_url))
    except InvalidInput as err:
        checked.fail({"key": fields.api_key, "model": fields.model}.get(err.part, fields.base_url), err)
        return
    checked.values[fields.base_url] = server.base_url
    _warn_about_cloud(checked, server.base_url, f"{fields.name}_cloud")


def _warn_about_cloud(checked: Checked, address: str, step: str) -> None:
    """Show in a step which data leaves the home, if this server is outside it."""
    if is_cloud(address):
        checked.report = step
        checked.placeholders["host"] = yarl.URL(address).host or ""


EMBEDDING_KEYS: Final = (
    CONF_EMBEDDING_PROVIDER,
    CONF_EMBEDDING_BASE_URL,
    CONF_EMBEDDING_MODEL,
    CONF_EMBEDDING_API_KEY,
)
STORE_KEYS: Final = (
    CONF_VECTOR_BACKEND,
    CONF_VECTOR_HOST,
    CONF_VECTOR_PORT,
    CONF_VECTOR_SSL,
    CONF_VECTOR_TOKEN,
    CONF_VECTOR_TENANT,
    CONF_VECTOR_DATABASE,
    CONF_COLLECTIONS,
)
EMBEDDING_PARTS: Final = {
    "url": CONF_EMBEDDING_BASE_URL,
    "key": CONF_EMBEDDING_API_KEY,
    "model": CONF_EMBEDDING_MODEL,
}
EMBEDDING_SECONDS: Final = 90
"""A server may load its model first, and the built-in one is installed."""
STORE_SECONDS: Final = 20
EMBEDDED: Final = "Home Assistant"
"""What the store without a server is called, in every language."""
BUILTIN: Final = "universal-sentence-encoder-multilingual-3"
SENTENCE: Final = "light"
"""Embedded to see whether that works."""


async def _async_check_vector_store(
    hass: HomeAssistant, entry: ConfigEntry, checked: Checked, stored: Mapping[str, Any]
) -> None:
    """Test the changed values and complete them, then report the findings."""
    _take_apart(checked)
    chosen = {**DEFAULTS, **entry.data, **checked.values}
    provider, house = chosen[CONF_EMBEDDING_PROVIDER], chosen[CONF_VECTOR_COLLECTION]
    if chosen[CONF_VECTOR_BACKEND] == BACKEND_CHROMA and provider == EMBEDDING_NONE:
        checked.fail(CONF_EMBEDDING_PROVIDER, InvalidInput("embedding_needed"))
    if provider not in (EMBEDDING_NONE, EMBEDDING_BUILTIN) and not chosen[CONF_EMBEDDING_MODEL]:
        checked.fail(CONF_EMBEDDING_MODEL, InvalidInput("embedding_model_missing"))
    for name in (house, knowledge_collection(house)):
        if name in chosen[CONF_COLLECTIONS]:
            checked.fail(CONF_COLLECTIONS, InvalidInput("collection_clash", collection=name))
    if checked.errors:
        return
    before = {**DEFAULTS, **entry.data, **stored}
    there: Sequence[str] = ()
    checked.placeholders["store"] = EMBEDDED
    new_store = any(chosen[key] != before[key] for key in STORE_KEYS)
    if chosen[CONF_VECTOR_BACKEND] == BACKEND_CHROMA and new_store:
        there = await _async_try_chroma(hass, checked, chroma_address(chosen))
    new_model = any(chosen[key] != before[key] for key in EMBEDDING_KEYS)
    if provider != EMBEDDING_NONE and new_model and not checked.errors:
        await _async_try_embedding(hass, checked, chosen)
    library = entry.runtime_data.library if entry.state is ConfigEntryState.LOADED else None
    missing = [
        name for name in chosen[CONF_COLLECTIONS] if name not in there and not (library and library.has(name))
    ]
    if missing and new_store and checked.report != "vector_cloud":
        checked.placeholders["collections"] = ", ".join(missing)
        checked.report = "vector_missing"


def _take_apart(checked: Checked) -> None:
    """Split an address that was typed as the host."""
    typed: str = checked.values.get(CONF_VECTOR_HOST, "")
    if not typed or ("/" not in typed and typed.count(":") != 1):
        return
    try:
        url = yarl.URL(normalise_url(typed))
    except InvalidInput as err:
        checked.fail(CONF_VECTOR_HOST, err)
        return
    secure = url.scheme == "https"
    checked.values[CONF_VECTOR_HOST] = url.host
    if secure or url.explicit_port:
        checked.values[CONF_VECTOR_PORT] = url.port
    if secure or "://" in typed:
        checked.values[CONF_VECTOR_SSL] = secure


async def _async_try_chroma(hass: HomeAssistant, checked: Checked, address: ChromaAddress) -> Sequence[str]:
    """Reach the server, the tenant and the database; return the collections that are there."""
    session = async_get_clientsession(hass)
    api = ChromaAPI(session, address)
    names = {"url": address.base_url, "tenant": address.tenant, "database": address.database}
    steps: tuple[tuple[Callable[[], Awaitable[Any]], str, InvalidInput], ...] = (
        (api.version, CONF_VECTOR_HOST, InvalidInput("not_chroma", **names)),
        (api.find_tenant, CONF_VECTOR_TENANT, InvalidInput("tenant_missing", **names)),
        (partial(api.get, ""), CONF_VECTOR_DATABASE, InvalidInput("database_missing", **names)),
        (
            ChromaStore(session, address).async_collections,
            CONF_VECTOR_HOST,
            InvalidInput("not_chroma", **names),
        ),
    )
    answers: list[Any] = []
    for ask, field, otherwise in steps:
        try:
            async with asyncio.timeout(STORE_SECONDS):
                answers.append(await ask())
        except TimeoutError:
            checked.fail(CONF_VECTOR_HOST, InvalidInput("cannot_connect", **names))
        except VectorStoreError as err:
            if err.problem is StoreProblem.UNAVAILABLE:
                checked.fail(CONF_VECTOR_HOST, InvalidInput("cannot_connect", **names))
            elif err.problem is StoreProblem.REFUSED:
                checked.fail(CONF_VECTOR_TOKEN, InvalidInput("chroma_refused", detail=err.detail))
            else:
                otherwise.placeholders["detail"] = err.detail
                checked.fail(field, otherwise)
        if checked.errors:
            return ()
    checked.placeholders["store"] = f"Chroma {answers[0]}, {address.base_url}"
    return list(answers[-1])


async def _async_try_embedding(hass: HomeAssistant, checked: Checked, chosen: Values) -> None:
    """Embed a word, complete the address, and report the dimension of the answer."""
    typed, provider = chosen[CONF_EMBEDDING_BASE_URL], chosen[CONF_EMBEDDING_PROVIDER]
    addresses = [""]  # the agent's own server
    if typed:
        found = candidates(Endpoint(base_url=typed, model="", dialect=provider))
        addresses = list(dict.fromkeys(found))
    failures: list[tuple[str, InvalidInput]] = []
    for address in addresses:
        try:
            dimension = await _async_dimension(hass, {**chosen, CONF_EMBEDDING_BASE_URL: address})
        except InvalidInput as err:
            field = EMBEDDING_PARTS.get(err.part, "base")
            if err.key == "embedding_failed" and not chosen[CONF_EMBEDDING_MODEL]:
                field = CONF_EMBEDDING_PROVIDER
            failures.append((field, err))
            continue
        if address:
            checked.values[CONF_EMBEDDING_BASE_URL] = address
        checked.placeholders["model"] = chosen[CONF_EMBEDDING_MODEL] or BUILTIN
        checked.placeholders["dimension"] = str(dimension)
        checked.report = "vector_checked"
        if provider != EMBEDDING_BUILTIN:
            _warn_about_cloud(checked, embedding_address({**chosen, **checked.values}), "vector_cloud")
        return
    checked.fail(*failures[0])


async def _async_dimension(hass: HomeAssistant, settings: Mapping[str, Any]) -> int:
    """Return the dimension of the chosen model's vectors. Raises InvalidInput."""
    try:
        async with asyncio.timeout(EMBEDDING_SECONDS):
            embedder = await async_create_embedder(hass, settings)
            assert embedder is not None  # a provider is chosen
            try:
                (vector,) = await embedder.async_embed([SENTENCE])
            finally:
                await embedder.async_close()
            return len(vector)
    except TimeoutError as err:
        raise InvalidInput("timeout") from err
    except EmbeddingError as err:
        if isinstance(err.__cause__, AuthenticationError):
            raise InvalidInput("invalid_key_template") from err
        if isinstance(cause := err.__cause__, ModelServerError):
            raise failure_of(cause, embedding_endpoint(hass, settings), EMBEDDING_ERROR_KEYS) from err
        raise InvalidInput("embedding_failed", detail=err.detail) from err


INFLUX_KEYS: Final = (
    CONF_INFLUX_VERSION,
    CONF_INFLUX_URL,
    CONF_INFLUX_DATABASE,
    CONF_INFLUX_ORG,
    CONF_INFLUX_USERNAME,
    CONF_INFLUX_PASSWORD,
    CONF_INFLUX_TOKEN,
)
NEEDED: Final = {
    INFLUX_1: (CONF_INFLUX_URL, CONF_INFLUX_DATABASE),
    INFLUX_2: (CONF_INFLUX_URL, CONF_INFLUX_DATABASE, CONF_INFLUX_ORG, CONF_INFLUX_TOKEN),
}
KEY_FIELD: Final = {INFLUX_1: CONF_INFLUX_PASSWORD, INFLUX_2: CONF_INFLUX_TOKEN}


async def _async_check_learning(
    hass: HomeAssistant, _entry: ConfigEntry, checked: Checked, stored: Mapping[str, Any]
) -> None:
    """Ask an InfluxDB that was entered or changed, where it is to be learned from.

    The switch and the source are on two pages.
    """
    chosen = {**DEFAULTS, **checked.others, **checked.values}
    before = {**DEFAULTS, **stored}
    wanted = chosen[CONF_LEARNING] and chosen[CONF_LEARNING_SOURCE] == SOURCE_INFLUXDB
    if not wanted or checked.errors:
        return
    for key in NEEDED[chosen[CONF_INFLUX_VERSION]]:
        if not chosen[key]:
            checked.fail(key, InvalidInput("influxdb_incomplete"))
    watched = (*INFLUX_KEYS, CONF_LEARNING, CONF_LEARNING_SOURCE)
    if checked.errors or all(chosen[key] == before[key] for key in watched):
        return
    try:
        await influx_source(hass, chosen).async_check()
    except InfluxError as err:
        match err.trouble:
            case InfluxTrouble.UNREACHABLE:
                checked.fail(CONF_INFLUX_URL, InvalidInput("cannot_connect", url=chosen[CONF_INFLUX_URL]))
            case InfluxTrouble.REFUSED:
                key = KEY_FIELD[chosen[CONF_INFLUX_VERSION]]
                checked.fail(key, InvalidInput("influxdb_refused", detail=err.detail))
            case InfluxTrouble.MISSING:
                checked.fail(CONF_INFLUX_DATABASE, InvalidInput("influxdb_missing", detail=err.detail))
            case _:
                checked.fail(CONF_INFLUX_URL, InvalidInput("influxdb_failed", detail=err.detail))


async def _async_check_channels(
    hass: HomeAssistant, entry: ConfigEntry, checked: Checked, _stored: Mapping[str, Any]
) -> None:
    """Look whether targets and chats are there, and whether the persons can answer at all."""
    for item in checked.values.get(CONF_NOTIFY_TARGETS, []):
        _check_person(hass, checked, CONF_NOTIFY_TARGETS, item[PERSON])
        for target in item[TARGETS]:
            if route_to(hass, target) is None:
                checked.fail(CONF_NOTIFY_TARGETS, InvalidInput("notify_target_missing", target=target))
    chats = read_chats(checked.values.get(CONF_TELEGRAM_CHATS, []))
    if not checked.values.get(CONF_TELEGRAM):
        return
    if not hass.config_entries.async_loaded_entries(TELEGRAM):
        checked.fail(CONF_TELEGRAM, InvalidInput("telegram_missing"))
        return
    if not chats and CONF_TELEGRAM_CHATS not in checked.errors:
        checked.fail(CONF_TELEGRAM_CHATS, InvalidInput("telegram_no_chats"))
    known = {chat for chat, _title in bot_chats(hass)}
    taken = {
        chat: other.title
        for other in hass.config_entries.async_entries(DOMAIN)
        if other is not entry and other.options.get(CONF_TELEGRAM)
        for chat in read_chats(other.options.get(CONF_TELEGRAM_CHATS, []))
    }
    for chat, person in chats.items():
        _check_person(hass, checked, CONF_TELEGRAM_CHATS, person)
        if chat not in known:
            checked.fail(CONF_TELEGRAM_CHATS, InvalidInput("telegram_chat_unknown", chat=str(chat)))
        if chat in taken:
            error = InvalidInput("telegram_chat_taken", chat=str(chat), title=taken[chat])
            checked.fail(CONF_TELEGRAM_CHATS, error)


def _check_person(hass: HomeAssistant, checked: Checked, field: str, person: str) -> None:
    """Report a person without a user: no one could be identified by it."""
    if user_id_of(hass, person) is None:
        checked.fail(field, InvalidInput("person_without_user", person=person))


async def _async_check_safety(
    hass: HomeAssistant, entry: ConfigEntry, checked: Checked, stored: Mapping[str, Any]
) -> None:
    """Refuse rules and profiles that can never apply, and keep a hash of a PIN that was typed."""
    pin = checked.values.get(CONF_POLICY_PIN)
    if pin and pin != stored.get(CONF_POLICY_PIN):
        if pin.isascii() and pin.isdigit() and MIN_DIGITS <= len(pin) <= MAX_DIGITS:
            checked.values[CONF_POLICY_PIN] = await hass.async_add_executor_job(hash_pin, pin)
        else:
            checked.fail(CONF_POLICY_PIN, InvalidInput("invalid_pin"))
    await _async_check_rules(hass, entry, checked, stored)
    before = {each for profile in profiles_of(stored.get(CONF_POLICY_PROFILES)) for each in whom(profile)}
    for profile in profiles_of(checked.values.get(CONF_POLICY_PROFILES)):
        for field, name in whom(profile):
            if (field, name) in before or await async_applies(hass, field, name):
                continue
            has_no_user = hass.states.get(name) is not None
            key = "profile_without_user" if has_no_user else "profile_nobody"
            error = InvalidInput(key, profile=str(profile.get("name", ""))[:60], name=name[:60])
            checked.fail(CONF_POLICY_PROFILES, error)
    check_choices(hass, checked, stored, await async_labels(hass))


async def _async_check_rules(
    hass: HomeAssistant, entry: ConfigEntry, checked: Checked, stored: Mapping[str, Any]
) -> None:
    """Record rules that match nothing. Stored ones stay; `watching/unmatched.py` reports them."""
    new = {
        option: [
            rule
            for rule in rules_of(option, checked.values.get(option, []))
            if rule not in set(rules_of(option, stored.get(option, [])))
        ]
        for option in (*POLICY_RULES, CONF_POLICY_PROFILES)
    }
    typed = [rule for rules in new.values() for rule in rules]
    unreadable = {
        key: checked.placeholders["rule"] for key, error in checked.errors.items() if error == "invalid_rule"
    }
    if not typed and not unreadable:
        return
    names = await async_rule_names(hass, [*typed, *unreadable.values()], entry)
    for option, rules in new.items():
        if wrong := next((rule for rule in rules if not names.has(rule)), None):
            checked.fail(option, await hass.async_add_executor_job(names.error, wrong))
    for option, said in unreadable.items():
        error = await hass.async_add_executor_job(names.error, said)
        if error.key != "rule_unknown":
            del checked.errors[option]
            checked.fail(option, error)


async def _async_check_prompt(
    _hass: HomeAssistant, _entry: ConfigEntry, checked: Checked, stored: Mapping[str, Any]
) -> None:
    """Ask for a prompt where the default one is off; a default that depends on the prompt is not stored."""
    quick = CONF_QUICK_CONFIRMATIONS
    if quick not in stored and checked.values.get(quick) == defaults_of(stored)[quick]:
        checked.values.pop(quick, None)
    if not checked.values.get(CONF_PROMPT_USE_DEFAULT, True) and CONF_PROMPT_CUSTOM not in checked.values:
        checked.fail(CONF_PROMPT_CUSTOM, InvalidInput("prompt_missing"))


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
