"""Names of the home and of the people who live in it: gathered from Home Assistant, and found in a text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
import re
from typing import Final
from urllib.parse import urlsplit

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
)

from ...idle import in_slices
from ...knowledge.names import Phrases
from ...languages import find, words as listed
from ...languages.phrases import all_words
from ...regex import lazy_regex
from ...texts import fold_letters, is_unspaced, words
from .private_patterns import Finding, PrivateKind

ORDINARY_FILE: Final = Path(__file__).parent / "ordinary_words.txt"
"""Words that Home Assistant itself uses in many languages; behind an empty line names of its integrations."""

MIN_LONE: Final = 3
"""Letters of a word that counts on its own."""
TELLING: Final = 2
"""Words of one memory that tell it together."""

_TOKEN: Final = lazy_regex(r"[^\W_]+")
_LONGER_NAME: Final = lazy_regex(r"\w+ (?=[^\W\d_a-z])[^\W\d_]+")
_CYRILLIC: Final = lazy_regex("[\u0400-\u04ff]")


@dataclass(frozen=True, slots=True)
class Names:
    """What things are called, by kind; `public` are words that makers and products are known by."""

    named: frozenset[tuple[PrivateKind, str]]
    public: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Words in a row that name something."""

    kind: PrivateKind
    words: tuple[str, ...]
    ordinary: bool = False
    """Everyday words: what anyone could have written."""
    doubtful: bool = False
    """A person's name that is an everyday word as well."""


@dataclass(slots=True)
class NameFinder:
    """Finds names in texts. Building one takes a few milliseconds for a thousand names."""

    names: Phrases[_Pattern] = field(default_factory=lambda: Phrases(()))
    unspaced: list[tuple[PrivateKind, str]] = field(default_factory=list)
    remembered: list[frozenset[str]] = field(default_factory=list)
    """Per text that is remembered in private, the words that say something."""

    def find(self, text: str, language: str, *, strict: bool, said: str = "") -> Iterator[Finding]:
        """Yield the positions of names in a text.

        In strict mode names of everyday words count too, unless the person `said` them.
        """
        tokens = [(fold_letters(found[0]), found.start(), found.end()) for found in _TOKEN.finditer(text)]
        spoken = {fold_letters(word) for word in _TOKEN.findall(said)}
        declines = _declines(language)
        stems = [_stems(word, declines=declines) for word, _, _ in tokens]
        for mention in self.names.find(stems, in_a_row=True):
            pattern, first, last = mention.value, min(mention.at), max(mention.at)
            if not _is_form(pattern, [word for word, _, _ in tokens[first : last + 1]], declines=declines):
                continue
            start, end = tokens[first][1], tokens[last][2]
            # "Anna's": the s belongs to the name.
            if last + 1 < len(tokens) and tokens[last + 1][:2] == ("s", end + 1):
                end = tokens[last + 1][2]
            if pattern.ordinary and (not strict or spoken.issuperset(pattern.words)):
                continue
            if not strict and _is_somebody_else(pattern, text[start:], said):
                continue
            if pattern.doubtful and not strict and not _written_as_name(text, start, end):
                continue
            yield Finding(start, end, pattern.kind)
        for says in self.remembered:
            told = [token for token in tokens if token[0] in says]
            if len({word for word, _, _ in told}) >= TELLING:
                yield from (Finding(start, end, PrivateKind.MEMORY) for _, start, end in told)
        folded = fold_letters(text) if self.unspaced and is_unspaced(text) else ""
        for kind, name in self.unspaced if folded else ():
            for found in re.finditer(re.escape(name), text):
                yield Finding(found.start(), found.end(), kind)


def build_finder(names: Names, remembered: Iterable[str] = ()) -> NameFinder:
    """Return a finder of these names, and of names in private memories.

    Reads the ordinary words from the disk the first time.
    """
    finder = NameFinder()
    ordinary = ordinary_words() | names.public
    patterns: dict[tuple[str, ...], _Pattern] = {}
    # Persons first: the name of a person is not taken for a device's. What came first stays.
    for kind, name in sorted(names.named, key=lambda item: (item[0] is not PrivateKind.PERSON, item)):
        if not (words := tuple(fold_letters(word) for word in _TOKEN.findall(name))):
            continue
        if not is_unspaced(name):
            for pattern in _patterns(kind, words, ordinary):
                patterns.setdefault(pattern.words, pattern)
        elif len(name.strip()) > 1 and not ordinary.issuperset(words):
            finder.unspaced.append((kind, name.strip()))
    for text in sorted(remembered):
        told = [found[0] for found in _TOKEN.finditer(text)]
        says = {fold_letters(word) for word in told if len(word) > MIN_LONE} - ordinary - word_table("home")
        for word in told[1:]:
            key = (fold_letters(word),)
            if key[0] in says and (word[:1].isupper() or any(char.isdigit() for char in word)):
                patterns.setdefault(key, _Pattern(PrivateKind.MEMORY, key))
        finder.remembered.append(frozenset(says))
    finder.names = Phrases((pattern.words, pattern) for pattern in patterns.values())
    return finder


