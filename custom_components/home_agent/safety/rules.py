"""The rules about what may be done: shipped ones, and the household's, picked from lists or in text."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum
from fnmatch import translate
import re
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

from homeassistant.auth.models import User
from homeassistant.const import STATE_HOME
from homeassistant.core import HomeAssistant, State, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.util import dt as dt_util

from ..const import CONF_POLICY_ALLOWED, CONF_POLICY_BLOCKED, CONF_POLICY_CHOICES, CONF_POLICY_RESTRICTED
from ..domains import DOMAINS
from ..domains.showing import GONE
from ..knowledge.house import AREAS, ENTITIES, FLOORS, LABELS
from ..knowledge.speaker import DEVICE, PERSON, USER_PREFIX, Speaker, is_guest_mode
from ..regex import lazy_regex

type Matcher = Callable[[str], object]
"""Whether a text fits, as a value that is true or false."""

WILDCARDS: Final = frozenset("*?[")


class Verdict(IntEnum):
    """From free to forbidden, so that the strictest of several is the greatest."""

    ALLOW = 0
    CONFIRM = 1
    PIN = 2
    """A confirmation with the PIN."""
    BLOCK = 3

    @property
    def asks(self) -> bool:
        """Return whether a person has to confirm."""
        return self in (Verdict.CONFIRM, Verdict.PIN)


TOOL: Final = "tool:"
"""How a rule in text for a tool begins."""

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


class _Pattern(NamedTuple):
    """One rule in text, ready to be compared."""

    domain: Matcher
    device_class: Matcher | None
    name: Matcher | None

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a rule."""
        head, dot, name = text.partition(".")
        domain, colon, device_class = head.partition(":")
        return cls(
            _matcher(domain), _matcher(device_class) if colon else None, _matcher(name) if dot else None
        )

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
    """What rules in text are about; exceptions are services, whatever an entity is called."""

    def __init__(self, texts: Iterable[object], exceptions: Iterable[object] = ()) -> None:
        read = [text.strip().lower() for text in texts if isinstance(text, str)]
        self._tools = [_matcher(text.removeprefix(TOOL)) for text in read if text.startswith(TOOL)]
        self._rules = [_Pattern.of(text) for text in read if not text.startswith(TOOL) and RULE.match(text)]
        self._exceptions = RuleSet(exceptions) if exceptions else None

    def __bool__(self) -> bool:
        """Return whether there is any rule."""
        return bool(self._rules or self._tools)

    def fits(self, about: Effect | str) -> bool:
        """Return whether a rule fits an effect, or a tool by its name."""
        if isinstance(about, str):
            return any(fits(about.lower()) for fits in self._tools)
        return any(rule.fits(about) for rule in self._rules) and not (
            self._exceptions and self._exceptions.fits(replace(about, entity_id=None))
        )

    def names(self, effect: Effect) -> bool:
        """Return whether a rule fits that says more than a domain and a class."""
        return any(rule.name is not None and rule.fits(effect) for rule in self._rules)


def _matcher(text: str) -> Matcher:
    """Return what compares with a text. Only wildcards need a pattern, which takes long to compile."""
    return text.__eq__ if WILDCARDS.isdisjoint(text) else re.compile(translate(text)).match


BLOCKED: Final = ("homeassistant", "hassio", "home_agent", "recorder.purge*", "backup.restore*")
"""Never, whatever the options say."""

UNBLOCKED: Final = ("homeassistant.update_entity",)
"""Exceptions from the blocked ones: they only read."""

RESTRICTED: Final = (
    "shell_command",
    "python_script",
    "pyscript",
    "rest_command",
    "conversation",
    "assist_satellite",
)
"""Actions that require a confirmation, in addition to those of the domains."""

UNRESTRICTED: Final = ("assist_satellite.announce",)
"""Exceptions from the restricted ones: what is said needs no answer, which nobody would have to give."""

