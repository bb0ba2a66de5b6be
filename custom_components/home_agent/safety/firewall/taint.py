"""Taint: which texts come from outside the household, so that a turn that reads them loses rights.

A turn that has read such a text, or goes on from one that has, asks a person before anything serious
(`policy.py`), remembers and forgets nothing that the person did not say, and lets no private word out.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from homeassistant.core import State
from homeassistant.helpers import llm

from ...regex import lazy
from ...vector.text import fold
from .taint_words import MARKS, STEMS, UNSPACED

OWN_DOMAINS: Final = frozenset(
    {
        *("alarm_control_panel", "binary_sensor", "button", "climate", "counter", "cover", "device_tracker"),
        *("fan", "group", "humidifier", "input_boolean", "input_button", "input_number", "input_select"),
        *("lawn_mower", "light", "lock", "number", "person", "plant", "schedule", "select", "siren", "sun"),
        *("switch", "timer", "vacuum", "valve", "water_heater", "weather", "zone", "automation", "scene"),
        "script",
    }
)
"""Domains whose states and attributes hold numbers and words of Home Assistant's own."""

NAMING: Final = frozenset(
    {
        *("entity_id", "name", "friendly_name", "area", "unit", "unit_of_measurement", "means", "changed"),
        *("icon", "device_class", "state_class"),
    }
)
"""What the household names itself, or Home Assistant does."""

LONG_CHARS: Final = 48
LONG_WORDS: Final = 8
"""From here on a text is no title any more but may say something."""

_WORD: Final = lazy(r"\w+")
_TELLING: Final = lazy(rf"(?<!\w)(?:{'|'.join(STEMS)})|{'|'.join((*UNSPACED, *MARKS))}")


def is_suspicious(text: str) -> bool:
    """Return whether a text that somebody outside wrote may be meant for the model.

    Long ones are, and short ones that speak of doors, locks, alarms, memories, searches or tools.
    A state of one word, or a title such as most songs have, is not.
    """
    if len(text) > LONG_CHARS or len(_WORD.findall(text)) > LONG_WORDS:
        return True
    return _TELLING.search(fold(text)) is not None


def outside_states(state: State) -> Iterator[str]:
    """Yield what somebody outside may have written in a state and its attributes."""
    if state.domain in OWN_DOMAINS:
        return
    yield from _texts(state.state)
    for name, value in state.attributes.items():
        if name not in NAMING:
            yield from _texts(value)


def outside_reports(reports: Iterable[object]) -> Iterator[str]:
    """Yield what somebody outside may have written in entities as a query answers them."""
    for report in reports:
        if not isinstance(report, Mapping):
            continue
        if str(report.get("entity_id", "")).partition(".")[0] in OWN_DOMAINS:
            continue
        for name, value in report.items():
            if name not in NAMING:
                yield from _texts(value)


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a value that are more than a number or a date."""
    if isinstance(value, str):
        if not _NO_TEXT.fullmatch(value):
            yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _texts(item)


_NO_TEXT: Final = lazy(r"[\d\s:.,+%°TZ/-]*")


def comes_from_outside(tool: llm.Tool) -> bool:
    """Return whether what a tool of another API answers may have been written outside.

    Intents answer with names of the house, and Home Assistant's own clock with the time; of others nobody
    knows. A name says nothing of where a tool comes from, its class does.
    """
    while isinstance(inner := getattr(tool, "tool", None), llm.Tool):
        tool = inner
    return not isinstance(tool, llm.IntentTool) and type(tool).__module__ != CLOCK


CLOCK: Final = "homeassistant.components.llm.llm"
"""Where Home Assistant defines the tools that every API has: the clock, and nothing else."""


def has_text(result: Any) -> bool:
    """Return whether a result holds any text at all."""
    return any(_WORD.search(text) for text in _texts(result))
