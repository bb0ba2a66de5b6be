"""The automations that people have asked for: their file, what is kept of them, whose they are, and undo.

In the file, what people wrote stays as it is, with comments, order and secrets: only the lines of the one
automation change.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
import os
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import probatio
import yaml

from homeassistant.auth.models import User
from homeassistant.config import AUTOMATION_CONFIG_PATH
from homeassistant.const import ATTR_ENTITY_ID, STATE_UNAVAILABLE
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
from homeassistant.util.file import WriteError, write_utf8_file_atomic
from homeassistant.util.json import JsonValueType
from homeassistant.util.yaml import dump

from ...const import DOMAIN
from ...errors import HomeAgentError, PermissionDenied, ToolExecutionError, ValidationError
from ...knowledge.names import content_words, word_similarity
from ...knowledge.speaker import Speaker
from ...safety.frozen import ServiceCall
from ...safety.journal import AuditKind
from ...safety.rules import Verdict
from ...store import EntryStore, dump as dump_record, load, read_list
from ...texts import words
from ..base import ToolRun
from ..own_calls import async_reload_automation
from ..pending import as_values, entities_of_clause
from ..resolving.resolver import MAX_ERROR, listed

AUTOMATION: Final = "automation"
STORE_KEY: Final = f"{DOMAIN}.automations"
ID_PREFIX: Final = f"{DOMAIN}_"
"""How the ids of automations begin that people have asked for."""
MAX_EDITS: Final = 20
"""Edits that can be undone."""
MAX_BYTES: Final = 10_000_000
MAX_DEPTH: Final = 6
MAX_ROWS: Final = 5
SAME: Final = 0.86
NESTED: Final = ("sequence", "then", "else", "default", "parallel", "choose", "repeat")
RECORDED: Final = ("Made by Home Agent for ", "Changed by Home Agent for ")
"""How the lines of a description begin that say who asked, when, and in which words."""
ADMINISTRATORS: Final = (
    "Only an administrator of this home can create, change or delete automations. Nothing was done; say so"
)
NOT_KNOWN: Final = (
    "Only an administrator can do this, and it is not known who speaks. Nothing was done. Tell the person to "
    "ask in the Home Assistant app, as an administrator"
)
TAINTED: Final = (
    "Text from outside was read, so nothing is undone about automations now. Tell the person to ask again, "
    "in a sentence of its own"
)


class AutomationRefusedError(HomeAgentError):
    """An automation cannot be written; the message says why, and what to change."""

    def __init__(self, key: str, **placeholders: str) -> None:
        self.key = key
        super().__init__(**placeholders)


# What is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAutomation:
    """One automation that a person has asked for."""

    id: str
    alias: str
    sentence: str = ""
    """What the person said."""
    language: str = "en"
    user_id: str | None = None
    """The administrator who said yes."""
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """As it was written, without its id."""
    created: datetime = field(default_factory=dt_util.utcnow)
    outside: bool = False
    """Whether text from outside had been read when it was written."""

    def without_person(self, user_id: str) -> Self:
        """Return it without a user who asked for it, and without what people said."""
        config = {**self.config, "description": without_record(str(self.config.get("description") or ""))}
        if self.user_id != user_id:
            return replace(self, config=config)
        return replace(self, user_id=None, sentence="", config=config)


def without_record(description: str) -> str:
    """Return the description of an automation without the lines about who asked for it."""
    lines = description.split("\n")
    return "\n".join(line for line in lines if not line.startswith(RECORDED))


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationEdit:
    """What a speaker did with one automation, for an undo."""

    before: OwnAutomation | None
    """None for one that was created."""
    after: OwnAutomation | None
    """None for one that was deleted."""
    user_id: str | None = None
    conversation_id: str = ""
    device_id: str | None = None
    turn_id: str = ""
    at: datetime = field(default_factory=dt_util.utcnow)

    @property
    def automation(self) -> OwnAutomation:
        """Return what it is about. Raises ValueError if it is about nothing."""
        automation = self.after or self.before
        if automation is None:
            raise ValueError("an edit of nothing")
        return automation

    @classmethod
    def by(cls, speaker: Speaker, before: OwnAutomation | None, after: OwnAutomation | None) -> Self:
        """Return an edit that a speaker makes now."""
        return cls(
            before=before,
            after=after,
            user_id=speaker.context.user_id,
            conversation_id=speaker.conversation_id,
            device_id=speaker.device_id,
            turn_id=speaker.turn_id,
        )

    def told(self) -> tuple[str, str]:
        """Return what was done in a word or two, and what its undo does."""
        if self.before is None:
            return "created", "deleted, as it was created before"
        return ("deleted", "restored") if self.after is None else ("changed", "as it was before the change")


class OwnAutomations:
    """The automations of one agent."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._automations: dict[str, OwnAutomation] = {}
        self._edits: deque[AutomationEdit] = deque(maxlen=MAX_EDITS)

    def all(self) -> list[OwnAutomation]:
        """Return all automations, the newest first."""
        return sorted(self._automations.values(), key=lambda own: own.created, reverse=True)

    @property
    def edits(self) -> list[AutomationEdit]:
        """Return what can be undone, the newest first."""
        return list(reversed(self._edits))

    @callback
    def note(self, edit: AutomationEdit) -> None:
        """Keep an edit that was made, and how the automation is now."""
        self._edits.append(edit)
        self._put(edit, edit.after)

    @callback
    def note_undone(self, edit: AutomationEdit) -> None:
        """Forget an edit that was undone."""
        self._edits.remove(edit)
        self._put(edit, edit.before)

    def _put(self, edit: AutomationEdit, automation: OwnAutomation | None) -> None:
        if automation is None:
            self._automations.pop(edit.automation.id, None)
        else:
            self._automations[automation.id] = automation
        self._changed()

    @callback
    def inherit(self, other: OwnAutomations) -> None:
        """Keep what another agent kept that is removed."""
        if other.all() or other.edits:
            edits = sorted((*self._edits, *other.edits), key=lambda edit: edit.at)
            self._automations = {**{own.id: own for own in other.all()}, **self._automations}
            self._edits = deque(edits, MAX_EDITS)
            self._changed()

    def of_user(self, user_id: str | None) -> list[OwnAutomation]:
        """Return the automations that a user has asked for; none without a user."""
        return [own for own in self.all() if user_id is not None and own.user_id == user_id]

    def concerning(self, user_id: str) -> list[str]:
        """Return the ids of the automations that a user has asked for or changed."""
        changed = (edit.automation.id for edit in self._edits if edit.user_id == user_id)
        return list(dict.fromkeys((*(own.id for own in self.of_user(user_id)), *changed)))

    @callback
    def forget_user(self, user_id: str) -> int:
        """Forget who asked for automations, what they said, and all edits of these. Return how many.

        The automations stay.
        """
        ids = self.concerning(user_id)
        mine = [edit for edit in self._edits if edit.user_id == user_id]
        gone = len(self.of_user(user_id)) + len(mine)
        for each in self._automations.keys() & ids:
            self._automations[each] = self._automations[each].without_person(user_id)
        self._edits = deque((edit for edit in self._edits if edit.automation.id not in ids), MAX_EDITS)
        if ids:
            self._changed()
        return gone

    def stored(self) -> dict[str, Any]:
        """Return all that is to be written; called in a worker thread."""
        return {
            "automations": dump_record(list(self._automations.values())),
            "changes": dump_record(list(self._edits)),
        }

    def restore(self, stored: Mapping[str, Any]) -> Exception | None:
        """Restore what was stored; return the problems of invalid items. Raises the errors of reading it."""
        automations, problem = read_list(stored["automations"], partial(load, OwnAutomation))
        # Earlier releases kept what was undone, and what was only switched.
        changes = [
            each
            for each in stored["changes"]
            if not (isinstance(each, dict) and (each.get("undone") or each.get("switched") is not None))
        ]
        edits, other = read_list(changes, partial(load, AutomationEdit))
        self._automations = {own.id: own for own in automations}
        self._edits.extend(edit for edit in edits if edit.after or edit.before)
        return problem or other


