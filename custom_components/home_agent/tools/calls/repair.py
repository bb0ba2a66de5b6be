"""Calls as models write them: names of other agents' tools, arguments in other forms, put in order.

Models were trained on other agents' tools. A table says what such a call means as a call of ours; what is
not in it is left alone and refused by the guard. Of arguments only the form changes: which entity is meant,
and what is done to it, stays what the model wrote.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
import re
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import probatio

from homeassistant.helpers import llm

from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.names import squash
from ...knowledge.spoken_words import words_of
from ...regex import lazy_regex
from ...safety.redaction import UNPARSED
from ...texts import ARGUMENT_KEYS, opened
from ..base import HomeAgentTool
from ..control.arguments import as_text, value_words
from ..everyday.media_tool import MediaTool
from ..everyday.notify_tool import NotifyTool, self_words
from ..guard import is_vetted
from ..ha_control import ControlTool
from ..ha_query import QueryTool
from ..resolving.resolver import LISTS, NO_VALUE, SLOT_WORDS, SLOTS, texts, tidy
from .schema import MAX_ERROR, check, check_texts, choices_of, json_schema, slots_of, types_of

CONTROL: Final = ControlTool.name
QUERY: Final = QueryTool.name
PLAY: Final = MediaTool.name
NOTIFY: Final = NotifyTool.name
SEARCH_AND_PLAY: Final = "mediasearchandplay"
"""Home Assistant's intent that finds media, squashed as those below."""
MAX_PARTS: Final = 10

_NESTED: Final = ("target", "data", "service_data", "parameters")
_DROPPED: Final = frozenset(("preferred_area_id", "preferred_floor_id", "return_response", "blocking"))
_SERVICE_KEYS: Final = ("service", "service_name")
_SERVICE_PARTS: Final = frozenset((*_SERVICE_KEYS, "action", "domain", "service_domain"))
_CALL_LISTS: Final = ("list", "services", "calls", "actions", "service_calls")
_PARAMETERS: Final = frozenset(
    (
        *(name for facts in DOMAINS.values() for name in facts.parameters if name != "is_volume_muted"),
        *("step", "value", "volume", "volume_step", "speed", "mode", "color_temp", "kelvin", "temperature"),
    )
)
"""What an intent's call may say beside its target; Home Assistant leaves other slots out too."""

_ON: Final = {name: facts.turn_on for name, facts in DOMAINS.items() if facts.turn_on != "turn_on"}
_OFF: Final = {name: facts.turn_off for name, facts in DOMAINS.items() if facts.turn_off != "turn_off"}


class IntentMeaning(NamedTuple):
    """What an intent of Home Assistant means as an action of ours."""

    action: str
    domains: tuple[str, ...] = ()
    """Domains that the intent is limited to."""
    by_domain: Mapping[str, str] = {}
    """Actions by domain where they differ."""
    renamed: Mapping[str, str] = {}
    """Parameters by the names that the intent has for them."""


_MEDIA: Final = ("media_player",)
_MOVES: Final = ("cover", "valve")

INTENTS: Final[Mapping[str, IntentMeaning]] = {
    "turnon": IntentMeaning("turn_on", by_domain=_ON, renamed={"brightness": "brightness_pct"}),
    "turnoff": IntentMeaning("turn_off", by_domain=_OFF),
    "toggle": IntentMeaning("toggle"),
    "opencover": IntentMeaning("open", ("cover",)),
    "closecover": IntentMeaning("close", ("cover",)),
    "openvalve": IntentMeaning("open", ("valve",)),
    "closevalve": IntentMeaning("close", ("valve",)),
    "lock": IntentMeaning("lock", ("lock",)),
    "unlock": IntentMeaning("unlock", ("lock",)),
    "setposition": IntentMeaning("set_position", _MOVES),
    "stopmoving": IntentMeaning("stop", _MOVES),
    "lightset": IntentMeaning(
        "set_value", ("light",), renamed={"brightness": "brightness_pct", "temperature": "color_temp_kelvin"}
    ),
    "mediapause": IntentMeaning("pause", _MEDIA),
    "mediaunpause": IntentMeaning("play", _MEDIA),
    "mediaplay": IntentMeaning("play", _MEDIA),
    "mediastop": IntentMeaning("stop", _MEDIA),
    "medianext": IntentMeaning("next", _MEDIA),
    "mediaprevious": IntentMeaning("previous", _MEDIA),
    "setvolume": IntentMeaning("set_volume", _MEDIA),
    "setvolumerelative": IntentMeaning("set_volume", _MEDIA),
    "mediaplayermute": IntentMeaning("mute", _MEDIA),
    "mediamute": IntentMeaning("mute", _MEDIA),
    "mediaplayerunmute": IntentMeaning("unmute", _MEDIA),
    "mediaunmute": IntentMeaning("unmute", _MEDIA),
    "vacuumstart": IntentMeaning("start", ("vacuum",)),
    "vacuumstop": IntentMeaning("stop", ("vacuum",)),
    "vacuumreturntobase": IntentMeaning("return_to_base", ("vacuum",)),
    "lawnmowerstartmowing": IntentMeaning("start", ("lawn_mower",)),
    "lawnmowerdock": IntentMeaning("return_to_base", ("lawn_mower",)),
    "fansetspeed": IntentMeaning("set_speed", ("fan",)),
    "climatesettemperature": IntentMeaning("set_temperature", ("climate",)),
    "climatesetfanmode": IntentMeaning("set_fan_mode", ("climate",)),
    "humidifiersetpoint": IntentMeaning("set_humidity", ("humidifier",)),
    "humidifiermode": IntentMeaning("set_preset", ("humidifier",)),
}
"""Intents by their squashed name, without "hass"."""

