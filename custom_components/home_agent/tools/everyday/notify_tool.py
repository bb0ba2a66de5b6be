"""notify_person: something for people, announced in rooms or sent to phones and chats.

`Finder` says who hears a message: the devices of a room, of a person or of the whole home, and phones.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from typing import Any, Final, override

import probatio

from homeassistant.const import STATE_HOME, STATE_NOT_HOME, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType

from ...context.named import language_of as language_of_text
from ...errors import ConfirmationNeeded, PermissionDenied, ToolExecutionError, ValidationError
from ...knowledge.house import HouseSnapshot
from ...knowledge.names import PERSONAL, rooms_of_owner, squash, without_article
from ...knowledge.speaker import async_is_member, persons
from ...knowledge.spoken_words import kinds_of_room, stop_words
from ...languages import languages
from ...languages.lexicon import QUESTION_MARKS, all_words
from ...languages.sentence import Wait, times_in
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
from ...texts import first_name, fold, is_unspaced, one_line, words
from ..base import HomeAgentTool, PartlyFailed, ToolRun
from ..control.asked import NEEDS_REPEAT, WHEN_FORMS, needs_automation
from ..control.later import MAX_ALIKE, NO_CODES, Timing, read_timing
from ..messages import NOTIFY_TOOL, Messages, Speaking, heard_on, language_of, rooms_of
from ..people import People, is_spoken
from ..resolving.resolver import find_place, listed, plain
from ..waiting import freeze
from .choosing import user_of

PERSON: Final = "person"
MAX_ERROR: Final = 300
MAX_MESSAGE: Final = 1000
MAX_SPOKEN: Final = 300
"""Characters of an announcement: about 20 seconds of speech, which a call can wait for."""
EVERYBODY: Final = ("quantities.people", "quantities.all", "quantities.whole_home", "quantities.home")
"""Tables of words for all people and for the whole home."""
NOWHERE: Final = frozenset({STATE_UNKNOWN, STATE_UNAVAILABLE})
TELLING: Final = 2
"""Everyday words of one memory that tell it together."""
STEM: Final = 6
"""Letters by which forms of a word are the same word."""
MIN_LETTERS: Final = 4
NEEDS_WHEN: Final = (
    f"The sentence says a time, and nothing was sent. Call again with when, such as {WHEN_FORMS}, "
    "or with the time in message if it is part of what is told"
)


@dataclass(slots=True)
class Audience:
    """Where a message goes."""

    devices: dict[str, Speaking] = field(default_factory=dict)
    """By entity id."""
    phones: dict[str, str] = field(default_factory=dict)
    """The persons who get it on the phone, by name."""
    instead: dict[str, str] = field(default_factory=dict)
    """The persons who have a phone and hear the message, by name."""
    near: dict[str, set[str]] = field(default_factory=dict)
    """The devices that announce it only because a person is near, by name."""
    unreached: list[str] = field(default_factory=list)
    """Why somebody is not reached."""
    concealed: set[str] = field(default_factory=set)
    """Persons of whom the speaker may not learn where they are."""
    unnamed: set[str] = field(default_factory=set)
    """Persons of whom the speaker has not said the name and may not learn it."""

    def add(self, devices: Iterable[Speaking]) -> None:
        """Let devices announce the message."""
        found = {one.entity_id: one for one in devices}
        self.devices |= found
        for near in self.near.values():
            near.difference_update(found)

    def add_near(self, name: str, devices: Iterable[Speaking]) -> None:
        """Let devices near a person announce the message."""
        found = {one.entity_id: one for one in devices}
        self.near[name] = found.keys() - self.devices.keys()
        self.devices |= found


class Finder:
    """Finds the audience of one call."""

    def __init__(
        self,
        people: People,
        messages: Messages,
        run: ToolRun,
        *,
        is_member: bool = True,
        later: datetime | None = None,
    ) -> None:
        """Look at who and what is there now.

        A speaker who is no member of the household learns neither names nor where people are. For a message
        that is told `later`, all ways to reach a person count, wherever they are now.
        """
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

    def find(self, said: str, *, to_phone: bool) -> Audience:
        """Return who is meant. Raises ValidationError for somebody who is not clear or not known."""
        found = Audience()
        for part in [part.strip() for part in said.split(",") if part.strip()] or [said]:
            self._add(found, part, to_phone=to_phone)
        return found

    def _add(self, found: Audience, said: str, *, to_phone: bool) -> None:
        """Add those whom one name means: the speaker, a person, a room, a device, or all."""
        name = squash(said.removeprefix(f"{PERSON}."))
        named = {
            called: person
            for called, person in self._persons.items()
            if name in (squash(called), squash(person.partition(".")[2]), squash(first_name(called)))
        }
        if len(named) == 1:
            for called, person in named.items():
                if self._knows or self._run.reader.sees(person):
                    self._add_person(found, called, person, to_phone=to_phone)
                else:
                    found.concealed.add(said)
                    self._add_person(found, said, person, to_phone=to_phone)
            return
        if name in self_words():  # who hears the answer anyway: on the phone
            own = self._people.person_of(user_of(self._run))
            names = (called for called, person in self._persons.items() if person == own)
            speaker = self._persons.get(called := next(names, self._run.speaker.person) or "")
            if speaker is None or speaker not in self._reachable:
                raise self._unclear(said)
            found.phones[called] = speaker
            return
        place = find_place(self._run.house, said, "area")
        is_sure = place is not None and not place.repaired
        if not is_sure and _means_everybody(said):
            self._add_everybody(found, to_phone=to_phone)
            return
        devices = [one for one in self._all if one.entity_id == said or (name and name in squash(one.name))]
        if len(devices) == 1:
            where = plain(devices[0].name)
        elif place is None:
            raise self._unclear(said)
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
        found.add(elsewhere)

    def _add_person(self, found: Audience, name: str, person: str, *, to_phone: bool) -> None:
        """Add a person: at home by voice, else on the phone; where that is not known, both ways.

        In quiet hours the phone goes before the voice.
        """
        state = self._run.hass.states.get(person)
        where = state.state if state and self._later is None else STATE_UNKNOWN
        devices = [] if to_phone or where not in {STATE_HOME, *NOWHERE} else self._near(person)
        has_phone = person in self._reachable
        if devices and not (has_phone and self._messages.are_quiet_hours(self._later)):
            found.add_near(name, devices)
            if where == STATE_HOME or not has_phone:
                found.instead |= {name: person} if has_phone else {}
                return
        if has_phone:
            found.phones[name] = person
        elif name in found.concealed and not devices:
            found.unreached.append(f"{plain(name)} is not reached")
        elif where == STATE_NOT_HOME or not self._all:
            found.unreached.append(f"{plain(name)} is not reached: no phone is set up for {plain(name)}")
        else:
            found.unreached.append(f"{plain(name)} is not reached: no device is near and no phone is set up")

    def _add_everybody(self, found: Audience, *, to_phone: bool) -> None:
        """Add every room, and the phones of those who are not known to be at home."""
        devices = [] if to_phone else self._one_way_per_room(self._all)
        found.add(one for one in devices if one.entity_id not in self._here)
        for name, person in self._persons.items():
            state = self._run.hass.states.get(person)
            is_near = bool(devices) and state is not None and state.state == STATE_HOME
            if person in self._reachable and (self._later is not None or not is_near):
                found.phones[name] = person
                if not self._knows and not self._run.reader.sees(person):
                    found.unnamed.add(name)
        if devices and not found.devices and not found.phones:
            raise ValidationError(
                "person: only the device that the person speaks to could announce it; say so"
            )

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
        found: list[Speaking] = []
        for there in rooms.values():
            online = [one for one in there if self._messages.is_online(one)] or there
            found += [one for one in online if one.is_satellite] or online
        return found

    def _unclear(self, said: str) -> ValidationError:
        if not self._all and not self._reachable:
            return ValidationError("person: nobody can be reached, no phone is set up for anybody")
        names = [
            plain(name)
            for name, person in self._persons.items()
            if (self._all or person in self._reachable) and (self._knows or self._run.reader.sees(person))
        ]
        known = listed([*names, *rooms_of(self._all, self._run.hass)] or ["everybody"], MAX_ERROR)
        return ValidationError(
            f"person: {said[:40]!r} is not clear. Those who can be reached: {known}"[:MAX_ERROR]
        )


def _means_everybody(said: str) -> bool:
    """Return whether a text has a word for all people or the whole home, and no other one that tells."""
    everybody = {word for name in EVERYBODY for entry in all_words(name) for word in fold(entry).split()}
    spoken = fold(without_article(said)).split()
    rest = [word for word in spoken if word not in everybody]
    return len(rest) < len(spoken) and all(word in stop_words() or len(word) == 1 for word in rest)


@cache
def self_words() -> frozenset[str]:
    """Return the words by which people, and models, mean the speaker."""
    return frozenset((*(squash(entry) for entry in all_words("memory.self")), "speaker"))


def names_of(devices: Iterable[Speaking], hass: HomeAssistant) -> Iterator[str]:
    """Yield where devices are heard: the room, or the name of a device that is in none."""
    for one in devices:
        rooms = rooms_of([one], hass)
        yield plain(rooms[0] if rooms else one.name)


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
    return await run.hass.async_add_executor_job(_has_words_of, texts, message, said, names, recalled)


def _has_words_of(
    texts: Sequence[str], message: str, said: Iterable[str], names: Iterable[str], recalled: bool
) -> bool:
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


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words that say something, and the numbers."""
    return frozenset(
        word[:STEM]
        for word in words(text)
        if word not in neutral_words() and (len(word) >= MIN_LETTERS or word.isdigit() or is_unspaced(word))
    )


