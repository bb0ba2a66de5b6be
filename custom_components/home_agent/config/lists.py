"""Selectors of lists whose items have fields of their own."""

from collections.abc import Mapping
from typing import Any

from homeassistant.helpers.selector import (
    AreaSelector,
    AreaSelectorConfig,
    BooleanSelector,
    DeviceSelector,
    DeviceSelectorConfig,
    EntitySelector,
    EntitySelectorConfig,
    ObjectSelector,
    ObjectSelectorConfig,
    SelectOptionDict,
    Selector,
    SelectSelector,
    SelectSelectorConfig,
    TextSelector,
    TextSelectorConfig,
)

from ..channels.people import TARGETS
from ..channels.telegram.chats import CHAT
from ..const import DOMAIN
from ..knowledge.persons import DEVICE, PERSON
from ..proactive.rules import DURATION, ENTITIES, PERSONS as TOLD, RULE, STATE, TEMPLATES, URGENT
from ..safety.profiles import AREAS, DEVICES, PERSONS, RULE_FIELDS


def profiles_selector() -> ObjectSelector:
    """Return a selector of profiles: whom each is for, and its rules."""
    rules: dict[str, Selector[Any]] = {
        name: TextSelector(TextSelectorConfig(multiple=True)) for name in RULE_FIELDS
    }
    whom: dict[str, Selector[Any]] = {
        PERSONS: EntitySelector(EntitySelectorConfig(domain="person", multiple=True)),
        DEVICES: DeviceSelector(DeviceSelectorConfig(multiple=True)),
        AREAS: AreaSelector(AreaSelectorConfig(multiple=True)),
    }
    fields = {"name": TextSelector(), **whom, **rules}
    return ObjectSelector(
        ObjectSelectorConfig(
            fields={
                key: {"selector": selector, "required": key == "name"} for key, selector in fields.items()
            },
            multiple=True,
            label_field="name",
            translation_key="policy_profiles",
        )
    )


def owners_selector() -> ObjectSelector:
    """Return a selector of devices, each with whose it is."""
    fields: dict[str, Selector[Any]] = {
        DEVICE: DeviceSelector(DeviceSelectorConfig()),
        PERSON: EntitySelector(EntitySelectorConfig(domain="person")),
    }
    return ObjectSelector(
        ObjectSelectorConfig(
            fields={key: {"selector": selector, "required": True} for key, selector in fields.items()},
            multiple=True,
            label_field=PERSON,
            translation_key="device_persons",
        )
    )


def proactive_selector(texts: Mapping[str, str]) -> ObjectSelector:
    """Return a selector of rules: the entities, the duration and the persons who get the message.

    A list inside a list finds no translations in the browser, so its labels are given: `texts` by path.
    """
    path = f"component.{DOMAIN}.selector.proactive_rule.options"
    rules = [SelectOptionDict(value=rule, label=texts.get(f"{path}.{rule}", rule)) for rule in TEMPLATES]
    choice = SelectSelector(SelectSelectorConfig(options=rules))
    fields: dict[str, Selector[Any]] = {
        RULE: choice,
        ENTITIES: EntitySelector(EntitySelectorConfig(multiple=True)),
        STATE: TextSelector(),
        DURATION: TextSelector(),
        TOLD: EntitySelector(EntitySelectorConfig(domain="person", multiple=True)),
        URGENT: BooleanSelector(),
    }
    return ObjectSelector(
        ObjectSelectorConfig(
            fields={key: {"selector": selector, "required": key == RULE} for key, selector in fields.items()},
            multiple=True,
            label_field=RULE,
            description_field=ENTITIES,
            translation_key="proactive_rules",
        )
    )


def chats_selector(options: list[SelectOptionDict]) -> ObjectSelector:
    """Return a selector of Telegram chats, each with whose it is; the bot's own chats to choose from."""
    chats = SelectSelector(SelectSelectorConfig(options=options, custom_value=True))
    fields: dict[str, Selector[Any]] = {
        CHAT: chats,
        PERSON: EntitySelector(EntitySelectorConfig(domain="person")),
    }
    return ObjectSelector(
        ObjectSelectorConfig(
            fields={key: {"selector": selector, "required": True} for key, selector in fields.items()},
            multiple=True,
            label_field=PERSON,
            description_field=CHAT,
            translation_key="telegram_chat_persons",
        )
    )


def notify_selector(options: list[SelectOptionDict]) -> ObjectSelector:
    """Return a selector of persons, each with the notify targets to choose from."""
    targets = SelectSelector(SelectSelectorConfig(options=options, multiple=True, custom_value=True))
    fields: dict[str, Selector[Any]] = {
        PERSON: EntitySelector(EntitySelectorConfig(domain="person")),
        TARGETS: targets,
    }
    return ObjectSelector(
        ObjectSelectorConfig(
            fields={key: {"selector": selector, "required": True} for key, selector in fields.items()},
            multiple=True,
            label_field=PERSON,
            description_field=TARGETS,
            translation_key="notify_targets",
        )
    )
