"""The items of to-do lists: reading, matching by words, due dates."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from homeassistant.util import dt as dt_util

from ...domains.base import supports
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.names import called, squash
from ...texts import one_line
from ...timespans import format_local
from ..base import ServiceCall, ToolRun
from .moments import read_moment, start_of

DOMAIN: Final = "todo"
OPEN: Final = "needs_action"
DONE: Final = "completed"
MAX_TEXT: Final = 120
SURE: Final = 0.75
"""How like an item a word must be that is only near to it."""
DAY_KEPT: Final = "SET_DUE_DATE_ON_ITEM"
TIME_KEPT: Final = "SET_DUE_DATETIME_ON_ITEM"
"""Features of lists that keep when something is due."""

type Item = Mapping[str, Any]


async def async_items(run: ToolRun, chosen: EntityRecord) -> list[Item]:
    """Return the items of a list, completed or not."""
    call = ServiceCall(domain=DOMAIN, service="get_items", entity_ids=(chosen.entity_id,))
    answer = await run.read(call)
    return list((answer.get(chosen.entity_id) or {}).get("items") or ())


async def lists_with(
    run: ToolRun, records: Iterable[EntityRecord], items: Sequence[str]
) -> list[EntityRecord]:
    """Return the lists on which all of these stand."""
    found = []
    for record in records:
        still = [item for item in await async_items(run, record) if item.get("status") != DONE]
        if all(fitting(said, still) for said in items):
            found.append(record)
    return found


def due_of(run: ToolRun, chosen: EntityRecord, text: str | None) -> dict[str, str]:
    """Return when something is due as the list keeps it; nothing where no time is given.

    Raises ValidationError for a time that is not clear, and for a list that keeps none.
    """
    if not (text or "").strip():
        return {}
    moment = read_moment(str(text), "due")
    state = run.hass.states.get(chosen.entity_id)
    if isinstance(moment, datetime) and supports(state, TIME_KEPT):
        return {"due_datetime": moment.isoformat()}
    if supports(state, DAY_KEPT):
        day = moment.date() if isinstance(moment, datetime) else moment
        return {"due_date": day.isoformat()}
    if supports(state, TIME_KEPT):
        return {"due_datetime": start_of(moment).isoformat()}
    raise ValidationError("due: this list keeps no dates; leave it out, or set a reminder instead")


def meant(said: str, items: Sequence[Item]) -> Item:
    """Return the item that words mean. Raises ValidationError that lists the items."""
    found = fitting(said, items)
    if len(found) == 1:
        return found[0]
    listed = ", ".join(text_of(item)[:40] for item in (found or items)[:8])
    reason = "could be several" if found else "does not stand on the list"
    raise ValidationError(f"items: {said[:60]!r} {reason}. There are: {listed or 'none'}"[:300])


def fitting(said: str, items: Sequence[Item]) -> list[Item]:
    """Return the items that words may mean: as written, by its words, else those that are near."""
    wanted = squash(said)
    by_id = [item for item in items if squash(str(item.get("uid") or "")) == wanted]
    found = by_id or called(items, said, lambda item: (text_of(item),), sure=SURE)
    return found[:1] if any(squash(text_of(item)) == wanted for item in found) else found


def key_of(item: Item) -> str:
    """Return the key of an item for the services."""
    return str(item.get("uid") or item.get("summary"))


def text_of(item: Item) -> str:
    """Return the text of an item."""
    return one_line(str(item.get("summary") or ""), MAX_TEXT)


def shown(item: Item) -> str:
    """Return an item as the model reads it."""
    if not (due := str(item.get("due") or "")):
        return text_of(item)
    moment = dt_util.parse_datetime(due) if "T" in due else None
    return f"{text_of(item)} (due {format_local(moment) if moment else one_line(due, 20)})"
