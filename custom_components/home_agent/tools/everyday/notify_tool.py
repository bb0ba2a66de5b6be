"""notify_person: something for people, announced in rooms or sent to phones and chats."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from typing import Any, Final, NamedTuple, override

import probatio

from homeassistant.const import STATE_HOME, STATE_NOT_HOME, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...context.named import language_of as language_of_text
from ...domains.features import supports
from ...errors import (
    ConfirmationNeeded,
    HomeAgentError,
    PermissionDenied,
    ToolExecutionError,
    ValidationError,
)
from ...knowledge.house import HouseSnapshot
from ...knowledge.names import PERSONAL, rooms_of_owner, squash, without_article
from ...knowledge.speaker import Speaker, async_is_member, persons
from ...knowledge.spoken_words import kinds_of_room, stop_words
from ...languages import languages
from ...languages.lexicon import all_words
from ...memory.memories import Memories
from ...memory.profile import Profile
from ...memory.records import Sensitivity
from ...memory.sentences import holds_secret
from ...planned.records import TELL, Giver, Notice, PlannedItem, Schedule
from ...planned.scheduler import MAX_COMMANDS, Scheduler
from ...safety.disclosure import DataCategory
from ...safety.frozen import FrozenCall, FrozenPlan, ServiceCall
from ...safety.sanitizer.origins import neutral_words
from ...safety.sanitizer.private_names import ordinary_words
from ...safety.spoken_numbers import number_words
from ...texts import fold, is_unspaced, one_line, words
from ..base import HomeAgentTool, PartlyFailed, ToolRun
from ..control.arguments import TIME_SLOT_WORDS
from ..control.later import (
    NO_CODES,
    asked_when,
    async_read_schedule,
    async_waits_again,
    judged_for,
)
from ..messages import NOTIFY_TOOL, Messages, Speaking, heard_on, rooms_of
from ..pending import freeze, registry_ids
from ..recipients import People, is_called, is_spoken
from ..resolving.resolver import find_place, listed, plain
from .choosing import user_of

PERSON: Final = "person"
MAX_ERROR: Final = 300
MAX_MESSAGE: Final = 1000
MAX_SPOKEN: Final = 300
"""Characters of an announcement: about 20 seconds of speech, which a call can wait for."""
EVERYBODY: Final = ("quantities.people", "quantities.all", "quantities.whole_home", "quantities.home")
"""Tables of words for all people and for the whole home."""
TELLING: Final = 2
"""Everyday words of one memory that tell it together."""
STEM: Final = 6
"""Letters by which forms of a word are the same word."""


@dataclass(slots=True, kw_only=True)
class Way:
    """One way on which a message reaches people, and what became of it."""

    name: str = ""
    """Who gets it; empty where a room hears it that was named."""
    person: str = ""
    """The entity of that person."""
    device: Speaking | None = None
    """What announces it; None for the phone or the chats of the person."""
    is_spare: bool = False
    """Whether it is used only if nothing announces the message."""
    is_secret: bool = False
    """Whether the speaker may not learn where the person is."""
    where: str = ""
    """The room where it was announced."""
    is_done: bool = False
    problem: str = ""
    denied: PermissionDenied | None = None
    waits: ConfirmationNeeded | None = None


class Inquiry(NamedTuple):
    """A question to one person or room, whose reply is brought back to the one who asks."""

    text: str
    name: str
    """Who is asked, as the one who asks may hear it."""
    persons: tuple[str, ...]
    """Who is asked in writing, by entity."""
    calls: tuple[ServiceCall, ...]
    """The question as a message to each satellite, phone and chat that asks it."""
    speaker: Speaker
    owner: Giver


class Audience:
    """Who gets the message of one call: the devices of rooms and persons, and phones."""

    def __init__(
        self,
        people: People,
        messages: Messages,
        run: ToolRun,
        *,
        is_member: bool = True,
        later: datetime | None = None,
    ) -> None:
        """Look at who and what is there now; for a message that is told `later` all ways count."""
        self.ways: list[Way] = []
        self.unreached: list[str] = []
        """Why somebody is not reached."""
        self._people, self._messages, self._run = people, messages, run
        self._knows = is_member and not run.guard.policy.view.narrows
        self._later = later
        self._all = messages.devices()
        is_spoken_to = later is None and run.speaker.planned is None
        here = run.speaker.device_id if is_spoken_to else None
        self._here = frozenset(one.entity_id for one in self._all if here and one.device_id == here)
        self._persons = {
            **{state.name: state.entity_id for state in run.hass.states.async_all(PERSON)},
            **people.names(),
        }
        """The entities of persons by their names."""
        self._reachable = frozenset(people.names().values())

    @property
    def devices(self) -> list[Speaking]:
        """Return what announces the message."""
        return [way.device for way in self.ways if way.device is not None]

    def _announce(self, devices: Iterable[Speaking], **whose: Any) -> None:
        """Let devices announce it, each once; where a room was named, nothing about it is secret."""
        for device in devices:
            same = next((way for way in self.ways if way.device == device), None)
            if same is None:
                self.ways.append(Way(device=device, **whose))
            elif not whose:
                same.name, same.person, same.is_secret = "", "", False

    def add(self, named: str, *, to_phone: bool) -> None:
        """Add those whom a name means: the speaker, a person, a room, a device, or all.

        Raises ValidationError for somebody who is not clear or not known.
        """
        name = squash(named.removeprefix(f"{PERSON}."))
        persons_named = [
            (called, person) for called, person in self._persons.items() if is_called(name, called, person)
        ]
        if len(persons_named) == 1:
            ((called, person),) = persons_named
            is_secret = not self._knows and not self._run.reader.sees(person)
            whose: dict[str, Any] = {"name": named if is_secret else called}
            whose |= {"person": person, "is_secret": is_secret}
            state = self._run.hass.states.get(person)
            where = state.state if state and self._later is None else STATE_UNKNOWN
            # At home by voice, else on the phone; where that is not known, both ways.
            may_hear = where in (STATE_HOME, STATE_UNKNOWN, STATE_UNAVAILABLE) and not to_phone
            devices = self._near(person) if may_hear else []
            has_phone = person in self._reachable
            # In quiet hours the phone goes before the voice.
            hears = bool(devices) and not (has_phone and self._messages.are_quiet_hours(self._later))
            if hears:
                self._announce(devices, **whose)
            if has_phone:
                self.ways.append(Way(**whose, is_spare=hears and where == STATE_HOME))
            elif not hears:
                why = f": no phone is set up for {plain(whose['name'])}"
                if is_secret:
                    why = ""
                elif where != STATE_NOT_HOME and self._all:
                    why = ": no device is near and no phone is set up"
                self.unreached.append(f"{plain(whose['name'])} is not reached{why}")
            return
        if name in self_words():  # who hears the answer anyway: on the phone
            own = self._people.person_of(user_of(self._run))
            names = (called for called, person in self._persons.items() if person == own)
            speaker = self._persons.get(called := next(names, self._run.speaker.person) or "")
            if speaker is None or speaker not in self._reachable:
                raise self._unclear(named)
            self.ways.append(Way(name=called, person=speaker))
            return
        place = find_place(self._run.house, named, "area")
        # A word for all people or the whole home, and no other one that tells.
        everybody = {
            word for table in EVERYBODY for entry in all_words(table) for word in fold(entry).split()
        }
        spoken = fold(without_article(named)).split()
        rest = [word for word in spoken if word not in everybody]
        is_for_all = len(rest) < len(spoken) and all(word in stop_words() or len(word) == 1 for word in rest)
        if (place is None or place.repaired) and is_for_all:
            devices = [] if to_phone else self._one_way_per_room(self._all)
            self._announce(one for one in devices if one.entity_id not in self._here)
            for called, person in self._persons.items():  # who is at home hears it
                state = self._run.hass.states.get(person)
                is_near = bool(devices) and state is not None and state.state == STATE_HOME
                if person in self._reachable and (self._later is not None or not is_near):
                    is_secret = not self._knows and not self._run.reader.sees(person)
                    self.ways.append(
                        Way(name="" if is_secret else called, person=person, is_secret=is_secret)
                    )
            if devices and not self.ways:
                raise ValidationError(
                    "person: only the device that the person speaks to could announce it; say so"
                )
            return
        devices = [one for one in self._all if one.entity_id == named or (name and name in squash(one.name))]
        if len(devices) == 1:
            where = plain(devices[0].name)
        elif place is None:
            raise self._unclear(named)
        else:
            where = plain(place.name)
            devices = self._one_way_per_room(
                one for one in self._all if one.area_id in place.area_ids or one.floor_id in place.floor_ids
            )
            if not devices:
                rooms = listed(rooms_of(self._all, self._run.hass), MAX_ERROR) or "none"
                raise ValidationError(
                    f"person: no device in {where} can announce anything. Rooms with one: {rooms}"
                )
        # An announcement would interrupt the device that is spoken to.
        elsewhere = [one for one in devices if one.entity_id not in self._here]
        if not elsewhere:
            raise ValidationError(
                f"person: the person speaks in {where}; say it in your answer, without a call"
            )
        self._announce(elsewhere)

    def _near(self, person: str) -> list[Speaking]:
        """Return the devices near a person at home: the own ones, else those of shared rooms."""
        house = self._run.house
        owners = {each: rooms_of_owner(house, called) for called, each in self._persons.items()}
        own_devices = self._people.owned_devices(person)
        own = [one for one in self._all if one.area_id in owners[person] or one.device_id in own_devices]
        online = [one for one in own if self._messages.is_online(one)]
        others = self._people.owned_devices(None) - own_devices
        taken = {area for owner, areas in owners.items() if owner != person for area in areas}
        for area_id, area in house.areas.items():
            if any(PERSONAL & kinds_of_room(name) for name in area.names):
                taken.add(area_id)
        shared = [one for one in self._all if one.device_id not in others and one.area_id not in taken]
        chosen = self._one_way_per_room(online or shared)
        return [one for one in chosen if one.entity_id not in self._here]

    def _one_way_per_room(self, devices: Iterable[Speaking]) -> list[Speaking]:
        """Return the satellites of each room, else the speakers; offline ones if there is nothing else."""
        rooms: dict[str, list[Speaking]] = {}
        for one in devices:
            rooms.setdefault(one.area_id or one.entity_id, []).append(one)
        chosen: list[Speaking] = []
        for there in rooms.values():
            online = [one for one in there if self._messages.is_online(one)] or there
            chosen += [one for one in online if one.is_satellite] or online
        return chosen

    def _unclear(self, named: str) -> ValidationError:
        if not self._all and not self._reachable:
            return ValidationError("person: nobody can be reached, no phone is set up for anybody")
        names = [
            plain(name)
            for name, person in self._persons.items()
            if (self._all or person in self._reachable) and (self._knows or self._run.reader.sees(person))
        ]
        known = listed([*names, *rooms_of(self._all, self._run.hass)] or ["everybody"], MAX_ERROR)
        return ValidationError(
            f"person: {named[:40]!r} is not clear. Those who can be reached: {known}"[:MAX_ERROR]
        )


@cache
def self_words() -> frozenset[str]:
    """Return the words by which people, and models, mean the speaker."""
    return frozenset((*(squash(entry) for entry in all_words("memory.self")), "speaker"))


def name_of(device: Speaking, hass: HomeAssistant) -> str:
    """Return where a device is heard: the room, or its own name if it is in none."""
    return plain(next(iter(rooms_of([device], hass)), device.name))


async def async_tells_of_people(message: str, memories: Memories, profile: Profile, run: ToolRun) -> bool:
    """Return whether a message tells something of a person that the speaker has not said.

    What belongs to the whole household counts only if it is private. After a call that has looked up what is
    known of people, each new word may come from there. Otherwise one word of a known text is enough, as it
    may be the secret; only of everyday words it takes two.
    """
    texts = [memory.content for memory in memories.all() if memory.person is not None or memory.private]
    texts += [
        entry.value
        for entry in profile.entries(
            lambda entry: entry.person is not None or entry.sensitivity is not Sensitivity.PUBLIC
        )
    ]
    recalled = any(DataCategory.PEOPLE in each for each in run.calls.disclosure.categories.values())
    names = [person.name for person in persons(run.hass)]
    names += [area.name for area in run.house.areas.values()]
    if not texts and not recalled:
        return False
    said = [*run.calls.origins.said, *names]

    def has_words_of_them() -> bool:
        written = _stems(message)
        new = written - frozenset(stem for text in said for stem in _stems(text))
        if recalled or not new:
            return bool(new)
        silent = frozenset(stem for name in names for stem in _stems(name))
        everyday = _everyday()
        return any(
            new & own and (new & own - everyday or len(written & own) >= min(TELLING, len(own)))
            for own in (_stems(text) - silent for text in texts)
        )

    return await run.hass.async_add_executor_job(has_words_of_them)


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words that say something, and the numbers."""
    return frozenset(
        word[:STEM]
        for word in words(text)
        if word not in neutral_words() and (len(word) >= 4 or word.isdigit() or is_unspaced(word))
    )


