"""The list of rules on the page What it may do: its selector, and what its values mean."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from homeassistant.helpers.selector import (
    EntitySelector,
    EntitySelectorConfig,
    ObjectSelector,
    Selector,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)
from homeassistant.helpers.translation import async_get_translations

from ..const import CONF_DEVICE_PERSONS, CONF_POLICY_CHOICES, DOMAIN
from ..domains import DOMAINS
from ..errors import InvalidInput
from ..knowledge.house import AREAS, ENTITIES, FLOORS, LABELS
from ..knowledge.speaker import PERSON
from ..safety.policy import LISTS, is_shipped_restricted
from ..safety.rules import (
    ACTIONS,
    ADMINISTRATORS,
    ALWAYS,
    AT_DEVICE,
    AT_HOME,
    AWAY,
    DAYS,
    DECISION,
    DECISIONS,
    EXCEPT,
    GUEST_MODE,
    GUESTS,
    HOURS,
    IN_AREA,
    KINDS,
    NOBODY,
    ONLY,
    PICKED_ACTIONS,
    PRESENCE,
    SOMEBODY,
    TARGETS,
    WHOM,
    Effect,
    Rule,
    Span,
    as_texts,
)
from ..texts import without_embeds
from .fields import Checked, Field, as_items, async_language, clean_names, offered
from .lists import Labels, items_selector
from .rule_names import async_has_people, has_place

SATELLITE, PHONE = "assist_satellite", "mobile_app"
SHOWN_CLASSES: Final = ("cover",)
"""Domains whose device classes are kinds of their own."""
PLACES: Final = "places"
"""The field of the form that has areas, floors and labels."""
OF_PLACES: Final = (AREAS, FLOORS, LABELS)
"""The keys in which these are stored."""
FIELDS: Final = (DECISION, ACTIONS, KINDS, ENTITIES, PLACES, HOURS, PRESENCE, WHOM)
"""The fields of the form in their order; the browser shows a rule as their values one after the other."""

NO_LABELS: Final = Labels(
    {field: {key: key for key in DECISIONS} if field == DECISION else {} for field in FIELDS}
)


async def async_labels(hass: HomeAssistant, options: Mapping[str, Any]) -> Labels:
    """Return the words for all that there is to choose from, and for what is chosen in the options.

    They are in the language in which the form is read.
    """
    language = await async_language(hass)
    texts = await async_get_translations(hass, language, "selector", {DOMAIN})

    def word(group: str, key: str, name: str = "") -> str:
        text = texts.get(f"component.{DOMAIN}.selector.policy_{group}.options.{key}", key)
        return text.replace("{name}", name).replace("{person}", name)

    areas, floors = ar.async_get(hass).async_list_areas(), fr.async_get(hass).async_list_floors()
    labels = lr.async_get(hass).async_list_labels()
    places = {f"{AREAS}:{area.id}": area.name for area in areas}
    places |= {f"{FLOORS}:{floor.floor_id}": word("place", "floor", floor.name) for floor in floors}
    places |= {f"{LABELS}:{label.label_id}": word("place", "label", label.name) for label in labels}
    persons = {state.entity_id: state.name for state in hass.states.async_all("person")}
    presences = {key: word("presence", key) for key in (SOMEBODY, NOBODY)}
    for entity_id, person in persons.items():
        presences[f"{AT_HOME}{entity_id}"] = word("presence", "home", person)
        presences[f"{AWAY}{entity_id}"] = word("presence", "away", person)
    named = {**persons}
    # Satellites and phones, and other devices that rules of the options name.
    speaking = {
        name.removeprefix(EXCEPT).removeprefix(AT_DEVICE)
        for item in as_items(options.get(CONF_POLICY_CHOICES))
        for name in as_texts(item.get(WHOM))
    }
    entries = er.async_get(hass).entities.values()
    speaking |= {entry.device_id for entry in entries if entry.domain == SATELLITE and entry.device_id}
    phones = {entry.entry_id for entry in hass.config_entries.async_entries(PHONE)}
    for device in list(dr.async_get(hass).devices):
        if device.id in speaking or device.config_entry_id in phones:
            name = device.name_by_user or device.name or ""
            named[f"{AT_DEVICE}{device.id}"] = word("whom", "device", name)
    named |= {f"{IN_AREA}{area.id}": word("whom", "area", area.name) for area in areas}
    excepted = {ADMINISTRATORS: word("whom", ADMINISTRATORS), **named}
    people = {key: word("whom", key) for key in (GUESTS, GUEST_MODE)} | named
    people |= {f"{EXCEPT}{key}": word("whom", "except", name) for key, name in excepted.items()}
    return Labels(
        {
            DECISION: {key: word("decision", key) for key in DECISIONS},
            ACTIONS: {key: word("action", key) for key in PICKED_ACTIONS},
            KINDS: unique(await _async_kinds(hass, language)),
            PLACES: unique(places),
            HOURS: {day: word("day", day) for day in DAYS},
            PRESENCE: unique(presences),
            WHOM: unique(people),
        }
    )


async def _async_kinds(hass: HomeAssistant, language: str) -> dict[str, str]:
    """Return the kinds of things that the home has and that can be controlled, with what each is called."""
    kinds: dict[str, tuple[str, str]] = {}
    for state in hass.states.async_all():
        domain = state.domain
        if not DOMAINS[domain].actions:
            continue
        kinds[domain] = ("title", f"component.{domain}.title")
        if domain in SHOWN_CLASSES and (kind := state.attributes.get("device_class")):
            kinds[f"{domain}:{kind}"] = (
                "entity_component",
                f"component.{domain}.entity_component.{kind}.name",
            )
    domains = {kind for kind in kinds if ":" not in kind}
    texts = {
        category: await async_get_translations(hass, language, category, domains)
        for category in ("title", "entity_component")
    }
    return {kind: texts[category].get(path, kind) for kind, (category, path) in sorted(kinds.items())}


def unique(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels of which each means one key."""
    counts = Counter(labels.values())
    return {key: label if counts[label] == 1 else f"{label} ({key})" for key, label in labels.items()}


