"""What is said to people: the devices that can say it, which calls are messages, and which wait for a yes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.const import ATTR_DEVICE_CLASS, STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.util import dt as dt_util
from homeassistant.util.language import matches

from ..const import CONF_ANNOUNCE_EXCLUDED
from ..domains.features import supports
from ..errors import NotPermitted, PermissionDenied
from ..knowledge.house import AgentView
from ..knowledge.speaker import Speaker, preferred_pipeline
from ..memory.sentences import holds_secret
from ..safety.frozen import FrozenCall, ServiceCall
from ..safety.rules import Verdict
from ..timespans import QuietHours
from .recipients import ANNOUNCE, NOTIFY, SPEAK, TELEGRAM, People, is_spoken

NOTIFY_TOOL: Final = "notify_person"
"""The name of the tool that tells others something."""
SATELLITE, PLAYER, VOICE = ANNOUNCE[0], "media_player", SPEAK[0]
SPEAKERS: Final = "media_player_entity_id"
"""The speakers of a call of text-to-speech."""
LANGUAGE: Final = "language"


class Speaking(NamedTuple):
    """A device in the home that can announce something."""

    entity_id: str
    name: str
    area_id: str | None
    floor_id: str | None
    device_id: str | None

    @property
    def is_satellite(self) -> bool:
        """Return whether it is a voice satellite, and no speaker that needs a voice."""
        return self.entity_id.startswith(f"{SATELLITE}.")


class Messages:
    """Which messages of the model may go where, and which of them a person has to confirm."""

    def __init__(
        self, hass: HomeAssistant, settings: Mapping[str, Any], people: People, view: AgentView
    ) -> None:
        self._hass = hass
        self._excluded = frozenset(settings[CONF_ANNOUNCE_EXCLUDED])
        self._quiet = QuietHours.from_options(settings)
        self._people = people
        self._view = view

    def are_quiet_hours(self, at: datetime | None = None) -> bool:
        """Return whether nothing is announced without a yes, now or at another time."""
        return self._quiet.holds(at or dt_util.utcnow())

    def can_speak(self) -> bool:
        """Return whether the home has a device that can announce something, be it offline."""
        return next(self._entities(), None) is not None

    def devices(self) -> list[Speaking]:
        """Return the devices that can announce something, without the speakers of satellites."""
        devices: list[Speaking] = []
        for entity_id in self._entities():
            state, entry = self._hass.states.get(entity_id), er.async_get(self._hass).async_get(entity_id)
            area_id = er.async_get_effective_area_id(self._hass, entry) if entry else None
            area = ar.async_get(self._hass).async_get_area(area_id) if area_id else None
            devices.append(
                Speaking(
                    entity_id=entity_id,
                    name=state.name if state else entity_id,
                    area_id=area_id,
                    floor_id=area.floor_id if area else None,
                    device_id=entry.device_id if entry else None,
                )
            )
        taken = {device.device_id for device in devices if device.is_satellite and device.device_id}
        return [device for device in devices if device.is_satellite or device.device_id not in taken]

    def is_online(self, device: Speaking) -> bool:
        """Return whether a device can be reached now."""
        state = self._hass.states.get(device.entity_id)
        return state is not None and state.state != STATE_UNAVAILABLE

    def call_on(self, device: Speaking, message: str, language: str) -> ServiceCall:
        """Return the call that announces a message in a language on a device."""
        data: dict[str, Any] = {"message": message}
        if device.is_satellite:
            domain, service = ANNOUNCE
            return ServiceCall(domain=domain, service=service, entity_ids=(device.entity_id,), data=data)
        domain, service = SPEAK
        data[SPEAKERS] = [device.entity_id]
        if (voice := self._voice()) and "tts" in self._hass.config.components:
            from homeassistant.components.tts.const import DATA_COMPONENT  # noqa: PLC0415 - only with voices

            voices = self._hass.data.get(DATA_COMPONENT)
            engine = voices.get_entity(voice) if voices else None
            languages = engine.supported_languages if engine else []
            if known := matches(language, languages, self._hass.config.country):
                data[LANGUAGE] = known[0]
        return ServiceCall(domain=domain, service=service, entity_ids=(voice,) if voice else (), data=data)

    def check(self, call: ServiceCall, user: User | None) -> None:
        """Raise PermissionDenied for a message to anybody else, and for a secret that a room would hear.

        A user who may not control a device does not speak through it either.
        """
        if not is_spoken(call.domain, call.service):
            if not self._people.receives(call):
                raise PermissionDenied("Messages go only to targets that the household has named")
            return
        known = frozenset(self._entities())
        is_fitting = call.data.keys() <= {"message", SPEAKERS, LANGUAGE} and bool(heard_on(call))
        if not is_fitting or not known.issuperset(heard_on(call)):
            raise PermissionDenied("Announcements go only to satellites and speakers of this home")
        if user is not None and not all(
            user.permissions.check_entity(entity_id, POLICY_CONTROL) for entity_id in heard_on(call)
        ):
            raise NotPermitted("The user may not control a device that would announce this")
        if not isinstance(message := call.data.get("message"), str) or holds_secret(message):
            raise PermissionDenied("Codes and passwords are not announced. Send it to one person's phone")

    def judge(self, call: ServiceCall, speaker: Speaker) -> Verdict:
        """Return whether a message may go out now, or at any time if a person has asked for that.

        Where text from outside was read, the words may be its words. In a room everybody hears what is known
        of a person, and at night it wakes people, which an alarm is for.
        """
        if speaker.tainted:
            return Verdict.CONFIRM
        wakes = self.are_quiet_hours(speaker.due) and not (speaker.anytime or speaker.wakes)
        if is_spoken(call.domain, call.service) and (call.tells_of_people or wakes):
            return Verdict.CONFIRM
        return Verdict.ALLOW

    def _entities(self) -> Iterator[str]:
        """Yield what can announce something: satellites, and exposed speakers if there is a voice.

        A satellite belongs to the voice assistant itself, so that nobody exposes it. Televisions are left
        out, as most of them are off.
        """
        states = self._hass.states
        for entity_id in states.async_entity_ids(SATELLITE):
            if self._may_use(entity_id) and supports(states.get(entity_id), "ANNOUNCE"):
                yield entity_id
        if self._voice() is None:
            return
        for state in states.async_all(PLAYER):
            if not self._may_use(state.entity_id) or state.attributes.get(ATTR_DEVICE_CLASS) == "tv":
                continue
            if supports(state, "MEDIA_ANNOUNCE") and self._view.is_exposed(state.entity_id):
                yield state.entity_id

    def _may_use(self, entity_id: str) -> bool:
        return entity_id not in self._excluded and self._view.may_control(entity_id)

    def _voice(self) -> str | None:
        """Return the voice for speakers: that of the preferred voice assistant, else the first one."""
        voices = sorted(self._hass.states.async_entity_ids(VOICE))
        if not voices:
            return None
        pipeline = preferred_pipeline(self._hass)
        preferred = pipeline.tts_engine if pipeline else None
        return preferred if preferred in voices else voices[0]


def judged_as(call: ServiceCall) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield the actions whose rules hold for a message as well: speech is media, a chat is notified."""
    if (call.domain, call.service) == SPEAK:
        yield PLAYER, "play_media", heard_on(call)
    elif (call.domain, call.service) == TELEGRAM:
        yield NOTIFY, "send_message", ()


def heard_on(call: ServiceCall | FrozenCall) -> Sequence[str]:
    """Return the devices on which an announcement is heard."""
    return call.data.get(SPEAKERS, ()) if call.domain == VOICE else call.entity_ids


def rooms_of(devices: Collection[Speaking], hass: HomeAssistant) -> list[str]:
    """Return the names of the rooms that have a device which can announce something."""
    areas = ar.async_get(hass)
    found = (areas.async_get_area(one.area_id) for one in devices if one.area_id)
    return sorted({area.name for area in found if area is not None})
