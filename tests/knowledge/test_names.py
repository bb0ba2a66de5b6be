"""Names found in sentences."""

import pytest

from custom_components.home_agent.knowledge.names import Phrases, called, longest

ROOMS = ("Bedroom", "Kids Bedroom", "Living Room", "Room 1", "Room 2")
PHRASES = Phrases((name.lower().split(), name) for name in ROOMS)


def said(text: str, *, in_a_row: bool = False) -> list[str]:
    meanings = [(word,) for word in text.split()]
    return [mention.value for mention in longest(PHRASES.find(meanings, in_a_row=in_a_row))]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("light in the kids bedroom", ["Kids Bedroom"]),
        ("the bedroom and the kids bedroom", ["Bedroom", "Kids Bedroom"]),
        ("the bedroom of the kids", ["Kids Bedroom"]),
        ("living in a room", ["Living Room"]),
        ("bathroom", []),
        ("", []),
    ],
)
def test_the_longest_name_counts(text: str, names: list[str]) -> None:
    assert said(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("2 lights in room 1", ["Room 1"]),
        ("the living and the room 2", ["Room 2"]),
        ("room 1 room 2", ["Room 1", "Room 2"]),
        ("the bedroom of the kids", ["Bedroom"]),
    ],
)
def test_names_in_a_row(text: str, names: list[str]) -> None:
    assert said(text, in_a_row=True) == names


def test_many_repetitions_are_found() -> None:
    assert len(said("kids " * 20_000 + "bedroom room 1")) == 20_001


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("kids-bedroom", ["Kids Bedroom"]),
        ("bedroom", ["Bedroom"]),
        ("room", ["Living Room", "Room 1", "Room 2"]),
        ("livng room", ["Living Room"]),
        ("room 3", []),
    ],
)
def test_what_a_name_means(text: str, names: list[str]) -> None:
    assert called(ROOMS, text, lambda name: (name,)) == names
