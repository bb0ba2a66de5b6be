"""The language files: complete, well formed, and found by any spelling of a language's code."""

from collections.abc import Iterator
from itertools import chain, product
import re
from typing import Any

import pytest

from custom_components.home_agent.languages import (
    FOLDER,
    STRICTER,
    find,
    gaps,
    languages,
    read_file,
    table,
    words,
    words_to_99,
)
from custom_components.home_agent.texts import fold, plain
from homeassistant.core import HomeAssistant
from scripts.lib.languages import written
from tests.helpers.agent import async_agent
from tests.helpers.checks import for_each
from tests.servers.model_server import ModelServer

NONE_YET: dict[str, str] = {
    "questions": "cs fi hu tr uk",
    "replies": "cs fi hu tr uk",
    "concepts": "fi hu ja ko tr uk zh",
    "firewall": "cs fi hu uk",
    "privacy": "fi hu ja ko tr uk zh",
    "memory": "fi hu ja ko tr uk zh",
    "times": "cs fi hu ja ko tr uk zh",
    "topics": "cs fi hu tr uk",
}
GAPS = {section: set(languages.split()) for section, languages in NONE_YET.items()}
"""Sections that a language may lack, by section. What is not listed here has to be there."""
WHOLE = {"en", "de", "fr", "es", "nl", "it", "pt", "pl", "sv", "da", "nb", "ru"}
"""Languages that may never have a gap."""


def read(language: str) -> dict[str, Any]:
    """Return what a file contains."""
    return read_file(FOLDER / f"{language}.json")


def tables(tree: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the tables of a file with their names."""
    for section, held in tree.items():
        if isinstance(held, dict):
            yield from ((f"{section}.{name}", value) for name, value in held.items())
        else:
            yield section, held


def lists(name: str, value: Any) -> list[list[str]]:
    """Return the lists of words that a table is made of."""
    if isinstance(value, dict):
        return [each if isinstance(each, list) else [each] for each in value.values()]
    return list(value) if name == "numbers.digits" else [value]


def described(line: str = "") -> Iterator[str]:
    """Yield the tables that the description of the files names, all or those in lines with this beginning."""
    for part in (FOLDER / "README.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        section, _, text = part.partition("\n")
        for paragraph in re.findall(rf"^{line}(?:.+\n)+", text, re.MULTILINE):
            yield from (f"{section}.{name}" for name in re.findall(r"`(\w+)`", paragraph))


def test_gaps_are_named() -> None:
    """A new section or language must be complete, or its gaps must be listed here."""
    found: dict[str, set[str]] = {}
    for name, language in product(described("Needed: "), languages()):
        if table(language, name) is None:
            found.setdefault(name.partition(".")[0], set()).add(language)
    assert found == GAPS
    assert set(languages()) >= WHOLE
    assert not {*chain(*GAPS.values())} & WHOLE
    strict = {name.partition(".")[0] for name in STRICTER}
    told = {(section, language) for language in languages() for section, _effect in gaps(language)}
    assert told == {(section, language) for section in strict for language in GAPS.get(section, ())}


@for_each("language", sorted(WHOLE))
def test_sentences_can_be_read(language: str) -> None:
    """A language of Europe has words for orders and questions, and for what an answer denies."""
    named = (
        "questions.asks",
        "questions.orders",
        "questions.tells",
        "questions.greetings",
        "questions.fillers",
    )
    assert not {name for name in (*named, "replies.fails") if not words(language, name)}


@for_each("language", languages())
def test_a_file(language: str) -> None:
    """Each of its tables is true, or a list without blanks and duplicates.

    `scripts/languages --write` writes the files in this form.
    """
    tree = read(language)
    assert (FOLDER / f"{language}.json").read_text(encoding="utf-8") == written(tree) + "\n"
    for name, value in tables(tree):
        assert value, name
        # Letters as Latin ones: some are silent, and some sound the same.
        if value is True or name == "names.latin":
            continue
        for row in lists(name, value):
            entries = [plain(entry) + ("*" if entry.endswith("*") else "") for entry in row]
            assert all(entries), name
            assert len(set(entries)) == len(entries), (name, entries)
    assert len(table(language, "numbers.digits")) == 10
    assert len(words_to_99(language)) == 90
    assert all(number.strip() for number in words_to_99(language))


@for_each(
    ("language", "spelt"),
    [
        ("en", {10: "ten", 21: "twenty-one", 99: "ninety-nine"}),
        ("de", {21: "einundzwanzig", 30: "dreißig"}),
        ("fr", {21: "vingt-et-un", 80: "quatre-vingts", 91: "quatre-vingt-onze"}),
        ("es", {22: "veintidós", 31: "treinta y uno"}),
        ("da", {55: "femoghalvtreds"}),
        ("nb", {21: "tjueén", 47: "førtisju"}),
        ("uk", {15: "п'ятнадцять", 95: "дев'яносто п'ять"}),
        ("ko", {11: "십일", 99: "구십구"}),
        ("zh", {42: "四十二"}),
    ],
)
def test_numbers_in_words(language: str, spelt: dict[int, str]) -> None:
    """They are as people type them, without marks that are not seen."""
    assert {number: words_to_99(language)[number - 10] for number in spelt} == spelt


@for_each("language", languages())
def test_words_do_not_contradict_each_other(language: str) -> None:
    """No phrase means yes and no."""
    for first, second in (("answers.yes", "answers.no"), ("answers.go_ahead", "answers.no")):
        assert not {*map(fold, words(language, first))} & {*map(fold, words(language, second))}
    fillers = {*map(fold, words(language, "answers.fillers"))}
    for name in ("yes", "go_ahead", "no", "beside_no"):
        assert not fillers & {*map(fold, words(language, f"answers.{name}"))}


@for_each(
    ("code", "language"),
    [
        ("en", "en"),
        ("en-GB", "en"),
        ("EN_us", "en"),
        ("pt-BR", "pt"),
        ("de-CH", "de"),
        ("gsw", "de"),
        ("zh-Hans", "zh"),
        ("zh-Hant-TW", "zh"),
        ("zh_cn", "zh"),
        ("es-419", "es"),
        ("no", "nb"),
        ("nb", "nb"),
        ("nn", "nb"),
        ("nn-NO", "nb"),
        ("*", None),
        ("", None),
        ("xx", None),
    ],
)
def test_codes(code: str, language: str | None) -> None:
    assert find(code) == language


async def test_a_gap_is_told(
    hass: HomeAssistant, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """If Home Assistant runs in a language without a file, the log says what is stricter."""
    hass.config.language = "tlh"
    await async_agent(hass, model_server)
    assert "the model alone judges whether a sentence is a question" in caplog.text
