"""Persons whom messages reach: their notify targets, chats and devices, as the options name them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import device_registry as dr, entity_registry as er
from homeassistant.util import slugify
from homeassistant.util.hass_dict import HassKey

from ..const import CONF_DEVICE_PERSONS, CONF_NOTIFY_TARGETS, CONF_TELEGRAM, CONF_TELEGRAM_CHATS, DOMAIN
from ..knowledge.names import squash
from ..knowledge.speaker import DEVICE, PERSON
from ..regex import lazy_regex
from ..safety.frozen import ServiceCall
from ..texts import first_name

NOTIFY: Final = "notify"
TELEGRAM: Final = ("telegram_bot", "send_message")
ANNOUNCE: Final = ("assist_satellite", "announce")
SPEAK: Final = ("tts", "speak")
SEND_MESSAGE = "send_message"
APP = "mobile_app"
TARGETS = "targets"
CHAT = "chat_id"
NO_PERSONS = frozenset({f"{NOTIFY}.{SEND_MESSAGE}", f"{NOTIFY}.persistent_notification"})
"""Services that belong to no person."""


def is_spoken(domain: str, service: str) -> bool:
    """Return whether a call is an announcement, which everybody in a room hears."""
    return (domain, service) in (ANNOUNCE, SPEAK)


def is_message(domain: str, service: str) -> bool:
    """Return whether a call is a message to people: to a phone, to a chat, or spoken in a room."""
    return domain == NOTIFY or (domain, service) == TELEGRAM or is_spoken(domain, service)


def is_called(name: str, shown: str, person: str) -> bool:
    """Return whether a squashed name means a person: the shown one, its first part, or that of the entity."""
    return name in (squash(shown), squash(person.partition(".")[2]), squash(first_name(shown)))


class Route(NamedTuple):
    """How a target is reached."""

    service: str
    entity_id: str | None = None

    @property
    def has_buttons(self) -> bool:
        """Return whether buttons can come with a message; notify entities take plain text only."""
        return self.entity_id is None

    @property
    def can_clear(self) -> bool:
        """Return whether a message can be taken back."""
        return self.has_buttons and self.service.startswith(f"{APP}_")

    @property
    def target(self) -> dict[str, str]:
        """Return the target as the service takes it."""
        return {ATTR_ENTITY_ID: self.entity_id} if self.entity_id else {}

    def call(self, message: str) -> ServiceCall:
        """Return the call that sends a message."""
        entity_ids = (self.entity_id,) if self.entity_id else ()
        return ServiceCall(
            domain=NOTIFY, service=self.service, entity_ids=entity_ids, data={"message": message}
        )


def read_targets(stored: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the notify targets of each person."""
    return {item[PERSON]: tuple(item[TARGETS]) for item in stored}


def user_id_of(hass: HomeAssistant, person: str) -> str | None:
    """Return the Home Assistant user of a person."""
    state = hass.states.get(person)
    return state.attributes.get("user_id") if state else None


def route_to(hass: HomeAssistant, target: str) -> Route | None:
    """Return how a target is reached now; None for one that is not there.

    A phone's own service goes before its entity, because it takes buttons.
    """
    name = target.removeprefix(f"{NOTIFY}.")
    if name != SEND_MESSAGE and hass.services.has_service(NOTIFY, name):
        return Route(name)
    registered = er.async_get(hass).async_get(target)
    service = service_of_phone(hass, registered.config_entry_id) if registered else None
    if service and hass.services.has_service(NOTIFY, service):
        return Route(service)
    known = hass.states.get(target) is not None and hass.services.has_service(NOTIFY, SEND_MESSAGE)
    return Route(SEND_MESSAGE, target) if known else None


def service_of_phone(hass: HomeAssistant, entry_id: str | None) -> str | None:
    """Return the service of a phone by its config entry; None for anything but a phone."""
    phone = hass.config_entries.async_get_entry(entry_id) if entry_id else None
    if phone is None or phone.domain != APP:
        return None
    return f"{APP}_{slugify(phone.data.get('device_name', ''))}"


def reads_html(hass: HomeAssistant, route: Route) -> bool:
    """Return whether a target renders HTML in notifications, as the companion app does on Android."""
    phones = hass.config_entries.async_entries(APP)
    return any(
        phone.data.get("os_name") == "Android" and service_of_phone(hass, phone.entry_id) == route.service
        for phone in phones
    )


def route_to_own_phone(hass: HomeAssistant, device_id: str | None, user_id: str | None) -> Route | None:
    """Return how a phone is reached by its device; None for a device that is not a phone of this user."""
    device = dr.async_get(hass).async_get(device_id) if device_id and user_id else None
    entry_id = device.config_entry_id if device is not None else None
    service, phone = service_of_phone(hass, entry_id), hass.config_entries.async_get_entry(entry_id or "")
    if service is None or phone is None or phone.data.get("user_id") != user_id:
        return None
    return Route(service) if hass.services.has_service(NOTIFY, service) else None


class ChatQuestion(NamedTuple):
    """A question with answers to choose from, for chats."""

    id: str
    text: str
    titles: Mapping[str, str]
    """The title of each answer; none where people answer in their own words."""
    users: frozenset[str]
    """The users who are asked."""
    take: Callable[[str, str], None]
    """Takes the user and the answer."""


