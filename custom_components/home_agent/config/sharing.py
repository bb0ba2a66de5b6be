"""Agents that keep vectors in one Chroma database: what they must not share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant

from ..const import (
    BACKEND_CHROMA,
    CONF_EMBEDDING_MODEL,
    CONF_EMBEDDING_PROVIDER,
    CONF_MEMORY_COLLECTION,
    CONF_VECTOR_BACKEND,
    CONF_VECTOR_COLLECTION,
    CONF_VECTOR_DATABASE,
    CONF_VECTOR_HOST,
    CONF_VECTOR_PORT,
    CONF_VECTOR_TENANT,
    DEFAULTS,
    DOMAIN,
    EMBEDDING_BUILTIN,
)
from ..errors import InvalidInput
from ..knowledge.indexer import knowledge_collection, profile_collection
from .fields import Checked

DATABASE_KEYS = (CONF_VECTOR_HOST, CONF_VECTOR_PORT, CONF_VECTOR_TENANT, CONF_VECTOR_DATABASE)


@dataclass(frozen=True, slots=True)
class StoredOptions:
    """What an agent keeps in which Chroma database."""

    database: Sequence[Any]
    embedder: Sequence[str]
    """Vectors of two embedders cannot be compared."""
    house: Sequence[str]
    own: Sequence[str]
    """Collections of memories and of the profile, which each agent has for itself."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self | None:
        """Read options, None if no Chroma server is chosen."""
        settings = {**DEFAULTS, **options}
        if settings[CONF_VECTOR_BACKEND] != BACKEND_CHROMA:
            return None
        provider, model = settings[CONF_EMBEDDING_PROVIDER], settings[CONF_EMBEDDING_MODEL]
        house, memories = settings[CONF_VECTOR_COLLECTION], settings[CONF_MEMORY_COLLECTION]
        return cls(
            database=[settings[key] for key in DATABASE_KEYS],
            embedder=[provider, "" if provider == EMBEDDING_BUILTIN else model],
            house=[house, knowledge_collection(house)],
            own=[memories, profile_collection(memories)],
        )

    def clash(self, other: Self) -> tuple[str, str] | None:
        """Return the option and the collection that cannot be the other's too, None if all is well."""
        same_house = self.house == other.house and self.embedder == other.embedder
        for name in self.house:
            if name in other.own or (name in other.house and not same_house):
                return CONF_VECTOR_COLLECTION, name
        for name in self.own:
            if name in other.own or name in other.house:
                return CONF_MEMORY_COLLECTION, name
        return None


def check_sharing(
    hass: HomeAssistant, entry: ConfigEntry, options: Mapping[str, Any], page: Sequence[str], checked: Checked
) -> None:
    """Refuse options with which two agents would fill one collection over each other.

    `page` are the fields that can be marked; what belongs to another page is said at the store.
    """
    kept = StoredOptions.of(options)
    if kept is None or not {CONF_VECTOR_BACKEND, CONF_MEMORY_COLLECTION}.intersection(page):
        return
    for title, other in _others(hass, entry):
        if other.database != kept.database or (clash := kept.clash(other)) is None:
            continue
        option, collection = clash
        told = {"agent": title, "collection": collection}
        error = InvalidInput("collection_shared", **told)
        if option == CONF_MEMORY_COLLECTION:
            error = InvalidInput("memories_shared", **told)
        field = option if option in page else CONF_VECTOR_BACKEND
        if field in page:
            checked.fail(field, error)


def _others(hass: HomeAssistant, entry: ConfigEntry) -> Iterator[tuple[str, StoredOptions]]:
    """Yield the other agents that keep something on a Chroma server, by their titles."""
    for other in hass.config_entries.async_entries(DOMAIN):
        if other.entry_id != entry.entry_id and (kept := StoredOptions.of(other.options)):
            yield other.title, kept
