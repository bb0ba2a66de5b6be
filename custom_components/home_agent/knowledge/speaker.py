"""The speaker, and their location."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum, auto
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant, State, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.helpers.script import script_stack_cv
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.ulid import ulid_now

from ..const import DOMAIN

if TYPE_CHECKING:
    from homeassistant.components.assist_pipeline import Pipeline


@callback
def pipeline_of(hass: HomeAssistant, entity_id: str) -> Pipeline | None:
    """Return the pipeline of a satellite, by default the preferred one; None if that cannot be known."""
    if (preferred := preferred_pipeline(hass)) is None:
        return None
    from homeassistant.components.assist_pipeline import async_get_pipelines  # noqa: PLC0415
    from homeassistant.components.assist_satellite.const import DATA_COMPONENT  # noqa: PLC0415

    satellite = hass.data[DATA_COMPONENT].get_entity(entity_id) if DATA_COMPONENT in hass.data else None
    chosen = satellite.pipeline_entity_id if satellite else None
    state = hass.states.get(chosen) if chosen else None
    named = (one for one in async_get_pipelines(hass) if state and one.name == state.state)
    return next(named, preferred)


@callback
def preferred_pipeline(hass: HomeAssistant) -> Pipeline | None:
    """Return the pipeline that the household prefers; None where there is no voice."""
    if "assist_pipeline" not in hass.config.components:
        return None
    # Its packages are there only where voice is used.
    from homeassistant.components.assist_pipeline import PipelineNotFound  # noqa: PLC0415
    from homeassistant.components.assist_pipeline.pipeline import async_get_pipeline  # noqa: PLC0415

    try:
        return async_get_pipeline(hass)
    except PipelineNotFound:
        return None


USER_PREFIX = "user:"
"""Prefix of the id of a user who is not a person of the household."""
DEVICE, PERSON = "device", "person"
"""Keys of the items of the `device_persons` option."""


class Person(NamedTuple):
    """A person that memories belong to."""

    id: str
    """The person's id in Home Assistant's storage, or `user:` with the user's id."""
    name: str
    user_id: str | None = None


@callback
def persons(hass: HomeAssistant) -> Iterator[Person]:
    """Yield the persons of the household."""
    return (_person(state) for state in hass.states.async_all("person"))


async def async_person_of_user(hass: HomeAssistant, user_id: str | None) -> Person | None:
    """Return the person of a user, else the user alone; None if there is no such user."""
    if user_id is None:
        return None
    for person in persons(hass):
        if person.user_id == user_id:
            return person
    user = await hass.auth.async_get_user(user_id)
    if user is None:
        return None
    return Person(id=f"{USER_PREFIX}{user_id}", name=user.name or "", user_id=user_id)


GUESTS_UNTIL: Final[HassKey[datetime]] = HassKey(f"{DOMAIN}_guests_until")
"""Until when guest mode is on; missing while it is off."""


@callback
def is_guest_mode(hass: HomeAssistant, moment: datetime) -> bool:
    """Return whether whoever speaks without an account counts as a guest, also to a person's device."""
    until = hass.data.get(GUESTS_UNTIL)
    return until is not None and moment < until


async def async_find_person(hass: HomeAssistant, said: str) -> Person | None:
    """Return the person that an id, an entity id, a user's id or a name means; None if none or several."""
    wanted = said.strip().casefold()
    by_id = [
        person
        for state in hass.states.async_all("person")
        if wanted in (state.entity_id, (person := _person(state)).id.casefold(), person.user_id)
    ]
    found = by_id or [person for person in persons(hass) if person.name.casefold() == wanted]
    if found:
        return found[0] if len(found) == 1 else None
    return await async_person_of_user(hass, wanted.removeprefix(USER_PREFIX))


@callback
def entity_of_person(hass: HomeAssistant, *, person_id: str | None, user_id: str | None) -> str | None:
    """Return the person entity of a person's id or of a user; None for an unknown voice or another user."""
    for state in hass.states.async_all("person"):
        person = _person(state)
        if person.id == person_id or (user_id is not None and person.user_id == user_id):
            return state.entity_id
    return None