INSIDE: Final = (
    # Services that only inform.
    "logbook.log",
    "mobile_app.notify",
    "notify",
    "persistent_notification",
    "shopping_list",
    "system_log.write",
    "tts",
    # Groups of players that play the same, and what they played before.
    "music_assistant",
    "sonos",
    "homeassistant.update_entity",
)
"""Services that are judged like calls of their own as steps of scripts, scenes and automations, beside what
the domains state. Others are restricted there: they reach devices past their entities, run programs, send
requests or fire events."""

NOT_INSIDE: Final = ("tts.clear_cache", "*.reload")
"""Exceptions from those."""

GENERIC_SERVICES: Final = ("turn_on", "turn_off", "toggle")
"""Services of `homeassistant` that mean those of each entity's own domain."""


def restricted_rules() -> tuple[str, ...]:
    """Return all rules for actions that require a confirmation."""
    return (*(rule for facts in DOMAINS.values() for rule in facts.restricted), *RESTRICTED)


def as_texts(value: object) -> list[str]:
    """Return a text, or a list of them, as a list."""
    if isinstance(value, str):
        return [value]
    return [str(part) for part in value] if isinstance(value, Iterable) else []


DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
SOMEBODY: Final = "somebody"
NOBODY: Final = "nobody"
AT_HOME: Final = "home:"
AWAY: Final = "away:"
"""How the presence of one person begins, before the ID of the person's entity."""
GUESTS: Final = "guests"
"""Everybody who speaks without an account in Home Assistant."""
GUEST_MODE: Final = "guest_mode"
"""The same while guest mode is on."""
ADMINISTRATORS: Final = "administrators"
AT_DEVICE: Final = "device:"
"""How everybody who speaks to a device begins, before its ID."""
IN_AREA: Final = "area:"
"""How everybody who speaks to a device in an area begins, before the ID of the area."""
EXCEPT: Final = "except:"
"""How one to whom a rule does not apply begins."""

MINUTES_PER_DAY: Final = 24 * 60
_SPAN: Final = lazy_regex(r"(\d{1,2})(?:[:.h](\d{2}))?\s*[-\u2013\u2014]\s*(\d{1,2})(?:[:.h](\d{2}))?")


class Span(NamedTuple):
    """Hours of a day, from the first minute to before the last one; across midnight if the end is earlier."""

    start: int
    end: int

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return what a text such as 20:00-07:00 means; None if it is no such text or has no length."""
        if (match := _SPAN.fullmatch(text.strip())) is None:
            return None
        hours = int(match[1]), int(match[3])
        minutes = int(match[2] or 0), int(match[4] or 0)
        start, end = (60 * hour + minute for hour, minute in zip(hours, minutes, strict=True))
        is_time = max(minutes) < 60 and start < MINUTES_PER_DAY and end <= MINUTES_PER_DAY
        return cls(start, end) if is_time and start != end else None

    def __str__(self) -> str:
        """Return it as it is stored."""
        return f"{clock(self.start)}-{clock(self.end)}"

    def days_before(self, minute: int) -> int | None:
        """Return how many days ago the span began that has a minute of a day; None if none has it."""
        if self.start < self.end:
            return 0 if self.start <= minute < self.end else None
        if minute >= self.start:
            return 0
        return 1 if minute < self.end else None


WHOLE_DAY: Final = Span(0, MINUTES_PER_DAY)


def clock(minute: int) -> str:
    """Return a minute of the day as people read it."""
    return f"{minute // 60:02}:{minute % 60:02}"


class Occasion(NamedTuple):
    """The moment at which something is judged, and who asks for it."""

    hass: HomeAssistant
    speaker: Speaker
    user: User | None = None
    """The Home Assistant user who speaks; None if there is none, or if it is not known who it is."""
    owners: Iterable[Mapping[str, Any]] = ()
    """The owners of devices."""

    @property
    def now(self) -> datetime | None:
        """Return the local time at which the call is made; None if that is not known."""
        if self.speaker.anytime:
            return None
        return dt_util.as_local(self.speaker.due) if self.speaker.due else dt_util.now()


class RuleHours(NamedTuple):
    """Days, and hours of a day; a span across midnight belongs to the day on which it begins."""

    days: frozenset[int]
    spans: tuple[Span, ...]
    unread: bool = False
    """Whether there is more that this release cannot read."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self | None:
        """Read stored days and spans; None if there are none."""
        listed = list(texts)
        days = frozenset(DAYS.index(text) for text in listed if text in DAYS)
        spans = [Span.read(text) for text in listed if text not in DAYS]
        known = tuple(span for span in spans if span is not None)
        return cls(days, known, unread=len(known) < len(spans)) if listed else None

    def now(self, moment: datetime) -> Span | None:
        """Return the span that a local time is in; the whole day where only days are given."""
        minute = moment.hour * 60 + moment.minute
        for span in self.spans or (() if self.unread else (WHOLE_DAY,)):
            ago = span.days_before(minute)
            if ago is not None and (not self.days or (moment.weekday() - ago) % len(DAYS) in self.days):
                return span
        return None

    @callback
    def holds(self, occasion: Occasion) -> bool | None:
        """Return whether it is such a time."""
        if (moment := occasion.now) is None:
            return None
        return True if self.now(moment) else (None if self.unread else False)


