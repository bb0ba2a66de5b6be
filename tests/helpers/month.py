"""A month of the demo house: what its people do again and again, and much that means nothing."""

# ruff: noqa: S311 - months are made the same way every time

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import count
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from pytest_homeassistant_custom_component.common import MockUser
from sqlalchemy import delete, func, insert
from sqlalchemy.orm import Session

from custom_components.home_agent.memory.learner.habits import EVERY_DAY, WEEKEND, WORKDAYS
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.recorder import get_instance
from homeassistant.components.recorder.db_schema import (
    Events,
    EventTypes,
    StateAttributes,
    States,
    StatesMeta,
    Statistics,
    StatisticsMeta,
)
from homeassistant.components.recorder.models import StatisticMeanType
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.recorder import session_scope
from homeassistant.util.json import JsonValueType
from homeassistant.util.ulid import ulid_now, ulid_to_bytes

ZONE = ZoneInfo("Europe/Amsterdam")
TODAY = date(2026, 4, 3)
"""A Friday, five days after the clocks were put forward."""
NOW = datetime(2026, 4, 3, 4, 30, tzinfo=ZONE)
DAYS = [TODAY - timedelta(days=number) for number in range(30, 0, -1)]
SATURDAY = frozenset({5})
ANNA, TOM = "a" * 32, "b" * 32
"""Users."""
WASHER = "sensor.washer_power"
AUTOMATION = "automation_triggered"

