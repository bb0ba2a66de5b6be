"""Options that are lists of items with fields: their selectors, and the checks of proactive rules."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

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
    SelectSelectorMode,
    TextSelector,
)

from ..channels.people import TARGETS
from ..channels.telegram.chats import CHAT
from ..const import DOMAIN
from ..errors import InvalidInput
from ..knowledge.persons import DEVICE, PERSON
from ..memory.settings import read_span
from ..proactive.rules import DURATION, ENTITIES, OWN_RULE, PERSONS as TOLD, RULE, STATE, TEMPLATES, URGENT
from ..safety.profiles import AREAS, DEVICES, PERSONS, RULE_FIELDS, as_texts
from .validators import clean_names


def profiles_selector(options: list[SelectOptionDict]) -> ObjectSelector:
    """Return a selector of profiles: whom each is for, and its rules; some rules to choose from."""
    config = SelectSelectorConfig(
        options=options, multiple=True, custom_value=True, mode=SelectSelectorMode.DROPDOWN
    )
    rules: dict[str, Selector[Any]] = {name: SelectSelector(config) for name in RULE_FIELDS}
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
            description_field=PERSONS,
            translation_key="policy_profiles",
        )
    )


def owners_selector() -> ObjectSelector:
    """Return a selector of devices, each with its owner."""
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
    """Return a selector of Telegram chats, each with its owner; the bot's own chats to choose from."""
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


MAX_WATCHED: Final = 50
MAX_WATCHED_DAYS: Final = 30
MAX_ENTITIES: Final = 500


def clean_proactive(value: object) -> list[dict[str, object]]:
    """Return the rules of proactive messages without empty values.

    Raises InvalidInput for one that could never be told.
    """
    items = value if isinstance(value, list) else [value]
    if len(items) > MAX_WATCHED:
        raise InvalidInput("too_many_rules", limit=str(MAX_WATCHED))
    return [_clean_watched(item) for item in items if isinstance(item, Mapping)]


def _clean_watched(item: Mapping[str, object]) -> dict[str, object]:
    """Return one rule of proactive messages."""
    name = str(item[RULE])
    template = TEMPLATES[name]
    entities = clean_names(as_texts(item.get(ENTITIES)))[:MAX_ENTITIES]
    state = str(item.get(STATE) or "").strip()
    if name == OWN_RULE and not (entities and state):
        raise InvalidInput("proactive_state_missing")
    if not template.kinds and not entities:
        raise InvalidInput("proactive_entities_missing")
    duration = "".join(str(item.get(DURATION) or "").split()).lower()
    if duration:
        try:
            too_long = (read_span(duration) or timedelta(0)) > timedelta(days=MAX_WATCHED_DAYS)
        except (ValueError, OverflowError) as err:
            raise InvalidInput("proactive_duration") from err
        if too_long:
            raise InvalidInput("proactive_duration")
    found: dict[str, object] = {
        ENTITIES: entities,
        STATE: state if name == OWN_RULE else "",
        DURATION: duration,
        TOLD: clean_names(as_texts(item.get(TOLD))),
        URGENT: bool(item.get(URGENT)),
    }
    return {RULE: name, **{key: kept for key, kept in found.items() if kept}}
