"""The names that a rule of the policy can contain in this home."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from fnmatch import filter as matching
from typing import Final, NamedTuple

from homeassistant.config_entries import ConfigEntryState
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

from ..const import ASSISTANT, CONF_POLICY_CHOICES, DOMAIN
from ..domains import DOMAINS
from ..knowledge.house import AREAS, DEVICES, FLOORS, LABELS
from ..knowledge.speaker import USER_PREFIX
from ..safety.rules import (
    ADMINISTRATORS,
    AT_DEVICE,
    AT_HOME,
    AWAY,
    BLOCKED,
    EXCEPT,
    GUEST_MODE,
    GUESTS,
    IN_AREA,
    KINDS,
    NOBODY,
    RULE,
    SOMEBODY,
    TOOL,
    as_texts,
    restricted_rules,
)
from ..tools.custom import DATA_CUSTOM_TOOLS, CustomTools
from ..tools.intents import inner_name
from ..tools.outside.other_apis import async_instances
from .fields import as_items

LOADING: Final = (ConfigEntryState.SETUP_IN_PROGRESS, ConfigEntryState.UNLOAD_IN_PROGRESS)


class RuleNames(NamedTuple):
    """Everything that a rule can name now."""

    domains: Collection[str]
    names: Mapping[str, Collection[str]]
    """Services and entities by domain."""
    classes: Mapping[str, Collection[str]]
    tools: Collection[str] | None
    """Tools that rules apply to; None if an API that has tools does not answer now."""
    loading: bool
    """Whether entities that do not exist now may still be added."""

    def has(self, rule: str) -> bool:
        """Return whether a rule matches anything; an entity id is such a rule."""
        if rule.startswith(TOOL):
            return self.tools is None or bool(matching(self.tools, rule.removeprefix(TOOL)))
        head, dot, name = rule.partition(".")
        domain, colon, kind = head.partition(":")
        return any(
            (not colon or bool(matching(self.classes.get(each, ()), kind)))
            and (not dot or self.loading or bool(matching(self.names.get(each, ()), name)))
            for each in matching(self.domains, domain)
        )


async def async_rule_names(hass: HomeAssistant, rules: Iterable[str]) -> RuleNames:
    """Return the names that rules can use now, as far as these rules need them."""
    rules, registry = list(rules), er.async_get(hass)
    names: defaultdict[str, set[str]] = defaultdict(set)
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for domain, services in hass.services.async_services_internal().items():
        names[domain].update(services)
    for facts in DOMAINS.values():
        names[facts.name].update(facts.services, facts.writes, facts.reads)
    for entity_id in (*hass.states.async_entity_ids(), *registry.entities):
        domain, _, object_id = entity_id.partition(".")
        names[domain].add(object_id)
    for state in hass.states.async_all():
        if kind := state.attributes.get("device_class"):
            classes[state.domain].add(str(kind))
    for entry in registry.entities.values():
        if kind := entry.device_class or entry.original_device_class:
            classes[entry.domain].add(kind)
    domains = {*map(str, Platform), *(domain for domain, found in names.items() if found)}
    domains |= {rule.partition(":")[0].partition(".")[0] for rule in (*restricted_rules(), *BLOCKED)}
    read = [rule for rule in rules if RULE.match(rule) and not rule.startswith(TOOL)]
    named = {rule.partition(".")[0].partition(":")[0] for rule in read}
    # What an integration offers is known even while it is not loaded.
    wanted = {each for one in named for each in (*matching(domains, one), one)}
    integrations = await async_get_integrations(hass, wanted)
    asked = [domain for domain, each in integrations.items() if isinstance(each, Integration)]
    for category, offered in (("services", names), ("entity_component", classes)):
        for key in await async_get_translations(hass, "en", category, asked):
            _, domain, _, name, *_ = key.split(".")
            offered[domain].add(name)
            if offered is names:
                domains.add(domain)
    tools: set[str] | None = set()
    if any(rule.startswith(TOOL) for rule in rules):
        custom = hass.data.get(DATA_CUSTOM_TOOLS) or CustomTools()
        apis = [api.id for api in llm.async_get_apis(hass) if api.id != DOMAIN]
        # Some APIs list their tools for administrators only.
        owner = await hass.auth.async_get_owner()
        context = Context(user_id=owner.id if owner else None)
        llm_context = llm.LLMContext(DOMAIN, context, hass.config.language, ASSISTANT, None)
        instances = await async_instances(hass, apis, llm_context)
        tools = {recipe.name.lower() for recipe in custom.known()}
        tools |= {wrong.name.lower() for wrong in custom.wrong.values()}
        tools |= {inner_name(tool).lower() for instance in instances for tool in instance.tools}
        if len(instances) < len(apis) or any(not one.recipes for one in custom.imports):
            tools = None
    return RuleNames(
        domains=domains,
        names=names,
        classes={domain: kinds - {"_"} for domain, kinds in classes.items()},
        tools=tools,
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


def rules_of(option: str, value: object) -> list[str]:
    """Return the rules in text of an option of the policy."""
    if option != CONF_POLICY_CHOICES:
        return as_texts(value)
    return [text for item in as_items(value) for text in as_texts(item.get(KINDS))]


@callback
def has_place(hass: HomeAssistant, field: str, name: str) -> bool:
    """Return whether there is such an area, device, floor or label."""
    known: dict[str, Callable[[str], object]] = {
        AREAS: ar.async_get(hass).async_get_area,
        DEVICES: dr.async_get(hass).async_get,
        FLOORS: fr.async_get(hass).async_get_floor,
        LABELS: lr.async_get(hass).async_get_label,
    }
    return known[field](name) is not None


async def async_has_people(hass: HomeAssistant, name: str) -> bool:
    """Return whether there is the person, the device or the room of which a part of a rule speaks."""
    for prefix in (AT_HOME, AWAY, EXCEPT):
        name = name.removeprefix(prefix)
    if name in (SOMEBODY, NOBODY, GUESTS, GUEST_MODE, ADMINISTRATORS):
        return True
    for prefix, field in ((AT_DEVICE, DEVICES), (IN_AREA, AREAS)):
        if name.startswith(prefix):
            return has_place(hass, field, name.removeprefix(prefix))
    if name.startswith(USER_PREFIX):
        return await hass.auth.async_get_user(name.removeprefix(USER_PREFIX)) is not None
    return hass.states.get(name) is not None or er.async_get(hass).async_get(name) is not None
