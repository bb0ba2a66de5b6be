"""A command for later, and what a command for a while restores at its end."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Self

from homeassistant.core import Context
from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from ..knowledge.speaker import Speaker, Surface
from ..safety.frozen import FrozenCall
from ..safety.journal import EarlierState
from ..safety.redaction import is_secret
from ..safety.rules import Effect
from ..store import read_moment, read_text_or_none
from .schedule import Schedule

RESTORE: Final = "restore"
"""The action of a command that restores what was before."""
TELL: Final = "tell"
"""The action of a planned message."""


@dataclass(frozen=True, slots=True)
class Held:
    """What an entity showed before a command for a while, and after it."""

    before: EarlierState
    after: EarlierState


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who gave a command, and where: it runs and is reported for them."""

    language: str = "en"
    user_id: str | None = None
    """None for an unknown voice."""
    reports_to: str | None = None
    """The user who is told of problems: also the one whose device it is."""
    person: str | None = None
    person_id: str | None = None
    device_id: str | None = None
    area_id: str | None = None
    chat: int | None = None
    surface: Surface = Surface.CHAT
    conversation_id: str = ""
    turn_id: str = ""
    """The turn that gave the command."""
    outside: bool = False
    """Whether that turn had read text from outside."""

    @classmethod
    def of(cls, speaker: Speaker, reports_to: str | None) -> Self:
        """Return the owner of a command that is given now."""
        return cls(
            language=speaker.language,
            user_id=speaker.context.user_id,
            reports_to=reports_to,
            person=speaker.person,
            person_id=speaker.person_id,
            device_id=speaker.device_id,
            area_id=speaker.area_id,
            chat=speaker.chat,
            surface=speaker.surface,
            conversation_id=speaker.conversation_id,
            turn_id=speaker.turn_id,
            outside=speaker.tainted,
        )

    def speaker(self, planned: datetime) -> Speaker:
        """Return the speaker of a run, in a turn of its own."""
        return Speaker(
            context=Context(user_id=self.user_id),
            language=self.language,
            device_id=self.device_id,
            area_id=self.area_id,
            person=self.person,
            person_id=self.person_id,
            chat=self.chat,
            surface=self.surface,
            conversation_id=self.conversation_id,
            tainted=self.outside,
            planned=planned,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What is said to people later. Who hears it where is decided when it is due."""

    receiver: str
    """Persons, rooms or everybody, as the call named them."""
    text: str
    to_phone: bool = False
    private: bool = False
    """Whether it tells something of a person that the one who planned it had not said."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-compatible data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored message. Raises LookupError or TypeError for anything else."""
        return cls(
            receiver=str(stored["receiver"]),
            text=str(stored["text"]),
            to_phone=bool(stored["to_phone"]),
            private=bool(stored["private"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCommand:
    """One action on entities that were found when it was given, or a message."""

    verb: str
    entity_ids: tuple[str, ...]
    given: Mapping[str, Any] = field(default_factory=dict)
    """The values of the action. Codes are never among them."""
    message: Message | None = None
    """What is told, if it is a message; it has no entities then."""
    told: str = ""
    """The action in words, as the model reads it."""
    schedule: Schedule
    hold: float = 0
    """Seconds after which the states from before are restored; 0 if they are not."""
    ends: datetime | None = None
    """When what was before should have been restored; it is tried again while a device is offline."""
    held: Mapping[str, Held] = field(default_factory=dict)
    """What is restored, by entity."""
    approved: tuple[FrozenCall, ...] | None = None
    """The calls that a person has confirmed; None if none needed it."""
    registered: Mapping[str, str | None] = field(default_factory=dict)
    """The registry's id of each entity: an entity id can be given to another entity meanwhile."""
    owner: Owner = field(default_factory=Owner)
    created: datetime = field(default_factory=dt_util.utcnow)
    id: str = field(default_factory=ulid_now)

    @property
    def due(self) -> datetime:
        """Return when it is due next, in UTC."""
        return self.schedule.due

    @property
    def restores(self) -> bool:
        """Return whether it is the end of a command for a while."""
        return bool(self.held)

    def is_same(self, other: Self) -> bool:
        """Return whether another command of the same person does the same at the same times."""
        return (
            not self.restores
            and (self.verb, self.given, self.message, self.schedule, self.hold)
            == (other.verb, other.given, other.message, other.schedule, other.hold)
            and set(self.entity_ids) == set(other.entity_ids)
            and self.owner.user_id == other.owner.user_id
        )

    def at(self, due: datetime) -> Self:
        """Return the command at another time, in UTC."""
        return replace(self, schedule=replace(self.schedule, due=due))

    def told_at(self, now: datetime) -> str:
        """Return what happens and when, as the model reads it."""
        return f"{self.told} {self.schedule.told(now)}"

    def told_for(self, entity_id: str, now: datetime) -> str:
        """Return what happens to an entity and when, as the model reads it."""
        when = self.schedule.told(now)
        if (held := self.held.get(entity_id)) is not None:
            before, after = held.before.attributes, held.after.attributes
            values = [
                f"{key} {value}" for key, value in before.items() if after.get(key) not in (None, value)
            ]
            return f"back to {', '.join([held.before.state, *values])} {when}"
        return self.told_at(now)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-compatible data, without codes."""
        owner = self.owner
        return {
            "id": self.id,
            "verb": self.verb,
            "entity_ids": list(self.entity_ids),
            "given": _without_codes(self.given),
            "message": self.message.as_dict() if self.message else None,
            "told": self.told,
            "schedule": self.schedule.as_dict(),
            "hold": self.hold,
            "ends": self.ends.isoformat() if self.ends else None,
            "held": {
                key: {"before": held.before.as_dict(), "after": held.after.as_dict()}
                for key, held in self.held.items()
            },
            "approved": None if self.approved is None else [_call_as_dict(call) for call in self.approved],
            "registered": dict(self.registered),
            "created": self.created.isoformat(),
            **{name: getattr(owner, name) for name in Owner.__dataclass_fields__},
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored command.

        Raises LookupError, TypeError, ValueError or AttributeError for anything else.
        """
        approved, chat = stored["approved"], stored["chat"]
        if chat is not None and type(chat) is not int:
            raise TypeError("not a chat")
        return cls(
            id=str(stored["id"]),
            verb=str(stored["verb"]),
            entity_ids=tuple(map(str, stored["entity_ids"])),
            given=_without_codes(stored["given"]),
            message=Message.from_dict(message) if (message := stored.get("message")) else None,
            told=str(stored["told"]),
            schedule=Schedule.from_dict(stored["schedule"]),
            hold=float(stored["hold"]),
            ends=read_moment(stored["ends"]) if stored["ends"] else None,
            held={
                str(key): Held(EarlierState.from_dict(held["before"]), EarlierState.from_dict(held["after"]))
                for key, held in stored["held"].items()
            },
            approved=None if approved is None else tuple(map(_read_call, approved)),
            registered={str(key): read_text_or_none(value) for key, value in stored["registered"].items()},
            created=read_moment(stored["created"]),
            owner=Owner(
                language=str(stored["language"]),
                chat=chat,
                surface=Surface(stored["surface"]),
                conversation_id=str(stored["conversation_id"]),
                turn_id=str(stored["turn_id"]),
                outside=bool(stored["outside"]),
                **{name: read_text_or_none(stored[name]) for name in _IDS},
            ),
        )


_IDS: Final = ("user_id", "reports_to", "person", "person_id", "device_id", "area_id")


def _without_codes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values without PINs and keys."""
    return {str(key): value for key, value in given.items() if not is_secret(str(key))}


def _call_as_dict(call: FrozenCall) -> dict[str, Any]:
    return {
        "domain": call.domain,
        "service": call.service,
        "entity_ids": list(call.entity_ids),
        "data": _without_codes(call.data),
        "contents": [
            {
                "domain": effect.domain,
                "service": effect.service,
                "entity_id": effect.entity_id,
                "device_class": effect.device_class,
                "known": effect.known,
                "inside": effect.inside,
            }
            for effect in call.contents
        ],
    }


def _read_call(stored: Mapping[str, Any]) -> FrozenCall:
    return FrozenCall(
        domain=str(stored["domain"]),
        service=str(stored["service"]),
        entity_ids=tuple(map(str, stored["entity_ids"])),
        data=_without_codes(stored["data"]),
        contents=tuple(Effect(**effect) for effect in stored["contents"]),
    )
