"""Texts cut to length, and what nested values hold."""

from typing import Any

import pytest

from custom_components.home_agent.texts import cut, first_name, is_unspaced, leaves, one_line

DEPTH = 5_000


@pytest.mark.parametrize(("name", "expected"), [("Anna Maria", "Anna"), (" Tom", "Tom"), (" ", ""), ("", "")])
def test_first_names(name: str, expected: str) -> None:
    assert first_name(name) == expected


def test_leaves_stand_in_order() -> None:
    value = {"a": [1, {"b": "two"}], "c": ("three", None)}
    assert list(leaves(value)) == [1, "two", "three", None]
    assert list(leaves(value, keys=True)) == ["a", 1, "b", "two", "c", "three", None]
    assert list(leaves("text")) == ["text"]


def test_leaves_of_deep_values() -> None:
    value: Any = "deep"
    for _ in range(DEPTH):
        value = [value]
    assert list(leaves(value)) == ["deep"]


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("a\n b  c", 9, "a b c"), ("", 3, "")],
)
def test_one_line(text: str, limit: int, expected: str) -> None:
    assert one_line(text, limit) == expected
    assert len(cut(text, limit)) <= limit


@pytest.mark.parametrize(("text", "expected"), [("客厅", True), ("모두", True), ("ทุก", True), ("все", False)])
def test_scripts_without_spaces(text: str, expected: bool) -> None:
    assert is_unspaced(text) is expected
