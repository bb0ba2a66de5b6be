"""A yes in the words of a household, a yes with more behind it, and answers that are neither yes nor no."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from custom_components.home_agent.safety.answers import Answer, Ordered, read_answer_and_rest

FIXTURE = Path(__file__).parent.parent / "fixtures" / "answers.yaml"
TABLES: dict[str, Any] = yaml.safe_load(FIXTURE.read_text(encoding="utf-8"))
UNLOCKS = {
    "en": Ordered(frozenset({"unlock", "open"}), ("Front Door",)),
    "de": Ordered(frozenset({"unlock", "open"}), ("Haustür",)),
}


def answer(sentence: str, language: str) -> Answer:
    """Return the answer to the question whether to unlock the front door."""
    return read_answer_and_rest(sentence, [language], UNLOCKS[language]).answer


@pytest.mark.parametrize(("language", "count"), [("en", 46), ("de", 28)])
def test_ways_to_say_yes(language: str, count: int) -> None:
    ways = TABLES["ways"][language]
    missed = [way for way in ways if answer(way, language) is not Answer.YES]
    assert len(ways) == count
    assert len(missed) <= 0.05 * count, missed


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_is_no_yes(language: str) -> None:
    assert [each for each in TABLES["others"][language] if answer(each, language) is Answer.YES] == []


def test_enough_of_them() -> None:
    assert sum(map(len, TABLES["others"].values())) >= 200
