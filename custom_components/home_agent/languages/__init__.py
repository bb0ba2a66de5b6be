"""What people say, by language: one file of words for each language, and one place that reads its code.

The files hold words and simple lists. What is composed of them belongs to the code that uses them.
`README.md` describes them; `scripts/languages` prints which language lacks which of them.
"""

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
import json
from pathlib import Path
from typing import Any, Final

from unicode_rbnf import RbnfEngine

from homeassistant.const import MATCH_ALL
from homeassistant.core import HomeAssistant
from homeassistant.util.language import matches

FOLDER: Final = Path(__file__).parent
DEFAULT: Final = "en"

RELATED: Final[Mapping[str, str]] = {"gsw": "de", "nn": "nb", "zh-hk": "zh-Hant", "zh-tw": "zh-Hant"}
"""Languages that Home Assistant keeps apart from another one, but whose words are nearly the same."""

STRICTER: Final[Mapping[str, str]] = {
    "answers.yes": "only English answers confirm an action",
    "replies.denies": "an order that the model answers without doing anything is not noticed",
    "numbers.digits": "a PIN has to be said in English or typed",
    "questions.commands": "the model alone judges whether a sentence is a question",
    "memory.negations": "the model alone judges whose matter something is",
    "firewall.role": "instructions in texts from outside are recognized only in other languages",
    "privacy.absent": (
        "after texts from outside only words that were said or read in the conversation leave"
    ),
    "quantities.all": "the words of all languages count",
    "times.english": "times and days have to be said in English or in digits",
}
"""What becomes stricter for people who speak a language without the section of a table."""

COMMA: Final = ", "
"""What is between the entries of a line."""
PAIRS: Final = frozenset({"latin", "replacements"})
"""Tables of single texts."""
DIGITS: Final = "digits"
"""A table with a line for each digit."""

_COUNTING: Final = ["spellout-numbering", "spellout-cardinal-sinokorean"]
"""What Unicode calls the words that people count with."""
_AS_TYPED: Final = str.maketrans({"\u02bc": "'", "\u200b": None})
"""People type neither the apostrophe that is a letter nor spaces without width."""


async def async_load(hass: HomeAssistant) -> None:
    """Read all files off the event loop, so that every later look-up is answered from memory."""
    await hass.async_add_executor_job(files)
    for language in languages():
        hass.async_add_executor_job(words_to_99, language)


@cache
def files() -> Mapping[str, Mapping[str, Any]]:
    """Return the tables of all languages, by language and section."""
    tables = {path.stem: read_file(path) for path in sorted(FOLDER.glob("*.json"))}
    for sections in tables.values():
        # To the everyday words of each class belong the words that name it elsewhere in the file.
        if (classes := sections.get("concepts", {}).get("classes")) is None:
            continue
        named = [sections.get("names", {}).get("domains", {}), sections.get("topics", {}).get("kinds", {})]
        for key in {**classes, **named[0], **named[1]}:
            nouns = [noun for table in named for noun in table.get(key, ()) if " " not in noun]
            whole = (noun for noun in nouns if not noun.endswith("*"))
            stems = (noun.rstrip("*") for noun in nouns)
            classes[key] = " ".join(dict.fromkeys((*whole, *classes.get(key, ()), *stems)))
    return tables


def read_file(path: Path) -> dict[str, Any]:
    """Return the sections of a file as they are written, with lists of entries."""
    sections: dict[str, Any] = _entries("", json.loads(path.read_text(encoding="utf-8")))
    return sections


def _entries(name: str, value: Any) -> Any:
    """Return what is written in lines, with commas between entries, as lists of entries."""
    if isinstance(value, Mapping):
        return value if name in PAIRS else {key: _entries(key, held) for key, held in value.items()}
    if isinstance(value, str):
        return value.split(COMMA)
    if isinstance(value, list):
        lines = [line.split(COMMA) for line in value]
        return lines if name == DIGITS else [entry for line in lines for entry in line]
    return value


def languages() -> tuple[str, ...]:
    """Return the languages that have a file."""
    return tuple(files())


@lru_cache(maxsize=256)
def find(code: str) -> str | None:
    """Return the language with a file that comes closest to a code, such as pt for pt-BR and nb for no."""
    return None if code == MATCH_ALL else nearest(code, frozenset(languages()))


@lru_cache(maxsize=256)
def nearest(code: str, among: frozenset[str], country: str | None = None) -> str | None:
    """Return which of some languages comes closest to a code; a country decides between variants."""
    whole = code.replace("_", "-").casefold()
    related = RELATED.get(whole) or RELATED.get(whole.partition("-")[0], code)
    return next(iter(matches(related, sorted(among), country=country)), None)


def gaps(code: str) -> Iterator[tuple[str, str]]:
    """Yield each section that the language of a code lacks, with what is stricter without it."""
    own = find(code)
    for name, effect in STRICTER.items():
        if own is None or table(own, name) is None:
            yield name.partition(".")[0], effect


@cache
def table(language: str, name: str) -> Any:
    """Return a table of a language, for example `answers.yes`; None if the language lacks it."""
    value: Any = files().get(language, {})
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


@cache
def words(language: str, name: str) -> tuple[str, ...]:
    """Return a table that is a list of words and phrases; nothing if the language lacks it."""
    return tuple(table(language, name) or ())


@cache
def words_to_99(language: str) -> tuple[str, ...]:
    """Return the numbers from 10 to 99 in the words of a language, which takes some milliseconds once."""
    # Unicode keeps the words of Norwegian under the code of both its forms.
    engine = RbnfEngine.for_language("no" if language == "nb" else language)
    spelt = (engine.format_number(number, ruleset_names=_COUNTING).text for number in range(10, 100))
    return tuple(number.translate(_AS_TYPED) for number in spelt)


@cache
def languages_with(name: str) -> tuple[str, ...]:
    """Return the languages that have a table."""
    return tuple(language for language in languages() if table(language, name) is not None)
