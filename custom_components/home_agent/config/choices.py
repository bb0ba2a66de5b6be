"""The list of rules on the page What it may do: its selector, and what its values mean."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from homeassistant.core import HomeAssistant, State, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.selector import (
    AreaSelector,
    AreaSelectorConfig,
    EntitySelector,
    EntitySelectorConfig,
    LabelSelector,
    LabelSelectorConfig,
    ObjectSelector,
    ObjectSelectorConfig,
    SelectOptionDict,
    Selector,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)
from homeassistant.helpers.translation import async_get_translations

from ..const import CONF_POLICY_CHOICES, CONF_POLICY_PROFILES, DOMAIN
from ..domains import DOMAINS
from ..errors import InvalidInput
from ..safety.choices import ACTIONS, DECISION, DECISIONS, ENTITIES, KINDS, LABELS, PICKED_ACTIONS, TARGETS
from ..safety.profiles import AREAS, as_texts
from ..safety.rules import Effect
from .fields import Checked, Field
from .labels import Labels
from .lists import profiles_selector
from .validators import clean_names

MAX_CHOICES: Final = 100
SHOWN_CLASSES: Final = ("cover",)
"""Domains whose device classes are kinds of their own."""


def choices_selector(labels: Labels) -> ObjectSelector:
    """Return a selector of rules; without a label field, each is shown with all that it says."""
    words = labels.by_field
    fields: dict[str, Selector[Any]] = {
        DECISION: _select(words[DECISION].values(), multiple=False),
        ACTIONS: _select(words[ACTIONS].values()),
        KINDS: _select(words[KINDS].values()),
        ENTITIES: EntitySelector(EntitySelectorConfig(multiple=True)),
        AREAS: AreaSelector(AreaSelectorConfig(multiple=True)),
        LABELS: LabelSelector(LabelSelectorConfig(multiple=True)),
    }
    return ObjectSelector(
        ObjectSelectorConfig(
            fields={
                key: {"selector": selector, "required": key == DECISION} for key, selector in fields.items()
            },
            multiple=True,
            translation_key=CONF_POLICY_CHOICES,
        )
    )


def _select(options: Iterable[str], *, multiple: bool = True) -> SelectSelector:
    """Return a dropdown of labels, which also takes a label in another language."""
    return SelectSelector(
        SelectSelectorConfig(
            options=list(options),
            multiple=multiple,
            mode=SelectSelectorMode.DROPDOWN if multiple else SelectSelectorMode.LIST,
            custom_value=multiple,
        )
    )


NO_LABELS: Final = Labels({DECISION: {key: key for key in DECISIONS}, ACTIONS: {}, KINDS: {}})


async def async_labels(hass: HomeAssistant) -> Labels:
    """Return the labels of decisions, actions and the kinds of devices that there are."""
    language = hass.config.language
    own = await async_get_translations(hass, language, "selector", {DOMAIN})
    path = f"component.{DOMAIN}.selector"
    kinds = sorted(_kinds(hass))
    domains = {kind.partition(":")[0] for kind in kinds}
    titles = await async_get_translations(hass, language, "title", domains)
    classes = await async_get_translations(hass, language, "entity_component", domains)

    def kind_label(kind: str) -> str:
        domain, _, device_class = kind.partition(":")
        if device_class:
            return classes.get(f"component.{domain}.entity_component.{device_class}.name", kind)
        return titles.get(f"component.{domain}.title", kind)

    return Labels(
        {
            DECISION: {key: own.get(f"{path}.policy_decision.options.{key}", key) for key in DECISIONS},
            ACTIONS: {key: own.get(f"{path}.policy_action.options.{key}", key) for key in PICKED_ACTIONS},
            KINDS: _unique({kind: kind_label(kind) for kind in kinds}),
        }
    )


def _unique(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels of which each means one key."""
    counts = Counter(labels.values())
    return {key: label if counts[label] == 1 else f"{label} ({key})" for key, label in labels.items()}


async def async_labelled(hass: HomeAssistant, field: Field) -> Field:
    """Return the field of the rules or the profiles with words in place of keys, any other as it is."""
    if field.key not in (CONF_POLICY_CHOICES, CONF_POLICY_PROFILES):
        return field
    labels = await async_labels(hass)
    if field.key == CONF_POLICY_PROFILES:
        return replace(field, selector=profiles_selector(rule_options(labels)))
    return replace(
        field,
        selector=choices_selector(labels),
        clean=lambda value: clean_choices(labels.values(value)),
        show=labels.show,
    )


