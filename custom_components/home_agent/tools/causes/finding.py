"""Finds what brought changes about: in the recorder, in traces, in the ledger and in the states of now."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from homeassistant.core import HomeAssistant, State, callback
from homeassistant.util import dt as dt_util

from ...knowledge.persons import persons
from ...safety.ledger import RecordedAction
from ..base import ToolRun
from ..members import async_is_member
from .chain import Known, Link, chain_of
from .recorded import GONE, async_recorded
from .records import Asked, Change, Evidence, Happening, Kind, Origin
from .stopped import async_stopped
from .telling import Viewer, tell, tell_cause, tell_stopped
from .traces import async_runs

MAX_ENTITIES: Final = 5
"""Entities whose changes are explained at once."""
SAME_MOMENT: Final = 1.0
"""Seconds between a change of the state and its last update within which both have one cause."""
PRIVATE: Final = frozenset({"person", "device_tracker"})
"""Domains that follow where people are: nobody brings their changes about."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A change with what is told of it."""

    change: Change
    links: Sequence[Link]
    viewer: Viewer

    @property
    def is_known(self) -> bool:
        """Return whether anything is known of what brought it about."""
        return bool(self.links)

    @property
    def is_of_state(self) -> bool:
        """Return whether the state changed, and not only a setting."""
        before = self.change.before
        return before is None or before.state != self.change.after.state

    @property
    def line(self) -> str:
        """Return the change with its time and what brought it about."""
        return tell(self.viewer, self.change, self.links)

    @property
    def cause(self) -> str:
        """Return what brought it about."""
        return tell_cause(self.viewer, self.links)


async def async_explain(
    run: ToolRun, asked: Sequence[Asked], may_read: Callable[[str], bool]
) -> dict[str, list[Explained]]:
    """Return the changes of entities with what brought them about, the oldest first."""
    wanted = [item for item in asked if item.entity_id.partition(".")[0] not in PRIVATE]
    recorded = await async_recorded(run.hass, wanted) or Evidence()
    known = {change.entity_id for change in recorded.changes}
    live = [change for item in wanted if (change := _live_change(run.hass, item, recorded.changes))]
    evidence = Evidence([*recorded.changes, *live], recorded.happenings)
    found = await _async_explained(run, evidence, may_read)
    # What only the state of now shows may be from the last start, which nobody brought about.
    told = {key: [one for one in some if key in known or one.is_known] for key, some in found.items()}
    return {key: some for key, some in told.items() if some}


async def async_explain_now(run: ToolRun, state: State, may_read: Callable[[str], bool]) -> Explained | None:
    """Return what brought an entity into its state, without the recorder; None if that is not known."""
    if state.domain in PRIVATE or not _is_of_one_cause(state):
        return None
    found = await _async_explained(run, Evidence([_change_of(state)]), may_read)
    ((explained,),) = found.values()
    return explained if explained.is_known else None


async def _async_explained(
    run: ToolRun, evidence: Evidence, may_read: Callable[[str], bool]
) -> dict[str, list[Explained]]:
    """Return changes with what brought them about."""
    hass = run.hass
    ids = {key for change in evidence.changes for key in (change.origin.context_id, change.origin.parent_id)}
    ids |= evidence.happenings.keys()
    happenings = {key: list(found) for key, found in evidence.happenings.items()}
    contexts = {key for key in ids if key}
    _add_live(hass, contexts, happenings)
    runs = await async_runs(hass, contexts)
    actions: dict[str, list[RecordedAction]] = {}
    for action in run.guard.journal.ledger.of_speaker(None):
        if action.success:
            actions.setdefault(action.context_id, []).append(action)
    known = Known(happenings=happenings, runs=runs, actions=actions)
    chains = [(change, chain_of(hass, change, known)) for change in evidence.changes]
    users = {link.user_id for _change, links in chains for link in links if link.user_id}
    viewer = await _async_viewer(run, may_read, users)
    found: dict[str, list[Explained]] = {}
    for change, links in chains:
        found.setdefault(change.entity_id, []).append(Explained(change, links, viewer))
    return found


