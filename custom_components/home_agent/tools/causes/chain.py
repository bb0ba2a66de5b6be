"""From a change to what brought it about: a script or a scene, an automation and its trigger, a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID, EVENT_CALL_SERVICE
from homeassistant.core import Context, State

from ...safety.ledger import RecordedAction
from .recorded import REQUESTED, TRIGGERED, Change, Happening, happened_at
from .telling import CONNECTED, Viewer
from .traces import Run, Trigger, members, trigger_in_words

MAX_CONTEXTS: Final = 2
"""Contexts that are followed: that of the change, and that of what set off its automation."""
VOICE: Final = frozenset({"assist_satellite", "conversation"})
"""Domains of entities that change when somebody speaks to them."""
LATE: Final = 1.0
"""Seconds that an event may be stored after the change that belongs to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that is known of what ran: by the id of the context."""

    happenings: Mapping[str, Sequence[Happening]]
    runs: Mapping[str, Sequence[Run]]
    actions: Mapping[str, Sequence[RecordedAction]]


def causes_of(viewer: Viewer, change: Change, known: Known) -> list[str]:
    """Return what brought a change about, the nearest first; empty if nobody and nothing is known."""
    parts: list[str] = []
    entity_id, context, at = change.after.entity_id, change.after.context, change.at
    for _each in range(MAX_CONTEXTS):
        happened = known.happenings.get(context.id, ())
        runs = known.runs.get(context.id, ())
        above = known.happenings.get(context.parent_id or "", ())
        actions = sorted(known.actions.get(context.id, ()), key=lambda one: entity_id not in one.entity_ids)
        if scene := _scene(viewer, entity_id, happened, actions):
            parts.append(viewer.ran(scene, is_first=not parts))
        scripts = [run for run in runs if run.entity_id.startswith("script.")]
        for run in sorted(scripts, key=lambda each: each.started, reverse=True):
            if run.brought_about(viewer.hass, entity_id, at):
                parts.append(viewer.ran(run.entity_id, is_first=not parts))
                break
        automation, trigger = _automation(happened, runs)
        if automation:
            reason = viewer.because(trigger)
            told = viewer.ran(automation, is_first=not parts)
            parts.append(f"{told}, which ran {reason}" if reason else told)
        elif last := _last(viewer, context, happened, actions):
            return [*parts, last]
        elif not above and any(_is(one, EVENT_CALL_SERVICE) for one in happened):
            return [*parts, f"{'started ' if parts else ''}by {CONNECTED}"]
        if context.parent_id is None:
            break
        states = [one for one in above if isinstance(one, State) and happened_at(one) <= at + LATE]
        named = [one for one in states if one.entity_id == trigger.entity_id]
        cause = next(iter([*named, *states, *above]), None)
        if isinstance(cause, State):
            if cause.entity_id not in (entity_id, trigger.entity_id):
                parts.append(f"because {viewer.changed(cause.entity_id, cause.state)}")
            entity_id = cause.entity_id
        at = happened_at(cause) if cause else at
        context = cause.context if cause else Context(id=context.parent_id)
    return parts


def _is(happening: Happening, kind: str) -> bool:
    return not isinstance(happening, State) and str(happening.event_type).startswith(kind)


def _scene(
    viewer: Viewer, entity_id: str, happened: Sequence[Happening], actions: Sequence[RecordedAction]
) -> str | None:
    """Return the scene through which an entity certainly changed."""
    asked = [target for action in actions for target in action.entity_ids]
    if entity_id in asked:
        return None
    called = [
        target
        for one in happened
        if not isinstance(one, State) and one.event_type == EVENT_CALL_SERVICE
        for target in _targets(one.data)
    ]
    scenes = (target for target in (*called, *asked) if target.startswith("scene."))
    return next((scene for scene in scenes if entity_id in members(viewer.hass, scene)), None)


def _targets(data: Mapping[str, Any]) -> list[str]:
    """Return the entities of a service call."""
    given = data.get("service_data")
    entity_ids = given.get(ATTR_ENTITY_ID) if isinstance(given, Mapping) else None
    return [entity_ids] if isinstance(entity_ids, str) else sorted(map(str, entity_ids or ()))


def _automation(happened: Sequence[Happening], runs: Sequence[Run]) -> tuple[str, Trigger]:
    """Return the automation that ran in a context with its trigger; empty if none did."""
    events = (one.data for one in happened if not isinstance(one, State) and one.event_type == TRIGGERED)
    event: Mapping[str, Any] = next(events, {})
    described = trigger_in_words(str(event.get("source") or ""))
    for run in runs:
        if run.entity_id.startswith("automation."):
            return run.entity_id, run.trigger if run.trigger != Trigger() else described
    return str(event.get(ATTR_ENTITY_ID) or ""), described


def _last(
    viewer: Viewer, context: Context, happened: Sequence[Happening], actions: Sequence[RecordedAction]
) -> str | None:
    """Return the person, the request or the voice assistant where a chain ends; None if it goes on."""
    user_id = context.user_id or next((user for one in happened if (user := one.context.user_id)), None)
    if actions:
        action = actions[0]
        who = viewer.who_asked(action.user_id or user_id)
        had = "had planned" if action.planned is not None else "asked"
        return f"by you, as {who}{viewer.place(action.device_id)} {had}"
    if any(_is(one, REQUESTED) for one in happened):
        return f"by the voice assistant, as {viewer.who_asked(user_id)} asked"
    if user_id is not None:
        return f"by {viewer.person(user_id)}"
    for one in happened:
        if isinstance(one, State) and one.domain in VOICE:
            name = viewer.name_of(one.entity_id)
            return "by somebody at " + (f"the voice assistant {name}" if name else "a voice assistant")
    return None
