"""An automation as it is drafted: read, compiled, and checked, before a person is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from homeassistant.util import dt as dt_util

from ...errors import ValidationError
from ...safety.frozen import ServiceCall
from ...texts import leaves, one_line
from ..base import ToolRun
from ..resolving.resolver import plain
from .actions import ActionReader, Step
from .clauses import TEMPLATE_MARKS, ClauseReader, Config, StateWords, check_plain
from .records import RECORDED

MAX_ALIAS: Final = 80
MAX_SENTENCE: Final = 400
SHOWN_WIDTH: Final = 34
"""Characters after which a line ends with its word. Long lines cut off the question in Assist's dialog."""
PARTS: Final = ("triggers", "conditions", "actions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a call makes of an automation."""

    config: Config = field(hash=False)
    """As Home Assistant writes it, without its id."""
    triggers: Sequence[Config] = ()
    """What is new about it, as are the conditions and the steps."""
    conditions: Sequence[Config] = ()
    steps: tuple[Step, ...] = ()

    @property
    def calls(self) -> tuple[ServiceCall, ...]:
        """Return all that it calls, as far as it was written now."""
        return tuple(call for step in self.steps for call in (*step.calls, *step.ends))


def as_yaml(config: Mapping[str, Any]) -> str:
    """Return an automation as YAML, in lines that fit into a chat on a phone."""
    return str(yaml.safe_dump(dict(config), allow_unicode=True, sort_keys=False, width=SHOWN_WIDTH))


async def async_draft(
    args: Mapping[str, Any], run: ToolRun, actions: ActionReader, earlier: Mapping[str, Any] | None = None
) -> Draft:
    """Return the automation of a call; of one that is changed, parts that the call leaves out stay.

    Raises ValidationError, and PermissionDenied for what the speaker may not do.
    """
    reader = ClauseReader(run, await StateWords.async_load(run.hass, run.speaker.language))
    config = dict(earlier or {})
    triggers: list[Config] = []
    conditions: list[Config] = []
    steps: tuple[Step, ...] = ()
    if earlier is None or args.get("triggers"):
        triggers = config["triggers"] = reader.triggers(args.get("triggers"))
        if not triggers:
            raise ValidationError("triggers: say what starts it")
    if earlier is None or args.get("conditions") is not None:
        conditions = config["conditions"] = reader.conditions(args.get("conditions"))
    if earlier is None or args.get("actions"):
        steps = await actions.async_read(args.get("actions"))
        config["actions"] = [action for step in steps for action in step.config()]
        config["mode"] = "restart" if any(step.seconds for step in steps) else "single"
    if earlier is not None and config == dict(earlier) and not args.get("name"):
        raise ValidationError("Nothing would change. Give new triggers, conditions or actions, as a whole")
    for text in leaves(config, keys=True):
        if isinstance(text, str):
            check_plain(text, "automation")
    return Draft(config=config, triggers=triggers, conditions=conditions, steps=steps)


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
    known = {name.casefold() for name in taken}
    free, number = alias, 1
    while free.casefold() in known:
        number += 1
        free = f"{alias} {number}"
    return {"alias": free, "description": text, **rest}


def alias_of(args: Mapping[str, Any], run: ToolRun) -> str:
    """Return the name of a new automation: the one that was given, else the sentence."""
    said = str(args.get("name") or "") or run.sentence or "Home Agent"
    text = _without_marks(said).strip().rstrip(".!?")
    name = one_line(text, MAX_ALIAS)
    head, space, _ = name.rpartition(" ") if len(" ".join(text.split())) > MAX_ALIAS else ("", "", "")
    name = f"{head}…" if space else name
    return name[:1].upper() + name[1:]


def _without_marks(text: str) -> str:
    for mark in TEMPLATE_MARKS:
        text = text.replace(mark, mark[:1])
    return text
