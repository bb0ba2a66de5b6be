"""The firewall: instructions that steer a model are removed from texts from outside.

It is the outer wall only, and a wall of patterns has holes. The inner one is `taint.py` with the policy.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from ...regex import lazy_regex
from .rules import CALLS, ROLES, TOKENS, named_calls, rules_for
from .text import Readable

MARK: Final = "[removed]"
MAX_CHARS: Final = 20_000
"""Characters read of all strings together; unread text is removed."""
MAX_DEPTH: Final = 30
MAX_KEPT: Final = 120
"""Characters of the removed text that are reported."""

_SENTENCE: Final = lazy_regex(r"[^.!?;\n\u3002\uff01\uff1f]*(?:[.!?;\n\u3002\uff01\uff1f]+[\"')\]]*|$)")
_PARAGRAPH_END: Final = lazy_regex(r"\n\s*\n")
_LEAKY_IMAGE: Final = lazy_regex(r"!\[[^\]]{0,200}\]\([^)\s]{0,300}[?&][^)\s]{0,60}=[^)]{0,300}\)")
_HIDDEN: Final = lazy_regex(r"[\U000e0020-\U000e007f]{3,}")


@dataclass(frozen=True, slots=True)
class Removal:
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
    found += [(*match.span(), "hidden") for match in _HIDDEN.finditer(text)]
    marked_up = Readable(text, markup=True)
    tokens = list(TOKENS.finditer(marked_up.text))
    roles = list(ROLES.finditer(marked_up.text))
    if tokens or roles[1:]:
        found.append(_template_span(marked_up, sorted(match.span() for match in (*tokens, *roles))))
    calls = (*CALLS.finditer(marked_up.text), *named_calls(marked_up.text, others))
    found += [(*marked_up.written(*match.span()), "call") for match in calls]
    addressed = addressed or bool(roles)
    return found + _sentence_spans(
        Readable(text), steers=bool(found), addressed=addressed, describes=describes
    )


def _template_span(readable: Readable, marks: list[tuple[int, int]]) -> Span:
    text, (_, last) = readable.text, marks[-1]
    end = text.find("\n", last)
    stop = _PARAGRAPH_END.search(text, last) if len(marks) == 1 else None
    end = stop.start() if stop else len(text) if end < 0 else end
    return (*readable.written(marks[0][0], max(end, last)), "template")


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


def _merged(found: Iterable[Span]) -> Iterator[Span]:
    """Yield parts in order; those that touch are one."""
    last: Span | None = None
    for start, end, rule in sorted(found):
        if last is not None and start <= last[1]:
            last = (last[0], max(end, last[1]), last[2])
            continue
        if last is not None:
            yield last
        last = (start, end, rule)
    if last is not None:
        yield last
