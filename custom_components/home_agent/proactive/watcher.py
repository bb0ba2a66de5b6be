"""RuleWatcher: tracks the entities of the rules and sends a message when a rule has held for long enough."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, Event, EventStateChangedData, HassJob, HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.event import (
    async_call_later,
    async_track_point_in_utc_time,
    async_track_state_change_event,
    async_track_time_change,
)
from homeassistant.helpers.translation import async_translate_state
from homeassistant.util import dt as dt_util

from ..agent.describe import async_phrase
from ..channels.asking import Questions, Receivers
from ..const import CONF_PROACTIVE, CONF_PROACTIVE_RULES, CONF_PROACTIVE_SUGGESTIONS, LOGGER
from ..errors import ValidationError
from ..events import EventEmitter
from ..knowledge.house import ViewedHouse
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
COLLECT_SECONDS: Final = 3
"""How long the watcher collects parts of the same message."""
RESCAN_SECONDS: Final = 10
"""Delay between a change of the registries or of exposure and the next search for entities to watch."""
SLICE: Final = 50
"""Entities that are looked at before the event loop continues."""
MAX_NAMED: Final = 6
MAX_WATCHED: Final = 2_000
"""Entities that one rule may be about."""

type Key = tuple[str, str]
"""The key of a rule, and an entity."""


class RuleWatcher:
    """Watches the rules of one entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        rules: Sequence[ProactiveRule],
        state: ProactiveState,
        messenger: Messenger,
        house: ViewedHouse,
        asker: Questions,
    ) -> None:
        self._hass = hass
        self._rules = {rule.key: rule for rule in rules}
        self._state = state
        self._messenger = messenger
        self._house = house
        self._asker = asker
        self._conditions = Conditions(hass, messenger.quiet)
        self._watched: dict[str, frozenset[str]] = {}
        """By the key of a rule."""
        self._questions: dict[str, asyncio.Task[None]] = {}
        """The open question of each rule."""
        self._due: set[Key] = set()
        self._timers: dict[Key | str, CALLBACK_TYPE] = {}
        """What ends each timer and each listener."""
        self._tasks: set[asyncio.Task[None]] = set()

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Start watching; return a function that stops it."""
        self._state.keep_rules(self._rules)

        @callback
        def rescan(_now: datetime | None = None) -> None:
            self._timers.pop("rescan", None)
            self._start(self._async_rescan())

        @callback
        def hours_changed(_now: datetime) -> None:
            """Evaluate all rules as night or quiet hours begin or end; drop entities that no longer exist."""
            for key in [key for key in self._state.watches if self._hass.states.get(key[1]) is None]:
                del self._state.watches[key]
            self._evaluate_all()

        ends = [self._house.async_listen(partial(self._later, "rescan", RESCAN_SECONDS, rescan))]
        night, quiet = self._conditions.night, self._messenger.quiet
        ends += [
            async_track_time_change(
                self._hass, hours_changed, hour=at.hour, minute=at.minute, second=at.second
            )
            for at in {night.start, night.end, quiet.end}
        ]
        rescan()

        @callback
        def stop() -> None:
            for end in (*ends, *self._timers.values()):
                end()
            for task in (*self._tasks, *self._questions.values()):
                task.cancel()
            self._timers.clear()

        return stop

    @callback
    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._hass.async_create_background_task(work, "home_agent rules")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @callback
    def _later(self, name: str, seconds: float, action: Callable[[datetime], Any]) -> None:
        """Have something done once, however often it is asked for until then."""
        if name not in self._timers:
            job = HassJob(action, cancel_on_shutdown=True)
            self._timers[name] = async_call_later(self._hass, seconds, job)

    async def _async_rescan(self) -> None:
        """Find the entities that the rules cover now, track them, and evaluate all rules."""
        self._watched = {key: await self._async_covered(rule) for key, rule in self._rules.items()}
        relevant = {
            state.entity_id
            for condition in {rule.template.condition for rule in self._rules.values()} - {None}
            for state in self._conditions.states(condition)
        }
        followed = relevant.union(*self._watched.values())
        if (untrack := self._timers.pop("states", None)) is not None:
            untrack()
        self._timers["states"] = async_track_state_change_event(self._hass, followed, self._changed)
        self._evaluate_all()

    async def _async_covered(self, rule: ProactiveRule) -> frozenset[str]:
        """Return the exposed entities of a rule; of a device only those of the rule's first domain."""
        named = (self._hass.states.get(entity_id) for entity_id in rule.entities)
        states = named if rule.entities else self._hass.states.async_all(rule.template.kinds)
        covered = [state.entity_id for state in states if state is not None and rule.covers(state)]
        exposed: list[str] = []
        for number, entity_id in enumerate(covered[:MAX_WATCHED]):
            if self._house.view.is_exposed(entity_id):
                exposed.append(entity_id)
            if number % SLICE == 0:
                await asyncio.sleep(0)
        if rule.entities:
            return frozenset(exposed)
        entries, domains = er.async_get(self._hass), tuple(rule.template.kinds)
        best: dict[str, str] = {}
        found: list[str] = []
        for entity_id in sorted(exposed, key=lambda entity_id: domains.index(entity_id.partition(".")[0])):
            entry, domain = entries.async_get(entity_id), entity_id.partition(".")[0]
            device = (entry.device_id if entry else None) or entity_id
            if best.setdefault(device, domain) == domain:
                found.append(entity_id)
        return frozenset(found)

    @callback
    def _evaluate_all(self) -> None:
        for key, rule in self._rules.items():
            self._evaluate(rule, self._watched.get(key, ()))

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
                self._evaluate(rule, watched)
            elif entity_id in watched:
                self._evaluate(rule, (entity_id,))

    @callback
    def _evaluate(self, rule: ProactiveRule, entity_ids: Iterable[str]) -> None:
        now, condition = dt_util.utcnow(), self._conditions.holds(rule.template.condition)
        changes = [
            self._evaluate_entity(rule, entity_id, now, condition=condition) for entity_id in entity_ids
        ]
        if any(changes):
            self._state.changed()

    @callback
    def _evaluate_entity(
        self, rule: ProactiveRule, entity_id: str, now: datetime, *, condition: bool | None
    ) -> bool:
        """Update the watch of an entity, and schedule its message; return whether the watch has changed."""
        key = (rule.key, entity_id)
        if (timer := self._timers.pop(key, None)) is not None:
            timer()
        exposed, state = self._house.view.is_exposed(entity_id), self._hass.states.get(entity_id)
        matches = exposed and rule.matches(state)
        if matches is False or condition is False:
            return self._end(rule, key, now, runs=exposed and matches is False)
        if matches is None or condition is None:
            return False
        watch = self._state.watches.get(key)
        if rule.template.ends and (watch is None or watch.begun is None):
            return False
        if watch is None:
            watch = self._state.watches[key] = Watch()
        begins = watch.since is None
        if watch.since is None:
            depends = state is None or rule.template.condition is not None or rule.template.ends
            watch.since = now if state is None or depends else min(state.last_changed, now)
        if not watch.notified and (at := watch.since + rule.duration) > now:

            @callback
            def time_is_up(_now: datetime) -> None:
                self._timers.pop(key, None)
                self._evaluate(rule, (entity_id,))

            job = HassJob(time_is_up, cancel_on_shutdown=True)
            self._timers[key] = async_track_point_in_utc_time(self._hass, job, at)
        elif not watch.notified:
            # Others that become due in the next seconds go into the same message.
            self._due.add(key)
            self._later("collect", COLLECT_SECONDS, self._async_send_due)
        return begins

    @callback
    def _end(self, rule: ProactiveRule, key: Key, now: datetime, *, runs: bool) -> bool:
        """End a watch: withdraw its message, and allow the next one; return whether there was anything."""
        self._due.discard(key)
        watch = self._state.watches.pop(key, None)
        begins = rule.template.ends and runs
        if begins:
            begun = watch.begun if watch is not None and watch.begun and not watch.notified else now
            self._state.watches[key] = Watch(begun=begun)
        if watch is not None and watch.notified:
            watches = self._state.watches.items()
            if not any(other.notified for other_key, other in watches if other_key[0] == rule.key):
                if (question := self._questions.pop(rule.key, None)) is not None:
                    question.cancel()
                clearing = self._messenger.async_clear(_tag(rule), self._persons(rule))
                self._hass.async_create_task(clearing, "home_agent notification")
        return begins or watch is not None

    async def _async_send_due(self, _now: datetime) -> None:
        """Send due messages that still apply, one for each rule; the others wait until they are due."""
        self._timers.pop("collect", None)
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
            if not rule.ask:
                await self._async_tell(rule, found)
                continue
            self._messenger.note_sent()
            if (older := self._questions.pop(key, None)) is not None:
                older.cancel()
            task = self._hass.async_create_background_task(
                self._async_ask(rule, found), "home_agent question"
            )
            self._questions[key] = task

    async def _async_ask(self, rule: ProactiveRule, entity_ids: Sequence[str]) -> None:
        """Ask about what a rule proposes.

        What nobody answers to is told, as far as it is still so; in quiet hours it is asked again.
        """
        satellites = self._asker.near_somebody() if rule.aloud else ()
        receivers = Receivers(persons=tuple(self._persons(rule)), satellites=satellites)
        outcome: ActionOutcome | None = None
        try:
            proposal = self._asker.propose(rule.ask, rule.ask_entities or entity_ids)
        except ValidationError as err:
            LOGGER.info("What a rule asks about is not possible now: %s", err)
        else:
            lead = partial(self._async_message, rule, entity_ids)
            outcome = await self._asker.async_propose(proposal, lead, receivers, SECONDS)
        entity_ids = [entity_id for entity_id in entity_ids if (rule.key, entity_id) in self._state.watches]
        if outcome not in UNANSWERED or not entity_ids:
            return
        if rule.urgent or not self._messenger.quiet.holds(dt_util.utcnow()):
            await self._async_tell(rule, entity_ids, counted=True)
            return
        for entity_id in entity_ids:
            self._state.watches[rule.key, entity_id].notified = False
        self._state.changed()

    async def _async_tell(
        self, rule: ProactiveRule, entity_ids: Sequence[str], *, counted: bool = False
    ) -> None:
        """Send the message of a rule; `counted` if a question about it has counted already."""
        message = await self._async_message(rule, entity_ids, self._hass.config.language)
        await self._messenger.async_send(
            _tag(rule), message, self._persons(rule), urgent=rule.urgent, asked_for=counted
        )

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

    def _persons(self, rule: ProactiveRule) -> Sequence[str]:
        return rule.persons or self._messenger.persons

    async def _async_message(self, rule: ProactiveRule, entity_ids: Sequence[str], language: str) -> str:
        lines = []
        for entity_id in entity_ids[:MAX_NAMED]:
            state = self._hass.states.get(entity_id)
            watch = self._state.watches.get((rule.key, entity_id))
            since, shown = "", ""
            if watch is not None and watch.since is not None:
                recent = dt_util.utcnow() - watch.since < timedelta(hours=20)
                since = f"{dt_util.as_local(watch.since):{'%H:%M' if recent else '%Y-%m-%d %H:%M'}}"
            if state is not None and rule.name == OWN_RULE:
                entry = er.async_get(self._hass).async_get(entity_id)
                platform, key = (entry.platform, entry.translation_key) if entry else (None, None)
                device_class = state.attributes.get("device_class")
                shown = async_translate_state(
                    self._hass, state.state, state.domain, platform, key, device_class
                )
            lines.append(
                await async_phrase(
                    self._hass,
                    language,
                    f"told_{rule.name}",
                    name=speakable(state.name if state else entity_id),
                    state=speakable(shown) if shown else "",
                    time=since,
                )
            )
        more = len(entity_ids) - len(lines)
        return "\n".join([*lines, f"+ {more}"] if more else lines)


def _tag(rule: ProactiveRule) -> str:
    return f"rule_{sha256(rule.key.encode()).hexdigest()[:12]}"


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
        asker: Questions,
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