class AutomationStore(EntryStore[OwnAutomations]):
    """The file of all agents."""

    def __init__(self, hass: HomeAssistant) -> None:
        super().__init__(hass, STORE_KEY, OwnAutomations)


# Which one is meant, and what may be done with it


class KnownAutomation(NamedTuple):
    """An automation that Home Assistant has."""

    entity_id: str
    name: str
    id: str
    own: OwnAutomation | None = None
    """What is kept of one that was asked for."""


@callback
def entity_of(hass: HomeAssistant, automation_id: str) -> str | None:
    """Return the entity of an automation; None if Home Assistant has none of this id."""
    return er.async_get(hass).async_get_entity_id(AUTOMATION, AUTOMATION, automation_id)


@callback
def known_automations(hass: HomeAssistant, own: OwnAutomations) -> list[KnownAutomation]:
    """Return the automations of Home Assistant, those that were asked for first, the newest first."""
    registry, kept = er.async_get(hass), {each.id: each for each in own.all()}
    automations: list[KnownAutomation] = []
    for state in hass.states.async_all(AUTOMATION):
        entry = registry.async_get(state.entity_id)
        automation_id = entry.unique_id if entry else ""
        automations.append(
            KnownAutomation(state.entity_id, state.name, automation_id, kept.get(automation_id))
        )
    order = list(kept)
    return sorted(
        automations,
        key=lambda known: (order.index(known.id) if known.own else len(order), known.name.casefold()),
    )


