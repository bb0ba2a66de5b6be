"""Sentences about what calls did, in the language of the person who speaks."""

from collections.abc import Sequence
from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_get_translations
from homeassistant.util import dt as dt_util

from ..languages import DEFAULT, find, words
from ..timers.timers import EVERY_DAY, WEEKEND, WORKDAYS
from ..tools.control.telling import UNTIL
from ..tools.telling import Told, ToldValue, ValueKind
from .phrases import async_phrase

COUNTED: Final = frozenset(("cover", "light"))
"""Kinds with a word of their own where they are too many to name."""
CLIMATE: Final = "climate"
LATER: Final = "later_"
"""How the keys of sentences about what is planned begin."""
REPEATED: Final = {EVERY_DAY: "daily", WORKDAYS: "weekdays", WEEKEND: "weekends"}
ALREADY: Final = "already"
"""How the keys of sentences about what was so before begin; they have no place before them."""


async def async_sentence(hass: HomeAssistant, language: str, told: Sequence[Told]) -> str | None:
    """Return a sentence for each thing that was done; None if one of them has none in this language."""
    said = [await _async_one(hass, language, one) for one in told]
    if not said or None in said:
        return None
    return " ".join(dict.fromkeys(filter(None, said)))


async def _async_one(hass: HomeAssistant, language: str, told: Told) -> str | None:
    values = [await _async_value(hass, language, value) for value in told.values]
    if None in values:
        return None
    timing = await _async_timing(hass, language, told)
    if timing is None:
        return None
    sentence = await async_phrase(
        hass,
        language,
        f"quick_{LATER if 'when' in timing else ''}{told.key}",
        targets=await _async_targets(hass, language, told),
        value=", ".join(filter(None, values)),
        place=told.place,
        **timing,
    )
    if told.count and told.place and not told.key.startswith(ALREADY):
        return await async_phrase(
            hass, language, "quick_in_place", place=told.place, told=sentence[0].lower() + sentence[1:]
        )
    return sentence[:1].upper() + sentence[1:]


async def _async_timing(hass: HomeAssistant, language: str, told: Told) -> dict[str, str] | None:
    """Return the time in a sentence, if it has one; None if this language has no words for it."""
    if (moment := told.when) is None:
        return {}
    local, today = dt_util.as_local(moment.due), dt_util.now().date()
    clock = f"{local:%H:%M}"
    if told.key == UNTIL:
        return {"time": clock} if local.date() == today else None
    if moment.days:
        key = REPEATED.get(tuple(moment.days))
    else:
        key = {0: "at", 1: "at_tomorrow"}.get((local.date() - today).days)
    return {"when": await async_phrase(hass, language, f"quick_{key}", time=clock)} if key else None


async def _async_targets(hass: HomeAssistant, language: str, told: Told) -> str:
    if not told.count:
        return ", ".join(told.names)
    kind = told.kind if told.kind in COUNTED else "device"
    return await async_phrase(hass, language, f"quick_count_{kind}", count=str(told.count))


async def _async_value(hass: HomeAssistant, language: str, value: ToldValue) -> str | None:
    """Return a value as it is spoken; None if this language has no word for it."""
    match value.kind:
        case ValueKind.PERCENT | ValueKind.DEGREES:
            number = await _async_number(hass, language, value.value)
            return await async_phrase(hass, language, f"quick_{value.kind}", number=number)
        case ValueKind.COLOR:
            return _color(language, str(value.value))
        case ValueKind.MODE:
            return await _async_mode(hass, language, str(value.value))
    return str(value.value)


async def _async_number(hass: HomeAssistant, language: str, value: str | float) -> str:
    whole, _, part = f"{value:g}".partition(".")
    if not part:
        return whole
    return await async_phrase(hass, language, "quick_decimal", whole=whole, part=part)


def _color(language: str, english: str) -> str | None:
    own = find(language) or DEFAULT
    if own == DEFAULT:
        return english
    return next(iter(words(own, f"names.colors.{english}")), None)


async def _async_mode(hass: HomeAssistant, language: str, mode: str) -> str | None:
    key = f"component.{CLIMATE}.entity_component._.state.{mode}"
    texts = await async_get_translations(hass, language, "entity_component", {CLIMATE})
    english = await async_get_translations(hass, DEFAULT, "entity_component", {CLIMATE})
    text = texts.get(key)
    is_translated = find(language) == DEFAULT or text != english.get(key)
    return text if text and is_translated else None
