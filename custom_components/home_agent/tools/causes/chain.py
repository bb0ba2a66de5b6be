"""From a change to what brought it about: scripts, automations and their triggers, people."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant

from ...safety.ledger import RecordedAction
from .records import Change, Happening, Kind, Origin
from .traces import Run, Trigger, trigger_in_words

MAX_LINKS: Final = 6
VOICE: Final = frozenset({"assist_satellite", "conversation"})
"""Domains of entities that change when somebody speaks to them."""
LATE: Final = 1.0
"""Seconds that an event may be stored after the change that belongs to it."""


class LinkKind(Enum):
    """What a link of the chain is."""

    SCENE = auto()
    SCRIPT = auto()
    AUTOMATION = auto()
    ENTITY = auto()
    """Another entity, whose change led to this one."""
    REQUEST = auto()
    """A request to Home Agent."""
    VOICE = auto()
    """A sentence at a voice assistant."""
    PERSON = auto()
    SERVICE = auto()
    """A service call of which nothing else is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One link: what brought about the one before it."""

    kind: LinkKind
    entity_id: str = ""
    state: str = ""
    trigger: Trigger = field(default_factory=Trigger)
    user_id: str | None = None
    device_id: str | None = None
    planned: bool = False
    """Whether what was requested had been planned for later."""
    own: bool = False
    """Whether this agent was asked, and not another one of Home Agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that is known of what ran: by the id of the context."""

    happenings: Mapping[str, Sequence[Happening]]
    runs: Mapping[str, Sequence[Run]]
    actions: Mapping[str, Sequence[RecordedAction]]


def chain_of(hass: HomeAssistant, change: Change, known: Known) -> list[Link]:
    """Return the links of a change, from the nearest one; empty if nobody and nothing is known."""
    links: list[Link] = []
    seen: set[str] = set()
    about, at, origin = change.entity_id, change.at, change.origin
    while len(links) < MAX_LINKS and origin.context_id and origin.context_id not in seen:
        seen.add(origin.context_id)
        step = _Step(hass, known, about, at, origin)
        links += step.through()
        if (automation := step.automation()) is not None:
            links.append(automation)
        elif (last := step.last()) is not None:
            links.append(last)
            break
        following = step.parent()
        if following is None:
            break
        if following.kind is Kind.STATE and following.entity_id:
            told = automation is not None and automation.trigger.entity_id == following.entity_id
            if not told and following.entity_id != about:
                links.append(Link(kind=LinkKind.ENTITY, entity_id=following.entity_id, state=following.state))
            about = following.entity_id
        at, origin = following.at, following.origin
    return links


@dataclass(frozen=True, slots=True)
class _Step:
    """One context on the way, and what changed in it."""

    hass: HomeAssistant
    known: Known
    about: str
    at: float
    origin: Origin

    @property
    def found(self) -> Sequence[Happening]:
        """Return what happened in the context."""
        return self.known.happenings.get(self.origin.context_id, ())

    @property
    def actions(self) -> Sequence[RecordedAction]:
        """Return what Home Agent did in the context, first what was about this entity."""
        mine = self.known.actions.get(self.origin.context_id, ())
        return sorted(mine, key=lambda action: self.about not in action.entity_ids)

    def through(self) -> Iterable[Link]:
        """Yield the scene and the script through which the entity certainly changed."""
        called = (one for each in self.found if each.kind is Kind.CALL for one in sorted(each.targets))
        asked = (one for action in self.actions for one in action.entity_ids)
        direct = any(self.about in action.entity_ids for action in self.actions)
        for entity_id in dict.fromkeys((*called, *asked)):
            if entity_id.startswith("scene.") and not direct and self._has_member(entity_id):
                yield Link(kind=LinkKind.SCENE, entity_id=entity_id)
                break
        runs = self._runs("script.")
        for run in sorted(runs, key=lambda each: each.started, reverse=True):
            if run.brought_about(self.hass, self.about, self.at):
                yield Link(kind=LinkKind.SCRIPT, entity_id=run.entity_id)
                break

    def _has_member(self, entity_id: str) -> bool:
        """Return whether a scene sets the entity."""
        state = self.hass.states.get(entity_id)
        members = state.attributes.get(ATTR_ENTITY_ID) if state else None
        return isinstance(members, list | tuple) and self.about in members

    def _runs(self, prefix: str) -> list[Run]:
        """Return the traced runs of automations or scripts in this context."""
        runs = self.known.runs.get(self.origin.context_id, ())
        return [run for run in runs if run.entity_id.startswith(prefix)]

    def automation(self) -> Link | None:
        """Return the automation that ran in this context; None if none did."""
        traced = self._runs("automation.")
        event = next((one for one in self.found if one.kind is Kind.AUTOMATION), None)
        if traced:
            run = traced[0]
            trigger = run.trigger
            if not trigger.is_known and event is not None:
                trigger = trigger_in_words(event.source)
            return Link(kind=LinkKind.AUTOMATION, entity_id=run.entity_id, trigger=trigger)
        if event is None:
            return None
        return Link(
            kind=LinkKind.AUTOMATION, entity_id=event.entity_id, trigger=trigger_in_words(event.source)
        )

    def last(self) -> Link | None:
        """Return the person, the request or the voice assistant where the chain ends; None if it goes on."""
        user_id = self.origin.user_id or next(filter(None, (one.origin.user_id for one in self.found)), None)
        if self.actions:
            action = self.actions[0]
            return Link(
                kind=LinkKind.REQUEST,
                user_id=action.user_id or user_id,
                device_id=action.device_id,
                planned=action.planned is not None,
                own=True,
            )
        if any(one.kind is Kind.REQUEST for one in self.found):
            return Link(kind=LinkKind.REQUEST, user_id=user_id)
        if user_id is not None:
            return Link(kind=LinkKind.PERSON, user_id=user_id)
        for one in self.found:
            if one.kind is Kind.STATE and one.entity_id.partition(".")[0] in VOICE:
                return Link(kind=LinkKind.VOICE, entity_id=one.entity_id)
        called = any(one.kind is Kind.CALL for one in self.found)
        return Link(kind=LinkKind.SERVICE) if called and self.parent() is None else None

    def parent(self) -> Happening | None:
        """Return what happened in the parent of this context, first the trigger of its automation."""
        runs = self.known.runs.get(self.origin.context_id, ())
        ids = (
            self.origin.parent_id,
            *(one.origin.parent_id for one in self.found),
            *(run.parent_id for run in runs),
        )
        parent_id = next(filter(None, ids), None)
        if parent_id is None:
            return None
        automation = self.automation()
        trigger = automation.trigger.entity_id if automation else ""
        above = self.known.happenings.get(parent_id, ())
        states = [one for one in above if one.kind is Kind.STATE and one.at <= self.at + LATE]
        named = next((one for one in states if one.entity_id == trigger), None)
        first = named or next(iter(states), None) or next(iter(above), None)
        if first is not None:
            return first
        if parent_id in self.known.runs or parent_id in self.known.actions:
            return Happening(kind=Kind.REQUEST, at=self.at, origin=Origin(context_id=parent_id))
        return None
