"""The guard: every service call and every third-party tool passes it, and is judged when it is called.

A call passes its checks in this order: repeats and the budget of the turn (`turn_calls.py`), a tool of this
name and arguments that fit it (`calls/`), what the tool itself refuses, what may leave the home, what the
household says of the tool (`ToolHandler._async_check`), and then, for each service that it calls, the list in
`Guard.__init__`. What needs a person's yes is frozen in `pending.py`, what is let through made in `run.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL, POLICY_READ
from homeassistant.core import HomeAssistant, callback, valid_entity_id
from homeassistant.helpers import entity_registry as er, llm
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids

from ..domains import DOMAINS
from ..errors import ChangedSinceAsked, ConfirmationNeeded, NotExposed, NotPermitted, PermissionDenied
from ..knowledge.speaker import Speaker
from ..safety.frozen import (
    CallDraft,
    CallOrigin,
    Frozen,
    FrozenAutomation,
    FrozenCall,
    FrozenIntent,
    FrozenLook,
    FrozenPlan,
    FrozenTool,
    ServiceCall,
    WaitingCalls,
    frozen_call,
)
from ..safety.journal import Journal
from ..safety.policy import Judgement, Policy, Reader
from ..safety.rules import Verdict
from .intents import (
    CALL_ANYTHING,
    check_intent_slots,
    inner_name,
    intent_of,
    is_scripted,
    predicted_calls,
    script_of,
    tells_states,
    values_of,
)
from .messages import Messages, judged_as
from .pending import check_contents, entities_in, freeze, is_confirmed
from .recipients import is_message
from .run import async_handle, async_look, async_make, async_read

TARGET_KEYS: Final = frozenset(
    {
        *("entity_id", "entity_ids", "area_id", "device_id", "floor_id", "label_id", "target"),
        *("domain", "service"),
    }
)
"""Keys of a call's data that would aim it at something else than what was checked."""

ADMINISTRATOR: Final = "Only an administrator may do this, in a chat where they are signed in"
GATED_OFF: Final = (
    "Scenes and scripts are switched off for this assistant. An administrator can switch them on in its "
    "options: Safety, Let it run scripts and scenes (allow_scripts_and_scenes)"
)
"""What is said where they are switched off."""
PLACES: Final = ("area_id", "device_id", "floor_id", "label_id")
MAX_DEPTH: Final = 20
UNNAMED: Final = frozenset({"media_player", "music_assistant", "todo", "calendar"})
"""What a turn may change after it has read text from outside, without the person naming it: a recipe is put
on the list, and a song that was found is played where the person is."""


def is_vetted(domain: str, service: str, *, gated: bool = False) -> bool:
    """Return whether ha_control may call a service; `gated` lets scripts and scenes through."""
    facts = DOMAINS[domain]
    return service in facts.services and (gated or not facts.is_gated)


def may_be_called(domain: str, service: str, *, gated: bool = False) -> bool:
    """Return whether any tool may call a service on entities; `gated` lets scripts and scenes through."""
    return service in DOMAINS[domain].writes or is_vetted(domain, service, gated=gated)


def target_keys(data: Mapping[Any, Any]) -> list[str]:
    """Return the keys of a call's data that would aim it at something else, however they are written."""
    return sorted(key for key in map(str, data) if key.strip().casefold() in TARGET_KEYS)


class CallKind(Enum):
    """What a call is, which decides what is checked of it."""

    CONTROL = auto()
    WRITTEN = auto()
    """The service that the household wrote into the YAML of the tool that calls it."""
    MESSAGE = auto()
    READ = auto()


class Judged(NamedTuple):
    """A call, and for whom it is judged; `user` is None for a satellite and an automation."""

    call: ServiceCall
    user: User | None
    speaker: Speaker
    kind: CallKind