@callback
def seen_automations(run: ToolRun, own: OwnAutomations, user: User | None) -> list[KnownAutomation]:
    """Return the automations that the speaker may know of: those that are exposed, an administrator all.

    Through an agent with lists, an administrator knows those in the lists, and those made with that agent.
    """
    is_admin = user is not None and user.is_admin and user.is_active
    narrows = run.guard.policy.view.narrows
    return [
        known
        for known in known_automations(run.hass, own)
        if run.reader.sees(known.entity_id) or (is_admin and (known.own is not None or not narrows))
    ]


def choose_automation(
    candidates: Sequence[KnownAutomation], name: str, own: OwnAutomations, run: ToolRun
) -> KnownAutomation:
    """Return the automation of a name; without one the last of this conversation, or the only one.

    Raises ValidationError that lists those that there are.
    """
    if not candidates:
        raise ValidationError("name: there is no automation that can be meant")
    wanted, asked = name.strip().casefold(), content_words(name)
    if not name:
        here = run.speaker.conversation_id
        last = next((edit for edit in own.edits if here and edit.conversation_id == here), None)
        chosen = [each for each in candidates if last is not None and each.id == last.automation.id]
        chosen = chosen or [each for each in candidates if each.own is not None]
    elif exact := [each for each in candidates if wanted in (each.entity_id, each.id, each.name.casefold())]:
        chosen = exact[:1]
    else:
        # "The hallway automation": the word for an automation itself is in no name.
        scores = []
        for each in candidates:
            said = {*words(each.name), *words(each.own.sentence if each.own else "")}
            scores.append(sum(any(word_similarity(word, other) >= SAME for other in said) for word in asked))
        chosen = [
            each for each, score in zip(candidates, scores, strict=True) if score and score == max(scores)
        ]
    if len(chosen) == 1:
        return chosen[0]
    names = listed([candidate.name for candidate in chosen or candidates], MAX_ERROR - 100)
    problem = "which one?" if chosen or not name else f"{name[:40]!r} is none of them."
    raise ValidationError(f"name: {problem} Automations: {names}"[:MAX_ERROR])


def calls_in(config: Mapping[str, Any]) -> list[ServiceCall]:
    """Return the services that an automation calls, with those of steps that a person has added."""
    return list(_calls(config.get("actions") or config.get("action")))


