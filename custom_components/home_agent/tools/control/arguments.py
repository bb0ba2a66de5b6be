"""The arguments of ha_control: what the model is told, and what it writes."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

import probatio

from ...domains import DOMAINS, verbs
from ...domains.base import ANY, Action, DomainFacts
from ...errors import ValidationError
from ...knowledge.house import HouseSnapshot
from ...knowledge.names import labels_in
from ...knowledge.spoken_words import words_of
from ...texts import fold
from ..guard import target_keys
from ..resolving.resolver import NO_VALUE, SLOTS, Target, texts, tidy
from .values import READERS, Units, read_number, read_percent, read_volume

STEP = "step"
VARIABLES: Final = "variables"
"""Where the values for the fields of a script are."""
STEP_ALIASES = frozenset(
    (
        *("by", "amount", "delta", "change", "percent", "percentage"),
        *("brightness_step_pct", "brightness_step", "percentage_step", "temperature_step", "volume_step"),
    )
)
MAX_ERROR = 300

_READS = words_of(
    "get get_state state status is_on is_off is_open is_closed check query read info describe list has_state"
)
_VERB_WORDS: Mapping[str, str] = {
    "on": "turn_on",
    "off": "turn_off",
    "switch_on": "turn_on",
    "switch_off": "turn_off",
    "power_on": "turn_on",
    "power_off": "turn_off",
    "enable": "turn_on",
    "disable": "turn_off",
    "update": "install",
    "upgrade": "install",
    "set": "set_value",
    "adjust": "set_value",
    "change": "set_value",
    "set_brightness": "set_value",
    "dim": "set_value",
    "set_color": "set_value",
    "set_level": "set_value",
    "set_percentage": "set_speed",
    "set_fan_speed": "set_speed",
    "set_mode": "set_preset",
    "set_preset_mode": "set_preset",
    "set_operation_mode": "set_preset",
    "set_source": "select_source",
    "set_option": "select_option",
    "select": "select_option",
    "set_tilt_position": "set_tilt",
    "tilt": "set_tilt",
    "volume_set": "set_volume",
    "volume_mute": "mute",
    "resume": "play",
    "unpause": "play",
    "skip": "next",
    "dock": "return_to_base",
    "return": "return_to_base",
    "return_home": "return_to_base",
    "raise": "increase",
    "lower": "decrease",
    "activate_scene": "activate",
    "run": "activate",
    "arm": "arm_away",
    "open_latch": "open",
    "set_cover_position": "set_position",
    "set_valve_position": "set_position",
    "increment": "increase",
    "decrement": "decrease",
}
TIME_SLOTS: Final = ("when", "for", "repeat")
SLOT_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("verb", "command", "operation"), "action"),
    **dict.fromkeys(("delay", "at_time", "run_at"), "when"),
    **dict.fromkeys(("for_duration", "hold"), "for"),
    **dict.fromkeys(("service_data", "data", "params"), "parameters"),
}
"""Slots of a call by what models call them, beside those of any target."""
REMARKS: Final = frozenset(
    ("reason", "reasoning", "explanation", "rationale", "justification", "thought", "thoughts", "confidence")
)
"""Keys under which models write about a call, and not what it is to do."""
TIME_WORDS: Final = words_of(
    "when delay delayed after at before schedule scheduled until for start starts begin begins end ends time "
    "times timeout timer duration hold wait date datetime due deadline second seconds minute minutes hour "
    "hours"
)
"""Words in a key that make its value a time."""
SCRIPT_PREFIX: Final = "script."


def control_schema() -> probatio.Schema:
    """Return what any home may be offered. Fields are in the facts of the domains, see `offered.py`."""
    return probatio.Schema(
        {
            probatio.Required("action"): probatio.In(sorted(verbs())),
            probatio.Optional("entity_id"): [str],
            probatio.Optional("name"): str,
            probatio.Optional("area"): str,
            probatio.Optional("floor"): str,
            probatio.Optional("label"): str,
            probatio.Optional("domain"): probatio.Any(str, [str]),
            probatio.Optional("device_class"): probatio.Any(str, [str]),
            probatio.Optional("parameters", description="values for the action"): dict,
            probatio.Optional("when", description="later: 10 minutes, 18:30, sunset - 30 minutes"): str,
            probatio.Optional("for", description="5 minutes, then as before"): str,
            probatio.Optional("repeat", description="daily, weekdays, weekly, monday"): str,
        }
    )


@cache
def value_words() -> frozenset[str]:
    """Return all words that name a value: the parameters of all domains and their other names."""
    named = (
        word
        for facts in DOMAINS.values()
        for name, parameter in facts.parameters.items()
        for word in (name, *parameter.aliases.split())
    )
    return frozenset((*named, *STEP_ALIASES, STEP, VARIABLES)) - SLOT_WORDS.keys()


def in_order(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call for `control_schema`; what is beside the slots is a parameter.

    Raises probatio.Invalid for an action that only reads.
    """
    ordered = {"action": read_verb(args["action"])} if args.get("action") else {}
    ordered |= tidy(args)
    ordered |= {slot: text for slot in TIME_SLOTS if (text := ", ".join(texts(args.get(slot))))}
    is_script = any(text.startswith(SCRIPT_PREFIX) for text in ordered.get("entity_id", ()))
    given = {
        key: value
        for key, value in args.items()
        if key not in ("action", "parameters", *SLOTS, *TIME_SLOTS) and (is_script or key not in REMARKS)
    }
    held = args.get("parameters")
    if isinstance(held, Mapping):
        given |= held
    elif held is not None:
        ordered["parameters"] = held
    return {**ordered, "parameters": given} if given else ordered


