"""Names held against names: the same, nearly the same, or another."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import nsmallest
from typing import Final

from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.spoken_words import domain_words
from ...texts import fold
from .words import stop_words

MIN_COVERAGE = 0.72
"""Share of what was asked for that a near match must account for."""
MARGIN = 0.04
"""By how much the best near match must lead to be the only one."""
MAX_NEAR = 40
TABLES = ("exact", "qualified", "object_ids", "short", "devices")
MIN_SHARE = 0.6
"""How much of what the best hit has in common others need to be looked at."""
SURROUNDINGS = 0.9
"""Worth of a word that tells the room, the device or the kind instead of the name."""
COMMON_STEM = 0.7
"""Share of the longer word that two forms of it have in common at their start."""
MIN_STEM = 4
MAX_ENDING = 4
LONG_WORD = 7
MAX_TYPOS = 2
MIN_COMPOUND_PART = 3


@lru_cache(maxsize=16384)
def squash(text: str) -> str:
    """Return folded text without spaces: what makes two spellings the same name."""
    return fold(text).replace(" ", "")


@lru_cache(maxsize=16384)
def content_words(text: str) -> tuple[str, ...]:
    """Return the folded words of a text that name something."""
    words = fold(text).split()
    return tuple(word for word in words if word not in stop_words()) or tuple(words)


def without_article(text: str) -> str:
    """Return folded text without the articles at its head."""
    words = fold(text).split()
    first = next((at for at, word in enumerate(words[:-1]) if word not in stop_words()), len(words) - 1)
    return " ".join(words[max(0, first) :])


@lru_cache(maxsize=65536)
def word_similarity(first: str, second: str) -> float:
    """Return how surely two folded words are the same, misspelt or inflected: 0 or 0.75 to 1."""
    if first == second:
        return 1.0
    if first.isdigit() or second.isdigit():
        return 0.0
    shorter, longer = sorted((first, second), key=len)
    prefix = _common_prefix(shorter, longer)
    if prefix == len(shorter) >= MIN_STEM and len(longer) - prefix <= MAX_ENDING:
        return 0.92
    if prefix >= max(MIN_STEM, COMMON_STEM * len(longer)):
        return 0.88
    return _spelling_similarity(shorter, longer)


def _spelling_similarity(shorter: str, longer: str) -> float:
    """Return how surely one word is the other misspelt: short words forgive less."""
    same_start = shorter[:1] == longer[:1]
    if len(shorter) >= MIN_STEM + (not same_start) and distance(shorter, longer, 1) <= 1:
        return 0.86
    if same_start and len(shorter) >= LONG_WORD - 1 and len(longer) >= LONG_WORD:
        return 0.78 if distance(shorter, longer, MAX_TYPOS) <= MAX_TYPOS else 0.0
    return 0.0


def _common_prefix(first: str, second: str) -> int:
    """Return how many characters two words have in common at their start."""
    count = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        count += 1
    return count


def distance(first: str, second: str, limit: int) -> int:
    """Return the edits (insert, delete, replace, swap neighbours) between two words, at most limit + 1."""
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, left in enumerate(first, 1):
        previous, row = row, [i]
        for j, right in enumerate(second, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (left != right))
            if i > 1 and j > 1 and left == second[j - 2] and right == first[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before = previous
    return min(row[-1], limit + 1)


def numbers(words: Iterable[str]) -> frozenset[str]:
    """Return the words that are numbers: they are never near another."""
    return frozenset(word for word in words if not word.isalpha() and any(char.isdigit() for char in word))


def phrase_similarity(asked: Sequence[str], name: Sequence[str]) -> float:
    """Return how well a name accounts for all words asked for, 0 if it does not."""
    if not asked or not name or not numbers(asked) <= numbers(name):
        return 0.0
    total = sum(map(len, asked))
    used: set[str] = set()
    score = 0.0
    for word in asked:
        best = max(name, key=lambda other: word_similarity(word, other))
        if similarity := word_similarity(word, best):
            score += similarity * len(word)
            used.add(best)
    coverage = score / total
    if coverage < MIN_COVERAGE:
        return 0.0
    return 0.75 * coverage + 0.25 * sum(map(len, used)) / sum(map(len, name))


def grams(word: str) -> set[str]:
    """Return the pairs of characters of a word, its ends marked."""
    padded = f"^{word}$"
    return {padded[i : i + 2] for i in range(len(padded) - 1)}


@dataclass(slots=True)
class NameIndex:
    """All names of a house, to be found by spelling."""

    exact: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Squashed name or alias: entity ids."""
    qualified: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Squashed room and name, or device and name: entity ids."""
    object_ids: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Squashed object id: entity ids."""
    short: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Squashed name less the room or device at its head: entity ids."""
    devices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Squashed name of a device: entity ids."""
    forms: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """Entity id: the words of each of its names."""
    places: dict[str, frozenset[str]] = field(default_factory=dict)
    """Entity id: words of its room and its device, which may stand beside a name."""
    by_word: dict[str, set[str]] = field(default_factory=dict)
    by_gram: dict[str, list[str]] = field(default_factory=dict)
    by_domain: dict[str, list[str]] = field(default_factory=dict)
    classes: dict[str, set[str]] = field(default_factory=dict)
    """Domain: the device classes in use."""

    @property
    def domains(self) -> Collection[str]:
        """Return the domains in use."""
        return self.by_domain.keys()

    def near(self, text: str, allowed: Collection[str] | None = None) -> list[tuple[str, float]]:
        """Return entities whose names come near a text, best first, with their scores."""
        asked = self._asked(text)
        scored = ((key, self._score(asked, key)) for key in self._hits(asked, allowed, MAX_NEAR))
        return sorted(((key, score) for key, score in scored if score), key=lambda pair: (-pair[1], pair[0]))

    def likely(self, text: str, limit: int) -> list[str]:
        """Return entities whose names have anything in common with a text, the most common first."""
        return self._hits(self._asked(text), None, limit)

    def _asked(self, text: str) -> list[str]:
        """Return the words to look for, compounds taken apart."""
        return [part for word in content_words(text) for part in self._parts(word)]

    def _hits(self, asked: Sequence[str], allowed: Collection[str] | None, limit: int) -> list[str]:
        """Return the entities that bear any of the words, those with most of them first."""
        hits: dict[str, float] = {}
        for word in dict.fromkeys(asked):
            for known, similarity in self.similar_words(word):
                weight = similarity * len(word)
                for entity_id in self.by_word[known]:
                    hits[entity_id] = hits.get(entity_id, 0.0) + weight
        if allowed is not None:
            hits = {key: weight for key, weight in hits.items() if key in allowed}
        floor = max(hits.values(), default=0.0) * MIN_SHARE
        promising = [key for key, weight in hits.items() if weight >= floor]
        return nsmallest(limit, promising, key=lambda key: (-hits[key], key))

    def similar_words(self, word: str) -> list[tuple[str, float]]:
        """Return the known words that a word may be meant for."""
        if word in self.by_word:
            return [(word, 1.0), *self._neighbours(word)] if len(word) >= MIN_STEM else [(word, 1.0)]
        return self._neighbours(word)

    def _neighbours(self, word: str) -> list[tuple[str, float]]:
        """Return known words that are spelt nearly the same."""
        counts: dict[str, int] = {}
        own = grams(word)
        for gram in own:
            for known in self.by_gram.get(gram, ()):
                counts[known] = counts.get(known, 0) + 1
        found = []
        for known, shared in counts.items():
            is_alike = known != word and 2 * shared >= min(len(own), len(known) + 1) - 1
            if is_alike and (similarity := word_similarity(word, known)):
                found.append((known, similarity))
        return found

    def _parts(self, word: str) -> Iterator[str]:
        """Yield the known words that a compound is made of, or the word itself."""
        if word not in self.by_word and word not in domain_words():
            for cut in range(MIN_COMPOUND_PART, len(word) - MIN_COMPOUND_PART + 1):
                if word[:cut] not in self.by_word:
                    continue
                for tail in (word[cut:], word[cut + 1 :]):
                    if len(tail) >= MIN_COMPOUND_PART and (tail in self.by_word or tail in domain_words()):
                        yield from (word[:cut], tail)
                        return
        yield word

    def _score(self, asked: Sequence[str], entity_id: str) -> float:
        """Return how well an entity's names and surroundings account for what was asked."""
        domain = entity_id.partition(".")[0]
        around = self.places[entity_id]
        best = 0.0
        for form in self.forms[entity_id]:
            own = [
                word
                for word in asked
                if any(word_similarity(word, part) for part in form) or not _belongs(word, around, domain)
            ]
            length, whole = sum(map(len, own)), sum(map(len, asked))
            score = phrase_similarity(own, form) if own else 0.0
            best = max(best, score and (score * length + SURROUNDINGS * (whole - length)) / whole)
        return best