def _calls(steps: Any, depth: int = MAX_DEPTH) -> Iterator[ServiceCall]:
    for step in as_values(steps) if depth else ():
        if not isinstance(step, Mapping):
            continue
        for key in NESTED:
            yield from _calls(step.get(key), depth - 1)
        service = step.get("action") or step.get("service")
        if not isinstance(service, str) or "." not in service:
            continue
        domain, _, name = service.partition(".")
        target = step.get("target")
        ids = target.get(ATTR_ENTITY_ID) if isinstance(target, Mapping) else step.get(ATTR_ENTITY_ID)
        data = step.get("data")
        yield ServiceCall(
            domain=domain,
            service=name,
            entity_ids=tuple(map(str, as_values(ids))),
            data=dict(data) if isinstance(data, Mapping) else {},
        )


def entities_in_clauses(config: Mapping[str, Any]) -> list[str]:
    """Return the entities that the triggers and conditions of an automation are about."""
    clauses = (*as_values(config.get("triggers")), *as_values(config.get("conditions")))
    return [each for clause in clauses if isinstance(clause, Mapping) for each in entities_of_clause(clause)]


def unattended(speaker: Speaker) -> Speaker:
    """Return a speaker for whom calls are judged that an automation makes: at any time, with nobody there.

    A person confirms the automation itself, also after text from outside was read.
    """
    return replace(speaker, tainted=False, names=None, anytime=True)


def check_administrator(user: User | None) -> None:
    """Raise PermissionDenied for anybody but an administrator."""
    if user is None:
        raise PermissionDenied(NOT_KNOWN)
    if not user.is_admin or not user.is_active:
        raise PermissionDenied(ADMINISTRATORS)


def judge_switch(run: ToolRun, entity_id: str, user: User | None, *, on: bool) -> Verdict:
    """Return what the rules say of switching an automation that need not be exposed.

    Raises PermissionDenied if they forbid it, or if the lists of the agent leave it out.
    """
    service = f"turn_{'on' if on else 'off'}"
    verdict = run.guard.policy.judge("automation", service, [entity_id], run.speaker, user=user).verdict
    if verdict is Verdict.BLOCK:
        raise PermissionDenied(f"The household does not allow automation.{service} here")
    return verdict


async def async_check_allowed(
    calls: Iterable[ServiceCall], run: ToolRun, alias: str = "This", kept: str = "it is not restored"
) -> None:
    """Raise PermissionDenied if an automation calls what is not free for the speaker now."""
    speaker = unattended(run.speaker)
    for call in calls:
        if await run.guard.async_foresee([call], speaker) is not None:
            raise PermissionDenied(
                f"{alias} calls {call.domain}.{call.service}, which needs a person's confirmation each time, "
                f"so {kept}. Say so"
            )


# Undo


def edits_by_speaker(own: OwnAutomations | None, run: ToolRun) -> list[AutomationEdit]:
    """Return what the speaker did with automations and has not undone, the newest first."""
    user_id = run.speaker.context.user_id
    return [edit for edit in own.edits if edit.user_id == user_id] if own is not None and user_id else []


def edit_rows(own: OwnAutomations | None, run: ToolRun) -> list[JsonValueType]:
    """Return what the speaker did with automations lately, the newest first."""
    return [
        {
            "at": dt_util.as_local(edit.at).strftime("%Y-%m-%d %H:%M"),
            "did": edit.told()[0],
            "automation": edit.automation.alias,
        }
        for edit in edits_by_speaker(own, run)[:MAX_ROWS]
    ]