PUT_IN = {
    ("switch.coffee_machine", "on", WORKDAYS, "anna"),
    ("media_player.television", "on", WEEKEND, "tom"),
    ("cover.bedroom_curtains", "closed", EVERY_DAY, None),
    ("light.bedside_anna", "off", EVERY_DAY, "anna"),
    ("climate.bathroom", "temperature:24", WEEKEND, "anna"),
    ("person.anna", "home", WORKDAYS, "anna"),
    (WASHER, "in_use", SATURDAY, None),
}
"""What is done again and again: entity, what, days, whose."""
TIMES = {
    "switch.coffee_machine": (6, 30),
    "media_player.television": (20, 15),
    "cover.bedroom_curtains": (22, 0),
    "light.bedside_anna": (0, 15),
    "climate.bathroom": (8, 0),
    "person.anna": (17, 30),
    WASHER: (10, 5),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A state as it was written."""

    at: datetime
    entity_id: str
    state: str
    attributes: dict[str, Any] = field(default_factory=dict)
    user: str | None = None
    parent: bool = False
    """It was done in the context of something else."""
    automation: bool = False
    """An automation began in the same context, which has no parent: one that runs by the clock."""


@dataclass(slots=True)
class Month:
    """States in order, and hours in which the washing machine ran."""

    rows: list[Row]
    washing: list[datetime]
    """When it was started; it runs for an hour and a half."""


def at(day: date, minute: float) -> datetime:
    """Return a local time; minutes beyond the day belong to the next one."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=ZONE)
    return (midnight + timedelta(minutes=minute)).replace(microsecond=0)


def make_month(seed: int) -> Month:
    """Return a month; each seed is another one, and the habits are the same."""
    random = Random(seed)
    rows = [row for make in (_habits, _machines, _noise, _restarts) for row in make(random)]
    rows.sort(key=lambda row: row.at)
    last: dict[str, tuple[str, dict[str, Any]]] = {}
    changed = []
    for row in rows:
        if last.get(row.entity_id) != (row.state, row.attributes):
            changed.append(row)
        last[row.entity_id] = (row.state, row.attributes)
    washing = [at(day, random.gauss(605, 4)) for day in DAYS if day.weekday() in SATURDAY]
    return Month(changed, washing)


def _habits(random: Random) -> Iterator[Row]:
    """Yield what people do at about the same time, and how it ends: at any time."""

    def on(days: Collection[int], minute: int, kept: float = 0.95) -> Iterator[tuple[date, datetime]]:
        for day in DAYS:
            if day.weekday() in days and random.random() < kept:
                yield day, at(day, random.gauss(minute, 7))

    for _, moment in on(WORKDAYS, 6 * 60 + 30):
        yield Row(moment, "switch.coffee_machine", "on", user=ANNA)
        yield Row(moment + timedelta(minutes=random.uniform(5, 900)), "switch.coffee_machine", "off")
    for _, moment in on(WEEKEND, 20 * 60 + 15, 1.0):
        yield Row(moment, "media_player.television", "playing", user=TOM)
        yield Row(moment + timedelta(minutes=random.uniform(15, 600)), "media_player.television", "off")
    for day, moment in on(EVERY_DAY, 22 * 60):
        yield Row(moment, "cover.bedroom_curtains", "closing")
        yield Row(moment + timedelta(seconds=20), "cover.bedroom_curtains", "closed")
        if day.weekday() in WEEKEND:
            yield Row(at(day, random.uniform(480, 1200)), "cover.bedroom_curtains", "open", user=TOM)
    for day, moment in on(EVERY_DAY, 24 * 60 + 15, 0.93):
        yield Row(moment, "light.bedside_anna", "off", user=ANNA)
        yield Row(at(day, random.uniform(1000, 1400)), "light.bedside_anna", "on", user=ANNA)
    for day, moment in on(WEEKEND, 8 * 60, 1.0):
        yield Row(moment, "climate.bathroom", "heat", {"temperature": 24.0}, user=ANNA)
        yield Row(at(day, random.uniform(600, 1300)), "climate.bathroom", "heat", {"temperature": 19.5})
    for day, moment in on(WORKDAYS, 17 * 60 + 30):
        yield Row(moment, "person.anna", "home")
        yield Row(at(day, random.uniform(420, 1000)), "person.anna", random.choice(("not_home", "Work")))


def _machines(random: Random) -> Iterator[Row]:
    """Yield what automations do: far more punctual than anybody."""
    for day in DAYS:
        if day.weekday() in WORKDAYS:
            yield Row(at(day, 6 * 60 + 45), "cover.bedroom_curtains", "open", parent=True)
        yield Row(at(day, 22 * 60 + 45), "light.hallway", "on", automation=True)
        yield Row(at(day, 22 * 60 + 48), "light.hallway", "off", automation=True)


def _noise(random: Random) -> Iterator[Row]:
    for entity_id, per_day, user in (
        ("light.kitchen_ceiling", 6, None),
        ("light.desk_lamp", 2, TOM),
        ("switch.coffee_machine", 0.4, TOM),
        ("fan.bathroom", 3, None),
        ("vacuum.robbie", 0.5, ANNA),
    ):
        for _ in range(int(per_day * len(DAYS))):
            moment = at(random.choice(DAYS), random.uniform(7 * 60, 23 * 60))
            begun = "cleaning" if entity_id.startswith("vacuum.") else "on"
            ended = "docked" if entity_id.startswith("vacuum.") else "off"
            yield Row(moment, entity_id, begun, user=user)
            yield Row(moment + timedelta(minutes=random.uniform(3, 90)), entity_id, ended)
    for day in DAYS:
        yield Row(at(day, 23 * 60), "lock.tool_cabinet", "locked", user=ANNA)
        yield Row(at(day, 9 * 60), "lock.tool_cabinet", "unlocked", user=ANNA)


def _restarts(random: Random) -> Iterator[Row]:
    for day in DAYS:
        yield Row(at(day, 3 * 60), "switch.printer", "unavailable")
        yield Row(at(day, 3 * 60 + 1), "switch.printer", "on")


@callback
def add_people(hass: HomeAssistant) -> None:
    """Have Anna and Tom, the assistant see Anna, and a washing machine that draws power."""
    for user_id, name in ((ANNA, "anna"), (TOM, "tom")):
        MockUser(id=user_id, name=name.capitalize()).add_to_hass(hass)
        hass.states.async_set(
            f"person.{name}", "home", {"id": name, "user_id": user_id, "friendly_name": name.capitalize()}
        )
    power = {"device_class": "power", "unit_of_measurement": "W", "state_class": "measurement"}
    hass.states.async_set(WASHER, "1", {**power, "friendly_name": "Washing machine power"})
    for entity_id in ("person.anna", WASHER):
        async_expose_entity(hass, "conversation", entity_id, True)


async def async_record(hass: HomeAssistant, month: Month) -> None:
    """Write a month into the recorder's database, as the recorder itself would have."""
    instance = get_instance(hass)
    await instance.async_block_till_done()
    await instance.async_add_executor_job(_write, hass, month)


def _write(hass: HomeAssistant, month: Month) -> None:
    """Insert all at once, with numbers of our own: one by one it takes seconds."""
    with session_scope(session=get_instance(hass).get_session()) as session:
        _write_states(session, month)
        _write_hours(session, WASHER, month.washing)


def _write_states(session: Session, month: Month) -> None:
    known = {meta.entity_id: meta.metadata_id for meta in session.query(StatesMeta)}
    for entity_id in sorted({row.entity_id for row in month.rows} - known.keys()):
        meta = StatesMeta(entity_id=entity_id)
        session.add(meta)
        session.flush()
        known[entity_id] = meta.metadata_id
    kind = session.query(EventTypes).filter_by(event_type=AUTOMATION).first()
    if kind is None:
        kind = EventTypes(event_type=AUTOMATION)
        session.add(kind)
        session.flush()
    names = {number: entity_id for entity_id, number in known.items()}
    newest = session.query(States.metadata_id, func.max(States.state_id)).group_by(States.metadata_id)
    before = {names[number]: state_id for number, state_id in newest}
    state_ids = count((session.query(func.max(States.state_id)).scalar() or 0) + 1)
    last_attributes = session.query(func.max(StateAttributes.attributes_id)).scalar() or 0
    attributes_ids = count(last_attributes + 1)
    events: list[dict[str, Any]] = []
    attributes: list[dict[str, Any]] = []
    states: list[dict[str, Any]] = []
    for row in month.rows:
        moment, context = row.at.timestamp(), ulid_to_bytes(ulid_now())
        if row.automation:
            events.append(
                {"event_type_id": kind.event_type_id, "time_fired_ts": moment, "context_id_bin": context}
            )
        if row.attributes:
            number = next(attributes_ids)
            attributes.append({"attributes_id": number, "shared_attrs": _json(row.attributes), "hash": 0})
        states.append(
            {
                "state_id": next(state_ids),
                "metadata_id": known[row.entity_id],
                "state": row.state,
                "last_updated_ts": moment,
                "old_state_id": None if row.state == "unavailable" else before.get(row.entity_id),
                "attributes_id": number if row.attributes else None,
                "context_id_bin": context,
                "context_user_id_bin": bytes.fromhex(row.user) if row.user else None,
                "context_parent_id_bin": ulid_to_bytes(ulid_now()) if row.parent else None,
            }
        )
        before[row.entity_id] = states[-1]["state_id"]
    for table, written in ((Events, events), (StateAttributes, attributes), (States, states)):
        if written:
            session.execute(insert(table), written)


def _write_hours(session: Session, sensor: str, begun: Collection[datetime]) -> None:
    meta = session.query(StatisticsMeta).filter_by(statistic_id=sensor).first()
    if meta is None:
        meta = StatisticsMeta(
            source="recorder",
            statistic_id=sensor,
            unit_of_measurement="W",
            unit_class="power",
            mean_type=StatisticMeanType.ARITHMETIC,
            has_sum=False,
        )
        session.add(meta)
        session.flush()
    session.execute(delete(Statistics).where(Statistics.metadata_id == meta.id))
    session.execute(insert(Statistics), [{"metadata_id": meta.id, **hour} for hour in _hours(begun)])


def _json(attributes: dict[str, JsonValueType]) -> str:
    return "{" + ",".join(f'"{key}":{value}' for key, value in attributes.items()) + "}"


def watts(begun: Collection[datetime]) -> Iterator[tuple[datetime, float]]:
    """Yield what a machine drew that ran an hour and a half each time, every five minutes."""
    moment, end = at(DAYS[0], 0), at(TODAY, 0)
    length = timedelta(minutes=90)
    while moment < end:
        runs = any(start <= moment < start + length for start in begun)
        yield moment, 400.0 + moment.minute if runs else 1.0
        moment += timedelta(minutes=5)


def _hours(begun: Collection[datetime]) -> Iterator[dict[str, float]]:
    hours: dict[float, list[float]] = {}
    for moment, value in watts(begun):
        hours.setdefault(moment.replace(minute=0).timestamp(), []).append(value)
    for start, values in hours.items():
        yield {"start_ts": start, "mean": sum(values) / len(values), "min": min(values), "max": max(values)}