@cache
def _everyday() -> frozenset[str]:
    """Return the beginnings of the words that are in many announcements: everyday words, numbers and days."""
    numbers = (word for language in languages() for word in number_words(language).parts)
    days = (word for phrase in all_words("privacy.times") for word in words(phrase))
    return frozenset(word[:STEM] for word in (*ordinary_words(names=False), *numbers, *days))


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

    def result(self, text: str, *, misfit: bool = False) -> dict[str, JsonValueType]:
        """Return who got the message and how. Raises an error for what went wrong.

        Of a person of whom the speaker may not learn anything it says only that the message was passed on.
        `misfit` asks for another call where nobody was reached.
        """
        concealed, near = self.audience.concealed, self.audience.near
        hidden = frozenset().union(*(near.get(name, ()) for name in concealed))
        unnamed = concealed | self.audience.unnamed
        passed_on = {
            name
            for name in concealed
            if name in self.sent or not self.heard.keys().isdisjoint(near.get(name, ()))
        }
        problems = [
            *self.problems,
            *(problem for device, problem in self.unheard.items() if device not in hidden),
            *(problem for name, problem in self.unsent.items() if name not in unnamed),
            *(f"{plain(name)} is not reached" for name in sorted(concealed - passed_on)),
        ]
        problem = "; ".join(dict.fromkeys(problems))
        if not self.has_reached_anybody():
            raise (ValidationError if misfit else ToolExecutionError)(problem or "nobody was reached")
        rows = {
            "announced_in": dict.fromkeys(
                room for device, room in self.heard.items() if device not in hidden
            ),
            "sent_to": [name for name in self.sent if name not in unnamed],
            "told": sorted(passed_on),
        }
        result: dict[str, JsonValueType] = {key: [*names] for key, names in rows.items() if names}
        if problem:
            raise PartlyFailed(problem, result)
        return {**result, "message": text}

    def has_reached_anybody(self) -> bool:
        """Return whether anybody heard or got it."""
        return bool(self.heard or self.sent)


