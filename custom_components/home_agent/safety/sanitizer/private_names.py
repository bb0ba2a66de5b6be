"""Names of the home and of the people who live in it: gathered from Home Assistant, and found in a text."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
import ipaddress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
import re
from typing import Final, NamedTuple
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
from ...languages import find, languages_with, words as listed
from ...languages.lexicon import all_words, any_of
from ...memory.sentences import holds_secret
from ...regex import composed, lazy_regex
from ...texts import fold_letters, is_unspaced, words


class PrivateKind(StrEnum):
    """What was found in a text that is about to leave."""

    PERSON = "person"
    USER = "user"
    """Of Home Assistant; some are named after a tablet."""
    ROOM = "room"
    PLACE = "place"
    DEVICE = "device"
    HOST = "host"
    KEYWORD = "keyword"
    MEMORY = "memory"
    PHONE = "phone"
    EMAIL = "email"
    IP = "ip_address"
    MAC = "mac_address"
    ACCOUNT = "account"
    SECRET = "secret"  # noqa: S105 - the name of a kind
    NUMBER = "number"
    ENTITY_ID = "entity_id"
    COORDINATES = "coordinates"
    ADDRESS = "address"
    SCHEDULE = "schedule"
    OPAQUE = "unreadable"
    """Words in an encoding, backwards, or in single letters."""
    UNKNOWN = "unknown_words"
    """Words that neither the person nor a text from outside has brought into the conversation."""


class Finding(NamedTuple):
    """The position of something private in a text."""

    start: int
    end: int
    kind: PrivateKind


ADVICE: Final[Mapping[PrivateKind, str]] = {
    PrivateKind.PERSON: "write who it is for in general words, for example 'for a woman' or 'for a child'",
    PrivateKind.ROOM: "name the kind of room instead of its own name",
    PrivateKind.PLACE: "name the kind of place, or a large city or region, instead of its own name",
    PrivateKind.DEVICE: "name the kind of device, or its maker and model, instead of its own name",
    PrivateKind.HOST: "leave the name of the household's server out",
    PrivateKind.KEYWORD: "leave out what the household keeps to itself",
    PrivateKind.MEMORY: "leave out what is remembered in private, and ask about the subject in general",
    PrivateKind.PHONE: "leave the telephone number out",
    PrivateKind.EMAIL: "leave the e-mail address out",
    PrivateKind.IP: "leave the IP address out",
    PrivateKind.MAC: "leave the MAC address out",
    PrivateKind.ACCOUNT: "leave numbers of accounts and cards out",
    PrivateKind.SECRET: "leave codes, passwords and keys out",
    PrivateKind.NUMBER: "leave long numbers out",
    PrivateKind.ENTITY_ID: "name the kind of device instead of an entity id",
    PrivateKind.COORDINATES: "name a large city or a region instead of coordinates",
    PrivateKind.ADDRESS: (
        "name a large city or a region, such as 'a big city in northern Germany', and no address"
    ),
    PrivateKind.OPAQUE: "write plain words, without codes, encodings and separate letters",
    PrivateKind.UNKNOWN: (
        "after text from outside was read, use only words that the person said in this conversation or that"
        " stand in what was found, in few pieces, in their language, and addresses exactly as found"
    ),
    PrivateKind.SCHEDULE: "leave out when somebody is away or at home; ask without dates and persons",
}
"""How to make a text generic."""

PUBLIC_ADDRESSES: Final = frozenset(
    {"0.0.0.0", "127.0.0.1", "1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9", "::", "::1"}  # noqa: S104
)
"""Addresses that are the same for everyone."""

_GROUP: Final = r"[ \u00a0./\-\u2010-\u2013]"
_EMAIL: Final = lazy_regex(
    r"(?<![\w.+%'\-])[\w.+%'\-]{1,64}\s?(?:@|\(at\)|\[at\]|\uff20)\s?[\w\-]+(?:\.[\w\-]+)+"
)
_MAC: Final = lazy_regex(
    r"(?<![\w:])(?:[0-9a-fA-F]{2}([:\-]))(?:[0-9a-fA-F]{2}\1){4}[0-9a-fA-F]{2}(?![\w:])"
    r"|(?<![\w.])(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}(?![\w.])"
)
_IPV4: Final = lazy_regex(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d|/\d)")
_IPV6: Final = lazy_regex(r"(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")
_IBAN: Final = lazy_regex(
    r"(?<!\w)[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]{4}){3,7}(?:[ -]?[A-Za-z0-9]{1,3})?(?!\w)"
)
_CARD: Final = lazy_regex(r"(?<![\d.])(?:\d[ -]?){12,18}\d(?![\d.])")
_PHONES: Final = lazy_regex(
    "|".join(
        (
            rf"(?<![\w.])(?:\+|00)[1-9](?:{_GROUP}?\(?\d\)?){{6,14}}(?!\w)",  # international
            rf"(?<![\w.,:])\(0?\d{{1,5}}\){_GROUP}?\d(?:{_GROUP}?\d){{4,9}}(?!\w)",  # (555) 123-4567
            rf"(?<![\w.,:/-])0[1-9](?:{_GROUP}?\d){{6,11}}(?!\w)",  # 0171 1234567, 01 23 45 67 89
            r"(?<![\w.,:/-])[2-9]\d{2}[-. ][1-9]\d{2}[-. ]\d{4}(?!\w)",  # 555-123-4567
            r"(?<![\w.,:/-])8 ?\(?9\d{2}\)?[ -]?\d{3}[ -]?\d{2}[ -]?\d{2}(?!\w)",  # 8 912 345-67-89
            r"(?<![\w.,:/-])[5-9]\d{2} \d{3} \d{3}(?!\w| \d)(?<! 000)",  # 600 700 800
            r"(?<![\w.,:/-])[67]\d{2} \d{2} \d{2} \d{2}(?!\w| \d)",  # 612 34 56 78
            r"(?<![\w.,:/-])\d{2} \d{2} \d{2} \d{2}(?!\w| \d)",  # 12 34 56 78
            r"(?<![\w.,:/-])(?:\d{4,5}[- ])\d{4,6}(?!\w)",  # 91234-5678
            r"(?<![\w.,:/-])1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\w)",  # 138 1234 5678
        )
    )
)
_LONG_NUMBER: Final = lazy_regex(r"(?<![\w.,])\d{9,}(?![\w]|[.,]\d)")
_SHORT_NUMBER: Final = lazy_regex(r"(?<!\d)\d(?:[ .\-]?\d){3,}(?!\d)")
_YEARS: Final = lazy_regex(r"(?:19|20)\d{2}(?:[ /\-\u2010-\u2013]+(?:19|20)?\d{2})?")
_DATE: Final = lazy_regex(
    r"(?:19|20)\d{2}[-./ ]\d{1,2}[-./ ]\d{1,2}|\d{1,2}[-./ ]\d{1,2}[-./ ](?:19|20)?\d{2}"
)
_COORDINATES: Final = lazy_regex(
    r"(?<![\w.])[-+]?\d{1,3}[.]\d{3,}\s*\u00b0?\s*[NSns]?\s*[,;/ ]+"
    r"\s*[-+]?\d{1,3}[.]\d{3,}\s*\u00b0?\s*[EWOewo]?(?![\w.])"
    r"|\d{1,3}\s*\u00b0\s*\d{1,2}\s*['\u2019\u2032](?:\s*\d{1,2}(?:[.,]\d+)?\s*[\"\u201d\u2033])?\s*[NSEWOnsewo]?"
)
_ENTITY: Final = lazy_regex(r"(?<![\w.@/-])([a-z][a-z_]{1,31})\.([a-z0-9_]{2,})(?![\w]|\.\w)", re.IGNORECASE)
_CAPITAL: Final = r"[A-Z\u00c0-\u00de\u0100-\u017f\u0400-\u042f]"


def _any(table: str) -> str:
    return any_of(all_words(f"privacy.{table}"), str)


def _inside(table: str) -> str:
    return any_of(all_words(f"privacy.{table}"), str, whole_words=False)


@composed
def _street_words() -> tuple[re.Pattern[str], ...]:
    house = (
        r"\d{1,4}\s?[a-zA-Z]?(?![\w%\u00b0\u20ac$:])"
        rf"(?!\s?(?:(?:km|m2|kg|kwh|watt|h)\b|{_any('after_numbers')}))"
    )
    number = r"(?<![\w.,])\d{1,5}[a-zA-Z]?,?\s+"
    name = r"(?:[^\W\d_]|[.'\u2019])+\s+"
    particles = r"(?:de\s|du\s|des\s|la\s|le\s|les\s|d['\u2019]|l['\u2019])*"
    return (
        # Musterstraße 12, Kerkstraat 5, Storgatan 3
        lazy_regex(
            rf"(?<!\w)[^\W\d_][\w\-]{{0,60}}{_inside('street_ends')}\.?\s+{house}",
            re.IGNORECASE,
        ),
        # Lange Straße 12
        lazy_regex(rf"(?<!\w){_CAPITAL}\w+\s+{_any('streets')}\.?\s+{house}"),
        # Am Alten Markt 3, 12345
        lazy_regex(
            rf"{_any('street_starts')}\s+{_CAPITAL}\w+(?:\s{_CAPITAL}\w+)?"
            r"\s\d{1,3}\s?[a-z]?(?:\s*,|\s+\d{4,5}\b)"
        ),
        # 12 Baker Street
        lazy_regex(
            rf"{number}(?:(?!{_inside('no_street_names')}){name}){{1,3}}?{_any('streets_behind')}"
            rf"(?=\.|,|$|\s+(?:{_any('before_streets')}|(?-i:{_CAPITAL})|\d)|\s*[;:?!])",
            re.IGNORECASE,
        ),
        lazy_regex(
            rf"{number}(?:{_CAPITAL}{name}){{1,3}}?(?i:{_any('streets_after_names')}|{_any('streets_behind')})"
        ),
        # 12 rue de la Paix
        lazy_regex(
            rf"(?<![\w.,])\d{{1,4}}\s*(?:bis|ter|quater)?,?\s+{_any('streets_between')}\s+{particles}\w+",
            re.IGNORECASE,
        ),
        # Calle Mayor 12, ul. Długa 7, улица Ленина 10
        lazy_regex(
            rf"{_any('streets_before')}\.?\s*(?:[^\W\d]+\s+){{0,4}}?[^\W\d]+,?\s*"
            r"(?:n[\u00ba\u00b0o]?\.?\s*|\u0434\.\s*)?\d{1,4}\s?[a-z]?(?!\w)",
            re.IGNORECASE,
        ),
        # Via Roma 5
        lazy_regex(
            rf"(?i:{_any('streets_before_names')})\s+(?:{_CAPITAL}\w*\.?\s+|de[il]\w*\s+|d['\u2019]){{0,3}}"
            rf"{_CAPITAL}[\w'\u2019]+,?\s*\d{{1,3}}(?!\w)"
        ),
    )


class _Schedule(NamedTuple):
    """Patterns of text that reveals when a home is empty, for folded text."""

    times: re.Pattern[str]
    conditions: re.Pattern[str]
    """Before a condition of an automation, which does not state a fact."""
    away: re.Pattern[str]
    """A resident is away; it tells something together with a time."""
    facts: re.Pattern[str]
    empty: re.Pattern[str]
    """No one is at home."""


@composed
def _schedule() -> _Schedule:
    away, facts = [], []
    for language in languages_with("privacy.residents"):

        def find(table: str, language: str = language) -> str:
            return any_of(listed(language, f"privacy.{table}"), fold_letters)

        away.append(f"{find('residents')}.{{0,40}}{find('absent')}")
        facts.append(rf"{find('absent_from')}\s+{find('from')}")
        facts.append(
            f"{find('dwellers')}.{{0,30}}{find('comes_and_goes')}.{{0,30}}{find('clock')}.{{0,6}}\\d"
        )
    times, conditions, empty = (
        any_of(all_words(f"privacy.{table}"), fold_letters) for table in ("times", "conditions", "empty")
    )
    return _Schedule(
        times=lazy_regex(rf"(?<!\w)\d|{times}"),
        conditions=lazy_regex(conditions),
        away=lazy_regex("|".join(away)),
        facts=lazy_regex("|".join(facts)),
        empty=lazy_regex(empty),
    )


def schedule_phrases(folded: str, *, strict: bool = False) -> Iterator[str]:
    """Yield the parts of a folded text that tell when no one is at home.

    In strict mode conditions count as facts.
    """
    patterns = _schedule()
    when = patterns.times.search(folded)
    for found in patterns.facts.finditer(folded):
        if when or strict:
            yield found[0]
    for found in patterns.away.finditer(folded):
        if strict or (when and not patterns.conditions.search(folded[: found.end()])):
            yield found[0]
    for found in patterns.empty.finditer(folded):
        if strict or not patterns.conditions.search(folded[: found.start()]):
            yield found[0]


def _is_phone(text: str) -> bool:
    """Return whether digits in groups may be a telephone number, and are no dates, years or round numbers."""
    bare = text.strip()
    if _DATE.fullmatch(bare) or _YEARS.fullmatch(bare):
        return False
    return not bare.endswith(("000 000", "00 000"))


def _is_ip(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return str(address) not in PUBLIC_ADDRESSES and len(text) > len("::1")


_TABLE: Final[tuple[tuple[PrivateKind, re.Pattern[str], Callable[[str], bool]], ...]] = (
    (PrivateKind.EMAIL, _EMAIL, lambda _text: True),
    (PrivateKind.MAC, _MAC, lambda _text: True),
    (PrivateKind.IP, _IPV4, _is_ip),
    (PrivateKind.IP, _IPV6, _is_ip),
    (PrivateKind.ACCOUNT, _IBAN, lambda text: sum(char.isdigit() for char in text) > len(text) // 2),
    (PrivateKind.ACCOUNT, _CARD, holds_secret),
    (PrivateKind.COORDINATES, _COORDINATES, lambda _text: True),
    (PrivateKind.PHONE, _PHONES, _is_phone),
    (PrivateKind.NUMBER, _LONG_NUMBER, lambda _text: True),
)
"""In this order: later rows skip the findings of earlier ones."""


@composed
def _public_codes() -> re.Pattern[str]:
    return lazy_regex(
        f"{_inside('public_codes')}[ -]?{_inside('code_words')}|{_any('public_code_phrases')}",
        re.IGNORECASE,
    )


def find_patterns(text: str, domains: Collection[str], known: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield private data that is recognized by its form.

    `domains` are those of the home; `known` says whether there is an entity of an id.
    """
    for found in _ENTITY.finditer(text):
        entity_id = found[0].lower()
        if known(entity_id) or (found[1].lower() in domains and "_" in found[2]):
            yield Finding(found.start(), found.end(), PrivateKind.ENTITY_ID)
    streets = ((PrivateKind.ADDRESS, pattern, lambda _text: True) for pattern in _street_words())
    for kind, pattern, counts in (*_TABLE, *streets):
        for found in pattern.finditer(text):
            if counts(found[0]):
                yield Finding(found.start(), found.end(), kind)
    if holds_secret(_YEARS.sub(" ", _public_codes().sub(" ", text))):
        yield Finding(0, len(text), PrivateKind.SECRET)


