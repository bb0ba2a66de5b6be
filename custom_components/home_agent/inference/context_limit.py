"""What a refusal of a prompt as too long says of its numbers."""

from collections.abc import Mapping, Sequence
import re
from typing import Any, Final

from ..regex import lazy

SMALLEST: Final = 256
_LIMIT_FIELDS: Final = ("n_ctx", "max_model_len")
_COUNTED_FIELDS: Final = ("n_prompt_tokens",)
# The first that fits wins. Between the words and the number stand "is", "of only", brackets and the like.
_LIMITS: Final = (
    lazy(r"maximum number of tokens allowed\D{0,20}(\d{1,9})"),
    lazy(r"> (\d{1,9}) maximum"),
    lazy(r"(?:maximum|max) (?:context|model|input|prompt)(?: length| window| size)?\D{0,40}(\d{1,9})"),
    lazy(r"(?:context (?:length|window|size)|n_ctx)\D{0,40}(\d{1,9})"),
    lazy(r"(?:limit|maximum)(?: is| of|:)? (\d{1,9})"),
)
_COUNTED: Final = (
    lazy(r"(?<!\d)(\d{1,9}) (?:tokens )?in the messages"),
    lazy(r"resulted in (\d{1,9})"),
    lazy(r"(?:request|input token count|prompt is too long|decoder prompt|prompt contains)\D{0,30}(\d{1,9})"),
    lazy(r"requested (\d{1,9})"),
)
_THOUSANDS: Final = lazy(r"(?<=\d),(?=\d{3}\b)")


def numbers(words: str, body: Any) -> tuple[int | None, int | None]:
    """Return the tokens that a server allows and those it counted, as far as it named them."""
    error = body.get("error") if isinstance(body, Mapping) else None
    fields = error if isinstance(error, Mapping) else {}
    plain = _THOUSANDS.sub("", words.lower())
    limit = _field(fields, _LIMIT_FIELDS) or _first(_LIMITS, plain)
    counted = _field(fields, _COUNTED_FIELDS) or _first(_COUNTED, plain)
    return limit, counted


def _field(fields: Mapping[str, Any], names: Sequence[str]) -> int | None:
    """Return the first of some fields that holds a number."""
    found = (fields.get(name) for name in names)
    return next((value for value in found if isinstance(value, int) and value >= SMALLEST), None)


def _first(patterns: Sequence[re.Pattern[str]], words: str) -> int | None:
    """Return the number that the first fitting pattern finds."""
    for pattern in patterns:
        if (match := pattern.search(words)) and int(match[1]) >= SMALLEST:
            return int(match[1])
    return None
