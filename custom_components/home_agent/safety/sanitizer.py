"""Sanitiser: what leaves the house for somebody else's server says nothing of who lives here, and where.

What is found is replaced by a generic word where the text keeps its sense, or the text is held back with a
sentence that says how to make it generic.
"""

import asyncio
from base64 import b64decode
import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
import re
from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from ..vector.text import clean, fold, words
from .firewall_text import Readable
from .house_names import async_names
from .private_names import NameFinder, Names, build_finder
from .private_patterns import Finding, Kind, find_numbers, find_patterns
from .schedule_phrases import schedule_phrases

MAX_TEXT: Final = 20_000
"""Characters; what is longer is held back."""
HOME_DEGREES: Final = 0.06
"""Numbers this near to the home's own latitude or longitude, with two decimals or more, tell where it is."""
LEAST_WORDS: Final = 2
"""Words that have to be left for a text to keep its sense."""
DOMAINS: Final = frozenset(
    [
        "alarm_control_panel",
        "automation",
        "binary_sensor",
        "button",
        "calendar",
        "camera",
        "climate",
        "counter",
        "cover",
        "device_tracker",
        "event",
        "fan",
        "group",
        "humidifier",
        "image",
        "input_boolean",
        "input_button",
        "input_datetime",
        "input_number",
        "input_select",
        "input_text",
        "lawn_mower",
        "light",
        "lock",
        "media_player",
        "notify",
        "number",
        "person",
        "remote",
        "scene",
        "script",
        "select",
        "sensor",
        "siren",
        "switch",
        "text",
        "timer",
        "todo",
        "update",
        "vacuum",
        "valve",
        "water_heater",
        "zone",
    ]
)

REPLACED: Final[Mapping[Kind, Mapping[str, str]]] = {
    Kind.PERSON: {
        "en": "someone",
        "de": "jemand",
        "nl": "iemand",
        "fr": "quelqu'un",
        "es": "alguien",
        "it": "qualcuno",
        "pt": "alguém",
        "pl": "ktoś",
        "cs": "někdo",
        "sv": "någon",
        "da": "nogen",
        "ru": "кто-то",
    },
    Kind.PLACE: {
        "en": "place",
        "de": "Ort",
        "nl": "plaats",
        "fr": "lieu",
        "es": "lugar",
        "it": "luogo",
        "pt": "lugar",
        "pl": "miejsce",
        "cs": "místo",
        "sv": "plats",
        "da": "sted",
        "ru": "место",
    },
    Kind.ROOM: {
        "en": "room",
        "de": "Zimmer",
        "nl": "kamer",
        "fr": "pièce",
        "es": "habitación",
        "it": "stanza",
        "pt": "quarto",
        "pl": "pokój",
        "cs": "pokoj",
        "sv": "rum",
        "da": "værelse",
        "ru": "комната",
    },
    Kind.DEVICE: {
        "en": "device",
        "de": "Gerät",
        "nl": "apparaat",
        "fr": "appareil",
        "es": "dispositivo",
        "it": "dispositivo",
        "pt": "dispositivo",
        "pl": "urządzenie",
        "cs": "zařízení",
        "sv": "enhet",
        "da": "enhed",
        "ru": "устройство",
    },
    Kind.IP: {"en": "IP address", "de": "IP-Adresse", "nl": "IP-adres", "fr": "adresse IP"},
    Kind.MAC: {"en": "MAC address", "de": "MAC-Adresse", "nl": "MAC-adres", "fr": "adresse MAC"},
    Kind.HOST: {"en": "server", "de": "Server", "nl": "server", "fr": "serveur", "es": "servidor"},
    Kind.EMAIL: {"en": "e-mail address", "de": "E-Mail-Adresse", "nl": "e-mailadres", "fr": "adresse e-mail"},
}
"""Generic words by kind and language; kinds that are not here cannot be replaced."""

