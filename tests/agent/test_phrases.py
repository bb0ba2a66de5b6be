"""The agent's own sentences, on a real Home Assistant with the translations of the integration."""

import pytest

from custom_components.home_agent.agent.describe import async_phrase
from homeassistant.core import HomeAssistant


async def test_the_nearest_language_is_spoken(hass: HomeAssistant, subtests: pytest.Subtests) -> None:
    """A region without a file of its own gets its language, an unknown language English."""
    for asked, spoken in [
        ("de_AT", "de"),
        ("pt-BR", "pt-BR"),
        ("es-MX", "es"),
        ("nn-NO", "nb"),
        ("zh-TW", "zh-Hans"),
        ("tlh", "en"),
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
