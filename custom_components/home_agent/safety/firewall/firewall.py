"""The firewall: instructions that steer a model are removed from texts from outside.

It is the outer wall only, and a wall of patterns has holes. The inner one is the mark of a turn with the
policy.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
import re
from typing import Any, Final, NamedTuple
import unicodedata

from ...languages import languages_with, table, words
from ...languages.lexicon import GAP, NEVER, any_of, either
from ...regex import composed, lazy_regex
from ...texts import is_unspaced

LOOKALIKES: Final = str.maketrans(
    # Cyrillic and Greek letters that look like Latin ones
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u0442\u043c\u043a\u043d\u0432\u04bb\u0433"
    "\u03b1\u03b5\u03bf\u03c1\u03c5\u03c7\u03b9\u03ba\u03bd\u03c4\u03b7\u03c9\u0261\u0269\u0131\u01c0\u2113\u212f\u1d0f\u0585\u0578",
    "aeopcyxijsdqtmkhbhraeopuxikvtnwgiilleoon",
)
"""Folded letters of other alphabets, by the Latin ones that they are taken for."""

_ENTITY: Final = lazy_regex(r"&(?:#x?[0-9a-fA-F]{1,6}|[a-z]{2,6});")
_WORD: Final = lazy_regex(r"[^\W\d_]+")
_LATIN: Final = lazy_regex(r"[a-z]")
_LOOKALIKE_WORD: Final = lazy_regex(f"[a-z{''.join(map(chr, LOOKALIKES))}]+")
_NAMED: Final = {
    "nbsp": " ",
    "amp": "&",
    "lt": "<",
    "gt": ">",
    "quot": '"',
    "apos": "'",
    "shy": "",
    "zwnj": "",
}
_CONTROLS: Final = dict.fromkeys((*range(9), 11, 12, 13, *range(14, 32), 127), " ")
_TAG_LETTERS: Final = range(0xE0020, 0xE007F)


class Readable:
    """A text as it is read, folded, with the position of each character in the original."""

    __slots__ = ("_ends", "_starts", "text")

    def __init__(self, written: str) -> None:
        self._starts: list[int] | None = None
        if written.isascii() and not _ENTITY.search(written):
            self.text = written.translate(_CONTROLS).lower()
            return
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        for start, end, shown in _shown(written):
            pieces.append(shown)
            starts.extend([start] * len(shown))
            ends.extend([end] * len(shown))
        self.text = _without_lookalikes("".join(pieces))
        self._starts, self._ends = starts, ends

    def written(self, start: int, end: int) -> tuple[int, int]:
        """Return the position of a part of the readable text in the original."""
        if self._starts is None:
            return start, end
        return self._starts[start], self._ends[end - 1]


def _shown(written: str) -> Iterator[tuple[int, int, str]]:
    """Yield parts of the original with their readings: none, one character or several."""
    at = 0
    entities = [(found.start(), found.end(), _entity(found[0])) for found in _ENTITY.finditer(written)]
    for start, end, shown in [*entities, (len(written), len(written), "")]:
        for index in range(at, start):
            if plain := _plain(written[index]):
                yield index, index + 1, plain
        if shown:
            yield start, end, shown
        at = end


def _entity(entity: str) -> str:
    name = entity[1:-1]
    if not name.startswith("#"):
        return _NAMED.get(name, entity)
    with suppress(ValueError, OverflowError):
        return _plain(chr(int(f"0{name[1:]}", 16) if name[1] in "xX" else int(name[1:])))
    return ""


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """Return a character folded; an empty string for invisible ones."""
    if "\uac00" <= char <= "\ud7af":
        return char
    if char.isascii():
        return char.lower() if char.isprintable() or char in "\n\t" else " " if char == "\r" else ""
    if ord(char) in _TAG_LETTERS:
        return chr(ord(char) - 0xE0000).lower()
    category = unicodedata.category(char)
    if category in {"Cf", "Cc", "Co", "Cs", "Mn", "Me"}:
        return ""
    if category in {"Zs", "Zl", "Zp"}:
        return "\n" if category != "Zs" else " "
    return "".join(
        part for part in unicodedata.normalize("NFKD", char.casefold()) if not unicodedata.combining(part)
    )


def _without_lookalikes(text: str) -> str:
    """Return text in which words that mix alphabets, or only seem Latin, are Latin; of the same length."""
    if text.isascii():
        return text
    mostly_latin = len(_LATIN.findall(text)) * 2 > sum(map(len, _WORD.findall(text)))

    def latin(found: re.Match[str]) -> str:
        word = found[0]
        if word.isascii():
            return word
        mixed = _LATIN.search(word) is not None
        return (
            word.translate(LOOKALIKES)
            if mixed or (mostly_latin and _LOOKALIKE_WORD.fullmatch(word))
            else word
        )

    return _WORD.sub(latin, text)


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
"""Calls of services and functions, however they are written; `named_calls` finds the tools by name."""


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
        assistants, anyone = find("assistants"), find("assistants", "addressed")
        determiner, reading = find.with_space("determiners"), find.with_space("reading")
        kept = f"{find('kept')}(?! {find('kept_before')})"
        private = f"(?:{find('private')}|{people}{_NEAR}{facts}|{facts}{_NEAR}{people})"
        self.patterns: Final = {
            "override": _pattern(
                f"{ignore}{_NEAR}(?:{earlier}{_NEAR}{rules}|{rules}{_NEAR}{earlier})",
                f"{earlier}{_NEAR}{rules}{_NEAR}{ignore}",
            ),
            "role": _pattern(find("role")),
            "address": _pattern(
                rf"{_CLAUSE_START}{anyone}\s{{0,8}}[,:\uff0c\uff1a\u3001]",
                f"{find('greetings')}[ ,:]{{1,3}}(?:{determiner})?{anyone}",
                find("notices"),
                f"{find('if_you_are')}{_SPACE}{assistants}",
                f"{determiner}{assistants}{_SPACE}(?:{reading})?{find('must')}",
            ),
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


def as_read(entry: str) -> str:
    """Return an entry with its letters as they are in readable text."""
    return Readable(entry).text


def _pattern(*sources: str) -> re.Pattern[str]:
    return lazy_regex(either(*sources), re.MULTILINE)


@composed
def _all_rules() -> list[Rules]:
    return [Rules(language) for language in languages_with("firewall")]


def rules_for(text: str) -> Iterator[Rules]:
    """Yield the rules of the languages that a text may be in."""
    letters = set(text)
    for rules in _all_rules():
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


MARK: Final = "[removed]"
MAX_CHARS: Final = 20_000
"""Characters read of all strings together; unread text is removed."""
MAX_DEPTH: Final = 30
MAX_KEPT: Final = 120
"""Characters of the removed text that are reported."""

_SENTENCE: Final = lazy_regex(r"[^.!?;\n\u3002\uff01\uff1f]*(?:[.!?;\n\u3002\uff01\uff1f]+[\"')\]]*|$)")
_PARAGRAPH_END: Final = lazy_regex(r"\n\s*\n")
_LEAKY_IMAGE: Final = lazy_regex(r"!\[[^\]]{0,200}\]\([^)\s]{0,300}[?&][^)\s]{0,60}=[^)]{0,300}\)")


class Removal(NamedTuple):
    """Something that was removed."""

    rule: str
    text: str
    """Its beginning."""


@dataclass(slots=True)
class Cleaned:
    """A value without instructions that steer a model, and the removed ones."""

    value: Any
    found: list[Removal] = field(default_factory=list)


STEERING: Final = frozenset({"override", "role"})
"""Rules that say enough by themselves."""

type Span = tuple[int, int, str]
"""The position of a match, and its rule."""


def clean(
    value: Any,
    only: Collection[str] | None = None,
    *,
    addressed: bool = False,
    describes: bool = False,
    others: Collection[str] = (),
) -> Cleaned:
    """Return a JSON value with its strings and keys cleaned; `only` limits that to these strings.

    An order counts in a text that speaks to a model, or is kept for one (`addressed`), as memories are. In
    what describes a tool (`describes`), opening a door may be what the tool does. `others` are names of
    tools that are not the agents' own.
    """
    cleaner = _Cleaner(only, partial(_spans, addressed=addressed, describes=describes, others=others))
    return Cleaned(cleaner.value(value), cleaner.found)


class _Cleaner:
    """One pass over one value."""

    def __init__(self, only: Collection[str] | None, spans: Callable[[str], list[Span]]) -> None:
        self.found: list[Removal] = []
        self._spans = spans
        self._only = None if only is None else frozenset(only)
        self._left = MAX_CHARS

    def value(self, value: Any, depth: int = MAX_DEPTH) -> Any:
        """Return a value with its strings cleaned one by one."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            if not depth or self._left <= 0:
                return MARK
            return {
                self._text(key) if isinstance(key, str) else key: self.value(item, depth - 1)
                for key, item in self._within(value.items())
            }
        if isinstance(value, list | tuple):
            return [self.value(item, depth - 1) for item in self._within(value)] if depth else MARK
        return value

    def _within[T](self, items: Iterable[T]) -> Iterator[T]:
        for item in items:
            if self._left <= 0:
                return
            self._left -= 1
            yield item

    def _text(self, text: str) -> str:
        if self._only is not None and text not in self._only:
            return text
        whole = text[: max(0, self._left)]
        self._left -= len(text)
        pieces, at = [], 0
        for start, end, rule in _merged(self._spans(whole)):
            self.found.append(Removal(rule, " ".join(whole[start:end].split())[:MAX_KEPT]))
            pieces += [whole[at:start], MARK, " " if whole[end - 1 : end].isspace() else ""]
            at = end
        return "".join((*pieces, whole[at:], "" if len(whole) == len(text) else " …"))


