"""From what was said to entities, the same way every time.

- Names, aliases and ids are taken as written, case, accents, spaces and articles aside. What is only near to
  a name counts if it is near to one entity alone.
- A room or floor that was given is binding; one that is unknown is an error and never widens the search.
- The room of the speaker chooses between entities of one name, and is used where only a kind of thing was
  named. It never hides an entity with a name of its own.
- A kind of thing alone means the room that the sentence names, else the only one there is, else those in the
  speaker's room; all in the home only if the sentence says so.
- A guess never reaches a lock, cover, valve or alarm: it ends in an error with candidates.
"""

from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase

from ...context.topics import language_of
from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.names import MARGIN, squash, without_article
from ...knowledge.owned_rooms import owned_in
from ...knowledge.spoken_words import all_words, domain_words, stop_words
from ...languages import DEFAULT
from ...texts import fold
from ..base import Speaker
from .candidates import choose, missing, protected
from .family_words import meant_by, names_room, read_parts, room_and_kinds
from .kinds import EntityKinds, says_all
from .labels import LabelSearch
from .places import NamedPlace, find_place, places_in_sentence
from .targets import Target

__all__ = ["Target", "resolve", "says_all"]

MIN_PARTS = 2
MAX_PARTS = 20
MAX_NAME_WORDS = 6
NO_TARGET = "Name a target: entity_id, name, or area with domain"
_SEPARATORS = str.maketrans(dict.fromkeys(',;/|()[]"\n', "\n"))


def resolve(
    house: HouseSnapshot,
    target: Target,
    *,
    speaker: Speaker,
    sentence: str,
    allowed_domains: Collection[str] | None = None,
    exists: Callable[[str], bool] | None = None,
) -> list[EntityRecord]:
    """Return the entities that are meant, sorted by id, at least one.

    `allowed_domains` are those that the action fits; `exists` tells whether an unexposed entity id
    exists, which is never treated as misspelt. Raises ValidationError with the nearest candidates.
    """
    search = _Search(house, target, speaker, sentence, allowed_domains, exists)
    found = search.from_sentence() if target.is_empty else search.run()
    return sorted(found, key=lambda record: record.entity_id)