READS: Final = words_of(
    "getlivecontext getstate getstates getentity getentities getentitystate getentitystates getattributes "
    "gethaentities climategettemperature getdevices getdevicestate listentities"
)
CALL_SERVICE: Final = words_of(
    "callservice executeservice executeservices runservice performaction callhaservice executehaservice "
    "homeassistantcallservice executeaction callaction"
)
STARTING: Final = {"start": "turn_on", "activate": "turn_on", "run": "turn_on", "stop": "turn_off"}
"""What these actions mean to devices that can only be turned on and off."""
NAMING: Final = ("entity_id", "entity", "name", "domain")
TEXT_NAMES: Final = (
    *("GetLiveContext", "call_service", "execute_service", "execute_services"),
    *("homeassistant.turn_on", "homeassistant.turn_off", "light.turn_on", "light.turn_off"),
)
"""Names by which such calls are known where they are written as text."""

MESSAGE_NAMES: Final = words_of(
    "announce announcement broadcast makeannouncement sendannouncement broadcastmessage announcemessage "
    "assistsatelliteannounce tts ttsspeak speak say sendmessage sendnotification notify notifyuser "
    "notifysendmessage sendtophone"
)
"""Names of tools and services that send messages, squashed and without "hass"."""
_MESSAGE_SLOTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("recipient", "recipients", "to", "target", "targets", "who", "name"), "person"),
    **dict.fromkeys(("area", "room", "area_name", "floor", "location"), "person"),
    **dict.fromkeys(("entity_id", "media_player_entity_id"), "person"),
    **dict.fromkeys(("text", "content", "announcement", "body"), "message"),
    **dict.fromkeys(("time", "at", "delay", "scheduled_time", "datetime"), "when"),
}
"""Fields of such tools by our name."""
TIMER: Final = "timer"
OF_EVENTS: Final = ("when", "if")
"""Texts that models also write as objects."""
MESSAGE_BESIDE: Final = frozenset({"title", "data", "cache", "language", "preannounce"})
"""Fields that may be left out without another meaning; a time or a condition may not."""
ALL: Final = "everybody"
_SCRIPT: Final = lazy_regex(r"(?:[\w.:/]*[.:/_])?script(?:__|[.:/])")
"""The beginning of the name of a script: one that is called "announce" does what the household wrote."""


class Adapted(NamedTuple):
    """A call as the tools that there are take it."""

    call: llm.ToolInput
    rule: str | None = None
    """What was mapped; None if the tool is offered under this name."""
    meanings: Mapping[str, str] = MappingProxyType({})
    """What the action means by domain, where the caller's language says so."""


