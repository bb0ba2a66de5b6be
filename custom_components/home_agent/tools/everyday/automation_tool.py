"""automation: automations in plain language, which an administrator confirms before they are written."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, override

import probatio

from homeassistant.auth.models import User
from homeassistant.const import STATE_ON
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType
from homeassistant.util.ulid import ulid_now

from ...const import CONF_ALLOW_AUTOMATIONS, CONF_ALLOW_SCRIPTS
from ...errors import WAITS, ChangedSinceAsked, PermissionDenied, ValidationError
from ...knowledge.house import HouseSnapshot
from ...safety.frozen import AutomationChange, FrozenAutomation, FrozenPlan, ServiceCall, frozen_call
from ...safety.journal import AuditKind
from ...safety.rules import Verdict
from ...texts import leaves
from ..automating import actions
from ..automating.actions import ActionReader
from ..automating.clauses import CONDITION, FORMS, TRIGGER
from ..automating.drafting import PARTS, alias_of, as_yaml, async_draft, described
from ..automating.files import (
    AUTOMATION,
    async_add,
    async_check,
    async_check_included,
    async_read,
    async_remove,
)
from ..automating.own import (
    Known,
    async_check_allowed,
    calls_in,
    check_administrator,
    choose_automation,
    judge_switch,
    known_automations,
    seen_automations,
)
from ..automating.records import ID_PREFIX, Change, OwnAutomation, OwnAutomations
from ..base import HomeAgentTool, TargetsFailed, ToolRun
from ..ha_control import ControlTool
from ..own_calls import async_switch_automation
from ..planned_rows import OUTSIDE
from ..waiting import freeze
from .notify_tool import NotifyTool

ACTIONS: Final = ("create", "list", "change", "delete", "on", "off")
MAX_LISTED: Final = 15
MAX_OTHERS: Final = 30
MINE: Final = "made_by_you"
SILENT: Final = ("not_from", "not_to")
"""Parts of triggers that only leave out devices that come back, of which nobody has asked."""
FOREIGN: Final = (
    "was not made by this assistant, so it is not changed or deleted here; an administrator edits it in Home "
    "Assistant under Settings, Automations. Nothing was done; say so"
)


SLOT_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("trigger", "when"), "triggers"),
    **dict.fromkeys(("condition", "if"), "conditions"),
    **dict.fromkeys(("do", "then", "sequence"), "actions"),
    **dict.fromkeys(("alias", "title", "automation", "id", "automation_id", "entity_id"), "name"),
}
ACTION_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("add", "new", "make", "set", "save", "write", "create_automation"), "create"),
    **dict.fromkeys(("show", "get", "read", "list_automations"), "list"),
    **dict.fromkeys(("edit", "update", "modify", "change_automation", "replace"), "change"),
    **dict.fromkeys(("remove", "cancel", "delete_automation"), "delete"),
    **dict.fromkeys(("turn_on", "enable", "switch_on", "activate", "resume"), "on"),
    **dict.fromkeys(("turn_off", "disable", "switch_off", "deactivate", "pause", "stop"), "off"),
}


class AutomationTool(HomeAgentTool):
    """Writes automations that an administrator has confirmed, and switches them."""

    name = "automation"
    title = "Automations"
    description = (
        f"Automations in Home Assistant's form. triggers: {', '.join(FORMS[TRIGGER].values())}. "
        f"conditions: {FORMS[CONDITION]['state']}, {FORMS[CONDITION]['time']}. "
        f"actions: as ha_control, {actions.FORMS}."
    )
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    max_text = 1000
    slot_words = SLOT_WORDS
    parameters = probatio.Schema(
        {
            probatio.Required("action"): probatio.In(ACTIONS),
            probatio.Optional("name"): str,
            **{probatio.Optional(part): list for part in PARTS},
        }
    )

    def __init__(
        self,
        own: OwnAutomations,
        control: ControlTool | None,
        messages: NotifyTool | None,
        *,
        gated: bool,
    ) -> None:
        self.own = own
        self._control = control
        self._messages = messages
        self._gated = gated

    @override
    def has_use(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        """Return whether Home Assistant has automations."""
        return AUTOMATION in hass.config.components

    @override
    def in_order(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return an action that there is, and each part as a list, whose items say later what is wrong."""
        action = str(args.get("action") or "create").casefold().replace(" ", "_")
        ordered: dict[str, Any] = {**args, "action": ACTION_WORDS.get(action, action)}
        for part in PARTS:
            if part in args and not isinstance(args[part], list):
                ordered[part] = [args[part]]
        return ordered

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """Return whether automations are only listed."""
        return args.get("action") == "list"

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return the texts of automations that were written after text from outside was read."""
        rows = result.get(MINE) if isinstance(result, dict) else None
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and row.get("from") == OUTSIDE:
                yield from (text for text in leaves(row) if isinstance(text, str))

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Do one thing. Raises HomeAgentError; TargetsFailed for what waits for a yes."""
        user_id = None if run.speaker.is_automation else run.speaker.context.user_id
        user = await run.hass.auth.async_get_user(user_id) if user_id else None
        action, name = args["action"], str(args.get("name") or "")
        if action == "list":
            return await self._async_list(run, user)
        if action in ("on", "off"):
            return await self._async_switch(name, run, user, on=action == "on")
        check_administrator(user)
        if action == "create":
            return await self._async_write(None, args, run)
        known = self._choose_own(name, run, user)
        if action == "change":
            return await self._async_write(known, args, run)
        own = known.own
        assert own is not None

        async def delete() -> None:
            await async_remove(run.hass, own.id)
            self._note(run, AutomationChange.DELETE, Change.by(run.speaker, own, None), known.entity_id)

        return self._ask(run, FrozenAutomation(change=AutomationChange.DELETE, name=known.name, begin=delete))

    def _choose_own(self, name: str, run: ToolRun, user: User | None) -> Known:
        """Return the automation that is changed or deleted. Raises PermissionDenied for others."""
        every = seen_automations(run, self.own, user)
        try:
            return choose_automation([each for each in every if each.own is not None], name, self.own, run)
        except ValidationError:
            others = [each for each in every if each.own is None] if name else []
            with suppress(ValidationError):
                other = choose_automation(others, name, self.own, run)
                raise PermissionDenied(f"{other.name} {FOREIGN}") from None
            raise

    async def _async_write(self, known: Known | None, args: Mapping[str, Any], run: ToolRun) -> JsonValueType:
        """Ask about a new automation, or about a change of one that is known."""
        actions = ActionReader(run, self._control, self._messages, gated=self._gated)
        before: OwnAutomation | None = None
        if known is None:
            change = AutomationChange.CREATE
            if self.own.full:
                raise ValidationError("There are too many automations; delete some first")
            await async_check_included(run.hass)
            draft = await async_draft(args, run, actions)
            others = known_automations(run.hass, self.own)
            for other in others:
                if other.own and all(other.own.config.get(part) == draft.config[part] for part in PARTS):
                    raise ValidationError(
                        f"This automation exists already: {other.name}. Nothing was created; say so"
                    )
            names = [other.name for other in others]
            config = described(draft.config, alias_of(args, run), run, changed=False, taken=names)
            after = OwnAutomation(
                id=f"{ID_PREFIX}{ulid_now().lower()}",
                alias=str(config["alias"]),
                sentence=run.sentence,
                language=run.speaker.language,
                user_id=run.speaker.context.user_id,
                config=config,
                outside=run.tainted,
            )
            calls: Sequence[ServiceCall] = draft.calls
        else:
            change = AutomationChange.CHANGE
            written = await async_read(run.hass, known.id)
            if known.own is None or written is None:
                raise ValidationError(f"{known.name} is not in automations.yaml; nothing was changed")
            draft = await async_draft(args, run, actions, written)
            alias = str(written.get("alias") or known.name)
            config = described(draft.config, alias, run, changed=True, taken=())
            before = replace(known.own, config=written)
            outside = before.outside or run.tainted
            after = replace(before, alias=str(config["alias"]), config=config, outside=outside)
            # A part that stays may call what nobody may have called now.
            await async_check_allowed(after, run, "it is not changed")
            calls = calls_in(config)
        await async_check(run.hass, after.id, config)

        async def write() -> None:
            if before is not None and await async_read(run.hass, before.id) != before.config:
                raise ChangedSinceAsked
            entity_id = await async_add(run.hass, after.id, config, run.speaker.context)
            self._note(run, change, Change.by(run.speaker, before, after), entity_id)

        async def begin_nothing() -> None:
            """A step is a part of what is asked about."""

        item = FrozenAutomation(
            change=change,
            name=after.alias,
            triggers=tuple(draft.triggers),
            conditions=tuple(draft.conditions),
            steps=tuple(
                FrozenPlan(calls=tuple(map(frozen_call, step.calls)), hold=step.seconds, begin=begin_nothing)
                for step in draft.steps
            ),
            calls=tuple(map(frozen_call, calls)),
            yaml=as_yaml(config),
            begin=write,
        )
        return self._ask(run, item)

    def _ask(self, run: ToolRun, item: FrozenAutomation) -> JsonValueType:
        """Let a change wait for a yes. Raises TargetsFailed that tells the model so, with the YAML."""
        freeze(run.hass, run.draft, item)
        shown: dict[str, JsonValueType] = {"name": item.name}
        if item.yaml:
            shown["yaml"] = item.yaml
        raise TargetsFailed(f"{item.name}: {WAITS}", shown)

    async def _async_switch(self, said: str, run: ToolRun, user: User | None, *, on: bool) -> JsonValueType:
        """Switch an automation on or off: an administrator any of them, others those that are exposed."""
        if not (may := seen_automations(run, self.own, user)):
            check_administrator(user)
        known = choose_automation(may, said, self.own, run)
        change = AutomationChange.ON if on else AutomationChange.OFF
        if run.guard.is_exposed(known.entity_id):
            ids = (known.entity_id,)
            await run.call(ServiceCall(domain=AUTOMATION, service=f"turn_{change.value}", entity_ids=ids))
            return {"switched": change.value, "name": known.name}

        async def switch() -> None:
            judge_switch(run, known.entity_id, user, on=on)
            state = run.hass.states.get(known.entity_id)
            was_on = state is not None and state.state == STATE_ON
            await async_switch_automation(run.hass, known.entity_id, run.speaker.context, on=on)
            kept = known.own or OwnAutomation(id=known.id, alias=known.name)
            if was_on is not on:
                self._note(run, change, Change.by(run.speaker, kept, kept, on), known.entity_id)

        if judge_switch(run, known.entity_id, user, on=on) is Verdict.CONFIRM or run.tainted:
            self._ask(run, FrozenAutomation(change=change, name=known.name, begin=switch))
        await switch()
        return {"switched": change.value, "name": known.name}

    async def _async_list(self, run: ToolRun, user: User | None) -> JsonValueType:
        """Return the automations: all for an administrator, for others those that are exposed."""
        seen = seen_automations(run, self.own, user)
        rows: list[JsonValueType] = []
        for known in [each for each in seen if each.own is not None][:MAX_LISTED]:
            assert known.own is not None
            config = await async_read(run.hass, known.id) or known.own.config
            outside = {"from": OUTSIDE} if known.own.outside else {}
            shown = {part: _shown(config[part]) for part in PARTS if config.get(part)}
            rows.append({**_row(known, run.hass), **shown, **outside})
        others: list[JsonValueType] = [_row(each, run.hass) for each in seen if each.own is None]
        result: dict[str, JsonValueType] = {MINE: rows} if rows else {}
        if others:
            result["of_the_household"] = others[:MAX_OTHERS]
        if len(others) > MAX_OTHERS:
            result["more"] = len(others) - MAX_OTHERS
        return result or "There are no automations that this person may know of."

    def _note(self, run: ToolRun, change: AutomationChange, made: Change, entity_id: str) -> None:
        self.own.note(made)
        run.guard.journal.note(
            AuditKind.ACTION,
            run.speaker,
            service=f"{AUTOMATION}.{change.value}",
            targets=(made.automation.alias,) if made.after is None else (entity_id,),
            success=True,
            text=made.automation.sentence,
        )


def automation_tools(
    settings: Mapping[str, Any],
    own: OwnAutomations,
    control: ControlTool,
    messages: NotifyTool,
    disabled: Collection[str],
) -> list[HomeAgentTool]:
    """Return the tools for devices and messages, and that for automations if the household allows them."""
    tools: list[HomeAgentTool] = [control, messages]
    if settings[CONF_ALLOW_AUTOMATIONS]:
        used = (
            None if control.name in disabled else control,
            None if messages.name in disabled else messages,
        )
        tools.append(AutomationTool(own, *used, gated=settings[CONF_ALLOW_SCRIPTS]))
    return tools


def _row(known: Known, hass: HomeAssistant) -> dict[str, JsonValueType]:
    state = hass.states.get(known.entity_id)
    return {"name": known.name, "on": state is not None and state.state == STATE_ON}


def _shown(part: Any) -> Any:
    """Return a part of an automation without what says nothing to a person."""
    if not isinstance(part, list):
        return part
    return [
        {key: value for key, value in item.items() if key not in SILENT} if isinstance(item, dict) else item
        for item in part
    ]
