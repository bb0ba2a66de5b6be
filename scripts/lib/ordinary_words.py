"""The words that are nobody's secret, though a device or a room may be called by them.

They are what Home Assistant itself writes: words that several integrations use in one language, names of
integrations and makers, places that time zones are named after, and our own words for rooms and devices.
Words that stand only with a capital are left out, German apart: they may be names. Cities are added, given
names taken out: both are listed in ordinary_words.json.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.resources import files
import json
from pathlib import Path
import re
import sys
from textwrap import fill
from typing import Any, Final

from custom_components.home_agent.languages import languages, table
from custom_components.home_agent.safety.sanitizer.private_names import ORDINARY_FILE
from custom_components.home_agent.texts import fold_letters
import homeassistant.components

LANGUAGES: Final = ("cs", "da", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru", "sv")
CAPITALISED: Final = frozenset({"de"})
"""Languages whose ordinary nouns have a capital."""
LEAST_INTEGRATIONS: Final = 5
LEAST_LETTERS: Final = 3
WIDTH: Final = 110
LISTS: Final[dict[str, str]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""Large cities that no time zone is named after, as people ask for their weather, and given names: whoever is
called so keeps it, also where an integration or a place is called so."""

_WORD: Final = re.compile(r"[^\W_]+")
_NO_WORDS: Final = re.compile(r"\{[^}]*\}|https?://\S+|`[^`]*`")
"""Placeholders, addresses and code."""


def texts(node: Any) -> Iterator[str]:
    """Yield the texts of what JSON holds, without its keys."""
    match node:
        case str():
            yield node
        case dict():
            for item in node.values():
                yield from texts(item)
        case list():
            for item in node:
                yield from texts(item)


def words(text: str) -> list[str]:
    """Return the words of a text, as they are written."""
    return [word for word in _WORD.findall(_NO_WORDS.sub(" ", text)) if word.isalpha()]


def common(components: Path, language: str) -> set[str]:
    """Return the words that several integrations use in a language, folded."""
    used, small = Counter[str](), set[str]()
    for path in components.glob(f"*/translations/{language}.json"):
        found = {word for text in texts(read(path)) for word in words(text)}
        used.update({fold_letters(word) for word in found})
        small |= {fold_letters(word) for word in found if word[0].islower()}
    often = {word for word, count in used.items() if count >= LEAST_INTEGRATIONS}
    return often if language in CAPITALISED else often & small


def integrations(components: Path) -> Iterator[str]:
    """Yield what integrations and makers are called."""
    for path in components.glob("*/manifest.json"):
        yield path.parent.name.replace("_", " ")
        yield read(path).get("name", "")
    known = components.parent / "generated" / "integrations.json"
    yield from (text for text in named(read(known)) if text)


def named(node: Any) -> Iterator[str]:
    """Yield the names in the list of all integrations."""
    if isinstance(node, dict):
        for key, item in node.items():
            if key == "name" and isinstance(item, str):
                yield item
            else:
                yield from named(item)


def ordinary(components: Path, zones: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the words of texts, and the other words of names, both sorted."""
    own = (text for language in languages() for text in texts(table(language, "concepts")))
    written = {fold_letters(word) for text in own for word in words(text)}
    for language in LANGUAGES:
        written |= common(components, language)
    listed = (*integrations(components), *(zone.replace("_", " ") for zone in zones), LISTS["cities"])
    names = {fold_letters(word) for text in listed for word in words(text)} - written
    kept_back = set(LISTS["given_names"].split())
    written, names = (
        {word for word in found - kept_back if word.isalpha() and len(word) >= LEAST_LETTERS}
        for found in (written, names)
    )
    return sorted(written), sorted(names)


def read(path: Path) -> Any:
    """Return what a JSON file holds."""
    return json.loads(path.read_text(encoding="utf-8"))


def main(*, check: bool) -> int:
    """Write or compare the file; return the exit code."""
    zones = files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    parts = ordinary(Path(homeassistant.components.__file__).parent, zones)
    found = [*parts[0], *parts[1]]
    before = set(ORDINARY_FILE.read_text(encoding="utf-8").split())
    print(f"{len(found)} words, {len(set(found) - before)} new, {len(before - set(found))} gone")
    if check:
        return int(before != set(found))
    written = (fill(" ".join(part), WIDTH, break_long_words=False, break_on_hyphens=False) for part in parts)
    ORDINARY_FILE.write_text("\n\n".join(written) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
