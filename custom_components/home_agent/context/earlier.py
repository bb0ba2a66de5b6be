"""What a sentence means by the turn before: the same kinds elsewhere, the others, or those named in part."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..domains import DOMAINS
from ..knowledge.house import Area, EntityRecord, HouseSnapshot
from .meant_kinds import MeantKinds, by_kind
from .named import MEASURED, Finder, fits
from .topics import Topic

MAX_NAMED: Final = 2
"""Words that may name another entity like those of the turn before."""
MAX_BEFORE: Final = 4
"""Entities of the turn before that a sentence may go on about."""


class Earlier:
    """The entities that the turn before was about, as one sentence goes on about them."""

    def __init__(
        self,
        house: HouseSnapshot,
        topic: Topic,
        finder: Finder,
        meant: MeantKinds,
        before: Sequence[EntityRecord],
    ) -> None:
        self._house, self._topic, self._finder, self._meant = house, topic, finder, meant
        self.before = before

    def room(self) -> Mapping[str, Area]:
        """Return the room that all of them are in; empty if there is no such room."""
        rooms = {one.area_id or "" for one in self.before}
        return {key: self._house.areas[key] for key in rooms if len(rooms) == 1 and key in self._house.areas}

    def fits_before(self, record: EntityRecord, kinds: Iterable[str]) -> bool:
        """Return whether an entity is of one of some kinds; a domain means all its classes."""
        return any(key == record.domain or fits(record, key, self._meant.keys) for key in kinds)

    def same_kinds(self, before: Sequence[EntityRecord]) -> list[EntityRecord]:
        """Return what is in the place that is named: of the same kinds, else of the same domains."""
        places = self._finder.places
        asks = self._topic.is_asked or self._topic.asks_which
        if asks and any(fits(one, MEASURED, self._meant.keys) or one.domain == "climate" for one in before):
            kinds = [set(self._meant.all_of(MEASURED))]
        else:
            known = {(one.domain, one.device_class) for one in before}
            domains = {one.domain for one in before if DOMAINS[one.domain].actions}
            listed = by_kind(self._house).items()
            kinds = [
                {record for kind, records in listed if kind in known for record in records},
                {record for kind, records in listed if kind[0] in domains for record in records},
            ]
        for found in kinds:
            if there := [one for one in found if one.area_id in places or one.floor_id in places]:
                return sorted(there, key=lambda record: record.entity_id)
        return []

    def alike(self) -> list[EntityRecord]:
        """Return other entities of these kinds that a sentence names in part: "Tom's too"."""
        topic, finder = self._topic, self._finder
        rest = [index for index in topic.rest - finder.place_words if len(topic.words[index].folded) > 1]
        if not self.before or finder.places or not 0 < len(rest) <= MAX_NAMED:
            return []
        said = [finder.meant.get(index, frozenset()) for index in rest]
        others = self.others(self.before, everywhere=True)
        return [one for one in others if all(map(finder.words_of(one).intersection, said))][:MAX_BEFORE]

    def others(self, before: Sequence[EntityRecord], *, everywhere: bool = False) -> list[EntityRecord]:
        """Return the other entities of the same kinds, those of the same rooms if there are any."""
        known = {(one.domain, one.device_class) for one in before}
        ids = {one.entity_id for one in before}
        found = [
            record
            for kind in sorted(known, key=str)
            for record in by_kind(self._house).get(kind, ())
            if record.entity_id not in ids
        ]
        rooms = {one.area_id for one in before}
        return found if everywhere else [one for one in found if one.area_id in rooms] or found
