"""The arguments of ha_control: what the model is told, and what it writes."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
import json
from typing import Any, Final

import probatio

from ...domains import DOMAINS, verbs
from ...domains.base import ANY, Action, DomainFacts
from ...errors import ValidationError
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.names import labels_in
from ...knowledge.spoken_words import words_of
from ...texts import fold
from ..guard import target_keys
from ..resolving.resolver import NO_VALUE, SLOTS, Target, texts, tidy
from .values import READERS, read_number, read_percent, read_volume

WHEN: Final = "later: 10 minutes, 18:30, sunset - 30 minutes, or once: light.x off for 5 minutes until 22:00"
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
_VERB_WORDS: Final[Mapping[str, str]] = {
    "turn_on": "on switch_on power_on enable",
    "turn_off": "off switch_off power_off disable",
    "install": "update upgrade",
    "set_value": "set adjust change set_brightness dim set_color set_level",
    "set_speed": "set_percentage set_fan_speed",
    "set_preset": "set_mode set_preset_mode set_operation_mode",
    "select_source": "set_source",
    "select_option": "set_option select",
    "set_tilt": "set_tilt_position tilt",
    "set_volume": "volume_set",
    "mute": "volume_mute",
    "play": "resume unpause",
    "next": "skip",
    "return_to_base": "dock return return_home",
    "increase": "raise increment",
    "decrease": "lower decrement",
    "activate": "activate_scene run",
    "arm_away": "arm",
    "open": "open_latch",
    "set_position": "set_cover_position set_valve_position",
}
"""Synonyms by the action that they mean."""
TIME_SLOTS: Final = ("when", "for", "repeat", "if")
TIME_SLOT_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("delay", "at_time", "run_at", "trigger"), "when"),
    **dict.fromkeys(("condition", "conditions", "only_if"), "if"),
}
SLOT_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("verb", "command", "operation"), "action"),
    **TIME_SLOT_WORDS,
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
    """Return what any home may be offered; the fields for values are in the facts of the domains."""
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
            probatio.Optional("when", description=WHEN): str,
            probatio.Optional("if", description="must hold then: cover.x open"): str,
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
    for slot in TIME_SLOTS:
        if value := as_text(args.get(slot)):
            is_object = isinstance(value, str) and value.lstrip().startswith(("{", "[{"))
            if text := value if is_object else ", ".join(texts(value)):
                ordered[slot] = text
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


def as_text(value: Any) -> Any:
    """Return an object, or a list of objects, as JSON text, and any other value as it is."""
    several = value if isinstance(value, list) and value else [value]
    is_object = all(isinstance(each, Mapping) for each in several)
    return json.dumps(value, ensure_ascii=False) if is_object else value


def is_about_time(key: str) -> bool:
    """Return whether the name of an argument says that its value is a time."""
    return not TIME_WORDS.isdisjoint(key.casefold().replace("-", "_").replace(" ", "_").split("_"))


def read_args(args: Mapping[str, Any]) -> tuple[str, Target, dict[str, Any]]:
    """Return action, target and parameters, without empty ones, of arguments put in order by `in_order`.

    Raises ValidationError for parameters that belong to the target.
    """
    raw = args.get("parameters") or {}
    if raw and (wrong := target_keys(raw)):
        raise ValidationError(
            f"parameters: {', '.join(wrong)} does not belong here; "
            "give the target as entity_id, name, area or floor"
        )
    given = {
        str(key).strip().casefold().replace(" ", "_").replace("-", "_"): value
        for key, value in raw.items()
        if value is not None and value not in ([], {}) and str(value).strip().casefold() not in NO_VALUE
    }
    return args["action"], Target.from_args(args), given


def read_verb(value: Any) -> str:
    """Return the action that a word means: its name, a service of that meaning, a common synonym.

    Any other word is returned as it is. Raises probatio.Invalid for one that reads.
    """
    word = value if value in verbs() else "_".join(fold(" ".join(texts(value))).split())
    if word in verbs():
        return str(word)
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
    services = {
        str(action.service): verb
        for facts in DOMAINS.values()
        for verb, action in facts.actions.items()
        if action.service not in (None, *verbs()) and not verb.startswith("turn_")
    }
    synonyms = {word: verb for verb, written in _VERB_WORDS.items() for word in written.split()}
    return {**services, **synonyms, **{verb: verb for verb in verbs()}}


def normalise(
    domain: str,
    verb: str,
    action: Action,
    given: Mapping[str, Any],
    unit: str,
    left_out: list[str] | None = None,
) -> dict[str, Any]:
    """Return the parameters of an action on a domain by their right names and in their right units.

    Values that only other kinds of devices have are refused, or noted in `left_out` where there is a list.

    Raises ValidationError naming the parameter, its value and what is allowed.
    """
    facts = DOMAINS[domain]
    accepted = tuple(facts.parameters) if action.takes == ANY else action.takes
    values: dict[str, Any] = {}
    name: str | None
    for key, value in given.items():
        if key in accepted:
            name = key
        elif key in ("value", "set_value") and action.value is not None:
            name = action.value
        elif key in ("value", "level", "percent") and facts.step and facts.step.parameter in accepted:
            name = facts.step.parameter
        else:
            aliases = (
                (name, STEP_ALIASES if name == STEP else facts.parameters[name].aliases.split())
                for name in accepted
            )
            name = next((name for name, words in aliases if key in words), None)
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
        for part, read in _read(facts, name, value, unit).items():
            values.setdefault(part, read)
    if "brightness" in values and "brightness_pct" in values:
        del values["brightness"]
    if action.service is None and not values and not action.direction:
        raise ValidationError(
            f"{verb} on a {domain} needs parameters, one of: {', '.join(accepted)}"[:MAX_ERROR]
        )
    return values


def _read(facts: DomainFacts, name: str, value: Any, unit: str) -> dict[str, Any]:
    """Return a parameter read by its kind; some come out under another name."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    is_step = name == STEP
    kind = facts.parameters[facts.step.parameter if is_step and facts.step else name].kind
    try:
        if not is_step:
            read = READERS[kind](value, unit)
            return dict(read) if kind in ("color", "brightness") else {name: read}
        if kind == "volume":
            return {STEP: abs(read_volume(value, unit))}
        if kind == "percent":
            return {STEP: float(read_percent(str(value).lstrip("+-"), unit))}
        return {STEP: abs(read_number(value, unit))}
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
SCHEMA: Final = "schema of ha_control"
PARAMETERS: Final = "parameters"
TARGETS: Final = ("action", *SLOTS)
ACCEPTED_ONLY: Final = ("device_class", PARAMETERS)
"""Slots that are accepted but not offered as they are: a device class is accepted as a domain, too."""


