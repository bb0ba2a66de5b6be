"""The list of rules on the page What it may do: its selector, and what its values mean."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
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
    SelectOptionDict,
    Selector,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
)
from homeassistant.helpers.translation import async_get_translations

from ..const import CONF_DEVICE_PERSONS, CONF_POLICY_CHOICES, CONF_POLICY_PROFILES, DOMAIN
from ..domains import DOMAINS
from ..errors import InvalidInput
from ..knowledge.house import FLOORS
from ..knowledge.speaker import PERSON
from ..safety.rules import (
    ACTIONS,
    ADMINISTRATORS,
    AREAS,
    AT_HOME,
    AWAY,
    DAYS,
    DECISION,
    DECISIONS,
    DEVICES,
    ENTITIES,
    EXCEPT,
    GUESTS,
    HOURS,
    KINDS,
    LABELS,
    NAME,
    NOBODY,
    PICKED_ACTIONS,
    PRESENCE,
    PROFILE,
    SOMEBODY,
    TARGETS,
    WHOM,
    Effect,
    Span,
    as_texts,
)
from .fields import Checked, Field, as_items, async_language, clean_names
from .lists import Labels, items_selector, profiles_selector

SHOWN_CLASSES: Final = ("cover",)
"""Domains whose device classes are kinds of their own."""
PLACES: Final = "places"
"""The field of the form that has areas, floors and labels."""
OF_PLACES: Final = (AREAS, FLOORS, LABELS)
"""The keys in which these are stored."""
FIELDS: Final = (DECISION, ACTIONS, KINDS, PLACES, HOURS, PRESENCE, WHOM)
"""The fields whose values have words."""

NO_LABELS: Final = Labels(
    {field: {key: key for key in DECISIONS} if field == DECISION else {} for field in FIELDS}
)


async def async_labels(hass: HomeAssistant, profiles: Iterable[str] = ()) -> Labels:
    """Return the words for all that there is to choose from; `profiles` are the names of those.

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
    named = persons | {f"{PROFILE}{name}": word("whom", "profile", name) for name in profiles if name}
    excepted = {ADMINISTRATORS: word("whom", ADMINISTRATORS), **named}
    people = {GUESTS: word("whom", GUESTS), **named}
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
ALWAYS: Final = "always"


def choices_selector(labels: Labels) -> ObjectSelector:
    """Return a selector of rules; without a label field, each is shown with all that it says."""
    words = {field: list(known.values()) for field, known in labels.by_field.items()}
    fields: dict[str, Selector[Any]] = {
        DECISION: SelectSelector(SelectSelectorConfig(options=words[DECISION], mode=SelectSelectorMode.LIST)),
        ACTIONS: _select(words[ACTIONS]),
        KINDS: _select(words[KINDS]),
        ENTITIES: EntitySelector(EntitySelectorConfig(multiple=True)),
        PLACES: _select(words[PLACES]),
        HOURS: _select(words[HOURS]),
        PRESENCE: _select(words[PRESENCE], multiple=False),
        WHOM: _select(words[WHOM]),
    }
    return items_selector(CONF_POLICY_CHOICES, fields, (DECISION,))


def _select(options: list[str], *, multiple: bool = True) -> SelectSelector:
    """Return a dropdown of labels, which also takes a label in another language."""
    return SelectSelector(
        SelectSelectorConfig(
            options=options, multiple=multiple, mode=SelectSelectorMode.DROPDOWN, custom_value=True
        )
    )


async def async_labelled(hass: HomeAssistant, field: Field, options: Mapping[str, Any]) -> Field:
    """Return the field of the rules or the profiles with words in place of keys, any other as it is."""
    if field.key not in (CONF_POLICY_CHOICES, CONF_POLICY_PROFILES):
        return field
    labels = await async_labels(hass, profile_names(options))
    if field.key == CONF_POLICY_PROFILES:
        return replace(field, selector=profiles_selector(rule_options(labels)))
    return replace(
        field,
        selector=choices_selector(labels),
        clean=lambda value: clean_choices(labels.values(value)),
        show=lambda value: labels.show(in_form(value)),
    )


def profile_names(options: Mapping[str, Any]) -> list[str]:
    """Return the names of the profiles in options."""
    return [str(item[NAME]) for item in as_items(options.get(CONF_POLICY_PROFILES)) if item.get(NAME)]


def rule_options(labels: Labels) -> list[SelectOptionDict]:
    """Return the rules in text that a profile offers, with what each means."""
    options = dict(labels.by_field[KINDS])
    for name, label in labels.by_field[ACTIONS].items():
        options |= dict.fromkeys(DOMAINS[name].restricted, label)
    return [SelectOptionDict(value=rule, label=f"{label} ({rule})") for rule, label in options.items()]