def _patterns(kind: PrivateKind, words: tuple[str, ...], ordinary: frozenset[str]) -> Iterator[_Pattern]:
    """Yield a name, and the parts of it that say as much as the whole."""
    home, doubtful_names = word_table("home"), word_table("doubtful_names")
    if kind is PrivateKind.USER and all(word in ordinary and word not in doubtful_names for word in words):
        return
    if kind in (PrivateKind.PERSON, PrivateKind.USER):
        for word in words:
            if len(word) >= MIN_LONE or len(words) == 1:
                doubtful = word in doubtful_names or word in ordinary
                yield _Pattern(PrivateKind.PERSON, (word,), doubtful=doubtful)
        yield _Pattern(PrivateKind.PERSON, words)
        return
    plain = [word in ordinary or word in home or word.isdigit() or len(word) < MIN_LONE for word in words]
    if not all(plain):
        yield _Pattern(kind, words)
        yield from (_Pattern(kind, run) for run in _runs(words, plain))
    elif len(words) > 1:
        yield _Pattern(kind, words, ordinary=True)


def _runs(words: tuple[str, ...], plain: list[bool]) -> Iterator[tuple[str, ...]]:
    run: list[str] = []
    for word, is_plain in zip((*words, ""), (*plain, True), strict=True):
        if not is_plain:
            run.append(word)
        elif run:
            yield tuple(run)
            run = []


def _is_form(pattern: _Pattern, words: Sequence[str], *, declines: bool) -> bool:
    """Return whether words are a form of a name: only persons are declined, and short words do not end so."""
    *begin, last = words
    *wanted, end = pattern.words
    is_person = pattern.kind is PrivateKind.PERSON
    declines = declines and is_person
    if any(want not in _stems(word, declines=declines) for want, word in zip(wanted, begin, strict=True)):
        return False
    return last == end or ((is_person or len(end) > MIN_LONE) and end in _stems(last, declines=declines))


def _stems(word: str, *, declines: bool) -> tuple[str, ...]:
    """Return the words that this one may be a form of, itself first."""
    found = [word]
    found += [
        word[: -len(suffix)]
        for suffix in word_table("possessives")
        if word.endswith(suffix) and len(word) > len(suffix) + 2
    ]
    if declines or _CYRILLIC.search(word):
        bases = sorted(word_table("name_bases"))
        for length in (1, 2, 3):
            stem, ending = word[:-length], word[-length:]
            if len(stem) >= MIN_LONE and ending in word_table("name_endings"):
                found += [stem, *(stem + base for base in bases)]
        found += [word + base for base in bases] if len(word) >= MIN_LONE else []
    return tuple(dict.fromkeys(found))


def _is_somebody_else(pattern: _Pattern, text: str, said: str) -> bool:
    """Return whether a single word was just said: in a longer name, or as a word that a device has too."""
    if len(pattern.words) > 1:
        return False
    if pattern.kind in (PrivateKind.DEVICE, PrivateKind.ROOM):
        return pattern.words[0] in map(fold_letters, _TOKEN.findall(said))
    longer = _LONGER_NAME.match(text) if pattern.kind is PrivateKind.PERSON else None
    return longer is not None and longer[0].casefold() in said.casefold()


def _written_as_name(text: str, start: int, end: int) -> bool:
    """Return whether a word is written like a name: a capital inside a sentence, or with a possessive."""
    word = text[start:end]
    if re.search(r"['\u2019]s$", word):
        return True
    return word[:1].isupper() and bool(text[:start].strip(" \"'\u201e\u201c(")) and not text.istitle()