def schema_in(
    general: Mapping[str, Any], house: HouseSnapshot, *, gated: bool, has_fields: Callable[[str], bool]
) -> Mapping[str, Any]:
    """Return the schema of ha_control for one home, from the general one; scripts and scenes only if `gated`.

    `has_fields` tells whether a script takes values. The schema is the same as long as the home is.
    """
    takes_fields = gated and any(has_fields(record.entity_id) for record in house.of_domain("script"))

    def schema(house: HouseSnapshot) -> Mapping[str, Any]:
        domains = [name for name in sorted(house.domains) if gated or not DOMAINS[name].is_gated]
        fields = _fields_in(house, domains)
        actions, others = _actions_in(house, domains)
        slots = dict(general["properties"])
        for name in (*ACCEPTED_ONLY, *(() if labels_in(house) else ("label",))):
            slots.pop(name, None)
        slots["action"] = {"type": TEXT, "enum": sorted(actions)}
        slots["domain"] = {"type": TEXT}
        if takes_fields:
            slots[VARIABLES] = {"type": "object", "description": "fields of a script"}
        if others:
            named = ", ".join((*sorted(others)[:MAX_OTHERS], *(["..."] if len(others) > MAX_OTHERS else [])))
            slots[PARAMETERS] = {"type": "object", "description": named}
        targets = {name: slots.pop(name) for name in [*slots] if name in TARGETS}
        return {
            "type": "object",
            "properties": targets | fields | slots,
            "required": list(general["required"]),
        }

    return house.derived((SCHEMA, gated, takes_fields), schema)


def _fields_in(house: HouseSnapshot, domains: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the fields that some entity has, with their schemas: with choices if they are few, and all."""
    types: dict[str, set[str]] = defaultdict(set)
    choices: dict[str, set[str]] = defaultdict(set)
    is_open = set[str]()
    for domain in domains:
        facts, records = DOMAINS[domain], house.of_domain(domain)
        for name in _fields_of(facts, records):
            key = str(facts.parameter_of(name))
            types[name].add(JSON_TYPES.get(facts.parameters[key].kind, TEXT))
            for record in records:
                own = dict(record.choices).get(key, ())
                choices[name].update(own)
                if not own and (key in record.abilities or not facts.fields[name]):
                    is_open.add(name)
    schemas: dict[str, dict[str, Any]] = {}
    for name, kinds in types.items():
        schemas[name] = {"type": next(iter(kinds)) if len(kinds) == 1 else TEXT}
        is_short = len(choices[name]) <= MAX_CHOICES and sum(map(len, choices[name])) <= MAX_CHOICE_CHARS
        if choices[name] and is_short and name not in is_open:
            schemas[name]["enum"] = sorted(choices[name])
    return schemas


def _fields_of(facts: DomainFacts, records: Iterable[EntityRecord]) -> list[str]:
    abilities = {ability for record in records for ability in record.abilities}
    return [name for name, needed in facts.fields.items() if not needed or needed in abilities]


def _actions_in(house: HouseSnapshot, domains: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the actions that some entity can do, and the parameters that neither these nor a field cover."""
    actions, others = set[str](), set[str]()
    for domain in domains:
        facts, records = DOMAINS[domain], house.of_domain(domain)
        abilities = {ability for record in records for ability in record.abilities}
        fields = _fields_of(facts, records)
        shown = {facts.parameters[str(facts.parameter_of(name))].attribute for name in fields}
        for verb, action in facts.actions.items():
            is_able = not action.ability or action.ability in abilities
            if action.direction and facts.step:
                is_able &= facts.parameters[facts.step.parameter].attribute in shown
            elif action.service is None:
                is_able &= bool(fields)
            if is_able and verb not in facts.synonyms:
                actions.add(verb)
        covered = {facts.parameter_of(name) for name in facts.fields}
        acted = {*facts.fields.values(), *(action.ability for action in facts.actions.values())}
        for name, parameter in facts.parameters.items():
            ability = parameter.ability or (name if parameter.features else None)
            if name not in covered and ability in abilities and ability not in acted:
                others.add(name)
    return actions, others
