"""Calls that a sentence cannot mean: it only asks or forbids, or it commands the opposite."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import Final

from homeassistant.util import dt as dt_util

from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...languages import find, languages_with, table, words
from ...languages.later import LaterKind, Order, read_later, read_orders
from ...languages.lexicon import Lexicon, Match, Word, clauses
from ...texts import plain
from ..base import ServiceCall, ToolRun
from .addressed import About, what_about
from .negation import prohibition
from .questions import Statement, asks_about_state, parts_of, statement_of

TABLES: Final = ("open", "close", "particle_verbs", "opening", "closing", "neutral", "trailing")
OF_QUESTIONS: Final = ("joins", "copulas", "states", "commands")
STATE_TABLES: Final = ("topics", "names.states")
SHOWN: Final[Mapping[str, Sequence[str]]] = {
    "shown_open": ("open", "unlocked"),
    "shown_closed": ("closed", "locked"),
}
"""The states in which something may be left."""
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
TOGGLE: Final = "toggle"
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


def contradicts(
    direction: Direction | None,
    sentence: str,
    language: str,
    record: EntityRecord | None = None,
    house: HouseSnapshot | None = None,
) -> bool:
    """Return whether a sentence commands the opposite of a direction, and nothing else.

    With an entity, only the clauses count that are about it or that name nothing.
    """
    if direction is None:
        return False
    own = find(language)
    if record is not None and house is not None and own is not None and (orders := _orders(sentence, own)):
        wanted = _wanted_of(orders, record, house, own)
    else:
        wanted = commanded(sentence, language)
    return bool(wanted) and direction not in wanted


@dataclass(frozen=True, slots=True)
class _Order:
    """A part of a sentence."""

    direction: Direction | None
    named: tuple[Word, ...]
    """Its words without those for moving something."""
    stays: bool = False
    """Whether something is to stay as it is."""
    acts: bool = False
    """Whether it has a verb for anything else."""


def _wanted_of(
    orders: Sequence[_Order], record: EntityRecord, house: HouseSnapshot, language: str
) -> frozenset[Direction]:
    """Return which directions the parts of a sentence command for an entity."""
    own: set[Direction] = set()
    others: set[Direction] = set()
    is_meant = is_named = False
    earlier: Direction | None = None
    for order in orders:
        about = what_about(order.named, record, house, language)
        # "Close the garage and the front door": the second part has the verb of the first one.
        direction = order.direction or (earlier if about is About.TARGET and not order.acts else None)
        if direction is None:
            is_meant = is_meant or about is About.TARGET or (order.acts and about is About.UNKNOWN)
        elif about is not About.OTHER:
            # "Open everything, but close the garage": from where the garage is named, that counts for it.
            own = {direction} if about is About.TARGET and not is_named else {*own, direction}
            is_named = is_named or about is About.TARGET
        elif not order.stays:
            others.add(direction)
        earlier = order.direction if order.direction and not order.stays else earlier
    # What only commands another device to be closed is no reason to open this one.
    return frozenset(own or (() if is_meant else others))


@lru_cache(maxsize=64)
def _orders(sentence: str, language: str) -> tuple[_Order, ...]:
    """Return the parts of a sentence if any commands a direction; none for languages without spaces."""
    known = language in languages_with("directions")
    if not known or table(language, "directions.inside_words") or len(sentence) > MAX_CHARS:
        return ()
    lexicon = _lexicon(language)
    staying = _staying(language)
    parts = (part for clause in clauses(sentence) for part in _parts(clause.words, lexicon))
    orders = tuple(_order(part, lexicon, staying) for part in parts if part)
    return orders if any(order.direction for order in orders) else ()


def _order(said: Sequence[Word], lexicon: Lexicon, staying: Lexicon) -> _Order:
    """Return what a part commands."""
    found = {**lexicon.all_matches(said), **staying.all_matches(said)}
    first = min(found["copulas"], default=len(said))
    # "Il garage resta chiuso" may only tell how it is; taken as an order, it opens nothing.
    stays = any(
        (index < first and found["shown_open"]) or (index <= first and found["shown_closed"])
        for index in found["staying"]
    )
    direction = _direction(said, lexicon, only_first=False)
    if stays:
        direction = Direction.CLOSE if found["shown_closed"] else Direction.OPEN
    covered = {
        at
        for matches in found.values()
        for index, match in matches.items()
        for at in range(index, index + match.words)
    }
    named = tuple(word for index, word in enumerate(said) if index not in covered)
    acts = any(found[name] for name in ("commands", "staying", "particle_verbs"))
    return _Order(direction, named, stays, acts)


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
    return Lexicon({**tables, **{name: words(language, f"questions.{name}") for name in OF_QUESTIONS}})


@cache
def _staying(language: str) -> Lexicon:
    """Return the words of a language for leaving something as it is, and for any other command."""
    shown = {
        way: [
            word for name in STATE_TABLES for state in states for word in words(language, f"{name}.{state}")
        ]
        for way, states in SHOWN.items()
    }
    tables = {name: words(language, f"questions.{name}") for name in ("commands", "joins")}
    return Lexicon({**shown, **tables, "staying": words(language, "directions.staying")})


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
        and not _is_told(index, match, found)
    ]
    if only_first:
        verbs = [(index, way) for index, way in verbs if index == 0]
        particle = particle if 0 in found["particle_verbs"] and verbs else None
    if particle is not None:
        return particle
    return min(verbs, default=(0, None), key=lambda verb: verb[0])[1]


def _is_told(index: int, match: Match, found: Mapping[str, Mapping[int, Match]]) -> bool:
    """Return whether a word tells how something is, as in "the garage is still open"."""
    told = min((at for at in found["copulas"] if at < index), default=None)
    if told is None or match > found["states"].get(index, Match()):
        return False
    return not any(at < index and at not in found["copulas"] for at in found["commands"])


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


def check_asked(
    run: ToolRun, action: str = "", given: Mapping[str, object] | None = None, *, by_target: bool = False
) -> None:
    """Raise ValidationError if the sentence only asks how things are, or only forbids something.

    What may be a statement, such as "la fenêtre est ouverte", lets an action close and lock. What is
    certainly one lets it do anything but open. `by_target` leaves a prohibition to `check_forbidden` if the
    sentence may name something else that is to be done.
    """
    if asks_about_state(run.sentence, run.speaker.language):
        way = direction_of(action, given or {})
        is_moving = action == TOGGLE or "position" in (given or {})
        match statement_of(run.sentence, run.speaker.language):
            case Statement.SURE if way is Direction.CLOSE or (way is None and not is_moving):
                pass
            case Statement.DOUBTFUL if way is Direction.CLOSE:
                pass
            case _:
                raise ValidationError(ONLY_ASKS)
    forbidden = prohibition(run.sentence, run.speaker.language)
    if forbidden is not None and not (by_target and forbidden.others):
        raise ValidationError(FORBIDDEN)


def is_later(run: ToolRun) -> LaterKind | None:
    """Return what the command of a sentence waits for; None if it is for now."""
    is_evening = dt_util.now().hour >= EVENING
    return read_later(run.sentence, run.speaker.language, is_evening=is_evening)


def later_orders(run: ToolRun, sentence: str, *, planned: bool) -> tuple[Order, ...]:
    """Return the commands of a sentence and what each waits for; `planned` says that a call is for later."""
    is_evening = dt_util.now().hour >= EVENING
    return read_orders(sentence, run.speaker.language, is_evening=is_evening, planned=planned)


def check_calls(calls: Iterable[ServiceCall], run: ToolRun) -> None:
    """Raise ValidationError if the sentence only asks, is about later, or commands the opposite of a call."""
    for call in calls:
        check_asked(run, call.service, call.data)
        if is_later(run) is not None:
            raise ValidationError(NOT_NOW)
        way, language = direction_of(call.service, call.data), run.speaker.language
        records = [run.house.entities.get(entity_id) for entity_id in call.entity_ids] or [None]
        if any(contradicts(way, run.sentence, language, record, run.house) for record in records):
            raise ValidationError(f"{', '.join(call.entity_ids)} {OPPOSITE}")