async def async_not_done(
    run: ToolRun, entity_id: str, since: float, may_read: Callable[[str], bool], *, with_idle: bool
) -> list[str]:
    """Return which automations could have changed an entity since a time, and why they did not.

    With `with_idle` also those that were not triggered at all.
    """
    stopped = await async_stopped(run.hass, entity_id, since, with_idle=with_idle)
    viewer = await _async_viewer(run, may_read, ())
    return [tell_stopped(viewer, one) for one in stopped]


@callback
def _add_live(hass: HomeAssistant, ids: set[str], happenings: dict[str, list[Happening]]) -> None:
    """Add what the current states tell of contexts, where the recorder has not told of them.

    A context of an automation names its parent, so that both `ids` and `happenings` grow by these.
    """
    by_context: dict[str, list[State]] = {}
    for state in hass.states.async_all():
        by_context.setdefault(state.context.id, []).append(state)
    waiting = list(ids)
    while waiting:
        key = waiting.pop()
        known = happenings.get(key)
        if known:
            continue
        found = sorted(by_context.get(key, ()), key=lambda state: state.last_updated)
        happenings[key] = [_happening(state) for state in found]
        above = {one.origin.parent_id for one in happenings[key]} - ids - {None}
        ids |= {each for each in above if each}
        waiting += [each for each in above if each]


def _happening(state: State) -> Happening:
    """Return the current state of an entity as what happened in its context; of an automation it is a run."""
    ran = {"automation": Kind.AUTOMATION, "script": Kind.SCRIPT}.get(state.domain, Kind.STATE)
    return Happening(
        kind=ran,
        at=state.last_updated.timestamp(),
        origin=Origin.of(state.context),
        entity_id=state.entity_id,
        state=state.state,
    )


@callback
def _live_change(hass: HomeAssistant, asked: Asked, recorded: Iterable[Change]) -> Change | None:
    """Return the newest change as the state of now shows it, where the recorder does not have it."""
    state = hass.states.get(asked.entity_id)
    if state is None or state.state in GONE or not _is_of_one_cause(state):
        return None
    change = _change_of(state)
    if asked.start is not None and not asked.start <= change.at <= asked.end:
        return None
    if asked.fits is not None and not asked.fits(state):
        return None
    last = max((each.at for each in recorded if each.entity_id == asked.entity_id), default=0.0)
    return change if change.at > last + SAME_MOMENT else None


def _is_of_one_cause(state: State) -> bool:
    """Return whether the last update of a state was its last change."""
    return (state.last_updated - state.last_changed).total_seconds() <= SAME_MOMENT


def _change_of(state: State) -> Change:
    """Return the change that led to a state."""
    at = state.last_changed.timestamp()
    return Change(at=at, before=None, after=state, origin=Origin.of(state.context))


async def _async_viewer(run: ToolRun, may_read: Callable[[str], bool], users: Iterable[str]) -> Viewer:
    """Return what the speaker may know; `users` are those who are to be named."""
    speaker, hass = run.speaker, run.hass
    user_id = speaker.context.user_id
    is_member = await async_is_member(hass, speaker)
    return Viewer(
        hass=hass,
        house=run.house,
        sees=lambda entity_id: run.is_exposed(entity_id) and may_read(entity_id),
        may_read=may_read,
        is_member=is_member,
        names_people=is_member and (run.disclosure.home or run.disclosure.people),
        narrows=run.guard.policy.view.seen.narrows,
        user_id=user_id,
        accounts=await _async_accounts(hass, users),
    )


async def _async_accounts(hass: HomeAssistant, users: Iterable[str]) -> Mapping[str, str | None]:
    """Return the names of the accounts that have no person; None for those of services."""
    with_person = {one.user_id for one in persons(hass)}
    accounts: dict[str, str | None] = {}
    for user_id in users:
        if user_id not in with_person and (user := await hass.auth.async_get_user(user_id)) is not None:
            accounts[user_id] = None if user.system_generated else (user.name or "")
    return accounts


def asked_about(
    entity_ids: Iterable[str],
    *,
    start: float | None = None,
    end: float | None = None,
    most: int,
    entities: int = MAX_ENTITIES,
    fits: Mapping[str, Callable[[State], bool]] | None = None,
) -> list[Asked]:
    """Return the question for the newest changes of the first entities; times are timestamps."""
    until = end if end is not None else dt_util.utcnow().timestamp()
    return [
        Asked(entity_id=one, start=start, end=until, most=most, fits=(fits or {}).get(one))
        for one in list(entity_ids)[:entities]
    ]