ADVICE: Final[Mapping[Kind, str]] = {
    Kind.PERSON: "write who it is for in general words, for example 'for a woman' or 'for a child'",
    Kind.ROOM: "name the kind of room instead of its own name",
    Kind.PLACE: "name the kind of place, or a large city or region, instead of its own name",
    Kind.DEVICE: "name the kind of device, or its maker and model, instead of its own name",
    Kind.HOST: "leave the name of the household's server out",
    Kind.KEYWORD: "leave out what the household keeps to itself",
    Kind.MEMORY: "leave out what is remembered in private, and ask about the subject in general",
    Kind.PHONE: "leave the telephone number out",
    Kind.EMAIL: "leave the e-mail address out",
    Kind.IP: "leave the IP address out",
    Kind.MAC: "leave the MAC address out",
    Kind.ACCOUNT: "leave numbers of accounts and cards out",
    Kind.SECRET: "leave codes, passwords and keys out",
    Kind.NUMBER: "leave long numbers out",
    Kind.ENTITY_ID: "name the kind of device instead of an entity id",
    Kind.COORDINATES: "name a large city or a region instead of coordinates",
    Kind.ADDRESS: "name a large city or a region, such as 'a big city in northern Germany', and no address",
    Kind.SCHEDULE: "leave out when somebody is away or at home; ask without dates and persons",
}
"""How to make a text generic."""

_NUMBER: Final = re.compile(r"(?<![\w.])-?\d{1,3}[.,]\d{2,}(?![\w.])")
_OPAQUE: Final = re.compile(r"[A-Za-z0-9+/_=-]{8,}")
_NO_SENSE: Final = frozenset(
    {"a", "an", "the", "of", "for", "in", "to", "is", "at", "on", "und", "der", "die", "das"}
)


@dataclass(frozen=True, slots=True)
class Sanitized:
    """A text as it may leave."""

    text: str
    """Empty where it is held back."""
    found: tuple[str, ...] = ()
    """Kinds of what was found, sorted."""
    blocked: bool = False
    advice: str = ""
    """For the model: why, and how to make it generic. It repeats nothing of what was found."""


