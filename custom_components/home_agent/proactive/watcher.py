"""RuleWatcher: tracks the entities of the rules and sends a message when a rule has held for long enough."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.debounce import Debouncer
from homeassistant.helpers.event import (
    async_track_state_change_event,
    async_track_time_interval,
)
from homeassistant.helpers.translation import async_translate_state
from homeassistant.util import dt as dt_util

from ..agent.describe import async_on_day, async_phrase
from ..channels.asking import Questions, Receivers
from ..const import CONF_PROACTIVE, CONF_PROACTIVE_RULES, CONF_PROACTIVE_SUGGESTIONS, LOGGER
from ..errors import ValidationError
from ..events import EventEmitter
from ..knowledge.house import HouseSnapshot, ViewedHouse
from ..memory.learner.habits import Habit
from ..safety.confirmation import ActionOutcome
from ..tools.automating.kept import OwnAutomations
from ..tools.guard import Guard
from .briefing import Brief, Briefings, read_briefings
from .messenger import Messenger, speakable
from .rules import MIN_RUN, OWN_RULE, ProactiveRule, holds, read_rules
from .state import ProactiveState, Watch
from .suggestions import Suggestions

SECONDS: Final = 900.0
"""How long a question of a rule waits for an answer."""
UNANSWERED: Final = frozenset({None, ActionOutcome.EXPIRED, ActionOutcome.WRONG_PIN})
"""Outcomes after which the message of the rule is sent instead. None: nobody could be asked."""
LOOK_EACH: Final = timedelta(seconds=10)
"""How often what is due is told. What belongs together goes into one message."""
RESCAN_SECONDS: Final = 10
"""Delay between a change of the registries or of exposure and the next search for entities to watch."""
MAX_NAMED: Final = 6
MAX_WATCHED: Final = 2_000
"""Entities that one rule may be about."""

type Key = tuple[str, str]
"""The key of a rule, and an entity."""


class RuleWatcher:
    """Watches the rules of one entry: one look at a rule brings all that it is about up to date."""

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
        self._watched: dict[str, frozenset[str]] = {}
        """By the key of a rule."""
        self._questions: dict[str, asyncio.Task[None]] = {}
        """The open question of each rule."""
        self._ends: list[CALLBACK_TYPE] = []
        self._untrack: CALLBACK_TYPE | None = None

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Start watching; return a function that stops it."""
        if not self._rules:
            return lambda: None
        scanning = Debouncer(
            self._hass,
            LOGGER,
            cooldown=RESCAN_SECONDS,
            immediate=False,
            function=self._async_rescan,
            background=True,
        )
        self._ends = [
            scanning.async_shutdown,
            self._house.async_listen(scanning.async_schedule_call),
            async_track_time_interval(self._hass, self._async_send_due, LOOK_EACH, cancel_on_shutdown=True),
        ]
        scan = self._hass.async_create_background_task(self._async_rescan(), "home_agent rules")

        @callback
        def stop() -> None:
            for task in (scan, *self._questions.values()):
                task.cancel()
            for end in (*self._ends, self._untrack):
                if end is not None:
                    end()
            self._ends, self._untrack = [], None

        return stop

    async def _async_rescan(self) -> None:
        """Find the entities that the rules cover now, track them, and look at all rules."""
        house = await self._house.async_snapshot()
        if not self._ends:
            return
        self._watched = {key: self._covered(rule, house) for key, rule in self._rules.items()}
        if self._untrack is not None:
            self._untrack()
        followed = frozenset().union(*self._watched.values())
        self._untrack = async_track_state_change_event(self._hass, followed, self._changed)
        self._look(self._rules)

    def _covered(self, rule: ProactiveRule, house: HouseSnapshot) -> frozenset[str]:
        """Return the exposed entities of a rule; of a device only those of the rule's first domain."""
        if rule.entities:
            return rule.entities & house.entities.keys()
        entries = er.async_get(self._hass)
        best: dict[str, str] = {}
        covered: list[str] = []
        for domain in rule.template.kinds:
            for record in house.of_domain(domain):
                state = self._hass.states.get(record.entity_id)
                if state is None or not rule.covers(state) or len(covered) == MAX_WATCHED:
                    continue
                entry = entries.async_get(record.entity_id)
                device = (entry.device_id if entry else None) or record.entity_id
                if best.setdefault(device, domain) == domain:
                    covered.append(record.entity_id)
        return frozenset(covered)

    @callback
    def _changed(self, event: Event[EventStateChangedData]) -> None:
        old, new, entity_id = event.data["old_state"], event.data["new_state"], event.data["entity_id"]
        if old is None or new is None or old.state != new.state:
            self._look(key for key, watched in self._watched.items() if entity_id in watched)

    @callback
    def _look(self, keys: Iterable[str]) -> None:
        """Bring the watches of rules up to date."""
        now = dt_util.utcnow()
        for key in keys:
            self._moments(self._rules[key], now)

    @callback
    def _moments(self, rule: ProactiveRule, now: datetime) -> list[tuple[str, datetime]]:
        """Return the entities of a rule that are to be told about, with the times when they are due."""
        condition = holds(self._hass, rule.template.condition, self._messenger.quiet.night)
        watched = sorted(self._watched.get(rule.key, ()))
        moments = ((each, self._moment(rule, each, now, condition=condition)) for each in watched)
        return [(entity_id, at) for entity_id, at in moments if at is not None]

    @callback
    def _moment(
        self, rule: ProactiveRule, entity_id: str, now: datetime, *, condition: bool | None
    ) -> datetime | None:
        """Bring the watch of an entity up to date; return when it is due, None if it need not be told."""
        key = (rule.key, entity_id)
        exposed, state = self._house.view.is_exposed(entity_id), self._hass.states.get(entity_id)
        matches = exposed and rule.matches(state)
        if matches is False or condition is False:
            self._end(rule, key, now, runs=exposed and matches is False)
            return None
        watch = self._state.watches.get(key)
        ends = rule.template.ends
        if state is None or matches is None or condition is None or (ends and not (watch and watch.begun)):
            return None
        if watch is None:
            watch = self._state.watches[key] = Watch()
        if watch.since is None:
            watch.since = now if rule.template.condition or ends else min(state.last_changed, now)
            self._state.changed()
        at = watch.since + rule.duration
        if watch.begun and at <= now and watch.since - watch.begun < MIN_RUN:
            del self._state.watches[key]
            return None
        return None if watch.notified else at

    @callback
    def _end(self, rule: ProactiveRule, key: Key, now: datetime, *, runs: bool) -> None:
        """End a watch: withdraw its message, and allow the next one."""
        watch = self._state.watches.pop(key, None)
        if rule.template.ends and runs:
            begun = watch.begun if watch is not None and watch.begun and not watch.notified else now
            self._state.watches[key] = Watch(begun=begun)
        if watch == self._state.watches.get(key):
            return  # it goes on, or there was none
        self._state.changed()
        others = (other for other_key, other in self._state.watches.items() if other_key[0] == rule.key)
        if watch is not None and watch.notified and not any(other.notified for other in others):
            if (question := self._questions.pop(rule.key, None)) is not None:
                question.cancel()
            clearing = self._messenger.async_clear(_tag(rule), self._persons(rule))
            self._hass.async_create_task(clearing, "home_agent notification")

    async def _async_send_due(self, now: datetime) -> None:
        """Send the messages that are due, one for each rule; what may not be sent now waits."""
        for key, rule in self._rules.items():
            due = [entity_id for entity_id, at in self._moments(rule, now) if at <= now]
            if not due or not self._messenger.may_send(now, urgent=rule.urgent):
                continue
            for entity_id in due:
                self._state.watches[key, entity_id].notified = True
            self._state.changed()
            if not rule.ask:
                await self._async_tell(rule, due)
                continue
            self._messenger.note_sent()
            if (older := self._questions.pop(key, None)) is not None:
                older.cancel()
            asking = self._async_ask(rule, due)
            self._questions[key] = self._hass.async_create_background_task(asking, "home_agent question")

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
                since = f"{dt_util.as_local(watch.since):%H:%M}"
                if not recent:
                    since = await async_on_day(self._hass, language, watch.since)
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
        habits: Callable[[], Sequence[Habit]],
        asker: Questions,
        automations: OwnAutomations,
        brief: Brief,
    ) -> None:
        self.messenger = messenger = Messenger(hass, entry_id, settings, state, emitter)
        self._state = state
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
        stored = settings[CONF_PROACTIVE_RULES]
        rules, briefings = read_rules(stored), read_briefings(stored, messenger.quiet)
        self._watcher = RuleWatcher(hass, rules, state, messenger, house, asker)
        self._briefings = Briefings(hass, guard, briefings, state, messenger, asker, brief)
        self._kept = [*(rule.key for rule in rules), *(briefing.key for briefing in briefings)]

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Start if the option enables it; return the stop function."""
        if not self._enabled:
            return lambda: None
        self._state.keep_rules(self._kept)
        ends = [self._watcher.async_start(), *self._briefings.async_start()]
        if self._suggests:
            ends.append(self.suggestions.async_start())

        @callback
        def stop() -> None:
            for end in ends:
                end()

        return stop
