"""The subject of a pending call: what a question has to name, and whether it is unchanged."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.json import json_dumps
from homeassistant.helpers.redact import REDACTED

from ..domains import DOMAINS
from ..errors import ChangedSinceAsked, NotConfirmed, PermissionDenied, RefusedByRule
from ..regex import lazy_regex
from ..safety.frozen import (
    MAX_THINGS,
    CallDraft,
    Frozen,
    FrozenAutomation,
    FrozenCall,
    FrozenIntent,
    FrozenLook,
    FrozenPlan,
    FrozenTool,
)
from ..safety.redaction import redacted
from ..safety.rules import Effect
from ..texts import cut, leaves, visible
from .intents import inner_name
from .recipients import is_message

MAX_VALUE: Final = 60
MAX_WRITTEN: Final = 2_000
"""Characters that a person can be expected to read before a yes."""
MAX_TEXT: Final = 10_000
"""Characters of a text that are shown at all."""
MAX_TOLD: Final = 200
"""Characters of a message, and of the arguments of one call, that a spoken question can hold."""
MAX_KINDS: Final = 8
"""Kinds of actions inside a script or a scene that a question names."""
UNPROMPTED: Final = "Not done: this needs a yes, but nobody said the wake word; the person must say it first"
TARGET_SLOTS: Final = frozenset(
    {"name", "area", "floor", "domain", "device_class", "preferred_area_id", "preferred_floor_id"}
)
"""Slots of an intent that the names of its targets tell."""


_ENTITY_ID = lazy_regex(r"(?<![a-z0-9_])[a-z0-9_]+\.[a-z0-9_]+(?![a-z0-9_])")
_REGISTRY_ID = lazy_regex(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")


class CallDescription(NamedTuple):
    """Data of a call in words."""

    text: str
    whole: bool
    """Whether nothing was shortened."""


@callback
def freeze(hass: HomeAssistant, draft: CallDraft | None, call: Frozen) -> str:
    """Let a call wait, and return the id of the action that it belongs to.

    Raises NotConfirmed without a draft, PermissionDenied for what one question cannot tell, TooMuchAtOnce
    for what it cannot name, RefusedByRule in a turn that no wake word began.
    """
    if draft is None:
        raise NotConfirmed("This needs a person's confirmation")
    if isinstance(call, FrozenAutomation) and "```" in call.yaml:
        raise PermissionDenied("An automation with three back-ticks cannot be shown in a question")
    # A person can judge untrusted text only after hearing or reading all of it.
    speaker = draft.origin.speaker
    if speaker.unprompted:
        raise RefusedByRule("wake_word_needed", UNPROMPTED)
    if speaker.tainted and not (_is_visible(call) and tells_all(call, written=not speaker.voice)):
        raise PermissionDenied(
            "Text from outside was read, and a question cannot tell all of this. "
            "Use shorter arguments, without codes and invisible characters"
        )
    calls = _calls_of(call)
    named = [key for inner in calls for key in (*inner.entity_ids, *entities_in(hass, inner.data))]
    things: list[str] = []  # the items of a question; the content of a script is part of it
    match call:
        case FrozenAutomation():
            things = [f"automation {call.name}"]
        case FrozenLook():
            named.append(call.entity_id)
            things = [call.entity_id]
        case FrozenTool():
            named += entities_in(hass, call.args)
            things = [f"{inner_name(call.tool)} {json_dumps(redacted(call.args))}"]
        case _:
            for inner in calls:
                if is_message(inner.domain, inner.service):
                    things.append(f"message {inner.data.get('message')}")  # one question names all receivers
                else:
                    data = json_dumps(redacted(inner.data))
                    targets = inner.entity_ids or ("",)
                    things += [f"{inner.domain}.{inner.service} {key} {data}" for key in targets]
    waiting = replace(call, origin=draft.origin, registered=registry_ids(hass, named))
    action_id = draft.draft.add(waiting, things)
    draft.waits = True
    return action_id


@callback
def check_unchanged(hass: HomeAssistant, call: Frozen) -> None:
    """Raise ChangedSinceAsked if an entity id means another entity than when the question was put."""
    if registry_ids(hass, call.registered) != call.registered:
        raise ChangedSinceAsked


def is_confirmed(call: FrozenCall, confirmed: Collection[FrozenCall]) -> bool:
    """Return whether a person has confirmed this call earlier, with all its targets and effects."""
    alike = [
        earlier
        for earlier in confirmed
        if (earlier.domain, earlier.service, dict(earlier.data))
        == (call.domain, call.service, dict(call.data))
        and earlier.pin >= call.pin  # a yes is no PIN
    ]
    targets = {entity_id for earlier in alike for entity_id in earlier.entity_ids}
    effects = {effect for earlier in alike for effect in earlier.contents}
    return bool(alike) and targets.issuperset(call.entity_ids) and effects.issuperset(call.contents)


def check_contents(call: FrozenCall | FrozenTool, contents: Collection[Effect]) -> None:
    """Raise ChangedSinceAsked if a script or a scene would do more than was asked about."""
    if not set(contents) <= set(call.contents):
        raise ChangedSinceAsked


def told(data: Mapping[str, Any], *, full: bool = False) -> CallDescription:
    """Return the data of a call with its keys; codes and keys are never included."""
    parts: list[str] = []
    whole = True
    for key, value in redacted(data).items():
        if value is None or value in ("", REDACTED):
            continue
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        text = cut(visible(value if isinstance(value, str) else json_dumps(number)), MAX_TEXT)
        name = visible(str(key)).replace("_", " ")
        short = (name, text) if full else (cut(name, MAX_VALUE), cut(text, MAX_VALUE))
        whole = whole and short == (name, text)
        parts.append(": ".join(short))
    line = ", ".join(parts)
    if full or len(line) <= MAX_TOLD:
        return CallDescription(line, whole)
    return CallDescription(cut(line, MAX_TOLD), whole=False)


def told_message(data: Mapping[str, Any], *, full: bool = False) -> CallDescription:
    """Return the text of a message."""
    text = visible(" ".join(str(data[key]) for key in ("title", "message") if data.get(key)))
    text = cut(text, MAX_TEXT)
    if full or len(text) <= MAX_TOLD:
        return CallDescription(text, whole=True)
    return CallDescription(cut(text, MAX_TOLD), whole=False)


def data_of(call: FrozenCall | FrozenTool) -> Mapping[str, Any]:
    """Return the data that a question shows in addition to the targets."""
    if isinstance(call, FrozenTool):
        return call.args
    variables = call.data.get("variables")
    if call.domain == "script" and isinstance(variables, Mapping):
        return {**variables, **{key: value for key, value in call.data.items() if key != "variables"}}
    return {key: value for key, value in call.data.items() if key not in DOMAINS[call.domain].untold}


def calls_of_intent(call: FrozenIntent) -> tuple[FrozenCall, ...]:
    """Return the calls of an intent, with its data other than the targets."""
    data = {key: value for key, value in call.slots.items() if key not in TARGET_SLOTS}
    return tuple(replace(inner, data={**data, **inner.data}) for inner in call.calls)


def _calls_of(item: Frozen) -> tuple[FrozenCall, ...]:
    """Return the service calls of what waits, as far as they are known."""
    match item:
        case FrozenCall():
            return (item,)
        case FrozenLook():
            return item.sends
        case FrozenTool():
            return ()
    return item.calls


def tells_all(call: Frozen, *, written: bool) -> bool:
    """Return whether a question can tell everything about a call; a written one has room for more."""
    contents = call.contents if isinstance(call, FrozenCall | FrozenTool) else ()
    kinds = {(effect.domain, effect.service) for effect in contents}
    if not all(effect.known for effect in contents) or (len(kinds) > MAX_KINDS and not written):
        return False
    match call:
        case FrozenIntent():
            return all(tells_all(inner, written=written) for inner in calls_of_intent(call))
        case FrozenPlan() | FrozenAutomation():
            if isinstance(call, FrozenAutomation) and not written:
                clauses = (*call.triggers, *call.conditions)
                named = (*map(entities_of_clause, clauses), *(inner.entity_ids for inner in call.calls))
                if len(clauses) + len(call.steps) > MAX_KINDS or any(len(ids) > MAX_THINGS for ids in named):
                    return False
            return all(tells_all(inner, written=written) for inner in call.calls)
        case FrozenCall() if is_message(call.domain, call.service):
            line = told_message(call.data, full=written)
        case FrozenCall() | FrozenTool():
            line = told(data_of(call), full=written)
        case FrozenLook():
            return True
    return line.whole and len(line.text) <= MAX_WRITTEN


def _is_visible(call: Frozen) -> bool:
    """Return whether people see all that is in a call: no code that is left out, no hidden character."""
    if isinstance(call, FrozenLook):
        return True
    data: list[Any] = [inner.data for inner in _calls_of(call)]
    match call:
        case FrozenIntent():
            data.append(call.slots)
        case FrozenTool():
            if redacted(call.args) != call.args:
                return False
            data.append(call.args)
        case FrozenCall():
            shown = {key: value for key, value in call.data.items() if key != "code"}
            if redacted(shown) != shown:
                return False
    texts = (leaf for leaf in leaves(data, keys=True) if isinstance(leaf, str))
    return all(visible(text) == " ".join(text.split()) for text in texts)


def entities_of_clause(clause: Mapping[str, Any]) -> list[str]:
    """Return the entities that a trigger or a condition is about."""
    inner = [each for each in as_values(clause.get("conditions")) if isinstance(each, Mapping)]
    return [str(each) for part in (clause, *inner) for each in as_values(part.get(ATTR_ENTITY_ID))]


def as_values(value: Any) -> Sequence[Any]:
    """Return a value, or the values of a list; none for nothing."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


@callback
def entities_in(hass: HomeAssistant, value: Any) -> Iterator[str]:
    """Yield the entities that any text in a value names: alone, in a list of several, or in an address."""
    registry = er.async_get(hass)
    for text in leaves(value, keys=True):
        folded = text.lower() if isinstance(text, str) else ""
        for found in _ENTITY_ID.finditer(folded):
            if hass.states.get(found[0]) is not None or registry.async_get(found[0]) is not None:
                yield found[0]
        for found in _REGISTRY_ID.finditer(folded):
            if (entry := registry.entities.get_entry(found[0])) is not None:
                yield entry.entity_id


@callback
def registry_ids(hass: HomeAssistant, entity_ids: Iterable[str]) -> dict[str, str | None]:
    """Return the registry's id of each entity, None for one that is not registered."""
    registry = er.async_get(hass)
    return {
        entity_id: entry.id if (entry := registry.entities.get(entity_id)) else None
        for entity_id in entity_ids
    }
