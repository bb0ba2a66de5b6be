"""What a planned item waits for beside a time: an event, which counts once, and what must hold then.

Both are clauses as Home Assistant writes triggers and conditions. A clause is so, or not, or not known while
an entity is unavailable or Home Assistant does not run. An event is a clause that becomes so: what was so
when it was given does not count, and what became so unseen counts from when it was seen last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Self

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import condition, config_validation as cv
from homeassistant.util import dt as dt_util

from ..texts import as_number

type Clause = Mapping[str, Any]
"""A trigger or a condition as Home Assistant writes it."""

HOME: Final = "zone.home"
MOMENTS: Final = frozenset({"event", "button", "input_button", "scene"})
"""Domains whose state is the time of what happened last, unknown before the first time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A clause that is waited for, and what was seen of it."""

    clause: Mapping[str, Any]
    so: Mapping[str, datetime | None] = field(default_factory=dict, compare=False)
    """Since when it is so, by entity; None for what was so when it was given, which does not count."""
    lost: Mapping[str, datetime] = field(default_factory=dict, compare=False)
    """When entities of which it is not known now were seen last."""
    happened: datetime | None = field(default=None, compare=False)
    """When it came about; None while it is waited for."""

    @property
    def entity_ids(self) -> list[str]:
        """Return what is watched."""
        return entities_of(self.clause)

    @callback
    def begun(self, hass: HomeAssistant, now: datetime) -> Self:
        """Return it as it waits from now on."""
        seen = {entity_id: is_so(hass, self.clause, entity_id) for entity_id in self.entity_ids}
        so = {entity_id: None for entity_id, value in seen.items() if value}
        lost = {entity_id: now for entity_id, value in seen.items() if value is None}
        return replace(self, so=so, lost=lost, happened=None)

    @callback
    def looked(self, hass: HomeAssistant, now: datetime) -> Self:
        """Return it with what is seen now."""
        so, lost = dict(self.so), dict(self.lost)
        for entity_id in self.entity_ids:
            if (value := is_so(hass, self.clause, entity_id)) is None:
                lost.setdefault(entity_id, now)
                continue
            since = lost.pop(entity_id, now)
            if not value:
                so.pop(entity_id, None)
            elif entity_id not in so:
                so[entity_id] = now if _length(self.clause) else since
        return replace(self, so=so, lost=lost)

    def unseen(self, now: datetime) -> Self:
        """Return it as nothing sees it any more."""
        return replace(self, lost=dict.fromkeys(self.entity_ids, now) | dict(self.lost))

    @property
    def ripe(self) -> datetime | None:
        """Return when it has come about, for as long as it asks for; None if it is not so."""
        known = [since for entity_id, since in self.so.items() if since and entity_id not in self.lost]
        return min(known) + _length(self.clause) if known else None


@callback
def is_so(hass: HomeAssistant, clause: Clause, entity_id: str) -> bool | None:
    """Return whether one of the entities of a clause is as it says; None if that is not known."""
    if clause.get("condition") == "not":
        inner = is_so(hass, clause["conditions"][0], entity_id)
        return None if inner is None else not inner
    state = hass.states.get(entity_id)
    if state is None or state.state == STATE_UNAVAILABLE:
        return None
    if state.state == STATE_UNKNOWN and state.domain not in MOMENTS:
        return None
    kind = clause.get("trigger") or clause.get("condition")
    if kind == "zone":
        zone = hass.states.get(clause["zone"])
        is_there = zone is not None and state.state == zone.name
        return is_there is not (clause.get("event") == "leave")
    if kind == "numeric_state":
        # Home Assistant counts persons whose devices are offline as away.
        if entity_id == HOME and any(
            person.state in (STATE_UNKNOWN, STATE_UNAVAILABLE) and person.attributes.get("device_trackers")
            for person in hass.states.async_all("person")
        ):
            return None
        attribute = clause.get("attribute")
        number = as_number(str(state.attributes.get(attribute) if attribute else state.state))
        if number is None:
            return None
        low, high = (as_number(str(clause.get(side, ""))) for side in ("above", "below"))
        return (low is None or number > low) and (high is None or number < high)
    if (wanted := clause.get("to", clause.get("state"))) is not None:
        return state.state in _listed(wanted)
    return state.state not in (*_listed(clause.get("from")), *_listed(clause.get("not_to")))


async def async_holds(hass: HomeAssistant, clause: Clause) -> bool | None:
    """Return whether a condition holds now, for all of its entities; None if that is not known."""
    entity_ids = entities_of(clause)
    if not entity_ids:  # by the clock or the sun
        config = await condition.async_validate_condition_config(hass, cv.CONDITION_SCHEMA(dict(clause)))
        checker = await condition.async_from_config(hass, config)
        try:
            return bool(checker.async_check())
        finally:
            checker.async_unload()
    values = [is_so(hass, clause, entity_id) for entity_id in entity_ids]
    if not all(values):
        return False if False in values else None
    states = filter(None, map(hass.states.get, entity_ids))
    return all(dt_util.utcnow() - state.last_changed >= _length(clause) for state in states)


def entities_of(clause: Clause) -> list[str]:
    """Return the entities that a clause is about; none for one about the time."""
    inner = clause["conditions"][0] if clause.get("condition") == "not" else clause
    return list(_listed(inner.get("entity_id")))


def _listed(value: Any) -> Sequence[Any]:
    return (value,) if isinstance(value, str) else value or ()


def _length(clause: Clause) -> timedelta:
    return dt_util.parse_duration(str(clause.get("for") or "0")) or timedelta()
