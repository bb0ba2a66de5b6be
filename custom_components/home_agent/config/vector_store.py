"""The page Vector store: is the store there, does the embedding model answer, are the collections filled."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import yarl

from homeassistant.config_entries import ConfigEntry, ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession

from ..connection import embedding_address, embedding_endpoint
from ..const import (
    BACKEND_CHROMA,
    CONF_COLLECTIONS,
    CONF_EMBEDDING_API_KEY,
    CONF_EMBEDDING_BASE_URL,
    CONF_EMBEDDING_MODEL,
    CONF_EMBEDDING_PROVIDER,
    CONF_VECTOR_BACKEND,
    CONF_VECTOR_COLLECTION,
    CONF_VECTOR_DATABASE,
    CONF_VECTOR_HOST,
    CONF_VECTOR_PORT,
    CONF_VECTOR_SSL,
    CONF_VECTOR_TENANT,
    CONF_VECTOR_TOKEN,
    DEFAULTS,
    EMBEDDING_BUILTIN,
    EMBEDDING_NONE,
)
from ..errors import AuthenticationError, InvalidInput
from ..inference.errors import ModelServerError
from ..inference.models import Endpoint
from ..knowledge.indexer import knowledge_collection
from ..knowledge.search import async_create_embedder, chroma_address
from ..vector.chroma import ChromaAddress, ChromaAPI, ChromaStore
from ..vector.embeddings import EmbeddingError
from ..vector.store import StoreProblem, VectorStoreError
from .fields import Checked, Values, normalise_url
from .probe import EMBEDDING_ERROR_KEYS, candidates, failure_of
from .servers import warn_about_cloud

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


async def async_check_vector_store(
    hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any], entry: ConfigEntry
) -> None:
    """Test the changed values and complete them, then report the findings."""
    _take_apart(checked)
    _check_choices(checked)
    if checked.errors:
        return
    before = {**DEFAULTS, **entry.data, **stored}
    chosen = {**DEFAULTS, **entry.data, **checked.values}
    there: Sequence[str] = ()
    checked.placeholders["store"] = EMBEDDED
    new_store = any(chosen[key] != before[key] for key in STORE_KEYS)
    if chosen[CONF_VECTOR_BACKEND] == BACKEND_CHROMA and new_store:
        there = await _async_try_chroma(hass, checked, chroma_address(chosen))
    new_model = any(chosen[key] != before[key] for key in EMBEDDING_KEYS)
    if chosen[CONF_EMBEDDING_PROVIDER] != EMBEDDING_NONE and new_model and not checked.errors:
        await _async_try_embedding(hass, checked, chosen)
    missing = [name for name in chosen[CONF_COLLECTIONS] if name not in there and not _filled(entry, name)]
    if missing and new_store and checked.report != "vector_cloud":
        checked.placeholders["collections"] = ", ".join(missing)
        checked.report = "vector_missing"


def _take_apart(checked: Checked) -> None:
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


def _check_choices(checked: Checked) -> None:
    chosen: Values = {**DEFAULTS, **checked.values}
    provider, house = chosen[CONF_EMBEDDING_PROVIDER], chosen[CONF_VECTOR_COLLECTION]
    if chosen[CONF_VECTOR_BACKEND] == BACKEND_CHROMA and provider == EMBEDDING_NONE:
        checked.fail(CONF_EMBEDDING_PROVIDER, InvalidInput("embedding_needed"))
    if provider not in (EMBEDDING_NONE, EMBEDDING_BUILTIN) and not chosen[CONF_EMBEDDING_MODEL]:
        checked.fail(CONF_EMBEDDING_MODEL, InvalidInput("embedding_model_missing"))
    for name in (house, knowledge_collection(house)):
        if name in chosen[CONF_COLLECTIONS]:
            checked.fail(CONF_COLLECTIONS, InvalidInput("collection_clash", collection=name))


def _filled(entry: ConfigEntry, collection: str) -> bool:
    return entry.state is ConfigEntryState.LOADED and entry.runtime_data.library.has(collection)


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
    """Embed a word, complete the address, and return the dimension of the answer."""
    failures: list[tuple[str, InvalidInput]] = []
    for address in _addresses(chosen):
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
        if chosen[CONF_EMBEDDING_PROVIDER] != EMBEDDING_BUILTIN:
            warn_about_cloud(checked, embedding_address({**chosen, **checked.values}), "vector_cloud")
        return
    checked.fail(*failures[0])


def _addresses(chosen: Values) -> list[str]:
    """Return the addresses at which the embedding model may answer; empty is the agent's own server."""
    typed = chosen[CONF_EMBEDDING_BASE_URL]
    if not typed:
        return [""]
    dialect = chosen[CONF_EMBEDDING_PROVIDER]
    found = candidates(Endpoint(base_url=typed, model="", dialect=dialect))
    return list(dict.fromkeys(found))


async def _async_dimension(hass: HomeAssistant, settings: Mapping[str, Any]) -> int:
    """Return the dimension of the chosen model's vectors. Raises InvalidInput."""
    try:
        async with asyncio.timeout(EMBEDDING_SECONDS):
            return await _async_embed(hass, settings)
    except TimeoutError as err:
        raise InvalidInput("timeout") from err
    except EmbeddingError as err:
        if isinstance(err.__cause__, AuthenticationError):
            raise InvalidInput("invalid_key_template") from err
        if isinstance(cause := err.__cause__, ModelServerError):
            raise failure_of(cause, embedding_endpoint(hass, settings), EMBEDDING_ERROR_KEYS) from err
        raise InvalidInput("embedding_failed", detail=err.detail) from err


async def _async_embed(hass: HomeAssistant, settings: Mapping[str, Any]) -> int:
    """Embed a word and return the length of its vector. Raises EmbeddingError."""
    embedder = await async_create_embedder(hass, settings)
    assert embedder is not None  # a provider is chosen
    try:
        (vector,) = await embedder.async_embed([SENTENCE])
    finally:
        await embedder.async_close()
    return len(vector)
