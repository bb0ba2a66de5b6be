"""What models are offered of ha_control in one home: the actions and the fields that some entity supports."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ...domains import DOMAINS
from ...domains.base import Action, DomainFacts
from ...knowledge.labels import labels_in
from ...knowledge.records import EntityRecord, HouseSnapshot
from ..resolving.resolver import SLOTS
from .arguments import VARIABLES

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
class OfferedField:
    """One field that sets a value."""

    types: set[str] = field(default_factory=set)
    choices: list[str] = field(default_factory=list)
    is_open: bool = False
    """Whether some entity takes more than these choices."""

    def schema(self) -> dict[str, Any]:
        """Return it as JSON Schema."""
        schema: dict[str, Any] = {"type": self.types.copy().pop() if len(self.types) == 1 else TEXT}
        choices = sorted(set(self.choices))
        short = len(choices) <= MAX_CHOICES and sum(map(len, choices)) <= MAX_CHOICE_CHARS
        if choices and short and not self.is_open:
            schema["enum"] = choices
        return schema


@dataclass(slots=True)
class Offered:
    """All that models are offered."""

    actions: set[str] = field(default_factory=set)
    fields: dict[str, OfferedField] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    """Parameters that some entity supports and that have no field."""
    scripts: list[str] = field(default_factory=list)


def schema_in(
    general: Mapping[str, Any], house: HouseSnapshot, *, gated: bool, has_fields: Callable[[str], bool]
) -> Mapping[str, Any]:
    """Return the schema of ha_control for one home, from the general one.

    `has_fields` tells whether a script takes values. The schema is the same as long as the home is.
    """
    takes_fields = any(has_fields(entity_id) for entity_id in _offered(house, gated=gated).scripts)
    return house.derived(
        (SCHEMA, gated, takes_fields), lambda house: _schema(general, house, gated=gated, fields=takes_fields)
    )


def _schema(
    general: Mapping[str, Any], house: HouseSnapshot, *, gated: bool, fields: bool
) -> Mapping[str, Any]:
    """Return the schema of ha_control for one home; `fields` says whether some script takes values."""
    offered = _offered(house, gated=gated)
    slots = dict(general["properties"])
    for name in ACCEPTED_ONLY:
        slots.pop(name, None)
    if not labels_in(house):
        slots.pop("label", None)
    slots["action"] = {"type": TEXT, "enum": sorted(offered.actions)}
    slots["domain"] = {"type": TEXT}
    if fields:
        slots[VARIABLES] = {"type": "object", "description": "fields of a script"}
    if offered.others:
        slots[PARAMETERS] = {"type": "object", "description": _named(sorted(offered.others))}
    targets = [name for name in slots if name in TARGETS]
    values = {name: found.schema() for name, found in offered.fields.items()}
    ordered = {name: slots.pop(name) for name in targets} | values | slots
    return {"type": "object", "properties": ordered, "required": list(general["required"])}


def _offered(house: HouseSnapshot, *, gated: bool) -> Offered:
    """Return what models are offered in a home, made once for each snapshot."""
    return house.derived((DERIVED, gated), lambda house: offered_in(house, gated=gated))


def _named(names: Sequence[str]) -> str:
    """Return names for a description."""
    return ", ".join((*names[:MAX_OTHERS], *(["..."] if len(names) > MAX_OTHERS else [])))


def offered_in(house: HouseSnapshot, *, gated: bool) -> Offered:
    """Return what the entities of a home support; scripts and scenes only if `gated`."""
    by_domain: dict[str, list[EntityRecord]] = {}
    for record in house.entities.values():
        by_domain.setdefault(record.domain, []).append(record)
    offered = Offered()
    for domain in sorted(by_domain):
        facts = DOMAINS[domain]
        if facts.is_gated and not gated:
            continue
        records = by_domain[domain]
        abilities = {ability for record in records for ability in record.abilities}
        fields = [name for name, needed in facts.fields.items() if not needed or needed in abilities]
        for name in fields:
            _add_field(offered, facts, name, records)
        offered.actions.update(_actions(facts, abilities, has_fields=bool(fields)))
        offered.others.update(_others(facts, abilities))
        if domain == "script":
            offered.scripts = [record.entity_id for record in records]
    return offered


def _add_field(offered: Offered, facts: DomainFacts, name: str, records: Sequence[EntityRecord]) -> None:
    """Add a field of a domain."""
    key = str(facts.parameter_of(name))
    found = offered.fields.setdefault(name, OfferedField())
    found.types.add(JSON_TYPES.get(facts.parameters[key].kind, TEXT))
    for record in records:
        choices = dict(record.choices).get(key, ())
        found.choices += choices
        if not choices and (key in record.abilities or not facts.fields[name]):
            found.is_open = True


def _actions(facts: DomainFacts, abilities: set[str], *, has_fields: bool) -> Iterator[str]:
    """Yield the actions that some entity of a domain supports, without synonyms."""
    for verb, action in facts.actions.items():
        if verb in facts.synonyms or (action.ability and action.ability not in abilities):
            continue
        if action.direction and not _has_step(facts, abilities):
            continue
        if _only_sets(action) and not has_fields:
            continue
        yield verb


def _only_sets(action: Action) -> bool:
    """Return whether an action does nothing but set its parameters."""
    return action.service is None and not action.direction


def _has_step(facts: DomainFacts, abilities: set[str]) -> bool:
    """Return whether some entity has the value that is raised and lowered."""
    if facts.step is None:
        return True
    shown = facts.parameters[facts.step.parameter].attribute
    return any(
        not needed or needed in abilities
        for name, needed in facts.fields.items()
        if facts.parameters[str(facts.parameter_of(name))].attribute == shown
    )


def _others(facts: DomainFacts, abilities: set[str]) -> Iterator[str]:
    """Yield the supported parameters that neither a field nor an action of their own sets."""
    covered = {facts.parameter_of(name) for name in facts.fields}
    acted = {action.ability for action in facts.actions.values()}
    for name, parameter in facts.parameters.items():
        ability = parameter.ability or (name if parameter.features else None)
        if name in covered or ability in acted or ability in facts.fields.values():
            continue
        if ability is not None and ability in abilities:
            yield name
