"""Options that are lists of items with fields: their selectors."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.selector import (
    EntitySelector,
    EntitySelectorConfig,
    ObjectSelector,
    ObjectSelectorConfig,
    SelectOptionDict,
    Selector,
)

from ..errors import InvalidInput
from ..knowledge.speaker import PERSON
from ..tools.recipients import APP, CHAT, NOTIFY
from .fields import as_items


class Labels(NamedTuple):
    """What the words in the form mean, by field: a label for each stored value.

    The browser shows the values of a list inside a list as they are, so the form holds labels.
    """

    by_field: Mapping[str, Mapping[str, str]]

    def show(self, value: Any) -> list[dict[str, Any]]:
        """Return the stored items with labels."""
        return [self._mapped(item, self.by_field) for item in as_items(value)]

    def values(self, value: Any) -> list[dict[str, Any]]:
        """Return the items of a form as they are stored; what is stored already stays."""
        meanings = {
            field: {label: key for key, label in labels.items()} for field, labels in self.by_field.items()
        }
        return [self._mapped(item, meanings) for item in as_items(value)]

    @staticmethod
    def _mapped(item: Mapping[str, Any], words: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
        found = dict(item)
        for field in found.keys() & words.keys():
            meaning, value = words[field], found[field]
            if isinstance(value, list):
                found[field] = [meaning.get(each, each) for each in value]
            else:
                found[field] = meaning.get(value, value)
        return found


def items_selector(
    name: str,
    fields: Mapping[str, Selector[Any]],
    needed: Collection[str],
    shown: tuple[str, str] | None = None,
) -> ObjectSelector:
    """Return a selector of items with fields, some of which each item needs.

    `name` is that of the translations, `shown` the fields that tell an item in the list; without them all do.
    """
    config = ObjectSelectorConfig(
        fields={
            field: {"selector": selector, "required": field in needed} for field, selector in fields.items()
        },
        multiple=True,
        translation_key=name,
    )
    if shown is not None:
        config["label_field"], config["description_field"] = shown
    return ObjectSelector(config)


def of_persons(option: str, part: str, selector: Selector[Any]) -> ObjectSelector:
    """Return a selector of persons, each with something of theirs."""
    fields: dict[str, Selector[Any]] = {
        PERSON: EntitySelector(EntitySelectorConfig(domain="person")),
        part: selector,
    }
    return items_selector(option, fields, fields, (PERSON, part))


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
        for chat, title in bot_chats(hass)
        if chat > 0
    ]


def clean_chats(value: object) -> list[dict[str, object]]:
    """Return chats with their persons; raises InvalidInput for a chat that is not private."""
    found: dict[int, str] = {}
    for item in as_items(value):
        if not (person := str(item.get(PERSON, "")).strip()):
            continue
        said = str(item.get(CHAT, "")).strip()
        if not said.isdecimal() or not int(said):
            raise InvalidInput("invalid_telegram_chat", chat=said[:60])
        found[int(said)] = person
    return [{CHAT: str(chat), PERSON: person} for chat, person in found.items()]


def bot_chats(hass: HomeAssistant) -> Iterator[tuple[int, str]]:
    """Yield the chats that Telegram bots may write to, with their titles."""
    for entry in hass.config_entries.async_loaded_entries(TELEGRAM):
        for part in entry.subentries.values():
            if isinstance(chat := part.data.get(CHAT), int):
                yield chat, part.title
