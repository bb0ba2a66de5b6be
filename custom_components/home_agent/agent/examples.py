"""What can be said in this home: sentences about its own devices."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from homeassistant.core import HomeAssistant

from ..const import CONF_MEMORY
from ..knowledge.house import EntityRecord, HouseSnapshot
from ..languages import DEFAULT, find, words
from ..safety.spoken_numbers import fold_word
from ..texts import without_embeds
from .describe import NameCase, async_phrase, with_article
from .turn import Turn, async_say

SENTENCES: Final = 3
MIN_LIGHTS: Final = 2
ENDS: Final = tuple("?!.\u3002\uff1f")
"""How a sentence ends."""


async def async_examples(
    hass: HomeAssistant, language: str, house: HouseSnapshot, others: Iterable[str]
) -> list[str]:
    """Return three sentences to try, each of another kind; `others` fill up what the home does not give."""
    records = [record for record in house.entities.values() if record.category is None]
    # Those in a room first.
    records.sort(key=lambda record: record.area_id is None)

    def of(*domains: str) -> Iterator[EntityRecord]:
        return (record for domain in domains for record in records if record.domain == domain)

    tries: list[tuple[str, str, NameCase]] = []
    for record in of("light", "switch", "fan"):
        if (state := hass.states.get(record.entity_id)) and state.state in ("on", "off"):
            verb = "turn_off" if state.state == "on" else "turn_on"
            tries.append((verb, record.name, NameCase.OBJECT))
            break
    if (lock := next(of("lock"), None)) is not None:
        tries.append(("is_locked", lock.name, NameCase.OBJECT))
    lit = Counter(record.area_id for record in of("light"))
    if room := next((area.name for key, area in house.areas.items() if lit[key] >= MIN_LIGHTS), None):
        tries.append(("lights_off", room, NameCase.PREPOSITION))
    warm = {record.area_id for record in of("climate")}
    if room := next((area.name for key, area in house.areas.items() if key in warm), None):
        tries.append(("temperature", room, NameCase.PREPOSITION))
    tries += [(key, "", NameCase.OBJECT) for key in others]
    return [
        await async_phrase(
            hass, language, f"try_{key}", name=with_article(name, language, case) if name else ""
        )
        for key, name, case in tries[:SENTENCES]
    ]


@cache
def _abilities(language: str) -> frozenset[str]:
    return frozenset(map(fold_word, words(find(language) or DEFAULT, "answers.abilities")))


async def async_tell_examples(turn: Turn) -> bool:
    """Answer a sentence that asks nothing but what the agent can do, unless a caller says how to answer.

    It gets sentences with devices that the speaker may know: a model would invent some.
    """
    hass, data = turn.hass, turn.data
    if turn.pictures or turn.user_input is None or turn.user_input.extra_system_prompt:
        return False
    sentence = fold_word(turn.calls.sentence)
    if not any(sentence in _abilities(language) for language in (turn.language, hass.config.language)):
        return False
    reader = await data.handler.guard.async_reader(turn.calls.speaker)
    house = await data.house.async_snapshot()
    seen = HouseSnapshot(
        entities={key: record for key, record in house.entities.items() if reader.sees(key)},
        areas=house.areas,
    )
    others = ["timer", *(["memory"] if data.settings[CONF_MEMORY] else [])]
    examples = await async_examples(hass, turn.language, seen, others)
    ended = " ".join(text if text.endswith(ENDS) else f"{text}." for text in map(without_embeds, examples))
    await async_say(turn, await async_phrase(hass, turn.language, "can_say", sentences=ended))
    return True
