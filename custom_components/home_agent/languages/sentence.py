"""One reading of a person's sentence: what it is, what its order waits for, what it excepts.

It is made once per turn. Rules that refuse a call rest on it, so its flags say what is certain, and nothing
in it needs punctuation or capitals: speech recognition writes neither.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Final

from ..regex import lazy_regex
from ..texts import plain
from . import find, languages_with, table, words, words_to_99
from .lexicon import Clause, Lexicon, Match, Word, clauses

MAX_CHARS: Final = 400
"""Of a longer text nothing is certain, and its beginning and end say what it is."""
MAX_WORDS: Final = 30
"""A longer sentence is more than one question."""
MAX_ADDRESS: Final = 3
"""A sentence with at most this many words before a question addresses somebody."""
MAX_WISH: Final = 9
"""Words of a wish without a verb, such as "a bit brighter"."""
MAX_AMOUNT: Final = 6
"""Words of a length of time before its unit."""
MAX_SUBJECT: Final = 4
"""Words between those that ask about the past and the verb of the question."""
LAST_HOUR: Final = 12
"""The largest number that is an hour without a word that says so."""
CLOCK: Final = "clocktime"
"""Stands for 18:30, whose colon would be lost."""
MEASURE: Final = "measure"
"""Stands for a percent or degree sign."""

QUESTIONS: Final = (
    *("openers", "past", "asking", "whether", "particles", "copulas", "requests", "commands", "joins"),
    *("switching", "reasons", "negations", "late_negations", "unrelated", "not_forbidden", "staying"),
    *("stating", "orders", "asks", "tells", "greetings", "states", "when", "lead"),
)
TIMES: Final = (
    *("soon", "during", "lengths", "amounts", "at", "sure_at", "clock", "later", "repeated", "when", "if"),
    *("only", "polite", "statements"),
)
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
UNITS: Final = ("second", "minute", "hour", "day", "week")
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SHORT: Final = 3
"""Letters of a day's short form, which may be another word: "immer so" is no Sunday."""
_QUOTED: Final = lazy_regex(r"[\"“„«»][^\"“”„«»]{1,80}[\"”“«»]")
_MEASURES: Final = lazy_regex("[%°]")
_CLOCKS: Final = lazy_regex(r"\b\d{1,2}(?::|h(?=\d))\d{2}\b")
_JOINED: Final = lazy_regex(r"(\d)(?=[^\W\d_])")


class Mood(Enum):
    """What a sentence is as a whole: the first of these that one of its clauses is."""

    STORY = auto()
    """It wants words: a joke, a summary of this and that."""
    ORDER = auto()
    REMARK = auto()
    """Neither plainly an order nor a question; it may be either."""
    QUESTION = auto()
    """A question, or a greeting."""


class Wait(StrEnum):
    """What an order waits for."""

    TIME = "time"
    LENGTH = "length"
    """It begins at once and ends after a while."""
    REPEATED = "repeated"
    CONDITION = "condition"


@dataclass(frozen=True, slots=True)
class Sentence:
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
    waits: frozenset[Wait] = frozenset()
    """What its only order waits for."""
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
        waits=one.waits if one is not None and is_plain and not is_joined else frozenset(),
        without_exceptions=" ".join(part.without_exceptions for part in parts) if is_cut else text,
    )


@lru_cache(maxsize=64)
def times_in(text: str, language: str) -> tuple[Wait, ...]:
    """Return the times and conditions that stand anywhere in a text, of which it may only tell."""
    own = find(language)
    if own is None or own not in languages_with("times") or len(text) > MAX_CHARS:
        return ()
    lexicon = _lexicon(own)
    parts = (
        _Clause(clause, lexicon.all_matches(clause.words), own, beside_any_verb=True)
        for clause in clauses(_prepared(text))
    )
    return tuple(mark for part in parts for mark in part.marks.values())


@cache
def _lexicon(language: str) -> Lexicon:
    tables: dict[str, Sequence[str]] = {
        name: [entry for source in sources for entry in words(language, source)]
        for name, sources in TABLES.items()
    }
    english: Mapping[str, Sequence[str]] = table(language, "times.english") or {}

    def named(*names: str) -> list[str]:
        return [word for name in names for word in english.get(name, ())]

    days = [day for day in named(*DAYS) if len(day) > SHORT]
    marks = [*days, *named("sunset", "sunrise", "noon", "midnight", "tomorrow")]
    befores = named("at", "before", "after", "until")
    later = [f"{before} {mark}" for before in befores for mark in marks]
    repeated = [
        f"{every} {span}" for every in named("every") for span in (*days, *named("hour", "day", "week"))
    ]
    tables["time_later"] = [*tables["time_later"], *named("tomorrow"), *later]
    tables["time_repeated"] = [
        *tables["time_repeated"],
        *named("daily", "weekdays", "weekly"),
        *repeated,
    ]
    tables["units"] = named(*UNITS)
    tables["measures"] = [MEASURE, *words(language, "memory.units")]
    things: Mapping[str, Sequence[str]] = table(language, "concepts.things") or {}
    tables["things"] = [name for names in things.values() for name in names if " " in name]
    tables["numbers"] = [*_numbers(language)]
    return Lexicon(tables)


