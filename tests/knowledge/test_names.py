"""Names found in sentences."""

import pytest

from custom_components.home_agent.knowledge.names import Phrases, called, longest

ROOMS = ("Bedroom", "Kids Bedroom", "Living Room", "Room 1", "Room 2")
PHRASES = Phrases((name.lower().split(), name) for name in ROOMS)


def said(text: str, *, in_a_row: bool = False) -> list[str]:
    meanings = [(word,) for word in text.split()]
    return [mention.value for mention in longest(PHRASES.find(meanings, in_a_row=in_a_row))]


def test_the_longest_name_counts(subtests: pytest.Subtests) -> None:
    for text, names in [
        ("light in the kids bedroom", ["Kids Bedroom"]),
        ("the bedroom and the kids bedroom", ["Bedroom", "Kids Bedroom"]),
        ("the bedroom of the kids", ["Kids Bedroom"]),
        ("living in a room", ["Living Room"]),
        ("bathroom", []),
        ("", []),
    ]:
        with subtests.test(text=text, names=names):
            assert said(text) == names


def test_names_in_a_row(subtests: pytest.Subtests) -> None:
    for text, names in [
        ("2 lights in room 1", ["Room 1"]),
        ("the living and the room 2", ["Room 2"]),
        ("room 1 room 2", ["Room 1", "Room 2"]),
        ("the bedroom of the kids", ["Bedroom"]),
    ]:
        with subtests.test(text=text, names=names):
            assert said(text, in_a_row=True) == names


def test_many_repetitions_are_found() -> None:
    assert len(said("kids " * 20_000 + "bedroom room 1")) == 20_001


def test_what_a_name_means(subtests: pytest.Subtests) -> None:
    for text, names in [
        ("kids-bedroom", ["Kids Bedroom"]),
        ("bedroom", ["Bedroom"]),
        ("room", ["Living Room", "Room 1", "Room 2"]),
        ("livng room", ["Living Room"]),
        ("room 3", []),
    ]:
        with subtests.test(text=text, names=names):
            assert called(ROOMS, text, lambda name: (name,)) == names
