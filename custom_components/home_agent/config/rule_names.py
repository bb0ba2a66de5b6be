"""The names that a rule of the policy can contain in this home, and suggestions for misspelled rules."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import filter as matching
from typing import Any, Final

from homeassistant.config_entries import ConfigEntry, ConfigEntryState
from homeassistant.const import Platform
from homeassistant.core import Context, CoreState, HomeAssistant, callback
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
    llm,
)
from homeassistant.helpers.entity_platform import DATA_ENTITY_PLATFORM
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.translation import async_get_translations
from homeassistant.loader import Integration, async_get_integrations

from ..const import ASSISTANT, CONF_POLICY_PROFILES, DOMAIN
from ..domains import DOMAINS
from ..errors import InvalidInput
from ..knowledge.house import FLOORS
from ..runtime import Agent
from ..safety.rules import (
    AREAS,
    BLOCKED,
    DEVICES,
    GENERIC_SERVICES,
    LABELS,
    PERSONS,
    RULE,
    RULE_FIELDS,
    as_texts,
    restricted_rules,
)
from ..tools.custom import DATA_CUSTOM_TOOLS
from ..tools.intents import inner_name
from ..tools.outside.other_apis import async_instances

TOOL: Final = "tool:"
PLACES: Final = ("area", "floor", "label", "room")
"""Words before the name of an area that rules do not contain."""
LIKENESS: Final = 0.7
MAX_EXAMPLES: Final = 3
MIN_PART: Final = 4
"""Letters that a text must have before names that contain it are suggested."""
LOADING: Final = (ConfigEntryState.SETUP_IN_PROGRESS, ConfigEntryState.UNLOAD_IN_PROGRESS)

type Names = Mapping[str, frozenset[str]]
"""Names by domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleNames:
    """Everything that a rule can name now."""

    domains: frozenset[str]
    services: Names
    entities: Names
    classes: Names
    tools: frozenset[str] | None = frozenset()
    """Tools that rules apply to; None if an API that has tools does not answer now."""
    own_tools: frozenset[str] = frozenset()
    """Built-in tools, which rules do not apply to."""
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Examples of entities in each area, on each floor and with each label."""
    spoken: Mapping[str, str] = field(default_factory=dict)
    """Entities by their spoken names."""
    loading: bool = False
    """Whether entities that do not exist now may still be added."""

    def has(self, rule: str) -> bool:
        """Return whether a rule matches anything; an entity id is such a rule."""
        if rule.startswith(TOOL):
            return self.tools is None or bool(matching(self.tools, rule.removeprefix(TOOL)))
        head, dot, name = rule.partition(".")
        domain, colon, kind = head.partition(":")
        return any(
            (not colon or bool(matching(self.classes.get(each, ()), kind)))
            and (
                not dot
                or self.loading
                or bool(matching((*self.services.get(each, ()), *self.entities.get(each, ())), name))
            )
            for each in matching(self.domains, domain)
        )

    def error(self, rule: str) -> InvalidInput:
        """Return the problem of a rule that matches nothing, and a suggestion."""
        shown = rule[:60]
        if rule.startswith(TOOL) and matching(self.own_tools, rule.removeprefix(TOOL)):
            return InvalidInput("rule_own_tool", rule=shown)
        kind, _, place = rule.rpartition(":")
        if kind in ("", *PLACES) and (inside := self.places.get(_plain(place))):
            return InvalidInput("rule_place", rule=shown, suggestion=", ".join(inside))
        if suggestion := self.nearest(rule):
            return InvalidInput("rule_near", rule=shown, suggestion=suggestion)
        return InvalidInput("rule_unknown", rule=shown)

    def nearest(self, rule: str) -> str | None:
        """Return the rule that was probably intended."""
        if rule.startswith(TOOL):
            names = {name: f"{TOOL}{name}" for name in self.tools or ()}
            said = rule.removeprefix(TOOL)
        else:
            names, said = dict(self._candidates()), rule
        said = _plain(said.removeprefix("the "))
        if close := get_close_matches(said, names, n=1, cutoff=LIKENESS):
            return names[close[0]]
        part = said.removesuffix("s")
        if len(part) < MIN_PART:
            return None
        return next((text for name, text in names.items() if part in name), None)

    def _candidates(self) -> Iterator[tuple[str, str]]:
        """Yield names with the rule for each; of rules with one name the last counts."""
        yield from ((name, entity_id) for name, entity_id in self.spoken.items())
        for domain, names in self.entities.items():
            yield from ((name, f"{domain}.{name}") for name in names)
            yield from ((f"{domain}.{name}", f"{domain}.{name}") for name in names)
        for domain, names in self.services.items():
            yield from ((name, f"{domain}.{name}") for name in names if name not in GENERIC_SERVICES)
            yield from ((f"{domain}.{name}", f"{domain}.{name}") for name in names)
        for domain, names in self.classes.items():
            yield from ((f"{domain}:{name}", f"{domain}:{name}") for name in names)
        for rule in restricted_rules():
            yield rule.rpartition(":")[2].rpartition(".")[2], rule
        yield from ((domain, domain) for domain in self.domains)


async def async_rule_names(
    hass: HomeAssistant, rules: Iterable[str], entry: ConfigEntry | Agent | None = None
) -> RuleNames:
    """Return the names that rules can use now, as far as these rules need them."""
    rules = list(rules)
    entities = _entities(hass)
    services = _services(hass)
    domains = {*map(str, Platform), *entities, *services}
    domains |= {rule.partition(":")[0].partition(".")[0] for rule in (*restricted_rules(), *BLOCKED)}
    read = [rule for rule in rules if RULE.match(rule) and not rule.startswith(TOOL)]
    named = {rule.partition(".")[0].partition(":")[0] for rule in read}
    wanted = {each for one in named for each in (*matching(domains, one), one)}
    # What an integration offers is known even while it is not loaded.
    integrations = await async_get_integrations(hass, wanted)
    asked = [domain for domain, each in integrations.items() if isinstance(each, Integration)]
    classes = _classes(hass)
    for key in await async_get_translations(hass, "en", "services", asked):
        _, domain, _, service, *_ = key.split(".")
        services.setdefault(domain, set()).add(service)
    for key in await async_get_translations(hass, "en", "entity_component", asked):
        _, domain, _, kind, *_ = key.split(".")
        classes.setdefault(domain, set()).add(kind)
    wants_tools = any(rule.startswith(TOOL) for rule in rules)
    own, others = await _async_tools(hass, entry) if wants_tools else (frozenset(), frozenset())
    return RuleNames(
        domains=frozenset(domains | services.keys()),
        services={domain: frozenset(names) for domain, names in services.items()},
        entities={domain: frozenset(names) for domain, names in entities.items()},
        classes={domain: frozenset(names - {"_"}) for domain, names in classes.items()},
        tools=others,
        own_tools=own,
        places=_places(hass, {_plain(rule.rpartition(":")[2]) for rule in rules}),
        spoken={state.name.casefold(): state.entity_id for state in hass.states.async_all()},
        loading=is_loading(hass),
    )


@callback
def is_loading(hass: HomeAssistant) -> bool:
    """Return whether entities may still come that the registry does not know.

    An integration that was set up once has its entities in the registry, whatever becomes of it now.
    """
    if hass.state is not CoreState.running:
        return True
    registry = er.async_get(hass)
    for entry in hass.config_entries.async_entries(include_disabled=False):
        if entry.domain == DOMAIN:
            continue
        never = not er.async_entries_for_config_entry(registry, entry.entry_id)
        if entry.state in LOADING or (entry.state is ConfigEntryState.SETUP_RETRY and never):
            return True
    # What follows has no public name: components that are being set up, platforms of the YAML that try again.
    components: Mapping[str, asyncio.Future[bool]] = hass.data.get("setup_tasks", {})
    if any(not task.done() for domain, task in components.items() if domain != DOMAIN):
        return True
    return any(
        getattr(platform, "_async_cancel_retry_setup", None) is not None
        for platforms in hass.data.get(DATA_ENTITY_PLATFORM, {}).values()
        for platform in platforms
    )


def _plain(text: str) -> str:
    return text.strip().casefold()


def _entities(hass: HomeAssistant) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entity_id in (*hass.states.async_entity_ids(), *er.async_get(hass).entities):
        domain, _, object_id = entity_id.partition(".")
        found.setdefault(domain, set()).add(object_id)
    return found


def _services(hass: HomeAssistant) -> dict[str, set[str]]:
    """Return the services of the vetted table, and those that are registered."""
    found = {domain: set(services) for domain, services in hass.services.async_services_internal().items()}
    for facts in DOMAINS.values():
        if services := facts.services | facts.writes | facts.reads:
            found.setdefault(facts.name, set()).update(services)
    return found


def _classes(hass: HomeAssistant) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for state in hass.states.async_all():
        if kind := state.attributes.get("device_class"):
            found.setdefault(state.domain, set()).add(str(kind))
    for entry in er.async_get(hass).entities.values():
        if kind := entry.device_class or entry.original_device_class:
            found.setdefault(entry.domain, set()).add(kind)
    return found


def _places(hass: HomeAssistant, wanted: Collection[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    areas, floors = ar.async_get(hass).async_list_areas(), fr.async_get(hass).async_list_floors()
    labels = lr.async_get(hass).async_list_labels()
    known: list[tuple[str, str, Iterable[str]]] = [
        *(("area_id", area.id, (area.name, *area.aliases)) for area in areas),
        *(("floor_id", floor.floor_id, (floor.name, *floor.aliases)) for floor in floors),
        *(("label_id", label.label_id, (label.name,)) for label in labels),
    ]
    for key, place, names in known:
        called = {_plain(name) for name in (place, *names)}.intersection(wanted)
        if called and (inside := _inside(hass, key, place)):
            found |= dict.fromkeys(called, inside)
    return found


def _inside(hass: HomeAssistant, key: str, place: str) -> list[str]:
    """Return some entities of a place, those that can be controlled first."""
    selected = async_extract_referenced_entity_ids(hass, TargetSelection({key: [place]}))
    everything = {*selected.referenced, *selected.indirectly_referenced}
    in_order = sorted(everything, key=lambda each: (not DOMAINS[each.partition(".")[0]].services, each))
    return in_order[:MAX_EXAMPLES]


async def _async_tools(
    hass: HomeAssistant, entry: ConfigEntry | Agent | None
) -> tuple[frozenset[str], frozenset[str] | None]:
    """Return the built-in tools of an agent, and the tools of others that rules apply to."""
    own: frozenset[str] = frozenset()
    if entry is not None and entry.state is ConfigEntryState.LOADED:
        custom_names = {recipe.name for recipe in hass.data[DATA_CUSTOM_TOOLS].known()}
        own = frozenset(name.lower() for name in entry.runtime_data.handler.tools if name not in custom_names)
    custom = hass.data.get(DATA_CUSTOM_TOOLS)
    names = {recipe.name for recipe in custom.known()} if custom else set()
    names |= {wrong.name for wrong in custom.wrong.values()} if custom else set()
    apis = [api.id for api in llm.async_get_apis(hass) if api.id != DOMAIN]
    # Some APIs list their tools for administrators only.
    owner = await hass.auth.async_get_owner()
    context = Context(user_id=owner.id if owner else None)
    llm_context = llm.LLMContext(DOMAIN, context, hass.config.language, ASSISTANT, None)
    instances = await async_instances(hass, apis, llm_context)
    silent = len(instances) < len(apis) or any(not one.recipes for one in (custom.imports if custom else ()))
    names |= {inner_name(tool) for instance in instances for tool in instance.tools}
    return own, None if silent else frozenset(name.lower() for name in names)


def rules_of(option: str, value: object) -> Iterator[str]:
    """Yield the rules of an option of the policy."""
    if option != CONF_POLICY_PROFILES:
        yield from as_texts(value)
        return
    for profile in profiles_of(value):
        for key in RULE_FIELDS:
            yield from as_texts(profile.get(key))


def profiles_of(value: object) -> list[Mapping[str, Any]]:
    """Return the profiles of the option."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, Mapping)]


def whom(profile: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the people, devices and areas of a profile, each with its field."""
    for key in (PERSONS, DEVICES, AREAS):
        yield from ((key, text) for text in as_texts(profile.get(key)))


async def async_applies(hass: HomeAssistant, field: str, name: str) -> bool:
    """Return whether a rule or a profile can apply to a person, a device, an area or a label."""
    if field == DEVICES:
        return dr.async_get(hass).async_get(name) is not None
    if field == LABELS:
        return lr.async_get(hass).async_get_label(name) is not None
    if field == FLOORS:
        return fr.async_get(hass).async_get_floor(name) is not None
    if field == AREAS:
        return ar.async_get(hass).async_get_area(name) is not None
    if (state := hass.states.get(name)) is not None:
        return bool(state.attributes.get("user_id"))
    registered = er.async_get(hass).async_get(name)
    return registered is not None or await hass.auth.async_get_user(name) is not None