@callback
def presence_holds(presence: str, occasion: Occasion) -> bool | None:
    """Return whether those are at home, or away, of whom a rule speaks."""
    if occasion.speaker.anytime:
        return None
    if presence in (SOMEBODY, NOBODY):
        at_home = [_is_home(person) for person in occasion.hass.states.async_all("person")]
        if True in at_home:
            return presence == SOMEBODY
        # Nobody surely is at home, and of somebody it is not known.
        return None if None in at_home or not at_home else presence == NOBODY
    for prefix, wanted in ((AT_HOME, True), (AWAY, False)):
        if presence.startswith(prefix):
            is_home = _is_home(occasion.hass.states.get(presence.removeprefix(prefix)))
            return None if is_home is None else is_home is wanted
    return None


def _is_home(person: State | None) -> bool | None:
    if person is None or person.state in GONE:
        return None
    return person.state == STATE_HOME


@callback
def whom_holds(whom: Iterable[str], occasion: Occasion) -> bool | None:
    """Return whether a rule is for the one who asks: for one of those named, and for none excepted."""
    named = [name for name in whom if not name.startswith(EXCEPT)]
    excepted = [name.removeprefix(EXCEPT) for name in whom if name.startswith(EXCEPT)]
    meant = [_is_one(name, occasion) for name in named]
    left_out = [_is_one(name, occasion) for name in excepted]
    if True in left_out or (named and not any(one is not False for one in meant)):
        return False
    return None if None in left_out or (named and True not in meant) else True


def _is_one(name: str, occasion: Occasion) -> bool | None:
    """Return whether the one who asks is somebody; None if that is not known."""
    speaker = occasion.speaker
    user_id = speaker.context.user_id
    if name == GUESTS:
        return user_id is None
    if name == ADMINISTRATORS:
        known = occasion.user is not None or user_id is None
        return bool(occasion.user and occasion.user.is_admin) if known else None
    if name == GUEST_MODE:
        if user_id is not None:
            return False
        return None if occasion.now is None else is_guest_mode(occasion.hass, occasion.now)
    for prefix, place in ((AT_DEVICE, speaker.device_id), (IN_AREA, speaker.area_id), (USER_PREFIX, user_id)):
        if name.startswith(prefix):
            return place == name.removeprefix(prefix)
    if (person := occasion.hass.states.get(name)) is None:
        return None
    if user_id is not None:
        return bool(person.attributes.get("user_id") == user_id)
    # The owner of a satellite is only likely to be the one who speaks to it.
    owned = (item.get(DEVICE) for item in occasion.owners if item.get(PERSON) == name)
    return None if speaker.device_id in owned and speaker.device_id else False