async def async_undo_edit(edit: AutomationEdit, own: OwnAutomations, run: ToolRun) -> JsonValueType:
    """Undo an edit, and return what became of the automation.

    Raises PermissionDenied for what is not allowed any more, and ToolExecutionError if it was edited since.
    """
    if run.tainted:
        raise PermissionDenied(TAINTED)
    automation, context = edit.automation, run.speaker.context
    user = await run.hass.auth.async_get_user(context.user_id) if context.user_id else None
    check_administrator(user)
    written = await async_read(run.hass, automation.id)
    if edit.after is not None and written is None:
        raise ToolExecutionError(f"The automation {automation.alias} does not exist any more")
    if edit.after is not None and written != edit.after.config:
        raise ToolExecutionError(
            f"The automation {automation.alias} has been edited since, so it stays as it is; say so"
        )
    if edit.before is None:
        await async_remove(run.hass, automation.id)
    else:
        await async_check_allowed(calls_in(edit.before.config), run, edit.before.alias)
        await async_add(run.hass, edit.before.id, edit.before.config, context)
    own.note_undone(edit)
    note_in_journal(run, "undo", automation.alias, undo=True)
    return {"automation": automation.alias, "undone": edit.told()[1], "at": f"{dt_util.now():%H:%M}"}


def note_in_journal(run: ToolRun, service: str, target: str, text: str = "", *, undo: bool = False) -> None:
    """Note what the speaker did with an automation."""
    run.guard.journal.note(
        AuditKind.ACTION,
        run.speaker,
        service=f"{AUTOMATION}.{service}",
        targets=(target,),
        success=True,
        text=text,
        undo=undo,
    )


# The file


async def async_check(hass: HomeAssistant, automation_id: str, config: Mapping[str, Any]) -> None:
    """Validate an automation with Home Assistant's own schema. Raises AutomationRefusedError."""
    # Loaded already where there are automations.
    from homeassistant.components.automation.config import async_validate_config_item  # noqa: PLC0415

    try:
        await async_validate_config_item(hass, automation_id, {"id": automation_id, **config})
    except (probatio.Invalid, HomeAssistantError) as err:
        raise AutomationRefusedError("automation_invalid", error=str(err)[:200]) from err


async def async_read(hass: HomeAssistant, automation_id: str) -> dict[str, Any] | None:
    """Return an automation as the file has it, without its id; None if it is not there.

    Raises AutomationRefusedError for a file that cannot be read.
    """

    def read() -> dict[str, Any] | None:
        try:
            items = automations_in(_read(_path(hass)) or "")
        except (OSError, UnicodeDecodeError) as err:
            raise AutomationRefusedError("automations_unreadable") from err
        item = next((item for item in items if _is(item, automation_id)), None)
        return None if item is None else {key: value for key, value in item.items() if key != "id"}

    return await hass.async_add_executor_job(read)


async def async_add(
    hass: HomeAssistant, automation_id: str, config: Mapping[str, Any], context: Context
) -> str:
    """Write an automation, or replace the one of this id, have it loaded, and return its entity id.

    What does not load is taken back. Raises AutomationRefusedError.
    """
    if AUTOMATION not in hass.config.components:
        raise AutomationRefusedError("automations_missing")
    await async_check(hass, automation_id, config)
    item = {"id": automation_id, **config}
    earlier = await async_read(hass, automation_id)
    await _async_edit(hass, automation_id, item)
    failed: HomeAssistantError | None = None
    try:
        await async_reload_automation(hass, automation_id, context)
    except HomeAssistantError as err:
        failed = err
    entity_id = entity_of(hass, automation_id)
    state = hass.states.get(entity_id) if entity_id else None
    if failed is None and entity_id and state is not None and state.state != STATE_UNAVAILABLE:
        return entity_id
    with suppress(HomeAssistantError):
        await _async_edit(hass, automation_id, earlier and {"id": automation_id, **earlier})
        await async_reload_automation(hass, automation_id, context)
    raise AutomationRefusedError("automations_not_included") from failed


async def async_remove(hass: HomeAssistant, automation_id: str) -> None:
    """Remove an automation from the file and from Home Assistant. Raises AutomationRefusedError."""
    await _async_edit(hass, automation_id, None)
    if (entity_id := entity_of(hass, automation_id)) is not None:
        er.async_get(hass).async_remove(entity_id)


