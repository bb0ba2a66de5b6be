"""Names of entities as they are spoken: told apart, joined, and with an article where one fits."""

from collections.abc import Sequence
from enum import StrEnum

from homeassistant.const import ATTR_FRIENDLY_NAME
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er

from ..languages import DEFAULT, find, table, words
from ..texts import fold, fold_letters
from ..tools.resolving.resolver import plain
from .phrases import async_phrase


class Case(StrEnum):
    """What stands before a name in a sentence."""

    OBJECT = "object"
    """The verb: an article may follow."""
    PREPOSITION = "preposition"
    """Often a preposition, which would change an article that depends on the name."""
    TITLE = "title"
    """A name of its own, such as that of a scene: no article."""


async def async_targets(
    hass: HomeAssistant, language: str, entity_ids: Sequence[str], case: Case = Case.PREPOSITION
) -> str:
    """Return the names of entities as one list in a sentence of a language."""
    if not entity_ids:
        return ""
    said = [_with_article(_name(hass, one), language, case, known=_has_name(hass, one)) for one in entity_ids]
    return await async_joined(hass, language, said, "names_and")


async def async_joined(hass: HomeAssistant, language: str, texts: Sequence[str], key: str) -> str:
    """Return texts as a list with "and" before the last one; `key` says what kind of texts they are."""
    *before, last = texts
    if not before:
        return last
    return await async_phrase(hass, language, key, first=", ".join(before), last=last)


def with_article(name: str, language: str, case: Case) -> str:
    """Return the name of a device or a room with the article that a language puts before it."""
    return _with_article(name, language, case, known=True)


def names(hass: HomeAssistant, entity_ids: Sequence[str]) -> str:
    """Return the names of entities, with commas between them."""
    return ", ".join(_name(hass, entity_id) for entity_id in entity_ids)


def _with_article(name: str, language: str, case: Case, *, known: bool) -> str:
    own = find(language) or DEFAULT
    first, *others = fold(name).split() or [""]
    if not known or case is Case.TITLE:
        return name
    if always := next(iter(words(own, "spoken_names.always")), ""):
        owners = tuple(words(own, "spoken_names.owners"))
        is_owned = any(word.endswith(owners) for word in name.replace("’", "'").split())  # noqa: RUF001
        return name if is_owned or first in words(own, "spoken_names.without") else f"{always} {name}"
    if case is Case.PREPOSITION:
        return name
    compounds = bool(table(own, "spoken_names.compounds"))
    fitting = [
        (len(noun), article)
        for article, nouns in (table(own, "spoken_names.by_noun") or {}).items()
        for noun in map(fold, nouns)
        # An adjective before the noun would have to change with the article.
        if ((not others and first.endswith(noun)) if compounds else first == noun)
    ]
    if not fitting:
        return name
    article = max(fitting)[1]
    return f"{article}{name}" if article.endswith("'") else f"{article} {name}"


def _has_name(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether an entity has a name, rather than its id only."""
    return _friendly(hass, entity_id) != entity_id


def _name(hass: HomeAssistant, entity_id: str) -> str:
    name = _friendly(hass, entity_id)
    alike = [
        one
        for one in hass.states.async_entity_ids(entity_id.partition(".")[0])
        if one != entity_id and fold_letters(_friendly(hass, one)) == fold_letters(name)
    ]
    if not alike:
        return name
    area = _area(hass, entity_id)
    if area and not any(_area(hass, one) == area for one in alike):
        return f"{name} ({plain(area)})"
    return f"{name} ({entity_id})"


def _friendly(hass: HomeAssistant, entity_id: str) -> str:
    """Return only the name of an entity."""
    state = hass.states.get(entity_id)
    return plain(str((state.attributes.get(ATTR_FRIENDLY_NAME) if state else None) or entity_id))


def _area(hass: HomeAssistant, entity_id: str) -> str:
    if (entry := er.async_get(hass).async_get(entity_id)) is None:
        return ""
    area_id = entry.area_id
    if area_id is None and entry.device_id and (device := dr.async_get(hass).async_get(entry.device_id)):
        area_id = device.area_id
    area = ar.async_get(hass).async_get_area(area_id) if area_id else None
    return area.name if area else ""