class Guard:
    """Judges calls and makes those that are let through."""

    def __init__(
        self, hass: HomeAssistant, policy: Policy, *, journal: Journal, gated: bool, messages: Messages
    ) -> None:
        self._hass = hass
        self.policy = policy
        self.journal = journal
        self._gated = gated
        self.written: Mapping[str, tuple[str, str]] = {}
        """The service of each custom tool, as written in the household's YAML."""
        self._messages = messages
        targets = (self._is_aimed, self._is_for_administrators, self._is_exposed_and_permitted)
        self._checks: Mapping[CallKind, Sequence[Callable[[Judged], Verdict]]] = {
            CallKind.CONTROL: (self._is_offered, *targets, self._by_rules, self._by_tool, self._by_words),
            CallKind.WRITTEN: (*targets, self._by_rules, self._by_tool, self._by_words),
            CallKind.MESSAGE: (self._has_receivers, self._by_rules, self._by_who_hears, self._by_tool),
            CallKind.READ: (*targets, self._by_rules),
        }
        """Each raises PermissionDenied or returns a verdict, in this order; the strictest counts."""

    @callback
    def is_exposed(self, entity_id: str) -> bool:
        """Return whether the agent may see this entity now."""
        return self._hass.states.get(entity_id) is not None and self.policy.view.is_exposed(entity_id)

    async def async_call_service(
        self,
        call: ServiceCall,
        speaker: Speaker,
        draft: CallDraft | None = None,
        approved: Sequence[FrozenCall] | None = None,
    ) -> Any:
        """Call a service on resolved targets and return its response; `approved` were confirmed earlier.

        Raises PermissionDenied for a refused call, ConfirmationNeeded for one that waits in `draft` for a
        confirmation, and ToolExecutionError for a failed one.
        """
        user = await self.async_user(speaker)
        if self.check(call, user, speaker).asks:
            frozen = self.frozen(call, speaker, user)
            if not is_confirmed(frozen, approved or ()):
                if draft is not None and is_confirmed(frozen, draft.draft.confirmed):
                    return None  # done by the yes before these words: neither asked about nor done again
                raise ConfirmationNeeded(freeze(self._hass, draft, frozen))
        return await async_make(self._hass, self.journal, call, speaker)

    async def async_read_service(self, call: ServiceCall, speaker: Speaker) -> dict[str, Any]:
        """Call a service that only answers and return what it says, by entity.

        Raises PermissionDenied for what the speaker may not read, and ToolExecutionError for what failed.
        """
        user = await self.async_user(speaker)
        with self.journal.judging(call, speaker):
            if call.service not in DOMAINS[call.domain].reads:
                raise PermissionDenied(f"{call.domain}.{call.service} is not offered")
            # What is restricted is not read either.
            if self._strictest(Judged(call, user, speaker, CallKind.READ)) is not Verdict.ALLOW:
                raise self._refused(call, user, speaker)
        return await async_read(self._hass, call, speaker)

    async def async_look(self, look: FrozenLook, speaker: Speaker, draft: CallDraft | None) -> str:
        """Look through a camera and return what is seen.

        Raises PermissionDenied for a refused call, ConfirmationNeeded for one that waits in `draft` for a
        confirmation, and ToolExecutionError for a failed one.
        """
        user = await self.async_user(speaker)
        if self.judge_look(look, user, speaker).asks:
            calm = _as_untainted(speaker)
            free = calm is not None and self.judge_look(look, user, calm) is Verdict.ALLOW
            raise ConfirmationNeeded(freeze(self._hass, draft, replace(look, after_outside=free)))
        return await async_look(self._hass, self.journal, look, speaker)

    async def async_foresee(
        self, calls: Sequence[ServiceCall], speaker: Speaker
    ) -> tuple[FrozenCall, ...] | None:
        """Return calls to be made later if they need a confirmation, None if not. Raises PermissionDenied."""
        user = await self.async_user(speaker)
        if not self._check_all(calls, user, speaker).asks:
            return None
        return tuple(self.frozen(call, speaker, user) for call in calls)

    def _judgement(self, call: ServiceCall, user: User | None, speaker: Speaker) -> Judgement:
        return self.policy.judge(call.domain, call.service, call.entity_ids, speaker, call.data, user)

    def frozen(self, call: ServiceCall, speaker: Speaker, user: User | None) -> FrozenCall:
        """Return a call as it waits for a confirmation, with the effects that the question lists."""
        is_calm = (calm := _as_untainted(speaker)) is not None and self.is_free(call, user, calm)
        contents = self._judgement(call, user, speaker).contents
        pin = self._foreseen(call, user, speaker) is Verdict.PIN
        return frozen_call(call, contents, after_outside=is_calm, pin=pin)

    async def async_user(self, speaker: Speaker) -> User | None:
        """Return the Home Assistant user who speaks; None for a satellite or an automation.

        Raises PermissionDenied for a user who no longer exists or switched off.
        """
        if speaker.context.user_id is None:
            return None
        user = await self._hass.auth.async_get_user(speaker.context.user_id)
        if user is None or not user.is_active:
            raise NotPermitted("The user is unknown or not active")
        return user

    async def async_reader(self, speaker: Speaker) -> Reader:
        """Return what a speaker may be told of."""
        user_id = speaker.context.user_id
        user = await self._hass.auth.async_get_user(user_id) if user_id else None
        return Reader(self._hass, self.policy, speaker, user if user is not None and user.is_active else None)

    @callback
    def check(self, call: ServiceCall, user: User | None, speaker: Speaker) -> Verdict:
        """Return whether this call is free now or needs a confirmation. Raises PermissionDenied otherwise."""
        with self.journal.judging(call, speaker):
            return self._judge(call, user, speaker)

    def _check_all(self, calls: Iterable[ServiceCall], user: User | None, speaker: Speaker) -> Verdict:
        return max((self.check(call, user, speaker) for call in calls), default=Verdict.ALLOW)

    def _judge(self, call: ServiceCall, user: User | None, speaker: Speaker) -> Verdict:
        kind = CallKind.MESSAGE if is_message(call.domain, call.service) else CallKind.CONTROL
        own = bool(call.tool) and self.written.get(call.tool) == (call.domain, call.service)
        if own and (self._gated or not DOMAINS[call.domain].is_gated):
            kind = CallKind.WRITTEN
        return self._strictest(Judged(call, user, speaker, kind))

    def _strictest(self, judged: Judged) -> Verdict:
        verdict = max(check(judged) for check in self._checks[judged.kind])
        if verdict is Verdict.BLOCK:
            raise self._refused(judged.call, judged.user, judged.speaker)
        return verdict

    def _refused(self, call: ServiceCall, user: User | None, speaker: Speaker) -> PermissionDenied:
        return self._judgement(call, user, speaker).refusal or PermissionDenied(
            f"The household does not allow {call.domain}.{call.service} here"
        )

    def _is_offered(self, judged: Judged) -> Verdict:
        call = judged.call
        if not may_be_called(call.domain, call.service, gated=self._gated):
            off = DOMAINS[call.domain].is_gated and not self._gated
            raise PermissionDenied(GATED_OFF if off else f"{call.domain}.{call.service} is not offered")
        return Verdict.ALLOW

    def _has_receivers(self, judged: Judged) -> Verdict:
        self._messages.check(judged.call, judged.user)
        return Verdict.ALLOW

    def _is_aimed(self, judged: Judged) -> Verdict:
        call = judged.call
        if wrong := target_keys(call.data):
            raise PermissionDenied(f"Targets do not belong into the parameters: {', '.join(wrong)}")
        if not call.entity_ids and judged.kind is not CallKind.WRITTEN:
            raise PermissionDenied(f"{call.domain}.{call.service} needs a target")
        return Verdict.ALLOW

    def _is_for_administrators(self, judged: Judged) -> Verdict:
        """Refuse what Home Assistant lets only administrators do.

        It lets somebody unknown, such as a person at a satellite, do the same; not so with its own parts.
        """
        call, user, facts = judged.call, judged.user, DOMAINS[judged.call.domain]
        if call.service in facts.admin_services and (user is None or not user.is_admin):
            registry = er.async_get(self._hass)
            entries = (registry.async_get(entity_id) for entity_id in call.entity_ids)
            if user is not None or any(
                entry and entry.platform in facts.system_platforms for entry in entries
            ):
                raise PermissionDenied(ADMINISTRATOR)
        return Verdict.ALLOW

    def _is_exposed_and_permitted(self, judged: Judged) -> Verdict:
        right, verb = (POLICY_READ, "read") if judged.kind is CallKind.READ else (POLICY_CONTROL, "control")
        data = judged.call.data
        for entity_id in (*judged.call.entity_ids, *(entities_in(self._hass, data) if data else ())):
            if not self.is_exposed(entity_id) or not valid_entity_id(entity_id):
                raise NotExposed("A target does not exist or is not exposed to the assistant")
            if right == POLICY_CONTROL and not self.policy.view.may_control(entity_id):
                raise PermissionDenied(f"This agent may read {entity_id} but not control it")
            if judged.user is not None and not judged.user.permissions.check_entity(entity_id, right):
                raise NotPermitted(f"The user may not {verb} {entity_id}")
        for reached in places_in(self._hass, data) if data else ():
            if not any(map(self.is_exposed, reached)):
                raise PermissionDenied("An area or a device has nothing in it that is exposed")
        return Verdict.ALLOW

    def _by_rules(self, judged: Judged) -> Verdict:
        return self._judgement(judged.call, judged.user, judged.speaker).verdict

    def _by_who_hears(self, judged: Judged) -> Verdict:
        same = judged_as(judged.call)
        alike = (self.policy.judge(*action, judged.speaker, user=judged.user).verdict for action in same)
        return max(self._messages.judge(judged.call, judged.speaker), *alike, Verdict.ALLOW)

    def _by_words(self, judged: Judged) -> Verdict:
        """Return whether the person's words name what is changed, where text from outside was just read."""
        names, call = judged.speaker.names, judged.call
        is_said = names is None or call.domain in UNNAMED or all(map(names, call.entity_ids))
        return Verdict.ALLOW if is_said else Verdict.CONFIRM

    def _by_tool(self, judged: Judged) -> Verdict:
        call, speaker = judged.call, judged.speaker
        if not call.tool:
            return Verdict.ALLOW
        # The author of the tool allowed its service, but not what an outsider does with it.
        vetted = may_be_called(call.domain, call.service, gated=self._gated)
        harmless = not speaker.tainted or (vetted and call.service not in DOMAINS[call.domain].reaching)
        return self.policy.judge_tool(call.tool, read_only=harmless, speaker=speaker, user=judged.user)

    @callback
    def check_again(self, item: FrozenCall, user: User | None, speaker: Speaker) -> None:
        """Check a confirmed call once more. Raises PermissionDenied, and ChangedSinceAsked."""
        if self.check(item, user, speaker) is Verdict.PIN and not item.pin:
            raise ChangedSinceAsked
        check_contents(item, self._judgement(item, user, speaker).contents)

    @callback
    def is_free(self, call: ServiceCall, user: User | None, speaker: Speaker) -> bool:
        """Return whether a call needs no confirmation now. Nothing is called or recorded."""
        return self._foreseen(call, user, speaker) is Verdict.ALLOW

    async def async_wants_pin(self, frozen: Iterable[Frozen], speaker: Speaker) -> bool:
        """Return whether a rule asks for the PIN before any of these calls."""
        user = await self.async_user(speaker)
        return any(self._wants_pin(item, user, speaker) for item in frozen)

    def _wants_pin(self, item: Frozen, user: User | None, speaker: Speaker) -> bool:
        try:
            match item:
                case FrozenAutomation() | FrozenCall():
                    return item.pin
                case FrozenPlan(calls=calls) | FrozenIntent(calls=calls):
                    return any(call.pin for call in calls)
                case FrozenTool():
                    return self._judge_tool(item, user, speaker)[0] is Verdict.PIN
                case FrozenLook():
                    return self.judge_look(item, user, speaker) is Verdict.PIN
        except PermissionDenied:
            return False  # it will not be made

    def _foreseen(self, call: ServiceCall, user: User | None, speaker: Speaker) -> Verdict:
        try:
            return self._judge(call, user, speaker)
        except PermissionDenied:
            return Verdict.BLOCK

    async def async_verdict(self, calls: Sequence[ServiceCall], speaker: Speaker) -> Verdict:
        """Return whether somebody may have these calls made, and whether they are restricted."""
        try:
            return self._check_all(calls, await self.async_user(speaker), speaker)
        except PermissionDenied:
            return Verdict.BLOCK

    @callback
    def draft_of(self, calls: Iterable[ServiceCall], speaker: Speaker, *, pin: bool) -> WaitingCalls:
        """Return calls as a question for a confirmation needs them; `pin` says that the answer needs it."""
        draft = WaitingCalls(speaker=speaker, conversation_id=speaker.conversation_id)
        part = CallDraft(draft=draft, origin=CallOrigin(speaker=speaker))
        for call in calls:
            freeze(self._hass, part, replace(self.frozen(call, speaker, None), pin=pin))
        return draft

    @callback
    def check_intent(
        self, intent_type: str, slots: Mapping[str, Any], user: User | None, speaker: Speaker
    ) -> tuple[Verdict, FrozenIntent] | None:
        """Return the policy's verdict on an intent, by the calls that it would make.

        None if that cannot be known. Raises PermissionDenied if one of them is not allowed.
        """
        reader = Reader(self._hass, self.policy, speaker, user)
        check_intent_slots(self._hass, reader, intent_type, slots)
        calls = predicted_calls(self._hass, intent_type, slots, speaker)
        if calls is None:
            return None
        verdict = self._check_all(calls, user, speaker)
        frozen = tuple(self.frozen(call, speaker, user) for call in calls)
        return verdict, FrozenIntent(intent_type=intent_type, slots=dict(slots), calls=frozen)

    async def async_check_tool(
        self, item: FrozenTool, speaker: Speaker, draft: CallDraft | None, *, confirmed: bool
    ) -> None:
        """Let a call of a tool through that the policy judges by the tool's name.

        Raises PermissionDenied for a refused call and ConfirmationNeeded for one that waits in `draft`.
        """
        verdict, waiting = self._judge_tool(item, await self.async_user(speaker), speaker)
        if not confirmed and verdict.asks:
            raise ConfirmationNeeded(freeze(self._hass, draft, waiting))
        if verdict.asks and isinstance(waiting, FrozenTool):
            check_contents(item, waiting.contents)

    @callback
    def calls_of(self, tool: llm.Tool, args: Mapping[str, Any], speaker: Speaker) -> list[ServiceCall]:
        """Return the calls of a third-party tool, as far as they are known."""
        if intent_type := intent_of(tool):
            return predicted_calls(self._hass, intent_type, args, speaker) or []
        call = self._script_call(tool, args)
        return [] if call is None else [call]

    def _script_call(self, tool: llm.Tool, args: Mapping[str, Any]) -> ServiceCall | None:
        if (script := script_of(self._hass, tool)) is None:
            return None
        data = {"variables": values} if (values := values_of(tool, args)) else {}
        return ServiceCall(domain="script", service="turn_on", entity_ids=(script,), data=data)

    def _judge_tool(
        self, item: FrozenTool, user: User | None, speaker: Speaker
    ) -> tuple[Verdict, FrozenTool | FrozenIntent]:
        """Return whether the tool may run at once, and the call that waits if it may not.

        A tool of core's that is an intent or a script is judged by what it calls; any other that may change
        something is restricted. Raises PermissionDenied if it may not run at all.
        """
        tool, frozen = item.tool, item
        name = inner_name(tool)
        read_only = tool.annotations.read_only
        verdict = self.policy.judge_tool(name, read_only=read_only, speaker=speaker, user=user)
        if verdict is Verdict.BLOCK or name == CALL_ANYTHING:
            raise PermissionDenied(f"The household does not allow {name}")
        if tells_states(tool) and Reader(self._hass, self.policy, speaker, user).narrows:
            raise PermissionDenied(f"{name} tells more than this person may read; use Home Agent's tools")
        if intent_type := intent_of(tool):
            judged = self.check_intent(intent_type, item.args, user, speaker)
            if judged is not None:
                return judged
            if is_scripted(self._hass, intent_type):
                written = self.policy.judge("intent_script", intent_type, (), speaker, user=user)
                verdict, frozen = max(verdict, written.verdict), replace(item, contents=written.contents)
        elif call := self._script_call(tool, item.args):
            verdict = self.check(call, user, speaker)
            frozen = replace(item, contents=self._judgement(call, user, speaker).contents)
        if verdict is Verdict.BLOCK:
            raise PermissionDenied(f"The household does not allow what {name} does")
        if verdict.asks and (calm := _as_untainted(speaker)) is not None:
            frozen = replace(frozen, after_outside=not self._judge_tool(item, user, calm)[0].asks)
        return verdict, frozen

    async def async_run_intent(self, item: FrozenIntent, user: User | None, speaker: Speaker) -> None:
        """Run a confirmed intent.

        Raises ChangedSinceAsked if it would do something else now, and PermissionDenied.
        """
        judged = self.check_intent(item.intent_type, item.slots, user, speaker)
        if judged is None or judged[1] != item:
            raise ChangedSinceAsked
        await async_handle(self._hass, self.journal, item, speaker)

    def judge_look(self, look: FrozenLook, user: User | None, speaker: Speaker) -> Verdict:
        """Return the verdict on a look; raises PermissionDenied."""
        call = ServiceCall(domain="camera", service="snapshot", entity_ids=(look.entity_id,))
        with self.journal.judging(call, speaker):
            verdict = self._strictest(Judged(call, user, speaker, CallKind.READ))
        return max(verdict, self._check_all(look.sends, user, speaker))


def _as_untainted(speaker: Speaker) -> Speaker | None:
    """Return the speaker of a turn that has read text from outside as if it had not; None for other turns."""
    if not speaker.tainted and speaker.names is None:
        return None
    return replace(speaker, tainted=False, names=None)


@callback
def places_in(hass: HomeAssistant, value: Any, depth: int = MAX_DEPTH) -> Iterator[frozenset[str]]:
    """Yield the entities of each area, device, floor and label that a value names as a target."""
    if isinstance(value, Mapping) and depth:
        for key, item in value.items():
            if key not in PLACES or not item:
                yield from places_in(hass, item, depth - 1)
                continue
            for place_id in item if isinstance(item, list | tuple | set) else (item,):
                found = async_extract_referenced_entity_ids(hass, TargetSelection({key: [str(place_id)]}))
                yield frozenset(found.referenced | found.indirectly_referenced)
    elif isinstance(value, list | tuple) and depth:
        for item in value:
            yield from places_in(hass, item, depth - 1)
