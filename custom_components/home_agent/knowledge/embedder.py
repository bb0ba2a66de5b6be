"""The embedder that the options choose."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.requirements import RequirementsNotFound, async_process_requirements

from ..connection import embedding_address, embedding_endpoint
from ..const import (
    CONF_EMBEDDING_KEEP_ALIVE,
    CONF_EMBEDDING_PROVIDER,
    DOMAIN,
    EMBEDDING_BUILTIN,
    EMBEDDING_NONE,
    EMBEDDING_OLLAMA,
    EMBEDDING_OPENAI,
)
from ..errors import AuthenticationError
from ..inference.client import ModelClient
from ..inference.errors import ErrorKind, ModelServerError
from ..inference.quotes import without_quotes
from ..safety.disclosure import AT_HOME, DataPolicy, Disclosure
from ..vector.builtin import REQUIREMENTS, BuiltinModel
from ..vector.embeddings import CachedEmbedder, EmbeddingError, Model

NUMPY: Final = "numpy"
"""Home Assistant pins its version."""
FIRST_BYTE_SECONDS: Final = 60
IDLE_SECONDS: Final = 30
"""A server may have to load the model first."""


class ServedModel:
    """A model on a server that speaks OpenAI's or Ollama's protocol."""

    def __init__(self, client: ModelClient, keep_alive: str | None) -> None:
        """Ask through this client; `keep_alive` is how long the server is to keep the model loaded."""
        self._client = client
        self._keep_alive = keep_alive
        self.fingerprint = f"{client.endpoint.dialect}|{client.endpoint.model}"

    async def async_embed(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return one vector for each text. Raises EmbeddingError."""
        try:
            return await self._client.embed(list(texts), keep_alive=self._keep_alive)
        except ModelServerError as err:
            detail = without_quotes(err.detail, " ".join(texts))
            raise EmbeddingError(detail, refused=err.kind is ErrorKind.AUTH) from err

    async def async_close(self) -> None:
        """Hold nothing: the session is Home Assistant's."""


def _served(hass: HomeAssistant, settings: Mapping[str, Any]) -> Model:
    """Return a model on a server. Raises EmbeddingError if the options do not say which."""
    try:
        endpoint = embedding_endpoint(hass, settings)
    except AuthenticationError as err:
        raise EmbeddingError(str(err)) from err
    if not endpoint.model:
        raise EmbeddingError("no embedding model is named")
    client = ModelClient(
        async_get_clientsession(hass),
        endpoint,
        first_byte_timeout=FIRST_BYTE_SECONDS,
        idle_timeout=IDLE_SECONDS,
    )
    return ServedModel(client, settings.get(CONF_EMBEDDING_KEEP_ALIVE))


_MODELS: Final[Mapping[str, tuple[Sequence[str], Callable[[HomeAssistant, Mapping[str, Any]], Model]]]] = {
    EMBEDDING_BUILTIN: ((NUMPY, *REQUIREMENTS), lambda _hass, _settings: BuiltinModel()),
    EMBEDDING_OPENAI: ((NUMPY,), _served),
    EMBEDDING_OLLAMA: ((NUMPY,), _served),
}
"""Per provider: the packages it needs, and the model."""


async def async_create_embedder(hass: HomeAssistant, settings: Mapping[str, Any]) -> CachedEmbedder | None:
    """Return the chosen embedder, None where none is chosen.

    Packages that it needs are installed; nothing is asked or loaded yet. Raises EmbeddingError if it cannot
    be made.
    """
    provider = settings.get(CONF_EMBEDDING_PROVIDER, EMBEDDING_NONE)
    if provider not in _MODELS:
        return None
    packages, make = _MODELS[provider]
    try:
        await async_process_requirements(hass, DOMAIN, list(packages), is_built_in=False)
    except RequirementsNotFound as err:
        raise EmbeddingError(f"could not be installed: {', '.join(err.requirements)}") from err
    return CachedEmbedder(make(hass, settings))


def embedder_disclosure(settings: Mapping[str, Any], policy: DataPolicy) -> Disclosure:
    """Return what the server that embeds texts may be told."""
    if settings[CONF_EMBEDDING_PROVIDER] in (EMBEDDING_NONE, EMBEDDING_BUILTIN):
        return AT_HOME
    return policy.of_address(embedding_address(settings))