def _person(state: State) -> Person:
    attributes = state.attributes
    return Person(
        id=str(attributes.get("id") or state.object_id), name=state.name, user_id=attributes.get("user_id")
    )


class Surface(StrEnum):
    """The channel that a person uses; the model reads its value."""

    VOICE = "by voice"
    CHAT = "in writing"
    TELEGRAM = "in Telegram"
    AUTOMATION = "an automation"


surface: Final[ContextVar[Surface | None]] = ContextVar("home_agent_surface", default=None)
"""Set by channels that Home Assistant cannot tell apart."""

written_in: Final[ContextVar[int | None]] = ContextVar("home_agent_written_in", default=None)
"""The chat in which a person writes, where the channel has chats."""

sent_pictures: Final[ContextVar[list[str] | None]] = ContextVar("home_agent_sent_pictures", default=None)
"""Pictures, as data URLs, that a channel passes with the next sentence. Only the first turn takes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """The person who asks, and their location."""

    context: Context
    language: str
    device_id: str | None = None
    area_id: str | None = None
    """Area of the device that was spoken to; it breaks ties, it never restricts."""
    floor_id: str | None = None
    person: str | None = None
    """Name of the speaker, if known."""
    person_id: str | None = None
    """Of `persons.Person`; None if it is not known who speaks."""
    voice: bool = False
    """Whether the answer is read out as it streams."""
    shown: bool = False
    """Whether the final answer is shown on a screen that renders markdown."""
    surface: Surface = Surface.CHAT
    chat: int | None = None
    """The chat in which they write; reminders are sent there."""
    conversation_id: str = ""
    turn_id: str = field(default_factory=ulid_now)
    """What belongs together: the calls of one turn are put back together."""
    undoes: bool = False
    """Whether what is called now puts something back."""
    planned: datetime | None = None
    """When what is called now was due, if it was planned earlier."""
    due: datetime | None = None
    """When what is judged now will be called, if that is later; it is judged again then."""
    anytime: bool = False
    """Whether what is judged now may be called at any time without being judged again."""
    wakes: bool = False
    """Whether it is an alarm that a person has set, so that quiet hours do not hold it back."""
    unprompted: bool = False
    """Whether no wake word began the turn: the microphone was still open after an answer."""
    tainted: bool = False
    """Whether what is called now may have been asked for by text from an untrusted source."""
    names: Callable[[str], bool] | None = field(default=None, compare=False, repr=False)
    """Whether the person's own words name an entity; None unless such text was read in this very turn."""

    @property
    def is_automation(self) -> bool:
        """Return whether no person speaks, so that questions are not heard and cannot be confirmed."""
        return self.surface is Surface.AUTOMATION


async def async_is_member(hass: HomeAssistant, speaker: Speaker) -> bool:
    """Return whether a person of the household speaks, or an administrator; not an automation.

    An unknown voice may be a guest, and so may a user without a person.
    """
    if speaker.is_automation:
        return False
    if speaker.person_id is not None and not speaker.person_id.startswith(USER_PREFIX):
        return True
    user_id = speaker.context.user_id
    user = await hass.auth.async_get_user(user_id) if user_id else None
    return user is not None and user.is_active and user.is_admin


ASSIST_PIPELINE: Final = "assist_pipeline"


class Presentation(Enum):
    """Whether an answer is spoken or shown."""

    SPOKEN = auto()
    SHOWN = auto()
    UNKNOWN = auto()
    """No pipeline asked: an action or an API did, and may do either."""


async def async_speaker(
    hass: HomeAssistant,
    user_input: conversation.ConversationInput,
    owners: Iterable[Mapping[str, Any]] = (),
) -> Speaker:
    """Return the speaker of a sentence; `owners` says the owners of devices.

    A satellite has a device and, as a rule, no user; the chat dialog has a user and no device, even when its
    microphone is used. The owner of a device tells who the speaker is, but grants no one that person's
    rights.
    """
    presented = presentation(hass, user_input)
    voice = bool(user_input.device_id or user_input.satellite_id) or presented is Presentation.SPOKEN
    # A satellite has no user, and neither has an automation. `home_agent.process` says that it is one, and
    # `conversation.process` names no device. What runs because of something else has a parent context; a
    # satellite never has. A script has the user who started it, but its sentences are not spoken by a person.
    # What a channel says of itself comes last: an automation that runs because of what a person wrote there
    # inherits it.
    channel, context = surface.get(), user_input.context
    by_script = bool(script_stack_cv.get())
    if by_script if context.user_id else (context.parent_id is not None or not voice):
        channel = Surface.AUTOMATION
    return replace(
        await async_speaker_at(hass, context, user_input.language, user_input.device_id, owners),
        voice=voice,
        shown=presented is Presentation.SHOWN or surface.get() is Surface.TELEGRAM,
        surface=channel or (Surface.VOICE if voice else Surface.CHAT),
        chat=written_in.get(),
    )


