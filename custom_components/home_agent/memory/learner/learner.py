"""Learner: finds habits once a night and stores them as memories."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, Final

from homeassistant.components.automation import automations_with_entity
from homeassistant.components.sensor import SensorDeviceClass
from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_ENTITY_ID
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import device_registry as dr, entity_registry as er
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from ...const import CONF_LEARNING_SOURCE, LOGGER, SOURCE_INFLUXDB
from ...knowledge.house import AgentView
from ...knowledge.speaker import USER_PREFIX, Person, async_find_person, async_person_of_user, persons
from ..memories import Memories, make_memory
from ..records import Origin, Provenance
from .habits import (
    DAY_BEGINS,
    IN_USE,
    Habit,
    Observation,
    Phrase,
    Thing,
    Things,
    async_sentence,
    find_habits,
    habit_day,
    without_doubles,
)
from .observations import DAYS, Observations, is_learned
from .sources import (
    ObservationSource,
    SourceError,
    acts,
    influx_source,
    read_power,
    starts,
    watched_domains,
)


def build_learner(
    hass: HomeAssistant,
    settings: Mapping[str, Any],
    observations: Observations,
    memories: Memories,
    phrase: Phrase,
    view: AgentView,
) -> Learner:
    """Return the learner with the source that the options name."""
    from_influxdb = settings[CONF_LEARNING_SOURCE] == SOURCE_INFLUXDB
    source = influx_source(hass, settings) if from_influxdb else ObservationSource(hass)
    return Learner(hass, observations, memories, source=source, phrase=phrase, view=view)


EVERY: Final = timedelta(hours=1)
"""How often is looked whether a day has to be read. A night that was missed is read that soon."""
FINE: Final = timedelta(minutes=5)
QUIET: Final = timedelta(minutes=20)
"""How long a day has been over before it is read; the recorder tidies up a little after four."""
MIN_SPAN: Final = 14
"""Days that are looked at for something new in the home."""
MIN_DAYS: Final = 7
"""Least number of days for a habit."""
MAX_NAMED: Final = 3
"""Entities of one habit that are named; of the rest it is said how many."""
PRIVATE_DOMAINS: Final = frozenset({"person", "lock"})
PRIVATE_CLASSES: Final = frozenset({"door", "garage", "gate"})
"""Habits that reveal when no one is at home or an entrance is open: never for strangers or the cloud."""


class Learner:
    """Observes one home for one agent."""

    def __init__(
        self,
        hass: HomeAssistant,
        observations: Observations,
        memories: Memories,
        *,
        source: ObservationSource,
        phrase: Phrase,
        view: AgentView,
    ) -> None:
        self._hass = hass
        self._view = view
        self._observations = observations
        self._memories = memories
        self._source = source
        self._phrase = phrase
        self._trouble = ""
        self._working = asyncio.Lock()

    @property
    def habits(self) -> Sequence[Habit]:
        """Return the habits that were found last."""
        return tuple(self._observations.habits)

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Learn from now on; return how to stop that."""
        self._memories.on_forgotten = self._observations.silence
        unsubscribe = async_track_time_interval(
            self._hass, self.async_learn, EVERY, cancel_on_shutdown=True, name="home_agent learner"
        )

        @callback
        def stop() -> None:
            unsubscribe()
            self._memories.on_forgotten = None

        return stop

    async def async_learn(self, now: datetime) -> None:
        """Read the days that are over, unless that is done; a source that fails is asked again later."""
        if self._working.locked():
            return
        async with self._working:
            day = habit_day(dt_util.as_local(now - QUIET))
            until = dt_util.start_of_local_day(day).replace(hour=DAY_BEGINS // 60)
            read_until = self._observations.read_until
            if read_until is not None and read_until >= until:
                return
            try:
                await self._async_collect(read_until, until)
            except SourceError as err:
                if str(err) != self._trouble:
                    LOGGER.warning("Nothing is learned from what happens in the house: %s", err)
                self._trouble = str(err)
                return
            self._trouble = ""
            kept, watched = self._observations, self._observed() | self._power_sensors()
            people = {person.id for person in persons(self._hass)}
            people |= {f"{USER_PREFIX}{user.id}" for user in await self._hass.auth.async_get_users()}
            kept.keep_only(watched, people)
            last = dt_util.as_local(until).date() - timedelta(days=1)
            entries = er.async_get(self._hass)
            things = {
                entity_id: Thing(
                    entry.device_id if (entry := entries.async_get(entity_id)) else None,
                    state.name if (state := self._hass.states.get(entity_id)) else "",
                )
                for entity_id in watched
            }
            found = await self._hass.async_add_executor_job(_find, kept, last, things)
            new = [habit for habit in found if not any(map(habit.is_same, kept.silenced))]
            await self._async_note(new, until)

    async def _async_collect(self, read_until: datetime | None, until: datetime) -> None:
        """Read the events since the last time, day by day; if one day fails, the earlier ones are kept."""
        kept = self._observations
        oldest = until - timedelta(days=DAYS)
        start = max(read_until or oldest, oldest)
        entity_ids, sensors = self._observed(), self._power_sensors()
        weeks = await self._source.async_levels(sensors, oldest, until, EVERY)
        powers = {key: power for key, hours in weeks.items() if (power := read_power(hours))}
        while start < until:
            end = min(start + timedelta(days=1), until)
            changes = await self._source.async_changes(entity_ids, start, end)
            last = dict(kept.last)
            done = acts(changes, last)
            # The persons who did it, and none of Home Assistant's own users.
            known: dict[str | None, Person | None] = {}
            observed: list[Observation] = []
            for act in await self._hass.async_add_executor_job(list, done):
                if act.person not in known:
                    user = await self._hass.auth.async_get_user(act.person) if act.person else None
                    is_own = user is None or user.system_generated
                    known[act.person] = None if is_own else await async_person_of_user(self._hass, act.person)
                who = known[act.person]
                if act.subject.startswith("person."):
                    who = await async_find_person(self._hass, act.subject)
                at, person_id = dt_util.as_local(act.at), who.id if who else None
                observed.append(act._replace(at=at, person=person_id))
            levels = await self._source.async_levels(powers, start, end, FINE)
            observed += [
                Observation(dt_util.as_local(at), key, IN_USE)
                for key, steps in levels.items()
                for at in starts(steps, powers[key])
            ]
            if kept.since is None and changes:
                kept.since = habit_day(dt_util.as_local(start))
            kept.last = last
            kept.add(observed, end)
            start = end

    async def _async_note(self, found: Sequence[Habit], now: datetime) -> None:
        names = {person.id: person.name for person in persons(self._hass)}
        left = list(self._observations.habits)
        noted = []
        for habit in found:
            if (known := next(filter(habit.is_same, left), None)) is not None:
                left.remove(known)
            who = names.get(habit.person or "", "")
            names_of = [_name(self._hass, subject) for subject in habit.subjects[:MAX_NAMED]]
            more = len(habit.subjects) - len(names_of)
            name = " + ".join([*names_of, str(more)] if more else names_of)
            unit = self._hass.config.units.temperature_unit
            text = await async_sentence(self._phrase, habit, name, who, unit)
            named = replace(habit, id=known.id if known else ulid_now(), name=name, who=who, text=text)
            if await self._async_remember(named, now):
                noted.append(named)
        gone = [known.id for known in left if (memory := self._memories.get(known.id)) and is_learned(memory)]
        await self._memories.async_drop(gone)
        self._observations.set_habits(noted)

    async def _async_remember(self, habit: Habit, now: datetime) -> bool:
        """Store a habit, or its current confidence; return whether there was space.

        Half its confidence is its importance, so that it never crowds out what a person said. What
        a person has said about it meanwhile stays as it was said.
        """
        heard = Provenance(at=now, person=habit.person)
        if (memory := self._memories.get(habit.id)) is None:
            made = make_memory(habit.text, origin=Origin.OBSERVED, heard=heard)
            memory = replace(made, id=habit.id, provenance=())
        elif not is_learned(memory):
            return True
        return await self._memories.async_observe(
            replace(
                memory,
                content=habit.text,
                importance=round(habit.confidence / 2, 3),
                person=habit.person,
                private=any(_is_private(self._hass, subject) for subject in habit.subjects),
                provenance=(*memory.provenance[:1], heard),
            )
        )

    @callback
    def _observed(self) -> set[str]:
        """Return the entities that people act on and that the agent may see.

        Groups are left out, because their members count. If the source does not know who did something,
        entities of automations are left out, too.
        """
        return {
            state.entity_id
            for state in self._hass.states.async_all(watched_domains())
            if self._view.is_exposed(state.entity_id)
            and ATTR_ENTITY_ID not in state.attributes
            and (self._source.knows_who or not automations_with_entity(self._hass, state.entity_id))
        }

    @callback
    def _power_sensors(self) -> set[str]:
        return {
            state.entity_id
            for state in self._hass.states.async_all("sensor")
            if state.attributes.get(ATTR_DEVICE_CLASS) == SensorDeviceClass.POWER
            and self._view.is_exposed(state.entity_id)
        }


def _find(kept: Observations, last: date, things: Things) -> list[Habit]:
    """Return the habits of the last weeks, each once; runs in a worker thread.

    Something new in the home is looked at from when it was first used, two weeks at least.
    """
    oldest = last - timedelta(days=DAYS - 1)
    since = max(kept.since or last, oldest)
    by_subject: dict[str, list[Observation]] = {}
    for item in kept.all():
        by_subject.setdefault(item.subject, []).append(item)
    found: list[Habit] = []
    for items in by_subject.values():
        first = oldest if items[0].value == IN_USE else since  # statistics reach further back
        begun = min(habit_day(item.at) for item in items)
        first = max(first, min(begun, last - timedelta(days=MIN_SPAN - 1)))
        if (last - first).days + 1 >= MIN_DAYS:
            found += find_habits(items, first, last)
    return without_doubles(found, by_subject, things)


@callback
def _name(hass: HomeAssistant, entity_id: str) -> str:
    state = hass.states.get(entity_id)
    entry = er.async_get(hass).async_get(entity_id)
    if entity_id.startswith("sensor.") and entry and entry.device_id:
        device = dr.async_get(hass).async_get(entry.device_id)
        if device and (name := device.name_by_user or device.name):
            return name
    return state.name if state else entity_id


@callback
def _is_private(hass: HomeAssistant, entity_id: str) -> bool:
    state = hass.states.get(entity_id)
    kind = state.attributes.get(ATTR_DEVICE_CLASS) if state else None
    return entity_id.partition(".")[0] in PRIVATE_DOMAINS or kind in PRIVATE_CLASSES