def is_about_time(key: str) -> bool:
    """Return whether the name of an argument says that its value is a time."""
    return not TIME_WORDS.isdisjoint(key.casefold().replace("-", "_").replace(" ", "_").split("_"))


def has_times(args: Mapping[str, Any]) -> bool:
    """Return whether any argument may say when, for how long or how often."""
    return any(args.get(slot) for slot in TIME_SLOTS) or any(map(is_about_time, args.get("parameters") or ()))


def read_args(args: Mapping[str, Any]) -> tuple[str, Target, dict[str, Any]]:
    """Return action, target and parameters of arguments that `in_order` has put in order.

    Raises ValidationError for parameters that belong to the target.
    """
    return args["action"], Target.from_args(args), clean(args.get("parameters") or {})


def read_verb(value: Any) -> str:
    """Return the action that a word means: its name, a service of that meaning, a common synonym.

    Any other word is returned as it is. Raises probatio.Invalid for one that reads.
    """
    word = "_".join(fold(" ".join(texts(value))).split())
    if word in verbs():
        return word
    meant = _verb_words()
    for domain, facts in DOMAINS.items():
        if facts.actions and word.startswith(f"{domain}_") and word[len(domain) + 1 :] in meant:
            word = word[len(domain) + 1 :]
            break
    if word in _READS or word.startswith(("is_", "get_")):
        raise probatio.Invalid(f"{word[:40]!r} changes nothing; read states with ha_query")
    return meant.get(word, word)


@cache
def _verb_words() -> Mapping[str, str]:
    """Return the actions by their names, synonyms, and the services that are no actions themselves."""
    services = {
        str(action.service): verb
        for facts in DOMAINS.values()
        for verb, action in facts.actions.items()
        if action.service not in (None, *verbs()) and not verb.startswith("turn_")
    }
    return {**services, **_VERB_WORDS, **{verb: verb for verb in verbs()}}


