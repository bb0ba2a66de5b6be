"""Commands that are not for now: at a time, for a while, again and again, or on a condition.

What a clause says of another matter ("dinner is in ten minutes") is not about the command beside it.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ..regex import lazy_regex
from ..texts import fold, words
from . import find, languages_with
from .later_parts import CLOCK, MEASURE, LaterKind, Mark, Part, parts_of

__all__ = [
    "LaterKind",
    "Order",
    "beside_times",
    "names_action",
    "read_later",
    "read_orders",
    "said_kinds",
    "strictest",
]

MAX_CHARS: Final = 400
_QUOTED: Final = lazy_regex(r"[\"“„«»][^\"“”„«»]{1,80}[\"”“«»]")
_MEASURES: Final = lazy_regex("[%°]")
_CLOCKS: Final = lazy_regex(r"\b\d{1,2}(?::|h(?=\d))\d{2}\b")
_JOINED: Final = lazy_regex(r"(\d)(?=[^\W\d_])")
STRICTEST: Final = (LaterKind.CONDITION, LaterKind.REPEATED, LaterKind.TIME, LaterKind.LENGTH)


class Order(NamedTuple):
    """A part of a sentence that commands something, or says when it is to be done to something else."""

    text: str
    kinds: frozenset[LaterKind]
    """What it waits for; empty for now."""
    commands: bool = True
    is_doubtful: bool = False
    """Whether its condition may come true or not: "only if", but not "as soon as"."""


@lru_cache(maxsize=64)
def read_later(sentence: str, language: str, *, is_evening: bool = False) -> LaterKind | None:
    """Return what all commands of a sentence wait for; None if one is for now, or if it is not clear.

    `is_evening` says that this evening is now. The speaker's language is tried first; another one counts
    only for sentences with its own verbs.
    """
    commands = [order for order in read_orders(sentence, language, is_evening=is_evening) if order.commands]
    if not commands or not all(order.kinds for order in commands):
        return None
    return strictest(kind for order in commands for kind in order.kinds)


def strictest(kinds: Iterable[LaterKind]) -> LaterKind | None:
    """Return what asks for most of several."""
    found = frozenset(kinds)
    return next((kind for kind in STRICTEST if kind in found), None)


@lru_cache(maxsize=64)
def read_orders(
    sentence: str, language: str, *, is_evening: bool = False, planned: bool = False
) -> tuple[Order, ...]:
    """Return the commands of a sentence and what each waits for, none if it has none that are known.

    `planned` says that what is to be done is for later, so that no condition can be looked up now.
    """
    if len(sentence) > MAX_CHARS:
        return ()
    text = _prepared(_QUOTED.sub(" ", sentence))
    own, known = find(language), languages_with("times")
    if own in known:
        parts = parts_of(text, own, is_evening=is_evening)
        orders = _orders(parts, planned=planned)
        if any(part.commands for part in parts) or _wait(orders):
            return orders
    for other in known:
        if other == own:
            continue
        parts = parts_of(text, other, is_evening=is_evening)
        if any(part.commands for part in parts) and _wait(orders := _orders(parts, planned=planned)):
            return orders
    return ()


@lru_cache(maxsize=64)
def said_kinds(
    text: str, language: str, *, is_evening: bool = False, is_order: bool = False
) -> tuple[LaterKind, ...]:
    """Return the times and conditions that a text says, each by its kind.

    Of an order to tell something, those of commands for devices beside it are left out.
    """
    own = find(language)
    if own is None or own not in languages_with("times") or len(text) > MAX_CHARS:
        return ()
    parts = parts_of(_prepared(text), own, is_evening=is_evening, bare_hours=True)
    counted = (
        part
        for part in parts
        if not is_order
        or part.found["asking"]
        or part.found["reminders"]
        or not (part.commands or part.found["switching"])
    )
    return tuple(
        mark.kind
        for part in counted
        for mark, before in zip(part.marks, (None, *part.marks), strict=False)
        # "Tomorrow at seven" is one time.
        if before is None or (before.end, before.kind) != (mark.start, mark.kind)
    )


def beside_times(text: str, language: str) -> tuple[str, ...]:
    """Return the folded words of a text that say no time: "every" of "every day" is none of them."""
    own = find(language)
    if own is None or own not in languages_with("times") or len(text) > MAX_CHARS:
        return tuple(words(text))
    parts = parts_of(_prepared(text), own, is_evening=False, bare_hours=True)
    return tuple(
        fold(word.plain)
        for part in parts
        for index, word in enumerate(part.said)
        if not any(mark.start <= index < mark.end for mark in part.marks)
    )


def _prepared(text: str) -> str:
    """Return a text with clocks and measures as words."""
    text = _MEASURES.sub(f" {MEASURE} ", text)
    return _JOINED.sub(r"\1 ", _CLOCKS.sub(CLOCK, text))


def _wait(orders: Iterable[Order]) -> bool:
    """Return whether any command waits for something."""
    return any(order.kinds for order in orders)


def names_action(name: str, sentence: str, language: str) -> bool:
    """Return whether a reminder is called like an action, in a sentence that orders one and no reminder."""
    own, known = find(language), languages_with("times")
    for each in dict.fromkeys((own, *known)):
        if each not in known or each is None:
            continue
        parts = parts_of(name, each, is_evening=False)
        if not any(_is_action(part) for part in parts):
            continue
        others = [each, *({own} & set(known))] if own else [each]
        asked = [part for other in others for part in parts_of(sentence, other, is_evening=False)]
        reminds = any(part.found["reminders"] for part in asked)
        return not reminds and any(part.commands or part.found["switching"] for part in asked)
    return False


def _is_action(part: Part) -> bool:
    """Return whether a name begins or ends with a command, or ends with on or off."""
    last = len(part.said) - 1
    ends = {index + match.words - 1 for index, match in part.found["switching"].items()}
    return last > 0 and bool({0, last}.intersection(part.commands) or last in ends)


def _orders(parts: Sequence[Part], *, planned: bool) -> tuple[Order, ...]:
    """Return the commands of a sentence and what each waits for."""
    orders = [number for number, part in enumerate(parts) if part.commands]
    if not orders:
        orders = [number for number, part in enumerate(parts) if part.marks and not part.statements]
    if not orders and planned:
        orders = [number for number, part in enumerate(parts) if not part.marks]
    times: dict[int, set[LaterKind]] = {}
    conditions: dict[int, list[Mark]] = {}
    for number, part in enumerate(parts):
        for mark in part.marks:
            for order in _reach(parts, number, mark, orders):
                if mark.kind is LaterKind.CONDITION:
                    conditions.setdefault(order, []).append(mark)
                else:
                    times.setdefault(order, set()).add(mark.kind)
    found: list[Order] = []
    for number, part in enumerate(parts):
        text = " ".join(word.plain for word in part.said)
        if number in orders:
            kinds = times.get(number, set())
            is_later = planned or not kinds.isdisjoint((LaterKind.TIME, LaterKind.REPEATED))
            if any(is_later or not mark.is_known_now for mark in conditions.get(number, ())):
                kinds = {*kinds, LaterKind.CONDITION}
            is_doubtful = any(mark.is_doubtful for mark in conditions.get(number, ()))
            found.append(Order(text, frozenset(kinds), is_doubtful=is_doubtful))
        elif own := _own_times(part):
            found.append(Order(text, own, commands=False))
    return tuple(found)


def _own_times(part: Part) -> frozenset[LaterKind]:
    """Return the times that a part says itself."""
    kinds = frozenset(mark.kind for mark in part.marks) - {LaterKind.CONDITION}
    return kinds if part.rest and not part.statements else frozenset()


def _reach(parts: Sequence[Part], number: int, mark: Mark, orders: Sequence[int]) -> Sequence[int]:
    """Return the commands that a mark is about."""
    part = parts[number]
    is_condition = mark.kind is LaterKind.CONDITION
    if not is_condition and (_is_of_statement(part, mark) or (part.statements and not part.commands)):
        return ()
    if part.commands:
        following = [order for order in orders if order > number and parts[order].clause == part.clause]
        return [number, *following] if mark.start < part.commands[0] else [number]
    if is_condition:
        return _conditioned(parts, number, orders)
    if not part.rest:
        return orders
    if number in orders:
        return [number]
    # "And off again in ten minutes" is another command.
    apart = part.comma or part.found["switching"]
    return () if apart else [order for order in orders if order < number][-1:]


def _conditioned(parts: Sequence[Part], number: int, orders: Sequence[int]) -> Sequence[int]:
    """Return the commands that a condition in a part of its own is about.

    An earlier command that has a time of its own is about another matter, unless it is the nearest one.
    """
    part = parts[number]
    near = [order for order in orders if parts[order].clause == part.clause] or orders
    before = [order for order in near if order < number]
    after = [order for order in near if order > number]
    if number in orders or not before or not after or 0 not in part.found["joins"]:
        free = [order for order in near if not _own_times(parts[order])]
        return [order for order in near if order in free or order == before[-1]] if before else near
    return after


def _is_of_statement(part: Part, mark: Mark) -> bool:
    """Return whether a mark says when something else happens."""
    if any(mark.end == index for index in part.found["inverted"]):
        return True
    before = [(start, False) for start in part.commands if start < mark.start]
    before += [(start, True) for start, _ in part.statements if start < mark.start]
    if before:
        return max(before)[1]
    return any(start == mark.end for start, _ in part.statements)
