"""Finds what brought changes about: in the recorder, in traces, in the ledger and in the states of now."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from homeassistant.const import ATTR_ENTITY_ID, STATE_OFF
from homeassistant.core import Event, HomeAssistant, State, callback

from ...safety.ledger import RecordedAction
from ...timespans import format_local
from ..base import ToolRun
from ..members import async_is_member
from .chain import Known, causes_of
from .recorded import GONE, TRIGGERED, Asked, Change, Happening, async_recorded, happened_at
from .telling import Viewer, tell
from .traces import Run, async_runs

MOST_NOT_DONE: Final = 3
"""Automations that did nothing and are told."""
SAME_MOMENT: Final = 1.0
"""Seconds between a change of the state and its last update within which both have one cause."""
PRIVATE: Final = frozenset({"person", "device_tracker"})
"""Domains that follow where people are: nobody brings their changes about."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A change with what brought it about; `causes` is empty where that is not known."""

    change: Change
    causes: Sequence[str]
    viewer: Viewer

    @property
    def line(self) -> str:
        """Return the change with its time and what brought it about."""
        return tell(self.viewer, self.change, self.causes)


async def async_explain(
    run: ToolRun, asked: Sequence[Asked], may_read: Callable[[str], bool]
) -> dict[str, list[Explained]]:
    """Return the changes of entities with what brought them about, the oldest first."""
    wanted = [item for item in asked if item.entity_id.partition(".")[0] not in PRIVATE]
    recorded, happenings = await async_recorded(run.hass, wanted)
    live = [change for item in wanted if (change := _live_change(run.hass, item, recorded))]
    explained: dict[str, list[Explained]] = {}
    for one in await _async_explained(run, [*recorded, *live], happenings, may_read):
        # What only the state of now shows may be from the last start, which nobody brought about.
        if one.causes or one.change not in live or one.change.after.entity_id in explained:
            explained.setdefault(one.change.after.entity_id, []).append(one)
    return explained


async def async_explain_now(run: ToolRun, state: State, may_read: Callable[[str], bool]) -> str | None:
    """Return what brought an entity into its state, without the recorder; None if that is not known."""
    if state.domain in PRIVATE or not _is_of_one_cause(state):
        return None
    (explained,) = await _async_explained(run, [Change(None, state)], {}, may_read)
    return ", ".join(explained.causes) or None


async def _async_explained(
    run: ToolRun,
    changes: Sequence[Change],
    recorded: Mapping[str, Sequence[Happening]],
    may_read: Callable[[str], bool],
) -> list[Explained]:
    hass = run.hass
    contexts = [change.after.context for change in changes]
    ids = {key for context in contexts for key in (context.id, context.parent_id) if key}
    happenings = {**_live_happenings(hass, ids), **recorded}
    runs: dict[str, list[Run]] = {}
    for traced in await async_runs(hass, context_ids=ids):
        runs.setdefault(traced.context_id, []).append(traced)
    actions: dict[str, list[RecordedAction]] = {}
    for action in run.guard.journal.ledger.of_speaker(None):
        if action.success:
            actions.setdefault(action.context_id, []).append(action)
    known = Known(happenings=happenings, runs=runs, actions=actions)
    viewer = await _async_viewer(run, may_read)
    return [Explained(change, causes_of(viewer, change, known), viewer) for change in changes]


async def async_not_done(
    run: ToolRun, entity_id: str, since: float, may_read: Callable[[str], bool], *, with_idle: bool
) -> list[str]:
    """Return the automations that use an entity and are off, or whose conditions stopped them since a time.

    With `with_idle` also those that were not triggered at all.
    """
    hass = run.hass
    if "automation" not in hass.config.components:
        return []
    from homeassistant.components.automation import automations_with_entity  # noqa: PLC0415

    viewer = await _async_viewer(run, may_read)
    using = [state for one in automations_with_entity(hass, entity_id) if (state := hass.states.get(one))]
    runs = await async_runs(hass, automations=[state.entity_id for state in using])
    stopped = sorted((one for one in runs if one.is_stopped and one.started >= since), key=_started)
    lines = []
    for state in using:
        which, last = viewer.which(state.entity_id), state.attributes.get("last_triggered")
        if state.state == STATE_OFF:
            lines.append(f"{which} uses it and is turned off")
        elif with_idle and not any(one.entity_id == state.entity_id for one in stopped):
            at = last.timestamp() if isinstance(last, datetime) else 0.0
            if at < since:
                when = f"its last run was {format_local(at)}" if at else "it has never run"
                lines.append(f"{which} uses it and did not run; {when}")
    for one in stopped:
        which, reason = viewer.which(one.entity_id), viewer.because(one.trigger)
        triggered = f"was triggered {reason}".rstrip()
        lines.append(f"{format_local(one.started)} {which} {triggered}, but its conditions were not met")
    return lines[-MOST_NOT_DONE:]


def _started(run: Run) -> float:
    return run.started


@callback
def _live_happenings(hass: HomeAssistant, ids: Container[str]) -> dict[str, list[Happening]]:
    """Return what the current states tell of contexts; the state of an automation is a run of it."""
    happenings: dict[str, list[Happening]] = {}
    for state in sorted(hass.states.async_all(), key=happened_at):
        context = state.context
        if context.id not in ids or state.domain == "script":
            continue
        happening: Happening = state
        if state.domain == "automation":
            data = {ATTR_ENTITY_ID: state.entity_id}
            at = state.last_updated_timestamp
            happening = Event(TRIGGERED, data, context=context, time_fired_timestamp=at)
        happenings.setdefault(context.id, []).append(happening)
    return happenings


@callback
def _live_change(hass: HomeAssistant, asked: Asked, recorded: Iterable[Change]) -> Change | None:
    """Return the newest change as the state of now shows it, where the recorder does not have it."""
    state = hass.states.get(asked.entity_id)
    if state is None or state.state in GONE or not _is_of_one_cause(state):
        return None
    change = Change(None, state)
    if asked.start is not None and not asked.start <= change.at <= asked.end:
        return None
    if asked.fits is not None and not asked.fits(state):
        return None
    last = max((each.at for each in recorded if each.after.entity_id == asked.entity_id), default=0.0)
    return change if change.at > last + SAME_MOMENT else None


def _is_of_one_cause(state: State) -> bool:
    """Return whether the last update of a state was its last change."""
    return state.last_updated_timestamp - state.last_changed_timestamp <= SAME_MOMENT


async def _async_viewer(run: ToolRun, may_read: Callable[[str], bool]) -> Viewer:
    """Return what the speaker may know."""
    speaker, hass = run.speaker, run.hass
    is_member = await async_is_member(hass, speaker)
    users = await hass.auth.async_get_users()
    return Viewer(
        hass=hass,
        house=run.house,
        sees=lambda entity_id: run.is_exposed(entity_id) and may_read(entity_id),
        may_read=may_read,
        is_member=is_member,
        names_people=is_member and (run.disclosure.home or run.disclosure.people),
        narrows=run.guard.policy.view.seen.narrows,
        user_id=speaker.context.user_id,
        accounts={user.id: None if user.system_generated else (user.name or "") for user in users},
    )
