"""What an automation does: actions of ha_control and messages, planned now and judged as if they ran now."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
import json
from typing import Any, Final

from homeassistant.const import ATTR_ENTITY_ID, STATE_OFF, STATE_ON, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import State
from homeassistant.helpers import llm

from ...domains import DOMAINS, domains_of, verbs
from ...errors import PermissionDenied, ValidationError
from ...knowledge.house import EntityRecord
from ...safety.frozen import ServiceCall
from ...safety.redaction import is_secret
from ...texts import fold, leaves, one_line, opened
from ..base import ToolRun
from ..calls.repair import adapt, fit
from ..control.arguments import read_args
from ..control.planning import plan
from ..control.scripts import SCRIPT, plan_script
from ..control.values import Units
from ..everyday.notify_tool import MAX_MESSAGE, NotifyTool
from ..ha_control import ControlTool, async_prepare_names, resolve_gated
from ..people import NOTIFY
from ..resolving.resolver import Target, resolve
from .clauses import MAX_ITEMS, as_duration, check_plain, read_for
from .own import unattended

FORMS: Final = "{action: turn_on, entity_id}, {delay: '00:05:00'}, {tell: me, message}"
WAITS: Final = ("delay", "wait")
MAX_TARGETS: Final = 50
ENDS: Final[Mapping[str, str]] = {"turn_on": "turn_off", "start": "stop", "play": "pause", "open": "close"}
"""How an action for a while ends. What was open before is never opened again by itself."""
NEEDS_YES: Final = (
    "needs a person's confirmation each time, so an automation may not do it. Nothing was created; say so"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of an automation."""

    calls: tuple[ServiceCall, ...] = ()
    seconds: int = 0
    """For how long; without calls, how long to wait."""
    ends: tuple[ServiceCall, ...] = ()
    """What is called afterwards."""

    def config(self) -> list[dict[str, Any]]:
        """Return it as Home Assistant writes it."""
        steps = [_as_action(call) for call in _merged(self.calls)]
        if self.seconds:
            steps.append({"delay": as_duration(self.seconds)})
        return [*steps, *(_as_action(call) for call in _merged(self.ends))]


