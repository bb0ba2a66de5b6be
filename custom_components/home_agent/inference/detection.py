"""Finds out which protocol a server speaks."""

from collections.abc import Mapping
from typing import Any, Final

from .dialects import WIRES
from .dialects.address import is_azure, is_cloud, parse
from .dialects.base import Call
from .dialects.ollama import OllamaWire
from .errors import ErrorKind, ModelServerError
from .models import Dialect, Endpoint
from .transport import Transport

_OLLAMA: Final = OllamaWire()
_PASSING: Final = (ErrorKind.RATE_LIMIT, ErrorKind.UNAVAILABLE)


async def detect(transport: Transport, endpoint: Endpoint) -> tuple[Dialect, bool]:
    """Return a dialect and whether that is certain. Raises ModelServerError when out of reach."""
    try:
        base = parse(endpoint.base_url)
    except ValueError:
        raise ModelServerError(ErrorKind.BAD_REQUEST, "the server's address is not valid") from None
    if is_azure(base):
        return Dialect.AZURE, True
    if is_cloud(base):
        return Dialect.OPENAI, True
    version, certain = await _ask(transport, endpoint, "/api/version")
    if not isinstance(version.get("version"), str):
        return Dialect.OPENAI, certain
    # Web interfaces for Ollama answer the first question too, but do not pass its API on.
    tags, certain = await _ask(transport, endpoint, "/api/tags")
    return (Dialect.OLLAMA if isinstance(tags.get("models"), list) else Dialect.OPENAI), certain


async def _ask(transport: Transport, endpoint: Endpoint, path: str) -> tuple[Mapping[str, Any], bool]:
    """Return what an address answers and whether it would do so again; nothing if it is no JSON object."""
    try:
        call = Call(_OLLAMA.url(endpoint, path))
        answer = await transport.json(call, WIRES[Dialect.OLLAMA].headers(endpoint))
    except ModelServerError as err:
        if err.status is None and err.kind is not ErrorKind.MALFORMED:
            raise
        return {}, err.kind not in _PASSING
    return (answer if isinstance(answer, Mapping) else {}), True