def clean_choices(value: Any) -> list[dict[str, Any]]:
    """Return the rules without empty fields. Raises InvalidInput for one that says nothing."""
    if len(items := as_items(value)) > MAX_CHOICES:
        raise InvalidInput("too_many_rules", limit=str(MAX_CHOICES))
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
        presence = str(item.get(PRESENCE) or "").strip()
        when = {HOURS: _clean_hours(as_texts(item.get(HOURS))), PRESENCE: presence}
        if not any((*fields.values(), *when.values())):
            raise InvalidInput("choice_empty")
        if decision == ALWAYS and not any(names for key, names in fields.items() if key != WHOM):
            raise InvalidInput("choice_too_wide")
        named = {EXCEPT + name for name in fields[WHOM] if not name.startswith(EXCEPT)}
        if named and named.issubset(fields[WHOM]):
            raise InvalidInput("choice_nobody")
        whom = fields.pop(WHOM)
        filled = {key: kept for key, kept in {**fields, **when, WHOM: whom}.items() if kept}
        rules.append({DECISION: decision, **filled})
    return rules


def _clean_hours(texts: Iterable[str]) -> list[str]:
    """Return days and times as they are stored, days first. Raises InvalidInput for anything else."""
    days, spans = set[str](), dict[str, None]()
    for text in texts:
        if text in DAYS:
            days.add(text)
        elif span := Span.read(text):
            spans[str(span)] = None
        elif text.strip():
            raise InvalidInput("choice_hours", name=text[:60])
    return [*(day for day in DAYS if day in days), *spans]


@callback
def check_choices(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any], labels: Labels) -> None:
    """Refuse a new rule that can never apply: to its entities, at its place, or for its people."""
    before, options = stored.get(CONF_POLICY_CHOICES, []), {**checked.others, **checked.values}
    removed = {PROFILE + name for name in {*profile_names(stored)} - {*profile_names(options)}}
    for item in checked.values.get(CONF_POLICY_CHOICES, []):
        for name in removed & {whom.removeprefix(EXCEPT) for whom in item.get(WHOM, ())}:
            checked.fail(CONF_POLICY_CHOICES, InvalidInput("choice_unknown", name=name[:60]))
        for error in _problems(hass, item, options, labels) if item not in before else ():
            checked.fail(CONF_POLICY_CHOICES, error)


def _problems(
    hass: HomeAssistant, item: Mapping[str, Any], options: Mapping[str, Any], labels: Labels
) -> Iterator[InvalidInput]:
    """Yield what is wrong with a rule: what does not exist, and what can never be meant."""
    presence, whom = item.get(PRESENCE, ""), item.get(WHOM, ())
    unknown = [kind for kind in item.get(KINDS, ()) if kind.partition(":")[0] not in DOMAINS]
    unknown += [name for key in OF_PLACES for name in item.get(key, ()) if not has_place(hass, key, name)]
    unknown += [name for name in (presence, *whom) if name and not has_people(hass, name, options)]
    yield from (InvalidInput("choice_unknown", name=name[:60]) for name in unknown)
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
        state, entry = hass.states.get(entity_id), er.async_get(hass).async_get(entity_id)
        if state is None and entry is None:
            yield InvalidInput("choice_unknown", name=entity_id[:60])
            continue
        domain, device_class = entity_id.partition(".")[0], None
        if state is not None:
            device_class = state.attributes.get("device_class")
        elif entry is not None:
            device_class = entry.device_class or entry.original_device_class
        services = [Effect(domain, service, entity_id, device_class) for service in DOMAINS[domain].services]
        fitting = {
            KINDS: [kind for kind in item.get(KINDS, ()) if kind in (domain, f"{domain}:{device_class}")],
            ACTIONS: [
                name for name in item.get(ACTIONS, ()) if any(map(PICKED_ACTIONS[name].fits, services))
            ],
        }
        for field in (field for field, names in fitting.items() if item.get(field) and not names):
            names = ", ".join(labels.by_field[field].get(name, name) for name in item[field])
            yield InvalidInput("choice_not_for", name=names[:200], entity=state.name if state else entity_id)


@callback
def has_place(hass: HomeAssistant, key: str, name: str) -> bool:
    """Return whether there is such an area, device, floor or label."""
    known: dict[str, Callable[[str], object]] = {
        AREAS: ar.async_get(hass).async_get_area,
        DEVICES: dr.async_get(hass).async_get,
        FLOORS: fr.async_get(hass).async_get_floor,
        LABELS: lr.async_get(hass).async_get_label,
    }
    return known[key](name) is not None


@callback
def has_people(hass: HomeAssistant, name: str, options: Mapping[str, Any]) -> bool:
    """Return whether there is the person or the profile of whom a part of a rule speaks."""
    for prefix in (AT_HOME, AWAY, EXCEPT):
        name = name.removeprefix(prefix)
    if name in (SOMEBODY, NOBODY, GUESTS, ADMINISTRATORS):
        return True
    if name.startswith(PROFILE):
        return name.removeprefix(PROFILE) in profile_names(options)
    return hass.states.get(name) is not None or er.async_get(hass).async_get(name) is not None
