"""Reaching a model server from a form: which address answers, which models it has, what a model can do."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import yarl

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.selector import SelectOptionDict
from homeassistant.setup import async_setup_component

from ..agent.describe import async_phrase
from ..connection import endpoint
from ..const import CONF_MODEL, DOMAIN
from ..errors import InvalidInput
from ..inference.client import ModelClient
from ..inference.dialects.base import join_address, without_path
from ..inference.models import Dialect, Endpoint, ErrorKind, ModelServerError, Probe
from ..inference.probing import probe
from ..regex import lazy_regex
from ..runtime import DATA_SHARED, SharedData

GOOD, USABLE = 85, 70
"""Means of the three measurements, in percent, from which a model is recommended, and makes few mistakes."""
NO_CHAT_MODELS: Final = (
    *("embed", "whisper", "tts", "rerank", "moderation", "dall-e", "image", "bge-", "clip", "minilm"),
    *("transcribe", "realtime", "audio", "guard"),
)
_WORDS: Final = lazy_regex(r"[a-z]+|\d+(?:\.\d+)?")
_FILE: Final = json.loads(Path(__file__).with_name("recommended_models.json").read_text(encoding="utf-8"))
"""Read with the module, which the import executor loads. The source is named in docs/install.md."""


GRADES: Final = ("good", "usable", "unknown", "weak")
"""How well a model does, the best first."""


class Measured(NamedTuple):
    """What was measured of a model, and the memory in gigabytes that it needs, None if that is unknown."""

    score: float
    gigabytes: int | None


def _words(name: str) -> tuple[str, ...]:
    """Return the words and numbers of a name, so that `gemma4:12b` and `gemma-4-12b` are the same."""
    return tuple(_WORDS.findall(name.lower()))


TABLE: Final = {
    _words(name): Measured((row["commands"] + row["simple"] + row["questions"]) / 3, row.get("gigabytes"))
    for row in _FILE
    for name in row["names"]
}


def measured(model: str) -> Measured | None:
    """Return what is known about a model, by the family and size that its name begins with."""
    words = _words(model.rstrip("/").rpartition("/")[2])
    begun = (names for names in sorted(TABLE, key=len, reverse=True) if words[: len(names)] == names)
    return TABLE.get(next(begun, ()))


def _grade(row: Measured | None) -> str:
    if row is None:
        return "unknown"
    return "good" if row.score >= GOOD else "usable" if row.score >= USABLE else "weak"


def ranked(models: Iterable[str]) -> list[str]:
    """Return the models to offer, the best first; those that do not chat are left out if others do."""
    listed = list(models)
    chat = [model for model in listed if not any(part in model.lower() for part in NO_CHAT_MODELS)]

    def place(model: str) -> tuple[int, float, str]:
        row = measured(model)
        return GRADES.index(_grade(row)), -row.score if row else 0, model

    return sorted(chat or listed, key=place)


async def async_options(
    hass: HomeAssistant, language: str, models: Sequence[str], *, at_home: bool
) -> list[SelectOptionDict]:
    """Return the models as a form offers them, with what is known about each.

    How much memory a model needs matters only `at_home`.
    """
    options: list[SelectOptionDict] = []
    for model in ranked(models):
        row, label = measured(model), model
        if row is not None:
            gigabytes = row.gigabytes if at_home else None
            key = f"model_{_grade(row)}" if gigabytes is None else f"model_{_grade(row)}_memory"
            label = await async_phrase(hass, language, key, model=model, gigabytes=str(gigabytes))
        options.append(SelectOptionDict(value=model, label=label))
    return options


LIST_SECONDS: Final = 20
PROBE_SECONDS: Final = 90

_VERSIONED = lazy_regex(r"/v\d+[a-z0-9]*(/|$)")
_NO_LIST = frozenset({501, 505})
_TELLING: Final = (
    "no_model_list",
    "not_an_llm_server",
    "server_error",
    "rate_limited",
    "invalid_auth",
    "key_needed",
)
"""Errors of several addresses of one server, the one worth showing last."""

ERROR_KEYS: Final[dict[ErrorKind, str]] = {
    ErrorKind.AUTH: "invalid_auth",
    ErrorKind.RATE_LIMIT: "rate_limited",
    ErrorKind.TIMEOUT: "timeout",
    ErrorKind.UNAVAILABLE: "cannot_connect",
    ErrorKind.MALFORMED: "not_an_llm_server",
    ErrorKind.MODEL_NOT_FOUND: "model_not_found",
}
"""The sentence of a form for each kind of error; the others are refusals."""


class Server(NamedTuple):
    """A model server that answered: its completed address and the models it lists."""

    base_url: str
    models: list[str]


@callback
def typed_endpoint(hass: HomeAssistant, settings: Mapping[str, Any]) -> Endpoint:
    """Return the server that a form describes; raise InvalidInput for what cannot be sent."""
    typed = endpoint(hass, {CONF_MODEL: "", **settings})
    if typed.unusable:
        raise InvalidInput("invalid_key_template")
    if not (typed.api_key.isascii() and typed.api_key.isprintable()):
        raise InvalidInput("invalid_key")
    return typed


def candidates(typed: Endpoint) -> Iterator[str]:
    """Yield the addresses at which a server of a known dialect may answer, the best first."""
    url = yarl.URL(typed.base_url)
    if typed.dialect == Dialect.OLLAMA:
        url = without_path(url, "/v1", "/api")
    elif typed.dialect == Dialect.OPENAI and not _VERSIONED.search(url.path):
        yield str(join_address(url, "/v1"))
        if url.path == "/":
            return
    yield str(url).rstrip("/")


async def async_find_server(hass: HomeAssistant, typed: Endpoint) -> Server:
    """Return the server at an address as it was typed; raise InvalidInput that says why there is none."""
    async with _explained(typed, LIST_SECONDS):
        dialect = (await ModelClient(async_get_clientsession(hass), typed).wire()).dialect
    known = replace(typed, dialect=dialect)
    failures: list[InvalidInput] = []
    for url in candidates(known):
        candidate = replace(known, base_url=url)
        try:
            async with _explained(candidate, LIST_SECONDS):
                listed = await ModelClient(async_get_clientsession(hass), candidate).model_list()
            return Server(url, [model["id"] for model in listed])
        except InvalidInput as err:
            if err.key not in _TELLING:
                raise
            failures.append(err)
    failure = max(failures, key=lambda err: _TELLING.index(err.key))
    if failure.key == "no_model_list" and (typed.dialect != "auto" or known.dialect == Dialect.AZURE):
        return Server(typed.base_url, [])
    raise failure


async def async_probe_model(hass: HomeAssistant, chosen: Endpoint) -> Probe:
    """Ask a model to call a tool; raise InvalidInput when it cannot be asked at all."""
    async with _explained(chosen, PROBE_SECONDS):
        return await probe(ModelClient(async_get_clientsession(hass), chosen))


@asynccontextmanager
async def _explained(asked: Endpoint, seconds: float) -> AsyncIterator[None]:
    """Turn failures of a server, and its silence, into sentences of a form."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as err:
        raise InvalidInput("timeout") from err
    except ModelServerError as err:
        raise failure_of(err, asked, "model_refused") from err


def failure_of(err: ModelServerError, asked: Endpoint, refused: str) -> InvalidInput:
    """Return the sentence of a form for what a server answered; `refused` is that of a refusal.

    A server that is asked for no model is asked which it has.
    """
    key = ERROR_KEYS.get(err.kind, refused)
    if not asked.model and (key in (refused, "model_not_found") or err.status in _NO_LIST):
        key = "no_model_list"
    elif err.kind is ErrorKind.UNAVAILABLE and err.status is not None:
        key = "server_error"
    elif key == "invalid_auth" and not asked.api_key and not asked.headers:
        key = "key_needed"
    return InvalidInput(key, url=asked.base_url, model=asked.model, detail=err.detail)


async def async_shared(hass: HomeAssistant) -> SharedData:
    """Return what all agents share, also before the first one is added.

    An integration that is in `configuration.yaml` was set up when Home Assistant started.
    """
    if DATA_SHARED not in hass.data:
        await async_setup_component(hass, DOMAIN, {})
    return hass.data[DATA_SHARED]