@cache
def ordinary_words(*, names: bool = True) -> frozenset[str]:
    """Return the words that are public, or only those that are no mere names. Reads the disk once."""
    text = ORDINARY_FILE.read_text(encoding="utf-8")
    return frozenset((text if names else text.partition("\n\n")[0]).split())


@cache
def word_table(name: str) -> frozenset[str]:
    """Return the words of a table of all languages, folded."""
    return frozenset(map(fold_letters, all_words(f"privacy.{name}")))


def _declines(language: str) -> bool:
    own = find(language)
    return own is not None and bool(listed(own, "privacy.name_endings"))


POSTAL_DIGITS: Final = 4
TELLING_ENDINGS: Final = (
    *("geocoded_location", "_ssid", "_wifi_connection", "_bssid", "_public_ip", "_hostname", "_host_name"),
    *("_phone_number", "_iccid", "_imei", "_mac_address"),
)
"""Ends of ids of sensors whose states tell where a person lives or what network that is."""
STREET_ATTRIBUTES: Final = ("Thoroughfare", "Sub Locality", "Postal Code", "street")
PUBLIC_NAMES: Final = frozenset(
    {"home assistant", "home agent", "supervisor", "hassio", "admin", "owner", "user"}
)


async def async_names(hass: HomeAssistant) -> Names:
    """Return the names of persons, users, rooms, zones, devices and entities, exposed or not."""
    found: set[tuple[PrivateKind, str]] = set()
    for user in await hass.auth.async_get_users():
        if user.name and not user.system_generated:
            found.add((PrivateKind.USER, user.name))
    async for item in in_slices(_names(hass)):
        found.add(item)
    named = frozenset(
        (kind, name.strip())
        for kind, name in found
        if name.strip() and name.strip().casefold() not in PUBLIC_NAMES
    )
    return Names(named, frozenset(_public(hass)))


def _names(hass: HomeAssistant) -> Iterator[tuple[PrivateKind, str]]:
    """Yield names with their kinds; some come twice."""
    yield from _places(hass)
    for state in hass.states.async_all():
        kind = PrivateKind.DEVICE
        if state.domain == "person":
            kind = PrivateKind.PERSON
        elif state.domain == "zone":
            kind = PrivateKind.PLACE
        yield kind, state.name
        yield from ((PrivateKind.ADDRESS, text) for text in _telling(state))
    for entry in list(er.async_get(hass).entities.values()):
        yield from (
            (PrivateKind.DEVICE, str(name)) for name in (entry.name, *entry.aliases) if isinstance(name, str)
        )
    for device in list(dr.async_get(hass).devices):
        yield from ((PrivateKind.DEVICE, name) for name in (device.name, device.name_by_user) if name)


def _places(hass: HomeAssistant) -> Iterator[tuple[PrivateKind, str]]:
    yield PrivateKind.PLACE, hass.config.location_name
    for area in ar.async_get(hass).async_list_areas():
        yield from ((PrivateKind.ROOM, name) for name in (area.name, *area.aliases))
    for floor in fr.async_get(hass).async_list_floors():
        yield from ((PrivateKind.ROOM, name) for name in (floor.name, *floor.aliases))
    for url in (hass.config.internal_url, hass.config.external_url):
        host = urlsplit(url).hostname if url else None
        if host and not host.replace(".", "").isdigit():
            yield PrivateKind.HOST, host.partition(".")[0]


def _telling(state: State) -> Iterator[str]:
    if not state.entity_id.endswith(TELLING_ENDINGS) or state.state in (STATE_UNKNOWN, STATE_UNAVAILABLE):
        return
    if state.entity_id.endswith("location"):
        yield from _streets(state.state)
        yield from (str(state.attributes[key]) for key in STREET_ATTRIBUTES if state.attributes.get(key))
    else:
        yield state.state


def _streets(address: str) -> Iterator[str]:
    """Yield street and postal code of an address; its town is not a secret."""
    for part in re.split(r"[\n,]", address):
        numbers = re.findall(r"\d+", part)
        if numbers and len(numbers[0]) >= POSTAL_DIGITS:
            yield numbers[0]
        elif numbers:
            yield re.sub(r"\b\d+\s?[a-zA-Z]?\b", " ", part)


def _public(hass: HomeAssistant) -> Iterator[str]:
    for device in list(dr.async_get(hass).devices):
        for text in (device.manufacturer, device.model, device.model_id):
            yield from words(text or "")
    for component in hass.config.components:
        yield from words(component.replace(".", " "))
