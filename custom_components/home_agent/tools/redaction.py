"""What must not leave a call: codes and keys, kept out of events, traces and service responses."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from homeassistant.helpers.redact import REDACTED, async_redact_data

UNPARSED: Final = "_unparsed"
"""Where arguments stand that were not JSON, so that the guard can answer them."""

SECRETS: Final = frozenset(
    (
        "access_token",
        "api_key",
        "code",
        "passcode",
        "password",
        "pin",
        "secret",
        "token",
        "user_code",
        UNPARSED,
    )
)


def redacted(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments without codes and keys."""
    return async_redact_data(args, SECRETS)


def without_secrets(text: str, args: Mapping[str, Any]) -> str:
    """Return a text without the codes and keys that a call was made with."""
    for secret in _secrets(args):
        text = text.replace(secret, REDACTED)
    return text


def _secrets(value: Any, key: str = "") -> Iterator[str]:
    """Yield the codes and keys among arguments."""
    match value:
        case Mapping():
            for name, item in value.items():
                yield from _secrets(item, name)
        case list():
            for item in value:
                yield from _secrets(item, key)
        case str() | int() if key in SECRETS and str(value):
            yield str(value)
