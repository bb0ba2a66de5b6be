"""Who gets a message that waits for a yes, as questions and summaries name them."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er

from ..safety.frozen import FrozenCall, FrozenLook
from ..tools.messages import heard_on
from ..tools.resolving.resolver import plain
from ..tools.vetted import TELEGRAM, is_spoken
from .spoken_names import names


def kind_of_message(part: FrozenCall) -> str:
    """Return whether a message is announced in rooms or sent to somebody, as keys of sentences end."""
    return "announce" if is_spoken(part.domain, part.service) else "message"


def receiver(hass: HomeAssistant, part: FrozenCall) -> str:
    """Return the receiver of a message, as it is spoken: the rooms of an announcement, a phone, a chat."""
    if is_spoken(part.domain, part.service):
        return ", ".join(dict.fromkeys(_room(hass, one) for one in heard_on(part)))
    if (part.domain, part.service) == TELEGRAM:
        return _chat(hass, part.data.get("chat_id"))
    service = part.service.removeprefix("mobile_app_").replace("_", " ")
    return names(hass, part.entity_ids) if part.entity_ids else plain(service)


def receivers_of(hass: HomeAssistant, part: FrozenLook) -> str:
    """Return the receiver of a picture, as it is spoken."""
    return ", ".join(receiver(hass, message) for message in part.sends)


def _room(hass: HomeAssistant, entity_id: str) -> str:
    entry = er.async_get(hass).async_get(entity_id)
    area_id = er.async_get_effective_area_id(hass, entry) if entry else None
    area = ar.async_get(hass).async_get_area(area_id) if area_id else None
    return plain(area.name) if area else names(hass, (entity_id,))


def _chat(hass: HomeAssistant, chat: object) -> str:
    domain, _service = TELEGRAM
    titles = (
        part.title
        for entry in hass.config_entries.async_loaded_entries(domain)
        for part in entry.subentries.values()
        if part.data.get("chat_id") == chat
    )
    return plain(f"Telegram ({next(titles, chat)})")