def in_form(value: object) -> list[dict[str, Any]]:
    """Return stored rules with their areas, floors and labels in the one field of the form."""
    found = []
    for item in as_items(value):
        places = [f"{key}:{name}" for key in OF_PLACES for name in item.get(key, ())]
        rest = {key: kept for key, kept in item.items() if key not in OF_PLACES}
        found.append({**rest, PLACES: places} if places else rest)
    return found


MAX_CHOICES: Final = 100
CONTROLLED: Final = sorted({*LISTS, *(facts.name for facts in DOMAINS.values() if facts.actions)})
"""The domains that the agent controls, and those of lists that rules may hide."""


def choices_selector(labels: Labels) -> ObjectSelector:
    """Return a selector of rules; without a label field, each is shown with all that it says."""
    words = {field: list(known.values()) for field, known in labels.by_field.items()}
    fields: dict[str, Selector[Any]] = {
        DECISION: SelectSelector(SelectSelectorConfig(options=words[DECISION], mode=SelectSelectorMode.LIST)),
        ACTIONS: offered(words[ACTIONS], multiple=True),
        KINDS: offered(words[KINDS], multiple=True),
        # A filter of the picker only: a rule of an earlier release may name something else.
        ENTITIES: EntitySelector(EntitySelectorConfig(multiple=True, filter=[{"domain": CONTROLLED}])),
        PLACES: offered(words[PLACES], multiple=True),
        HOURS: offered(words[HOURS], multiple=True),
        PRESENCE: offered(words[PRESENCE]),
        WHOM: offered(words[WHOM], multiple=True),
    }
    return items_selector(CONF_POLICY_CHOICES, fields, (DECISION,))


async def async_labelled(hass: HomeAssistant, field: Field, options: Mapping[str, Any]) -> Field:
    """Return the field of the rules with words in place of keys, any other as it is."""
    if field.key != CONF_POLICY_CHOICES:
        return field
    labels = await async_labels(hass, options)
    return field._replace(
        selector=choices_selector(labels),
        clean=lambda value: clean_choices(labels.values(value)),
        show=lambda value: labels.show(in_form(value)),
    )