@cache
def _numbers(language: str) -> Mapping[str, int]:
    rows = [*(table(language, "numbers.digits") or ()), *((entry,) for entry in words_to_99(language))]
    return {
        " ".join(word.plain for clause in clauses(entry) for word in clause.words): number
        for number, entries in enumerate(rows)
        for entry in entries
    }


def _prepared(text: str) -> str:
    """Return a text without what is quoted, with clocks and measures as words."""
    text = _MEASURES.sub(f" {MEASURE} ", _QUOTED.sub(" ", text))
    return _JOINED.sub(r"\1 ", _CLOCKS.sub(CLOCK, text))


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
        *,
        beside_any_verb: bool = False,
    ) -> None:
        self._beside_any_verb = beside_any_verb
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
        ends = {end, *(region.start for region in self.marks)}  # "lights off at ten pm"
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
        told = {region.stop for region in self.marks}  # "in ten minutes, turn off the light"
        return {
            index
            for index in starts - told
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
            doubts = (*at["excepting"], *at["time_only"], *others)
            later = [region.start for region, wait in self.marks.items() if wait is Wait.TIME]
            is_doubtful = any(index in part for index in (*doubts, *later))  # "not now, at eight"
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

    # --- what it waits for

    @property
    def waits(self) -> frozenset[Wait]:
        """What its order waits for; nothing if it may tell of a time that is not the order's."""
        at = self._at
        marked = {index for region in self.marks for index in region}
        if any(index not in marked for name in ("time_statements", "copulas") for index in at[name]):
            return frozenset()
        # "The fan has been on for two hours, turn it off": that length is of something else.
        verb = min((*self._orders, *at["orders"], *at["requests"], *at["switching"]), default=0)
        return frozenset(
            wait for region, wait in self.marks.items() if region.start == self._first or region.start > verb
        )

    @cached_property
    def marks(self) -> Mapping[range, Wait]:
        """The words that say when, and what they say."""
        at, marks = self._at, dict[range, Wait]()
        polite = _covered(at["time_polite"]) | _covered(at["things"])  # "luz de noche" is a lamp
        index = 0
        while index < len(self.said):
            mark = None if index in polite else self._mark_at(index)
            if mark is not None:
                marks[range(index, mark[0])] = mark[1]
            index = mark[0] if mark is not None else index + 1
        return marks

    def _mark_at(self, index: int) -> tuple[int, Wait] | None:
        """Return where the words end that say when from a word on, and what they say."""
        at = self._at
        for name, wait in (("time_soon", Wait.TIME), ("time_during", Wait.LENGTH)):
            if (match := at[name].get(index)) and (end := self._length(index + match.words)):
                return end, wait
        if end := self._clock(index):
            return end, Wait.TIME
        tables = [("time_repeated", Wait.REPEATED), ("time_later", Wait.TIME), ("time_when", Wait.CONDITION)]
        if self._beside_any_verb:
            tables.append(("time_if", Wait.CONDITION))
        best, wait = max(
            ((at[name].get(index, Match()), wait) for name, wait in tables), key=lambda one: one[0]
        )
        if not best.words:
            return None
        if wait is Wait.CONDITION:  # it begins the clause, or follows the order
            is_behind = any(verb < index for verb in self._orders - at["staying"].keys())
            if self._beside_any_verb:
                is_sure = not is_behind  # "tell Tom that, and turn off the light when I leave"
            else:  # "if" and the German "wenn" may be looked up now
                is_sure = (is_behind or index == self._first) and best > at["time_if"].get(index, Match())
            if not is_sure:
                return None
            places = range(index + best.words, len(self.said))
            ends = (place for place in places if self.said[place].starts or place in self._orders)
            return next(ends, len(self.said)), wait
        return index + best.words, wait

    def _length(self, index: int) -> int | None:
        """Return where a length of time ends that begins at a word; "a while" has none."""
        at, end, place, amounts = self._at, None, index, 0
        while place < len(self.said) and amounts < MAX_AMOUNT:
            if amounts and (match := at["units"].get(place)):
                place = end = place + match.words
                amounts = 0
                continue
            if match := at["time_lengths"].get(place):
                end = place + match.words
            step = max(at[name].get(place, Match()) for name in ("time_amounts", "numbers")).words
            step = step or int(self.said[place].plain.isdecimal())
            if not step:
                break
            place, amounts = place + step, amounts + 1
        return end

    def _clock(self, index: int) -> int | None:
        at, said = self._at, self.said
        before = max(at["time_at"].get(index, Match()), at["time_sure_at"].get(index, Match()))
        place = index + before.words
        if place >= len(said):
            return None
        if said[place].plain == CLOCK:
            return place + 1 + at["time_clock"].get(place + 1, Match()).words
        step = at["numbers"].get(place, Match()).words or int(said[place].plain.isdecimal())
        if not step:
            return None
        end = place + step
        if (match := at["time_clock"].get(end)) and (before.words or end not in at["units"]):
            return end + match.words
        spoken = " ".join(word.plain for word in said[place:end])
        number = int(spoken) if spoken.isdecimal() else _numbers(self._language).get(spoken, LAST_HOUR + 1)
        if number > LAST_HOUR or end in at["measures"] or end in at["units"]:
            return None
        is_sure = index in at["time_sure_at"] or (
            before.words and bool(self._beside_any_verb or at["switching"])
        )
        return end if is_sure else None


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
