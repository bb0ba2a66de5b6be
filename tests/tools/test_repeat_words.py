"""`repeat` in the words of a language."""

import pytest

from custom_components.home_agent.errors import ValidationError
from custom_components.home_agent.timers.timers import WORKDAYS
from custom_components.home_agent.tools.everyday.moments import read_days


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ("Werktag", "de"),
        ("jeden Werktag", "de"),
        ("every working day", "en"),
        ("monday through friday", "en"),
        ("jour ouvrable", "fr"),
        ("día laborable", "es"),
        ("werkdag", "nl"),
        ("giorno feriale", "it"),
        ("dia útil", "pt"),
        ("dzień roboczy", "pl"),
        ("vardag", "sv"),
        ("hverdag", "da"),
        ("ukedag", "nb"),
        ("будний день", "ru"),
        ("Werktag", "en"),
    ],
)
def test_working_days(said: str, language: str) -> None:
    """The singular means the working days too, also where a model writes another language."""
    assert read_days(said, language) == WORKDAYS


def test_what_is_not_clear_names_what_is_accepted() -> None:
    """Words without a meaning are refused with the accepted ones."""
    with pytest.raises(ValidationError, match="weekdays, weekends, weekly or days such as monday"):
        read_days("now and then", "en")
