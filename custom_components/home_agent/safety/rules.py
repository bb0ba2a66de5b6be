"""Rules of a policy: their form and what they match."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from fnmatch import translate
import re
from typing import Final

from ..regex import lazy_regex

type Matcher = Callable[[str], object]
"""Whether a text fits, as a value that is true or false."""

WILDCARDS: Final = frozenset("*?[")


class Verdict(IntEnum):
    """From free to forbidden, so that the strictest of several is the greatest."""

    ALLOW = 0
    CONFIRM = 1
    BLOCK = 2


RULE = lazy_regex(r"^(?:tool:[\w*?-]+|[a-z0-9_*?]+(?::[a-z0-9_*?]+)?(?:\.[a-z0-9_*?]+)?)$")
"""`domain`, `domain.service`, `domain.object_id`, `domain:class`, `domain:class.service`, `tool:name`."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One service on one entity, or on none, that a call comes down to."""

    domain: str
    service: str
    entity_id: str | None = None
    device_class: str | None = None
    known: bool = True
    """False if the effects are unknown."""
    inside: bool = False
    """Whether it is a step of a script, a scene or an automation."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """One rule, ready to be compared."""

    domain: Matcher
    device_class: Matcher | None
    name: Matcher | None

    def fits(self, effect: Effect) -> bool:
        """Return whether an effect falls under the rule; `name` is a service or an object id."""
        own, _, object_id = (effect.entity_id or "").partition(".")
        if self.device_class is not None and not self.device_class(effect.device_class or ""):
            return False
        of_service = bool(self.domain(effect.domain))
        of_entity = bool(own) and bool(self.domain(own))
        if self.name is None:
            return of_service or of_entity
        return (of_service and bool(self.name(effect.service))) or (of_entity and bool(self.name(object_id)))


class RuleSet:
    """Rules of one kind."""

    def __init__(self, texts: Iterable[object]) -> None:
        read = [text.strip().lower() for text in texts if isinstance(text, str)]
        self._tools = [_matcher(text[5:]) for text in read if text.startswith("tool:")]
        self._rules = [_rule(text) for text in read if not text.startswith("tool:") and RULE.match(text)]

    def __bool__(self) -> bool:
        """Return whether there is any rule."""
        return bool(self._rules or self._tools)

    def fits(self, effect: Effect) -> bool:
        """Return whether a rule fits a service."""
        return any(rule.fits(effect) for rule in self._rules)

    def fits_tool(self, name: str) -> bool:
        """Return whether a rule fits a tool."""
        return any(fits(name.lower()) for fits in self._tools)


def _matcher(text: str) -> Matcher:
    """Return what compares with a text. Only wildcards need a pattern, which takes long to compile."""
    return text.__eq__ if WILDCARDS.isdisjoint(text) else re.compile(translate(text)).match


def _rule(text: str) -> _Rule:
    head, dot, name = text.partition(".")
    domain, colon, device_class = head.partition(":")
    return _Rule(_matcher(domain), _matcher(device_class) if colon else None, _matcher(name) if dot else None)
