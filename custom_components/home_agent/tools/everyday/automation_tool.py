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
from ...safety.frozen import AutomationChange, FrozenAutomation, ServiceCall, frozen_call
from ...safety.rules import Verdict
from ...texts import leaves
from ..automating.kept import (
    AUTOMATION,
    ID_PREFIX,
    AutomationEdit,
    KnownAutomation,
    OwnAutomation,
    OwnAutomations,
    async_add,
    async_check,
    async_check_allowed,
    async_read,
    async_remove,
    calls_in,
    check_administrator,
    choose_automation,
    judge_switch,
    known_automations,
    note_in_journal,
    seen_automations,
)
from ..automating.writing import PARTS, alias_of, as_yaml, async_write, described
from ..base import HomeAgentTool, TargetsFailed, ToolRun
from ..ha_control import ControlTool
from ..own_calls import async_switch_automation
from ..planned_rows import OUTSIDE
from ..waiting import as_values, freeze
from .notify_tool import NotifyTool

ACTIONS: Final = ("create", "list", "change", "delete", "on", "off")
MAX_LISTED: Final = 15
MAX_OTHERS: Final = 30
MINE: Final = "made_by_you"
SILENT: Final = ("not_from", "not_to")
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
    "add": "create",
    "update": "change",
    "remove": "delete",
    **dict.fromkeys(("turn_on", "enable"), "on"),
    **dict.fromkeys(("turn_off", "disable"), "off"),
}


