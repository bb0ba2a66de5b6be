"""The schema of a model's reply, and the candidates that are read from it."""

from collections.abc import Iterator, Mapping
import json
import re
from typing import Any, Final

from ..regex import lazy_regex
from .quality import Candidate
from .records import MemoryType

MAX_CANDIDATES: Final = 5
"""Candidates taken from one reply."""
MAX_CHARS: Final = 20_000
SCALES: Final = (1, 10, 100)
"""The scale on which models rate importance, regardless of the instruction."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["memories"],
    "properties": {
        "memories": {
            "type": "array",
            "maxItems": MAX_CANDIDATES,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["content", "type", "importance", "about"],
                "properties": {
                    "content": {"type": "string"},
                    "type": {"type": "string", "enum": [kind.value for kind in MemoryType]},
                    "importance": {"type": "number"},
                    "about": {"type": "string", "enum": ["speaker", "household"]},
                },
            },
        }
    },
}

INSTRUCTION: Final = """\
Now do something else. Do not answer the person. From what the person said in the last exchange, write down \
what will still be worth knowing in weeks: facts about the person or the household, wishes and likings, \
plans and dates. Nothing about states of devices, nothing that you said yourself, nothing from lists, notes \
or tool results, no codes or passwords. Most exchanges hold nothing: then the list is empty.
Each as one short sentence in the person's language that can be understood alone, with the name {name} for \
the speaker. type: fact, preference, context (of these days) or event (has a date). importance: 0 to 1. \
about: speaker or household.
Answer with JSON only: \
{{"memories": [{{"content": "...", "type": "...", "importance": 0.5, "about": "speaker"}}]}}"""

_FENCE: Final = lazy_regex(r"```[a-z]*\n?|```")
_THOUGHT: Final = lazy_regex(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_KINDS: Final[Mapping[str, MemoryType]] = {
    **{kind.value: kind for kind in MemoryType},
    "preferences": MemoryType.PREFERENCE,
    "liking": MemoryType.PREFERENCE,
    "facts": MemoryType.FACT,
    "events": MemoryType.EVENT,
    "plan": MemoryType.CONTEXT,
}
_CONTENT_KEYS: Final = ("content", "memory", "text", "fact")
_LIST_KEYS: Final = ("memories", "facts", "items", "results")


def read_candidates(reply: str) -> list[Candidate] | None:
    """Return the content of a reply; None if nothing in it is valid.

    Servers that do not enforce the schema get prose, fences, a bare list or other keys through.
    """
    text = _FENCE.sub("", _THOUGHT.sub("", reply[:MAX_CHARS]))
    for value in _json_values(text):
        items = _items(value)
        if items is not None:
            found = (_candidate(item) for item in items)
            return [candidate for candidate in found if candidate is not None][:MAX_CANDIDATES]
    return None


def _json_values(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    start = 0
    while (begin := _next_opening(text, start)) is not None:
        try:
            value, start = decoder.raw_decode(text, begin)
        except ValueError, RecursionError:
            start = begin + 1
        else:
            yield value


def _next_opening(text: str, start: int) -> int | None:
    """Return where the next object or list may begin."""
    places = [place for char in "{[" if (place := text.find(char, start)) >= 0]
    return min(places, default=None)


def _items(value: object) -> list[Any] | None:
    """Return the list of memories in a value; None if there is none."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        for key in _LIST_KEYS:
            if isinstance(value.get(key), list):
                return list(value[key])
        if any(key in value for key in _CONTENT_KEYS):
            return [value]
    return None


def _candidate(item: object) -> Candidate | None:
    """Return one item as a candidate; None if it is empty."""
    if isinstance(item, str):
        item = {"content": item}
    if not isinstance(item, dict):
        return None
    content = next((item[key] for key in _CONTENT_KEYS if isinstance(item.get(key), str)), "")
    if not content.strip():
        return None
    kind = _KINDS.get(str(item.get("type", "")).strip().lower(), MemoryType.FACT)
    about = str(item.get("about", "speaker")).strip().lower()
    return Candidate(
        content=content.strip(),
        type=kind,
        importance=_importance(item.get("importance")),
        household=about in {"household", "family", "home", "house", "everyone", "everybody"},
    )


def _importance(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.5
    if value != value or value < 0:  # noqa: PLR0124 - not a number
        return 0.5
    scale = next((scale for scale in SCALES if value <= scale), SCALES[-1])
    return min(value / scale, 1.0)
