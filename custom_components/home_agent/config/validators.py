"""Checks and normal forms of what a person types into a form."""

from collections.abc import Iterable, Mapping
import ipaddress
import json
import re
from typing import Final

import yarl

from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import TemplateError
from homeassistant.helpers.template import Template

from ..channels.notify_targets import NO_PERSONS, TARGETS
from ..errors import AuthenticationError
from ..knowledge.persons import DEVICE, PERSON
from ..memory.settings import read_span
from ..regex import lazy
from ..safety.profiles import AREAS, DEVICES, PERSONS, RULE_FIELDS, as_texts
from ..safety.rules import RULE

KEPT_SECRET: Final = "__kept_secret__"  # noqa: S105 - stands for a secret, is none
"""Shown in a form in place of a stored secret, so that it never travels to the browser."""

MAX_HEADERS: Final = 32
MAX_PATTERNS: Final = 500
MAX_TARGETS: Final = 20
MAX_COLLECTIONS: Final = 10
MIN_KEYWORD: Final = 2
"""Letters."""

_SCHEME = lazy(r"^(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*)://")
_HOST = lazy(r"^[\w.:%-]*\w[\w.:%-]*$")
_KNOWN_ENDINGS = lazy(
    r"(/chat/completions|/completions|/embeddings|/models|/responses|/api/(chat|generate|tags|version))$"
)
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
_HEADER_NAME = lazy(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
_HEADER_VALUE = lazy(r"^[\t\x20-\x7e\x80-\xff]*$")
_FRAMING_HEADERS = {"connection", "content-length", "content-type", "host", "transfer-encoding"}
_DURATION = lazy(r"^(?:-1|\d+|(?:\d+(?:\.\d+)?(?:ms|s|m|h))+)$")
_TARGET = lazy(r"^notify\.[a-z0-9_]+$")
_ALLOWED_HOST = lazy(r"^(\[?[a-z0-9*?][a-z0-9*?.:_-]*?\]?)(?::\d{1,5})?(?:/.*)?$")
_ATTRIBUTE = lazy(r"^[a-z0-9_*?]+$")
_PATTERN = lazy(r"^[a-z0-9_*?]+\.[a-z0-9_*?]+$")
_COLLECTION = lazy(r"^(?!.*\.\.)[a-zA-Z0-9][a-zA-Z0-9._-]{1,61}[a-zA-Z0-9]$")
"""What Chroma takes, in each of its versions, as a name."""


_PARTS: Final = {
    "invalid_auth": "key",
    "invalid_key": "key",
    "invalid_key_template": "key",
    "headers_not_json": "headers",
    "invalid_header_line": "headers",
    "invalid_header_name": "headers",
    "invalid_header_value": "headers",
    "duplicate_header": "headers",
    "too_many_headers": "headers",
    "embedding_failed": "model",
    "model_missing": "model",
    "model_not_found": "model",
    "model_refused": "model",
    "rate_limited": "base",
    "server_error": "base",
    "timeout": "base",
}


class InvalidInput(Exception):
    """A value cannot be used.

    `key` names the sentence in the translations, `placeholders` fill it.
    """

    @property
    def part(self) -> str:
        """Return the part of a connection that is wrong: url, key, headers, model or base (none of them)."""
        return _PARTS.get(self.key, "url")

    def __init__(self, key: str, **placeholders: str) -> None:
        """Store the key of the sentence and what fills it."""
        super().__init__(key)
        self.key = key
        self.placeholders = placeholders


def normalise_url(text: str) -> str:
    """Return the address of a server: with a scheme, without query, trailing slash or operation.

    Raises InvalidInput when it is no address, and when it carries a user name or password.
    """
    text = text.strip()
    if (match := _SCHEME.match(text)) is None:
        text = f"http://{text}"
        guessed = True
    elif match["scheme"].lower() in ("http", "https"):
        guessed = False
    else:
        raise InvalidInput("invalid_url")
    try:
        url = yarl.URL(text)
        _ = url.port
    except ValueError as err:
        raise InvalidInput("invalid_url") from err
    if not _HOST.match(url.host or ""):
        raise InvalidInput("invalid_url")
    if url.user is not None or url.password is not None:
        raise InvalidInput("url_with_password")
    if guessed and is_cloud(text):
        url = url.with_scheme("https")
    path = _KNOWN_ENDINGS.sub("", url.raw_path.rstrip("/")).rstrip("/")
    return str(url.with_path(path or "/", encoded=True)).rstrip("/")


def azure_version(text: str) -> str | None:
    """Return the API version of an address that was copied from Azure's portal."""
    try:
        return yarl.URL(text.strip()).query.get("api-version")
    except ValueError:
        return None


def is_cloud(url: str) -> bool:
    """Return whether an address lies outside the home network, judged by its name alone."""
    host = (yarl.URL(url).host or "").lower().rstrip(".")
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
    pairs = _header_pairs(text) if isinstance(text, str) else list(text.items())
    if len(pairs) > MAX_HEADERS:
        raise InvalidInput("too_many_headers", limit=str(MAX_HEADERS))
    headers: dict[str, str] = {}
    for name, value in pairs:
        if not _HEADER_NAME.match(name) or name.lower() in _FRAMING_HEADERS:
            raise InvalidInput("invalid_header_name", header=name[:40])
        if not _HEADER_VALUE.match(value):
            raise InvalidInput("invalid_header_value", header=name[:40])
        if name.lower() in {known.lower() for known in headers}:
            raise InvalidInput("duplicate_header", header=name[:40])
        headers[name] = value
    return headers


def _header_pairs(text: str) -> list[tuple[str, str]]:
    """Split the text of the headers' field into names and values."""
    text = text.strip()
    if not text.startswith("{"):
        return [_header_line(number, line) for number, line in _filled_lines(text)]
    try:
        found = json.loads(text)
    except ValueError as err:
        raise InvalidInput("headers_not_json") from err
    if not all(isinstance(value, (str, int, float)) for value in found.values()):
        raise InvalidInput("headers_not_json")
    return [(name.strip(), str(value).strip()) for name, value in found.items()]


def _filled_lines(text: str) -> Iterable[tuple[int, str]]:
    """Yield the lines that hold something, with their numbers from 1."""
    return ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def _header_line(number: int, line: str) -> tuple[str, str]:
    """Split one line at its first colon."""
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        raise InvalidInput("invalid_header_line", line=str(number))
    return name.strip(), value.strip()


def is_template(value: str) -> bool:
    """Return whether a key is to be rendered before use."""
    return "{{" in value or "{%" in value


@callback
def render_key(hass: HomeAssistant, value: str | None) -> str:
    """Return the key itself, rendered where it is a template.

    Raises AuthenticationError when the template cannot be rendered; its text never holds the key.
    """
    key = (value or "").strip()
    if not is_template(key):
        return key
    try:
        return str(Template(key, hass).async_render(parse_result=False)).strip()
    except TemplateError as err:
        raise AuthenticationError("The template of the API key cannot be rendered: check it") from err


def shown_secret(value: str | None) -> str:
    """Return what a form shows for a stored secret: a stand-in, or a template as it is."""
    if not value:
        return ""
    return value if is_template(value) else KEPT_SECRET


def typed_secret(typed: str | None, stored: str | None) -> str:
    """Return the secret meant by what came back from a form."""
    typed = (typed or "").strip()
    return (stored or "") if typed == KEPT_SECRET else typed


def clean_duration(value: str) -> str:
    """Return a duration as model servers read it: 300, 30s, 5m, 1h30m, 0 or -1."""
    duration = re.sub(r"\s+", "", value).lower()
    if not _DURATION.match(duration):
        raise InvalidInput("invalid_duration")
    return duration


def clean_span(value: str) -> str:
    """Return a span of time such as 90d or 12h, as it was typed but for space and case."""
    span = "".join(value.split()).lower()
    try:
        read_span(span)
    except ValueError as err:
        raise InvalidInput("invalid_span") from err
    return span


def clean_patterns(values: Iterable[str]) -> list[str]:
    """Return entity patterns such as `climate.*`, in lower case, without blanks and doubles."""
    patterns = list(dict.fromkeys(value.strip().lower() for value in values if value.strip()))
    if len(patterns) > MAX_PATTERNS:
        raise InvalidInput("too_many_patterns", limit=str(MAX_PATTERNS))
    for pattern in patterns:
        if not _PATTERN.match(pattern):
            raise InvalidInput("invalid_pattern", pattern=pattern[:60])
    return patterns


def clean_collection(value: str) -> str:
    """Return the name of a collection as both stores take it."""
    name = value.strip()
    if not _COLLECTION.match(name):
        raise InvalidInput("invalid_collection", collection=name[:60])
    return name


def clean_collections(values: Iterable[str]) -> list[str]:
    """Return names of collections, without blanks and doubles."""
    names = clean_names(values)
    if len(names) > MAX_COLLECTIONS:
        raise InvalidInput("too_many_collections", limit=str(MAX_COLLECTIONS))
    return [clean_collection(name) for name in names]


def clean_attributes(values: Iterable[str]) -> list[str]:
    """Return names and patterns of attributes, in lower case. Raises InvalidInput for anything else."""
    names = clean_names(value.lower() for value in values)
    if len(names) > MAX_PATTERNS:
        raise InvalidInput("too_many_patterns", limit=str(MAX_PATTERNS))
    for name in names:
        if not _ATTRIBUTE.match(name):
            raise InvalidInput("invalid_attribute", attribute=name[:60])
    return names


def clean_rules(values: Iterable[str]) -> list[str]:
    """Return rules of the policy, in lower case, without blanks and doubles."""
    rules = list(dict.fromkeys(value.strip().lower() for value in values if value.strip()))
    if len(rules) > MAX_PATTERNS:
        raise InvalidInput("too_many_rules", limit=str(MAX_PATTERNS))
    for rule in rules:
        if not RULE.match(rule):
            raise InvalidInput("invalid_rule", rule=rule[:60])
    return rules


def clean_hosts(values: Iterable[str]) -> list[str]:
    """Return hosts with wildcards, in lower case, without scheme, port and path. Raises InvalidInput."""
    names = clean_names(value.lower().partition("://")[2] or value.lower() for value in values)
    if len(names) > MAX_PATTERNS:
        raise InvalidInput("too_many_rules", limit=str(MAX_PATTERNS))
    hosts = [_ALLOWED_HOST.match(name) for name in names]
    if None in hosts:
        raise InvalidInput("invalid_host", host=names[hosts.index(None)][:60])
    return list(dict.fromkeys(found[1] for found in hosts if found))


def clean_profiles(value: object) -> list[dict[str, object]]:
    """Return the profiles with their rules checked, without what was left empty."""
    items = value if isinstance(value, list) else [value]
    return [_clean_profile(item) for item in items if isinstance(item, Mapping)]


def _clean_profile(item: Mapping[str, object]) -> dict[str, object]:
    """Return one profile; it has to be for somebody."""
    name = str(item.get("name", "")).strip()
    whom = {key: clean_names(as_texts(item.get(key))) for key in (PERSONS, DEVICES, AREAS)}
    if not any(whom.values()):
        raise InvalidInput("invalid_profile", profile=name[:60])
    rules = {key: clean_rules(as_texts(item.get(key))) for key in RULE_FIELDS}
    return {"name": name, **{key: found for key, found in (whom | rules).items() if found}}


def clean_owners(value: object) -> list[dict[str, str]]:
    """Return whose device is whose; a device is listed once."""
    owners = {}
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Mapping) and item.get(DEVICE) and item.get(PERSON):
            if item[DEVICE] in owners:
                raise InvalidInput("device_owned_twice", person=str(item[PERSON]))
            owners[str(item[DEVICE])] = str(item[PERSON])
    return [{DEVICE: device, PERSON: person} for device, person in owners.items()]