def check_time(message: Notice, timing: Timing | None, run: ToolRun) -> None:
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
        people: People,
        messages: Messages,
        memories: Memories,
        profile: Profile,
        planned: Scheduler | None = None,
    ) -> None:
        self._people = people
        self._messages = messages
        self._memories = memories
        self._profile = profile
        self._planned = planned

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
        message = Notice(receiver=args["person"], text=text, to_phone=bool(args.get("to_phone")))
        timing = read_timing(run.hass, args, run.speaker.language)
        check_time(message, timing, run)
        if timing is not None and timing.schedule is not None:
            return await self._async_plan(message, timing.schedule, run)
        found = await self._async_find(message, run)
        devices, foreign = self._by_language([*found.devices.values()], text, run)
        if devices:
            message = await self._async_checked(message, run, is_announced=True)
        told = Delivery(found, problems=[*foreign, *found.unreached])
        await self._async_deliver_all(message, devices, found.phones, run, told)
        if told.waiting is not None:
            raise told.waiting
        return told.result(text, misfit=bool(foreign))

    async def async_run_planned(self, command: PlannedItem, run: ToolRun) -> JsonValueType:
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
        return told.result(message.text)

    async def async_calls(
        self, said: str, message: str, run: ToolRun, *, to_phone: bool
    ) -> list[ServiceCall]:
        """Return the calls that deliver a message at another time, wherever people are then.

        Raises ValidationError for a person or a room that is not clear or cannot be reached.
        """
        told = Notice(receiver=said, text=message, to_phone=to_phone)
        found = await self._async_find(told, run)
        if found.devices:
            told = await self._async_checked(told, run, is_announced=True)
        calls, problems = self._calls(found, told, run)
        if problems or not calls:
            raise ValidationError("; ".join(problems) or "person: nobody can be reached")
        return calls

    async def _async_plan(self, message: Notice, schedule: Schedule, run: ToolRun) -> JsonValueType:
        """Keep a message for later, once a person has confirmed what needs that.

        What is planned is judged for the time at which it is due, and again at that time. Where a device near
        a person with a phone needs a confirmation, none is asked for: the person gets it on the phone then.
        """
        if self._planned is None:
            raise ValidationError("when is not available here")
        found = await self._async_find(message, run, later=schedule.due)
        near = frozenset(one for devices in found.near.values() for one in devices)
        rooms = [one for one in found.devices.values() if one.entity_id not in near]
        _spoken, foreign = self._by_language(rooms, message.text, run)
        if foreign:
            raise ValidationError("; ".join(foreign))
        # Where there are no devices now, there may be some by then.
        message = await self._async_checked(message, run, is_announced=bool(found.devices))
        calls, problems = self._calls(found, message, run)
        if not calls:
            raise ValidationError("; ".join(problems) or "person: nobody can be reached")
        if holds_secret(message.text):
            raise ValidationError(NO_CODES)
        if self._planned.full:
            raise ValidationError(f"{MAX_COMMANDS} commands are planned already; cancel some first")
        has_phone = {*found.instead, *found.phones}
        spare = {one for name, near in found.near.items() if name in has_phone for one in near}
        speaker = replace(run.speaker, due=schedule.due)
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
            owner=Giver.of(run.speaker, user_of(run)),
        )
        keep = partial(self._planned.async_put, command)
        if waiting:
            item = FrozenPlan(calls=tuple(waiting), due=schedule.due, repeats=bool(schedule.days), begin=keep)
            raise ConfirmationNeeded(freeze(run.hass, run.draft, item))
        now = dt_util.utcnow()
        notes: list[JsonValueType] = [
            f"also planned: {other.told_at(now)}, id {other.id}; cancel it if this one replaces it"
            for other in self._planned.all()
            if other.message is not None
            and other.message.receiver == message.receiver
            and other.owner.conversation_id == command.owner.conversation_id
            and not other.is_same(command)
        ]
        await keep()
        planned: dict[str, JsonValueType] = {
            "planned": f"{command.told_at(now)}: {message.text}",
            "id": command.id,
        }
        return planned | ({"notes": notes[:MAX_ALIKE]} if notes else {})

    async def _async_find(self, message: Notice, run: ToolRun, *, later: datetime | None = None) -> Audience:
        """Return who gets a message. Raises ValidationError for somebody who is not clear or not known."""
        is_member = await async_is_member(run.hass, run.speaker)
        finder = Finder(self._people, self._messages, run, is_member=is_member, later=later)
        return finder.find(message.receiver, to_phone=message.to_phone)

    async def _async_checked(self, message: Notice, run: ToolRun, *, is_announced: bool) -> Notice:
        """Return a message with whether a room would hear what is remembered of people.

        Raises ValidationError for one that is too long to be announced.
        """
        if is_announced and len(message.text) > MAX_SPOKEN:
            raise ValidationError(f"message: at most {MAX_SPOKEN} characters can be announced; shorten it")
        private = await async_tells_of_people(message.text, self._memories, self._profile, run)
        return replace(message, private=private)

    def _calls(self, found: Audience, message: Notice, run: ToolRun) -> tuple[list[ServiceCall], list[str]]:
        """Return the calls that deliver a message in all ways, and who cannot be reached."""
        calls = [self._spoken(one, message, run) for one in found.devices.values()]
        problems = [*found.unreached]
        for name, person in found.phones.items():
            sent = self._people.calls_to_phones(person, message.text)
            if not (sent := sent or self._people.calls_to_chats(person, message.text)):
                problems.append(_no_phone(name))
            calls += sent
        return calls, problems

    def _spoken(self, device: Speaking, message: Notice, run: ToolRun) -> ServiceCall:
        language = language_of_text(message.text, run.speaker.language) or run.speaker.language
        call = self._messages.call_on(device, message.text, language)
        return replace(call, tells_of_people=message.private)

    async def _async_deliver_all(
        self,
        message: Notice,
        devices: Iterable[Speaking],
        phones: Mapping[str, str],
        run: ToolRun,
        told: Delivery,
    ) -> None:
        await asyncio.gather(
            *(self._async_announce(one, message, run, told) for one in devices),
            *(self._async_send(name, person, message.text, run, told) for name, person in phones.items()),
        )

    async def _async_announce(self, device: Speaking, message: Notice, run: ToolRun, told: Delivery) -> None:
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