async def async_forget_person(hass: HomeAssistant, automation_ids: Iterable[str]) -> None:
    """Remove from descriptions who asked for automations, and their words; unwritable files stay."""
    for each in automation_ids:
        with suppress(HomeAssistantError, AutomationRefusedError):
            written = await async_read(hass, each)
            described = str((written or {}).get("description") or "")
            if written is None or (kept := without_record(described)) == described:
                continue
            await _async_edit(hass, each, {"id": each, **written, "description": kept})
            await async_reload_automation(hass, each, Context())


def _path(hass: HomeAssistant) -> Path:
    return Path(os.path.realpath(hass.config.path(AUTOMATION_CONFIG_PATH)))


async def _async_edit(hass: HomeAssistant, automation_id: str, item: Mapping[str, Any] | None) -> None:
    def edit() -> None:
        path = _path(hass)
        try:
            before = _read(path)
            after = edited(before or "", automation_id, item)
            if _read(path) != before:
                raise AutomationRefusedError("automations_busy")
            write_utf8_file_atomic(str(path), after)
        except (OSError, UnicodeDecodeError, WriteError) as err:
            raise AutomationRefusedError("automations_unwritable", error=type(err).__name__) from err

    await hass.async_add_executor_job(edit)


def edited(text: str, automation_id: str, item: Mapping[str, Any] | None) -> str:
    """Return the text of the file with another automation in place of that of an id, or without it.

    A new one is added at the end; everything else stays as it is. Raises AutomationRefusedError for a text
    that is no list of blocks.
    """
    items = automations_in(text)
    place = next((index for index, each in enumerate(items) if _is(each, automation_id)), None)
    if place is None and item is None:
        return text
    lines, newline = text.splitlines(keepends=True), "\r\n" if "\r\n" in text else "\n"
    dashes = [index for index, line in enumerate(lines) if f"{line.strip()} ".lstrip().startswith("- ")]
    indent = min((lines[index].partition("-")[0] for index in dashes), key=len, default="")
    starts = [index for index in dashes if lines[index].startswith(f"{indent}-")]
    if len(starts) != len(items):
        raise AutomationRefusedError("automations_unreadable")
    new = [] if item is None else [dict(item)]
    own = [f"{indent}{line}{newline}" for line in (str(dump(new)).splitlines() if new else ())]
    if place is None:
        # An empty list is often written as []; comments stay.
        lines = [line for line in lines if items or line.strip().partition("#")[0].strip() != "[]"]
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += newline
        after, expected = [*lines, *own], [*items, *new]
    else:
        first, last = starts[place], [*starts, len(lines)][place + 1]
        # Comments behind an item are not its own.
        while last > first + 1 and lines[last - 1].strip().partition("#")[0] == "":
            last -= 1
        after = [*lines[:first], *own, *lines[last:]]
        expected = [*items[:place], *new, *items[place + 1 :]]
    changed = "".join(after) + ("" if expected else f"[]{newline}")
    if automations_in(changed) != expected:
        raise AutomationRefusedError("automations_unreadable")
    return changed


def _is(item: Any, automation_id: str) -> bool:
    return isinstance(item, dict) and str(item.get("id")) == automation_id


def _read(path: Path) -> str | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise AutomationRefusedError("automations_unreadable")
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The quick reader where there is one."""


class _Loader(_Base):  # type: ignore[misc]
    """Reads YAML without resolving references: includes and secrets stay names."""

    def construct_undefined(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return (node.tag, node.value)
        if isinstance(node, yaml.SequenceNode):
            return (node.tag, self.construct_sequence(node, deep=True))
        return (node.tag, self.construct_mapping(node, deep=True))


_Loader.add_constructor(None, _Loader.construct_undefined)


def automations_in(text: str) -> list[Any]:
    """Return the automations of a text. Raises AutomationRefusedError for anything but a list."""
    try:
        items = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as err:
        raise AutomationRefusedError("automations_unreadable") from err
    if not isinstance(items, list | None):
        raise AutomationRefusedError("automations_unreadable")
    return items or []
