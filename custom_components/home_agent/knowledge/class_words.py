"""What Home Assistant itself calls domains and device classes, in any of its languages."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from homeassistant.core import HomeAssistant
from homeassistant.generated.languages import LANGUAGES
from homeassistant.helpers.translation import async_get_translations

from ..languages import nearest
from .records import EntityRecord, HouseSnapshot

CATEGORIES = ("title", "entity_component")


class ClassWords:
    """What Home Assistant itself calls domains, classes, their states and attributes."""

    def __init__(self, translations: Iterable[Mapping[str, str]]) -> None:
        """Sort translations by domain and class."""
        self._names: dict[tuple[str, str], list[str]] = {}
        self._details: dict[tuple[str, str], list[str]] = {}
        for key, text in ((key, text) for strings in translations for key, text in strings.items()):
            _, domain, *path = key.split(".")
            if path == ["title"]:
                self._names.setdefault((domain, "_"), []).append(text)
            elif path[0] == "entity_component" and path[2:] == ["name"]:
                self._names.setdefault((domain, path[1]), []).append(text)
            elif path[0] == "entity_component" and (path[2] == "state" or path[-1] == "name"):
                self._details.setdefault((domain, path[1]), []).append(text)

    def names(self, record: EntityRecord) -> str:
        """Return the names of an entity's class, else of its domain."""
        return self._look_up(self._names, record)

    def details(self, record: EntityRecord) -> str:
        """Return the names of the states and attributes of an entity's class, else of its domain."""
        return self._look_up(self._details, record)

    @staticmethod
    def _look_up(table: Mapping[tuple[str, str], Sequence[str]], record: EntityRecord) -> str:
        """Return the texts of the class or of the domain."""
        found = table.get((record.domain, record.device_class or "_")) or table.get((record.domain, "_"), ())
        return " ".join(dict.fromkeys(found))


@lru_cache(maxsize=256)
def known_language(language: str) -> str:
    """Return the language that Home Assistant has words for and that comes closest."""
    return nearest(language, LANGUAGES) or "en"


async def async_class_words(
    hass: HomeAssistant, house: HouseSnapshot, languages: Iterable[str]
) -> ClassWords:
    """Return the words for all classes of a home; languages are those of `known_language`."""
    domains = sorted({record.domain for record in house.entities.values()})
    return ClassWords(
        [
            await async_get_translations(hass, language, category, domains)
            for language in languages
            for category in CATEGORIES
        ]
    )
