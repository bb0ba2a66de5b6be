"""todo_list: to-do and shopping lists."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...domains.features import supports
from ...errors import ToolExecutionError, ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.names import called, squash
from ...safety.frozen import ServiceCall
from ...texts import one_line, words
from ...timespans import format_local
from ...when import read_moment, start_of
from ..base import HomeAgentTool, PartlyFailed, ToolOutput, ToolRun
from ..control.asked import named_by_person
from ..results import ToldAct
from .choosing import choose_one, permitted, records_of

DOMAIN: Final = "todo"
DONE: Final = "completed"
MAX_TEXT: Final = 120
SURE: Final = 0.75
"""How like an item a word must be that is only near to it."""
TIME_KEPT: Final = "SET_DUE_DATETIME_ON_ITEM"
"""Features of lists that keep when something is due."""

type Item = Mapping[str, Any]
type ItemStep = tuple[str, str, Sequence[ServiceCall]]
"""What becomes of an item, its text, and the calls that do it."""
MAX_ITEMS: Final = 20
"""Items of one call."""
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
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[ToldAct, ...]:
        if not isinstance(result, Mapping):
            return ()
        items = result.get(PAST.get(args["action"], "added"))
        plain = {"list", PAST.get(args["action"], "added")}
        key = TOLD.get(args["action"])
        if key is None or not isinstance(items, list) or not items or not result.keys() <= plain:
            return ()
        place = str(result["list"])
        return (ToldAct(key=key, names=[str(item) for item in items], place=place, referents=len(items)),)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        action, name = args["action"], args.get("list")
        texts = [one_line(item.strip(), MAX_TEXT) for item in args.get("items") or () if item.strip()]
        items = list(dict.fromkeys(texts))
        if action != "read" and not items:
            raise ValidationError("items: say what is meant")
        if len(items) > MAX_ITEMS:
            raise ValidationError(f"items: at most {MAX_ITEMS} at once")
        records = _lists(run, NEEDED[action])
        async with run.calls.in_order:
            if action == "read":
                return await _async_read(run, records, name)
            steps: list[ItemStep] = []
            if action == "add":
                chosen = await _async_list(run, records, name, items, is_new=True)
                dated = _due_of(run, chosen, args.get("due"))
                rows, ticked = await _async_items(run, chosen)
                known = {squash(_text_of(item)) for item in rows}
                completed = {squash(_text_of(item)): item for item in ticked}
                for text in items:
                    key = squash(text)
                    call = _call(chosen, "add_item", item=text, **dated)
                    if key in completed:
                        call = _call(
                            chosen,
                            "update_item",
                            item=_key_of(completed[key]),
                            status="needs_action",
                            **dated,
                        )
                    steps.append(("already_there", text, ()) if key in known else ("added", text, (call,)))
                    known.add(key)
                details: dict[str, JsonValueType] = {**dated}
            else:
                target = None
                if action == "move":
                    if not (args.get("to") or "").strip():
                        raise ValidationError("to: say to which list")
                    target = choose_one(run, _lists(run, CREATE), args["to"], "to")
                    records = [record for record in records if record != target]
                chosen = await _async_list(run, records, name, items)
                said = {word for text in run.calls.origins.said for word in words(text)}
                # Something may go that only a text from outside, just read, has named.
                if (
                    run.calls.has_read_outside
                    and not run.confirmed
                    and any(said.isdisjoint(words(item)) for item in items)
                    and not named_by_person(run.hass, run.house, run.calls)(chosen.entity_id)
                ):
                    run.ask_first(self, args)
                to = one_line((args.get("to") or "").strip(), MAX_TEXT)
                there, _ = await _async_items(run, chosen)
                meant = [_meant(item, there) for item in items]
                dated = _due_of(run, chosen, args.get("due")) if action == "change" else {}
                if action == "change" and not (to or dated):
                    raise ValidationError("to: say what the item is to say, or due: when it is due")
                if action == "change" and to and len(meant) > 1:
                    raise ValidationError("items: only one can be given a new text at once")
                for item in meant:
                    key = _key_of(item)
                    if action == "complete":
                        calls = [_call(chosen, "update_item", item=key, status=DONE)]
                    elif action == "change":
                        new = {"rename": to} if to else {}
                        calls = [_call(chosen, "update_item", item=key, **new, **dated)]
                    else:
                        calls = [_call(chosen, "remove_item", item=[key])]
                    if target is not None:
                        kept: dict[str, str] = {}
                        with suppress(ValidationError):  # the other list keeps no dates
                            kept = _due_of(run, target, str(item.get("due") or ""))
                        calls.insert(0, _call(target, "add_item", item=_text_of(item), **kept))
                    steps.append((PAST[action], _text_of(item), calls))
                details = {**dated}
                if to:
                    details["to"] = one_line(target.name, MAX_TEXT) if target else to
            result: dict[str, JsonValueType] = {"list": one_line(chosen.name, MAX_TEXT)}
            done: dict[str, list[JsonValueType]] = {}
            problem = ""
            for outcome, text, services in steps:
                try:
                    for call in services:
                        await run.call(call)
                except ToolExecutionError as err:
                    problem = str(err)
                    break
                done.setdefault(outcome, []).append(text)
            result |= done | details
            if problem and done:
                raise PartlyFailed(problem, result)
            if problem:
                raise ToolExecutionError(problem)
            return result


def _lists(run: ToolRun, needed: str) -> list[EntityRecord]:
    return records_of(run, DOMAIN, lambda state: not needed or supports(state, needed))


async def _async_items(run: ToolRun, chosen: EntityRecord) -> tuple[list[Item], list[Item]]:
    """Return the open and the completed items of a list."""
    answer = await run.read(_call(chosen, "get_items"))
    items = (answer.get(chosen.entity_id) or {}).get("items") or ()
    return (
        [item for item in items if item.get("status") != DONE],
        [item for item in items if item.get("status") == DONE],
    )


def _call(chosen: EntityRecord, service: str, **data: Any) -> ServiceCall:
    return ServiceCall(domain=DOMAIN, service=service, entity_ids=(chosen.entity_id,), data=data)


async def _async_list(
    run: ToolRun, records: list[EntityRecord], name: str | None, items: Sequence[str], *, is_new: bool = False
) -> EntityRecord:
    """Return the named list, else the only one with all items; for new ones that which this turn changed."""
    try:
        return choose_one(run, records, name, "list")
    except ValidationError:
        if name:
            raise
        likely = [record for record in records if is_new and record.entity_id in run.calls.touched]
        for record in permitted(run, records)[:MAX_LISTS] if not is_new else ():
            there, _ = await _async_items(run, record)
            likely += [record] if all(_fitting(item, there) for item in items) else []
        if len(likely) != 1:
            raise
        return likely[0]


async def _async_read(run: ToolRun, records: list[EntityRecord], name: str | None) -> JsonValueType:
    try:
        chosen = [choose_one(run, records, name, "list")]
    except ValidationError:
        if name or not records:
            raise
        chosen = permitted(run, records)[:MAX_LISTS]
    most = 50 // len(chosen)
    results: list[JsonValueType] = []
    for record in chosen:
        items, _ = await _async_items(run, record)
        result: dict[str, JsonValueType] = {
            "list": one_line(record.name, MAX_TEXT),
            "items": [_shown(item) for item in items[:most]],
        }
        if len(items) > most:
            result["left_out"] = len(items) - most
        results.append(result)
    return results[0] if len(results) == 1 else {"lists": results}


def _due_of(run: ToolRun, chosen: EntityRecord, text: str | None) -> dict[str, str]:
    """Return when something is due as the list keeps it; nothing if no time is given."""
    if not (text or "").strip():
        return {}
    moment = read_moment(str(text), run.speaker.language, "due")
    state = run.hass.states.get(chosen.entity_id)
    if isinstance(moment, datetime) and supports(state, TIME_KEPT):
        return {"due_datetime": moment.isoformat()}
    if supports(state, "SET_DUE_DATE_ON_ITEM"):
        day = moment.date() if isinstance(moment, datetime) else moment
        return {"due_date": day.isoformat()}
    if supports(state, TIME_KEPT):
        return {"due_datetime": start_of(moment).isoformat()}
    raise ValidationError("due: this list keeps no dates; leave it out, or set a reminder instead")


def _meant(text: str, items: Sequence[Item]) -> Item:
    fitting = _fitting(text, items)
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(_text_of(item)[:40] for item in (fitting or items)[:8])
    reason = "could be several" if fitting else "does not stand on the list"
    problem = ValidationError(f"items: {text[:60]!r} {reason}. There are: {listed or 'none'}"[:300])
    problem.quotes = bool(items)
    raise problem


def _fitting(text: str, items: Sequence[Item]) -> list[Item]:
    """Return the items that words may mean: as written, by its words, else those that are near."""
    wanted = squash(text)
    by_id = [item for item in items if squash(str(item.get("uid") or "")) == wanted]
    fitting = by_id or called(items, text, lambda item: (_text_of(item),), sure=SURE)
    return fitting[:1] if any(squash(_text_of(item)) == wanted for item in fitting) else fitting


def _key_of(item: Item) -> str:
    return str(item.get("uid") or item.get("summary"))


def _text_of(item: Item) -> str:
    return one_line(str(item.get("summary") or ""), MAX_TEXT)


def _shown(item: Item) -> str:
    if not (due := str(item.get("due") or "")):
        return _text_of(item)
    moment = dt_util.parse_datetime(due) if "T" in due else None
    return f"{_text_of(item)} (due {format_local(moment) if moment else one_line(due, 20)})"