class Sanitizer:
    """Checks texts against the house as it is now."""

    def __init__(
        self,
        hass: HomeAssistant,
        keywords: Iterable[str] = (),
        remembered: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """Take the household's own words (`*` and `?` are allowed), and what tells private memories."""
        self._hass = hass
        self._keywords = [pattern for keyword in keywords if (pattern := _keyword(keyword))]
        self._remembered = remembered
        self._names: tuple[Names, frozenset[str]] | None = None
        self._finder = NameFinder()
        self._lock = asyncio.Lock()

    async def async_clean(
        self, text: str, *, language: str = "en", strict: bool = False, said: str = ""
    ) -> Sanitized:
        """Return a text as it may leave.

        `strict` is for turns that have read text from outside: whatever is private blocks, also where it is
        disguised. `said` is what the person said in this turn.
        """
        if len(text) > MAX_TEXT:
            return Sanitized("", (), blocked=True, advice="The text is too long. Send less of it.")
        line = clean(text, MAX_TEXT) if "\n" not in text else text
        finder = await self._async_finder()
        return await self._hass.async_add_executor_job(
            partial(self._checked, line, finder, language, strict=strict, said=said)
        )

    async def _async_finder(self) -> NameFinder:
        """Return what finds the names of the house, built anew where one has changed."""
        async with self._lock:
            remembered = frozenset(self._remembered())
            current = (await async_names(self._hass), remembered)
            if current != self._names:
                self._finder = await self._hass.async_add_executor_job(build_finder, *current)
                self._names = current
            return self._finder

    def _checked(self, text: str, finder: NameFinder, language: str, *, strict: bool, said: str) -> Sanitized:
        """Find and replace; runs in a worker thread."""
        findings = list(self._find(text, finder, language, strict=strict, said=said))
        if strict and not findings:
            findings = list(_disguised(text, finder, language, said))
        if not findings:
            return Sanitized(text)
        kinds = {finding.kind for finding in findings}
        blocking = (
            kinds
            if strict
            else {kind for kind in kinds if kind not in REPLACED and kind is not Kind.ENTITY_ID}
        )
        if not blocking:
            cleaned = _replaced(text, findings, language)
            if cleaned is not None:
                return Sanitized(cleaned, _told(kinds))
            blocking = kinds
        return Sanitized("", _told(kinds), blocked=True, advice=_advice(blocking))

    def _find(
        self, text: str, finder: NameFinder, language: str, *, strict: bool, said: str
    ) -> Iterable[Finding]:
        """Yield everything private in a text."""
        registered = er.async_get(self._hass).entities
        yield from find_patterns(
            text,
            DOMAINS,
            lambda entity_id: entity_id in registered or self._hass.states.get(entity_id) is not None,
        )
        yield from self._at_home(text)
        spoken = frozenset(words(said))
        for finding in finder.find(text, language, strict=strict, said=said):
            asked = finding.kind is Kind.MEMORY and spoken.issuperset(
                words(text[finding.start : finding.end])
            )
            if strict or not asked:
                yield finding
        folded = fold(text)
        yield from (
            Finding(0, len(text), Kind.KEYWORD) for pattern in self._keywords if pattern.search(folded)
        )
        yield from (Finding(0, len(text), Kind.SCHEDULE) for _ in schedule_phrases(folded, strict=strict))
        if strict:
            yield from find_numbers(text)

    def _at_home(self, text: str) -> Iterable[Finding]:
        """Yield numbers that tell where the home is: both its latitude and its longitude."""
        home = (self._hass.config.latitude, self._hass.config.longitude)
        if not any(home):
            return
        near: list[tuple[int, Finding]] = []
        for found in _NUMBER.finditer(text):
            number = float(found[0].replace(",", "."))
            near += [
                (index, Finding(found.start(), found.end(), Kind.COORDINATES))
                for index, degrees in enumerate(home)
                if abs(abs(number) - abs(degrees)) < HOME_DEGREES
            ]
        if {index for index, _ in near} == {0, 1}:
            yield from (finding for _, finding in near)


def _disguised(text: str, finder: NameFinder, language: str, said: str) -> Iterable[Finding]:
    """Yield what a text hides: look-alike letters, letters apart, backwards, encoded."""
    readable = Readable(text).text
    whole = partial(Finding, 0, len(text))
    for finding in finder.find(readable, language, strict=True, said=said):
        yield whole(finding.kind)
    if kind := finder.hidden(readable):
        yield whole(kind)
    for token in _OPAQUE.findall(text):
        for decoded in _decoded(token):
            if finder.hidden(fold(decoded)) or any(True for _ in find_numbers(decoded)):
                yield whole(Kind.SECRET)


def _decoded(token: str) -> Iterable[str]:
    """Yield what a token may be the base64 or the hexadecimal form of."""
    with suppress(ValueError):
        yield bytes.fromhex(token).decode("utf-8")
    with suppress(ValueError, binascii.Error):
        padded = token.rstrip("=") + "=" * (-len(token.rstrip("=")) % 4)
        yield b64decode(padded, altchars=b"-_", validate=True).decode("utf-8")


def _replaced(text: str, findings: Sequence[Finding], language: str) -> str | None:
    """Return a text with generic words; None where too little of it is left to make sense."""
    base = language.partition("-")[0].lower()
    parts: list[str] = []
    kept: list[str] = []
    at = 0
    # The longest finding of those that begin at one place covers the others.
    for finding in sorted(findings, key=lambda item: (item.start, -item.end)):
        if finding.start < at:
            continue
        before = text[at : finding.start]
        generic = REPLACED.get(finding.kind, {})
        word = generic.get(base) or generic.get("en", "")
        if finding.kind is Kind.ENTITY_ID:
            word = text[finding.start : finding.end].partition(".")[0].replace("_", " ")
        parts += [before, word]
        kept.append(before)
        at = finding.end
    parts.append(text[at:])
    kept.append(text[at:])
    left = [word for word in words(" ".join(kept)) if word not in _NO_SENSE and len(word) > 1]
    return " ".join("".join(parts).split()) if len(left) >= LEAST_WORDS else None


def _keyword(keyword: str) -> re.Pattern[str] | None:
    """Return the pattern of a word that the household keeps to itself."""
    folded = fold(keyword).strip()
    if not folded.strip("*? "):
        return None
    pattern = re.escape(folded).replace(r"\*", r"\w*").replace(r"\?", r"\w").replace(r"\ ", r"\s+")
    return re.compile(rf"(?<!\w){pattern}(?!\w)")


def _told(kinds: Iterable[Kind]) -> tuple[str, ...]:
    """Return kinds as they are told."""
    return tuple(sorted(kind.value for kind in kinds))


def _advice(kinds: Iterable[Kind]) -> str:
    """Return what to do about what was found."""
    steps = "; ".join(ADVICE[kind] for kind in sorted(kinds))
    return f"Not sent: it would tell something about this household. Make it generic: {steps}."
