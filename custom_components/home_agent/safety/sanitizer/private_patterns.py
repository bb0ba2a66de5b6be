"""What is private by its form: numbers, addresses, ids. Each pattern stands in a table with its kind."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
import ipaddress
import re
from typing import Final

from ...memory.secrets import holds_secret
from ...regex import lazy


class Kind(StrEnum):
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
    UNKNOWN = "unknown_words"
    """Words that neither the person nor a text from outside has brought into the conversation."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Where something private stands in a text."""

    start: int
    end: int
    kind: Kind


PUBLIC_ADDRESSES: Final = frozenset(
    {"0.0.0.0", "127.0.0.1", "1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9", "::", "::1"}  # noqa: S104
)
"""Addresses that are the same for everybody."""

_GROUP: Final = r"[ \u00a0./\-\u2010-\u2013]"
_EMAIL: Final = lazy(r"(?<![\w.+%'\-])[\w.+%'\-]{1,64}\s?(?:@|\(at\)|\[at\]|\uff20)\s?[\w\-]+(?:\.[\w\-]+)+")
_MAC: Final = lazy(
    r"(?<![\w:])(?:[0-9a-fA-F]{2}([:\-]))(?:[0-9a-fA-F]{2}\1){4}[0-9a-fA-F]{2}(?![\w:])"
    r"|(?<![\w.])(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}(?![\w.])"
)
_IPV4: Final = lazy(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d|/\d)")
_IPV6: Final = lazy(r"(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")
_IBAN: Final = lazy(r"(?<!\w)[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]{4}){3,7}(?:[ -]?[A-Za-z0-9]{1,3})?(?!\w)")
_CARD: Final = lazy(r"(?<![\d.])(?:\d[ -]?){12,18}\d(?![\d.])")
_PHONES: Final = lazy(
    "|".join(
        (
            rf"(?<![\w.])(?:\+|00)[1-9](?:{_GROUP}?\(?\d\)?){{6,14}}(?!\w)",  # international
            rf"(?<![\w.,:])\(0?\d{{1,5}}\){_GROUP}?\d(?:{_GROUP}?\d){{4,9}}(?!\w)",  # (555) 123-4567
            rf"(?<![\w.,:/-])0[1-9](?:{_GROUP}?\d){{6,11}}(?!\w)",  # 0171 1234567, 01 23 45 67 89
            r"(?<![\w.,:/-])[2-9]\d{2}[-. ][2-9]\d{2}[-. ]\d{4}(?!\w)",  # 555-123-4567
            r"(?<![\w.,:/-])8 ?\(?9\d{2}\)?[ -]?\d{3}[ -]?\d{2}[ -]?\d{2}(?!\w)",  # 8 912 345-67-89
            r"(?<![\w.,:/-])[5-9]\d{2} \d{3} \d{3}(?!\w| \d)(?<! 000)",  # 600 700 800
            r"(?<![\w.,:/-])[67]\d{2} \d{2} \d{2} \d{2}(?!\w| \d)",  # 612 34 56 78
            r"(?<![\w.,:/-])\d{2} \d{2} \d{2} \d{2}(?!\w| \d)",  # 12 34 56 78
            r"(?<![\w.,:/-])(?:\d{4,5}[- ])\d{4,6}(?!\w)",  # 91234-5678
            r"(?<![\w.,:/-])1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\w)",  # 138 1234 5678
        )
    )
)
_LONG_NUMBER: Final = lazy(r"(?<![\w.,])\d{9,}(?![\w]|[.,]\d)")
_SHORT_NUMBER: Final = lazy(r"(?<!\d)\d(?:[ .\-]?\d){3,}(?!\d)")
_YEARS: Final = lazy(r"(?:19|20)\d{2}(?:[ /\-\u2010-\u2013]+(?:19|20)?\d{2})?")
_DATE: Final = lazy(r"(?:19|20)\d{2}[-./ ]\d{1,2}[-./ ]\d{1,2}|\d{1,2}[-./ ]\d{1,2}[-./ ](?:19|20)?\d{2}")
_PUBLIC_CODE: Final = lazy(
    r"(?:error|fault|status|exit|stop|trouble|zip|postal|area|country|dial\w{0,20}|promo|discount|coupon|qr|bar"
    r"|source|morse|dress|tax|colou?r|hex|http|ean|hs|dtc|fehler|st\u00f6rungs|quell|post|rabatt|gutschein"
    r"|strich|foutt?|storings)[ -]?(?:codes?|meldung)"
    r"|(?:code|c\u00f3digo|codice|kod)\s(?:postale?|pocztowy|d['\u2019]erreur|de barras|a barre|de error"
    r"|di errore|qr"
    r"|b\u0142\u0119du)",
    re.IGNORECASE,
)
"""Codes that everybody may know."""
_COORDINATES: Final = lazy(
    r"(?<![\w.])[-+]?\d{1,3}[.]\d{3,}\s*\u00b0?\s*[NSns]?\s*[,;/ ]+"
    r"\s*[-+]?\d{1,3}[.]\d{3,}\s*\u00b0?\s*[EWOewo]?(?![\w.])"
    r"|\d{1,3}\s*\u00b0\s*\d{1,2}\s*['\u2019\u2032](?:\s*\d{1,2}(?:[.,]\d+)?\s*[\"\u201d\u2033])?\s*[NSEWOnsewo]?"
)
_ENTITY: Final = lazy(r"(?<![\w.@/-])([a-z][a-z_]{1,31})\.([a-z0-9_]{2,})(?![\w]|\.\w)", re.IGNORECASE)