DECISION: Final = "decision"
ACTIONS: Final = "actions"
KINDS: Final = "kinds"
TARGETS: Final = (ENTITIES, AREAS, FLOORS, LABELS)
"""Fields of a rule that name what it applies to."""
HOURS: Final = "hours"
PRESENCE: Final = "presence"
WHOM: Final = "whom"

ALWAYS: Final = "always"
ASK: Final = "ask"
PIN: Final = "pin"
ONLY: Final = "only"
NEVER: Final = "never"
DECISIONS: Final = {
    NEVER: Verdict.BLOCK,
    ONLY: Verdict.BLOCK,  # everything that the rule is not about
    PIN: Verdict.PIN,
    ASK: Verdict.CONFIRM,
    ALWAYS: Verdict.ALLOW,
}
"""What rules decide, the strictest first. Of several rules the strictest counts."""

EVERYDAY_ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "turn_on": ("*.turn_on", "*.toggle"),
    "turn_off": ("*.turn_off", "*.toggle"),
    "set_temperature": ("climate", "water_heater"),
    "play": ("media_player",),
    "run": ("script", "scene", "automation"),
    "announce": ("assist_satellite.announce", "tts.speak"),
}
"""Actions that need no confirmation by default, by name, as rules in text."""


PICKED_ACTIONS: Final[Mapping[str, RuleSet]] = {
    **{
        facts.name: RuleSet(facts.restricted, facts.unrestricted)
        for facts in DOMAINS.values()
        if facts.restricted
    },
    **{name: RuleSet(rules) for name, rules in EVERYDAY_ACTIONS.items()},
}
"""The actions to pick from: what needs a confirmation by default, by domain, and everyday ones."""

UNKNOWN_ACTION: Final = RuleSet(())
"""An action that this release does not know."""


