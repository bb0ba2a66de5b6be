"""Numbers in other languages than the speaker's: what is skipped early has no influence on the result."""

from collections.abc import Mapping
from itertools import product
from typing import Final

from custom_components.home_agent.languages import languages, table, words
from custom_components.home_agent.safety.spoken_numbers import (
    MAX_FOREIGN,
    MIN_DIGITS,
    Numbers,
    _read,
    number_words,
    read_numbers,
)
from tests.helpers.checks import for_each
from tests.helpers.spoken import QUESTIONS, REQUESTS

SENTENCES: Final[Mapping[str, list[str]]] = {
    language: [*QUESTIONS[language], *REQUESTS[language]]
    for language in sorted(QUESTIONS.keys() & set(languages()))
}
PINS: Final = [
    " ".join(row[digit][0] for digit in (4, 7, 1, 1))
    for language in languages()
    if len(row := table(language, "numbers.digits") or ()) > 9
]
SAID: Final = [
    *PINS,
    *("4711", "47 11", "it is four seven one one", "siebenundvierzig elf", "quarante-sept onze", "四七一一"),
    *("double one two three", "zwei zwei", "one hundred and twenty three", "no 4711 yes please"),
]


def read_with_all(sentence: str, language: str) -> Numbers:
    """Return what reading a sentence in every language finds."""
    read = _read(sentence, number_words(language))
    if (read.others or not read.digits) and len(read.tokens) <= MAX_FOREIGN:
        for other in languages():
            found = _read(sentence, number_words(other))
            if not found.others and len(found.digits) >= MIN_DIGITS:
                return found
    return read


@for_each("language", sorted(SENTENCES))
def test_sentences(language: str) -> None:
    """Sentences of the household, for speakers of their language and of another one."""
    assert SENTENCES[language]
    for sentence in SENTENCES[language]:
        for own in (language, "de"):
            assert read_numbers(sentence, own) == read_with_all(sentence, own), sentence


@for_each("own", ["en", "de", "ja", "tr"])
def test_pins_of_all_languages(own: str) -> None:
    """A PIN is found in whatever language it is said, also within a sentence."""
    assert len(PINS) >= 20
    for said in SAID:
        for sentence in (said, f"yes, {said}", f"turn on the light {said}", f"{said} bitte"):
            assert read_numbers(sentence, own) == read_with_all(sentence, own), sentence


COUNTING: Final = [language for language in languages() if words(language, "numbers.digits")]


@for_each("language", COUNTING)
def test_digit_after_digit(language: str) -> None:
    """Digits one after the other never become another number."""
    digits = [row[0] for row in table(language, "numbers.digits") or ()]
    for first, second in product(range(10), repeat=2):
        said = " ".join(digits[digit] for digit in (first, second, second, first))
        assert read_numbers(said, language).digits == f"{first}{second}{second}{first}", said
