"""Rooms that are called by their owner: "chambre de Mia" is Mia's Room, not the Bedroom."""

import pytest

from custom_components.home_agent.errors import ValidationError
from custom_components.home_agent.knowledge.house import Area, EntityRecord, HouseSnapshot
from custom_components.home_agent.knowledge.speaker import Speaker
from custom_components.home_agent.tools.resolving.resolver import (
    Target,
    find_place,
    places_in_sentence,
    resolve,
)
from homeassistant.core import Context

AREAS = {
    "bedroom": ("Bedroom", "our bedroom"),
    "bathroom": ("Bathroom",),
    "kitchen": ("Kitchen",),
    "mia": ("Mia's Room",),
    "leo": ("Leo's Room", "nursery"),
}
HOUSE = HouseSnapshot(
    version=1,
    entities={
        f"light.{area}": EntityRecord(
            entity_id=f"light.{area}", domain="light", name="Lamp", area_id=area, device_class=None
        )
        for area in AREAS
    },
    areas={key: Area(area_id=key, name=names[0], aliases=names[1:]) for key, names in AREAS.items()},
    floors={},
)
SPOKEN = [
    ("en", "Mia's bedroom", "mia"),
    ("en", "the room of Leo", "leo"),
    ("de", "Mias Zimmer", "mia"),
    ("de", "im Schlafzimmer von Leo", "leo"),
    ("fr", "la chambre de Mia", "mia"),
    ("fr", "chambre de Léo", "leo"),
    ("es", "el cuarto de Leo", "leo"),
    ("es", "habitación de Mia", "mia"),
    ("nl", "Mia's kamer", "mia"),
    ("nl", "de kamer van Mia", "mia"),
    ("it", "camera di Mia", "mia"),
    ("it", "la stanza di Leo", "leo"),
    ("pt", "quarto da Mia", "mia"),
    ("pl", "pokój Mii", "mia"),
    ("pl", "pokoju Mii", "mia"),
    ("ru", "комната Мии", "mia"),
    ("ru", "в комнате Лео", "leo"),
    ("sv", "Mias rum", "mia"),
    ("da", "Leos værelse", "leo"),
    ("nb", "rommet til Mia", "mia"),
]
OTHERS = [
    ("fr", "la chambre", "bedroom"),
    ("es", "el dormitorio", "bedroom"),
    ("it", "la cucina di Mia", "kitchen"),
    ("it", "la camera di mia madre", "bedroom"),
    ("it", "la mia camera", "bedroom"),
    ("de", "das Schlafzimmer und Mias Lampe", "bedroom"),
    ("de", "Badezimmer von Mia", "bathroom"),
]


@pytest.mark.parametrize(("language", "said", "area_id"), [*SPOKEN, *OTHERS])
def test_a_sentence_names_the_room_of_its_owner(language: str, said: str, area_id: str) -> None:
    assert [place.area_ids for place in places_in_sentence(HOUSE, said, language)] == [{area_id}]


@pytest.mark.parametrize(("language", "said", "area_id"), SPOKEN)
def test_an_area_is_given_by_its_owner(language: str, said: str, area_id: str) -> None:
    speaker = Speaker(context=Context(), language=language)
    target = Target(area=said, domain=("light",))
    (record,) = resolve(HOUSE, target, speaker=speaker, sentence=said, allowed_domains=None)
    assert record.entity_id == f"light.{area_id}"


@pytest.mark.parametrize(
    ("language", "name", "area_id"),
    [
        ("fr", "lumière de la chambre de Léo", "leo"),
        ("es", "luz del cuarto de Leo", "leo"),
        ("de", "Licht in Mias Zimmer", "mia"),
        ("nl", "lamp in Mia's kamer", "mia"),
        ("ru", "свет в комнате Мии", "mia"),
        ("fr", "lumière de la chambre", "bedroom"),
    ],
)
def test_a_device_is_named_by_the_room_of_its_owner(language: str, name: str, area_id: str) -> None:
    speaker = Speaker(context=Context(), language=language)
    (record,) = resolve(
        HOUSE, Target(name=name), speaker=speaker, sentence=name, allowed_domains=frozenset({"light"})
    )
    assert record.entity_id == f"light.{area_id}"


def test_a_room_of_nobody_here_is_unknown() -> None:
    speaker = Speaker(context=Context(), language="fr")
    with pytest.raises(ValidationError, match="there is no area"):
        resolve(
            HOUSE,
            Target(area="chambre de Zoé", domain=("light",)),
            speaker=speaker,
            sentence="la chambre de Zoé",
            allowed_domains=None,
        )
    assert find_place(HOUSE, "chambre", "area") is not None