class Rule(NamedTuple):
    """One rule of the household; an empty field means everything, everybody and always."""

    hass: HomeAssistant
    decision: str
    actions: tuple[RuleSet, ...] = ()
    kinds: RuleSet | None = None
    targets: Mapping[str, frozenset[str]] = MappingProxyType({})
    """By field, the entities, areas, floors and labels that the rule names."""
    hours: RuleHours | None = None
    presence: str = ""
    whom: tuple[str, ...] = ()

    @classmethod
    def of(cls, hass: HomeAssistant, item: object) -> Self | None:
        """Read a stored rule; None if it is none, or says nothing that would limit what it allows."""
        if not isinstance(item, Mapping) or str(item.get(DECISION)) not in DECISIONS:
            return None
        decision, named, kinds = str(item[DECISION]), as_texts(item.get(ACTIONS)), as_texts(item.get(KINDS))
        allows = decision in (ALWAYS, ONLY)
        # Of an action of a later release a rule that limits says nothing, one that allows nothing more.
        actions = (PICKED_ACTIONS.get(name, UNKNOWN_ACTION) for name in named)
        rule = cls(
            hass=hass,
            decision=decision,
            actions=tuple(action for action in actions if allows or action is not UNKNOWN_ACTION),
            kinds=RuleSet(kinds) if kinds else None,
            targets={key: frozenset(names) for key in TARGETS if (names := as_texts(item.get(key)))},
            hours=RuleHours.of(as_texts(item.get(HOURS))),
            presence=str(item.get(PRESENCE) or ""),
            whom=tuple(as_texts(item.get(WHOM))),
        )
        is_for_some = not allows and not named and rule.has_conditions
        return rule if is_for_some or not rule.is_about_everything else None

    @property
    def has_conditions(self) -> bool:
        """Return whether the rule applies to some people or at some times only."""
        return bool(self.hours or self.presence or self.whom)

    @property
    def is_about_everything(self) -> bool:
        """Return whether the rule is about every change of everything."""
        return not (self.actions or self.kinds is not None or self.targets)

    @callback
    def applies(self, occasion: Occasion) -> bool:
        """Return whether the rule applies now and to the one who asks.

        What is not known counts as the strict side.
        """
        held = [
            self.hours.holds(occasion) if self.hours else True,
            presence_holds(self.presence, occasion) if self.presence else True,
            whom_holds(self.whom, occasion) if self.whom else True,
        ]
        return all(held) if self.decision == ALWAYS else False not in held

    @callback
    def verdict(self, about: Effect | str, *, read_only: bool = False) -> Verdict | None:
        """Return what the rule says of an effect, or of a tool by its name; None if it says nothing.

        Of a tool that only reads it speaks only where it names it.
        """
        if isinstance(about, Effect):
            fits = self.fits(about)
        else:
            fits = self.is_about_everything if self.kinds is None else self.kinds.fits(about)
            if read_only and (self.decision == ONLY or self.kinds is None):
                return None
        return None if fits is (self.decision == ONLY) else DECISIONS[self.decision]

    @callback
    def fits(self, effect: Effect) -> bool:
        """Return whether the rule is about an effect.

        A rule is about changes: to read a calendar or a list is one only where the rule names it or its kind.
        """
        if self.actions and not any(action.fits(effect) for action in self.actions):
            return False
        if self.kinds is not None and not self.kinds.fits(effect):
            return False
        if effect.service in DOMAINS[effect.domain].reads and self.kinds is None:
            return effect.entity_id in self.targets.get(ENTITIES, ())
        if not self.targets:
            return True
        return effect.entity_id is not None and self.place_of(effect.entity_id) is not None

    @callback
    def trusts(self, effect: Effect) -> bool:
        """Return whether the rule allows this very script, scene or automation, and so trusts its content.

        A rule for a kind, an area or a label does not: nobody looked at what each of them does.
        """
        is_named = effect.entity_id in self.targets.get(ENTITIES, ()) or (
            self.kinds is not None and self.kinds.names(effect)
        )
        return self.decision == ALWAYS and is_named and self.fits(effect)

    @callback
    def place_of(self, entity_id: str) -> tuple[str, str] | None:
        """Return how the rule names an entity: the field, and the entity, area, floor or label in it."""
        places = {ENTITIES: {entity_id}}
        entry = er.async_get(self.hass).async_get(entity_id)
        if entry is not None and self.targets.keys() - places:
            area_id = er.async_get_effective_area_id(self.hass, entry)
            area = ar.async_get(self.hass).async_get_area(area_id) if area_id else None
            device = dr.async_get(self.hass).async_get(entry.device_id) if entry.device_id else None
            labels = (each.labels for each in (entry, device, area) if each is not None)
            places |= {
                AREAS: {area_id or ""},
                FLOORS: {(area and area.floor_id) or ""},
                LABELS: set().union(*labels),
            }
        named = {key: sorted(places.get(key, set()) & names) for key, names in self.targets.items()}
        return next(((key, names[0]) for key, names in named.items() if names), None)


WRITTEN: Final = {CONF_POLICY_BLOCKED: NEVER, CONF_POLICY_RESTRICTED: ASK, CONF_POLICY_ALLOWED: ALWAYS}
"""The lists of rules in text: what each decides."""


def read_rules(hass: HomeAssistant, settings: Mapping[str, Any]) -> list[Rule]:
    """Return all rules of the household; anything that is not a rule is left out."""
    written = (
        Rule(hass=hass, decision=decision, kinds=kinds)
        for option, decision in WRITTEN.items()
        if (kinds := RuleSet(map(trusting, as_texts(settings[option]))))
    )
    picked = settings[CONF_POLICY_CHOICES]
    read = (Rule.of(hass, item) for item in (picked if isinstance(picked, list) else ()))
    return [*written, *filter(None, read)]


def trusting(text: str) -> str:
    """Return a rule for a domain in text so that, where it allows, it trusts the content of scripts."""
    return text if "." in text or text.startswith(TOOL) else f"{text.strip()}.*"


def strictest(rules: Iterable[Rule], about: Effect | str, *, read_only: bool = False) -> Verdict | None:
    """Return what rules say of an effect or a tool; None if none of them is about it."""
    verdicts = (rule.verdict(about, read_only=read_only) for rule in rules)
    return max((verdict for verdict in verdicts if verdict is not None), default=None)
