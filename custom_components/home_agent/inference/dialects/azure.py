"""Azure's deployments of OpenAI models."""

from typing import ClassVar, Final, override

from yarl import URL

from ..models import Dialect, Endpoint
from . import address
from .base import ServerRequest
from .openai import OpenAIWire

API_VERSION: Final = "2024-10-21"
_DEPLOYMENTS: Final = "/openai/deployments"


class AzureWire(OpenAIWire):
    """The key in a header of its own, the deployment in the path, the version in the query."""

    dialect: ClassVar[Dialect] = Dialect.AZURE

    @override
    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        return {"api-key": key} if (key := endpoint.api_key.strip()) else {}

    @override
    def chat_url(self, endpoint: Endpoint) -> URL:
        return self._address(endpoint, "/chat/completions")

    @override
    def models(self, endpoint: Endpoint) -> ServerRequest:
        base = address.parse(endpoint.base_url)
        if _is_current(base):
            return ServerRequest(address.join(base, "/models", **_version(endpoint, base, None)))
        resource = base.with_path(base.path.partition(_DEPLOYMENTS)[0]).with_query(base.query)
        resource = address.without(resource, "/openai")
        return ServerRequest(
            address.join(resource, "/openai/models", **_version(endpoint, base, API_VERSION))
        )

    @override
    def embeddings(self, endpoint: Endpoint, texts: list[str], keep_alive: str | None) -> ServerRequest:
        body = super().embeddings(endpoint, texts, keep_alive).body
        return ServerRequest(self._address(endpoint, "/embeddings"), body)

    @staticmethod
    def _address(endpoint: Endpoint, path: str) -> URL:
        base = address.parse(endpoint.base_url)
        if _is_current(base):
            return address.join(base, path, **_version(endpoint, base, None))
        if _DEPLOYMENTS not in base.path:
            base = address.join(address.without(base, "/openai"), f"{_DEPLOYMENTS}/{endpoint.model}")
        return address.join(base, path, **_version(endpoint, base, API_VERSION))


def _is_current(base: URL) -> bool:
    """Tell whether the address is of the newer API, which needs neither deployment nor version."""
    return base.path.endswith("/v1")


def _version(endpoint: Endpoint, base: URL, default: str | None) -> dict[str, str]:
    """Return the version parameter: the option, what the address has, the default."""
    version = endpoint.api_version or base.query.get("api-version") or default
    return {"api-version": version} if version else {}
