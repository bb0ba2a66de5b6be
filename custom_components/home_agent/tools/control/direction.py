"""Calls that a sentence cannot mean: it only asks or forbids, or it commands the opposite."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, lru_cache
from typing import Final

from homeassistant.util import dt as dt_util

from ...domains import DOMAINS
from ...errors import ValidationError
from ...languages import find, languages_with, table, words
from ...languages.later import LaterKind, read_later
from ...languages.lexicon import Lexicon, Match, Word, clauses
from ...texts import plain
from ..base import ServiceCall, ToolRun
from .negation import forbids
from .questions import asks_about_state, parts_of

TABLES: Final = ("open", "close", "particle_verbs", "opening", "closing", "neutral", "trailing")
MAX_CHARS: Final = 300


class Direction(Enum):
    """Which way something is moved: towards open, unlocked and disarmed, or the other way."""

    OPEN = "open"
    CLOSE = "close"


POSITIONS: Final[Mapping[int, Direction]] = {0: Direction.CLOSE, 100: Direction.OPEN}
"""Which way a position moves a cover or a valve; those between may be either."""


ONLY_ASKS: Final = "The person only asks how things are. Read it with ha_query and change nothing"
FORBIDDEN: Final = "The person says what is not to be done. Change nothing"
OPPOSITE: Final = "is not moved: the person asked for the opposite"

NOT_NOW: Final = (
    "This is for later or on a condition, so nothing was done. ha_control takes when, for and repeat; "
    "a condition needs an automation"
)
EVENING: Final = 17
"""The hour from which this evening is now."""
OPEN_STATES: Final = frozenset(("open", "opening", "unlocked", "unlocking", "disarmed"))


def direction_of(action: str, parameters: Mapping[str, object]) -> Direction | None:
    """Return which way an action or a service moves what it is about."""
    position = parameters.get("position")
    if isinstance(position, int | float):
        return POSITIONS.get(int(position))
    ways = {way for facts in DOMAINS.values() if (way := facts.ways.get(action)) is not None}
    return (Direction.OPEN if ways == {True} else Direction.CLOSE) if len(ways) == 1 else None


def toggled(state: str) -> Direction:
    """Return which way a toggle moves what is in a state."""
    return Direction.CLOSE if state in OPEN_STATES else Direction.OPEN


def contradicts(direction: Direction | None, sentence: str, language: str) -> bool:
    """Return whether a sentence commands the very opposite of a direction, and nothing else."""
    if direction is None:
        return False
    wanted = commanded(sentence, language)
    return bool(wanted) and direction not in wanted


@lru_cache(maxsize=64)
def commanded(sentence: str, language: str) -> frozenset[Direction]:
    """Return which directions a sentence commands, in the speaker's language or else in any other."""
    if len(sentence) > MAX_CHARS:
        return frozenset()
    known = languages_with("directions")
    own = find(language)
    if own in known and (found := frozenset(_directions(sentence, own))):
        return found
    # In a language that is not the speaker's only a sentence that begins with such a word is sure.
    others = [language for language in known if language != own]
    return frozenset(way for other in others for way in _directions(sentence, other, only_first=True))


@cache
def _lexicon(language: str) -> Lexicon:
    """Return the words of a language for opening and closing, and those that part its clauses."""
    tables = {name: words(language, f"directions.{name}") for name in TABLES}
    return Lexicon({**tables, "joins": words(language, "questions.joins")})


def _directions(sentence: str, language: str, *, only_first: bool = False) -> Iterator[Direction]:
    """Yield the direction of each clause that commands one."""
    for clause in clauses(sentence):
        if table(language, "directions.inside_words"):
            found = [_inside(clause.joined, language)]
        else:
            lexicon = _lexicon(language)
            parts = _parts(clause.words, lexicon)
            found = [_direction(part, lexicon, only_first=only_first) for part in parts]
        yield from filter(None, found)