_HOUSE: Final = r"\d{1,4}\s?[a-zA-Z]?(?![\w%\u00b0\u20ac$:])(?!\s?(?:km|m2|kg|kwh|watt|jahre|years|uhr|h)\b)"
_CAPITAL: Final = r"[A-Z\u00c0-\u00de\u0100-\u017f\u0400-\u042f]"
_STREET_ENDS: Final = (
    *(
        r"stra(?:\u00dfe|sse)",
        r"str\.?",
        "weg",
        "gasse",
        "allee",
        "platz",
        "ring",
        "damm",
        "ufer",
        "chaussee",
    ),
    *("stieg", "pfad", "kamp", "straat", "laan", "plein", "gracht", "kade", "dijk", "singel", "gatan"),
    *("v\u00e4gen", "gr\u00e4nd", "vej", "gade", "veien", "gata", "katu", "utca"),
)
_STRONG: Final = "street|road|avenue|boulevard|crescent|ave|rd|blvd"
_WEAK: Final = "st|lane|ln|drive|dr|court|ct|way|close|place|square|gardens|grove|terrace|hill"
_STREETS: Final = (
    # Musterstraße 12, Kerkstraat 5, Storgatan 3
    lazy(rf"(?<!\w)[^\W\d_][\w\-]{{0,60}}(?:{'|'.join(_STREET_ENDS)})\s+{_HOUSE}", re.IGNORECASE),
    # Lange Straße 12
    lazy(rf"(?<!\w){_CAPITAL}\w+\s+(?:Stra(?:\u00dfe|sse)|Str\.|Weg|Gasse|Allee|Platz|Ring)\s+{_HOUSE}"),
    # Am Alten Markt 3, 12345
    lazy(
        rf"(?<!\w)(?:Am|An der|Auf der|Im|In der|Zum|Zur|Unter den|Hinter der)\s+{_CAPITAL}\w+"
        rf"(?:\s{_CAPITAL}\w+)?\s\d{{1,3}}\s?[a-z]?(?:\s*,|\s+\d{{4,5}}\b)"
    ),
    # 12 Baker Street
    lazy(
        rf"(?<![\w.,])\d{{1,5}}[a-zA-Z]?,?\s+"
        r"(?:(?!best|hour|top|mile|km|day|new|year|great)(?:[^\W\d_]|[.'\u2019])+\s+){1,3}?"
        rf"(?:{_STRONG})\b(?=\.|,|$|\s+(?:in|near|at|to|from|apt|(?-i:{_CAPITAL})|\d)|\s*[;:?!])",
        re.IGNORECASE,
    ),
    lazy(
        rf"(?<![\w.,])\d{{1,5}}[a-zA-Z]?,?\s+(?:{_CAPITAL}(?:[^\W\d_]|[.'\u2019])+\s+){{1,3}}?(?i:{_WEAK}|{_STRONG})\b"
    ),
    # 12 rue de la Paix
    lazy(
        r"(?<![\w.,])\d{1,4}\s*(?:bis|ter|quater)?,?\s+(?:rue|avenue|av\.|boulevard|bd|chemin|all\u00e9e|impasse|quai|route"
        r"|cours|place|square|ruelle|sentier)\s+(?:de\s|du\s|des\s|la\s|le\s|les\s|d['\u2019]|l['\u2019])*\w+",
        re.IGNORECASE,
    ),
    # Calle Mayor 12
    lazy(
        r"(?<!\w)(?:calle|c/|avenida|avda\.?|paseo|plaza|camino|carretera|ronda|rua|travessa|pra\u00e7a|largo)\s+"
        r"(?:[^\W\d]+\s+){0,4}?[^\W\d]+,?\s*(?:n[\u00ba\u00b0o]?\.?\s*)?\d{1,3}\s?[a-z]?(?!\w)",
        re.IGNORECASE,
    ),
    # Via Roma 5
    lazy(
        rf"(?<!\w)(?:Via|via|Viale|viale|Piazza|piazza|Corso|corso|Vicolo|vicolo)\s+(?:{_CAPITAL}\w*\.?\s+|de[il]\w*\s+|d['\u2019])"
        r"{0,3}"
        rf"{_CAPITAL}[\w'\u2019]+,?\s*\d{{1,3}}(?!\w)"
    ),
    # ul. Długa 7, улица Ленина 10
    lazy(
        r"(?<!\w)(?:ul\.|ulica|ulicy|aleja|al\.|os\.|pl\.|\u0443\u043b\.|\u0443\u043b\u0438\u0446\w|\u043f\u0440\u043e\u0441\u043f\u0435\u043a\u0442\w?"
        r"|\u043f\u0440-\u0442|\u043f\u0435\u0440\u0435\u0443\u043b\w+)\s*(?:[^\W\d]+\s+){0,2}?[^\W\d]+,?\s*(?:\u0434\.\s*)?\d{1,4}\s?[a-z]?(?!\w)",
        re.IGNORECASE,
    ),
)


