"""todo_list: to-do and shopping lists."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, override

import probatio

from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...domains.features import supports
from ...errors import ToolExecutionError, ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.names import called, squash
from ...texts import one_line, words
from ...timespans import format_local
from ..base import HomeAgentTool, PartlyFailed, ServiceCall, ToolOutput, ToolRun, as_list
from ..telling import Told
from .choosing import choose_one, permitted, records_of
from .moments import read_moment, readable, start_of

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
MAX_ITEMS: Final = 20
"""Items of one call."""
MAX_READ: Final = 50
MAX_LISTS: Final = 8
CREATE: Final = "CREATE_TODO_ITEM"
DELETE: Final = "DELETE_TODO_ITEM"
UPDATE: Final = "UPDATE_TODO_ITEM"
NEEDED: Final = {
    "add": CREATE,
    "complete": UPDATE,
    "remove": DELETE,
    "change": UPDATE,
    "move": DELETE,
    "read": "",
}
"""Action: the feature that the list needs."""
TOLD: Final = {"add": "list_added", "complete": "list_completed", "remove": "list_removed"}
"""The sentences that tell of the actions."""
PAST: Final = {"complete": "completed", "remove": "removed", "change": "changed", "move": "moved"}


async def async_items(run: ToolRun, chosen: EntityRecord) -> list[Item]:
    """Return the items of a list, completed or not."""
    call = ServiceCall(domain=DOMAIN, service="get_items", entity_ids=(chosen.entity_id,))
    answer = await run.read(call)
    return list((answer.get(chosen.entity_id) or {}).get("items") or ())


async def lists_with(
    run: ToolRun, records: Iterable[EntityRecord], items: Sequence[str]
) -> list[EntityRecord]:
    """Return the lists that contain all of these."""
    found = []
    for record in records:
        still = [item for item in await async_items(run, record) if item.get("status") != DONE]
        if all(fitting(said, still) for said in items):
            found.append(record)
    return found


def due_of(run: ToolRun, chosen: EntityRecord, text: str | None) -> dict[str, str]:
    """Return when something is due as the list keeps it; nothing if no time is given.

    Raises ValidationError for a time that is not clear, and for a list that keeps none.
    """
    if not (text or "").strip():
        return {}
    moment = read_moment(readable(str(text), run.speaker.language), "due")
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


class TodoTool(HomeAgentTool):
    """Adds, completes, changes, moves, removes and reads items; their texts are untrusted."""

    name = "todo_list"
    max_text = 4 * MAX_TEXT
    title = "To-do and shopping lists"
    description = "To-do and shopping lists."
    domain = DOMAIN
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("action"): probatio.In(list(NEEDED)),
            probatio.Optional("items"): [str],
            probatio.Optional("list"): str,
            probatio.Optional("to", description="change: new text; move: other list"): str,
            probatio.Optional("due"): str,
        }
    )

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """Return whether the list is only read."""
        return args.get("action") == "read"

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return the items: who shares a list writes into it."""
        if not isinstance(result, dict):
            return []
        several = result.get("lists")
        lists = [result, *(several if isinstance(several, list) else [])]
        found = [one.get("items") for one in lists if isinstance(one, dict)]
        return [str(item) for items in found if isinstance(items, list) for item in items]

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[Told, ...]:
        """Return which items were added, completed or removed."""
        if not isinstance(result, Mapping):
            return ()
        items = result.get(PAST.get(args["action"], "added"))
        plain = {"list", PAST.get(args["action"], "added")}
        key = TOLD.get(args["action"])
        if key is None or not isinstance(items, list) or not items or not result.keys() <= plain:
            return ()
        place = str(result["list"])
        return (Told(key=key, names=[str(item) for item in items], place=place, referents=len(items)),)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Do one thing with one list. Raises ValidationError for a list or an item that is not clear."""
        async with run.calls.in_order:
            return await self._async_run(args, run)

    async def _async_run(self, args: Mapping[str, Any], run: ToolRun) -> JsonValueType:
        action, said = args["action"], args.get("list")
        items = list(dict.fromkeys(text for item in as_list(args.get("items")) if (text := item.strip())))
        if action != "read" and not items:
            raise ValidationError("items: say what is meant")
        if len(items) > MAX_ITEMS:
            raise ValidationError(f"items: at most {MAX_ITEMS} at once")
        records = _lists(run, NEEDED[action])
        if action == "read":
            return await _async_read(run, records, said)
        if action == "add":
            return await _async_add(run, await _async_list_for(run, records, said), items, args.get("due"))
        target = _target(run, args.get("to")) if action == "move" else None
        records = [record for record in records if record != target]
        return await _async_settle(run, await _async_list_of(run, records, said, items), items, args, target)


def _lists(run: ToolRun, needed: str) -> list[EntityRecord]:
    def able(state: State) -> bool:
        return not needed or supports(state, needed)

    return records_of(run, DOMAIN, able)


async def _async_read(run: ToolRun, records: list[EntityRecord], said: str | None) -> JsonValueType:
    """Return the open items: of the named list, else of all."""
    try:
        chosen = [choose_one(run, records, said, "list")]
    except ValidationError:
        if said or not records:
            raise
        chosen = permitted(run, records)[:MAX_LISTS]
    room = MAX_READ // len(chosen)
    results = [_open_items(record, await async_items(run, record), room) for record in chosen]
    return results[0] if len(results) == 1 else {"lists": list[JsonValueType](results)}


def _open_items(chosen: EntityRecord, items: Sequence[Item], room: int) -> dict[str, JsonValueType]:
    still = [item for item in items if item.get("status") != DONE]
    listed: list[JsonValueType] = [shown(item) for item in still[:room]]
    result: dict[str, JsonValueType] = {"list": one_line(chosen.name, MAX_TEXT), "items": listed}
    if more := len(still) - len(listed):
        result["left_out"] = more
    return result


async def _async_list_of(
    run: ToolRun, records: list[EntityRecord], said: str | None, items: Sequence[str]
) -> EntityRecord:
    """Return the named list, else the only one that contains all of the items."""
    try:
        return choose_one(run, records, said, "list")
    except ValidationError:
        if said:
            raise
        found = await lists_with(run, permitted(run, records)[:MAX_LISTS], items)
        if len(found) != 1:
            raise
        return found[0]


async def _async_list_for(run: ToolRun, records: list[EntityRecord], said: str | None) -> EntityRecord:
    """Return the named list, else the one that this turn has changed or whose items the sentence names.

    "Tick off bread and add cheese" means the list with the bread.
    """
    try:
        return choose_one(run, records, said, "list")
    except ValidationError:
        if said:
            raise
        changed = [record for record in records if record.entity_id in run.calls.touched]
        if len(changed) != 1:
            changed = [record for record in records[:MAX_LISTS] if await _async_is_mentioned(run, record)]
        if len(changed) != 1:
            raise
        return changed[0]


async def _async_is_mentioned(run: ToolRun, record: EntityRecord) -> bool:
    said = set(words(run.sentence))
    still = [item for item in await async_items(run, record) if item.get("status") != DONE]
    return any(said.issuperset(named) for item in still if (named := words(text_of(item))))


async def _async_add(
    run: ToolRun, chosen: EntityRecord, items: Sequence[str], due: str | None
) -> JsonValueType:
    """Add missing items; completed ones are reopened."""
    dated = due_of(run, chosen, due)
    items_there = await async_items(run, chosen)
    there = {squash(text_of(item)) for item in items_there if item.get("status") != DONE}
    before = {squash(text_of(item)): item for item in items_there if item.get("status") == DONE}
    done: dict[str, list[JsonValueType]] = {"added": [], "already_there": []}
    problem = ""
    for text in (one_line(item, MAX_TEXT) for item in items):
        if squash(text) in there:
            done["already_there"].append(text)
            continue
        service, data = "add_item", {"item": text, **dated}
        if (done_before := before.get(squash(text))) is not None:
            service, data = "update_item", {"item": key_of(done_before), "status": OPEN, **dated}
        try:
            await _async_call(run, chosen, service, data)
        except ToolExecutionError as err:
            problem = str(err)
            break
        done["added"].append(text)
        there.add(squash(text))
    return _result(chosen, done, problem, dated)


async def _async_settle(
    run: ToolRun,
    chosen: EntityRecord,
    items: Sequence[str],
    args: Mapping[str, Any],
    target: EntityRecord | None,
) -> JsonValueType:
    """Complete, remove, change or move items; nothing happens where one of them is not clear."""
    action, to = args["action"], one_line((args.get("to") or "").strip(), MAX_TEXT)
    still = [item for item in await async_items(run, chosen) if item.get("status") != DONE]
    found = [meant(said, still) for said in items]
    dated = due_of(run, chosen, args.get("due")) if action == "change" else {}
    if action == "change" and not (to or dated):
        raise ValidationError("to: say what the item is to say, or due: when it is due")
    if to and action == "change" and len(found) > 1:
        raise ValidationError("items: only one can be given a new text at once")
    done: dict[str, list[JsonValueType]] = {PAST[action]: []}
    problem = ""
    for item in found:
        try:
            if target is not None:
                await _async_call(
                    run, target, "add_item", {"item": text_of(item), **_carried(run, target, item)}
                )
            await _async_call(run, chosen, *_service(action, item, to, dated))
        except ToolExecutionError as err:
            problem = str(err)
            break
        done[PAST[action]].append(text_of(item))
    details: dict[str, Any] = dict(dated)
    if to:
        details["to"] = one_line(target.name, MAX_TEXT) if target else to
    return _result(chosen, done, problem, details)


def _service(action: str, item: Item, to: str, dated: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    if action in ("remove", "move"):
        return "remove_item", {"item": [key_of(item)]}
    if action == "complete":
        return "update_item", {"item": key_of(item), "status": DONE}
    return "update_item", {"item": key_of(item), **({"rename": to} if to else {}), **dated}


def _target(run: ToolRun, to: str | None) -> EntityRecord:
    if not (to or "").strip():
        raise ValidationError("to: say to which list")
    return choose_one(run, _lists(run, CREATE), to, "to")


def _carried(run: ToolRun, target: EntityRecord, item: Item) -> dict[str, str]:
    try:
        return due_of(run, target, str(item.get("due") or ""))
    except ValidationError:
        return {}


async def _async_call(run: ToolRun, chosen: EntityRecord, service: str, data: Mapping[str, Any]) -> None:
    await run.call(ServiceCall(domain=DOMAIN, service=service, entity_ids=(chosen.entity_id,), data=data))


def _result(
    chosen: EntityRecord,
    done: Mapping[str, list[JsonValueType]],
    problem: str,
    details: Mapping[str, JsonValueType],
) -> JsonValueType:
    """Return the result. Raises PartlyFailed or ToolExecutionError if something failed."""
    kept = {key: value for key, value in done.items() if value}
    result: dict[str, JsonValueType] = {"list": one_line(chosen.name, MAX_TEXT), **kept, **details}
    if problem and kept:
        raise PartlyFailed(problem, result)
    if problem:
        raise ToolExecutionError(problem)
    return result
