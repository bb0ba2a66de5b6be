"""Addresses of model servers: as typed by users, and as used for requests."""

from functools import lru_cache
from typing import Final

from yarl import URL

from ...regex import lazy_regex

_HOST: Final = lazy_regex(r"[^\s/?#@]+")
_PASTED: Final = ("/chat/completions", "/completions", "/embeddings", "/models", "/api/chat", "/api/generate")
_AZURE: Final = (
    ".openai.azure.com",
    ".services.ai.azure.com",
    ".cognitiveservices.azure.com",
    ".azure-api.net",
)
_CLOUD: Final = (
    *_AZURE,
    "openai.com",
    "openrouter.ai",
    "googleapis.com",
    "anthropic.com",
    "mistral.ai",
    "groq.com",
    "deepseek.com",
    "x.ai",
    "together.xyz",
    "together.ai",
    "perplexity.ai",
    "fireworks.ai",
    "cerebras.ai",
    "cohere.com",
    "cohere.ai",
    "nvidia.com",
    "huggingface.co",
    "github.ai",
)


@lru_cache(maxsize=64)
def parse(base_url: str) -> URL:
    """Return the base address; the scheme may be missing, a pasted path of a request is cut off."""
    text = base_url.strip()
    url = URL(text if "://" in text else f"http://{text}").with_fragment(None)
    if url.scheme not in ("http", "https") or not _HOST.fullmatch(url.host or ""):
        raise ValueError("not an http address")
    path = url.path.rstrip("/")
    for suffix in _PASTED:
        path = path.removesuffix(suffix)
    return url.with_path(path or "/").with_query(url.query)


@lru_cache(maxsize=256)
def join(base: URL, path: str, **query: str) -> URL:
    """Return the base with a path and query parameters added, without the user and password in it."""
    address = base.with_path(base.path.rstrip("/") + path).with_query(base.query).update_query(query)
    return address.with_user(None) if address.user or address.password else address


@lru_cache(maxsize=64)
def without(base: URL, *suffixes: str) -> URL:
    """Return the base without the first of these ends of its path."""
    path = base.path.rstrip("/")
    for suffix in suffixes:
        if path.endswith(suffix):
            return base.with_path(path.removesuffix(suffix) or "/").with_query(base.query)
    return base


def is_azure(base: URL) -> bool:
    """Tell whether this is a resource of Azure."""
    return (base.host or "").endswith(_AZURE)


def is_cloud(base: URL) -> bool:
    """Tell whether this is one of the known services on the internet."""
    return _is_cloud(base.host or "")


@lru_cache(maxsize=64)
def _is_cloud(host: str) -> bool:
    return any(host == name or host.endswith(name if name[0] == "." else f".{name}") for name in _CLOUD)