def _is_phone(text: str) -> bool:
    """Return whether digits in groups may be a telephone number, and are no dates, years or round numbers."""
    bare = text.strip()
    if _DATE.fullmatch(bare) or _YEARS.fullmatch(bare):
        return False
    return not bare.endswith(("000 000", "00 000"))


def _is_ip(text: str) -> bool:
    """Return whether a text is an address that says something about this household."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return str(address) not in PUBLIC_ADDRESSES and len(text) > len("::1")


def _is_card(text: str) -> bool:
    """Return whether digits pass the check of card numbers."""
    return holds_secret(text)


_TABLE: Final[tuple[tuple[Kind, re.Pattern[str], Callable[[str], bool]], ...]] = (
    (Kind.EMAIL, _EMAIL, lambda _text: True),
    (Kind.MAC, _MAC, lambda _text: True),
    (Kind.IP, _IPV4, _is_ip),
    (Kind.IP, _IPV6, _is_ip),
    (Kind.ACCOUNT, _IBAN, lambda text: sum(char.isdigit() for char in text) > len(text) // 2),
    (Kind.ACCOUNT, _CARD, _is_card),
    (Kind.COORDINATES, _COORDINATES, lambda _text: True),
    *((Kind.ADDRESS, pattern, lambda _text: True) for pattern in _STREETS),
    (Kind.PHONE, _PHONES, _is_phone),
    (Kind.NUMBER, _LONG_NUMBER, lambda _text: True),
)
"""In this order: what an earlier row found, a later one leaves alone."""


def find_patterns(text: str, domains: Collection[str], known: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield what is private by its form.

    `domains` are those of the house; `known` says whether there is an entity of an id.
    """
    for found in _ENTITY.finditer(text):
        entity_id = found[0].lower()
        if known(entity_id) or (found[1].lower() in domains and "_" in found[2]):
            yield Finding(found.start(), found.end(), Kind.ENTITY_ID)
    for kind, pattern, counts in _TABLE:
        for found in pattern.finditer(text):
            if counts(found[0]):
                yield Finding(found.start(), found.end(), kind)
    if holds_secret(_YEARS.sub(" ", _PUBLIC_CODE.sub(" ", text))):
        yield Finding(0, len(text), Kind.SECRET)


def find_numbers(text: str) -> Iterator[Finding]:
    """Yield numbers of four digits and more that are no years and dates: codes among them."""
    for found in _SHORT_NUMBER.finditer(text):
        if not (_YEARS.fullmatch(found[0]) or _DATE.fullmatch(found[0])):
            yield Finding(found.start(), found.end(), Kind.NUMBER)
