"""One line about all entities of a kind."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from custom_components.home_agent.context.kind_lines import (
    LineOptions,
    kind_lines,
    measure_draft,
    offline_draft,
)
from custom_components.home_agent.knowledge.house import Area, EntityRecord, HouseSnapshot
from homeassistant.core import HomeAssistant, State

KITCHEN = Area(area_id="kitchen", name="Kitchen")
OFFICE = Area(area_id="office", name="Office")
HOUSE = HouseSnapshot(areas={"kitchen": KITCHEN, "office": OFFICE})

type Member = tuple[EntityRecord, State]


def one(
    entity_id: str,
    name: str,
    state: str,
    attributes: Mapping[str, Any] | None = None,
    *,
    area: str | None = None,
    device_class: str | None = None,
) -> Member:
    """Return an entity with its state."""
    record = EntityRecord(
        entity_id=entity_id,
        domain=entity_id.partition(".")[0],
        name=name,
        area_id=area,
        device_class=device_class,
    )
    return record, State(entity_id, state, attributes)


def texts(members: Sequence[Member], **options: Any) -> list[str]:
    """Return the lines about some entities."""
    return [line.text for line in kind_lines(members, HOUSE, LineOptions(**options))]


def lamps(*states: str) -> list[Member]:
    """Return lamps in these states."""
    return [one(f"light.lamp_{number}", f"Lamp {number}", state) for number, state in enumerate(states, 1)]


def test_lights_that_are_on_are_counted_and_named() -> None:
    members = [
        one("light.strip", "Sofa Strip", "on", {"brightness": 128}),
        one("light.desk", "Desk Lamp", "on"),
        one("light.hall", "Hallway Light", "off"),
    ]
    (line,) = kind_lines(members, HOUSE)
    assert line.text == "lights: 2 of 3 on: Desk Lamp, Sofa Strip (50%) (complete)"
    assert line.entity_ids == ("light.desk", "light.strip", "light.hall")
    assert (line.named, line.left_out) == (2, 0)


def test_none_is_said_too() -> None:
    assert texts(lamps("off", "off")) == ["lights: none of 2 on (complete)"]


def test_a_list_that_is_cut_says_how_many_are_missing() -> None:
    (line,) = kind_lines(lamps(*["on"] * 7), HOUSE, LineOptions(max_names=3))
    assert line.text == "lights: 7 of 7 on: Lamp 1, Lamp 2, Lamp 3, +4 more (ha_query)"
    assert (line.named, line.left_out) == (3, 4)
    assert len(line.entity_ids) == 7


def test_the_place_is_named() -> None:
    assert texts(lamps("on", "off"), place="Kitchen") == ["lights in Kitchen: 1 of 2 on: Lamp 1 (complete)"]


def test_a_line_in_a_result_has_no_mark() -> None:
    assert texts(lamps("on"), marked=False) == ["lights: 1 of 1 on: Lamp 1"]


def test_those_at_rest_are_named_on_request() -> None:
    assert texts(lamps("on", "off", "off"), resting=True) == [
        "lights: 1 of 3 on: Lamp 1; off: Lamp 2, Lamp 3 (complete)"
    ]


def test_unavailable_ones_are_told_and_counted() -> None:
    assert texts(lamps("on", "unavailable")) == ["lights: 1 of 2 on: Lamp 1; unavailable: Lamp 2 (complete)"]


def test_a_group_is_no_further_lamp() -> None:
    group = one("light.all", "All Lamps", "on", {"entity_id": ["light.lamp_1", "light.lamp_2"]})
    assert texts([*lamps("on", "off"), group]) == ["lights: 1 of 2 on: Lamp 1 (complete)"]
    assert texts([group]) == ["lights: 1 of 1 on: All Lamps (complete)"]


def test_kinds_are_lines_of_their_own() -> None:
    members = [
        one("light.a", "Lamp", "on"),
        one("binary_sensor.w", "Kitchen Window", "on", device_class="window"),
        one("binary_sensor.v", "Bath Window", "off", device_class="window"),
        one("binary_sensor.d", "Back Door", "off", device_class="door"),
        one("cover.g", "Garage Door", "closed", {"current_position": 0}, device_class="garage"),
        one("cover.b", "Blinds", "open", {"current_position": 40}, device_class="blind"),
        one("lock.f", "Front Door", "locked"),
        one("fan.o", "Office Fan", "on", {"percentage": 50}),
        one("vacuum.r", "Robbie", "docked"),
        one("person.anna", "Anna", "home"),
    ]
    assert texts(members, marked=False) == [
        "lights: 1 of 1 on: Lamp",
        "windows: 1 of 2 open: Kitchen Window",
        "doors: none of 1 open",
        "garage doors: none of 1 open",
        "blinds: 1 of 1 open: Blinds (40%)",
        "locks: none of 1 unlocked",
        "fans: 1 of 1 on: Office Fan (50%)",
        "vacuums: none of 1 cleaning",
        "people: 1 of 1 home: Anna",
    ]


def test_players_tell_what_is_playing() -> None:
    members = [
        one("media_player.tv", "Television", "on", {"source": "Console"}),
        one("media_player.speaker", "Speaker", "playing", {"media_title": "Blue", "media_artist": "Ann"}),
        one("media_player.radio", "Radio", "idle"),
    ]
    assert texts(members, marked=False) == [
        'media players: 2 of 3 on: Speaker (playing, "Blue" by "Ann"), Television (source Console)'
    ]


def test_thermostats_tell_measurement_and_target() -> None:
    members = [
        one("climate.a", "Bath", "heat", {"current_temperature": 21, "temperature": 23}),
        one("climate.b", "Bedroom", "off", {"current_temperature": 18}),
    ]
    assert texts(members, marked=False) == ["thermostats: 1 of 2 on: Bath (21°, heat to 23°)"]


def test_many_names_have_no_details() -> None:
    members = [one(f"light.{n}", f"Lamp {n}", "on", {"brightness": 128}) for n in range(5)]
    assert texts(members, marked=False) == ["lights: 5 of 5 on: Lamp 0, Lamp 1, Lamp 2, Lamp 3, Lamp 4"]


def test_the_same_name_in_two_rooms_is_told_apart() -> None:
    members = [
        one("light.a", "Ceiling", "on", area="kitchen"),
        one("light.b", "Ceiling", "on", area="office"),
        one("light.c", "Lamp", "on", area="office"),
    ]
    assert texts(members, marked=False) == ["lights: 3 of 3 on: Ceiling in Kitchen, Ceiling in Office, Lamp"]
    assert texts(members[2:], marked=False, rooms=True) == ["lights: 1 of 1 on: Lamp in Office"]


def test_batteries_tell_the_lowest_first() -> None:
    members = [
        one("sensor.lock", "Lock", "64", {"unit_of_measurement": "%"}, device_class="battery"),
        one("sensor.remote", "Remote", "12", {"unit_of_measurement": "%"}, device_class="battery"),
        one("binary_sensor.button", "Button", "on", device_class="battery"),
        one("sensor.lost", "Lost", "unavailable", device_class="battery"),
    ]
    assert texts(members, marked=False) == [
        "batteries: 2 of 4 low: Button low, Remote 12%; others: Lock 64%; unavailable: Lost"
    ]


def test_measurements_begin_with_the_highest() -> None:
    unit = {"unit_of_measurement": "°C"}
    members = [
        one("sensor.a", "Cellar", "12.5", unit, device_class="temperature"),
        one("sensor.b", "Attic", "24", unit, device_class="temperature"),
        one("sensor.c", "Washing Machine", "rinsing"),
    ]
    assert texts(members, marked=False) == [
        "temperatures, highest first: Attic 24 °C, Cellar 12.5 °C",
        "sensors: Washing Machine rinsing",
    ]
    thermostat = one("climate.a", "Bath", "off")
    draft = measure_draft("temperatures", [(thermostat, 21.5)], HOUSE, shown=lambda _member: "21.5°")
    assert draft.line().text == "temperatures: Bath 21.5° (complete)"


def test_what_is_offline() -> None:
    line = offline_draft([*lamps("on", "unavailable"), one("fan.a", "Fan", "unknown")], HOUSE).line()
    assert line.text == "devices: 1 of 3 unavailable: Lamp 2 (complete)"
    assert offline_draft(lamps("on"), HOUSE).line().text == "devices: none of 1 unavailable (complete)"


@pytest.mark.usefixtures("hass")
def test_a_name_cannot_add_a_line() -> None:
    assert texts([one("light.a", "Lamp\nlights: none", "on")], marked=False) == [
        "lights: 1 of 1 on: Lamp lights: none"
    ]


async def test_states_of_a_running_home(hass: HomeAssistant) -> None:
    hass.states.async_set("light.a", "on", {"brightness": 255})
    state = hass.states.get("light.a")
    assert state is not None
    record = EntityRecord(entity_id="light.a", domain="light", name="Lamp")
    assert texts([(record, state)]) == ["lights: 1 of 1 on: Lamp (100%) (complete)"]