@cache
def _everyday() -> frozenset[str]:
    """Return the beginnings of the words that are in many announcements: everyday words, numbers and days."""
    numbers = (word for language in languages() for word in number_words(language).parts)
    days = (word for phrase in all_words("privacy.times") for word in words(phrase))
    return frozenset(word[:STEM] for word in (*ordinary_words(names=False), *numbers, *days))


class NotifyTool(HomeAgentTool):
    """Announces a message on satellites and speakers, and sends it to phones and chats of persons."""

    name = NOTIFY_TOOL
    max_text = 4 * MAX_MESSAGE
    title = "Send a message"
    description = "Tell people something, aloud or to_phone."
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    slot_words = TIME_SLOT_WORDS
    parameters = probatio.Schema(
        {
            probatio.Required("person", description="or room, everybody"): str,
            probatio.Required("message"): str,
            probatio.Optional("to_phone"): bool,
            probatio.Optional("when"): str,
            probatio.Optional("if"): str,
            probatio.Optional("repeat"): str,
            probatio.Optional("wants_reply"): bool,
        }
    )

    def __init__(
        self,
        people: People,
        messages: Messages,
        memories: Memories,
        profile: Profile,
        planned: Scheduler | None = None,
        ask: Callable[[Inquiry], Awaitable[None]] | None = None,
    ) -> None:
        """Take where people are; `ask` puts a question and brings the reply back later."""
        self._people = people
        self._messages = messages
        self._memories = memories
        self._profile = profile
        self._planned = planned
        self._ask = ask

    @override
    def has_use(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        return bool(self._people) or self._messages.can_speak()

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        text = one_line(args["message"].strip(), MAX_MESSAGE)
        if not text:
            raise ValidationError("message: say what is to be sent")
        message = Notice(receiver=args["person"], text=text, to_phone=bool(args.get("to_phone")))
        schedule = await async_read_schedule(args, run)
        if args.get("wants_reply"):
            if schedule is not None:
                raise ValidationError(
                    "wants_reply: somebody is asked now, not later; leave when out, or send it"
                )
            return await self._async_inquire(message, run)
        if schedule is not None:
            return await self._async_plan(message, schedule, run)
        audience = await self._async_audience(message, run)
        ways = [way for way in audience.ways if not way.is_spare]
        if audience.devices:
            message = await self._async_checked(message, run, is_announced=True)
        await asyncio.gather(*(self._async_deliver(way, message, run) for way in ways))
        for way in ways:
            if way.waits is not None:
                raise way.waits
        return _result(ways, audience.unreached, text)

    async def _async_inquire(self, message: Notice, run: ToolRun) -> JsonValueType:
        """Ask one person or room; the reply comes later, to the one who asks and to no model."""
        audience = await self._async_audience(message, run)
        message = await self._async_checked(message, run, is_announced=bool(audience.devices))
        names = {way.name or (name_of(way.device, run.hass) if way.device else "") for way in audience.ways}
        if len(names) > 1 or self._ask is None:
            raise ValidationError("wants_reply: ask one person or one room at a time")
        calls: list[ServiceCall] = []
        waiting: list[FrozenCall] = []
        problem: HomeAgentError = ValidationError(
            "; ".join(audience.unreached) or "person: nothing there can ask; send it without wants_reply"
        )
        for way in audience.ways:
            for call in self._questions(way, message, run):
                try:
                    waiting += await run.guard.async_foresee([call], run.speaker) or ()
                    calls.append(call)
                except PermissionDenied as err:
                    problem = err
        if not calls:
            raise problem
        asked = Inquiry(
            text=message.text,
            name=plain(names.pop()),
            persons=tuple(way.person for way in audience.ways if way.device is None),
            calls=tuple(calls),
            speaker=run.speaker,
            owner=Giver.of(run.speaker, user_of(run)),
        )
        begin = partial(self._ask, asked)
        if waiting:
            raise ConfirmationNeeded(
                freeze(run.hass, run.draft, FrozenPlan(calls=tuple(waiting), begin=begin))
            )
        await begin()
        return {"asked": asked.name, "note": "The person is told the reply by itself, later. Say so"}

    def _questions(self, way: Way, message: Notice, run: ToolRun) -> list[ServiceCall]:
        """Return the messages that stand for a question on a way; none where nobody could reply."""
        if way.device is None:
            routes = [route for route in self._people.routes(way.person) if route.has_buttons]
            chats = self._people.calls_to_chats(way.person, message.text)
            return [*(route.call(message.text) for route in routes), *chats]
        state = run.hass.states.get(way.device.entity_id)
        may_reply = way.device.is_satellite and supports(state, "START_CONVERSATION")
        return self._attempts(way, message, run)[0] if may_reply else []

    async def async_run_planned(self, command: PlannedItem, run: ToolRun) -> JsonValueType:
        """Deliver a message that was planned, to where people are now.

        People who do not hear it get it on the phone. Raises HomeAgentError.
        """
        message = command.message
        assert message is not None
        audience = await self._async_audience(message, run)
        ways = [way for way in audience.ways if not way.is_spare]
        await asyncio.gather(*(self._async_deliver(way, message, run) for way in ways))
        is_heard = any(way.device and way.is_done for way in ways)
        spare = [] if is_heard else [way for way in audience.ways if way.is_spare]
        await asyncio.gather(*(self._async_deliver(way, message, run) for way in spare))
        ways += spare
        denied = [way.denied for way in ways if way.denied is not None]
        if denied and not any(way.is_done for way in ways):
            raise denied[0]
        if is_heard or (spare and any(way.is_done for way in ways)):
            # One of several devices may be offline for long, and a phone makes up for it.
            for way in ways:
                way.problem = way.problem if way.device is None else ""
        return _result(ways, audience.unreached, message.text)

    async def async_calls(
        self, receivers: str, message: str, run: ToolRun, *, to_phone: bool
    ) -> list[ServiceCall]:
        """Return the calls that deliver a message at another time, wherever people are then.

        Raises ValidationError for a person or a room that is not clear or cannot be reached.
        """
        told = Notice(receiver=receivers, text=message, to_phone=to_phone)
        audience = await self._async_audience(told, run)
        if audience.devices:
            told = await self._async_checked(told, run, is_announced=True)
        return self._calls(audience, told, run, to_all=True)

    async def _async_plan(self, message: Notice, schedule: Schedule, run: ToolRun) -> JsonValueType:
        """Keep a message for later, once a person has confirmed what needs that.

        What is planned is judged for the time at which it is due, and again at that time. Where a device near
        a person with a phone needs a confirmation, none is asked for: the person gets it on the phone then.
        """
        if (planned := self._planned) is None:
            raise ValidationError("when is not available here")
        later = dt_util.utcnow() if schedule.event else schedule.due
        audience = await self._async_audience(message, run, later=later)
        # Where there are no devices now, there may be some by then.
        message = await self._async_checked(message, run, is_announced=bool(audience.devices))
        calls = self._calls(audience, message, run)
        if holds_secret(message.text):
            raise ValidationError(NO_CODES)
        if planned.full:
            raise ValidationError(f"{MAX_COMMANDS} commands are planned already; cancel some first")
        on_phone = {way.person for way in audience.ways if way.device is None}
        spare = {way.device.entity_id for way in audience.ways if way.device and way.person in on_phone}
        speaker = judged_for(schedule, run)
        waiting: list[FrozenCall] = []
        denied: list[PermissionDenied] = []
        is_any_free = False
        for call in calls:
            try:
                frozen = await run.guard.async_foresee([call], speaker)
            except PermissionDenied as err:
                denied.append(err)
                continue
            is_any_free |= frozen is None
            if not (is_spoken(call.domain, call.service) and heard_on(call)[0] in spare):
                waiting += frozen or ()
        if denied and not is_any_free and not waiting:
            raise denied[0]
        command = PlannedItem(
            verb=TELL,
            message=message,
            told=f"tell {message.receiver}",
            schedule=schedule,
            approved=tuple(waiting) or None,
            registered=registry_ids(run.hass, schedule.watched),
            owner=Giver.of(run.speaker, user_of(run)),
        )
        keep = partial(planned.async_put, command)
        if waiting:
            item = FrozenPlan(calls=tuple(waiting), **asked_when(schedule), begin=keep)
            raise ConfirmationNeeded(freeze(run.hass, run.draft, item))
        notes = await async_waits_again(schedule, run)
        await keep()
        result: dict[str, JsonValueType] = {
            "planned": f"{command.told_at(dt_util.utcnow())}: {message.text}",
            "id": command.id,
        }
        return result | ({"notes": [*notes]} if notes else {})

    async def _async_audience(
        self, message: Notice, run: ToolRun, *, later: datetime | None = None
    ) -> Audience:
        """Return who gets a message. Raises ValidationError for somebody who is not clear or not known."""
        is_member = await async_is_member(run.hass, run.speaker)
        audience = Audience(self._people, self._messages, run, is_member=is_member, later=later)
        receivers = [part.strip() for part in message.receiver.split(",") if part.strip()]
        for receiver in receivers or [message.receiver]:
            audience.add(receiver, to_phone=message.to_phone)
        return audience

    async def _async_checked(self, message: Notice, run: ToolRun, *, is_announced: bool) -> Notice:
        """Return a message with whether a room would hear what is remembered of people."""
        if is_announced and len(message.text) > MAX_SPOKEN:
            raise ValidationError(f"message: at most {MAX_SPOKEN} characters can be announced; shorten it")
        private = await async_tells_of_people(message.text, self._memories, self._profile, run)
        return replace(message, private=private)

    def _calls(
        self, audience: Audience, message: Notice, run: ToolRun, *, to_all: bool = False
    ) -> list[ServiceCall]:
        calls: list[ServiceCall] = []
        problems = [*audience.unreached]
        for way in audience.ways:
            if not way.is_spare:
                sent = next(filter(None, self._attempts(way, message, run)), [])
                problems += [] if sent else [_no_phone(way.name)]
                calls += sent
        if not calls or (to_all and problems):
            raise ValidationError("; ".join(problems) or "person: nobody can be reached")
        return calls

    def _attempts(self, way: Way, message: Notice, run: ToolRun) -> list[list[ServiceCall]]:
        """Return the calls of a way; each list makes up for the one before."""
        if way.device is None:
            return [
                [route.call(message.text) for route in self._people.routes(way.person)],
                self._people.calls_to_chats(way.person, message.text),
            ]
        language = language_of_text(message.text, run.speaker.language) or run.speaker.language
        call = self._messages.call_on(way.device, message.text, language)
        return [[replace(call, tells_of_people=message.private)]]

    async def _async_deliver(self, way: Way, message: Notice, run: ToolRun) -> None:
        """Deliver a message in one way through the guard, and note what became of it."""
        label = plain(way.name)
        if way.device is not None:
            way.where = name_of(way.device, run.hass)
            label = f"the {'satellite' if way.device.is_satellite else 'speaker'} in {way.where}"
            if not self._messages.is_online(way.device):
                way.problem = f"{label} is offline"
                return
        failed: list[str] = []
        for number, calls in enumerate(self._attempts(way, message, run)):
            for call in calls:
                try:
                    await run.guard.async_call_service(call, run.speaker, run.draft, run.approved)
                except ConfirmationNeeded as err:
                    way.waits = err
                except (PermissionDenied, ToolExecutionError) as err:
                    way.denied = err if isinstance(err, PermissionDenied) else way.denied
                    failed.append(f"{label}: {err}")
                else:
                    way.is_done = True
            if way.is_done or way.waits is not None:
                if number or not way.is_done:  # a chat makes up for the phone
                    failed.clear()
                break
        else:
            failed = failed or [_no_phone(way.name)]
        way.problem = "; ".join(failed)


def _result(ways: Sequence[Way], problems: Iterable[str], text: str) -> dict[str, JsonValueType]:
    """Return who got the message and how. Raises an error for what went wrong.

    Of a person of whom the speaker may not learn anything it says only that the message was passed on.
    """
    done = [way for way in ways if way.is_done]
    told = {way.name for way in done if way.is_secret and way.name}
    lost = {way.name for way in ways if way.is_secret and way.name} - told
    texts = [*problems, *(way.problem for way in ways if way.problem and not way.is_secret)]
    problem = "; ".join(dict.fromkeys([*texts, *(f"{plain(name)} is not reached" for name in sorted(lost))]))
    if not done:
        raise ToolExecutionError(problem or "nobody was reached")
    shown = [way for way in done if not way.is_secret]
    rows = {
        "announced_in": dict.fromkeys(way.where for way in shown if way.device is not None),
        "sent_to": dict.fromkeys(way.name for way in shown if way.device is None),
        "told": sorted(told),
    }
    result: dict[str, JsonValueType] = {key: [*names] for key, names in rows.items() if names}
    if problem:
        raise PartlyFailed(problem, result)
    return {**result, "message": text}


def _no_phone(name: str) -> str:
    return f"{plain(name) or 'somebody'} has no phone that is there now"