def _spans(text: str, *, addressed: bool, describes: bool, others: Collection[str]) -> list[Span]:
    found = [(*match.span(), "image") for match in _LEAKY_IMAGE.finditer(text)]
    readable = Readable(text)
    tokens = list(TOKENS.finditer(readable.text))
    roles = list(ROLES.finditer(readable.text))
    if tokens or roles[1:]:
        marks = sorted(match.span() for match in (*tokens, *roles))
        last = marks[-1][1]
        end = readable.text.find("\n", last)
        stop = _PARAGRAPH_END.search(readable.text, last) if len(marks) == 1 else None
        end = stop.start() if stop else len(readable.text) if end < 0 else end
        found.append((*readable.written(marks[0][0], max(end, last)), "template"))
    calls = (*CALLS.finditer(readable.text), *named_calls(readable.text, others))
    found += [(*readable.written(*match.span()), "call") for match in calls]
    addressed = addressed or bool(roles)
    return found + _sentence_spans(readable, steers=bool(found), addressed=addressed, describes=describes)


def _sentence_spans(readable: Readable, *, steers: bool, addressed: bool, describes: bool) -> list[Span]:
    """Return the sentences that give orders to a model.

    What overrides its rules or gives it a role does so by itself. An ordinary order ("open the garage"), or
    words to a model alone, may stand in any note: together they are an order to a model. `steers` tells that
    something else in the text is one already, `addressed` that it speaks to a model.
    """
    text = readable.text
    rules = list(rules_for(text))
    hits = [(*match.span(), name) for one in rules for name, match in one.find(text)]
    kinds = {name for _, _, name in hits}
    addressed = addressed or "address" in kinds
    steers = steers or not kinds.isdisjoint(STEERING) or (addressed and kinds != {"address"})
    if not hits or not (steers or describes):
        return []
    found: list[Span] = []
    for start, end in (match.span() for match in _SENTENCE.finditer(text) if match.end() > match.start()):
        rule = next((name for at, to, name in hits if at < end and to > start), None)
        if rule is None:
            continue
        # A tool may say that it opens the door "when the user asks"; that is no order.
        is_order = rule not in ("action", "address") or any(one.push.search(text[start:end]) for one in rules)
        if steers or (is_order and rule != "address"):
            found.append((*readable.written(start, end), rule))
    return found


def _merged(found: Iterable[Span]) -> list[Span]:
    """Return parts in order; those that touch are one."""
    parts: list[Span] = []
    for start, end, rule in sorted(found):
        if parts and start <= parts[-1][1]:
            first, to, name = parts[-1]
            parts[-1] = (first, max(end, to), name)
        else:
            parts.append((start, end, rule))
    return parts