def adapt(call: llm.ToolInput, tools: Mapping[str, llm.Tool]) -> list[Adapted]:
    """Return a call as one or several calls of the tools that there are; unknown ones as they are."""
    word = _word(call.tool_name)
    name = _offered(call.tool_name, tools)
    is_own = call.tool_name in tools and call.tool_name != NOTIFY
    told = call if is_own or NOTIFY not in tools else _as_message(call, word, has_timer=TIMER in tools)
    if told != call:
        return [Adapted(told, "reminder_mapped" if told.tool_name == TIMER else "message_mapped")]
    if name is not None:
        rule = "tool_name_mapped" if name != call.tool_name else None
        renamed = replace(call, tool_name=name)
        if services := list(_from_services(renamed, word)):
            return services
        verb, meanings = str(call.tool_args.get("action")).casefold(), dict[str, str]()
        if name == CONTROL and verb in STARTING and any(call.tool_args.get(slot) for slot in NAMING):
            meanings = {
                domain: STARTING[verb]
                for domain, facts in DOMAINS.items()
                if facts.is_switched_with_everything
                and verb not in facts.actions
                and STARTING[verb] in facts.actions
            }
        return [Adapted(renamed, rule, meanings)]
    if UNPARSED in call.tool_args:
        wanted = QUERY if word in READS else CONTROL
        return [Adapted(replace(call, tool_name=wanted) if is_known(call.tool_name, tools) else call)]
    if word == SEARCH_AND_PLAY and PLAY in tools:
        slots = {"query": "search_query", "kind": "media_class"}
        args = {slot: value for slot, name in slots.items() if (value := call.tool_args.get(name))}
        player = [text for slot in ("name", "area", "floor") for text in texts(call.tool_args.get(slot))]
        args |= {"player": player[0]} if player else {}
        return [Adapted(replace(call, tool_name=PLAY, tool_args=args), "intent_mapped")]
    if CONTROL in tools:
        adapted = [_from_intent(call, word)] if word in INTENTS else list(_from_services(call, word))
        if adapted:
            return adapted
    if QUERY in tools and word in READS:
        args = tidy(call.tool_args) or {"entity_id": "*"}
        return [Adapted(replace(call, tool_name=QUERY, tool_args=args), "read_mapped")]
    return [Adapted(call)]


def is_known(name: str, tools: Mapping[str, llm.Tool]) -> bool:
    """Return whether a name is that of a tool, or an alias of one."""
    word = _word(name)
    is_foreign = word in {*INTENTS, *READS, *CALL_SERVICE, SEARCH_AND_PLAY} or _service(name) is not None
    return is_foreign or _offered(name, tools) is not None


def squashed(name: str) -> str:
    """Return a name without case and separators."""
    return re.sub(r"[\W_]+", "", name.casefold())


def _last_part(name: str) -> str:
    part = re.split(r"__|::|/", name.strip())[-1]
    return re.sub(
        r"^(?:functions|default_api|call|tools?|assist|intent|api|home_?assistant_?mcp)[.:]", "", part
    )


def _word(name: str) -> str:
    """Return the squashed name of an intent without its prefix, which models also write as "Has"."""
    return re.sub(r"^hass?", "", squashed(_last_part(name)))


def _offered(name: str, tools: Mapping[str, llm.Tool]) -> str | None:
    if name in tools:
        return name
    wanted = {squashed(name), squashed(_last_part(name))}
    alike = [tool for tool in tools if wanted & {squashed(tool), squashed(_last_part(tool))}]
    alike = alike or [tool for tool in tools if _word(tool) == _word(name)]
    return alike[0] if len(alike) == 1 else None


def _from_intent(call: llm.ToolInput, word: str) -> Adapted:
    meaning = INTENTS[word]
    slots, loose = _split(call.tool_args)
    action = meaning.action
    if meaning.domains and slots:
        given = [domain for domain in texts(slots.get("domain")) if domain in meaning.domains]
        if given or slots.keys() != {"domain"}:
            slots["domain"] = given or list(meaning.domains)
    parameters = {
        meaning.renamed.get(name, name): value
        for name, value in loose.items()
        if name in _PARAMETERS and not (name == "temperature" and texts(value) in (("0",), ("0.0",)))
    }
    if word == "setvolume" and (level := texts(parameters.get("volume_level"))):
        with suppress(ValueError):  # percent, as a part of one; what is below one is a part already
            number = float(level[0].rstrip("% "))
            is_part = 0 < number < 1 and "%" not in level[0]
            parameters["volume_level"] = number if is_part else number / 100
    if word == "setvolumerelative":
        step = next(iter(texts(parameters.get("volume_step"))), "")
        try:
            size = float(step)
            parameters = {"step": abs(size)}
        except ValueError:
            size, parameters = -1 if step.casefold() in ("down", "lower", "decrease") else 1, {}
        action = "volume_up" if size > 0 else "volume_down"
    args = {"action": action, **slots, **({"parameters": parameters} if parameters else {})}
    return Adapted(replace(call, tool_name=CONTROL, tool_args=args), "intent_mapped", meaning.by_domain)