def masked(text: str, findings: Iterable[Finding]) -> str:
    """Return a text with the kind of each finding in its place."""
    parts: list[str] = []
    at = 0
    for finding in sorted(findings, key=lambda item: (item.start, -item.end)):
        if finding.start >= at:
            parts += [text[at : finding.start], f"[{finding.kind.value}]"]
        at = max(at, finding.end)
    return "".join((*parts, text[at:]))


def find_numbers(text: str) -> Iterator[Finding]:
    """Yield numbers of four digits and more that are no years and dates: codes among them."""
    for found in _SHORT_NUMBER.finditer(text):
        if not (_YEARS.fullmatch(found[0]) or _DATE.fullmatch(found[0])):
            yield Finding(found.start(), found.end(), PrivateKind.NUMBER)


ORDINARY_FILE: Final = Path(__file__).parent / "ordinary_words.txt"
"""Words that Home Assistant itself uses in many languages; behind an empty line names of its integrations."""

MIN_LONE: Final = 3
"""Letters of a word that counts on its own."""
TELLING: Final = 2
"""Words of one memory that tell it together."""

_TOKEN: Final = lazy_regex(r"[^\W_]+")
_LONGER_NAME: Final = lazy_regex(r"\w+ (?=[^\W\d_a-z])[^\W\d_]+")
_CYRILLIC: Final = lazy_regex("[\u0400-\u04ff]")


