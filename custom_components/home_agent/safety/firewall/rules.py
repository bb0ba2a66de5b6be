"""The firewall's rules: patterns of instructions to a model, over readable text.

Marks of chat templates and calls are the same everywhere. The words of an instruction come from the section
`firewall` of the language files, and each kind of instruction is one pattern composed of them.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
import re
from typing import Final

from ...languages import languages_with, table, words
from ...languages.phrases import GAP, NEVER, any_of, either
from ...regex import composed, lazy_regex
from ...texts import is_unspaced
from .text import Readable

MAX_NAMES: Final = 2_000

_own: Final[OrderedDict[str, None]] = OrderedDict()
"""Names of the agents' own and custom tools, for texts that are read outside a turn."""

_NEAR: Final = f"{GAP}{{0,30}}?"
_FAR: Final = f"{GAP}{{0,60}}?"
_SPACE: Final = r"\s{0,4}"
_CLAUSE_START: Final = r"(?:^\s{0,8}|(?<=[.!?])\s{1,8})"

TOKENS: Final = lazy_regex(
    r"<\|[^|<>\n]{1,40}\|>"
    r"|\[/?(?:inst|system_prompt|available_tools|tool_calls?|tool_results?)\]"
    r"|<</?sys>>"
    r"|</?(?:tool_calls?|tool_code|tool_use|tool_responses?|tool_results?|function_calls?|function_results"
    r"|function|invoke|parameter|system|system-reminder|system_prompt|assistant|user|human|instructions?"
    r"|think|thinking|start_of_turn|end_of_turn|important|prompt|antml:\w{1,20})\b[^<>]{0,200}>"
    r"|^[ \t]*#{1,6}[ \t]*(?:system|instructions?|response|assistant|user|human)\b[ \t]*:?[ \t]*$",
    re.MULTILINE,
)
"""Marks of chat templates."""

ROLES: Final = lazy_regex(
    r"^[ \t\"'*]*(?:system|assistant|human|user|developer|tool|ai|model)[ \t]*(?:\([^()\n]{1,30}\))?[\"'*]*:"
    r"(?![/\w])",
    re.MULTILINE,
)
"""Who speaks, as templates write it; "model: X 12" also stands on a sticker."""

CALLS: Final = lazy_regex(
    r"[\"'](?:name|tool|function|tool_name|function_name|recipient_name|action)[\"']\s{0,4}:\s{0,4}[\"'][\w.:-]{1,64}"
    r"[\"'][^{}]{0,80}[\"'](?:arguments|parameters|args|params|input|action_input)[\"']\s{0,4}:"
    r"|[\"'](?:tool_calls?|function_call|tool_uses)[\"']\s{0,4}:"
    r"|\b(?:execute_tool|hassturno[nf]f?)\b"
    r"|\b\w{2,40}\.\w{2,40}\((?=\s{0,4}[\"'{\w])[^()\n]{0,200}\)|\b[a-z]+_[a-z_]{2,40}\(\s{0,4}(?:\w{1,30}\s{0,4}=|[\"'{])"
    r"|\b(?:lock\.(?:unlock|open|lock)|alarm_control_panel\.\w{2,40}|cover\.\w{2,40}|valve\.\w{2,40}|script\.\w{2,40}"
    r"|scene\.\w{2,40}|shell_command\.?\w{0,40}|homeassistant\.(?!local\b|io\b)\w{2,40}|lock\.\w{2,40}|(?:action|service):\s{0,4}\w+\.\w+)\b"
)
"""Calls of services and functions, however they are written; `tool_names.py` knows the tools by name."""