class AutomationTool(HomeAgentTool):
    """Writes automations that an administrator has confirmed, and switches them."""

    name = "automation"
    title = "Automations"
    description = (
        "triggers, conditions of Home Assistant: state, numeric_state, time, sun, zone, "
        "{trigger: state, person: me or nobody, to: home}. "
        "actions as ha_control, {delay: '00:05:00'}, {tell: me, message}."
    )
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    needs_component = AUTOMATION
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
        every = seen_automations(run, self.own, user)
        if action in ("on", "off"):
            if not every:
                check_administrator(user)
            known = choose_automation(every, name, self.own, run)
            return await self._async_switch(known, run, user, on=action == "on")
        check_administrator(user)
        if action == "create":
            return await self._async_write(None, args, run)
        try:
            known = choose_automation([each for each in every if each.own is not None], name, self.own, run)
        except ValidationError:
            others = [each for each in every if each.own is None] if name else []
            with suppress(ValidationError):
                other = choose_automation(others, name, self.own, run)
                raise PermissionDenied(f"{other.name} {FOREIGN}") from None
            raise
        if action == "change":
            return await self._async_write(known, args, run)

        async def delete() -> None:
            await async_remove(run.hass, known.id)
            self.own.note(AutomationEdit.by(run.speaker, known.own, None))
            note_in_journal(run, action, known.name, known.own.sentence if known.own else "")

        return self._ask(run, FrozenAutomation(change=AutomationChange.DELETE, name=known.name, begin=delete))

    async def _async_write(
        self, known: KnownAutomation | None, args: Mapping[str, Any], run: ToolRun
    ) -> JsonValueType:
        """Ask about a new automation, or about a change of one that is known."""
        change = AutomationChange.CREATE if known is None else AutomationChange.CHANGE
        earlier = before = None
        if known is None:
            if self.own.full:
                raise ValidationError("There are too many automations; delete some first")
        else:
            earlier = await async_read(run.hass, known.id)
            if known.own is None or earlier is None:
                raise ValidationError(f"{known.name} is not in automations.yaml; nothing was changed")
            before = replace(known.own, config=earlier)
        written = await async_write(args, run, self._control, self._messages, earlier, gated=self._gated)
        if before is None:
            others = known_automations(run.hass, self.own)
            for other in others:
                if other.own and all(other.own.config.get(part) == written.config[part] for part in PARTS):
                    raise ValidationError(
                        f"This automation exists already: {other.name}. Nothing was created; say so"
                    )
            names = [other.name for other in others]
            config = described(written.config, alias_of(args, run), run, changed=False, taken=names)
            after = OwnAutomation(
                id=f"{ID_PREFIX}{ulid_now().lower()}",
                alias=str(config["alias"]),
                sentence=run.sentence,
                language=run.speaker.language,
                user_id=run.speaker.context.user_id,
                config=config,
                outside=run.tainted,
            )
            calls: Sequence[ServiceCall] = written.calls
        else:
            config = described(
                written.config, str(written.config.get("alias") or before.alias), run, changed=True
            )
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
            self.own.note(AutomationEdit.by(run.speaker, before, after))
            note_in_journal(run, change.value, entity_id, after.sentence)

        item = FrozenAutomation(
            change=change,
            name=after.alias,
            triggers=tuple(written.triggers),
            conditions=tuple(written.conditions),
            steps=tuple(written.steps),
            calls=tuple(map(frozen_call, calls)),
            yaml=as_yaml(config),
            begin=write,
        )
        return self._ask(run, item)

    def _ask(self, run: ToolRun, item: FrozenAutomation) -> JsonValueType:
        """Let a change wait for a yes. Raises TargetsFailed that tells the model so, with the YAML."""
        freeze(run.hass, run.draft, item)
        shown = {"name": item.name, "yaml": item.yaml} if item.yaml else {"name": item.name}
        raise TargetsFailed(f"{item.name}: {WAITS}", dict[str, JsonValueType](shown))

    async def _async_switch(
        self, known: KnownAutomation, run: ToolRun, user: User | None, *, on: bool
    ) -> JsonValueType:
        """Switch an automation on or off: an administrator any of them, others those that are exposed."""
        change = AutomationChange.ON if on else AutomationChange.OFF
        result: JsonValueType = {"switched": change.value, "name": known.name}
        if run.guard.is_exposed(known.entity_id):
            ids = (known.entity_id,)
            await run.call(ServiceCall(domain=AUTOMATION, service=f"turn_{change.value}", entity_ids=ids))
            return result

        async def switch() -> None:
            judge_switch(run, known.entity_id, user, on=on)
            state = run.hass.states.get(known.entity_id)
            was_on = state is not None and state.state == STATE_ON
            await async_switch_automation(run.hass, known.entity_id, run.speaker.context, on=on)
            kept = known.own or OwnAutomation(id=known.id, alias=known.name)
            if was_on is not on:
                self.own.note(AutomationEdit.by(run.speaker, kept, kept, on))
                note_in_journal(run, change.value, known.entity_id, kept.sentence)

        if judge_switch(run, known.entity_id, user, on=on) is Verdict.CONFIRM or run.tainted:
            self._ask(run, FrozenAutomation(change=change, name=known.name, begin=switch))
        await switch()
        return result

    async def _async_list(self, run: ToolRun, user: User | None) -> JsonValueType:
        """Return the automations: all for an administrator, for others those that are exposed."""
        mine: list[JsonValueType] = []
        others: list[JsonValueType] = []
        for known in seen_automations(run, self.own, user):
            state = run.hass.states.get(known.entity_id)
            row: dict[str, Any] = {"name": known.name, "on": state is not None and state.state == STATE_ON}
            if known.own is None:
                others.append(row)
            elif len(mine) < MAX_LISTED:
                config = await async_read(run.hass, known.id) or known.own.config
                # What only leaves out devices that come back says nothing to a person.
                row |= {
                    part: [
                        {key: value for key, value in item.items() if key not in SILENT}
                        if isinstance(item, dict)
                        else item
                        for item in as_values(config[part])
                    ]
                    for part in PARTS
                    if config.get(part)
                }
                mine.append({**row, "from": OUTSIDE} if known.own.outside else row)
        result: dict[str, JsonValueType] = {MINE: mine} if mine else {}
        if others:
            result["of_the_household"] = others[:MAX_OTHERS]
        if len(others) > MAX_OTHERS:
            result["more"] = len(others) - MAX_OTHERS
        return result or "There are no automations that this person may know of."


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
