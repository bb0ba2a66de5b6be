"""Validation and normalization of form input."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
import re
from typing import Any, Final

import yarl

from ..connection import is_cloud, is_template
from ..errors import InvalidInput
from ..knowledge.speaker import DEVICE, PERSON
from ..regex import lazy_regex
from ..safety.rules import AREAS, DEVICES, PERSONS, RULE, RULE_FIELDS, as_texts
from ..timespans import read_span
from ..tools.people import NO_PERSONS, TARGETS

UNITS: Final = {"days": ("d", 86_400), "hours": ("h", 3600), "minutes": ("m", 60), "seconds": ("s", 1)}
"""The parts of a duration in a form, with the letter and the seconds of each."""


def written_span(length: timedelta) -> str:
    """Return a span as text, in the largest units that fit: 1h30m. Zero is 0."""
    left, parts = int(length.total_seconds()), []
    for letter, size in UNITS.values():
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{letter}")
    return "".join(parts) or "0"


def clean_span(value: Any) -> str:
    """Return a span of time as text, from text or from the parts of a form. Raises InvalidInput."""
    try:
        if isinstance(value, Mapping):
            parts = {name: float(value.get(name) or 0) for name in UNITS}
            return written_span(timedelta(**parts))
        span = "".join(str(value).split()).lower()
        read_span(span)
    except (TypeError, ValueError, OverflowError) as err:
        raise InvalidInput("invalid_span") from err
    return span


def shown_span(value: Any) -> dict[str, int] | None:
    """Return a stored span in the parts of a form; None for one that cannot be read."""
    try:
        length = read_span(value)
    except ValueError, OverflowError:
        return None
    left, parts = int(length.total_seconds()) if length else 0, {}
    for name, (_, size) in UNITS.items():
        parts[name], left = divmod(left, size)
    return parts


MAX_PATTERNS: Final = 500
MAX_TARGETS: Final = 20
MAX_COLLECTIONS: Final = 10
MIN_KEYWORD: Final = 2
"""Letters."""

_SCHEME = lazy_regex(r"^(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*)://")
_HOST = lazy_regex(r"^(?=[.:%-]*\w)[\w.:%-]+$")
_KNOWN_ENDINGS = lazy_regex(
    r"(/chat/completions|/completions|/embeddings|/models|/responses|/api/(chat|generate|tags|version))$"
)
_DURATION = lazy_regex(r"^(?:-1|\d+|(?:\d+(?:\.\d+)?(?:ms|s|m|h))+)$")
_TARGET = lazy_regex(r"^notify\.[a-z0-9_]+$")
_ALLOWED_HOST = lazy_regex(r"^(\[?[a-z0-9*?][a-z0-9*?.:_-]*?\]?)(?::\d{1,5})?(?:/.*)?$")
_ATTRIBUTE = lazy_regex(r"^(?:[a-z0-9_*?]+\.[a-z0-9_*?]+:)?[a-z0-9_*?]+$")
_PATTERN = lazy_regex(r"^[a-z0-9_*?]+\.[a-z0-9_*?]+$")
_COLLECTION = lazy_regex(r"^(?!.*\.\.)[a-zA-Z0-9][a-zA-Z0-9._-]{1,61}[a-zA-Z0-9]$")
"""What Chroma takes, in each of its versions, as a name."""


def normalise_url(text: str) -> str:
    """Return the address of a server: with a scheme, without query, trailing slash or operation.

    Raises InvalidInput when it is not an address, and when it carries a user name or password.
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


def is_saved_secret(value: str | None) -> bool:
    """Return whether a value is a secret, which no form shows; a template is shown as it is."""
    return value is not None and value != "" and not is_template(value)


def clean_duration(value: str) -> str:
    """Return a duration as model servers read it: 300, 30s, 5m, 1h30m, 0 or -1."""
    duration = re.sub(r"\s+", "", value).lower()
    if not _DURATION.match(duration):
        raise InvalidInput("invalid_duration")
    return duration


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
    """Return names and patterns of attributes, for all entities or, behind a pattern and a colon, for some.

    Raises InvalidInput for anything else.
    """
    names = clean_names("".join(value.lower().split()) for value in values)
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
    """Return the profiles with their rules checked, without empty ones."""
    items = value if isinstance(value, list) else [value]
    return [_clean_profile(item) for item in items if isinstance(item, Mapping)]


def _clean_profile(item: Mapping[str, object]) -> dict[str, object]:
    """Return one profile, which needs a person, a device or an area."""
    name = str(item.get("name", "")).strip()
    whom = {key: clean_names(as_texts(item.get(key))) for key in (PERSONS, DEVICES, AREAS)}
    if not any(whom.values()):
        raise InvalidInput("invalid_profile", profile=name[:60])
    rules = {key: clean_rules(as_texts(item.get(key))) for key in RULE_FIELDS}
    return {"name": name, **{key: found for key, found in (whom | rules).items() if found}}


def clean_owners(value: object) -> list[dict[str, str]]:
    """Return the owners of devices; a device is listed once."""
    owners = {}
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Mapping) and item.get(DEVICE) and item.get(PERSON):
            if item[DEVICE] in owners:
                raise InvalidInput("device_owned_twice", person=str(item[PERSON]))
            owners[str(item[DEVICE])] = str(item[PERSON])
    return [{DEVICE: device, PERSON: person} for device, person in owners.items()]


def clean_targets(value: object) -> list[dict[str, object]]:
    """Return persons with their notify targets; raises InvalidInput for an unknown notify target."""
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