class _RuleWords:
    """The words of one language as sources of patterns."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._whole_words = not any(map(is_unspaced, words(language, "firewall.ignore")))

    def __call__(self, *tables: str) -> str:
        """Return a pattern for any entry of these tables."""
        entries = (entry for name in tables for entry in words(self._language, f"firewall.{name}"))
        return any_of(entries, as_read, whole_words=self._whole_words)

    def with_space(self, name: str) -> str:
        """Return a pattern for an entry and the space behind it; empty if the language lacks the table."""
        return f"{self(name)}{_SPACE}" if words(self._language, f"firewall.{name}") else ""

    def letters(self) -> frozenset[str]:
        """Return the letters of another script that the language needs; none if it is written in Latin."""
        verbs = "".join(map(as_read, words(self._language, "firewall.ignore")))
        if any(char.isascii() and char.isalpha() for char in verbs):
            return frozenset()
        listed = (value for value in table(self._language, "firewall").values() if isinstance(value, list))
        entries = (entry for value in listed for entry in value)
        return frozenset(char for entry in entries for char in as_read(entry) if not char.isascii())


class Rules:
    """The patterns of one language."""

    def __init__(self, language: str) -> None:
        find = _RuleWords(language)
        self.letters: Final = find.letters()
        """One of these has to be in a text in this language; empty if it is written with Latin letters."""
        verb_last = bool(table(language, "firewall.verb_last"))

        def in_row(first: str, second: str) -> str:
            return f"{first}{_FAR}{second}" + (f"|{second}{_NEAR}{first}" if verb_last else "")

        ignore, earlier, rules = find("ignore"), find("earlier"), find("rules")
        people, facts, guarded = find("people"), find("facts"), find("guarded")
        kept = f"{find('kept')}(?! {find('kept_before')})"
        private = f"(?:{find('private')}|{people}{_NEAR}{facts}|{facts}{_NEAR}{people})"
        self.patterns: Final = {
            "override": _pattern(
                f"{ignore}{_NEAR}(?:{earlier}{_NEAR}{rules}|{rules}{_NEAR}{earlier})",
                f"{earlier}{_NEAR}{rules}{_NEAR}{ignore}",
            ),
            "role": _pattern(find("role")),
            "address": _pattern(*_addressing(find)),
            "secrecy": _pattern(
                find("secret"), f"{find.with_space('deny')}{find('tell')}{_NEAR}{find('listeners')}"
            ),
            "memory": _pattern(in_row(find("keep"), kept)),
            "private": _pattern(in_row(find("send"), private)),
            "action": _pattern(in_row(find("open"), guarded)),
        }
        self._needed: Final = {
            "override": _pattern(rules),
            "memory": _pattern(find("kept")),
            "private": _pattern(find("private"), facts),
            "action": _pattern(guarded),
        }
        """A required part of a rule: searched first, since most texts do not contain it."""
        self.push: Final = _pattern(find("push"))
        """What makes an order of what a manual says."""

    def find(self, text: str) -> Iterator[tuple[str, re.Match[str]]]:
        """Yield where a rule fits, with its name."""
        for name, pattern in self.patterns.items():
            if name not in self._needed or self._needed[name].search(text):
                yield from ((name, match) for match in pattern.finditer(text))


def _addressing(find: _RuleWords) -> Iterator[str]:
    assistants, anyone = find("assistants"), find("assistants", "addressed")
    determiner, reading = find.with_space("determiners"), find.with_space("reading")
    yield rf"{_CLAUSE_START}{anyone}\s{{0,8}}[,:\uff0c\uff1a\u3001]"
    yield f"{find('greetings')}[ ,:]{{1,3}}(?:{determiner})?{anyone}"
    yield find("notices")
    yield f"{find('if_you_are')}{_SPACE}{assistants}"
    yield f"{determiner}{assistants}{_SPACE}(?:{reading})?{find('must')}"


def as_read(entry: str) -> str:
    """Return an entry with its letters as they are in readable text."""
    return Readable(entry, markup=True).text


def _pattern(*sources: str) -> re.Pattern[str]:
    return lazy_regex(either(*sources), re.MULTILINE)


@composed
def _all_rules() -> Mapping[str, Rules]:
    return {language: Rules(language) for language in languages_with("firewall")}


def rules_for(text: str) -> Iterator[Rules]:
    """Yield the rules of the languages that a text may be in."""
    letters = set(text)
    for rules in _all_rules().values():
        if not rules.letters or not rules.letters.isdisjoint(letters):
            yield rules


def note_tools(names: Iterable[str]) -> None:
    """Remember the names of tools that an agent has from now on."""
    for name in names:
        _own[name] = None
        _own.move_to_end(name)
    while len(_own) > MAX_NAMES:
        _own.popitem(last=False)


def named_calls(readable: str, names: Collection[str] = ()) -> Iterator[re.Match[str]]:
    """Yield where a readable text names a tool: one of the agents' own, or one of `names`."""
    yield from _pattern_of_names(frozenset({*_own, *names})).finditer(readable)


@lru_cache(maxsize=8)
def _pattern_of_names(names: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of these names; everyday words, as "timer", count only if used as a call."""
    written = sorted({as_read(name.lower()) for name in names if name}, key=lambda name: (-len(name), name))
    technical = "|".join(re.escape(name) for name in written if not name.isalpha())
    everyday = "|".join(re.escape(name) for name in written if name.isalpha())
    parts = [rf"(?<!\w)(?:{technical})(?!\w)"] if technical else []
    parts += [rf"(?<!\w)(?:{everyday})\s{{0,2}}[({{]\s{{0,4}}[\"'{{\w]"] if everyday else []
    return re.compile("|".join(parts) or NEVER)
