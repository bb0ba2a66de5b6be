"""The page Messages: the phones that receive questions, and the Telegram chats that are answered."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.selector import SelectOptionDict

from ..channels.telegram import CHAT, read_chats
from ..const import CONF_NOTIFY_TARGETS, CONF_TELEGRAM, CONF_TELEGRAM_CHATS, DOMAIN
from ..errors import InvalidInput
from ..knowledge.speaker import PERSON
from ..tools.people import APP, NOTIFY, TARGETS, route_to, user_id_of
from .fields import Checked

TELEGRAM: Final = "telegram_bot"


@callback
def notify_options(hass: HomeAssistant) -> list[SelectOptionDict]:
    """Return the targets to choose from: phones by their services, and notify entities."""
    services = [name for name in hass.services.async_services_for_domain(NOTIFY) if name.startswith(APP)]
    phones = [SelectOptionDict(value=f"{NOTIFY}.{name}", label=f"{NOTIFY}.{name}") for name in services]
    entities = [
        SelectOptionDict(value=state.entity_id, label=f"{state.name} ({state.entity_id})")
        for state in hass.states.async_all(NOTIFY)
    ]
    return [*phones, *entities]


@callback
def chat_options(hass: HomeAssistant) -> list[SelectOptionDict]:
    """Return the private chats that a Telegram bot may write to."""
    return [
        SelectOptionDict(value=str(chat), label=f"{title} ({chat})")
        for chat, title in _bot_chats(hass)
        if chat > 0
    ]


def clean_chats(value: object) -> list[dict[str, object]]:
    """Return chats with their persons; raises InvalidInput for a chat that is not private."""
    items = value if isinstance(value, list) else [value]
    found: dict[int, str] = {}
    for item in items:
        if not isinstance(item, Mapping) or not (person := str(item.get(PERSON, "")).strip()):
            continue
        said = str(item.get(CHAT, "")).strip()
        if not said.isdecimal() or not int(said):
            raise InvalidInput("invalid_telegram_chat", chat=said[:60])
        found[int(said)] = person
    return [{CHAT: str(chat), PERSON: person} for chat, person in found.items()]


async def async_check_channels(
    hass: HomeAssistant, checked: Checked, _stored: Mapping[str, Any], *, entry: ConfigEntry
) -> None:
    """Look whether targets and chats are there, and whether the persons can answer at all."""
    for item in checked.values.get(CONF_NOTIFY_TARGETS, []):
        _check_person(hass, checked, CONF_NOTIFY_TARGETS, item[PERSON])
        for target in item[TARGETS]:
            if route_to(hass, target) is None:
                checked.fail(CONF_NOTIFY_TARGETS, InvalidInput("notify_target_missing", target=target))
    chats = read_chats(checked.values.get(CONF_TELEGRAM_CHATS, []))
    if not checked.values.get(CONF_TELEGRAM):
        return
    if not hass.config_entries.async_loaded_entries(TELEGRAM):
        checked.fail(CONF_TELEGRAM, InvalidInput("telegram_missing"))
        return
    if not chats and CONF_TELEGRAM_CHATS not in checked.errors:
        checked.fail(CONF_TELEGRAM_CHATS, InvalidInput("telegram_no_chats"))
    known = {chat for chat, _title in _bot_chats(hass)}
    for chat, person in chats.items():
        _check_person(hass, checked, CONF_TELEGRAM_CHATS, person)
        if chat not in known:
            checked.fail(CONF_TELEGRAM_CHATS, InvalidInput("telegram_chat_unknown", chat=str(chat)))
        if other := _other_agent(hass, entry, chat):
            checked.fail(
                CONF_TELEGRAM_CHATS, InvalidInput("telegram_chat_taken", chat=str(chat), title=other)
            )


def _check_person(hass: HomeAssistant, checked: Checked, field: str, person: str) -> None:
    """Report a person without a user: no one could be identified by it."""
    if user_id_of(hass, person) is None:
        checked.fail(field, InvalidInput("person_without_user", person=person))


def _bot_chats(hass: HomeAssistant) -> Iterator[tuple[int, str]]:
    for entry in hass.config_entries.async_loaded_entries(TELEGRAM):
        for part in entry.subentries.values():
            if isinstance(chat := part.data.get(CHAT), int):
                yield chat, part.title


def _other_agent(hass: HomeAssistant, entry: ConfigEntry, chat: int) -> str | None:
    others = (other for other in hass.config_entries.async_entries(DOMAIN) if other is not entry)
    answering = (other for other in others if other.options.get(CONF_TELEGRAM))
    found = (one for one in answering if chat in read_chats(one.options.get(CONF_TELEGRAM_CHATS, [])))
    return next((one.title for one in found), None)