async def async_speaker_at(
    hass: HomeAssistant,
    context: Context,
    language: str,
    device_id: str | None,
    owners: Iterable[Mapping[str, Any]] = (),
) -> Speaker:
    """Return who speaks in the name of a context at a device, and their location."""
    area_id = floor_id = None
    if device_id and (device := dr.async_get(hass).async_get(device_id)):
        area_id = dr.async_get_effective_area_id(hass, device)
        if area_id and (area := ar.async_get(hass).async_get_area(area_id)):
            floor_id = area.floor_id
    person = await async_person_of_user(hass, context.user_id)
    if person is None and device_id and not is_guest_mode(hass, dt_util.utcnow()):
        owner = next((item.get(PERSON) for item in owners if item.get(DEVICE) == device_id), None)
        if owner and (state := hass.states.get(owner)):
            person = _person(state)
    return Speaker(
        context=context,
        language=language,
        device_id=device_id,
        area_id=area_id,
        floor_id=floor_id,
        person=person.name or None if person else None,
        person_id=person.id if person else None,
    )


ACCEPTS: Final = 2
"""Seconds from the beginning of a run in which Home Assistant notes the wake word that a satellite heard."""


@callback
def stayed_open(hass: HomeAssistant, conversation_id: str, since: datetime) -> bool:
    """Return whether a satellite heard a sentence because it still listened after an answer at a moment.

    If nobody spoke then, that was a run of its own, and a wake word began this one. So it did where somebody
    said it while the answer was spoken.
    """
    if ASSIST_PIPELINE not in hass.config.components:
        return True
    from homeassistant.components.assist_pipeline.const import DATA_LAST_WAKE_UP  # noqa: PLC0415
    from homeassistant.components.assist_pipeline.runtime import KEY_ASSIST_PIPELINE  # noqa: PLC0415

    runs = [
        run
        for same in hass.data[KEY_ASSIST_PIPELINE].pipeline_debug.values()
        for run in same.values()
        if run.events and (run.events[0].data or {}).get("conversation_id") == conversation_id
        if run.timestamp > since.isoformat()
    ]
    if len(runs) != 1:
        return not runs
    (run,) = runs
    began = monotonic() - (dt_util.utcnow() - datetime.fromisoformat(run.timestamp)).total_seconds()
    noted = any(0 <= woken - began < ACCEPTS for woken in hass.data[DATA_LAST_WAKE_UP].values())
    return not noted and all(event.type.value != "wake_word-end" for event in run.events)


def presentation(hass: HomeAssistant, user_input: conversation.ConversationInput) -> Presentation:
    """Return how the running pipeline that asks this sentence presents the answer."""
    if ASSIST_PIPELINE not in hass.config.components:
        return Presentation.UNKNOWN
    from homeassistant.components.assist_pipeline.runtime import KEY_ASSIST_PIPELINE  # noqa: PLC0415

    # The latest first.
    pipelines = list(hass.data[KEY_ASSIST_PIPELINE].pipeline_debug.values())
    for events in (run.events for runs in pipelines for run in reversed(runs.values())):
        told = {event.type.value: event.data or {} for event in events}
        asked = told.get("intent-start", {})
        if "intent-end" in told or "run-end" in told or asked.get("intent_input") != user_input.text:
            continue
        if asked.get("conversation_id") == user_input.conversation_id:
            return Presentation.SPOKEN if told["run-start"].get("tts_output") else Presentation.SHOWN
    return Presentation.UNKNOWN