class ActionReader:
    """Reads what an automation is to do."""

    def __init__(
        self, run: ToolRun, control: ControlTool | None, messages: NotifyTool | None, *, gated: bool
    ) -> None:
        self._run = run
        self._control = control
        self._messages = messages
        self._gated = gated

    async def async_read(self, value: Any) -> tuple[Step, ...]:
        """Return the steps. Raises ValidationError, and PermissionDenied for what is refused."""
        value = opened(value)
        items = value if isinstance(value, list | tuple) else [] if value is None else [value]
        if not items:
            raise ValidationError(f"actions: say what is to be done. Give {FORMS}")
        if len(items) > MAX_ITEMS:
            raise ValidationError(f"actions: at most {MAX_ITEMS}")
        steps = [await self._async_step(opened(item)) for item in items]
        await self.async_judge([call for step in steps for call in (*step.calls, *step.ends)])
        return tuple(steps)

    async def async_judge(self, calls: Sequence[ServiceCall]) -> None:
        """Raise PermissionDenied for calls that are not free for the speaker at any time."""
        speaker = unattended(self._run.speaker)
        for call in calls:
            if await self._run.guard.async_foresee([call], speaker) is not None:
                names = ", ".join(call.entity_ids[:3])
                raise PermissionDenied(f"{call.domain}.{call.service} of {names} {NEEDS_YES}")

    async def _async_step(self, item: Any) -> Step:
        if isinstance(item, str):
            item = self._in_words(check_plain(item, "actions"))
        if not isinstance(item, Mapping):
            raise ValidationError(f"actions: {str(item)[:40]!r} is not understood. Give {FORMS}")
        for text in leaves(item, keys=True):
            if isinstance(text, str):
                check_plain(text, "actions")
        args = {str(key): value for key, value in item.items() if key not in ("id", "alias", "enabled")}
        if len(args) == 1 and (name := next(iter(args))) in WAITS:
            return Step(seconds=read_for(args[name], self._run.speaker.language))
        data = opened(args.get("data") or args.get("arguments"))
        told = {**args, **data} if isinstance(data, Mapping) else args
        name = str(args.get("action") or args.get("tool") or "").casefold()
        if "tell" in told or name.partition(".")[0] in (NOTIFY, NotifyTool.name):
            return await self._async_message(told)
        return await self._async_control(args)

    def _in_words(self, text: str) -> dict[str, Any]:
        """Return the arguments of an action that was written as text: its verb, and what it names."""
        spoken = f"{' '.join(fold(text).split())} "
        leading = [verb for verb in verbs() if spoken.startswith(f"{verb.replace('_', ' ')} ")]
        if not leading:
            raise ValidationError(f"actions: {text[:40]!r} is not understood. Give {FORMS}")
        verb = max(leading, key=len)
        named = resolve(
            self._run.house,
            Target(),
            speaker=self._run.speaker,
            sentence=text,
            allowed_domains=domains_of(verb),
        )
        return {"action": verb, "entity_id": [record.entity_id for record in named]}

    async def _async_message(self, args: Mapping[str, Any]) -> Step:
        message = one_line(str(args.get("message") or ""), MAX_MESSAGE)
        if not message:
            raise ValidationError("message: say what is to be told")
        if (messages := self._messages) is None:
            raise ValidationError("actions: messages cannot be sent here")
        room = args.get("area") or args.get("room")
        whom = room or args.get("tell") or args.get("person") or "me"
        receivers = ", ".join(map(str, whom)) if isinstance(whom, list | tuple) else str(whom)
        calls = await messages.async_calls(receivers, message, self._run, to_phone=not room)
        return Step(calls=tuple(calls))

    async def _async_control(self, args: dict[str, Any]) -> Step:
        if (control := self._control) is None:
            raise ValidationError("actions: devices cannot be controlled here")
        args = self._as_call(args, control)
        verb, target, given = read_args(args)
        run = self._run
        if any(is_secret(name) for name in given):
            raise ValidationError("actions: a code is not stored, so this cannot be part of an automation")
        if args.get("when") or args.get("repeat"):
            raise ValidationError("actions: when and repeat belong to the automation, not to an action of it")
        await async_prepare_names(run.hass, run.house)

        def found(domains: Collection[str]) -> list[EntityRecord]:
            return resolve(
                run.house,
                target,
                speaker=run.speaker,
                sentence=run.sentence,
                allowed_domains=domains,
                exists=lambda entity_id: run.hass.states.get(entity_id) is not None,
            )

        records = resolve_gated(target, domains_of(verb), found, gated=self._gated)
        if len(records) > MAX_TARGETS:
            raise ValidationError(f"actions: {len(records)} entities are too many; name the area")
        calls = self._calls(verb, given, records)
        if not args.get("for"):
            return Step(calls=calls)
        if verb not in ENDS:
            raise ValidationError(f"actions: for fits turn_on, start, play and open only, not {verb}")
        seconds = read_for(args["for"], run.speaker.language)
        return Step(calls=calls, seconds=seconds, ends=self._calls(ENDS[verb], {}, records))

    def _as_call(self, args: dict[str, Any], control: ControlTool) -> dict[str, Any]:
        """Return the arguments of ha_control, however the call was written. Raises ValidationError."""
        name = str(args.get("tool") or args.get("service") or args.get("action") or "")
        if "." in name:
            rest = {key: value for key, value in args.items() if key not in ("tool", "service", "action")}
            parts = adapt(llm.ToolInput(name, rest), {control.name: control})
            if len(parts) != 1 or parts[0].call.tool_name != control.name:
                raise ValidationError(f"actions: {name[:40]!r} is not available. Give {FORMS}")
            args = dict(parts[0].call.tool_args)
        try:
            return fit(control, args)[0]
        except ValidationError as err:
            raise ValidationError(f"actions: {err}"[:300]) from err

    def _calls(
        self, verb: str, given: Mapping[str, Any], records: Sequence[EntityRecord]
    ) -> tuple[ServiceCall, ...]:
        """Return the calls of an action on entities, whatever they show now. Raises ValidationError."""
        units = Units(self._run.hass.config.units.temperature_unit)
        calls: list[ServiceCall] = []
        for record in records:
            state = self._run.hass.states.get(record.entity_id)
            if state is None or not self._run.guard.is_exposed(record.entity_id):
                raise ValidationError(f"{record.entity_id} does not exist or is not exposed to the assistant")
            action = DOMAINS[state.domain].actions.get(verb)
            if action is not None and action.direction and state.domain != SCRIPT:
                raise ValidationError(
                    f"actions: {verb} takes no step in an automation; give the value that it is set to"
                )
            alone, neutral = len(records) == 1, _neutral(state)
            try:
                made = (
                    plan_script(self._run, neutral, verb, given, gated=self._gated)
                    if state.domain == SCRIPT
                    else plan(neutral, verb, given, units, gated=self._gated, alone=alone)
                )
            except ValidationError as err:
                raise ValidationError(f"actions: {record.entity_id} {err}"[:300]) from err
            calls += (
                ServiceCall(
                    domain=made.domain,
                    service=call.service,
                    entity_ids=(call.on or record.entity_id,),
                    data=call.data,
                )
                for call in made.calls
            )
        if not calls:
            raise ValidationError(f"actions: {verb} would do nothing")
        return tuple(_merged(calls))


def _neutral(state: State) -> State:
    """Return a state that says nothing about now: an automation runs at another time."""
    resting = (*DOMAINS[state.domain].resting, STATE_UNAVAILABLE, STATE_UNKNOWN)
    if state.state in resting:
        return State(state.entity_id, "idle", state.attributes)
    return State(state.entity_id, STATE_OFF, state.attributes) if state.state == STATE_ON else state


def _merged(calls: Sequence[ServiceCall]) -> list[ServiceCall]:
    alike: dict[str, ServiceCall] = {}
    for call in calls:
        key = json.dumps([call.domain, call.service, dict(call.data)], sort_keys=True, default=str)
        if key in alike and call.entity_ids:
            ids = dict.fromkeys((*alike[key].entity_ids, *call.entity_ids))
            alike[key] = replace(alike[key], entity_ids=tuple(ids))
        else:
            alike.setdefault(key, call)
    return list(alike.values())


def _as_action(call: ServiceCall) -> dict[str, Any]:
    action: dict[str, Any] = {"action": f"{call.domain}.{call.service}"}
    if call.entity_ids:
        action["target"] = {ATTR_ENTITY_ID: list(call.entity_ids)}
    if call.data:
        action["data"] = dict(call.data)
    return action
