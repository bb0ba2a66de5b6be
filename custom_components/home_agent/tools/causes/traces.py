"""What the traces of automations and scripts tell about a run: its trigger, and what it called."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, State, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util

from ...regex import lazy_regex

if TYPE_CHECKING:
    from homeassistant.components.trace.models import BaseTrace

TRACE: Final = "trace"
_ENTITY: Final = lazy_regex(r"(?<![\w.])[a-z][a-z0-9_]*\.[a-z0-9_]+(?![\w.])")
MAX_STEPS: Final = 200
"""Steps of a run that are looked at."""


FAILED: Final = "failed_conditions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Why an automation ran: the kind of its trigger, and the entity with the state that it got."""

    platform: str = ""
    entity_id: str = ""
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of an automation or a script; times are timestamps, `ended` is None while it runs."""

    entity_id: str
    context_id: str
    started: float
    ended: float | None
    is_stopped: bool
    """Whether its conditions were not met."""
    trigger: Trigger
    aims: frozenset[str]
    """Entities that its steps named as targets, empty for an area, a device or a label."""

    def brought_about(self, hass: HomeAssistant, entity_id: str, at: float) -> bool:
        """Return whether the run certainly changed an entity at this time."""
        if at < self.started:
            return False
        if entity_id in self.aims or any(entity_id in members(hass, one) for one in self.aims):
            return True
        return "" in self.aims and (self.ended is None or at <= self.ended)


@callback
def members(hass: HomeAssistant, entity_id: str) -> Collection[str]:
    """Return the members of a group or a scene."""
    state = hass.states.get(entity_id)
    listed = state.attributes.get(ATTR_ENTITY_ID) if state else None
    return listed if isinstance(listed, list | tuple | set | frozenset) else ()


async def async_runs(
    hass: HomeAssistant, *, context_ids: Collection[str] = (), automations: Collection[str] = ()
) -> list[Run]:
    """Return the traced runs in contexts, or of automations; Home Assistant keeps the last five of each."""
    if TRACE not in hass.config.components:
        return []
    from homeassistant.components.trace.const import DATA_TRACE  # noqa: PLC0415
    from homeassistant.components.trace.util import async_restore_traces  # noqa: PLC0415

    await async_restore_traces(hass)
    return [
        _run(entity_id, trace)
        for key, buckets in hass.data[DATA_TRACE].items()
        for entity_id in [_entity_of(hass, key)]
        for trace in buckets.runs.values()
        if trace.context.id in context_ids or entity_id in automations
    ]


def _run(entity_id: str, trace: BaseTrace) -> Run:
    details = trace.as_extended_dict()
    times = details.get("timestamp") or {}
    steps = list(_steps(details.get("trace")))
    return Run(
        entity_id=entity_id,
        context_id=trace.context.id,
        started=_timestamp(times.get("start")) or 0.0,
        ended=_timestamp(times.get("finish")),
        is_stopped=details.get("script_execution") == FAILED,
        trigger=next((found for path, step in steps if (found := _trigger(path, step))), Trigger()),
        aims=frozenset(aim for path, step in steps if not path.startswith("trigger") for aim in _aims(step)),
    )


def _entity_of(hass: HomeAssistant, key: str) -> str:
    """Return the entity of a trace's key, which contains the unique id."""
    domain, _, item_id = key.partition(".")
    return er.async_get(hass).async_get_entity_id(domain, domain, item_id) or key


def _steps(trace: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the steps of a trace with their paths."""
    count = 0
    for path, elements in trace.items() if isinstance(trace, Mapping) else ():
        for element in elements:
            if isinstance(element, Mapping) and count < MAX_STEPS:
                count += 1
                yield str(path), element


def _trigger(path: str, step: Mapping[str, Any]) -> Trigger | None:
    """Return the trigger of a step that begins a run."""
    variables = step.get("changed_variables")
    told = variables.get("trigger") if path.startswith("trigger") and isinstance(variables, Mapping) else None
    if not isinstance(told, Mapping):
        return None
    new = told.get("to_state")
    state = new.state if isinstance(new, State) else new.get("state") if isinstance(new, Mapping) else None
    return Trigger(
        platform=str(told.get("platform") or ""),
        entity_id=str(told.get(ATTR_ENTITY_ID) or ""),
        state=None if state is None else str(state),
    )


def trigger_in_words(source: str) -> Trigger:
    """Return the trigger that Home Assistant's own description of it means."""
    found = _ENTITY.search(source)
    return Trigger(platform=source.partition(" ")[0].lower(), entity_id=found[0] if found else "")


def _aims(step: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entities that a step had as targets, empty for an area, a device or a label."""
    result = step.get("result")
    params = result.get("params") if isinstance(result, Mapping) else None
    if not isinstance(params, Mapping):
        return
    for part in (params.get("target"), params.get("service_data")):
        if not isinstance(part, Mapping):
            continue
        told = part.get(ATTR_ENTITY_ID)
        yield from [told] if isinstance(told, str) else map(str, told or ())
        if any(part.get(name) for name in ("area_id", "device_id", "floor_id", "label_id")):
            yield ""


def _timestamp(value: object) -> float | None:
    """Return a time of a trace, which is a text where it was stored."""
    moment = dt_util.parse_datetime(value) if isinstance(value, str) else value
    return moment.timestamp() if isinstance(moment, datetime) else None
