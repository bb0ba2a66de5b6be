"""notify_person: something for people, announced in rooms or sent to phones and chats."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...context.topics import language_of as language_of_text
from ...errors import ConfirmationNeeded, PermissionDenied, ToolExecutionError, ValidationError
from ...knowledge.house import HouseSnapshot
from ...languages.lexicon import QUESTION_MARKS
from ...languages.sentence import Wait, times_in
from ...memory.memories import Memories
from ...memory.profile import Profile
from ...memory.sentences import holds_secret
from ...planned.commands import MAX_COMMANDS, PlannedCommands
from ...planned.records import TELL, Message, Owner, PlannedCommand
from ...planned.schedule import Schedule
from ...safety.frozen import FrozenCall, FrozenPlan
from ...texts import one_line
from ..base import HomeAgentTool, PartlyFailed, ServiceCall, ToolRun
from ..control.asked import NEEDS_REPEAT, WHEN_FORMS, needs_automation
from ..control.later import MAX_ALIKE, NO_CODES
from ..control.timing import Timing, read_timing
from ..members import async_is_member
from ..messages import NOTIFY_TOOL, Messages, Speaking, heard_on, language_of
from ..remembering.private_words import PrivateWords
from ..resolving.resolver import plain
from ..vetted import is_spoken
from .audience import Audience, Finder, Receivers, names_of
from .choosing import user_of


@dataclass(slots=True)
class Delivery:
    """What became of one message so far."""

    audience: Audience
    problems: list[str] = field(default_factory=list)
    """What is known to be wrong before anything is sent."""
    heard: dict[str, str] = field(default_factory=dict)
    """The rooms where it was announced, by device."""
    sent: list[str] = field(default_factory=list)
    """The persons to whom it was sent."""
    unheard: dict[str, str] = field(default_factory=dict)
    """What went wrong, by device."""
    unsent: dict[str, str] = field(default_factory=dict)
    """What went wrong, by person."""
    denied: list[PermissionDenied] = field(default_factory=list)
    waiting: ConfirmationNeeded | None = None

    def result(self) -> dict[str, JsonValueType]:
        """Return who got the message and how.

        Of a person of whom the speaker may not learn anything it says only that the message was passed on.
        """
        rooms = [room for device, room in self.heard.items() if device not in self._concealed_devices]
        open_sent = [one for one in self.sent if one not in self.audience.concealed | self.audience.unnamed]
        passed_on = [name for name in sorted(self.audience.concealed) if self._reached(name)]
        parts = {
            "announced_in": list(dict.fromkeys(rooms)),
            "sent_to": open_sent,
            "told": passed_on,
        }
        return {key: [*found] for key, found in parts.items() if found}

    def has_reached_anybody(self) -> bool:
        """Return whether anybody heard or got it."""
        return bool(self.heard or self.sent)

    def problem(self) -> str:
        """Return what went wrong, as far as the speaker may know it; empty for nothing."""
        hidden, concealed = self._concealed_devices, self.audience.concealed
        told = [
            *self.problems,
            *(text for device, text in self.unheard.items() if device not in hidden),
            *(text for name, text in self.unsent.items() if name not in concealed | self.audience.unnamed),
            *(f"{plain(name)} is not reached" for name in sorted(concealed) if not self._reached(name)),
        ]
        return "; ".join(dict.fromkeys(told))

    @property
    def _concealed_devices(self) -> frozenset[str]:
        """Return the devices that announce it only for persons of whom the speaker may not learn anything."""
        near = self.audience.near
        return frozenset().union(*(near.get(name, ()) for name in self.audience.concealed))

    def _reached(self, name: str) -> bool:
        return name in self.sent or any(one in self.heard for one in self.audience.near.get(name, ()))


NEEDS_WHEN: Final = (
    f"The sentence says a time, and nothing was sent. Call again with when, such as {WHEN_FORMS}, "
    "or with the time in message if it is part of what is told"
)


def check_time(message: Message, timing: Timing | None, run: ToolRun) -> None:
    """Raise ValidationError if the sentence says a time that is neither in the call nor in its message.

    Whether a time belongs to the message is not always clear, so a second call counts as written.
    """
    if any(record.tool_name == NOTIFY_TOOL for record in run.calls.records):
        return
    own = run.speaker.language
    waits = list(times_in(run.sentence, own))
    for wait in times_in(message.text, language_of_text(message.text, own) or own):
        if wait in waits:
            waits.remove(wait)
    left = set(waits) - (timing.answers if timing is not None and timing.schedule is not None else set())
    if Wait.CONDITION in left and not message.text.rstrip().endswith(tuple(QUESTION_MARKS)):
        raise ValidationError(needs_automation(run))
    if Wait.REPEATED in left:
        raise ValidationError(NEEDS_REPEAT)
    if Wait.TIME in left:
        raise ValidationError(NEEDS_WHEN)


class MessagePlanner:
    """Plans the messages of one agent."""

    def __init__(self, planned: PlannedCommands) -> None:
        self._planned = planned

    async def async_plan(
        self,
        message: Message,
        schedule: Schedule,
        calls: Sequence[ServiceCall],
        spare: Collection[str],
        run: ToolRun,
    ) -> JsonValueType:
        """Keep a message, and return what happens when.

        `calls` would deliver it. Those on `spare` devices need no confirmation: where they are not allowed
        then, the person gets the message on the phone. Raises ConfirmationNeeded for what a person has to
        confirm before, PermissionDenied for what is not allowed, and ValidationError.
        """
        if holds_secret(message.text):
            raise ValidationError(NO_CODES)
        if self._planned.full:
            raise ValidationError(f"{MAX_COMMANDS} commands are planned already; cancel some first")
        waiting = await self._async_judge(calls, schedule, spare, run)
        command = PlannedCommand(
            verb=TELL,
            entity_ids=(),
            message=message,
            told=f"tell {message.receiver}",
            schedule=schedule,
            approved=tuple(waiting) or None,
            owner=Owner.of(run.speaker, user_of(run)),
        )
        if waiting:
            if run.draft is None:
                raise PermissionDenied("A message needs a person's confirmation")

            async def begin() -> None:
                await self._async_keep(command)

            item = FrozenPlan(
                calls=tuple(waiting), due=schedule.due, repeats=bool(schedule.days), begin=begin
            )
            raise ConfirmationNeeded(run.guard.let_wait(item, run.draft))
        alike = self._alike(command)
        await self._async_keep(command)
        now = dt_util.utcnow()
        told: dict[str, JsonValueType] = {
            "planned": f"{command.told_at(now)}: {message.text}",
            "id": command.id,
        }
        notes: list[JsonValueType] = [
            f"also planned: {other.told_at(now)}, id {other.id}; cancel it if this one replaces it"
            for other in alike
        ]
        return told | ({"notes": notes} if notes else {})

    def _alike(self, command: PlannedCommand) -> list[PlannedCommand]:
        return [
            other
            for other in self._planned.all()
            if other.message is not None
            and command.message is not None
            and other.message.receiver == command.message.receiver
            and other.owner.conversation_id == command.owner.conversation_id
            and not other.is_same(command)
        ][:MAX_ALIKE]

    async def _async_keep(self, command: PlannedCommand) -> None:
        if same := [one.id for one in self._planned.all() if one.is_same(command)]:
            await self._planned.async_cancel(same)
        await self._planned.async_add(command)

    async def _async_judge(
        self, calls: Sequence[ServiceCall], schedule: Schedule, spare: Collection[str], run: ToolRun
    ) -> list[FrozenCall]:
        """Return the calls that a person has to confirm. Raises PermissionDenied if none is allowed.

        What is planned is judged for the time at which it is due, and again at that time.
        """
        speaker = replace(run.speaker, due=schedule.due)
        waiting: list[FrozenCall] = []
        denied: list[PermissionDenied] = []
        free = 0
        for call in calls:
            is_spare = is_spoken(call.domain, call.service) and heard_on(call)[0] in spare
            try:
                frozen = await run.guard.async_foresee([call], speaker)
            except PermissionDenied as err:
                denied.append(err)
                continue
            if frozen is None:
                free += 1
            elif not is_spare:
                waiting += frozen
        if denied and not free and not waiting:
            raise denied[0]
        return waiting


MAX_MESSAGE: Final = 1000
MAX_SPOKEN: Final = 300
"""Characters of an announcement: about 20 seconds of speech, which a call can wait for."""


class NotifyTool(HomeAgentTool):
    """Announces a message on satellites and speakers, and sends it to phones and chats of persons."""

    name = NOTIFY_TOOL
    max_text = 4 * MAX_MESSAGE
    title = "Send a message"
    description = "Tell people something, aloud or to_phone."
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("person", description="or room, everybody"): str,
            probatio.Required("message"): str,
            probatio.Optional("to_phone"): bool,
            probatio.Optional("when"): str,
            probatio.Optional("repeat"): str,
        }
    )

    def __init__(
        self,
        people: Receivers,
        messages: Messages,
        memories: Memories,
        profile: Profile,
        planned: PlannedCommands | None = None,
    ) -> None:
        self._people = people
        self._messages = messages
        self._private = PrivateWords(memories, profile)
        self._planner = MessagePlanner(planned) if planned is not None else None

    @override
    def has_use(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        """Return whether anybody can be reached."""
        return bool(self._people) or self._messages.can_speak()

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Deliver a message, or keep it for later.

        Raises ValidationError for a person or a room that is not clear or cannot be reached.
        """
        text = one_line(args["message"].strip(), MAX_MESSAGE)
        if not text:
            raise ValidationError("message: say what is to be sent")
        message = Message(receiver=args["person"], text=text, to_phone=bool(args.get("to_phone")))
        timing = read_timing(run.hass, args, run.speaker.language)
        check_time(message, timing, run)
        if timing is not None and timing.schedule is not None:
            return await self._async_plan(message, timing.schedule, run)
        found = await self._async_find(message, run)
        devices, foreign = self._by_language([*found.devices.values()], text, run)
        message = await self._async_checked(message, devices, run)
        told = Delivery(found, problems=[*foreign, *found.unreached])
        await self._async_deliver_all(message, devices, found.phones, run, told)
        if told.waiting is not None:
            raise told.waiting
        return _result(told, text, misfit=bool(foreign))

    async def async_run_planned(self, command: PlannedCommand, run: ToolRun) -> JsonValueType:
        """Deliver a message that was planned, to where people are now.

        People who do not hear it get it on the phone. Raises HomeAgentError.
        """
        message = command.message
        assert message is not None
        found = await self._async_find(message, run)
        told = Delivery(found, problems=[*found.unreached])
        devices = [*found.devices.values()]
        await self._async_deliver_all(message, devices, found.phones, run, told)
        if not told.heard and found.instead:
            await self._async_deliver_all(message, [], found.instead, run, told)
            if told.sent:
                told.unheard.clear()
        if told.denied and not told.has_reached_anybody():
            raise told.denied[0]
        if told.heard:  # one of several devices may be offline for long
            told.unheard.clear()
        return _result(told, message.text)

    async def async_calls(
        self, said: str, message: str, run: ToolRun, *, to_phone: bool
    ) -> list[ServiceCall]:
        """Return the calls that deliver a message at another time, wherever people are then.

        Raises ValidationError for a person or a room that is not clear or cannot be reached.
        """
        told = Message(receiver=said, text=message, to_phone=to_phone)
        found = await self._async_find(told, run)
        calls, problems = self._calls(found, await self._async_checked(told, found.devices, run), run)
        if problems or not calls:
            raise ValidationError("; ".join(problems) or "person: nobody can be reached")
        return calls

    async def _async_plan(self, message: Message, schedule: Schedule, run: ToolRun) -> JsonValueType:
        """Keep a message for later, once a person has confirmed what needs that."""
        if (planner := self._planner) is None:
            raise ValidationError("when is not available here")
        found = await self._async_find(message, run, later=schedule.due)
        near = frozenset(one for devices in found.near.values() for one in devices)
        rooms = [one for one in found.devices.values() if one.entity_id not in near]
        _spoken, foreign = self._by_language(rooms, message.text, run)
        if foreign:
            raise ValidationError("; ".join(foreign))
        message = await self._async_checked(message, found.devices, run)
        if not found.devices:  # there may be some by then
            message = replace(message, private=await self._private.async_are_in(message.text, run))
        calls, problems = self._calls(found, message, run)
        if not calls:
            raise ValidationError("; ".join(problems) or "person: nobody can be reached")
        has_phone = {*found.instead, *found.phones}
        spare = {one for name, near in found.near.items() if name in has_phone for one in near}
        return await planner.async_plan(message, schedule, calls, spare, run)

    async def _async_find(self, message: Message, run: ToolRun, *, later: datetime | None = None) -> Audience:
        """Return who gets a message. Raises ValidationError for somebody who is not clear or not known."""
        is_member = await async_is_member(run.hass, run.speaker)
        finder = Finder(self._people, self._messages, run, is_member=is_member, later=later)
        return finder.find(message.receiver, to_phone=message.to_phone)

    async def _async_checked(self, message: Message, devices: Collection[object], run: ToolRun) -> Message:
        """Return a message with whether a room would hear what is remembered of people.

        Raises ValidationError for one that is too long to be announced.
        """
        if not devices:
            return message
        if len(message.text) > MAX_SPOKEN:
            raise ValidationError(f"message: at most {MAX_SPOKEN} characters can be announced; shorten it")
        return replace(message, private=await self._private.async_are_in(message.text, run))

    def _calls(self, found: Audience, message: Message, run: ToolRun) -> tuple[list[ServiceCall], list[str]]:
        """Return the calls that deliver a message in all ways, and who cannot be reached."""
        calls = [self._spoken(one, message, run) for one in found.devices.values()]
        problems = [*found.unreached]
        for name, person in found.phones.items():
            sent = self._people.calls_to_phones(person, message.text)
            if not (sent := sent or self._people.calls_to_chats(person, message.text)):
                problems.append(_no_phone(name))
            calls += sent
        return calls, problems

    def _spoken(self, device: Speaking, message: Message, run: ToolRun) -> ServiceCall:
        language = language_of_text(message.text, run.speaker.language) or run.speaker.language
        call = self._messages.call_on(device, message.text, language)
        return replace(call, tells_of_people=message.private)

    async def _async_deliver_all(
        self,
        message: Message,
        devices: Iterable[Speaking],
        phones: Mapping[str, str],
        run: ToolRun,
        told: Delivery,
    ) -> None:
        await asyncio.gather(
            *(self._async_announce(one, message, run, told) for one in devices),
            *(self._async_send(name, person, message.text, run, told) for name, person in phones.items()),
        )

    async def _async_announce(self, device: Speaking, message: Message, run: ToolRun, told: Delivery) -> None:
        (where,) = names_of([device], run.hass)
        called = f"the {'satellite' if device.is_satellite else 'speaker'} in {where}"
        if not self._messages.is_online(device):
            told.unheard[device.entity_id] = f"{called} is offline"
            return
        problem = await self._async_deliver(self._spoken(device, message, run), run, told)
        if problem is None:
            told.heard[device.entity_id] = where
        elif problem:
            told.unheard[device.entity_id] = f"{called}: {problem}"

    async def _async_send(self, name: str, person: str, message: str, run: ToolRun, told: Delivery) -> None:
        """Send it to the phones of a person, else to the chats."""
        phones = self._people.calls_to_phones(person, message)
        chats = self._people.calls_to_chats(person, message)
        failed: list[str] = []
        for calls in (phones, chats):
            outcomes = [await self._async_deliver(call, run, told) for call in calls]
            failed += [f"{plain(name)}: {problem}" for problem in outcomes if problem]
            if None in outcomes:
                told.sent.append(name)
                if failed and calls is phones:  # a chat makes up for the phone
                    told.unsent[name] = "; ".join(failed)
                return
            if "" in outcomes:
                return  # it waits for a yes
        told.unsent[name] = "; ".join(failed) or _no_phone(name)

    async def _async_deliver(self, call: ServiceCall, run: ToolRun, told: Delivery) -> str | None:
        """Make one call through the guard; return what went wrong, empty if it waits for a yes."""
        try:
            await run.guard.async_call_service(call, run.speaker, run.draft, run.approved)
        except ConfirmationNeeded as err:
            told.waiting = err
            return ""
        except PermissionDenied as err:
            told.denied.append(err)
            return str(err)
        except ToolExecutionError as err:
            return str(err)
        return None

    def _by_language(
        self, devices: Sequence[Speaking], message: str, run: ToolRun
    ) -> tuple[list[Speaking], list[str]]:
        """Return the devices that speak the language of the message, and what to do about the others.

        The model is asked once for a message in the language of a device; its second call counts as written.
        """
        if any(record.tool_name == self.name for record in run.calls.records):
            return [*devices], []
        spoken = {one.entity_id: (language_of(run.hass, one) or "") for one in devices}
        own = _base(run.speaker.language)
        written = _base(language_of_text(message, run.speaker.language) or own)
        others = [
            one
            for one in devices
            if (language := _base(spoken[one.entity_id])) and language not in (own, written)
        ]
        advice = [
            f"the voice in {where} speaks {spoken[one.entity_id]}: call again for it, in that language"
            for one, where in zip(others, names_of(others, run.hass), strict=True)
        ]
        return [one for one in devices if one not in others], advice


def _base(language: str) -> str:
    """Return a language without its region."""
    return language.partition("-")[0].partition("_")[0].lower()


def _no_phone(name: str) -> str:
    """Return that a person cannot be reached on a phone."""
    return f"{plain(name)} has no phone that is there now"


def _result(told: Delivery, text: str, *, misfit: bool = False) -> dict[str, JsonValueType]:
    """Return who got a message. Raises an error for what went wrong; `misfit` asks for another call."""
    problem, result = told.problem(), told.result()
    if problem and told.has_reached_anybody():
        raise PartlyFailed(problem, result)
    if problem or not told.has_reached_anybody():
        raise (ValidationError if misfit else ToolExecutionError)(problem or "nobody was reached")
    return {**result, "message": text}