def _parts(said: Sequence[Word], lexicon: Lexicon) -> Iterator[Sequence[Word]]:
    """Yield the parts of a clause; a part with only a particle gets the verb of an earlier part."""
    polite = lexicon.matches("trailing", said)
    joins = {index: match for index, match in lexicon.matches("joins", said).items() if index not in polite}
    verb: Sequence[Word] = ()
    for part in parts_of(said, joins):
        verbs = lexicon.matches("particle_verbs", part)
        if verbs:
            verb = part[min(verbs) : min(verbs) + 1]
        is_elliptic = not verbs and not lexicon.matches("open", part) and not lexicon.matches("close", part)
        yield (*verb, *part) if is_elliptic and _ends_with_particle(part, lexicon) else part


def _direction(said: Sequence[Word], lexicon: Lexicon, *, only_first: bool) -> Direction | None:
    """Return the direction of one command: that of its particle, else that of its first verb."""
    found = lexicon.all_matches(said)
    particle = _particle(said, found)
    verbs = [
        (index, way)
        for way, name in ((Direction.OPEN, "open"), (Direction.CLOSE, "close"))
        for index, match in found[name].items()
        if match >= max(found[other].get(index, Match()) for other in ("open", "close", "neutral"))
    ]
    if only_first:
        verbs = [(index, way) for index, way in verbs if index == 0]
        particle = particle if 0 in found["particle_verbs"] and verbs else None
    if particle is not None:
        return particle
    return min(verbs, default=(0, None), key=lambda verb: verb[0])[1]


def _ends_with_particle(part: Sequence[Word], lexicon: Lexicon) -> bool:
    """Return whether a part such as "the door open" ends with the particle of a verb before it."""
    particles = {**lexicon.matches("opening", part), **lexicon.matches("closing", part)}
    return any(index > 0 and index + match.words == len(part) for index, match in particles.items())


def _particle(said: Sequence[Word], found: Mapping[str, Mapping[int, Match]]) -> Direction | None:
    """Return the direction of a verb's particle: it is at the end, behind the verb or before it."""
    if not found["particle_verbs"]:
        return None
    end = len(said)
    while end > 0 and (shorter := _before_trailing(found["trailing"], end)) is not None:
        end = shorter
    verb_ends = {index + match.words for index, match in found["particle_verbs"].items()}
    for way, name in ((Direction.OPEN, "opening"), (Direction.CLOSE, "closing")):
        for index, match in found[name].items():
            after = index + match.words
            beside = index in verb_ends or after in found["particle_verbs"]
            if after == end or (beside and index > 0):
                return way
    return None


def _before_trailing(trailing: Mapping[int, Match], end: int) -> int | None:
    """Return where a polite word at the end begins."""
    return next((index for index, match in trailing.items() if index + match.words == end), None)


def _inside(text: str, language: str) -> Direction | None:
    """Return the direction whose word is first in a text without spaces, the longest word first."""
    first: tuple[int, int, Direction] | None = None
    for way, name in ((Direction.OPEN, "open"), (Direction.CLOSE, "close")):
        for entry in words(language, f"directions.{name}"):
            word = plain(entry).replace(" ", "")
            if (index := text.find(word)) >= 0 and (first is None or (index, -len(word)) < first[:2]):
                first = index, -len(word), way
    return first[2] if first else None


def check_asked(run: ToolRun) -> None:
    """Raise ValidationError if the sentence only asks how things are, or only forbids something."""
    if asks_about_state(run.sentence, run.speaker.language):
        raise ValidationError(ONLY_ASKS)
    if forbids(run.sentence, run.speaker.language):
        raise ValidationError(FORBIDDEN)


def is_later(run: ToolRun, sentence: str | None = None) -> LaterKind | None:
    """Return what the command of a sentence waits for; None if it is for now."""
    is_evening = dt_util.now().hour >= EVENING
    return read_later(
        run.sentence if sentence is None else sentence, run.speaker.language, is_evening=is_evening
    )


def check_calls(calls: Iterable[ServiceCall], run: ToolRun) -> None:
    """Raise ValidationError if the sentence only asks, is about later, or commands the opposite of a call."""
    for call in calls:
        check_asked(run)
        if is_later(run) is not None:
            raise ValidationError(NOT_NOW)
        if contradicts(direction_of(call.service, call.data), run.sentence, run.speaker.language):
            raise ValidationError(f"{', '.join(call.entity_ids)} {OPPOSITE}")
