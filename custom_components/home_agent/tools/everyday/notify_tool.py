"""notify_person: a message to a member of the household."""

from collections.abc import Mapping
from typing import Any, Final, Protocol, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ...errors import ConfirmationNeeded, PermissionDenied, ToolExecutionError, ValidationError
from ...knowledge.house import HouseSnapshot
from ...knowledge.names import squash
from ...texts import one_line
from ..base import HomeAgentTool, PartlyFailed, ServiceCall, ToolRun
from ..resolving.candidates import plain
from ..vetted import NOTIFY
from .choosing import user_of

MAX_MESSAGE: Final = 1000
ME: Final = frozenset({"me", "myself", "speaker"})
EVERYBODY: Final = frozenset({"all", "everybody", "everyone", "family", "household"})


class Receiver(Protocol):
    """A target of messages to a person."""

    @property
    def service(self) -> str:
        """Return the service of `notify`."""
        ...

    @property
    def entity_id(self) -> str | None:
        """Return the entity that the service is called on, if it has one."""
        ...


class Receivers(Protocol):
    """Who can be reached."""

    def __bool__(self) -> bool:
        """Return whether anyone can be reached."""
        ...

    def names(self) -> Mapping[str, str]:
        """Return the entity id of each person by name."""
        ...

    def person_of(self, user_id: str | None) -> str | None:
        """Return the person of a user."""
        ...

    def routes(self, person: str) -> list[Any]:
        """Return the receivers of a person."""
        ...

    def phones(self, user_id: str | None) -> list[Any]:
        """Return the phones of a user."""
        ...

    def is_phone(self, route: Any, device_id: str | None) -> bool:
        """Return whether a device is that phone."""
        ...


class NotifyTool(HomeAgentTool):
    """Sends a message to the targets that the household has named for a person."""

    name = "notify_person"
    max_text = 4 * MAX_MESSAGE
    title = "Send a message"
    description = "Send a message to somebody's phone."
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    parameters = probatio.Schema({probatio.Required("person"): str, probatio.Required("message"): str})

    def __init__(self, people: Receivers) -> None:
        """Take the reachable people."""
        self._people = people

    @override
    def has_use(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        """Return whether anybody can be reached."""
        return bool(self._people)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Send it. Raises ValidationError for a person who is not clear or cannot be reached."""
        message = one_line(args["message"].strip(), MAX_MESSAGE)
        if not message:
            raise ValidationError("message: say what is to be sent")
        chosen = self._chosen(args["person"], run)
        sent: list[JsonValueType] = []
        problems: list[str] = []
        waiting: ConfirmationNeeded | None = None
        for name, person in chosen.items():
            routes: list[Receiver] = self._people.routes(person)
            if not routes:
                problems.append(f"{name} has no phone that is there now")
            done = False
            for route in routes:
                call = ServiceCall(
                    domain=NOTIFY,
                    service=route.service,
                    entity_ids=(route.entity_id,) if route.entity_id else (),
                    data={"message": message},
                )
                try:
                    await run.guard.async_call_service(call, run.speaker, run.draft)
                except ConfirmationNeeded as err:
                    waiting = err
                except (ToolExecutionError, PermissionDenied) as err:
                    problems.append(str(err))
                else:
                    done = True
            if done:
                sent.append(name)
        if waiting is not None:
            raise waiting
        if problems and sent:
            raise PartlyFailed("; ".join(problems), {"sent_to": sent})
        if problems:
            raise ToolExecutionError("; ".join(problems))
        return {"sent_to": sent, "message": message}

    def _chosen(self, said: str, run: ToolRun) -> dict[str, str]:
        """Return the persons who are meant, by name."""
        names = self._people.names()
        if not names:
            raise ValidationError("person: nobody can be reached, no phone is set up for anybody")
        wanted = squash(said.removeprefix("person."))
        if wanted in EVERYBODY:
            return dict(names)
        if wanted in ME:
            own = self._people.person_of(user_of(run))
            found = {name: person for name, person in names.items() if person == own}
            if not found and run.speaker.person:
                wanted = squash(run.speaker.person)
        else:
            found = {}
        found = found or {
            name: person
            for name, person in names.items()
            if wanted in (squash(name), squash(person.partition(".")[2]), squash(name.split()[0]))
        }
        if len(found) == 1:
            return found
        listed = ", ".join(plain(name) for name in names)
        raise ValidationError(f"person: {said[:40]!r} is not clear. Those who can be reached: {listed}"[:300])
