"""RuleWatcher: tracks the entities of the rules and sends a message when a rule has held for long enough."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
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
from ..channels.asking import Asker, Lead, Receivers
from ..const import CONF_PROACTIVE, CONF_PROACTIVE_RULES, CONF_PROACTIVE_SUGGESTIONS, LOGGER
from ..errors import ValidationError
from ..events import EventEmitter
from ..knowledge.view import ViewedHouse
from ..memory.learner.habits import KnownHabit
from ..safety.confirmation import ActionOutcome
from ..tools.automating.kept import OwnAutomations
from ..tools.guard import Guard
from .messenger import Messenger, speakable
from .rules import MIN_RUN, OWN_RULE, Conditions, ProactiveRule, read_rules
from .state import ProactiveState, Watch
from .suggestions import Suggestions

SECONDS: Final = 900.0
"""How long a question of a rule waits for an answer."""
UNANSWERED: Final = frozenset({None, ActionOutcome.EXPIRED, ActionOutcome.WRONG_PIN})
"""Outcomes after which the message of the rule is sent instead. None: nobody could be asked."""


class RuleQuestions:
    """The open questions of one entry, one for each rule."""

    def __init__(self, hass: HomeAssistant, asker: Asker) -> None:
        self._hass = hass
        self._asker = asker
        self._open: dict[str, asyncio.Task[None]] = {}

    @callback
    def ask(
        self,
        rule: ProactiveRule,
        entity_ids: Sequence[str],
        lead: Lead,
        persons: Iterable[str],
        unanswered: Callable[[], Awaitable[None]],
    ) -> None:
        """Ask in the background, in place of an older question; `unanswered` is awaited if nobody answers."""
        self.withdraw(rule.key)
        work = self._async_ask(rule, entity_ids, lead, tuple(persons), unanswered)
        task = self._hass.async_create_background_task(work, "home_agent question")
        self._open[rule.key] = task

        def forget(done: asyncio.Task[None]) -> None:
            if self._open.get(rule.key) is done:
                del self._open[rule.key]

        task.add_done_callback(forget)

    @callback
    def withdraw(self, key: str) -> None:
        """Take the question of a rule back."""
        if (task := self._open.pop(key, None)) is not None:
            task.cancel()

    @callback
    def stop(self) -> None:
        """Take all questions back."""
        for key in list(self._open):
            self.withdraw(key)

    async def _async_ask(
        self,
        rule: ProactiveRule,
        entity_ids: Sequence[str],
        lead: Lead,
        persons: tuple[str, ...],
        unanswered: Callable[[], Awaitable[None]],
    ) -> None:
        satellites = self._asker.near_somebody() if rule.aloud else ()
        receivers = Receivers(persons=persons, satellites=satellites)
        outcome: ActionOutcome | None = None
        try:
            proposal = self._asker.propose(rule.ask, rule.ask_entities or entity_ids)
        except ValidationError as err:
            LOGGER.info("What a rule asks about is not possible now: %s", err)
        else:
            outcome = await self._asker.async_propose(proposal, lead, receivers, SECONDS)
        if outcome in UNANSWERED:
            await unanswered()


COLLECT_SECONDS: Final = 3
"""How long the watcher collects parts of the same message."""
RESCAN_SECONDS: Final = 10
"""Delay between a change of the registries or of exposure and the next search for entities to watch."""
SLICE: Final = 50
"""Entities that are evaluated before the event loop continues."""
MAX_NAMED: Final = 6
MAX_WATCHED: Final = 2_000
"""Entities that one rule may be about."""

type Key = tuple[str, str]


class RuleWatcher:
    """Watches the rules of one entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        rules: Sequence[ProactiveRule],
        state: ProactiveState,
        messenger: Messenger,
        house: ViewedHouse,
        asker: Asker,
    ) -> None:
        self._hass = hass
        self._rules = {rule.key: rule for rule in rules}
        self._state = state
        self._messenger = messenger
        self._house = house
        self._questions = RuleQuestions(hass, asker)
        self._conditions = Conditions(hass, messenger.quiet)
        self._watched: dict[str, frozenset[str]] = {}
        """By the key of a rule."""
        self._timers: dict[Key, CALLBACK_TYPE] = {}
        self._due: set[Key] = set()
        self._collect_timer: CALLBACK_TYPE | None = None
        self._rescan_timer: CALLBACK_TYPE | None = None
        self._untrack: CALLBACK_TYPE | None = None
        self._stopped: list[CALLBACK_TYPE] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._dirty = False

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Start watching; return a function that stops it."""
        self._state.keep_rules(self._rules)
        self._stopped.append(self._house.async_listen(self._house_changed))
        night, quiet = self._conditions.night, self._messenger.quiet
        for at in {night.start, night.end, quiet.end}:
            self._stopped.append(
                async_track_time_change(
                    self._hass, self._hours_changed, hour=at.hour, minute=at.minute, second=at.second
                )
            )
        self._start(self._async_rescan())
        return self._stop

    @callback
    def _stop(self) -> None:
        ends = [
            *self._stopped,
            *self._timers.values(),
            self._collect_timer,
            self._rescan_timer,
            self._untrack,
        ]
        for end in ends:
            if end is not None:
                end()
        for task in self._tasks:
            task.cancel()
        self._questions.stop()
        self._stopped, self._timers = [], {}
        self._collect_timer = self._rescan_timer = self._untrack = None

    @callback
    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._hass.async_create_background_task(work, "home_agent rules")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @callback
    def _house_changed(self) -> None:
        """Schedule a search for entities to watch; further changes until then need no other one."""
        if self._rescan_timer is None:
            job = HassJob(self._rescan, cancel_on_shutdown=True)
            self._rescan_timer = async_call_later(self._hass, RESCAN_SECONDS, job)

    @callback
    def _rescan(self, _now: datetime) -> None:
        self._rescan_timer = None
        self._start(self._async_rescan())

    async def _async_rescan(self) -> None:
        """Find the entities that the rules cover now, track them, and evaluate all rules."""
        self._watched = {key: await self._async_covered(rule) for key, rule in self._rules.items()}
        relevant = {
            state.entity_id
            for condition in {rule.template.condition for rule in self._rules.values()} - {None}
            for state in self._conditions.states(condition)
        }
        followed = relevant.union(*self._watched.values())
        if self._untrack is not None:
            self._untrack()
        self._untrack = async_track_state_change_event(self._hass, followed, self._changed)
        await self._async_evaluate_all()

    async def _async_covered(self, rule: ProactiveRule) -> frozenset[str]:
        named = (self._hass.states.get(entity_id) for entity_id in rule.entities)
        states = named if rule.entities else self._hass.states.async_all(rule.template.kinds)
        covered = [state.entity_id for state in states if state is not None and rule.covers(state)]
        found: list[str] = []
        for some in batched(covered[:MAX_WATCHED], SLICE, strict=False):
            found += (entity_id for entity_id in some if self._house.view.is_exposed(entity_id))
            await asyncio.sleep(0)
        return frozenset(
            found if rule.entities else self._without_duplicates(found, tuple(rule.template.kinds))
        )

    def _without_duplicates(self, entity_ids: Iterable[str], domains: Sequence[str]) -> list[str]:
        """Return entities; of a device only those of the first of the domains."""
        entries, best = er.async_get(self._hass), dict[str, str]()
        devices: dict[str, str] = {}
        for entity_id in sorted(entity_ids, key=lambda entity_id: domains.index(entity_id.partition(".")[0])):
            entry = entries.async_get(entity_id)
            devices[entity_id] = device = entry.device_id or entity_id if entry else entity_id
            best.setdefault(device, entity_id.partition(".")[0])
        return [key for key, device in devices.items() if key.partition(".")[0] == best[device]]

    @callback
    def _hours_changed(self, _now: datetime) -> None:
        """Evaluate all rules when night or quiet hours begin or end; drop entities that no longer exist."""
        gone = [key for key in self._state.watches if self._hass.states.get(key[1]) is None]
        for key in gone:
            del self._state.watches[key]
        self._start(self._async_evaluate_all())

    async def _async_evaluate_all(self) -> None:
        for key, rule in self._rules.items():
            await self._async_evaluate(rule, self._watched.get(key, frozenset()))

    async def _async_evaluate(self, rule: ProactiveRule, entity_ids: frozenset[str]) -> None:
        for some in batched(entity_ids, SLICE, strict=False):
            self._evaluate(rule, some)
            await asyncio.sleep(0)

    @callback
    def _changed(self, event: Event[EventStateChangedData]) -> None:
        """An entity changed: look at the rules about it, and at those that depend on it."""
        entity_id, old, new = event.data["entity_id"], event.data["old_state"], event.data["new_state"]
        if old is not None and new is not None and old.state == new.state:
            return
        state = new or old
        for key, rule in self._rules.items():
            watched, condition = self._watched.get(key, frozenset()), rule.template.condition
            if state is not None and condition and self._conditions.matters(condition, state):
                self._start(self._async_evaluate(rule, watched))
            elif entity_id in watched:
                self._evaluate(rule, (entity_id,))

    @callback
    def _evaluate(self, rule: ProactiveRule, entity_ids: Iterable[str]) -> None:
        now, condition = dt_util.utcnow(), self._conditions.holds(rule.template.condition)
        for entity_id in entity_ids:
            self._evaluate_entity(rule, entity_id, now, condition=condition)
        if self._dirty:
            self._dirty = False
            self._state.changed()

    @callback
    def _evaluate_entity(
        self, rule: ProactiveRule, entity_id: str, now: datetime, *, condition: bool | None
    ) -> None:
        """Update the watch of an entity, and schedule its message."""
        key = (rule.key, entity_id)
        if (timer := self._timers.pop(key, None)) is not None:
            timer()
        exposed = self._house.view.is_exposed(entity_id)
        matches = exposed and rule.matches(self._hass.states.get(entity_id))
        if matches is False or condition is False:
            self._end(rule, key, now, runs=exposed and matches is False)
            return
        if matches is None or condition is None:
            return
        watch = self._state.watches.get(key)
        if rule.template.ends and (watch is None or watch.begun is None):
            return
        if watch is None:
            watch = self._state.watches[key] = Watch()
        if watch.since is None:
            watch.since = self._since(rule, entity_id, now)
            self._dirty = True
        if watch.notified:
            return
        if (at := watch.since + rule.duration) > now:
            self._timers[key] = async_track_point_in_utc_time(
                self._hass, HassJob(partial(self._time_is_up, key), cancel_on_shutdown=True), at
            )
        else:
            self._note_due(key)

    def _since(self, rule: ProactiveRule, entity_id: str, now: datetime) -> datetime:
        """Return since when the entity has matched, as far as that is known."""
        state = self._hass.states.get(entity_id)
        if state is None or rule.template.condition is not None or rule.template.ends:
            return now
        return min(state.last_changed, now)

    @callback
    def _end(self, rule: ProactiveRule, key: Key, now: datetime, *, runs: bool) -> None:
        """End a watch: withdraw its message, and allow the next one."""
        self._due.discard(key)
        watch = self._state.watches.get(key)
        if rule.template.ends and runs:
            begun = watch.begun if watch is not None and watch.begun and not watch.notified else now
            self._state.watches[key] = Watch(begun=begun)
            self._dirty = True
        elif watch is not None:
            del self._state.watches[key]
            self._dirty = True
        if watch is None or not watch.notified:
            return
        if not any(
            other.notified for other_key, other in self._state.watches.items() if other_key[0] == rule.key
        ):
            self._questions.withdraw(rule.key)
            self._hass.async_create_task(
                self._messenger.async_clear(_tag(rule), self._persons(rule)), "home_agent notification"
            )

    @callback
    def _time_is_up(self, key: Key, _now: datetime) -> None:
        self._timers.pop(key, None)
        self._evaluate(self._rules[key[0]], (key[1],))

    @callback
    def _note_due(self, key: Key) -> None:
        """Schedule a message, together with others that become due in the next seconds."""
        self._due.add(key)
        if self._collect_timer is None:
            job = HassJob(self._async_send_due, cancel_on_shutdown=True)
            self._collect_timer = async_call_later(self._hass, COLLECT_SECONDS, job)

    async def _async_send_due(self, _now: datetime) -> None:
        """Send due messages that still apply, one for each rule; the others wait until they are due."""
        self._collect_timer = None
        due, self._due = self._due, set()
        for key, rule in self._rules.items():
            now = dt_util.utcnow()
            found = sorted(entity_id for rule_key, entity_id in due if rule_key == key)
            found = [entity_id for entity_id in found if self._is_due(rule, entity_id, now)]
            if not found or not self._messenger.may_send(now, urgent=rule.urgent):
                continue
            for entity_id in found:
                self._state.watches[key, entity_id].notified = True
            self._state.changed()
            if rule.ask:
                self._messenger.note_sent()
                lead, late = (
                    partial(self._async_message, rule, found),
                    partial(self._async_unanswered, rule, found),
                )
                self._questions.ask(rule, found, lead, self._persons(rule), late)
            else:
                await self._async_tell(rule, found)

    async def _async_tell(
        self, rule: ProactiveRule, entity_ids: Sequence[str], *, counted: bool = False
    ) -> None:
        """Send the message of a rule; `counted` if a question about it has counted already."""
        message = await self._async_message(rule, entity_ids, self._hass.config.language)
        await self._messenger.async_send(
            _tag(rule), message, self._persons(rule), urgent=rule.urgent, asked_for=counted
        )

    async def _async_unanswered(self, rule: ProactiveRule, entity_ids: Sequence[str]) -> None:
        """Tell what nobody has answered to, as far as it is still so; in quiet hours it is asked again."""
        entity_ids = [one for one in entity_ids if (rule.key, one) in self._state.watches]
        if not entity_ids:
            return
        if rule.urgent or not self._messenger.quiet.holds(dt_util.utcnow()):
            await self._async_tell(rule, entity_ids, counted=True)
            return
        for entity_id in entity_ids:
            if (watch := self._state.watches.get((rule.key, entity_id))) is not None:
                watch.notified = False
        self._state.changed()

    def _is_due(self, rule: ProactiveRule, entity_id: str, now: datetime) -> bool:
        """Return whether an entity still matches, and no message about it was sent."""
        watch = self._state.watches.get((rule.key, entity_id))
        if watch is None or watch.notified or watch.since is None or watch.since + rule.duration > now:
            return False
        if rule.template.ends and (watch.begun is None or watch.since - watch.begun < MIN_RUN):
            del self._state.watches[rule.key, entity_id]
            return False
        return (
            self._house.view.is_exposed(entity_id)
            and rule.matches(self._hass.states.get(entity_id)) is True
            and self._conditions.holds(rule.template.condition) is True
        )

    def _persons(self, rule: ProactiveRule) -> Iterable[str]:
        return rule.persons or self._messenger.persons

    async def _async_message(self, rule: ProactiveRule, entity_ids: Sequence[str], language: str) -> str:
        lines = [await self._async_line(rule, entity_id, language) for entity_id in entity_ids[:MAX_NAMED]]
        more = len(entity_ids) - len(lines)
        return "\n".join([*lines, f"+ {more}"] if more else lines)

    async def _async_line(self, rule: ProactiveRule, entity_id: str, language: str) -> str:
        state = self._hass.states.get(entity_id)
        watch = self._state.watches.get((rule.key, entity_id))
        since = watch.since if watch else None
        return await async_phrase(
            self._hass,
            language,
            f"told_{rule.name}",
            name=speakable(state.name if state else entity_id),
            state=self._shown(state) if state and rule.name == OWN_RULE else "",
            time=_clock(since) if since else "",
        )

    def _shown(self, state: State) -> str:
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
    return f"rule_{sha256(rule.key.encode()).hexdigest()[:12]}"


def _clock(at: datetime) -> str:
    """Return the time of a moment, with the date unless it was within the last 20 hours."""
    local = dt_util.as_local(at)
    recent = dt_util.utcnow() - at < timedelta(hours=20)
    return f"{local:%H:%M}" if recent else f"{local:%Y-%m-%d %H:%M}"


class Proactive:
    """The proactive messages of one entry: none, unless the option enables them."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry_id: str,
        settings: Mapping[str, Any],
        *,
        state: ProactiveState,
        guard: Guard,
        emitter: EventEmitter,
        house: ViewedHouse,
        habits: Callable[[], Sequence[KnownHabit]],
        asker: Asker,
        automations: OwnAutomations,
    ) -> None:
        self.messenger = messenger = Messenger(hass, entry_id, settings, state, emitter)
        self._enabled = bool(settings[CONF_PROACTIVE])
        self._suggests = bool(settings[CONF_PROACTIVE_SUGGESTIONS])
        self.suggestions = Suggestions(
            hass,
            entry_id,
            state=state,
            messenger=messenger,
            guard=guard,
            emitter=emitter,
            habits=habits,
            automations=automations,
        )
        self._watcher = RuleWatcher(
            hass, read_rules(settings[CONF_PROACTIVE_RULES]), state, messenger, house, asker
        )

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Start if the option enables it; return the stop function."""
        self.suggestions.adopt_accepted()
        if not self._enabled:
            return lambda: None
        ends = [self._watcher.async_start()]
        if self._suggests:
            ends.append(self.suggestions.async_start())

        @callback
        def stop() -> None:
            for end in ends:
                end()

        return stop
