"""todo_list: to-do and shopping lists."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, override

import probatio

from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import State
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ...errors import ToolExecutionError, ValidationError
from ...knowledge.house import EntityRecord
from ..base import HomeAgentTool, PartlyFailed, ServiceCall, ToolRun, as_list
from ..matching import fold, phrase_similarity, squash
from ..plain_values import one_line
from .choosing import choose_one, records_of

DOMAIN: Final = "todo"
OPEN: Final = "needs_action"
DONE: Final = "completed"
MAX_ITEMS: Final = 20
"""Items of one call."""
MAX_READ: Final = 50
MAX_TEXT: Final = 120
SURE: Final = 0.75
"""How like an item a word must be that is only near to it."""

NEEDED: Final = {
    "add": 1,
    "complete": 4,
    "remove": 2,
    "read": 0,
}
"""Action: the bit of `supported_features` that the list needs."""

type Item = Mapping[str, Any]


class TodoTool(HomeAgentTool):
    """Adds, completes, removes and reads items; other people write them too."""

    name = "todo_list"
    title = "To-do and shopping lists"
    description = "To-do and shopping lists."
    domain = DOMAIN
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("action"): probatio.In(list(NEEDED)),
            probatio.Optional("items"): [str],
            probatio.Optional("list"): str,
        }
    )

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """Return whether the list is only read."""
        return args.get("action") == "read"

    @override
    def outside_texts(self, result: JsonValueType) -> Iterable[str]:
        """Return the items: who shares a list writes into it."""
        items = result.get("items") if isinstance(result, dict) else None
        return [str(item) for item in items] if isinstance(items, list) else []

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Do one thing with one list. Raises ValidationError for a list or an item that is not clear."""
        action = args["action"]
        items = list(dict.fromkeys(text for item in as_list(args.get("items")) if (text := item.strip())))
        if action != "read" and not items:
            raise ValidationError("items: say what is meant")
        if len(items) > MAX_ITEMS:
            raise ValidationError(f"items: at most {MAX_ITEMS} at once")
        needed = NEEDED[action]

        def able(state: State) -> bool:
            return not needed or bool(state.attributes.get(ATTR_SUPPORTED_FEATURES, 0) & needed)

        chosen = choose_one(run, records_of(run, DOMAIN, able), args.get("list"), "list")
        items_there = await _async_items(run, chosen)
        open_items = [item for item in items_there if item.get("status") != DONE]
        if action == "read":
            return _told(chosen, open_items)
        if action == "add":
            return await _async_add(run, chosen, items, items_there)
        return await _async_settle(run, chosen, items, open_items, action)


async def _async_items(run: ToolRun, chosen: EntityRecord) -> list[Item]:
    """Return what stands on a list, done or not."""
    call = ServiceCall(
        domain=DOMAIN,
        service="get_items",
        entity_ids=(chosen.entity_id,),
    )
    answer = await run.read(call)
    return list((answer.get(chosen.entity_id) or {}).get("items") or ())


def _told(chosen: EntityRecord, items: Sequence[Item]) -> dict[str, JsonValueType]:
    """Return the open items, with the day where one is due."""
    listed: list[JsonValueType] = [
        f"{_text(item)} (due {one_line(str(item['due']), 20)})" if item.get("due") else _text(item)
        for item in items[:MAX_READ]
    ]
    told: dict[str, JsonValueType] = {"list": one_line(chosen.name, MAX_TEXT), "items": listed}
    if more := len(items) - len(listed):
        told["left_out"] = more
    return told


async def _async_add(
    run: ToolRun, chosen: EntityRecord, items: Sequence[str], items_there: Sequence[Item]
) -> JsonValueType:
    """Add what does not stand there yet; what was done before is open again."""
    there = {squash(_text(item)) for item in items_there if item.get("status") != DONE}
    before = {squash(_text(item)): item for item in items_there if item.get("status") == DONE}
    done: dict[str, list[JsonValueType]] = {"added": [], "already_there": []}
    problem = ""
    for text in (one_line(item, MAX_TEXT) for item in items):
        if squash(text) in there:
            done["already_there"].append(text)
            continue
        service, data = "add_item", {"item": text}
        if (done_before := before.get(squash(text))) is not None:
            service, data = "update_item", {"item": _key(done_before), "status": OPEN}
        call = ServiceCall(domain=DOMAIN, service=service, entity_ids=(chosen.entity_id,), data=data)
        try:
            await run.call(call)
        except ToolExecutionError as err:
            problem = str(err)
            break
        done["added"].append(text)
        there.add(squash(text))
    return _result(chosen, done, problem)


async def _async_settle(
    run: ToolRun, chosen: EntityRecord, items: Sequence[str], open_items: Sequence[Item], action: str
) -> JsonValueType:
    """Complete or remove items; nothing happens where one of them is not clear."""
    meant = [_meant(said, open_items) for said in items]
    done: dict[str, list[JsonValueType]] = {f"{action}d": []}
    problem = ""
    for item in meant:
        data: dict[str, Any] = {"item": _key(item), "status": DONE}
        if action == "remove":
            data = {"item": [_key(item)]}
        call = ServiceCall(
            domain=DOMAIN,
            service="remove_item" if action == "remove" else "update_item",
            entity_ids=(chosen.entity_id,),
            data=data,
        )
        try:
            await run.call(call)
        except ToolExecutionError as err:
            problem = str(err)
            break
        done[f"{action}d"].append(_text(item))
    return _result(chosen, done, problem)


def _result(chosen: EntityRecord, done: Mapping[str, list[JsonValueType]], problem: str) -> JsonValueType:
    """Return what was done. Raises PartlyFailed or ToolExecutionError where something was not."""
    result: dict[str, JsonValueType] = {
        "list": one_line(chosen.name, MAX_TEXT),
        **{key: value for key, value in done.items() if value},
    }
    if problem and len(result) > 1:
        raise PartlyFailed(problem, result)
    if problem:
        raise ToolExecutionError(problem)
    return result


def _meant(said: str, items: Sequence[Item]) -> Item:
    """Return the item that words mean: as written, by its words, else the one that is near.

    Raises ValidationError that lists the items.
    """
    wanted = squash(said)
    words = set(fold(said).split())
    asked = fold(said).split()
    found = [item for item in items if wanted in (squash(_text(item)), squash(str(item.get("uid") or "")))]
    found = found[:1] or [item for item in items if words and words <= set(fold(_text(item)).split())]
    found = found or [item for item in items if phrase_similarity(asked, fold(_text(item)).split()) >= SURE]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(_text(item)[:40] for item in (found or items)[:8])
    reason = "could be several" if found else "does not stand on the list"
    raise ValidationError(f"items: {said[:60]!r} {reason}. There are: {listed or 'none'}"[:300])


def _key(item: Item) -> str:
    """Return what the services know an item by."""
    return str(item.get("uid") or item.get("summary"))


def _text(item: Item) -> str:
    """Return what an item says."""
    return one_line(str(item.get("summary") or ""), MAX_TEXT)