def _from_services(call: llm.ToolInput, word: str) -> Iterator[Adapted]:
    args = call.tool_args
    several = next((value for key in _CALL_LISTS if isinstance(value := args.get(key), list)), None)
    if (pair := _service(call.tool_name)) is not None:
        entries: list[Any] = [{**args, "service": ".".join(pair)}]
    elif word in CALL_SERVICE or (call.tool_name == CONTROL and _names_service(args)):
        entries = [args] if several is None else several
    elif call.tool_name == CONTROL and several and len(args) == 1:
        entries = several
    else:
        return
    for number, entry in enumerate(entries[:MAX_PARTS]):
        if not isinstance(entry, Mapping):
            continue
        is_order = call.tool_name == CONTROL and not _names_service(entry)
        if (order := dict(entry) if is_order else _service_args(entry)) is not None:
            part_id = call.id if number == 0 else f"{call.id}-{number}"
            yield Adapted(replace(call, id=part_id, tool_name=CONTROL, tool_args=order), "service_mapped")


def _names_service(args: Mapping[str, Any]) -> bool:
    return not args.keys().isdisjoint(_SERVICE_KEYS)


def is_service_form(args: Mapping[str, Any]) -> bool:
    """Return whether arguments are those of a service with a target, and not of a tool."""
    return _names_service(args) and _service_args(args) is not None


