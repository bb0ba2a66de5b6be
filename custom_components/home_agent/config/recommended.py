"""Which models of a server are offered first, and what is known about each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
import json
from math import ceil
from pathlib import Path
from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers.selector import SelectOptionDict

from ..agent.phrases import async_phrase
from ..regex import lazy_regex

GOOD, USABLE = 85, 70
"""Means of the three measurements, in percent, from which a model is recommended, and makes few mistakes."""
CONTEXT_GIGABYTES: Final = 1.5
NO_CHAT_MODELS: Final = (
    *("embed", "whisper", "tts", "rerank", "moderation", "dall-e", "image", "bge-", "clip", "minilm"),
    *("transcribe", "realtime", "audio", "guard"),
)
_WORDS: Final = lazy_regex(r"[a-z]+|\d+(?:\.\d+)?")
_FILE: Final = json.loads(Path(__file__).with_name("recommended_models.json").read_text(encoding="utf-8"))
"""Read with the module, which the import executor loads. The source is named in docs/model-servers.md."""


class Grade(IntEnum):
    """How well a model does, the best first."""

    GOOD = 0
    USABLE = 1
    UNKNOWN = 2
    WEAK = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a model, and the memory in gigabytes that it needs, None if that is unknown."""

    score: float
    gigabytes: int | None

    @property
    def grade(self) -> Grade:
        """Return how well it does."""
        if self.score >= GOOD:
            return Grade.GOOD
        return Grade.USABLE if self.score >= USABLE else Grade.WEAK


def _words(name: str) -> tuple[str, ...]:
    """Return the words and numbers of a name, so that `gemma4:12b` and `gemma-4-12b` are the same."""
    return tuple(_WORDS.findall(name.lower()))


def _table() -> dict[tuple[str, ...], Measured]:
    """Return what is known by the words of the names, the longest first."""
    rows = {
        _words(name): Measured((row["commands"] + row["simple"] + row["questions"]) / 3, row.get("gigabytes"))
        for row in _FILE
        for name in row["names"]
    }
    return dict(sorted(rows.items(), key=lambda row: -len(row[0])))


TABLE: Final = _table()


def known(model: str) -> Measured | None:
    """Return what is known about a model, by the family and size that its name begins with."""
    words = _words(model.rstrip("/").rpartition("/")[2])
    return next((found for names, found in TABLE.items() if words[: len(names)] == names), None)


def is_chat_model(model: str) -> bool:
    """Return whether a name looks like that of a model one can talk to."""
    return not any(part in model.lower() for part in NO_CHAT_MODELS)


def ranked(models: Iterable[str]) -> list[str]:
    """Return the models to offer, the best first; those that do not chat are left out if others do."""
    listed = list(models)
    chat = [model for model in listed if is_chat_model(model)]

    def place(model: str) -> tuple[int, float, str]:
        found = known(model)
        return (found.grade, -found.score, model) if found else (Grade.UNKNOWN, 0, model)

    return sorted(chat or listed, key=place)


async def async_options(
    hass: HomeAssistant, language: str, models: Sequence[str], sizes: Mapping[str, int], *, at_home: bool
) -> list[SelectOptionDict]:
    """Return the models as a form offers them, with what is known about each.

    `sizes` are in bytes. How much memory a model needs matters only `at_home`.
    """
    found: list[SelectOptionDict] = []
    for model in ranked(models):
        gigabytes = _gigabytes(model, sizes) if at_home else None
        found.append(
            SelectOptionDict(value=model, label=await _async_label(hass, language, model, gigabytes))
        )
    return found


def _gigabytes(model: str, sizes: Mapping[str, int]) -> int | None:
    """Return how much memory a model needs, None if that is unknown."""
    if (found := known(model)) and found.gigabytes:
        return found.gigabytes
    return ceil(sizes[model] / 1e9 * 1.1 + CONTEXT_GIGABYTES) if sizes.get(model) else None


async def _async_label(hass: HomeAssistant, language: str, model: str, gigabytes: int | None) -> str:
    found = known(model)
    if found is None and gigabytes is None:
        return model
    grade = "unknown" if found is None else found.grade.name.lower()
    key = f"model_{grade}" if gigabytes is None else f"model_{grade}_memory"
    return await async_phrase(hass, language, key, model=model, gigabytes=str(gigabytes))
