"""What to try first with a new agent: sentences about the home's own entities."""

from collections.abc import Iterator, Sequence
from typing import Final

from homeassistant.core import HomeAssistant

from ..agent.phrases import async_phrase
from ..agent.spoken_names import Case, with_article
from ..knowledge.records import EntityRecord, HouseSnapshot

SENTENCES: Final = 3
MIN_LIGHTS: Final = 2
_COMMANDS: Final = ("light", "switch", "fan", "media_player", "cover")
_OPENINGS: Final = frozenset({"door", "garage_door", "window", "opening", "garage"})
_BLINDS: Final = frozenset({"blind", "curtain", "shade", "shutter", "awning"})
_ROOMS: Final = frozenset({"temperature", "lights_off"})
"""Sentences about a room."""

type Try = tuple[str, str]
"""The key of a sentence in the translations, and the name in it."""


async def async_first_sentences(hass: HomeAssistant, house: HouseSnapshot) -> list[str]:
    """Return three sentences in the language of Home Assistant, each of another kind."""
    language = hass.config.language
    return [await _async_sentence(hass, language, key, name) for key, name in _tries(hass, house)]


async def _async_sentence(hass: HomeAssistant, language: str, key: str, name: str) -> str:
    """Return a sentence with the name in it. A preposition precedes the name of a room."""
    case = Case.PREPOSITION if key in _ROOMS else Case.OBJECT
    named = with_article(name, language, case) if name else ""
    return await async_phrase(hass, language, f"try_{key}", name=named)


def _tries(hass: HomeAssistant, house: HouseSnapshot) -> Sequence[Try]:
    """Return what to try: a command, a question, several things at once, then what needs no device."""
    kinds = (_command(hass, house), _question(house), _several(house))
    found = [entry for kind in kinds if (entry := next(kind, None))]
    return [*found, ("ability", ""), ("timer", ""), ("memory", "")][:SENTENCES]


def _records(house: HouseSnapshot, domain: str) -> Iterator[EntityRecord]:
    """Yield the entities of a domain that people use, those in a room first."""
    of_it = [each for each in house.entities.values() if each.domain == domain and each.category is None]
    yield from sorted(of_it, key=lambda record: record.area_id is None)


def _command(hass: HomeAssistant, house: HouseSnapshot) -> Iterator[Try]:
    """Yield commands that change something and do no harm."""
    for domain in _COMMANDS:
        for record in _records(house, domain):
            state = hass.states.get(record.entity_id)
            if state is None or (domain == "cover" and record.device_class not in _BLINDS):
                continue
            if state.state in ("on", "playing"):
                yield "turn_off", record.name
            elif state.state in ("off", "idle", "standby"):
                yield "turn_on", record.name
            elif state.state in ("open", "closed"):
                yield ("close" if state.state == "open" else "open"), record.name


def _question(house: HouseSnapshot) -> Iterator[Try]:
    """Yield questions about the home."""
    for record in _records(house, "binary_sensor"):
        if record.device_class in _OPENINGS:
            yield "is_open", record.name
    for record in _records(house, "lock"):
        yield "is_locked", record.name
    for record in _records(house, "climate"):
        if record.area_id in house.areas:
            yield "temperature", house.areas[str(record.area_id)].name
    for record in _records(house, "sensor"):
        if record.device_class == "temperature" and record.area_id in house.areas:
            yield "temperature", house.areas[str(record.area_id)].name


def _several(house: HouseSnapshot) -> Iterator[Try]:
    """Yield commands about a room, or about later."""
    lights = [record.area_id for record in _records(house, "light")]
    for area_id, area in house.areas.items():
        if lights.count(area_id) >= MIN_LIGHTS:
            yield "lights_off", area.name
    for domain in ("light", "switch"):
        for record in _records(house, domain):
            yield "turn_off_later", record.name