class _Pattern(NamedTuple):
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
        own = find(language)
        declines = own is not None and bool(listed(own, "privacy.name_endings"))
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
            if not strict and _is_meant_otherwise(pattern, text, start, end, said):
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


def build_finder(
    names: Iterable[tuple[PrivateKind, str]], public: frozenset[str], remembered: Iterable[str]
) -> NameFinder:
    """Return a finder of names by their kinds, and of names in private memories.

    `public` are words that makers and products are known by. Reads the ordinary words from the disk the
    first time.
    """
    finder = NameFinder()
    ordinary = ordinary_words() | public
    patterns: dict[tuple[str, ...], _Pattern] = {}
    # Persons first: the name of a person is not taken for a device's. What came first stays.
    for kind, name in sorted(names, key=lambda item: (item[0] is not PrivateKind.PERSON, item)):
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
        rows = groupby(zip(words, plain, strict=True), key=itemgetter(1))
        runs = (tuple(word for word, _ in row) for is_plain, row in rows if not is_plain)
        yield from (_Pattern(kind, run) for run in runs)
    elif len(words) > 1:
        yield _Pattern(kind, words, ordinary=True)


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


def _is_meant_otherwise(pattern: _Pattern, text: str, start: int, end: int, said: str) -> bool:
    """Return whether a single word is none of ours: it was said in a longer name, or is no name here.

    A name that is an everyday word too has a capital inside a sentence, or a possessive.
    """
    if len(pattern.words) == 1:
        if pattern.kind in (PrivateKind.DEVICE, PrivateKind.ROOM):
            return pattern.words[0] in map(fold_letters, _TOKEN.findall(said))
        longer = _LONGER_NAME.match(text[start:]) if pattern.kind is PrivateKind.PERSON else None
        if longer is not None and longer[0].casefold() in said.casefold():
            return True
    word, before = text[start:end], text[:start].strip(" \"'\u201e\u201c(")
    if not pattern.doubtful or re.search(r"['\u2019]s$", word):
        return False
    return not (word[:1].isupper() and before and not text.istitle())