def _service_args(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of ha_control for one call of a service; its targets may tell the domain."""
    named = [str(entry[key]) for key in (*_SERVICE_KEYS, "action") if entry.get(key)]
    slots, loose = _split({key: value for key, value in entry.items() if key not in _SERVICE_PARTS})
    kinds = {text.partition(".")[0] for text in texts(slots.get("entity_id")) if "." in text}
    domain = str(
        entry.get("domain") or entry.get("service_domain") or (kinds.pop() if len(kinds) == 1 else "")
    )
    service = named[0] if named else ""
    pair = _service(service if "." in service else f"{domain}.{service}")
    if pair is None:
        return None
    domain, service = pair
    if domain != "homeassistant":
        service = f"{domain}.{service}"
        if slots:
            slots["domain"] = [domain]
    return {"action": service, **slots, **({"parameters": loose} if loose else {})}


def _service(name: str) -> tuple[str, str] | None:
    domain, dot, service = _last_part(name).strip().casefold().partition(".")
    if not dot or not service.isidentifier():
        return None
    verbs = ("turn_on", "turn_off", "toggle")
    if domain == "homeassistant":
        return (domain, service) if service in verbs else None
    known = service in DOMAINS[domain].actions or is_vetted(domain, service, gated=True)
    return (domain, service) if known else None


def _split(args: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    nested = [args[key] for key in _NESTED if isinstance(args.get(key), Mapping)]
    flat = {key: args[key] for key in args if key not in _NESTED or not isinstance(args[key], Mapping)}
    slots: dict[str, Any] = {}
    loose: dict[str, Any] = {}
    for held in nested:
        # A second target stays among the parameters, where it is refused.
        loose |= {key: value for key, value in held.items() if key in flat}
        flat = {**held, **flat}
    for key, value in flat.items():
        if (slot := SLOT_WORDS.get(key, key)) in SLOTS:
            if named := list(texts(value)):
                slots[slot] = named if slot in LISTS else value
        elif key not in _DROPPED and value is not None and value != "":
            loose[key] = value
    return slots, loose


def _as_message(call: llm.ToolInput, word: str, *, has_timer: bool) -> llm.ToolInput:
    """Return a call of a tool for messages as one of notify_person; as it is if it is none.

    `word` is the squashed name of the tool. A broadcast without a receiver is for everybody. A message of a
    speaker to themselves for later is a reminder, which is told where it was set.
    """
    given = call.tool_args
    is_message = call.tool_name == NOTIFY or (word in MESSAGE_NAMES and not _SCRIPT.match(call.tool_name))
    if UNPARSED in given or not is_message:
        return call
    if isinstance(given.get("target"), dict):
        given = {**{key: value for key, value in given.items() if key != "target"}, **given["target"]}
    args: dict[str, Any] = {}
    # Our own names count before others, and of these the most telling one: the first of the table.
    others = [key for key in _MESSAGE_SLOTS if key in given]
    for key in (*(key for key in given if key not in _MESSAGE_SLOTS), *others):
        if given[key] and key not in MESSAGE_BESIDE:
            args.setdefault(_MESSAGE_SLOTS.get(key, key), given[key])
    if call.tool_name != NOTIFY:
        args.setdefault("person", ALL)
    receiver = ", ".join(texts(args.get("person")))
    # "mia" is Italian for my, Mia a name
    to_self = squash(receiver) in self_words() and receiver.islower() and not args.get("to_phone")
    if has_timer and to_self and args.get("when"):
        times = {slot: str(value) for slot in ("when", "repeat", "if") if (value := args.get(slot))}
        name = {"name": str(args.get("message") or "")}
        return replace(call, tool_name=TIMER, tool_args={"action": "set", **name, **times})
    return replace(call, tool_name=NOTIFY, tool_args=args)


BESIDE: Final = frozenset(("name", "function", "tool", "tool_name", "type", "id"))
"""Keys that are allowed beside an object that holds all arguments."""
OBJECTS: Final = frozenset(("target", "history"))
"""Keys of objects that may hold arguments."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
    "null": (type(None),),
}
_NUMBER: Final = lazy_regex(
    r"\s*(-?\d{1,12}(?:[.,]\d{1,6})?)\s*+(?:%|°[CF]?|percent|degrees?)?\s*", re.IGNORECASE
)
_TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def fit(tool: llm.Tool, args: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return arguments that fit the tool, and each kind of repair once; what fits is left as it is.

    Raises ValidationError naming every slot that does not fit.
    """
    schema, words = json_schema(tool), SLOT_WORDS
    if isinstance(tool, HomeAgentTool):
        words = {**words, **tool.slot_words}
    if words is SLOT_WORDS or args.keys() <= slots_of(schema).keys():
        with suppress(ValidationError):
            return _checked(tool, dict(args)), ()
    rules: dict[str, None] = {}
    return _checked(tool, _read(dict(args), schema, words, rules, tool.name)), tuple(rules)


def _checked(tool: llm.Tool, args: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(tool, HomeAgentTool):
        check(tool, args)
        return args
    try:
        ordered = tool.in_order(args)
    except probatio.Invalid as err:
        raise ValidationError(f"{tool.name}: {err}"[:MAX_ERROR]) from err
    check_texts(ordered, tool.max_text)
    return check(tool, ordered)


def _read(
    args: dict[str, Any],
    schema: Mapping[str, Any],
    words: Mapping[str, str],
    rules: dict[str, None],
    name: str = "",
) -> dict[str, Any]:
    """Return an object under the slots of its schema, without optional slots that say nothing."""
    slots, required = slots_of(schema), schema.get("required") or ()
    if name and (inside := _inside(args, slots, required, words)) is not None:
        beside = {key: args[key] for key in BESIDE & args.keys() & slots.keys() if args[key] != name}
        args = {**beside, **inside}
        rules["unwrapped"] = None
    flat: list[tuple[str, Any]] = []
    for key, value in args.items():
        # An object for a target or a time that is no slot; a second target stays where it is, and is refused.
        if key in OBJECTS - slots.keys() and isinstance(value, Mapping) and args.keys().isdisjoint(value):
            flat += ((str(name), item) for name, item in value.items())
        else:
            flat.append((str(key), value))
    named: dict[str, Any] = {}
    for key, value in flat:
        slot = _slot_of(key, slots, words)
        if slot != key:
            rules["slot_renamed"] = None
        if not named.get(slot) or (slot == key and value):
            named[slot] = value
    args = {}
    for slot, value in named.items():
        read = value
        if slot in slots:
            read = _value(as_text(value) if slot in OF_EVENTS else value, slots[slot], rules)
            if slot not in required and _is_nothing(read, slots[slot]):
                rules["empty_dropped"] = None
                continue
        args[slot] = read
    return args


def _inside(
    args: Mapping[str, Any], slots: Mapping[str, Any], required: Any, words: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return the arguments that the only argument holds; None if it is a slot that may hold an object."""
    holders = args.keys() - BESIDE
    if len(holders) != 1:
        return None
    key = holders.pop()
    inner = opened(args[key])
    is_slot = key in slots and (key not in ARGUMENT_KEYS or set(required) <= args.keys())
    if not isinstance(inner, Mapping) or is_slot:
        return None
    shared = {_slot_of(str(name), slots, words) for name in inner} & slots.keys()
    return dict(inner) if shared or (not inner and key in ARGUMENT_KEYS) else None


def _slot_of(key: str, slots: Mapping[str, Any], words: Mapping[str, str]) -> str:
    for slot in (key, words.get(key, key)):
        if slot in slots:
            return slot
    same = [slot for slot in slots if squash(slot) == squash(key)]
    return same[0] if len(same) == 1 else key


def _is(value: Any, types: frozenset[str]) -> bool:
    if isinstance(value, bool):
        return not types or "boolean" in types
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        return True
    return not types or any(isinstance(value, _TYPES.get(name, (object,))) for name in types)


def _is_nothing(value: Any, schema: Any) -> bool:
    if isinstance(value, str):
        choices = choices_of(schema)
        word = value.strip().casefold()
        return word in ("", "null", "undefined") or (
            bool(choices) and word in NO_VALUE and value not in choices
        )
    return value in (None, {}) or (isinstance(value, list) and all(item in ("", None) for item in value))


def _value(given: Any, schema: Any, rules: dict[str, None]) -> Any:
    wanted, choices, value = types_of(schema), choices_of(schema), given
    if not _is(value, wanted):
        text = value.strip() if isinstance(value, str) else ""
        inner, is_number = opened(text), isinstance(value, int | float) and not isinstance(value, bool)
        if inner is not text and _is(inner, wanted):
            value = inner
        elif isinstance(value, list) and len(value) == 1 and _is(value[0], wanted):
            value = value[0]
        elif "string" in wanted and value and isinstance(value, list) and {*map(type, value)} == {str}:
            value = ", ".join(value)
        elif "array" in wanted and (is_number or (text and not _is_nothing(text, {}))):
            parts = [part.strip() for part in text.split(",")]
            value = parts if all(part in choices for part in parts) else [value]
        elif "boolean" in wanted and text.casefold() in _TRUTHS:
            value = _TRUTHS[text.casefold()]
        elif wanted & {"number", "integer"} and (number := _NUMBER.fullmatch(text)):
            size = float(number[1].replace(",", "."))
            value = int(size) if size.is_integer() else size
        elif is_number and "string" in wanted:
            value = str(int(value) if float(value).is_integer() else value)
    if isinstance(value, Mapping) and slots_of(schema):
        return _read(dict(value), schema, SLOT_WORDS, rules)
    spelled = []
    for item in value if isinstance(value, list) else [value]:
        same = []
        if isinstance(item, str) and item not in choices:  # it may differ in case and separators
            same = [choice for choice in choices if squash(str(choice)) == squash(item)]
        spelled.append(same[0] if len(same) == 1 else item)
    value = spelled if isinstance(value, list) else spelled[0]
    if value not in (given, [given]):  # one thing instead of a list of one is right, too
        rules["value_read"] = None
    return value


def are_arguments(text: str, tools: Mapping[str, llm.Tool]) -> bool:
    """Return whether a text in JSON or Python notation holds the arguments of calls, without their tools."""
    value = opened(text.strip())
    several = value if isinstance(value, list) else [value]
    return bool(several) and all(isinstance(args, dict) and tool_of(args, tools) for args in several)


def tool_of(args: Mapping[str, Any], tools: Mapping[str, llm.Tool]) -> str | None:
    """Return the only tool that takes these arguments; None if none does, or several do."""
    if CONTROL in tools and is_service_form(args):
        return CONTROL
    ids = texts(args.get("entity_id"))
    names_entities = bool(ids) and all("." in text and text.partition(".")[0] in DOMAINS for text in ids)
    if QUERY in tools and names_entities and args.keys() <= slots_of(json_schema(tools[QUERY])).keys():
        return QUERY
    fitting: list[str] = []
    for name, tool in tools.items():  # those that know all of it, and need nothing else
        schema = json_schema(tool)
        required, unknown = schema.get("required"), args.keys() - slots_of(schema).keys()
        if not required or not set(required) <= args.keys():
            continue
        if tool.name == CONTROL:
            if not set(SLOTS) & args.keys() or not unknown <= value_words():
                continue
        elif unknown:
            continue
        with suppress(ValidationError):
            if fit(tool, args)[0]:
                fitting.append(name)
    return fitting[0] if len(fitting) == 1 else None