def clean(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters without what is empty.

    Raises ValidationError for keys that belong to the target.
    """
    if wrong := target_keys(raw):
        raise ValidationError(
            f"parameters: {', '.join(wrong)} does not belong here; "
            "give the target as entity_id, name, area or floor"
        )
    return {
        str(key).strip().casefold().replace(" ", "_").replace("-", "_"): value
        for key, value in raw.items()
        if not _is_empty(value)
    }


def _is_empty(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().casefold() in NO_VALUE
    return value is None or (isinstance(value, (list, dict)) and not value)


def normalise(
    domain: str,
    verb: str,
    action: Action,
    given: Mapping[str, Any],
    units: Units,
    left_out: list[str] | None = None,
) -> dict[str, Any]:
    """Return the parameters of an action on a domain by their right names and in their right units.

    Values that only other kinds of devices have are refused, or noted in `left_out` where there is a list.

    Raises ValidationError naming the parameter, its value and what is allowed.
    """
    accepted = accepted_by(domain, action)
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = _right_name(key, domain, action, accepted)
        if name is None and left_out is not None and action.service and key in value_words():
            left_out.append(f"has no {key[:40].replace('_', ' ')}")
            continue
        if name is None:
            near = get_close_matches(key, accepted, 1, 0.5)
            hint = f"; did you mean {near[0]}" if near else ""
            problem = f"does not take {key[:40]!r}{hint}. Allowed: {', '.join(accepted)}"
            if not accepted:
                problem = f"takes none, so not {key[:40]!r}"
            raise ValidationError(f"parameters: {verb} on a {domain} {problem}"[:MAX_ERROR])
        for part, read in _read(domain, name, value, units).items():
            found.setdefault(part, read)
    if "brightness" in found and "brightness_pct" in found:
        del found["brightness"]
    several = [name for name in DOMAINS[domain].exclusive if name in found]
    if len(several) > 1:
        raise ValidationError(f"parameters: give only one of {', '.join(several)}")
    if action.service is None and not found and not action.direction:
        raise ValidationError(
            f"{verb} on a {domain} needs parameters, one of: {', '.join(accepted)}"[:MAX_ERROR]
        )
    return found


def accepted_by(domain: str, action: Action) -> tuple[str, ...]:
    """Return the parameters that an action takes on a domain."""
    return tuple(DOMAINS[domain].parameters) if action.takes == ANY else action.takes


def _right_name(key: str, domain: str, action: Action, accepted: Collection[str]) -> str | None:
    if key in accepted:
        return key
    if key in ("value", "set_value") and action.value is not None:
        return action.value
    facts = DOMAINS[domain]
    if key in ("value", "level", "percent") and facts.step and facts.step.parameter in accepted:
        return facts.step.parameter
    return next(
        (
            name
            for name in accepted
            if key in (STEP_ALIASES if name == STEP else facts.parameters[name].aliases.split())
        ),
        None,
    )


def _read(domain: str, name: str, value: Any, units: Units) -> dict[str, Any]:
    """Return a parameter read by its kind; some come out under another name."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    facts = DOMAINS[domain]
    try:
        if name != STEP:
            kind = facts.parameters[name].kind
            read = READERS[kind](value, units)
            return dict(read) if kind in ("color", "brightness") else {name: read}
        match facts.parameters[facts.step.parameter].kind if facts.step else "":
            case "volume":
                size = read_volume(value, units)
            case "percent":
                size = read_percent(str(value).lstrip("+-"), units)
            case _:
                size = read_number(value, units)
        return {STEP: abs(float(size))}
    except ValueError as err:
        raise ValidationError(f"{name}: {str(value)[:40]!r} is not {err}"[:MAX_ERROR]) from err


MAX_CHOICES: Final = 8
MAX_CHOICE_CHARS: Final = 60
"""Characters of all choices of a field; more are not listed."""
MAX_OTHERS: Final = 8
"""Parameters without a field that are named."""
JSON_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("integer", "percent", "brightness", "volume", "kelvin", "signed"), "integer"),
    **dict.fromkeys(("number", "temperature"), "number"),
    "boolean": "boolean",
}
"""JSON types by the kind of a parameter; text for all others."""
TEXT: Final = "string"
DERIVED: Final = "offered_control"
SCHEMA: Final = "schema of ha_control"
PARAMETERS: Final = "parameters"
TARGETS: Final = ("action", *SLOTS)
ACCEPTED_ONLY: Final = ("device_class", PARAMETERS)
"""Slots that are accepted but not offered as they are: a device class is accepted as a domain, too."""


@dataclass(slots=True)
class _Field:
    """One field that sets a value."""

    types: set[str] = field(default_factory=set)
    choices: set[str] = field(default_factory=set)
    is_open: bool = False
    """Whether some entity takes more than these choices."""

    def schema(self) -> dict[str, Any]:
        """Return it as JSON Schema."""
        schema: dict[str, Any] = {"type": next(iter(self.types)) if len(self.types) == 1 else TEXT}
        is_short = len(self.choices) <= MAX_CHOICES and sum(map(len, self.choices)) <= MAX_CHOICE_CHARS
        if self.choices and is_short and not self.is_open:
            schema["enum"] = sorted(self.choices)
        return schema


