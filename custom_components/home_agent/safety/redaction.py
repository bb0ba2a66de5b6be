"""What must not leave a call: codes and keys, kept out of events, traces, ledger and service responses."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
import json
import re
from typing import Any, Final, NamedTuple

from homeassistant.helpers.redact import REDACTED

from ..languages import languages, words
from ..regex import lazy_regex
from ..texts import fold, parsed

UNPARSED: Final = "_unparsed"
"""Key of arguments that were not JSON, so that the guard can answer them."""

MAX_KEY: Final = 100
"""Of a longer key only as many characters at each end are looked at."""
MAX_DEPTH: Final = 20
SHORT: Final = 4
"""A shorter secret is taken out of a text only where it is alone; 1 is in many numbers."""

GUARDED_WORDS: Final = frozenset({"lock", "locks", "unlock", "arm", "disarm", "alarm"})
GUARDED_STARTS: Final = ("unlock", "disarm", "alarm")
"""Words of calls in which a number may be a code: locks and alarms take one."""

LARGEST_CODE: Final = 10**12

_NUMBER: Final = lazy_regex(r"(?<![\w.])\d{3,12}(?![\w.])")
"""A separate number with the length of a code, not a part of an ID or of a decimal."""
_OBJECT: Final = lazy_regex(r"\s*[{\[(]")
"""How a text begins that may be an object or a list."""
_WORDS = lazy_regex(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![a-z])|\d+")


class _SecretNames(NamedTuple):
    """Names of keys with secret values, in all languages."""

    words: frozenset[str]
    endings: tuple[str, ...]
    """Endings of words: code, usercode, alarmcode."""
    pairs: frozenset[tuple[str, ...]]
    """Two words that name a secret only one after the other."""


@cache
def _secret_names() -> _SecretNames:
    found = {
        name: [fold(each) for language in languages() for each in words(language, f"secrets.{name}")]
        for name in ("passwords", "key_words", "key_endings", "key_pairs")
    }
    passwords = [word for word in found["passwords"] if " " not in word]
    return _SecretNames(
        frozenset(found["key_words"]),
        (*passwords, *found["key_endings"]),
        frozenset(tuple(pair.split()) for pair in found["key_pairs"]),
    )


@lru_cache(maxsize=1024)
def _is_secret(text: str) -> bool:
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


def redacted(args: Mapping[str, Any], tool_name: str = "") -> dict[str, Any]:
    """Return arguments without codes and keys, however deep they are and in whatever form."""
    guarded = wants_code(args, tool_name)
    return {str(key): _redacted(value, key, MAX_DEPTH, guarded=guarded) for key, value in args.items()}


def _redacted(value: Any, key: object, depth: int, *, guarded: bool) -> Any:
    if value is None or value == "":
        return value
    if is_secret(key) or depth == 0 or (guarded and _is_number(value)):
        return REDACTED
    match value:
        case Mapping():
            return {
                str(name): _redacted(item, name, depth - 1, guarded=guarded) for name, item in value.items()
            }
        case list() | tuple() | set() | frozenset():
            return [_redacted(item, "", depth - 1, guarded=guarded) for item in value]
        case str():
            inside = parsed(value) if _OBJECT.match(value) else value
            if not isinstance(inside, str):
                shown = _redacted(inside, "", depth - 1, guarded=guarded)
                if shown != (list(inside) if isinstance(inside, (tuple, set)) else inside):
                    return json.dumps(shown, default=str)
            return _NUMBER.sub(REDACTED, value) if guarded or is_secret(value) else value
    return value


def wants_code(args: Mapping[str, Any], tool_name: str = "") -> bool:
    """Return whether a call is about a lock or an alarm, so that a number in it may be the code."""
    return _are_guarded((tool_name, *(text for text, _inside in _texts(args))))


def _are_guarded(texts: Iterable[str]) -> bool:
    for text in texts:
        folded = text.casefold()
        # All the words contain "lock" or "arm".
        if ("lock" in folded or "arm" in folded) and any(
            word in GUARDED_WORDS or word.startswith(GUARDED_STARTS)
            for word in map(str.casefold, _WORDS.findall(text))
        ):
            return True
    return False


def _is_number(value: Any) -> bool:
    is_whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST_CODE
    return is_whole and bool(_NUMBER.fullmatch(str(value)))


def _texts(args: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the keys, texts and numbers of arguments, and whether each is part of a secret value."""
    waiting: list[tuple[Any, bool]] = [(args, False)]
    while waiting:
        value, inside = waiting.pop()
        match value:
            case str():
                yield value, inside
                if _OBJECT.match(value) and not isinstance(within := parsed(value), str):
                    waiting.append((within, inside))
            case Mapping():
                for key, item in value.items():
                    yield str(key), False
                    waiting.append((item, inside or is_secret(key)))
            case list() | tuple() | set() | frozenset():
                waiting += ((item, inside) for item in value)
            case bool():
                continue
            case int() | float() if abs(value) < LARGEST_CODE or inside:
                yield str(value), inside


def without_secrets(text: str, args: Mapping[str, Any], tool_name: str = "") -> str:
    """Return a text without the codes and keys that a call was made with."""
    for secret in sorted(secrets_of(args, tool_name), key=len, reverse=True):
        if len(secret) < SHORT:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", REDACTED, text)
        else:
            text = text.replace(secret, REDACTED)
    return text


def secrets_of(args: Mapping[str, Any], tool_name: str = "") -> set[str]:
    """Return the codes and keys among arguments."""
    texts = [*_texts(args)]
    found = {text for text, inside in texts if inside and text}
    guarded = _are_guarded((tool_name, *(text for text, _inside in texts)))
    for text, _inside in texts:
        if guarded or is_secret(text):
            found.update(_NUMBER.findall(text))
    return found
