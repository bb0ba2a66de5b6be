"""Read an answer to a question of ours: yes, no, a PIN, or something else. No model is involved."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from math import ceil
from typing import Final, NamedTuple

from ..languages import DEFAULT, find, languages, table, words
from ..languages.lexicon import Lexicon, clauses
from ..regex import lazy_regex
from ..texts import is_word
from .spoken_numbers import MAX_DIGITS, MIN_DIGITS, fold_word, read_numbers

MAX_WORDS: Final = 12
MAX_SPOKEN: Final = 1000
"""Longer sentences are not answers; after these characters only digits are masked."""
MAX_BESIDE: Final = 2
"""A number with at most this many other words counts as a PIN or as a part of one."""
MAX_AROUND: Final = 4
"""With as many words around it, a number may still be a PIN if it is long enough."""
PART_OF_PIN: Final = 2
"""So many digits may be the half of a PIN; one digit among other words is more often an article."""
MAX_BEHIND_YES: Final = 3
"""A yes with at most this many other words behind it is too little for a new sentence."""
HARMLESS: Final = (
    *("light", "fan", "climate", "media_player"),
    *("vacuum", "lawn_mower", "humidifier", "water_heater"),
)
"""Domains of things that are named in another order behind a yes."""
GUARDED: Final = (
    *("lock", "valve", "cover", "cover.door", "cover.garage", "cover.gate"),
    *("binary_sensor.door", "binary_sensor.window", "alarm_control_panel", "siren"),
)
"""Classes of things that a question may be about, so that naming one behind a yes is in doubt."""
MOVING: Final = ("open", "unlock", "disarm", "close", "lock")
"""Actions that may be the contrary of what was asked."""
PLAIN_MARKS: Final = frozenset(" \t\r\n.,!'’ʼ-，、。！．·…\u200b\u200c\u200d")  # noqa: RUF001 - other scripts' own
"""Characters allowed between the words of a yes. Question marks, emojis or quotes may change its meaning."""
VALUE_MARKS: Final = frozenset("%°:")
"""Further characters of an order."""
UNFINISHED: Final = ("...", "…", "..")
"""The end of a sentence that was not finished."""

IT: Final = "{it}"
"""In a form of an order, the place of the target."""
_FIGURES = lazy_regex(r"\d(?:[\s.-]?\d){3,}")


class Answer(StrEnum):
    """The meaning of the answer."""

    YES = "yes"
    NO = "no"
    PIN = "pin"
    NUMBERS = "numbers"
    """A number that could be a PIN or a part of one, but cannot be read."""
    OTHER = "other"


class Read(NamedTuple):
    """An answer as it was understood."""

    answer: Answer
    pin: str = ""
    has_pin: bool = False
    """Whether the sentence may contain a PIN, so that no one else may read it."""
    rest: str = ""
    """Another order behind a yes, or behind what may be one."""
    is_unclear: bool = False
    """Whether it is too little for a new sentence, so that the question is worth asking once more."""

    @property
    def has_digits(self) -> bool:
        """Return whether it is taken for a PIN, clear or not."""
        return self.answer in (Answer.PIN, Answer.NUMBERS)


class Ordered(NamedTuple):
    """What was asked about, as a person may repeat it behind a yes."""

    verbs: frozenset[str] = frozenset()
    """The actions that mean all of it."""
    names: tuple[str, ...] = ()
    """Names of its only target; empty if there are several."""


def read_answer(sentence: str, language: str, ordered: Ordered | None = None) -> Read:
    """Return the answer in a sentence, in the speaker's language or, if that is unknown, in English.

    A yes is one phrase of the language's table and nothing else but politeness, or such a phrase and the
    action that was asked about (`ordered`). A sentence that says no anywhere is a no; one with any other
    word is something else.
    """
    if len(" ".join(sentence.split())) > MAX_SPOKEN:
        return Read(Answer.OTHER)
    text = fold_word(sentence)
    if not text or len(text.split()) > MAX_WORDS:
        return Read(Answer.OTHER)
    own = _language(language)
    known = _known(own)
    if says_yes(sentence, own, ordered):
        return Read(Answer.YES)
    numbers = read_numbers(sentence, own)
    length = len(numbers.digits) + (0 if numbers.is_readable else MIN_DIGITS)
    if (
        (length > 0 and not numbers.others)
        or (length >= PART_OF_PIN and numbers.others <= MAX_BESIDE)
        or (length >= MIN_DIGITS and numbers.others <= MAX_AROUND)
    ):
        # So much of a number that no one else should read it.
        if _said(text, known.no):
            return Read(Answer.NO, has_pin=True)
        is_whole = numbers.is_readable and MIN_DIGITS <= len(numbers.digits) <= MAX_DIGITS
        if is_whole and numbers.others <= MAX_BESIDE:
            return Read(Answer.PIN, numbers.digits, has_pin=True)
        return Read(Answer.NUMBERS, has_pin=True)
    if _without(text, known.phrases):
        return Read(Answer.OTHER)
    return Read(Answer.NO if _said(text, known.no) else Answer.OTHER)


def says_no(sentence: str, language: str, *, stops: bool) -> bool:
    """Return whether a sentence is a no; with `stops` only one that orders to stop: "stop", not "never"."""
    words_to_stop = words(_language(language), "answers.stop")
    is_meant = not stops or _said(fold_word(sentence), map(fold_word, words_to_stop))
    return is_meant and read_answer(sentence, language).answer is Answer.NO


def read_answer_and_rest(sentence: str, spoken: Sequence[str], ordered: Ordered | None) -> Read:
    """Return the answer to a question in a conversation, where a model hears what is no answer.

    Yes and no count in all the languages that are spoken, first the speaker's. A yes may be followed by an
    order about something else ("yes, and put the hallway light on"). Where that may be about the question
    itself ("yes, and lock it again"), it is no yes, but worth asking once more. So is a yes with a remark.
    """
    own = dict.fromkeys((_language(spoken[0]), *(_language(each) for each in spoken[1:] if find(each))))
    reads = [read_answer(sentence, language, ordered) for language in own]
    clear = [read for read in reads if read.answer is not Answer.OTHER]
    if {Answer.YES, Answer.NO} <= {read.answer for read in clear}:
        return Read(Answer.OTHER, is_unclear=True)
    if clear:
        return clear[0]
    for language in own:
        if ordered and (rest := _behind_yes(sentence, language, ordered)):
            is_apart = _is_apart(rest, language, ordered) and not any(
                _said(fold_word(rest), _known(each).no) for each in own
            )
            return Read(Answer.YES if is_apart else Answer.OTHER, rest=rest, is_unclear=not is_apart)
    is_unclear = any(_is_unclear(sentence, language, ordered) for language in own)
    return Read(Answer.OTHER, is_unclear=is_unclear or any(says_yes(sentence, each) for each in languages()))


def read_reply(sentence: str, language: str, ordered: Ordered | None = None) -> Read:
    """Return the answer to a question whose answers no model hears: "close it", "no, leave it open".

    Beside what `read_answer` accepts, the action that was asked about is a yes without the word, and a no may
    be followed by anything but a yes and that action.
    """
    read = read_answer(sentence, language, ordered)
    own = _language(language)
    known, text = _known(own), fold_word(sentence)
    if read.answer is not Answer.OTHER or not text or len(text.split()) > MAX_WORDS:
        return read
    orders = _orders(own, ordered) if ordered else frozenset()
    bare = _without(_bare(text, known.fillers), known.harmless)
    if _is_plain(sentence) and not orders.isdisjoint((text, bare)):
        return Read(Answer.YES)
    rest = next((text.removeprefix(no) for no in known.no if text.startswith(f"{no} ")), "")
    if rest and not _said(rest.strip(), (*known.yes, *known.go_ahead, *orders)):
        return Read(Answer.NO)
    return read


def mask_numbers(sentence: str, language: str, mask: str) -> str:
    """Return a sentence with everything masked that could be a PIN, written or spoken, together or apart."""
    spoken, rest = sentence[:MAX_SPOKEN], sentence[MAX_SPOKEN:]
    masked, position = "", 0
    for start, end in read_numbers(spoken, _language(language)).runs:
        masked += spoken[position:start] + mask
        position = end
    return masked + spoken[position:] + _FIGURES.sub(mask, rest)


def _language(language: str) -> str:
    """Return the language to listen for. English words mean the opposite in some, so it goes with few."""
    own = find(language)
    return own if own is not None and table(own, "answers") is not None else DEFAULT


class _Phrases(NamedTuple):
    """What is understood in a language, folded, the longest phrases first."""

    yes: frozenset[str]
    """With the requests to go ahead, alone or behind a plain yes."""
    plain_yes: frozenset[str]
    go_ahead: frozenset[str]
    no: tuple[str, ...]
    fillers: tuple[str, ...]
    """Polite words, which do not change the meaning of an answer."""
    harmless: tuple[str, ...]
    """Words that change nothing beside a request to go ahead."""
    agreeing: tuple[str, ...]
    """Those of them that change nothing behind a yes alone either, because they are not said with a no."""
    phrases: tuple[str, ...]
    unclear: tuple[str, ...]
    """Whole sentences that say neither."""


@cache
def _known(language: str) -> _Phrases:
    """Return the phrases of a language: the same in every turn."""
    plain, orders = _entries(language, "yes"), _entries(language, "go_ahead")
    both = [f"{first} {second}" for first in plain for second in orders]
    both += [f"{first}{second}" for first in plain for second in orders if not first.isascii()]
    harmless, turning = _entries(language, "fillers", "beside_order"), _entries(language, "no", "beside_no")
    return _Phrases(
        yes=frozenset((*plain, *orders, *both)),
        plain_yes=frozenset(plain),
        go_ahead=frozenset(orders),
        no=_entries(language, "no"),
        fillers=_entries(language, "fillers"),
        harmless=harmless,
        agreeing=tuple(phrase for phrase in harmless if phrase not in turning),
        phrases=_entries(language, "no", "yes", "go_ahead", "fillers", "beside_no"),
        unclear=_entries(language, "unclear"),
    )


def _entries(language: str, *names: str) -> tuple[str, ...]:
    return _folded(phrase for name in names for phrase in words(language, f"answers.{name}"))


class _Further(NamedTuple):
    """What tells another order behind a yes from words about the question."""

    joins: frozenset[str]
    lexicon: Lexicon
    """`orders` has its verbs, `too` what makes one without a verb ("and the hall light too").

    `doubts` are conditions and directions, `asks` are beginnings of questions.
    """
    harmless: tuple[str, ...]
    """Names of things, folded, as the ends of words: "Flurlicht"."""
    guarded: tuple[str, ...]


@cache
def _further(language: str) -> _Further:
    """Return how a language goes on behind a yes: the same in every turn."""

    def of(*names: str) -> list[str]:
        return [word for name in names for word in words(language, name)]

    domains: Mapping[str, Sequence[str]] = table(language, "names.domains") or {}
    classes: Mapping[str, str] = table(language, "concepts.classes") or {}
    orders: Mapping[str, Sequence[str]] = table(language, "answers.orders") or {}
    spoken = {entry.replace("{it}", "").strip() for name in MOVING for entry in orders.get(name, ())}
    ways = [*of("questions.staying"), *(verb for verb in spoken if " " not in verb)]
    return _Further(
        joins=frozenset(map(fold_word, of("answers.and"))),
        lexicon=Lexicon(
            {
                "orders": of("questions.commands"),
                "too": of("answers.too"),
                "doubts": [*of("answers.but", "answers.no"), *ways],
                "asks": of(*(f"questions.{name}" for name in ("openers", "past", "reasons", "whether"))),
            }
        ),
        harmless=_folded(word for name in HARMLESS for word in domains.get(name, ())),
        guarded=_folded(
            word for name in GUARDED for word in (*domains.get(name, ()), *classes.get(name, "").split())
        ),
    )


def _folded(phrases: Iterable[str]) -> tuple[str, ...]:
    """Return phrases folded, the longest first."""
    return tuple(sorted({fold_word(phrase) for phrase in phrases}, key=len, reverse=True))


def _is_plain(sentence: str, marks: frozenset[str] = PLAIN_MARKS) -> bool:
    text = sentence.strip()
    return not text.endswith(UNFINISHED) and all(char in marks or is_word(char) for char in text)


def _bare(text: str, fillers: Iterable[str]) -> str:
    """Return a text without the politeness at its ends."""
    found = True
    while found:
        found = False
        for filler in fillers:
            shorter = text.removeprefix(f"{filler} ").removesuffix(f" {filler}")
            found = found or shorter != text
            text = shorter
    return text


def says_yes(sentence: str, language: str, ordered: Ordered | None = None) -> bool:
    """Return whether a sentence is a yes, alone or followed by the action that was asked about.

    A doubled yes may be impatience or doubt ("ja, ja"): what follows has to say what to do.
    """
    known, text = _known(language), fold_word(sentence)
    bare = _bare(text, known.fillers)
    if not _is_plain(sentence):
        return False
    if not known.yes.isdisjoint((text, bare)):
        return True
    meant = known.go_ahead
    if ordered:
        meant |= _orders(language, ordered) | _targets(language, ordered)
    once = _after(bare, known.yes)
    twice = {rest for first in once for rest in _after(first, known.yes)}
    return "" in {_without(rest, known.agreeing) for rest in once} or not meant.isdisjoint(
        _without(rest, known.harmless) for rest in once | twice
    )


def _after(text: str, phrases: Iterable[str]) -> frozenset[str]:
    return frozenset(text.removeprefix(f"{each} ") for each in phrases if text.startswith(f"{each} "))


@lru_cache(maxsize=32)
def _orders(language: str, ordered: Ordered) -> frozenset[str]:
    """Return how a person may repeat what was asked about, folded."""
    targets = ["", *_entries(language, "it"), *_targets(language, ordered)]
    forms: Mapping[str, Iterable[str]] = table(language, "answers.orders") or {}
    return frozenset(
        " ".join(fold_word(form.replace(IT, f" {target} ")).split())
        for verb in ordered.verbs
        for form in forms.get(verb, ())
        for target in targets
    )


@lru_cache(maxsize=32)
def _targets(language: str, ordered: Ordered) -> frozenset[str]:
    names = [fold_word(name) for name in ordered.names]
    articles = _folded(words(language, "names.articles"))
    return frozenset((*names, *(f"{article} {name}" for article in articles for name in names)))


def _behind_yes(sentence: str, language: str, ordered: Ordered) -> str:
    pieces = sentence[:MAX_SPOKEN].split()
    for index, piece in enumerate(pieces[: MAX_WORDS + 1]):
        if fold_word(piece) in _further(language).joins and says_yes(
            " ".join(pieces[:index]), language, ordered
        ):
            return " ".join(pieces[index + 1 :])
    return ""


def _is_apart(rest: str, language: str, ordered: Ordered) -> bool:
    further, text = _further(language), fold_word(rest)
    found = further.lexicon.all_matches([word for clause in clauses(rest) for word in clause.words])
    pieces = text.split()
    return (
        len(pieces) <= MAX_WORDS
        and _is_plain(rest, PLAIN_MARKS | VALUE_MARKS)
        and bool(found["orders"] or found["too"])
        and not found["doubts"]
        and 0 not in found["asks"]
        and _names_harmless(text, language)
        and not any(piece.endswith(further.guarded) for piece in pieces)
        and not _said(text, map(fold_word, ordered.names))
    )


def _names_harmless(text: str, language: str) -> bool:
    """Return whether a folded text names a light, a player or the like, so that it is another order."""
    return any(piece.endswith(_further(language).harmless) for piece in text.split())


def _is_unclear(sentence: str, language: str, ordered: Ordered | None) -> bool:
    known, text = _known(language), fold_word(sentence)
    bare = _without(_bare(text, known.fillers), known.harmless)
    orders = _orders(language, ordered) if ordered else frozenset()
    is_word_only = ceil(len(text) / 2) <= 1 if table(language, "unspaced") else " " not in text
    spoken = [word for clause in clauses(sentence) for word in clause.words]
    return (
        (is_word_only and not _further(language).lexicon.matches("orders", spoken))
        or text in known.unclear
        or not _without(text, known.phrases)
        or not orders.isdisjoint((text, bare))
        or any(
            len(rest.split()) <= MAX_BEHIND_YES
            or (_after(_bare(rest, known.fillers), known.go_ahead) and not _names_harmless(rest, language))
            for rest in _after(text, known.plain_yes)
        )
    )


def _said(text: str, phrases: Iterable[str]) -> bool:
    padded = f" {text} "
    return any(f" {phrase} " in padded for phrase in phrases)


def _without(text: str, phrases: Iterable[str]) -> str:
    """Return the rest of a text after all known phrases are removed, the longest first."""
    padded = f" {text} "
    for phrase in phrases:
        while f" {phrase} " in padded:
            padded = padded.replace(f" {phrase} ", " ")
    return padded.strip()
