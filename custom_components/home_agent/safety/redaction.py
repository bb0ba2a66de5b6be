"""What must not leave a call: codes and keys, kept out of events, traces, ledger and service responses."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
import re
from typing import Any, Final

from homeassistant.helpers.redact import REDACTED

from ..regex import lazy

UNPARSED: Final = "_unparsed"
"""Where arguments stand that were not JSON, so that the guard can answer them."""

SECRET_WORDS: Final = frozenset(
    {
        "auth",
        "bearer",
        "clave",
        "codes",
        "contraseña",
        "credential",
        "credentials",
        "geheimzahl",
        "otp",
        "passphrase",
        "passwd",
        "pin",
        "pins",
        "psk",
        "pwd",
        "secrets",
        "tan",
        "tokens",
        "wachtwoord",
    }
)
"""Words of a key that make its value a secret."""
SECRET_ENDINGS: Final = ("code", "kennwort", "passwort", "password", "passwords", "secret", "token")
"""Endings of such words: code, usercode, alarmcode."""
SECRET_PAIRS: Final = frozenset(
    {
        ("access", "key"),
        ("api", "key"),
        ("de", "passe"),
        ("mot", "passe"),
        ("pass", "word"),
        ("private", "key"),
        ("security", "key"),
    }
)
"""Two words that do so only one after the other."""
MAX_DEPTH: Final = 20
SHORT: Final = 4
"""A shorter secret is taken out of a text only where it stands alone; 1 is in many numbers."""

_WORDS = lazy(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![a-z])|\d+")


def is_secret(key: object) -> bool:
    """Return whether a key names a code, a key or a password, however it is written."""
    text = str(key)
    if text == UNPARSED:
        return True
    words = [word.casefold() for word in _WORDS.findall(text)]
    return (
        any(word in SECRET_WORDS or word.endswith(SECRET_ENDINGS) for word in words)
        or text.casefold() in SECRET_WORDS
        or any(pair in SECRET_PAIRS for pair in pairwise(words))
        or text.casefold().endswith(("apikey", "api_key"))
    )


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