def clean_choices(value: Any) -> list[dict[str, Any]]:
    """Return the rules without empty fields. Raises InvalidInput for one that says nothing."""
    if len(items := as_items(value)) > MAX_CHOICES:
        raise InvalidInput("too_many_listed", limit=str(MAX_CHOICES))
    rules: list[dict[str, Any]] = []
    for item in items:
        fields = {key: clean_names(as_texts(item.get(key))) for key in (ACTIONS, KINDS, *TARGETS, WHOM)}
        unknown = [name for name in fields[ACTIONS] if name not in PICKED_ACTIONS]
        for place in as_texts(item.get(PLACES)):
            key, _, name = place.partition(":")
            if key in OF_PLACES:
                fields[key] = clean_names([*fields[key], name])
            else:
                unknown.append(place)
        if (decision := item.get(DECISION)) not in DECISIONS:
            unknown.append(str(decision))
        if unknown:
            raise InvalidInput("choice_unknown", name=unknown[0][:60])
        days, spans = set[str](), dict[str, None]()
        for text in as_texts(item.get(HOURS)):
            if text in DAYS:
                days.add(text)
            elif span := Span.read(text):
                spans[str(span)] = None
            elif text.strip():
                raise InvalidInput("choice_hours", name=text[:60])
        when = {
            HOURS: [*(day for day in DAYS if day in days), *spans],
            PRESENCE: str(item.get(PRESENCE) or "").strip(),
        }
        if not any((*fields.values(), *when.values())):
            raise InvalidInput("choice_empty")
        if decision in (ALWAYS, ONLY) and not any(names for key, names in fields.items() if key != WHOM):
            raise InvalidInput("choice_too_wide")
        named = {EXCEPT + name for name in fields[WHOM] if not name.startswith(EXCEPT)}
        if named and named.issubset(fields[WHOM]):
            raise InvalidInput("choice_nobody")
        whom = fields.pop(WHOM)
        filled = {key: kept for key, kept in {**fields, **when, WHOM: whom}.items() if kept}
        rules.append({DECISION: decision, **filled})
    return rules


async def async_check_choices(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any]) -> None:
    """Refuse a new rule that can never apply: to its entities, at its place, or for its people.

    One that leaves a lock or an alarm open is shown before it is stored.
    """
    before, options = stored.get(CONF_POLICY_CHOICES, []), {**checked.others, **checked.values}
    labels = await async_labels(hass, options)
    new = [item for item in checked.values.get(CONF_POLICY_CHOICES, []) if item not in before]
    for item in new:
        async for error in _problems(hass, item, options):
            checked.fail(CONF_POLICY_CHOICES, error)
    things: list[tuple[str, str | None, str | None]] = [
        (state.domain, state.entity_id, state.attributes.get("device_class"))
        for state in hass.states.async_all(domain for domain, _ in OPENING)
    ]
    things += [(domain, None, device_class) for domain, device_class in OPENING]
    restricted = [
        effect
        for domain, entity_id, device_class in things
        for service in DOMAINS[domain].services
        if is_shipped_restricted(effect := Effect(domain, service, entity_id, device_class))
    ]
    trusting = ((item, rule) for item in new if (rule := Rule.of(hass, item)) and rule.decision == ALWAYS)
    if opening := [item for item, rule in trusting if any(map(rule.fits, restricted))]:
        lines = (" \u00b7 ".join(_words(hass, item, labels)) for item in opening)
        rules = "\n".join(f"- {without_embeds(line)}" for line in lines)
        checked.reports.append(("always_open", {"rules": rules}))


def _words(hass: HomeAssistant, item: Mapping[str, Any], labels: Labels) -> Iterator[str]:
    """Yield the words of a rule as the list of rules shows them."""
    (shown,) = labels.show(in_form(item))
    for field in FIELDS:
        texts = as_texts(shown.get(field) or ())
        if field == ENTITIES:
            texts = [state.name if (state := hass.states.get(text)) else text for text in texts]
        if texts:
            yield ", ".join(texts)


OPENING: Final = (
    *((domain, None) for domain in ("lock", "valve", "alarm_control_panel")),
    *(("cover", device_class) for device_class in ("garage", "gate", "door")),
)
"""Domains and classes of things through which somebody comes in, or water."""


async def _problems(
    hass: HomeAssistant, item: Mapping[str, Any], options: Mapping[str, Any]
) -> AsyncIterator[InvalidInput]:
    """Yield what is wrong with a rule: what does not exist, and what can never be meant."""
    presence, whom = item.get(PRESENCE, ""), item.get(WHOM, ())
    unknown = [name for key in OF_PLACES for name in item.get(key, ()) if not has_place(hass, key, name)]
    unknown += [name for name in (presence, *whom) if name and not await async_has_people(hass, name)]
    for name in unknown:
        yield InvalidInput("choice_unknown", name=name[:60])
    if presence in (SOMEBODY, NOBODY) and not hass.states.async_entity_ids(PERSON):
        yield InvalidInput("choice_no_persons")
    owners = {owner.get(PERSON) for owner in options.get(CONF_DEVICE_PERSONS, ())}
    for name in whom:
        person = name.removeprefix(EXCEPT)
        state = hass.states.get(person)
        if state is None or state.attributes.get("user_id"):
            continue
        if name != person or person not in owners:
            yield InvalidInput("choice_without_user", name=state.name[:60])
    for entity_id in item.get(ENTITIES, ()):
        if hass.states.get(entity_id) is None and er.async_get(hass).async_get(entity_id) is None:
            yield InvalidInput("choice_unknown", name=entity_id[:60])
