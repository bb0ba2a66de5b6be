"""How a question for a person's word is put: action and targets by name, in the person's language."""

from collections.abc import Sequence

from homeassistant.const import ATTR_FRIENDLY_NAME
from homeassistant.core import HomeAssistant

from ..safety.frozen import Frozen, FrozenCall, FrozenIntent, FrozenLook, FrozenTool
from ..tools.other_apis import inner_name
from ..tools.resolving.candidates import plain
from ..tools.vetted import NOTIFY
from .phrases import async_phrase

MAX_NAMED = 6
MAX_ASKED = 4

ASKED = frozenset(
    {
        "alarm_control_panel_alarm_disarm",
        "camera_turn_off",
        "camera_turn_on",
        "cover_close_cover",
        "cover_open_cover",
        "cover_set_cover_position",
        "lock_lock",
        "lock_open",
        "lock_unlock",
        "scene_turn_on",
        "script_turn_on",
        "siren_turn_off",
        "siren_turn_on",
        "valve_close_valve",
        "valve_open_valve",
    }
)
"""Services with a question of their own."""

DOES = {
    "alarm_control_panel.alarm_disarm": "disarm",
    "cover.open_cover": "open",
    "cover.set_cover_position": "move",
    "cover.toggle": "move",
    "lock.open": "unlatch",
    "lock.unlock": "unlock",
    "valve.open_valve": "open",
    "valve.set_valve_position": "move",
    "valve.toggle": "move",
}
"""What scripts and scenes do that has a sentence of its own."""
MAX_TOLD = 8

GENERIC = frozenset({"turn_on", "turn_off", "toggle"})


async def async_question(hass: HomeAssistant, language: str, frozen: Sequence[Frozen]) -> str:
    """Return the question about all that waits; each part is one sentence."""
    asked = list(dict.fromkeys([await _async_whole(hass, language, part) for part in parts(frozen)]))
    if len(asked) > MAX_ASKED:
        return await async_phrase(hass, language, "ask_many", count=str(len(asked)), first=asked[0])
    return " ".join(asked)


def parts(frozen: Sequence[Frozen]) -> list[Frozen]:
    """Return what waits, an intent as the calls that it makes."""
    return [part for item in frozen for part in (item.calls if isinstance(item, FrozenIntent) else (item,))]


async def _async_whole(hass: HomeAssistant, language: str, part: Frozen) -> str:
    """Return the question about one call, with what it does in groups, scripts and scenes."""
    question = await _async_part(hass, language, part)
    return " ".join([question, *await _async_contents(hass, language, part)])


async def _async_part(hass: HomeAssistant, language: str, part: Frozen) -> str:
    """Return the question about one call."""
    if isinstance(part, FrozenLook):
        key, camera = "ask_look_send" if part.sends else "ask_look", names(hass, (part.entity_id,))
        return await async_phrase(hass, language, key, targets=camera, receivers=receivers_of(hass, part))
    if not isinstance(part, FrozenCall):
        return await async_phrase(hass, language, "ask_tool", tool=tool_name(part))
    if part.domain == NOTIFY:
        message = plain(str(part.data.get("message", "")))
        receivers = receiver(hass, part)
        return await async_phrase(hass, language, "ask_message", targets=receivers, message=message)
    targets = names(hass, part.entity_ids)
    key = f"{part.domain}_{part.service}"
    if key in ASKED:
        position = str(part.data.get("position", ""))
        return await async_phrase(hass, language, f"ask_{key}", targets=targets, position=position)
    if part.service in GENERIC:
        return await async_phrase(hass, language, f"ask_{part.service}", targets=targets)
    action = f"{part.domain}.{part.service}"
    return await async_phrase(hass, language, "ask_service", targets=targets, action=action)


async def _async_contents(hass: HomeAssistant, language: str, part: Frozen) -> list[str]:
    """Return what a call does in groups, scripts and scenes that is not free, a sentence for each kind."""
    effects = part.contents if isinstance(part, FrozenCall | FrozenTool) else ()
    kinds: dict[str, dict[str, None]] = {}
    for effect in effects:
        if effect.known:
            targets = kinds.setdefault(f"{effect.domain}.{effect.service}", {})
            targets |= dict.fromkeys([effect.entity_id] if effect.entity_id else ())
    said = [await _async_does(hass, language, action, tuple(targets)) for action, targets in kinds.items()]
    if len(said) > MAX_TOLD:
        more = await async_phrase(hass, language, "does_more", count=str(len(said) - MAX_TOLD))
        said = [*said[:MAX_TOLD], more]
    if any(not effect.known for effect in effects):
        said.append(await async_phrase(hass, language, "does_unknown"))
    return said


async def _async_does(hass: HomeAssistant, language: str, action: str, entity_ids: Sequence[str]) -> str:
    """Return what a script or a scene does to entities."""
    if not entity_ids:
        return await async_phrase(hass, language, "does_action", action=action)
    service = action.partition(".")[2]
    key = f"does_{DOES.get(action, service if service in GENERIC else 'service')}"
    return await async_phrase(hass, language, key, action=action, targets=names(hass, entity_ids))


def tool_name(part: FrozenIntent | FrozenTool) -> str:
    """Return the name of a tool or an intent as it is spoken."""
    return plain(part.intent_type if isinstance(part, FrozenIntent) else inner_name(part.tool))


def receiver(hass: HomeAssistant, part: FrozenCall) -> str:
    """Return where a message goes, as it is spoken."""
    service = part.service.removeprefix("mobile_app_").replace("_", " ")
    return names(hass, part.entity_ids) if part.entity_ids else plain(service)


def receivers_of(hass: HomeAssistant, part: FrozenLook) -> str:
    """Return where a picture goes, as it is spoken."""
    return ", ".join(receiver(hass, message) for message in part.sends)


def names(hass: HomeAssistant, entity_ids: Sequence[str]) -> str:
    """Return the names of entities as they are spoken."""
    found = []
    for entity_id in entity_ids[:MAX_NAMED]:
        state = hass.states.get(entity_id)
        name = state.attributes.get(ATTR_FRIENDLY_NAME) if state else None
        found.append(plain(str(name or entity_id)))
    more = len(entity_ids) - len(found)
    return ", ".join(found) + (f" + {more}" if more > 0 else "")
