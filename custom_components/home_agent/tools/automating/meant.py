"""Which automation is meant: one that was asked for, or one of the household's own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er

from ...errors import ValidationError
from ...knowledge.names import called, content_words, word_similarity
from ...texts import words
from ..base import ToolRun
from ..resolving.resolver import MAX_ERROR, listed
from .files import AUTOMATION, entity_of
from .records import OwnAutomation, OwnAutomations

SAME = 0.86


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An automation that Home Assistant has."""

    entity_id: str
    name: str
    id: str
    own: OwnAutomation | None = None
    """What is kept of one that was asked for."""


@callback
def known_automations(hass: HomeAssistant, own: OwnAutomations) -> list[Known]:
    """Return the automations of Home Assistant, those that were asked for first, the newest first."""
    registry = er.async_get(hass)
    found: dict[str, Known] = {}
    for one in own.all():
        entity_id = entity_of(hass, one.id)
        state = hass.states.get(entity_id) if entity_id else None
        if entity_id and state is not None:
            found[entity_id] = Known(entity_id=entity_id, name=state.name, id=one.id, own=one)
    for state in sorted(hass.states.async_all(AUTOMATION), key=lambda state: state.name.casefold()):
        entry = registry.async_get(state.entity_id)
        automation_id = str(entry.unique_id) if entry else str(state.attributes.get("id") or "")
        found.setdefault(state.entity_id, Known(entity_id=state.entity_id, name=state.name, id=automation_id))
    return list(found.values())


@callback
def seen_automations(run: ToolRun, own: OwnAutomations, user: User | None) -> list[Known]:
    """Return the automations that the speaker may know of: those that are exposed, an administrator all.

    Through an agent with lists, an administrator knows those in the lists, and those made with that agent.
    """
    is_admin = user is not None and user.is_admin and user.is_active
    narrows = run.guard.policy.view.narrows
    return [
        one
        for one in known_automations(run.hass, own)
        if run.reader.sees(one.entity_id) or (is_admin and (one.own is not None or not narrows))
    ]


def choose_automation(candidates: Sequence[Known], said: str, own: OwnAutomations, run: ToolRun) -> Known:
    """Return the automation of a name; without one the last of this conversation, or the only one.

    Raises ValidationError that lists those that there are.
    """
    if not candidates:
        raise ValidationError("name: there is no automation that can be meant")
    found = _named(candidates, said) if said else _last(candidates, own, run)
    if len(found) == 1:
        return found[0]
    names = listed([one.name for one in found or candidates], MAX_ERROR - 100)
    problem = "which one?" if found or not said else f"{said[:40]!r} is none of them."
    raise ValidationError(f"name: {problem} Automations: {names}"[:MAX_ERROR])


def _named(candidates: Sequence[Known], said: str) -> list[Known]:
    wanted = said.strip().casefold()
    if exact := [one for one in candidates if wanted in (one.entity_id, one.id, one.name.casefold())]:
        return exact[:1]
    asked = content_words(said)
    if found := called(candidates, " ".join(asked), lambda one: (one.name,), in_parts=True):
        return found
    # "The hallway automation": the word for an automation itself is in no name.
    scores = [(_mentions(one, asked), one) for one in candidates]
    best = max((score for score, _ in scores), default=0)
    return [one for score, one in scores if best and score == best]


def _mentions(one: Known, asked: Iterable[str]) -> int:
    has = {*words(one.name), *words(one.own.sentence if one.own else "")}
    return sum(any(word_similarity(word, other) >= SAME for other in has) for word in asked)


def _last(candidates: Sequence[Known], own: OwnAutomations, run: ToolRun) -> list[Known]:
    """Return the automation that was last spoken of here, else those that were asked for."""
    conversation_id = run.speaker.conversation_id
    for change in own.changes:
        if conversation_id and change.conversation_id == conversation_id:
            if same := [one for one in candidates if one.id == change.automation.id]:
                return same
            break
    return [one for one in candidates if one.own is not None]