@cache
def ordinary_words(*, names: bool = True) -> frozenset[str]:
    """Return the words that are public, or only those that are no mere names. Reads the disk once."""
    text = ORDINARY_FILE.read_text(encoding="utf-8")
    return frozenset((text if names else text.partition("\n\n")[0]).split())


@cache
def word_table(name: str) -> frozenset[str]:
    """Return the words of a table of all languages, folded."""
    return frozenset(map(fold_letters, all_words(f"privacy.{name}")))


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


async def async_names(hass: HomeAssistant) -> tuple[frozenset[tuple[PrivateKind, str]], frozenset[str]]:
    """Return the names of people, places and things, exposed or not, and the words that are public."""
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
    makers = (
        text
        for device in list(dr.async_get(hass).devices)
        for text in (device.manufacturer, device.model, device.model_id)
    )
    products = (*makers, *(component.replace(".", " ") for component in hass.config.components))
    return named, frozenset(word for text in products for word in words(text or ""))


def _names(hass: HomeAssistant) -> Iterator[tuple[PrivateKind, str]]:
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
        # The street and the postal code; the town is not a secret.
        for part in re.split(r"[\n,]", state.state):
            numbers = re.findall(r"\d+", part)
            if numbers and len(numbers[0]) >= POSTAL_DIGITS:
                yield numbers[0]
            elif numbers:
                yield re.sub(r"\b\d+\s?[a-zA-Z]?\b", " ", part)
        yield from (str(state.attributes[key]) for key in STREET_ATTRIBUTES if state.attributes.get(key))
    else:
        yield state.state
