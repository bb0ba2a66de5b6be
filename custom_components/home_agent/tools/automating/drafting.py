"""An automation as it is drafted: read, compiled, and checked, before a person is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from homeassistant.util import dt as dt_util

from ...automating.clauses import Clause, Rule
from ...automating.records import RECORDED
from ...errors import ValidationError
from ...texts import leaves, one_line
from ..base import ServiceCall, ToolRun
from ..resolving.resolver import plain
from .deeds import Deed, DeedReader
from .reading import TEMPLATE_MARKS, ClauseReader, StateWords

MAX_ALIAS: Final = 80
MAX_SENTENCE: Final = 400
SHOWN_WIDTH: Final = 34
"""Characters after which a line ends with its word. Long lines cut off the question in Assist's dialog."""
PARTS: Final[Mapping[str, str]] = {"when": "triggers", "if": "conditions", "do": "actions"}
"""What the parts of a call are in Home Assistant's YAML."""
IMPLIED: Final[Mapping[str, frozenset[str]]] = {
    "comes_home": frozenset({"is_home"}),
    "leaves_home": frozenset({"is_away"}),
    "somebody_comes": frozenset({"somebody_home"}),
    "sunset": frozenset({"is_after_sunset", "is_after_sunset_before_sunrise"}),
    "sunrise": frozenset({"is_after_sunrise", "is_after_sunrise_before_sunset"}),
}
"""Conditions that hold when a trigger starts something, where they have other names than the trigger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a call makes of an automation."""

    config: dict[str, Any] = field(hash=False)
    """As Home Assistant writes it, without its id."""
    rule: Rule
    deeds: tuple[Deed, ...] = ()

    @property
    def calls(self) -> tuple[ServiceCall, ...]:
        """Return all that it calls, as far as it was written now."""
        return tuple(call for deed in self.deeds for call in (*deed.calls, *deed.ends))

    @property
    def yaml(self) -> str:
        """Return it as YAML, in lines that fit into a chat on a phone."""
        return str(yaml.safe_dump(self.config, allow_unicode=True, sort_keys=False, width=SHOWN_WIDTH))


async def async_draft(
    args: Mapping[str, Any], run: ToolRun, deeds: DeedReader, earlier: Mapping[str, Any] | None = None
) -> Draft:
    """Return the automation of a call; of one that is changed, parts that the call leaves out stay.

    Raises ValidationError, and PermissionDenied for what the speaker may not do.
    """
    states = await StateWords.async_load(run.hass, run.speaker.language)
    reader = ClauseReader(run, states)
    triggers: tuple[Clause, ...] = ()
    conditions: tuple[Clause, ...] = ()
    steps: tuple[Deed, ...] = ()
    config = dict(earlier or {})
    if earlier is None or args.get("when"):
        triggers = reader.triggers(args.get("when"))
        if not triggers:
            raise ValidationError("when: say what starts it")
        config["triggers"] = [dict(clause.config) for clause in triggers]
    if earlier is None or args.get("if") is not None:
        conditions = reader.conditions(args.get("if"))
    if triggers:
        conditions = (*reader.conditions_beside(args.get("when")), *_needed(conditions, triggers))
    if earlier is None or args.get("if") is not None or conditions:
        written = [dict(clause.config) for clause in conditions]
        # A window may be said as two clauses.
        config["conditions"] = [one for at, one in enumerate(written) if one not in written[:at]]
    if earlier is None or args.get("do"):
        steps = await deeds.async_read(args.get("do"))
        config["actions"] = [step for deed in steps for step in deed.config()]
        config["mode"] = "restart" if any(deed.seconds for deed in steps) else "single"
    if earlier is not None and config == dict(earlier) and not args.get("name"):
        raise ValidationError("Nothing would change. Give the new when, if or do, as a whole")
    check_texts(config)
    whole = earlier is None or bool(triggers and steps)
    return Draft(config=config, rule=Rule(triggers=triggers, conditions=conditions, known=whole), deeds=steps)


def _needed(conditions: Sequence[Clause], triggers: Sequence[Clause]) -> list[Clause]:
    """Return conditions without those that the only trigger fulfils by itself."""
    if len(triggers) != 1:
        return list(conditions)
    (begins,) = triggers
    fulfilled = IMPLIED.get(begins.key, frozenset({begins.key}))
    said = (begins.entity_ids, begins.states, begins.values)
    return [
        one
        for one in conditions
        if one.key not in fulfilled or (one.entity_ids, one.states, one.values) != said
    ]


def described(
    config: Mapping[str, Any], alias: str, run: ToolRun, *, changed: bool, taken: Sequence[str]
) -> dict[str, Any]:
    """Return an automation with its name and who asked for it, when, and in which words."""
    sentence = one_line(_without_marks(run.sentence), MAX_SENTENCE)
    who = plain(run.speaker.person or "") or "an administrator"
    text = f"{RECORDED[changed]}{who} on {dt_util.now():%Y-%m-%d %H:%M}: {sentence}"
    if changed and (earlier := str(config.get("description") or "")):
        text = f"{earlier}\n{text}"
    rest = {key: value for key, value in config.items() if key not in ("alias", "description")}
    return {"alias": _free_name(alias, taken), "description": text, **rest}


def alias_of(args: Mapping[str, Any], run: ToolRun) -> str:
    """Return the name of a new automation: the one that was given, else the sentence."""
    said = str(args.get("name") or "") or run.sentence or "Home Agent"
    name = _shortened(_without_marks(said).strip().rstrip(".!?"))
    return name[:1].upper() + name[1:]


def _shortened(text: str) -> str:
    """Return a name of at most MAX_ALIAS characters, cut between words."""
    name = one_line(text, MAX_ALIAS)
    head, space, _ = name.rpartition(" ") if len(" ".join(text.split())) > MAX_ALIAS else ("", "", "")
    return f"{head}…" if space else name


def check_texts(config: Mapping[str, Any]) -> None:
    """Raise ValidationError for a template: Home Assistant would render it when the automation runs."""
    for value in leaves(config, keys=True):
        if isinstance(value, str) and any(mark in value for mark in TEMPLATE_MARKS):
            raise ValidationError("templates are not available in automations; write plain values")


def _free_name(alias: str, taken: Sequence[str]) -> str:
    known = {name.casefold() for name in taken}
    number, name = 1, alias
    while name.casefold() in known:
        number += 1
        name = f"{alias} {number}"
    return name


def _without_marks(text: str) -> str:
    for mark in TEMPLATE_MARKS:
        text = text.replace(mark, mark[:1])
    return text
