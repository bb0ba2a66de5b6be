"""notify_person: something for people, announced in rooms or sent to phones and chats."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ...context.topics import language_of as language_of_text
from ...errors import ConfirmationNeeded, PermissionDenied, ToolExecutionError, ValidationError
from ...knowledge.house import HouseSnapshot
from ...memory.memories import Memories
from ...memory.profile import Profile
from ...texts import one_line
from ..base import HomeAgentTool, PartlyFailed, ServiceCall, ToolRun
from ..messages import Messages, Speaking, language_of
from ..remembering.private_words import PrivateWords
from ..resolving.candidates import plain
from .audience import Finder, Receivers, names_of

MAX_MESSAGE: Final = 1000
MAX_SPOKEN: Final = 300
"""Characters of an announcement: about 20 seconds of speech, which a call can wait for."""


@dataclass(slots=True)
class _Delivery:
    """What became of a message so far."""

    heard_in: list[str] = field(default_factory=list)
    sent_to: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    waiting: ConfirmationNeeded | None = None

    def result(self) -> dict[str, JsonValueType]:
        """Return who got the message, and how."""
        found: dict[str, JsonValueType] = {}
        if self.heard_in:
            found["announced_in"] = [*dict.fromkeys(self.heard_in)]
        if self.sent_to:
            found["sent_to"] = [*self.sent_to]
        return found


class NotifyTool(HomeAgentTool):
    """Announces a message on satellites and speakers, and sends it to phones and chats of persons."""

    name = "notify_person"
    max_text = 4 * MAX_MESSAGE
    title = "Send a message"
    description = "Tell a person, a room or everybody something: announce it there, or send it to the phone."
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("person", description="or room, floor, everybody"): str,
            probatio.Required("message"): str,
            probatio.Optional("to_phone"): bool,
        }
    )

    def __init__(self, people: Receivers, messages: Messages, memories: Memories, profile: Profile) -> None:
        """Take who and what can be reached, and what is remembered of persons."""
        self._people = people
        self._messages = messages
        self._private = PrivateWords(memories, profile)

    @override
    def has_use(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        """Return whether anybody can be reached."""
        return bool(self._people) or self._messages.can_speak()

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Deliver a message.

        Raises ValidationError for a person or a room that is not clear or cannot be reached.
        """
        message = one_line(args["message"].strip(), MAX_MESSAGE)
        if not message:
            raise ValidationError("message: say what is to be sent")
        found = Finder(self._people, self._messages, run).find(
            args["person"], to_phone=bool(args.get("to_phone"))
        )
        devices, foreign = self._by_language([*found.devices.values()], message, run)
        if found.devices and len(message) > MAX_SPOKEN:
            raise ValidationError(f"message: at most {MAX_SPOKEN} characters can be announced; shorten it")
        told = _Delivery(problems=[*foreign, *found.unreached])
        private = bool(devices) and await self._private.async_are_in(message, run)
        await asyncio.gather(
            *(self._async_announce(one, message, run, told, private=private) for one in devices),
            *(self._async_send(name, person, message, run, told) for name, person in found.phones.items()),
        )
        if told.waiting is not None:
            raise told.waiting
        problems = "; ".join(dict.fromkeys(told.problems))
        if problems and (result := told.result()):
            raise PartlyFailed(problems, result)
        if problems:
            raise (ValidationError if foreign else ToolExecutionError)(problems)
        return {**told.result(), "message": message}

    async def async_calls(
        self, said: str, message: str, run: ToolRun, *, to_phone: bool
    ) -> list[ServiceCall]:
        """Return the calls that deliver a message at another time, wherever people are then.

        Raises ValidationError for a person or a room that is not clear or cannot be reached.
        """
        found = Finder(self._people, self._messages, run).find(said, to_phone=to_phone)
        if found.devices and len(message) > MAX_SPOKEN:
            raise ValidationError(f"message: at most {MAX_SPOKEN} characters can be announced; shorten it")
        private = bool(found.devices) and await self._private.async_are_in(message, run)
        spoken = (self._messages.call_on(one, message) for one in found.devices.values())
        calls = [replace(call, tells_of_people=private) for call in spoken]
        problems = [*found.unreached]
        for name, person in found.phones.items():
            sent = self._people.calls_to_phones(person, message)
            if not (sent := sent or self._people.calls_to_chats(person, message)):
                problems.append(f"{plain(name)} has no phone that is there now")
            calls += sent
        if problems or not calls:
            raise ValidationError("; ".join(problems) or "person: nobody can be reached")
        return calls

    async def _async_announce(
        self, device: Speaking, message: str, run: ToolRun, told: _Delivery, *, private: bool
    ) -> None:
        (where,) = names_of([device], run.hass)
        called = f"the {'satellite' if device.is_satellite else 'speaker'} in {where}"
        if not self._messages.is_online(device):
            told.problems.append(f"{called} is offline")
            return
        call = replace(self._messages.call_on(device, message), tells_of_people=private)
        problem = await self._async_deliver(call, run, told)
        if problem is None:
            told.heard_in.append(where)
        elif problem:
            told.problems.append(f"{called}: {problem}")

    async def _async_send(self, name: str, person: str, message: str, run: ToolRun, told: _Delivery) -> None:
        """Send it to the phones of a person, else to the chats."""
        phones = self._people.calls_to_phones(person, message)
        chats = self._people.calls_to_chats(person, message)
        failed: list[str] = []
        for calls in (phones, chats):
            outcomes = [await self._async_deliver(call, run, told) for call in calls]
            failed += [f"{plain(name)}: {problem}" for problem in outcomes if problem]
            if None in outcomes:
                told.sent_to.append(name)
                told.problems += failed if calls is phones else []  # a chat makes up for the phone
                return
            if "" in outcomes:
                return  # it waits for a yes
        told.problems += failed or [f"{plain(name)} has no phone that is there now"]

    async def _async_deliver(self, call: ServiceCall, run: ToolRun, told: _Delivery) -> str | None:
        """Make one call through the guard; return what went wrong, empty if it waits for a yes."""
        try:
            await run.guard.async_call_service(call, run.speaker, run.draft)
        except ConfirmationNeeded as err:
            told.waiting = err
            return ""
        except (ToolExecutionError, PermissionDenied) as err:
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