class PersonalChats(Protocol):
    """The chats of one agent, each of one person."""

    def of_person(self, person: str) -> Sequence[int]:
        """Return the chats of a person, by the entity of the person."""

    def of_user(self, user_id: str) -> Sequence[int]:
        """Return the chats of a person, by the user of the person."""

    def message(self, chat: int, message: str) -> Mapping[str, Any]:
        """Return the data of the call that writes a message."""

    async def async_write(self, chat: int, message: str) -> bool:
        """Write a message; return whether it was sent."""

    async def async_ask(self, question: ChatQuestion) -> None:
        """Write a question with a button for each answer to the chats of those who are asked."""

    async def async_end(self, question_id: str, answer: str | None) -> None:
        """Take the buttons of a question away, and write the answer into it."""


_CHATS: Final[HassKey[dict[str, PersonalChats]]] = HassKey(f"{DOMAIN}.chats")


@callback
def async_register_chats(hass: HomeAssistant, entry_id: str, chats: PersonalChats) -> CALLBACK_TYPE:
    """Register the agent's way to write to chats; return a function that removes it."""
    hass.data.setdefault(_CHATS, {})[entry_id] = chats

    @callback
    def unregister() -> None:
        hass.data[_CHATS].pop(entry_id, None)

    return unregister


def chats_of(hass: HomeAssistant, entry_id: str) -> PersonalChats | None:
    """Return the chats of an agent, if a channel has any."""
    return hass.data.get(_CHATS, {}).get(entry_id)


async def async_write_to(chats: PersonalChats | None, numbers: Sequence[int], message: str) -> bool:
    """Write to each chat; return whether any took it."""
    if chats is None:
        return False
    return any([await chats.async_write(number, message) for number in numbers])


_CAMERA: Final = lazy_regex(r"/api/camera_proxy/camera\.[a-z0-9_]+")


class People:
    """Persons with notify targets."""

    def __init__(self, hass: HomeAssistant, entry_id: str, settings: Mapping[str, Any]) -> None:
        self._hass = hass
        self._entry_id = entry_id
        self._targets = read_targets(settings[CONF_NOTIFY_TARGETS])
        chats = settings[CONF_TELEGRAM_CHATS] if settings[CONF_TELEGRAM] else ()
        self._in_chats = tuple(item[PERSON] for item in chats)
        self.reached = tuple(dict.fromkeys((*self._targets, *self._in_chats)))
        """The entities of the persons with a phone or a chat."""
        self._owners = {item[DEVICE]: item[PERSON] for item in settings[CONF_DEVICE_PERSONS]}

    def __bool__(self) -> bool:
        """Return whether anyone can be reached."""
        return bool(self.reached)

    def names(self) -> dict[str, str]:
        """Return the entity id of each person who has a phone or a chat, by name."""
        states = {person: self._hass.states.get(person) for person in self.reached}
        return {state.name if state else person: person for person, state in states.items()}

    def owned_devices(self, person: str | None) -> frozenset[str]:
        """Return the ids of the devices that belong to a person, or to anybody."""
        return frozenset(device for device, owner in self._owners.items() if person in (None, owner))

    def calls_to_chats(self, person: str, message: str) -> list[ServiceCall]:
        """Return the calls that write a message to the chats of a person."""
        if (chats := chats_of(self._hass, self._entry_id)) is None:
            return []
        domain, service = TELEGRAM
        return [
            ServiceCall(domain=domain, service=service, entity_ids=(), data=chats.message(number, message))
            for number in chats.of_person(person)
        ]

    def person_of(self, user_id: str | None) -> str | None:
        """Return the person of a user, if there is a target of theirs."""
        return next((one for one in self.reached if user_id and user_id_of(self._hass, one) == user_id), None)

    def routes(self, person: str) -> list[Route]:
        """Return how a person is reached now."""
        found = (route_to(self._hass, target) for target in self._targets.get(person, ()))
        return list(dict.fromkeys(route for route in found if route is not None))

    def phones(self, user_id: str | None) -> list[Route]:
        """Return the phones of a user that are there now: what can show a picture."""
        person = self.person_of(user_id)
        return [route for route in self.routes(person) if route.can_clear] if person else []

    def is_phone(self, route: Route, device_id: str | None) -> bool:
        """Return whether a device is the phone at the end of a route."""
        device = dr.async_get(self._hass).async_get(device_id) if device_id else None
        return device is not None and service_of_phone(self._hass, device.config_entry_id) == route.service

    def receives(self, call: ServiceCall) -> bool:
        """Return whether a call is a message to one of the targets or chats, and nothing else."""
        if (call.domain, call.service) == TELEGRAM:
            told = str(call.data.get("message", ""))
            known = (one for person in self._in_chats for one in self.calls_to_chats(person, told))
            return not call.entity_ids and any(call.data == one.data for one in known)
        if call.domain != NOTIFY or not call.data.keys() <= {"message", "title", "data"}:
            return False
        if "data" in call.data and not shows_camera(call.data["data"]):
            return False
        return any(
            (call.service, call.entity_ids) == ((made := route.call("")).service, made.entity_ids)
            for person in self._targets
            for route in self.routes(person)
        )


def shows_camera(data: object) -> bool:
    """Return whether the data of a message is the picture of a camera only."""
    return isinstance(data, Mapping) and data.keys() == {"image"} and bool(_CAMERA.fullmatch(data["image"]))