@dataclass(slots=True)
class _Offered:
    """All that models are offered."""

    actions: set[str] = field(default_factory=set)
    fields: dict[str, _Field] = field(default_factory=lambda: defaultdict(_Field))
    others: set[str] = field(default_factory=set)
    """Parameters that some entity supports and that have no field."""
    scripts: list[str] = field(default_factory=list)


def schema_in(
    general: Mapping[str, Any], house: HouseSnapshot, *, gated: bool, has_fields: Callable[[str], bool]
) -> Mapping[str, Any]:
    """Return the schema of ha_control for one home, from the general one.

    `has_fields` tells whether a script takes values. The schema is the same as long as the home is.
    """
    offered = house.derived((DERIVED, gated), lambda house: _offered_in(house, gated=gated))
    takes_fields = any(map(has_fields, offered.scripts))

    def schema(house: HouseSnapshot) -> Mapping[str, Any]:
        slots = dict(general["properties"])
        for name in (*ACCEPTED_ONLY, *(() if labels_in(house) else ("label",))):
            slots.pop(name, None)
        slots["action"] = {"type": TEXT, "enum": sorted(offered.actions)}
        slots["domain"] = {"type": TEXT}
        if takes_fields:
            slots[VARIABLES] = {"type": "object", "description": "fields of a script"}
        if others := sorted(offered.others):
            named = ", ".join((*others[:MAX_OTHERS], *(["..."] if len(others) > MAX_OTHERS else [])))
            slots[PARAMETERS] = {"type": "object", "description": named}
        targets = {name: slots.pop(name) for name in [*slots] if name in TARGETS}
        values = {name: offered_field.schema() for name, offered_field in offered.fields.items()}
        properties = targets | values | slots
        return {"type": "object", "properties": properties, "required": list(general["required"])}

    return house.derived((SCHEMA, gated, takes_fields), schema)


def _offered_in(house: HouseSnapshot, *, gated: bool) -> _Offered:
    """Return what the entities of a home support; scripts and scenes only if `gated`."""
    offered = _Offered()
    for domain in sorted(house.domains):
        facts = DOMAINS[domain]
        if facts.is_gated and not gated:
            continue
        records = house.of_domain(domain)
        abilities = {ability for record in records for ability in record.abilities}
        fields = [name for name, needed in facts.fields.items() if not needed or needed in abilities]
        for name in fields:
            key, offered_field = str(facts.parameter_of(name)), offered.fields[name]
            offered_field.types.add(JSON_TYPES.get(facts.parameters[key].kind, TEXT))
            for record in records:
                choices = dict(record.choices).get(key, ())
                offered_field.choices.update(choices)
                if not choices and (key in record.abilities or not facts.fields[name]):
                    offered_field.is_open = True
        for verb, action in facts.actions.items():
            is_able = action.ability in abilities if action.ability else True
            if action.direction:
                is_able = is_able and _has_step(facts, fields)
            elif action.service is None:
                is_able = is_able and bool(fields)
            if is_able and verb not in facts.synonyms:
                offered.actions.add(verb)
        offered.others.update(_others(facts, abilities))
        if domain == "script":
            offered.scripts = [record.entity_id for record in records]
    return offered


def _has_step(facts: DomainFacts, fields: Sequence[str]) -> bool:
    """Return whether some entity has the value that is raised and lowered, by the fields that it offers."""
    if facts.step is None:
        return True
    shown = facts.parameters[facts.step.parameter].attribute
    return any(facts.parameters[str(facts.parameter_of(name))].attribute == shown for name in fields)


def _others(facts: DomainFacts, abilities: Collection[str]) -> Iterator[str]:
    """Yield the parameters that some entity supports and that neither a field nor an action stands for."""
    covered = {facts.parameter_of(name) for name in facts.fields}
    acted = {*facts.fields.values(), *(action.ability for action in facts.actions.values())}
    for name, parameter in facts.parameters.items():
        ability = parameter.ability or (name if parameter.features else None)
        if name not in covered and ability in abilities and ability not in acted:
            yield name
