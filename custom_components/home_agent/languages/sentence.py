"""One reading of a person's sentence: what it is, and what it excepts.

It is made once per turn. Rules that refuse a call rest on it, so its flags say what is certain, and nothing
in it needs punctuation or capitals: speech recognition writes neither.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from enum import Enum, auto
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from ..regex import lazy_regex
from ..texts import plain
from . import find, languages_with, table, words
from .lexicon import Clause, Lexicon, Match, Word, clauses

MAX_CHARS: Final = 400
"""Of a longer text nothing is certain, and its beginning and end say what it is."""
MAX_WORDS: Final = 30
"""A longer sentence is more than one question."""
MAX_ADDRESS: Final = 3
"""A sentence with at most this many words before a question addresses somebody."""
MAX_WISH: Final = 9
"""Words of a wish without a verb, such as "a bit brighter"."""
MAX_SUBJECT: Final = 4
"""Words between those that ask about the past and the verb of the question."""
CLOCK: Final = "clocktime"
"""Stands for 18:30, whose colon would be lost."""

QUESTIONS: Final = (
    *("openers", "past", "asking", "whether", "particles", "copulas", "requests", "commands", "joins"),
    *("switching", "reasons", "negations", "late_negations", "unrelated", "not_forbidden", "staying"),
    *("stating", "orders", "asks", "tells", "greetings", "states", "when", "lead"),
)
TIMES: Final = ("soon", "at", "when", "if", "only", "statements")
TABLES: Final[Mapping[str, Sequence[str]]] = {
    **{name: (f"questions.{name}",) for name in QUESTIONS},
    **{f"time_{name}": (f"times.{name}",) for name in TIMES},
    "polite": ("answers.fillers",),
    "fillers": (
        *("answers.fillers", "answers.yes"),
        *("questions.fillers", "questions.greetings", "questions.lead"),
    ),
    "excepting": ("quantities.excepting",),
    "self": ("memory.self",),
}
_QUOTED: Final = lazy_regex(r"[\"“„«»][^\"“”„«»]{1,80}[\"”“«»]")
_CLOCKS: Final = lazy_regex(r"\b\d{1,2}(?::|h(?=\d))\d{2}\b")


class Mood(Enum):
    """What a sentence is as a whole: the first of these that one of its clauses is."""

    STORY = auto()
    """It wants words: a joke, a summary of this and that."""
    ORDER = auto()
    REMARK = auto()
    """Neither plainly an order nor a question; it may be either."""
    QUESTION = auto()
    """A question, or a greeting."""


class Sentence(NamedTuple):
    """What a sentence says for certain."""

    kind: Mood = Mood.REMARK
    only_asks: bool = False
    """Whether it is a question and no word of it could be an order."""
    only_forbids: bool = False
    """Whether it says what is not to be done, and nothing else."""
    is_plain: bool = False
    """Whether it is one order, and nothing in it needs an answer."""
    is_joined: bool = False
    """Whether it names several things or values: "the light and the fan"."""
    without_exceptions: str = ""
    """It without what it excepts: "all lights but the hallway" does not mean the hallway."""


@lru_cache(maxsize=64)
def read(text: str, language: str) -> Sentence:
    """Return the reading of a sentence; in a language without tables nothing is known of it."""
    own = find(language)
    if own not in languages_with("questions.commands"):
        return Sentence(without_exceptions=text)
    assert own is not None
    if table(own, "questions.inside_words"):
        return _read_unspaced(text, own)
    is_long = len(text) > MAX_CHARS
    shown = f"{text[:MAX_CHARS]}\n{text[-MAX_CHARS:]}" if len(text) > 2 * MAX_CHARS else text
    lexicon = _lexicon(own)
    parts = [_Clause(clause, lexicon.all_matches(clause.words), own) for clause in clauses(_prepared(shown))]
    kind = next((kind for kind in Mood if any(part.kind is kind for part in parts)), Mood.REMARK)
    if is_long:
        return Sentence(kind=kind, without_exceptions=text)
    forms = [part.form for part in parts]
    only_asks = _Form.QUESTION in forms and _Form.ORDER not in forms
    if only_asks:  # what is neither may address somebody before the question
        first = forms.index(_Form.QUESTION)
        only_asks = sum(len(part.said) for part in parts) <= MAX_WORDS and not any(
            (part.form is _Form.OTHER and (index > first or len(part.said) > MAX_ADDRESS))
            or (part.form is _Form.QUESTION and part.asks_late)
            for index, part in enumerate(parts)
        )
    content = [part for part in parts if not part.is_filler]
    negated = [verdict for part in content for verdict in part.negated()]
    one = content[0] if len(content) == 1 and kind in (Mood.ORDER, Mood.REMARK) else None
    is_plain = one is not None and one.is_one_thing and (kind is Mood.ORDER or one.is_wish)
    is_joined = is_plain and one is not None and one.is_joined
    is_cut = any(part.excepted for part in parts)
    return Sentence(
        kind=kind,
        only_asks=only_asks,
        only_forbids=True in negated and False not in negated,
        is_plain=is_plain and own in languages_with("questions.orders"),
        is_joined=is_joined,
        without_exceptions=" ".join(part.without_exceptions for part in parts) if is_cut else text,
    )


@cache
def _lexicon(language: str) -> Lexicon:
    tables: dict[str, Sequence[str]] = {
        name: [entry for source in sources for entry in words(language, source)]
        for name, sources in TABLES.items()
    }
    return Lexicon(tables)


def _prepared(text: str) -> str:
    """Return a text without what is quoted, with clocks as words."""
    return _CLOCKS.sub(CLOCK, _QUOTED.sub(" ", text))


class _Form(Enum):
    """What the words and the order of a clause make it."""

    QUESTION = auto()
    ORDER = auto()
    """Or a request, of which not all are orders."""
    LEAD = auto()
    """A greeting, a name, a thank you."""
    OTHER = auto()


def _covered(matches: Mapping[int, Match]) -> set[int]:
    return {at for index, match in matches.items() for at in range(index, index + match.words)}


def _ends(matches: Mapping[int, Match]) -> set[int]:
    return {index + match.words for index, match in matches.items()}


class _Clause:
    """The words up to a full stop, which speech recognition leaves out: then it is the whole sentence."""

    def __init__(
        self,
        clause: Clause,
        matches: Mapping[str, Mapping[int, Match]],
        language: str,
    ) -> None:
        self.said: Sequence[Word] = clause.words
        self.is_asked = clause.is_asked
        self._language = language
        self._at = dict(matches)
        for name in ("past", "asking", "reasons"):  # without beginnings of longer phrases that request
            self._at[name] = {
                index: match
                for index, match in self._at[name].items()
                if match >= self._at["requests"].get(index, Match())
            }

    # --- what it is

    @cached_property
    def _starts(self) -> set[int]:
        """Where a part begins: an order has its verb there, a question its auxiliary."""
        starts = {0} | {index for index, word in enumerate(self.said) if word.starts}
        starts |= _ends(self._at["joins"]) | _ends(self._at["time_only"])
        lead = self._at["lead"]
        for index in range(len(self.said)):
            if index in starts and index in lead:
                starts |= set(range(index + 1, index + lead[index].words + 1))
        return starts

    @cached_property
    def _orders(self) -> set[int]:
        """Where orders have their verbs.

        "Open" is a verb in "and open the door" and a state in "is the door open".
        """
        others = [
            (range(first, first + match.words), match)
            for name in ("states", "copulas")
            for first, match in self._at[name].items()
        ]
        wishes = _ends(self._at["requests"])
        orders = set()
        for index, match in self._at["commands"].items():
            other = max((each for places, each in others if index in places), default=Match())
            # "And open the door", "could you lock it"
            begins = index in self._starts | wishes and (index == 0 or index < len(self.said) - 1)
            if match > other or (match == other and begins):
                orders.add(index)
        return orders

    @cached_property
    def form(self) -> _Form:
        """What the clause is by its form. In doubt it is no question."""
        at, starts, end = self._at, self._starts, len(self.said)
        if min(starts - at["lead"].keys(), default=end) >= end:
            return _Form.LEAD
        asks = {index for name in ("openers", "past", "asking") for index in at[name]}
        switched = (_ends(at["switching"]) & (starts | at["joins"].keys())) - {0, 1, end}
        if any(min(asks | at["copulas"].keys(), default=0) > index for index in switched):
            return _Form.ORDER  # "lights off, and is a window open"
        about = bool(at["states"])
        has_when = bool(starts & at["when"].keys()) and (self.is_asked or bool(at["copulas"]))
        is_past = bool(starts & at["past"].keys()) or (has_when and not self._orders)
        asks_why = bool(starts & at["reasons"].keys()) and not any(
            index > min(starts & at["reasons"].keys()) for index in at["negations"]
        )
        if is_past or (asks_why and (about or self._orders)):
            # An order beside it begins a part, or follows a question that is complete: "why is it on again
            # turn it off". A verb behind the words that ask is the question's: "did you turn on the light".
            asked = {**at["past"], **at["reasons"]}
            begun = max((place for place in _ends(asked) if place <= min(asked) + MAX_SUBJECT), default=0)
            told = [index for name in ("states", "switching") for index in at[name] if index >= begun]
            complete = min((*told, begun + MAX_SUBJECT))
            asks_to = self._orders and at["requests"].keys() - _ends(asked) - _covered(asked)
            is_beside = asks_to or any(index in starts or index > complete for index in self._orders)
            return _Form.ORDER if is_beside else _Form.QUESTION
        if self._orders:
            return _Form.ORDER
        if at["asking"] and max(at["whether"], default=-1) > min(at["asking"]):
            return _Form.QUESTION
        openers = at["openers"].keys() - at["stating"].keys()  # "hay migas" and "è buio" may only tell
        has_form = bool(starts & openers or at["particles"]) and end > 1
        wishes: AbstractSet[int] = at["requests"].keys()
        if has_form and about and at["copulas"]:
            wishes -= _covered(at["polite"])
        if wishes:
            return _Form.ORDER
        has_verb = bool(at["copulas"] or at["openers"])
        is_switching = not has_verb and any(end == place for place in _ends(at["switching"]))
        has_mark = self.is_asked and (about or bool(at["copulas"])) and not is_switching
        return _Form.QUESTION if has_form or has_mark else _Form.OTHER

    @property
    def asks_late(self) -> bool:
        """Whether its question follows a statement: "it's an early one so have the coffee ready"."""
        asks = {index for name in ("openers", "past", "reasons", "when") for index in self._at[name]}
        return not self.is_asked and min(self._starts & asks, default=0) > MAX_ADDRESS

    @cached_property
    def kind(self) -> Mood:
        """What the clause is, to whoever answers it."""
        at, end = self._at, len(self.said)
        first = {name: at[name].get(self._first, Match()) for name in ("tells", "asks", "orders")}
        own = _ends(at["self"])  # "I lie down" orders nothing, and "leave it like that" neither
        wanted = {index for name in ("commands", "orders") for index in at[name] if index not in own}
        if wanted and wanted <= at["staying"].keys():
            return Mood.REMARK
        if first["tells"].words and first["tells"] >= first["orders"]:
            return Mood.STORY
        if at["tells"] and not self._orders and not first["orders"].words:
            return Mood.STORY
        # "When I come home, turn on the light" asks nothing
        is_condition = self._orders and not self.is_asked and self._first in at["time_when"]
        asks = first["asks"] > first["orders"] and not is_condition
        if self.form in (_Form.QUESTION, _Form.LEAD) or asks:
            return Mood.QUESTION
        ends = {end, *at["time_soon"], *at["time_at"]}  # "lights off at ten pm"
        is_switched = not at["copulas"] and not ends.isdisjoint(_ends(at["states"]) | _ends(at["switching"]))
        if first["orders"].words or (self.form is _Form.ORDER and (wanted or is_switched)):
            return Mood.ORDER
        if self.is_asked and self.form is not _Form.ORDER:
            return Mood.QUESTION
        if is_switched:
            return Mood.ORDER
        return Mood.QUESTION if self._first in at["greetings"] and not self._orders else Mood.REMARK

    @cached_property
    def _first(self) -> int:
        return self._skip_fillers(0) if self._skip_fillers(0) < len(self.said) else 0

    def _skip_fillers(self, start: int) -> int:
        fillers = self._at["fillers"]
        while start in fillers and start not in self._at["greetings"]:
            start += fillers[start].words
        return start

    @property
    def is_filler(self) -> bool:
        """Whether the clause only greets, thanks or addresses somebody."""
        at, fillers = 0, self._at["fillers"]
        while at in fillers:
            at += fillers[at].words
        return at == len(self.said) or self.form is _Form.LEAD

    # --- whether it is one order

    @cached_property
    def _parted(self) -> set[int]:
        """Where a part begins behind a comma or a word such as and, but for words that are only polite."""
        polite = _covered(self._at["polite"])
        behind = {index + match.words: index for index, match in self._at["joins"].items() if index}
        starts = behind.keys() | {index for index, word in enumerate(self.said) if word.starts}
        return {
            index
            for index in starts
            if behind.get(index) not in polite and not polite.issuperset(range(index, len(self.said)))
        }

    @property
    def is_one_thing(self) -> bool:
        """Whether no part of the clause asks or orders something else."""
        at, starts = self._at, self._parted
        if at["asking"] or any(
            index in at[name]
            for index in starts
            for name in ("openers", "past", "asks", "tells", "commands", "orders")
        ):
            return False
        if any(later - verb > 1 for verb, later in pairwise(sorted(self._orders))):
            return False
        return len({self.said[index].plain for index in at["switching"]}) <= 1

    @property
    def is_joined(self) -> bool:
        """Whether the clause names several things or values."""
        return bool(self._parted)

    @property
    def is_wish(self) -> bool:
        """Whether a clause without a verb is short and of this language."""
        if not 1 < len(self.said) <= MAX_WISH or any(word.starts for word in self.said) or self._at["joins"]:
            return False
        own = _own_words(self._language)
        return sum(word.plain in own for word in self.said) * 2 >= len(self.said)

    # --- what it forbids and excepts

    def negated(self) -> Iterator[bool]:
        """Yield for each part whether it only forbids; nothing for one that says nothing about doing."""
        at = self._at
        inside = _covered(at["not_forbidden"]) | at["polite"].keys()
        cuts = {index: match for index, match in at["joins"].items() if index not in inside}
        for part in _ranges(self.said, cuts):
            verbs = [index for index in at["commands"] if index in part and index not in at["not_forbidden"]]
            others = [index for index in at["not_forbidden"] if index in part]
            if not verbs:
                told = any(index in part for name in ("copulas", "time_statements") for index in at[name])
                if not told and any(index not in _covered(at["fillers"]) for index in part):
                    yield False
                continue
            is_doubtful = any(index in part for index in (*at["excepting"], *at["time_only"], *others))
            if self.is_asked or is_doubtful or any(after - verb > 1 for verb, after in pairwise(verbs)):
                yield False
                continue
            start, verb = part.start, verbs[0]
            while start in at["lead"] or start in at["polite"]:
                start += max(at["lead"].get(start, Match()), at["polite"].get(start, Match())).words
            if verb <= start:
                yield any(index in part for index in at["late_negations"])
            else:  # "I can't see, turn on the light" has other words between the two
                polite = _covered(at["polite"]) | _covered(at["fillers"])
                is_last = polite.issuperset(range(verb + at["commands"][verb].words, part.stop))
                yield verb in _ends(at["negations"]) or (is_last and start in at["negations"])

    @cached_property
    def excepted(self) -> list[range]:
        """Where it says what it excepts."""
        at, regions = self._at, list[range]()
        for index, match in sorted(at["excepting"].items()):
            start = index + match.words
            conditions = {**at["time_when"], **at["time_if"]}
            is_condition = match <= conditions.get(index, Match()) or start in conditions
            if is_condition or (regions and index < regions[-1].stop):
                continue
            ends = (
                at_
                for at_ in range(start + 1, len(self.said))
                if self.said[at_].starts or at_ in self._orders
            )
            regions.append(range(start, next(ends, len(self.said))))
        return regions

    @property
    def without_exceptions(self) -> str:
        """The clause without what it excepts."""
        cut = {index for region in self.excepted for index in region}
        cut |= _covered({at: match for at, match in self._at["excepting"].items() if at + match.words in cut})
        return " ".join(word.plain for index, word in enumerate(self.said) if index not in cut)


def _ranges(said: Sequence[Word], cuts: Mapping[int, Match]) -> Iterator[range]:
    start = index = 0
    while index < len(said):
        if index in cuts or (said[index].starts and index > start):
            if index > start:
                yield range(start, index)
            start = index + (cuts[index].words if index in cuts else 0)
        index = max(index + 1, start)
    if start < len(said):
        yield range(start, len(said))


@cache
def _own_words(language: str) -> frozenset[str]:
    tables: Iterable[Iterable[str]] = (
        entries
        for name in ("questions", "answers", "quantities", "memory")
        for entries in (table(language, name) or {}).values()
        if isinstance(entries, list)
    )
    entries = [entry for each in tables for entry in each]
    return frozenset(
        word.strip("*")
        for entry in (*entries, *words(language, "names.articles"))
        for word in entry.casefold().split()
    )


# --- languages that do not, or not always, separate words


def _read_unspaced(text: str, language: str) -> Sentence:
    kinds = set[Mood]()
    for clause in clauses(text[:MAX_CHARS]):
        rest, asks = _take_out(clause.joined, language, "asking")
        asks = asks and _take_out(clause.joined, language, "whether")[1]
        wishes = not asks and _take_out(rest, language, "requests")[1]
        without_states, is_about = _take_out(rest, language, "states")
        orders = any(_take_out(without_states, language, name)[1] for name in ("commands", "orders"))
        if _take_out(clause.joined, language, "tells")[1]:
            kinds.add(Mood.STORY)
        elif orders or (wishes and is_about):
            kinds.add(Mood.ORDER)
        elif not wishes and (
            asks or _take_out(clause.joined, language, "particles")[1] or (is_about and clause.is_asked)
        ):
            kinds.add(Mood.QUESTION)
    return Sentence(
        kind=next((kind for kind in Mood if kind in kinds), Mood.REMARK),
        only_asks=kinds == {Mood.QUESTION} and len(text) <= MAX_CHARS,
        without_exceptions=text,
    )


def _take_out(text: str, language: str, name: str) -> tuple[str, bool]:
    """Return a text without the entries of a table, and whether there were any."""
    rest = text
    for entry in _entries(language, name):
        rest = rest.replace(entry, "\0")
    return rest, rest != text


@cache
def _entries(language: str, name: str) -> tuple[str, ...]:
    """Return the entries of a table as they appear inside a text, the longest first."""
    entries = {plain(entry).replace(" ", "") for entry in words(language, f"questions.{name}")}
    return tuple(sorted(entries, key=len, reverse=True))