class _Search(LabelSearch):
    """One resolution, by id, by name or by kind."""

    def run(self) -> list[EntityRecord]:
        """Return the entities that are meant."""
        if self.entity_ids:
            each = {one.entity_id: one for text in self.entity_ids for one in self._by_id(text)}
            found = list(each.values())
        elif self.name:
            found = self._by_name(self.name)
        else:
            found = self.by_kind()
        return self._certain(found)

    def from_sentence(self) -> list[EntityRecord]:
        """Return the one entity that the sentence names, for an action that was given no target."""
        words = fold(self.sentence).split()
        named: dict[str, None] = {}
        for length in range(MAX_NAME_WORDS, 0, -1):
            for start in range(len(words) - length + 1):
                key = "".join(words[start : start + length])
                named |= dict.fromkeys(self.names.exact.get(key, ()))
            if named:
                break
        found = [record for record in self.records(named) if self.is_allowed(record)]
        if not named and (domains := self._only_allowed()):
            self.kinds = EntityKinds(domains)
            found = self.candidates()
        if self.allowed is None or not found:
            raise ValidationError(NO_TARGET)
        if len(found) > 1:
            raise choose(self.house, self._likely_first(found), "Name a target by its entity_id")
        self.repaired = True
        return self._certain(found)

    def _certain(self, found: list[EntityRecord]) -> list[EntityRecord]:
        """Return the found entities, unless a protected one was guessed."""
        risky = [record for record in found if protected(record)]
        if self.repaired and risky:
            problem = "Too uncertain for a lock, cover, valve or alarm. Give its entity_id"
            raise choose(self.house, risky, problem)
        return found

    def _by_id(self, text: str) -> list[EntityRecord]:
        """Return the entities of an entity id, or of a value in its place."""
        entity_id = text.strip().casefold()
        if "*" in entity_id:
            return self._by_pattern(entity_id)
        if (record := self.house.entities.get(entity_id)) is not None:
            return [self._placed(record, text)]
        if self.exists(entity_id):
            raise ValidationError(f"entity_id: {text[:60]!r} does not exist or is not exposed")
        domain, dot, rest = entity_id.partition(".")
        domain = domain.strip()
        if not dot or domain not in DOMAINS:
            return self._by_name(text)
        if found := self._by_id_parts(domain, rest):
            return [self._placed(found, text)]
        raise missing(self.house, self.names, rest, f"entity_id: there is no {text[:60]!r}", domains={domain})

    def _by_id_parts(self, domain: str, rest: str) -> EntityRecord | None:
        """Return the entity whose id or name an almost right id spells.

        "light.living_room" means lights of the room, not the thermostat whose id is the name of the room.
        """
        key = squash(rest)
        tables = (self.names.exact, self.names.qualified, self.names.object_ids)
        spelled = self.records(entity_id for table in tables for entity_id in table.get(key, ()))
        if own := [record for record in spelled if record.domain == domain]:
            return self._one(own, rest)
        self.repaired = True
        if len(spelled) == 1 and self.is_allowed(spelled[0]):
            place = find_place(self.house, rest.replace("_", " "), "area")
            if place is None or place.repaired:
                return spelled[0]
        near = self.names.near(rest, frozenset(self.names.by_domain.get(domain, ())))
        return self.house.entities[near[0][0]] if _leads(near) else None

    def _by_pattern(self, pattern: str) -> list[EntityRecord]:
        """Return the entities that a wildcard matches; those that are not exposed are not there."""
        domain, dot, rest = pattern.partition(".")
        if not dot:
            domain, rest = "*", pattern
        rest = rest.strip().replace(" ", "_")
        if not rest.strip("*"):
            of_pattern = frozenset(key for key in self.names.domains if fnmatchcase(key, domain))
            domains = self.kinds.domains if domain == "*" else of_pattern
            self.kinds = EntityKinds(domains, self.kinds.classes)
            return self.by_kind()
        self.repaired |= domain == "*"
        found = [
            record
            for record in self.house.entities.values()
            if fnmatchcase(record.domain, domain)
            and (
                fnmatchcase(record.object_id, rest) or fnmatchcase(fold(record.name).replace(" ", "_"), rest)
            )
            and self.is_here(record)
            and self.kinds.fits(record)
            and (domain != "*" or self.is_allowed(record))
        ]
        if not found:
            stem = rest.replace("*", " ")
            raise missing(self.house, self.names, stem, f"entity_id: nothing matches {pattern[:60]!r}")
        return [record for record in found if record.category is None] or found

    def _placed(self, record: EntityRecord, said: str) -> EntityRecord:
        """Return the entity, unless it is elsewhere than the place that was given."""
        if not self.is_here(record):
            if record.area_id is not None and not self._place_is_doubtful(record):
                place = self.places[0].name
                raise choose(self.house, [record], f"{said[:60]!r} is not in {place[:40]!r}. It")
            self.repaired = True
        if not self.kinds.fits(record):
            self.repaired = True
        return record

    def _place_is_doubtful(self, record: EntityRecord) -> bool:
        """Return whether an entity by its exact name or id is surer than the place, which nobody said."""
        if not self.sentence or protected(record) or not self.is_allowed(record):
            return False
        named = (self.house.entities.get(text.strip().casefold()) for text in self.entity_ids)
        if any(one is not None and self.is_here(one) for one in named):
            return False
        said = places_in_sentence(self.house, self.sentence, self.speaker.language)
        return not any(
            place.area_ids & given.area_ids or place.floor_ids & given.floor_ids
            for place in said
            for given in self.places
        )

    def _by_name(self, name: str) -> list[EntityRecord]:
        """Return the entities of a name: as written, as a list, as an area and a kind, or approximately."""
        if "*" in name:
            return self._by_pattern(name.casefold())
        if name.partition(".")[0].strip().casefold() in DOMAINS and "." in name and "," not in name:
            return self._by_id(name)
        if self._means_all(name):
            return self._everything(name)
        steps = (self._by_spelling, self._by_parts, self.by_label, self._of_owner, self._in_family_words)
        for step in (*steps, self._by_room_and_kind):
            if found := step(name):
                return found
        if found := self._by_spelling(name, strict=False):
            self.repaired = True
            return found
        return self._by_nearness(name) or self._elsewhere(name)

    def _elsewhere(self, name: str) -> list[EntityRecord]:
        """Return the only entity of a name, where only the model gave another room for it."""
        problem = f"name: nothing is called {name[:60]!r}"
        if elsewhere := self.records(self.names.exact.get(squash(name), ())):
            if len(elsewhere) == 1 and self._place_is_doubtful(elsewhere[0]):
                self.repaired = True
                return elsewhere
            raise choose(self.house, elsewhere, f"{problem} in {self.places[0].name[:40]!r}. Elsewhere")
        raise missing(self.house, self.names, name, problem, wanted=self.is_here if self.places else None)

    def _by_spelling(self, name: str, *, strict: bool = True) -> list[EntityRecord]:
        """Return the entity of exactly this name; if not strict, whatever its kind."""
        keys = dict.fromkeys((squash(name), squash(without_article(name))))
        tables = [(self.names.exact, False), (self.names.qualified, False), (self.names.object_ids, True)]
        if strict:
            tables += [(self.names.short, not self.places), (self.names.devices, True)]
        for table, is_guess in tables:
            found = self.records(entity_id for key in keys for entity_id in table.get(key, ()))
            here = [record for record in found if self.is_here(record)]
            homeless = [] if here else [record for record in found if record.area_id is None]
            fitting = [record for record in here or homeless if not strict or self.kinds.fits(record)]
            if any(
                not strict or self.is_allowed(record) or (protected(record) and not is_guess)
                for record in fitting
            ):
                self.repaired |= is_guess or bool(homeless)
                return self._named(fitting, name)
        return []

    def _named(self, records: list[EntityRecord], name: str) -> list[EntityRecord]:
        """Return the entities of one name that the action fits: one, or all if all were asked for."""
        fitting = [record for record in records if self.is_allowed(record)]
        others = [record for record in records if protected(record) and record not in fitting]
        if fitting and others and not self.kinds.domains:
            raise choose(
                self.house, [*others, *fitting], f"Several are called {name[:40]!r}. Give the entity_id"
            )
        records = fitting or records
        if self.all and len({record.domain for record in records}) == 1:
            return records
        return [self._one(records, name)]

    def _one(self, records: Sequence[EntityRecord], name: str) -> EntityRecord:
        """Return the one of several of a name that the speaker's place singles out."""
        area_id, floor_id = self.speaker.area_id, self.speaker.floor_id
        narrower: tuple[Callable[[EntityRecord], bool], ...] = (
            lambda record: record.category is None,
            lambda record: record.area_id is not None and record.area_id == area_id,
            lambda record: record.floor_id is not None and record.floor_id == floor_id,
        )
        for keeps in narrower:
            records = [record for record in records if keeps(record)] or records
        if len(records) > 1:
            raise choose(
                self.house, records, f"Several are called {name[:40]!r}. Ask which, or give the entity_id"
            )
        return records[0]

    def _by_parts(self, name: str) -> list[EntityRecord]:
        """Return the entities of a list of names, or one entity by all its names."""
        parts = [part.strip() for part in name.translate(_SEPARATORS).split("\n") if part.strip()]
        if not MIN_PARTS <= len(parts) <= MAX_PARTS:
            return []
        places = {part: place for part in parts if (place := self._exact_place(part)) is not None}
        if len(places) == len(parts):
            places = {}
        found: list[EntityRecord] = []
        for part in parts:
            if part in places:
                continue
            record = self.house.entities.get(part.casefold())
            hits = self._by_spelling(part) if record is None else [self._placed(record, part)]
            if not hits:
                return []
            found.extend(hits)
        if any(not place.holds(record) for place in places.values() for record in found):
            raise choose(self.house, found, f"{name[:60]!r} names a place where this is not")
        return list({record.entity_id: record for record in found}.values())

    def _exact_place(self, text: str) -> NamedPlace | None:
        """Return the place of exactly this name."""
        place = find_place(self.house, text, "area")
        return None if place is None or place.repaired else place

    def _by_room_and_kind(self, name: str) -> list[EntityRecord]:
        """Return the entities of "kitchen lights", "kitchen" with a domain, or "lights"."""
        words = [word for word in fold(name).split() if word not in stop_words()]
        kinds = frozenset(domain_words()[word] for word in words if word in domain_words())
        rest = " ".join(word for word in words if word not in domain_words())
        place = self._exact_place(rest) if rest else None
        if (rest and place is None) or len(kinds) > 1:
            return []
        domains = self.kinds.domains or kinds or self._only_allowed()
        if not domains or not kinds <= domains:
            return []
        before = self.places, self.kinds
        self.places = [*self.places, *([place] if place else [])]
        self.kinds = EntityKinds(kinds or domains, self.kinds.classes)
        if self.candidates():
            self.repaired = True
            return self.by_kind()
        self.places, self.kinds = before
        return []

    def _of_owner(self, name: str) -> list[EntityRecord]:
        """Return the entities of a kind in the room of a person: "lumière de la chambre de Léo"."""
        owned, rest = owned_in(self.house, name, self.speaker.language)
        if len(owned) != 1 or not rest:
            return []
        before = self.places
        self.places = [*before, NamedPlace(next(iter(owned.values())).name, frozenset(owned))]
        if found := self._in_family_words(" ".join(word.plain for word in rest)):
            return found
        self.places = before
        return []

    def _in_family_words(self, name: str) -> list[EntityRecord]:
        """Return the entity that a name means in the words of any language for rooms and things.

        Where the words fit several entities, a kind of thing in a room means all of them there.
        """
        spoken = (self.speaker.language, language_of(self.sentence, self.speaker.language) or DEFAULT)
        parts = read_parts(name, spoken)
        is_kind = room_and_kinds(parts)
        if is_kind and (found := self._by_room_and_kind(name)):
            return found
        here = [record for record in self.house.entities.values() if self.is_here(record)]
        here = [record for record in here if record.category is None and self.kinds.fits(record)]
        found = meant_by(self.house, filter(self.is_allowed, here), name, spoken)
        others = [] if found else meant_by(self.house, here, name, spoken)
        self.repaired |= bool(found)
        if len(found) == 1 or (found and is_kind and names_room(parts)):
            return found
        if found and is_kind:
            self.kinds = EntityKinds(frozenset(record.domain for record in found), self.kinds.classes)
            return self.by_kind()
        if found or any(protected(record) for record in others):
            problem = f"name: {name[:40]!r} may be {'several' if found else 'something else'}"
            raise choose(self.house, found or others, f"{problem}. Ask which, or give the entity_id")
        return []

    def _only_allowed(self) -> frozenset[str]:
        """Return the domain that the action fits if it is the only one in this home."""
        there = frozenset(self.allowed or ()).intersection(self.names.domains)
        return there if len(there) == 1 else frozenset()

    def _by_nearness(self, name: str) -> list[EntityRecord]:
        """Return the one entity whose name comes nearest, if one does."""
        pool = (
            {record.entity_id for record in self.candidates()} if self.places or self.kinds.domains else None
        )
        near = self.names.near(name, pool)
        if not near:
            return []
        self.repaired = True
        tied = self.records(key for key, score in near if near[0][1] - score < MARGIN)
        if not any(protected(record) for record in tied):
            tied = [record for record in tied if self.is_allowed(record)] or tied
        if len({squash(record.name) for record in tied}) == 1:
            return self._named(tied, name)
        raise choose(
            self.house, tied, f"name: {name[:40]!r} may be several. Ask which, or give the entity_id"
        )

    def _means_all(self, name: str) -> bool:
        """Return whether a name is "all", "all lights" or the like and no one's name."""
        words = [word for word in fold(name).split() if word not in stop_words()]
        wanted = all_words(self.speaker.language)
        return (
            not wanted.isdisjoint(words)
            and all(word in wanted or word in domain_words() for word in words)
            and squash(name) not in self.names.exact
        )

    def _everything(self, name: str) -> list[EntityRecord]:
        """Return everything of a kind, if the person said so."""
        if not self.all:
            raise ValidationError(
                f"name: {name[:40]!r}, but the person did not say all. Name the entity or the area"
            )
        kinds = frozenset(domain_words()[word] for word in fold(name).split() if word in domain_words())
        self.kinds = EntityKinds(self.kinds.domains or kinds, self.kinds.classes)
        return self.by_kind()


def _leads(near: Sequence[tuple[str, float]]) -> bool:
    """Return whether the first hit is clearly better than the second."""
    return bool(near) and (len(near) == 1 or near[0][1] - near[1][1] >= MARGIN)