def rule_options(labels: Labels) -> list[SelectOptionDict]:
    """Return the rules in text that a profile offers, with what each means."""
    options = dict(labels.by_field[KINDS])
    for name, label in labels.by_field[ACTIONS].items():
        options |= dict.fromkeys(DOMAINS[name].restricted, label)
    return [SelectOptionDict(value=rule, label=f"{label} ({rule})") for rule, label in options.items()]


@callback
def _kinds(hass: HomeAssistant) -> set[str]:
    """Return the kinds of entities that there are and that can do something."""
    found: set[str] = set()
    for state in hass.states.async_all():
        if not DOMAINS[state.domain].actions:
            continue
        found.add(state.domain)
        if state.domain in SHOWN_CLASSES and (device_class := state.attributes.get("device_class")):
            found.add(f"{state.domain}:{device_class}")
    return found


def clean_choices(value: Any) -> list[dict[str, Any]]:
    """Return the rules without empty fields. Raises InvalidInput for one that says nothing."""
    items = value if isinstance(value, list) else [value]
    if len(items) > MAX_CHOICES:
        raise InvalidInput("too_many_rules", limit=str(MAX_CHOICES))
    return [_clean_choice(item) for item in items if isinstance(item, Mapping)]


def _clean_choice(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return one rule."""
    fields = {key: clean_names(as_texts(item.get(key))) for key in (ACTIONS, KINDS, *TARGETS)}
    for name in fields[ACTIONS]:
        if name not in PICKED_ACTIONS:
            raise InvalidInput("choice_unknown", name=name[:60])
    if item.get(DECISION) not in DECISIONS:
        raise InvalidInput("choice_unknown", name=str(item.get(DECISION))[:60])
    if not any(fields.values()):
        raise InvalidInput("choice_empty")
    return {DECISION: item[DECISION], **{key: found for key, found in fields.items() if found}}


@callback
def check_choices(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any], labels: Labels) -> None:
    """Refuse a new rule with an entity to which none of its actions and kinds applies."""
    before = stored.get(CONF_POLICY_CHOICES, [])
    for item in checked.values.get(CONF_POLICY_CHOICES, []):
        if item in before:
            continue
        for kind in item.get(KINDS, ()):
            if kind.partition(":")[0] not in DOMAINS:
                checked.fail(CONF_POLICY_CHOICES, InvalidInput("choice_unknown", name=kind[:60]))
        for entity_id in item.get(ENTITIES, ()):
            _check_entity(hass, checked, item, entity_id, labels)


def _check_entity(
    hass: HomeAssistant, checked: Checked, item: Mapping[str, Any], entity_id: str, labels: Labels
) -> None:
    """Note an entity that does not exist, or that the rule cannot be about."""
    state, entry = hass.states.get(entity_id), er.async_get(hass).async_get(entity_id)
    if state is None and entry is None:
        checked.fail(CONF_POLICY_CHOICES, InvalidInput("choice_unknown", name=entity_id[:60]))
        return
    domain, device_class = entity_id.partition(".")[0], _class(state, entry)
    services = [Effect(domain, service, entity_id, device_class) for service in DOMAINS[domain].services]
    fitting = {
        KINDS: [kind for kind in item.get(KINDS, ()) if kind in (domain, f"{domain}:{device_class}")],
        ACTIONS: [name for name in item.get(ACTIONS, ()) if any(map(PICKED_ACTIONS[name].fits, services))],
    }
    for field, found in fitting.items():
        if item.get(field) and not found:
            names = ", ".join(labels.by_field[field].get(name, name) for name in item[field])
            name = state.name if state else entity_id
            checked.fail(CONF_POLICY_CHOICES, InvalidInput("choice_not_for", name=names[:200], entity=name))


def _class(state: State | None, entry: er.RegistryEntry | None) -> str | None:
    """Return the device class of an entity."""
    if state is not None:
        return state.attributes.get("device_class")
    return (entry.device_class or entry.original_device_class) if entry else None
