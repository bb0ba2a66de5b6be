"""Names in the words of the family's own language, for devices whose names are English."""

import pytest

from custom_components.home_agent.errors import ValidationError
from custom_components.home_agent.knowledge.house import Area, EntityRecord, HouseSnapshot
from custom_components.home_agent.knowledge.speaker import Speaker
from custom_components.home_agent.tools.ha_query import find_all
from custom_components.home_agent.tools.resolving.resolver import Target, resolve
from homeassistant.core import Context

AREAS = ("Bathroom", "Bedroom", "Mia's Bedroom", "Garage", "Kitchen", "Hall")
THINGS = (
    ("climate.bathroom", "Floor Heating", "Bathroom", None),
    ("climate.bedroom", "Thermostat", "Bedroom", None),
    ("light.anna", "Anna's Bedside Lamp", "Bedroom", None),
    ("light.tom", "Tom's Bedside Lamp", "Bedroom", None),
    ("light.mia", "Ceiling Light", "Mia's Bedroom", None),
    ("light.hall", "Lamp", "Hall", None),
    ("light.kitchen", "Kitchen Light", "Kitchen", None),
    ("light.counter", "Counter", "Kitchen", None),
    ("media_player.tv", "Telly", "Kitchen", "tv"),
    ("media_player.speaker", "Speaker", "Kitchen", "speaker"),
    ("cover.garage", "Garage Door", "Garage", "garage"),
    ("switch.coffee", "Coffee Maker", "Kitchen", None),
)
HOUSE = HouseSnapshot(
    version=1,
    entities={
        entity_id: EntityRecord(
            entity_id=entity_id,
            domain=entity_id.partition(".")[0],
            name=name,
            area_id=area,
            device_class=device_class,
        )
        for entity_id, name, area, device_class in THINGS
    },
    areas={name: Area(area_id=name, name=name) for name in AREAS},
    floors={},
)
LAMPS = frozenset(("light", "switch", "media_player", "climate"))


def found(name: str, language: str, allowed: frozenset[str] = LAMPS) -> list[str]:
    """Return the ids that an action gets for a name."""
    speaker = Speaker(context=Context(), language=language)
    records = resolve(
        HOUSE, Target(name=name), speaker=speaker, sentence=name, allowed_domains=frozenset(allowed)
    )
    return [record.entity_id for record in records]


@pytest.mark.parametrize(
    ("language", "name", "entity_ids"),
    [
        ("de", "Badheizung", ["climate.bathroom"]),
        ("pl", "ogrzewanie w łazience", ["climate.bathroom"]),
        ("ru", "отопление в ванной", ["climate.bathroom"]),
        ("da", "soveværelsesvarmen", ["climate.bedroom"]),
        ("de", "Toms Nachttischlampe", ["light.tom"]),
        ("pl", "lampkę nocną Anny", ["light.anna"]),
        ("fr", "la lampe de chevet d'Anna", ["light.anna"]),
        ("es", "altavoz", ["media_player.speaker"]),
        ("sv", "högtalaren", ["media_player.speaker"]),
        ("sv", "hallampan", ["light.hall"]),
        ("it", "macchina del caffè", ["switch.coffee"]),
        ("de", "Küchenlicht", ["light.counter", "light.kitchen"]),
        ("en", "kitchen lights", ["light.counter", "light.kitchen"]),
        ("nl", "Mia's lamp", ["light.mia"]),
    ],
)
def test_words_that_mean_one(language: str, name: str, entity_ids: list[str]) -> None:
    assert found(name, language) == entity_ids


@pytest.mark.parametrize(
    ("language", "name"), [("de", "Nachttischlampe"), ("fr", "lampe de chevet"), ("nl", "nachtkastlampje")]
)
def test_words_that_fit_several_name_them(language: str, name: str) -> None:
    with pytest.raises(ValidationError, match=r"(?s)several.*light\.anna.*light\.tom") as caught:
        found(name, language)
    assert "light.hall" not in str(caught.value)


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("de", "Kellerlampe"),
        ("de", "Omas Nachttischlampe"),
        ("pl", "kanał"),
        ("es", "lámpara del sótano"),
        ("sv", "piano"),
    ],
)
def test_a_part_of_a_name_is_not_enough(language: str, name: str) -> None:
    with pytest.raises(ValidationError):
        found(name, language)


@pytest.mark.parametrize(("language", "name"), [("de", "Garagentor"), ("es", "la puerta del garaje")])
def test_a_guess_moves_no_entrance(language: str, name: str) -> None:
    """It names the entity instead, also for an action that does not fit it."""
    for allowed in ({"cover"}, LAMPS):
        with pytest.raises(ValidationError, match=r"cover\.garage"):
            found(name, language, frozenset(allowed))


def test_a_query_reports_what_an_action_may_not_guess() -> None:
    speaker = Speaker(context=Context(), language="de")
    records = find_all(HOUSE, Target(name="Garagentor"), speaker=speaker, sentence="")
    assert [record.entity_id for record in records] == ["cover.garage"]