def clean_targets(value: object) -> list[dict[str, object]]:
    """Return persons with their notify targets; raises InvalidInput for what is no notify target."""
    items = value if isinstance(value, list) else [value]
    found: dict[str, list[str]] = {}
    for item in items:
        if isinstance(item, Mapping) and (person := str(item.get(PERSON, "")).strip()):
            targets = clean_names(as_texts(item.get(TARGETS)))
            for target in targets:
                if not _TARGET.match(target) or target in NO_PERSONS:
                    raise InvalidInput("invalid_notify_target", target=target[:60])
            found[person] = clean_names([*found.get(person, []), *targets])[:MAX_TARGETS]
    return [{PERSON: person, TARGETS: targets} for person, targets in found.items() if targets]


def clean_names(values: Iterable[str]) -> list[str]:
    """Return names without surrounding space, blanks and doubles, in their order."""
    return list(dict.fromkeys(value.strip() for value in values if value.strip()))


def clean_keywords(values: Iterable[str]) -> list[str]:
    """Return words of the household's own; raises InvalidInput for one that would hold back everything."""
    keywords = clean_names(values)
    if len(keywords) > MAX_PATTERNS:
        raise InvalidInput("too_many_patterns", limit=str(MAX_PATTERNS))
    for keyword in keywords:
        if len(keyword.replace("*", "").replace("?", "").strip()) < MIN_KEYWORD:
            raise InvalidInput("invalid_keyword", keyword=keyword[:60])
    return keywords


def is_pattern(value: str) -> bool:
    """Return whether a value of the entity list is a pattern and no entity id."""
    return "*" in value or "?" in value
