"""The agent's own sentences, on a real Home Assistant with the translations of the integration."""

import inspect
import json
from pathlib import Path

import pytest

from custom_components.home_agent import errors
from custom_components.home_agent.agent.describe import async_error_sentence, async_phrase
from homeassistant.core import HomeAssistant

TRANSLATIONS = Path(errors.__file__).parent / "translations"
LANGUAGES = sorted(path.stem for path in TRANSLATIONS.glob("*.json"))
SPOKEN = ("done", "no_answer", "one_moment")
ERRORS = [
    error
    for _, error in inspect.getmembers(errors, inspect.isclass)
    if issubclass(error, errors.HomeAgentError) and error not in (errors.RefusedByRule, errors.NotErased)
]
"""Errors with one short sentence each; a refusal by a rule has one for each kind of rule."""


async def test_every_sentence_exists_in_every_language(
    hass: HomeAssistant, subtests: pytest.Subtests
) -> None:
    """No key is spoken, and nothing falls back to English."""
    for language in LANGUAGES:
        with subtests.test(language=language):
            texts = json.loads((TRANSLATIONS / f"{language}.json").read_text())
            for key in SPOKEN:
                sentence = await async_phrase(hass, language, key)
                assert sentence == texts["selector"]["spoken"]["options"][key]
                assert " " in sentence or sentence.endswith((".", "。"))
            for error in ERRORS:
                sentence = await async_error_sentence(hass, language, error("a detail"))
                assert sentence == texts["exceptions"][error.key]["message"]
                assert "a detail" not in sentence
                assert len(sentence) <= 100
            if language != "en":
                english = [await async_phrase(hass, "en", key) for key in SPOKEN]
                assert english != [await async_phrase(hass, language, key) for key in SPOKEN]


async def test_the_nearest_language_is_spoken(hass: HomeAssistant, subtests: pytest.Subtests) -> None:
    """A region without a file of its own gets its language, an unknown language English."""
    for asked, spoken in [
        ("de-CH", "de"),
        ("de_AT", "de"),
        ("DE", "de"),
        ("gsw", "de"),
        ("fr-CA", "fr"),
        ("it-CH", "it"),
        ("pt-BR", "pt-BR"),
        ("es-MX", "es"),
        ("no", "nb"),
        ("nn-NO", "nb"),
        ("uk-UA", "uk"),
        ("zh", "zh-Hans"),
        ("zh-CN", "zh-Hans"),
        ("zh-TW", "zh-Hans"),
        ("tlh", "en"),
        ("en-GB", "en"),
    ]:
        with subtests.test(asked=asked, spoken=spoken):
            assert await async_phrase(hass, asked, "llm_timeout") == await async_phrase(
                hass, spoken, "llm_timeout"
            )
            assert await async_phrase(hass, "de", "llm_timeout") != await async_phrase(
                hass, "en", "llm_timeout"
            )


async def test_no_language_means_that_of_the_house(hass: HomeAssistant, subtests: pytest.Subtests) -> None:
    """A request without a language is answered in the language of Home Assistant."""
    for language in ["", "*"]:
        with subtests.test(language=language):
            hass.config.language = "nl"
            assert (
                await async_phrase(hass, language, "done")
                == await async_phrase(hass, "nl", "done")
                == "Klaar."
            )
