"""Rules of a policy: their form and what they match."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from fnmatch import translate
import re

from ..regex import lazy_regex


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

    domain: re.Pattern[str]
    device_class: re.Pattern[str] | None
    name: re.Pattern[str] | None

    def fits(self, effect: Effect) -> bool:
        """Return whether an effect falls under the rule; `name` is a service or an object id."""
        own, _, object_id = (effect.entity_id or "").partition(".")
        if self.device_class is not None and not self.device_class.match(effect.device_class or ""):
            return False
        of_service = bool(self.domain.match(effect.domain))
        of_entity = bool(own) and bool(self.domain.match(own))
        if self.name is None:
            return of_service or of_entity
        return (of_service and bool(self.name.match(effect.service))) or (
            of_entity and bool(self.name.match(object_id))
        )


class RuleSet:
    """Rules of one kind."""

    def __init__(self, texts: Iterable[object]) -> None:
        """Read the rules; anything that is not a rule is left out."""
        read = [text.strip().lower() for text in texts if isinstance(text, str)]
        self._tools = [_pattern(text[5:]) for text in read if text.startswith("tool:")]
        self._rules = [_rule(text) for text in read if not text.startswith("tool:") and RULE.match(text)]

    def __bool__(self) -> bool:
        """Return whether there is any rule."""
        return bool(self._rules or self._tools)

    def fits(self, effect: Effect) -> bool:
        """Return whether a rule fits a service."""
        return any(rule.fits(effect) for rule in self._rules)

    def fits_tool(self, name: str) -> bool:
        """Return whether a rule fits a tool."""
        return any(pattern.match(name.lower()) for pattern in self._tools)


def _pattern(text: str) -> re.Pattern[str]:
    """Return a text with wildcards as a pattern."""
    return re.compile(translate(text))


def _rule(text: str) -> _Rule:
    head, dot, name = text.partition(".")
    domain, colon, device_class = head.partition(":")
    return _Rule(_pattern(domain), _pattern(device_class) if colon else None, _pattern(name) if dot else None)
