"""Sentences of the agent's own, in the language of the person who speaks."""

from pathlib import Path
from typing import Final

from homeassistant.const import MATCH_ALL
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.translation import async_get_cached_translations, async_get_translations
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN
from ..errors import HomeAgentError
from ..languages import nearest

_ENGLISH: Final = "en"
_TRANSLATIONS: Final = Path(__file__).parent.parent / "translations"
_LANGUAGES: Final[HassKey[frozenset[str]]] = HassKey(f"{DOMAIN}.languages")
_PLACES: Final = (
    ("selector", f"component.{DOMAIN}.selector.spoken.options.{{key}}"),
    ("selector", f"component.{DOMAIN}.selector.import_report.options.{{key}}"),
    ("selector", f"component.{DOMAIN}.selector.self_test.options.{{key}}"),
    ("selector", f"component.{DOMAIN}.selector.adding.options.{{key}}"),
    ("exceptions", f"component.{DOMAIN}.exceptions.{{key}}.message"),
)
"""Category and full name of a sentence in the translations."""


async def async_phrase(hass: HomeAssistant, language: str, key: str, **placeholders: str) -> str:
    """Return a sentence in a language, or in the nearest one there is, or in English."""
    if cached_phrase(hass, language, key) is None:
        await async_load_phrases(hass, language)
    return phrase(hass, language, key, **placeholders)


async def async_load_phrases(hass: HomeAssistant, language: str) -> None:
    """Load the sentences of a language, after which `phrase` has them."""
    if _LANGUAGES not in hass.data:
        hass.data[_LANGUAGES] = await hass.async_add_executor_job(_languages)
    spoken = _spoken(hass, language, hass.data[_LANGUAGES])
    for category in dict.fromkeys(category for category, _ in _PLACES):
        await async_get_translations(hass, spoken, category, {DOMAIN})


@callback
def phrase(hass: HomeAssistant, language: str, key: str, **placeholders: str) -> str:
    """Return a sentence of a language that is loaded."""
    text = cached_phrase(hass, language, key, **placeholders)
    return key.replace("_", " ") if text is None else text


@callback
def cached_phrase(hass: HomeAssistant, language: str, key: str, **placeholders: str) -> str | None:
    """Return a sentence at once, or None if its language was not loaded yet."""
    if (languages := hass.data.get(_LANGUAGES)) is None:
        return None
    spoken = _spoken(hass, language, languages)
    for category, name in _PLACES:
        sentences = async_get_cached_translations(hass, spoken, category, DOMAIN)
        if sentence := sentences.get(name.format(key=key)):
            return _fill(sentence, placeholders)
    return None


async def async_error_sentence(hass: HomeAssistant, language: str, err: HomeAgentError) -> str:
    """Return the sentence for a user about an error."""
    return await async_phrase(hass, language, err.key, **(err.translation_placeholders or {}))


def _languages() -> frozenset[str]:
    return frozenset(path.stem for path in _TRANSLATIONS.glob("*.json"))


def _spoken(hass: HomeAssistant, language: str, languages: frozenset[str]) -> str:
    asked = hass.config.language if language in ("", MATCH_ALL) else language
    return nearest(asked, languages, hass.config.country) or _ENGLISH


def _fill(sentence: str, placeholders: dict[str, str]) -> str:
    """Put values into a sentence; one that asks for more than there is stays as it is."""
    try:
        return sentence.format(**placeholders)
    except KeyError, IndexError, ValueError:
        return sentence
