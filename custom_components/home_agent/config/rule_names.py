"""The names that a rule of the policy can contain in this home."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
from .fields import as_items

TOOL: Final = "tool:"
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
        """Return the problem of a rule that matches nothing."""
        is_own = rule.startswith(TOOL) and matching(self.own_tools, rule.removeprefix(TOOL))
        return InvalidInput("rule_own_tool" if is_own else "rule_unknown", rule=rule[:60])


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
    return False


def _entities(hass: HomeAssistant) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entity_id in (*hass.states.async_entity_ids(), *er.async_get(hass).entities):
        domain, _, object_id = entity_id.partition(".")
        found.setdefault(domain, set()).add(object_id)
    return found


def _services(hass: HomeAssistant) -> dict[str, set[str]]:
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
    for profile in as_items(value):
        for key in RULE_FIELDS:
            yield from as_texts(profile.get(key))


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
