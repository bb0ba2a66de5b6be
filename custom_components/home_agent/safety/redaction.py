"""What must not leave a call: codes and keys, kept out of events, traces, ledger and service responses."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
import re
from typing import Any, Final

from homeassistant.helpers.redact import REDACTED

from ..languages import languages, words
from ..languages.text import fold
from ..regex import lazy

UNPARSED: Final = "_unparsed"
"""Where arguments stand that were not JSON, so that the guard can answer them."""

MAX_KEY: Final = 100
"""Of a longer key only as many characters at each end are looked at."""
MAX_DEPTH: Final = 20
SHORT: Final = 4
"""A shorter secret is taken out of a text only where it stands alone; 1 is in many numbers."""

_WORDS = lazy(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![a-z])|\d+")


@dataclass(frozen=True, slots=True)
class _SecretNames:
    """How a key is called whose value is a secret, in all languages."""

    words: frozenset[str]
    endings: tuple[str, ...]
    """Endings of words: code, usercode, alarmcode."""
    pairs: frozenset[tuple[str, ...]]
    """Two words that name a secret only one after the other."""


@cache
def _secret_names() -> _SecretNames:
    """Return the names of secrets, folded."""
    found = {
        name: [fold(each) for language in languages() for each in words(language, f"secrets.{name}")]
        for name in ("key_words", "key_endings", "key_pairs")
    }
    return _SecretNames(
        frozenset(found["key_words"]),
        tuple(found["key_endings"]),
        frozenset(tuple(pair.split()) for pair in found["key_pairs"]),
    )


@lru_cache(maxsize=1024)
def _is_secret(text: str) -> bool:
    """Return whether a key names a code, a key or a password."""
    known = _secret_names()
    parts = [fold(word) for word in _WORDS.findall(text)]
    return (
        any(part in known.words or part.endswith(known.endings) for part in parts)
        or fold(text) in known.words
        or any(pair in known.pairs for pair in pairwise(parts))
        or text.casefold().endswith(("apikey", "api_key"))
    )


def is_secret(key: object) -> bool:
    """Return whether a key names a code, a key or a password, however it is written."""
    text = str(key)
    if len(text) > 2 * MAX_KEY:
        text = f"{text[:MAX_KEY]} {text[-MAX_KEY:]}"
    return text == UNPARSED or _is_secret(text)


def redacted(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments without codes and keys, however deep they are."""
    return {str(key): _redacted(value, key, MAX_DEPTH) for key, value in args.items()}


def _redacted(value: Any, key: object, depth: int) -> Any:
    """Return one value without what is secret in it."""
    if value is None or value == "":
        return value
    if is_secret(key) or depth == 0:
        return REDACTED
    match value:
        case Mapping():
            return {str(name): _redacted(item, name, depth - 1) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_redacted(item, "", depth - 1) for item in value]
    return value


def without_secrets(text: str, args: Mapping[str, Any]) -> str:
    """Return a text without the codes and keys that a call was made with."""
    for secret in sorted(secrets_of(args), key=len, reverse=True):
        if len(secret) < SHORT:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", REDACTED, text)
        else:
            text = text.replace(secret, REDACTED)
    return text


def secrets_of(args: Mapping[str, Any]) -> set[str]:
    """Return the codes and keys among arguments."""
    return set(_secrets(args, "", MAX_DEPTH))


def _secrets(value: Any, key: object, depth: int, *, inside: bool = False) -> Iterator[str]:
    """Yield the codes and keys among arguments; everything inside of what is secret is secret too."""
    inside = inside or is_secret(key)
    if depth == 0:
        return
    match value:
        case Mapping():
            for name, item in value.items():
                yield from _secrets(item, name, depth - 1, inside=inside)
        case list() | tuple() | set() | frozenset():
            yield from _secrets_of_all(value, depth, inside=inside)
        case bool():
            return
        case str() | int() | float() if inside and str(value):
            yield str(value)


def _secrets_of_all(values: Iterable[Any], depth: int, *, inside: bool) -> Iterator[str]:
    """Yield the codes and keys of a list."""
    for item in values:
        yield from _secrets(item, "", depth - 1, inside=inside)
