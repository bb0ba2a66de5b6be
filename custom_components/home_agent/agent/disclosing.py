"""What of a request stays at home when a model outside the house is asked."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import json_loads

from ..context.fitting import Message, RequestDraft
from ..history_turns import AT_HOME_ONLY
from ..safety.disclosure import Disclosure, Tells
from ..tools.native import told_by
from ..tools.turn_calls import TurnCalls

KEPT: Final = "kept at home: a model outside the house is not told"
UNSAID: Final = "(left out)"


def draft_for(draft: RequestDraft, disclosure: Disclosure) -> RequestDraft:
    """Return a draft as a model may read it."""
    if disclosure.home:
        return replace(draft, history=[_unmarked(message) for message in draft.history])
    return replace(
        draft,
        systems=draft.systems_outside or draft.systems,
        history=history_for(draft.history, disclosure),
        slots=tuple(slot.for_outside() for slot in draft.slots),
    )


def history_for(history: Sequence[Message], disclosure: Disclosure) -> list[Message]:
    """Return earlier turns as a model may read them: whole ones go that drew on what stays at home."""
    shown = history if disclosure.home else [item for item in history if AT_HOME_ONLY not in item]
    return _less_results([_unmarked(message) for message in shown], disclosure)


def current_for(
    messages: Sequence[Message], disclosure: Disclosure, calls: TurnCalls, *, from_home: bool
) -> list[Message]:
    """Return the messages of a turn as a model may read them.

    `from_home` says that a model at home was told what this one may not read: its words go too.
    """
    if disclosure.home:
        return list(messages)
    shown = [_without_words(message, calls) for message in messages] if from_home else messages
    return _less_results([message for message in shown if message is not None], disclosure, calls)


def keeps_something(
    draft: RequestDraft, messages: Sequence[Message], away: Disclosure, calls: TurnCalls
) -> bool:
    """Return whether a model outside would be told less than is in this request."""
    return (
        any(AT_HOME_ONLY in message for message in draft.history)
        or any(slot.outside not in (None, slot.lines) for slot in draft.slots)
        or current_for(messages, away, calls, from_home=False) != list(messages)
    )


def _unmarked(message: Message) -> Message:
    """Return a message as it is sent."""
    return {key: value for key, value in message.items() if key != AT_HOME_ONLY}


def _without_words(message: Message, calls: TurnCalls) -> Message | None:
    """Return what the assistant did without what it said; what it asked about people goes too."""
    if message["role"] != "assistant":
        return message
    if not (made := message.get("tool_calls")):
        return None
    return {**message, "content": "", "tool_calls": [_without_arguments(call, calls) for call in made]}


def _without_arguments(call: Mapping[str, Any], calls: TurnCalls) -> dict[str, Any]:
    """Return a call, without its arguments if it is about people."""
    function = call["function"]
    if Tells.PEOPLE not in calls.disclosure.categories.get(call["id"], told_by(function["name"])):
        return dict(call)
    return {**call, "function": {**function, "arguments": "{}"}}


def _less_results(
    messages: Sequence[Message], disclosure: Disclosure, calls: TurnCalls | None = None
) -> list[Message]:
    """Return messages with results only as far as the model may read them; `calls` are those of this turn."""
    names: dict[str, str] = {}
    told = calls.disclosure.categories if calls else {}
    made_at_home: Collection[str] = calls.disclosure.made_at_home if calls else ()
    less: list[Message] = []
    for message in messages:
        names.update((call["id"], call["function"]["name"]) for call in message.get("tool_calls", ()))
        if message["role"] != "tool":
            less.append(message)
            continue
        call_id = message["tool_call_id"]
        tells = told.get(call_id, told_by(names.get(call_id, "")))
        of_people = Tells.PEOPLE in tells
        if of_people and calls is not None:
            may_read = call_id not in made_at_home
        else:
            may_read = disclosure.allows(tells)
        less.append(message if may_read else _kept(message, told_why=not of_people))
    return less


def _kept(message: Message, *, told_why: bool) -> Message:
    """Return a result that says whether it worked and nothing else; why a call was refused may be told."""
    try:
        result = json_loads(message["content"])
    except ValueError:
        result = None
    shown: dict[str, Any] = {"result": KEPT}
    if isinstance(result, dict) and "success" in result:
        refused = told_why and result.get("result") is None
        shown = {
            "success": result["success"],
            "result": KEPT,
            "error": result.get("error") if refused or result["success"] else KEPT,
        }
    return {**message, "content": json_dumps(shown)}