def _belongs(word: str, around: frozenset[str], domain: str) -> bool:
    """Return whether a word tells the room, the device or the kind of an entity."""
    return domain_words().get(word) == domain or any(word_similarity(word, other) for other in around)


def build_name_index(house: HouseSnapshot) -> NameIndex:
    """Return the index of all names; about 0.1 s for 5,000 entities, so not on the event loop."""
    index = NameIndex()
    tables: dict[str, dict[str, dict[str, None]]] = {name: {} for name in TABLES}
    for entity_id, record in house.entities.items():
        index.by_domain.setdefault(record.domain, []).append(entity_id)
        if record.device_class:
            index.classes.setdefault(record.domain, set()).add(record.device_class)
        area = house.areas.get(record.area_id) if record.area_id else None
        area_names = (area.name, *area.aliases) if area else ()
        names = (record.name, *record.aliases)
        for table, form in _spellings(record, names, area_names):
            tables[table].setdefault(form, {})[entity_id] = None
        index.places[entity_id] = frozenset(
            word for name in (*area_names, record.device or "") for word in content_words(name)
        )
        forms = dict.fromkeys(content_words(name) for name in (*names, record.object_id))
        index.forms[entity_id] = tuple(filter(None, forms))
        for word in {word for form in forms for word in form}:
            index.by_word.setdefault(word, set()).add(entity_id)
    for table, spellings in tables.items():
        getattr(index, table).update((form, tuple(ids)) for form, ids in spellings.items() if form)
    for word in index.by_word:
        for gram in grams(word):
            index.by_gram.setdefault(gram, []).append(word)
    return index


def _spellings(
    record: EntityRecord, names: Sequence[str], area_names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the ways to call an entity, squashed, each with its table."""
    yield "object_ids", squash(record.object_id)
    if record.device:
        yield "devices", squash(record.device)
    prefixes = [squash(name) for name in (*area_names, *((record.device,) if record.device else ()))]
    for name in names:
        own = squash(name)
        yield "exact", own
        for prefix in prefixes:
            if own.startswith(prefix):
                if own[len(prefix) :] not in domain_words():
                    yield "short", own[len(prefix) :]
            else:
                yield "qualified", prefix + own


NAMES: Final = "names"


def name_index(house: HouseSnapshot) -> NameIndex:
    """Return the index of a snapshot, built once."""
    return house.derived(NAMES, build_name_index)
