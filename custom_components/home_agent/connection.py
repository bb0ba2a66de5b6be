"""The stored connections as what the model client takes: addresses, headers, keys that may be templates."""

from collections.abc import Mapping
import ipaddress
import json
from typing import Any, Final

from yarl import URL

from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import TemplateError
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.template import Template, is_template_string
from homeassistant.util.hass_dict import HassKey

from . import const
from .const import DOMAIN
from .errors import AuthenticationError, InvalidInput
from .inference.client import ModelClient
from .inference.models import Dialect, Endpoint
from .inference.queue import MANY_SLOTS, ServerQueue, ServerQueues
from .regex import lazy_regex

DATA_QUEUES: HassKey[ServerQueues] = HassKey(f"{DOMAIN}_queues")
_LOCAL_SUFFIXES = (
    ".local",
    ".localhost",
    ".localdomain",
    ".lan",
    ".home",
    ".internal",
    ".intranet",
    ".home.arpa",
    ".ts.net",
)
_HEADER_NAME = lazy_regex(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
_HEADER_VALUE = lazy_regex(r"^[\t\x20-\x7e\x80-\xff]*$")
_FRAMING_HEADERS = {"connection", "content-length", "content-type", "host", "transfer-encoding"}


@callback
def server_queue(hass: HomeAssistant, base_url: str) -> ServerQueue:
    """Return the queue of a model server, which all agents of this Home Assistant share."""
    queue = hass.data.setdefault(DATA_QUEUES, ServerQueues()).of(base_url)
    if is_cloud(base_url):
        queue.slots = MANY_SLOTS
    return queue


@callback
def queue_length(hass: HomeAssistant, base_url: str) -> dict[str, int]:
    """Return how many requests a model server answers, how many wait, and how many it answers at a time."""
    queue = server_queue(hass, base_url)
    return {"running": queue.running, "waiting": queue.waiting, "slots": queue.limit}


@callback
def model_client(
    hass: HomeAssistant, at: Endpoint, *, first_byte_timeout: float = 120, idle_timeout: float = 60
) -> ModelClient:
    """Return a client for a model whose requests wait in the queue of its server. Times are in seconds."""
    return ModelClient(
        async_get_clientsession(hass),
        at,
        first_byte_timeout=first_byte_timeout,
        idle_timeout=idle_timeout,
        queue=server_queue(hass, at.base_url),
    )


@callback
def endpoint(hass: HomeAssistant, settings: Mapping[str, Any]) -> Endpoint:
    """Return the server of an entry, with its key rendered; it says so where that is not possible."""
    api_key, unusable = _rendered(hass, settings.get(const.CONF_API_KEY))
    return Endpoint(
        base_url=settings[const.CONF_BASE_URL],
        model=settings[const.CONF_MODEL],
        api_key=api_key,
        unusable=unusable,
        headers=parse_headers(settings.get(const.CONF_PROXY_HEADERS)),
        dialect=settings.get(const.CONF_DIALECT, "auto"),
        api_version=settings.get(const.CONF_AZURE_API_VERSION),
    )


FALLBACK: Final = (const.CONF_FALLBACK_BASE_URL, const.CONF_FALLBACK_MODEL, const.CONF_FALLBACK_API_KEY)
"""The options with the server that is asked while the first one is down."""
EXTERNAL: Final = (const.CONF_EXTERNAL_BASE_URL, const.CONF_EXTERNAL_MODEL, const.CONF_EXTERNAL_API_KEY)
"""The options with the server of the model that is asked by a tool."""


@callback
def other_endpoint(
    hass: HomeAssistant, settings: Mapping[str, Any], keys: tuple[str, str, str]
) -> Endpoint | None:
    """Return a server beside the agent's own one; None if there is none."""
    base_url, model, key = map(settings.get, keys)
    if not base_url or not model:
        return None
    api_key, unusable = _rendered(hass, key)
    return Endpoint(base_url=base_url, model=model, api_key=api_key, unusable=unusable)


@callback
def embedding_endpoint(hass: HomeAssistant, settings: Mapping[str, Any]) -> Endpoint:
    """Return the server that embeds texts: the agent's own one where no address is given.

    The agent's key and headers go to the agent's own server only. Raises AuthenticationError if a key is a
    template that does not render.
    """
    own = endpoint(hass, settings)
    address = embedding_address(settings)
    key = render_key(hass, settings.get(const.CONF_EMBEDDING_API_KEY))
    same = address == own.base_url
    if same and not key and own.unusable:
        raise AuthenticationError(own.unusable)
    azure = same and own.dialect == Dialect.AZURE
    return Endpoint(
        base_url=address,
        model=settings.get(const.CONF_EMBEDDING_MODEL) or "",
        api_key=key or (own.api_key if same else ""),
        headers=own.headers if same else {},
        dialect=own.dialect if azure else settings[const.CONF_EMBEDDING_PROVIDER],
        api_version=own.api_version if azure else None,
    )


def embedding_address(settings: Mapping[str, Any]) -> str:
    """Return the address of the server that embeds texts."""
    return str(settings.get(const.CONF_EMBEDDING_BASE_URL) or settings[const.CONF_BASE_URL])


def is_cloud(url: str) -> bool:
    """Return whether an address lies outside the home network, judged by its name alone."""
    host = (URL(url).host or "").lower().rstrip(".")
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_LOCAL_SUFFIXES)


def parse_headers(text: str | Mapping[str, str] | None) -> dict[str, str]:
    """Return the headers of a JSON object or of lines `name: value`.

    Raises InvalidInput naming the line or the header that is wrong.
    """
    if not text:
        return {}
    if isinstance(text, Mapping):
        pairs = list(text.items())
    elif text.lstrip().startswith("{"):
        try:
            fields = json.loads(text)
        except ValueError as err:
            raise InvalidInput("headers_not_json") from err
        if not all(isinstance(value, (str, int, float)) for value in fields.values()):
            raise InvalidInput("headers_not_json")
        pairs = [(name.strip(), str(value).strip()) for name, value in fields.items()]
    else:
        pairs = []
        for number, line in enumerate(text.splitlines(), 1):
            name, colon, value = (part.strip() for part in line.partition(":"))
            if line.strip() and not (colon and name):
                raise InvalidInput("invalid_header_line", line=str(number))
            if name:
                pairs.append((name, value))
    headers: dict[str, str] = {}
    for name, value in pairs:
        if not _HEADER_NAME.match(name) or name.lower() in _FRAMING_HEADERS:
            raise InvalidInput("invalid_header_name", header=name[:40])
        if not _HEADER_VALUE.match(value):
            raise InvalidInput("invalid_header_value", header=name[:40])
        if name.lower() in {earlier.lower() for earlier in headers}:
            raise InvalidInput("duplicate_header", header=name[:40])
        headers[name] = value
    return headers


@callback
def render_key(hass: HomeAssistant, value: str | None) -> str:
    """Return the key itself, rendered where it is a template.

    Raises AuthenticationError when the template cannot be rendered; its text never holds the key.
    """
    key = (value or "").strip()
    if not is_template_string(key):
        return key
    try:
        return str(Template(key, hass).async_render(parse_result=False)).strip()
    except TemplateError as err:
        raise AuthenticationError("The template of the API key cannot be rendered: check it") from err


@callback
def _rendered(hass: HomeAssistant, value: str | None) -> tuple[str, str]:
    """Return a key, and why it cannot be used where it does not render."""
    try:
        return render_key(hass, value), ""
    except AuthenticationError as err:
        return "", err.detail
