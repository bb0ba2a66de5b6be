"""RuleWatcher: follows the entities that the rules are about, and tells what has been so for long enough."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import batched
from typing import Any, Final

from homeassistant.core import (
    CALLBACK_TYPE,
    Event,
    EventStateChangedData,
    HassJob,
    HomeAssistant,
    State,
    callback,
)
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.event import (
    async_call_later,
    async_track_point_in_utc_time,
    async_track_state_change_event,
    async_track_time_change,
)
from homeassistant.helpers.translation import async_translate_state
from homeassistant.util import dt as dt_util

from ..agent.phrases import async_phrase
from ..knowledge.house import House, is_exposed
from .book import ProactiveState, Watch
from .circumstances import Circumstances
from .messenger import Messenger, speakable
from .rules import LEAST_RUN, OWN, ProactiveRule

GATHER_SECONDS: Final = 3
"""How long is waited for more that belongs into the same message."""
CALM_SECONDS: Final = 10
"""How long after a change of the house it is looked at anew what there is to watch."""
SLICE: Final = 50
"""Entities that are looked at before others get their turn."""
MOST_NAMED: Final = 6
MOST_WATCHED: Final = 2_000
"""Entities that one rule may be about."""

type Key = tuple[str, str]


class RuleWatcher:
    """Watches the rules of one entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        rules: Sequence[ProactiveRule],
        book: ProactiveState,
        messenger: Messenger,
        house: House,
    ) -> None:
        """Take the rules; nothing is watched before the start."""
        self._hass = hass
        self._rules = {rule.key: rule for rule in rules}
        self._book = book
        self._messenger = messenger
        self._house = house
        self._circumstances = Circumstances(hass, messenger.quiet)
        self._watched: dict[str, frozenset[str]] = {}
        """By the key of a rule."""
        self._timers: dict[Key, CALLBACK_TYPE] = {}
        self._due: set[Key] = set()
        self._gathering: CALLBACK_TYPE | None = None
        self._calming: CALLBACK_TYPE | None = None
        self._untrack: CALLBACK_TYPE | None = None
        self._stopped: list[CALLBACK_TYPE] = []
        self._walks: set[asyncio.Task[None]] = set()
        self._dirty = False

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Watch from now on; return how to stop that."""
        self._book.keep_rules(self._rules)
        self._stopped.append(self._house.async_listen(self._house_changed))
        night, quiet = self._circumstances.night, self._messenger.quiet
        for at in {night.start, night.end, quiet.end}:
            self._stopped.append(
                async_track_time_change(
                    self._hass, self._hour_strikes, hour=at.hour, minute=at.minute, second=at.second
                )
            )
        self._start(self._async_look_around())
        return self._stop

    @callback
    def _stop(self) -> None:
        """End everything that waits."""
        ends = [*self._stopped, *self._timers.values(), self._gathering, self._calming, self._untrack]
        for end in ends:
            if end is not None:
                end()
        for walk in self._walks:
            walk.cancel()
        self._stopped, self._timers = [], {}
        self._gathering = self._calming = self._untrack = None

    @callback
    def _start(self, walk: Coroutine[Any, Any, None]) -> None:
        """Walk through the house in the background."""
        task = self._hass.async_create_background_task(walk, "home_agent rules")
        self._walks.add(task)
        task.add_done_callback(self._walks.discard)

    @callback
    def _house_changed(self) -> None:
        """Look again what there is to watch, with what else changes until then."""
        if self._calming is None:
            job = HassJob(self._look_around, cancel_on_shutdown=True)
            self._calming = async_call_later(self._hass, CALM_SECONDS, job)

    @callback
    def _look_around(self, _now: datetime) -> None:
        """Begin to look around."""
        self._calming = None
        self._start(self._async_look_around())

    async def _async_look_around(self) -> None:
        """Find what the rules are about now, and follow that."""
        self._watched = {key: await self._async_concerned(rule) for key, rule in self._rules.items()}
        around = {
            state.entity_id
            for circumstance in {rule.template.meanwhile for rule in self._rules.values()} - {None}
            for state in self._circumstances.states(circumstance)
        }
        followed = around.union(*self._watched.values())
        if self._untrack is not None:
            self._untrack()
        self._untrack = async_track_state_change_event(self._hass, followed, self._changed)
        await self._async_look_at_all()

    async def _async_concerned(self, rule: ProactiveRule) -> frozenset[str]:
        """Return the exposed entities that a rule is about."""
        named = (self._hass.states.get(entity_id) for entity_id in rule.entities)
        states = named if rule.entities else self._hass.states.async_all(rule.template.kinds)
        concerned = [state.entity_id for state in states if state is not None and rule.concerns(state)]
        found: list[str] = []
        for some in batched(concerned[:MOST_WATCHED], SLICE, strict=False):
            found += (entity_id for entity_id in some if is_exposed(self._hass, entity_id))
            await asyncio.sleep(0)
        return frozenset(found if rule.entities else self._once(found, tuple(rule.template.kinds)))

    def _once(self, entity_ids: Iterable[str], domains: Sequence[str]) -> list[str]:
        """Return entities without those that tell of a device what an earlier domain's tells already."""
        entries, best = er.async_get(self._hass), dict[str, str]()
        devices: dict[str, str] = {}
        for entity_id in sorted(entity_ids, key=lambda entity_id: domains.index(entity_id.partition(".")[0])):
            entry = entries.async_get(entity_id)
            devices[entity_id] = device = entry.device_id or entity_id if entry else entity_id
            best.setdefault(device, entity_id.partition(".")[0])
        return [key for key, device in devices.items() if key.partition(".")[0] == best[device]]

    @callback
    def _hour_strikes(self, _now: datetime) -> None:
        """Look at everything when night or quiet hours begin or end; what is gone is forgotten."""
        gone = [key for key in self._book.watches if self._hass.states.get(key[1]) is None]
        for key in gone:
            del self._book.watches[key]
        self._start(self._async_look_at_all())

    async def _async_look_at_all(self) -> None:
        """Look at every rule."""
        for key, rule in self._rules.items():
            await self._async_look_at(rule, self._watched.get(key, frozenset()))

    async def _async_look_at(self, rule: ProactiveRule, entity_ids: frozenset[str]) -> None:
        """Look at many entities of one rule."""
        for some in batched(entity_ids, SLICE, strict=False):
            self._look_at(rule, some)
            await asyncio.sleep(0)

    @callback
    def _changed(self, event: Event[EventStateChangedData]) -> None:
        """An entity changed: look at the rules about it, and at those that depend on it."""
        entity_id, old, new = event.data["entity_id"], event.data["old_state"], event.data["new_state"]
        if old is not None and new is not None and old.state == new.state:
            return
        state = new or old
        for key, rule in self._rules.items():
            watched, meanwhile = self._watched.get(key, frozenset()), rule.template.meanwhile
            if state is not None and meanwhile and self._circumstances.matters(meanwhile, state):
                self._start(self._async_look_at(rule, watched))
            elif entity_id in watched:
                self._look_at(rule, (entity_id,))

    @callback
    def _look_at(self, rule: ProactiveRule, entity_ids: Iterable[str]) -> None:
        """Look at entities of one rule."""
        now, meanwhile = dt_util.utcnow(), self._circumstances.holds(rule.template.meanwhile)
        for entity_id in entity_ids:
            self._look(rule, entity_id, now, meanwhile=meanwhile)
        if self._dirty:
            self._dirty = False
            self._book.changed()

    @callback
    def _look(self, rule: ProactiveRule, entity_id: str, now: datetime, *, meanwhile: bool | None) -> None:
        """Bring the watch of an entity up to date, and have it told when it is time."""
        key = (rule.key, entity_id)
        if (timer := self._timers.pop(key, None)) is not None:
            timer()
        exposed = is_exposed(self._hass, entity_id)
        fits = exposed and rule.fits(self._hass.states.get(entity_id))
        if fits is False or meanwhile is False:
            self._end(rule, key, now, runs=exposed and fits is False)
            return
        if fits is None or meanwhile is None:
            return
        watch = self._book.watches.get(key)
        if rule.template.ends and (watch is None or watch.begun is None):
            return
        if watch is None:
            watch = self._book.watches[key] = Watch()
        if watch.since is None:
            watch.since = self._since(rule, entity_id, now)
            self._dirty = True
        if watch.told:
            return
        if (at := watch.since + rule.duration) > now:
            self._timers[key] = async_track_point_in_utc_time(
                self._hass, HassJob(partial(self._time_is_up, key), cancel_on_shutdown=True), at
            )
        else:
            self._note_due(key)

    def _since(self, rule: ProactiveRule, entity_id: str, now: datetime) -> datetime:
        """Return since when it has been so, as far as that is known."""
        state = self._hass.states.get(entity_id)
        if state is None or rule.template.meanwhile is not None or rule.template.ends:
            return now
        return min(state.last_changed, now)

    @callback
    def _end(self, rule: ProactiveRule, key: Key, now: datetime, *, runs: bool) -> None:
        """It is not so any more: it may be told anew, and what was told is taken back."""
        self._due.discard(key)
        watch = self._book.watches.get(key)
        if rule.template.ends and runs:
            begun = watch.begun if watch is not None and watch.begun and not watch.told else now
            self._book.watches[key] = Watch(begun=begun)
            self._dirty = True
        elif watch is not None:
            del self._book.watches[key]
            self._dirty = True
        if watch is None or not watch.told:
            return
        if not any(other.told for other_key, other in self._book.watches.items() if other_key[0] == rule.key):
            self._hass.async_create_task(
                self._messenger.async_clear(_tag(rule), self._persons(rule)), "home_agent notification"
            )

    @callback
    def _time_is_up(self, key: Key, _now: datetime) -> None:
        """Something has been so for long enough, if it still is."""
        self._timers.pop(key, None)
        self._look_at(self._rules[key[0]], (key[1],))

    @callback
    def _note_due(self, key: Key) -> None:
        """Have something told, with what else comes in the next seconds."""
        self._due.add(key)
        if self._gathering is None:
            job = HassJob(self._async_tell, cancel_on_shutdown=True)
            self._gathering = async_call_later(self._hass, GATHER_SECONDS, job)

    async def _async_tell(self, _now: datetime) -> None:
        """Tell what is due and still so, one message for each rule; the rest waits for its hour."""
        self._gathering = None
        due, self._due = self._due, set()
        for key, rule in self._rules.items():
            now = dt_util.utcnow()
            found = sorted(entity_id for rule_key, entity_id in due if rule_key == key)
            found = [entity_id for entity_id in found if self._is_due(rule, entity_id, now)]
            if not found or not self._messenger.may_tell(now, urgent=rule.urgent):
                continue
            for entity_id in found:
                self._book.watches[key, entity_id].told = True
            self._book.changed()
            await self._messenger.async_tell(
                _tag(rule),
                await self._async_message(rule, found),
                self._persons(rule),
                urgent=rule.urgent,
            )

    def _is_due(self, rule: ProactiveRule, entity_id: str, now: datetime) -> bool:
        """Return whether something is still so and was not told."""
        watch = self._book.watches.get((rule.key, entity_id))
        if watch is None or watch.told or watch.since is None or watch.since + rule.duration > now:
            return False
        if rule.template.ends and (watch.begun is None or watch.since - watch.begun < LEAST_RUN):
            del self._book.watches[rule.key, entity_id]
            return False
        return (
            is_exposed(self._hass, entity_id)
            and rule.fits(self._hass.states.get(entity_id)) is True
            and self._circumstances.holds(rule.template.meanwhile) is True
        )

    def _persons(self, rule: ProactiveRule) -> Iterable[str]:
        """Return who is told."""
        return rule.persons or self._messenger.persons

    async def _async_message(self, rule: ProactiveRule, entity_ids: Sequence[str]) -> str:
        """Return the sentences about entities, one line each."""
        lines = [await self._async_line(rule, entity_id) for entity_id in entity_ids[:MOST_NAMED]]
        more = len(entity_ids) - len(lines)
        return "\n".join([*lines, f"+ {more}"] if more else lines)

    async def _async_line(self, rule: ProactiveRule, entity_id: str) -> str:
        """Return the sentence about one entity."""
        state = self._hass.states.get(entity_id)
        since = self._book.watches[rule.key, entity_id].since
        return await async_phrase(
            self._hass,
            self._hass.config.language,
            f"told_{rule.name}",
            name=speakable(state.name if state else entity_id),
            state=self._shown(state) if state and rule.name == OWN else "",
            time=_clock(since) if since else "",
        )

    def _shown(self, state: State) -> str:
        """Return a state as people read it."""
        entry = er.async_get(self._hass).async_get(state.entity_id)
        return speakable(
            async_translate_state(
                self._hass,
                state.state,
                state.domain,
                entry.platform if entry else None,
                entry.translation_key if entry else None,
                state.attributes.get("device_class"),
            )
        )


def _tag(rule: ProactiveRule) -> str:
    """Return what marks the messages of a rule."""
    return f"rule_{sha256(rule.key.encode()).hexdigest()[:12]}"


def _clock(at: datetime) -> str:
    """Return a moment as it is told: the time, with the day where that is not today's or last night's."""
    local = dt_util.as_local(at)
    recent = dt_util.utcnow() - at < timedelta(hours=20)
    return f"{local:%H:%M}" if recent else f"{local:%Y-%m-%d %H:%M}"
