"""Entries of an earlier version, or of another integration with the same domain: converted, or refused."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

import probatio

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.selector import (
    BooleanSelector,
    DurationSelector,
    NumberSelector,
    SelectSelector,
    TextSelector,
)

from ..const import (
    CONF_BASE_URL,
    CONF_DIRECT_ENTITIES,
    CONF_MODEL,
    CONF_POLICY_CHOICES,
    LOGGER,
    MINOR_VERSION,
    VERSION,
)
from ..domains import DOMAINS
from ..errors import InvalidInput
from ..issues import report
from ..knowledge.speaker import USER_PREFIX
from ..safety.rules import (
    ALWAYS,
    ASK,
    AT_DEVICE,
    DECISION,
    EXCEPT,
    IN_AREA,
    KINDS,
    NEVER,
    ONLY,
    RULE,
    WHOM,
    as_texts,
    trusting,
)
from .fields import Field, as_items
from .schemas import PAGES

CHECKED: Final = (BooleanSelector, DurationSelector, NumberSelector, SelectSelector, TextSelector)
"""Fields whose values can mean something else elsewhere. Rules and other lists are kept."""


async def async_migrate(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Migrate an entry to the current version; return whether it can be used."""
    missing = [key for key in (CONF_BASE_URL, CONF_MODEL) if not isinstance(entry.data.get(key), str)]
    if entry.version != VERSION or missing:
        found = f"{entry.version}.{entry.minor_version}"
        LOGGER.error(
            "The entry %s (version %s) belongs to something else: remove it and add the agent again",
            entry.title,
            found,
        )
        report(
            hass,
            f"entry_refused_{entry.entry_id}",
            "entry_refused",
            fix={"entry_id": entry.entry_id},
            title=entry.title,
            version=found,
        )
        return False
    if entry.minor_version >= MINOR_VERSION:
        return True
    options, dropped = converted(entry.options)
    options = await _async_without_profiles(hass, options)
    for agent in entry.subentries.values():
        hass.config_entries.async_update_subentry(
            entry, agent, data=await _async_without_profiles(hass, agent.data)
        )
    hass.config_entries.async_update_entry(entry, options=options, minor_version=MINOR_VERSION)
    if dropped:
        LOGGER.warning("These options of %s have their defaults now: %s", entry.title, ", ".join(dropped))
        report(
            hass,
            f"options_converted_{entry.entry_id}",
            "options_converted",
            persistent=True,
            fix={"entry_id": entry.entry_id},
            title=entry.title,
            options="\n".join(f"- `{key}`: `{str(value)[:40]}`" for key, value in dropped.items()),
        )
    return True


def converted(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the usable options and the unusable ones, such as a distance instead of a similarity."""
    fields = {field.key: field for page in PAGES.values() for field in page}
    kept: dict[str, Any] = {}
    dropped: dict[str, Any] = {}
    for key, value in options.items():
        if key == CONF_DIRECT_ENTITIES:
            kept[key] = _entities(value)
        elif key not in fields or _fits(fields[key], value):
            kept[key] = value
        else:
            dropped[key] = value
    return kept, dropped


PROFILES: Final = "policy_profiles"
PROFILE: Final = "profile:"
"""How a profile of that name was named by a rule."""
LISTS: Final = {"only": ONLY, "blocked": NEVER, "restricted": ASK, "allowed": ALWAYS}
"""The lists of rules in text that a profile had: what each decides."""


async def _async_without_profiles(hass: HomeAssistant, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with a rule in place of each list of a profile, and its people in place of its name.

    Home Agent had profiles until the end of November 2026.
    """
    changed = dict(options)
    profiles = as_items(changed.pop(PROFILES, []))
    people: dict[str, list[str]] = {}
    rules: list[dict[str, Any]] = []
    for profile in profiles:
        whom: list[str] = []
        for name in as_texts(profile.get("persons")):
            # A rule for somebody unknown would be for everybody.
            if er.async_get(hass).async_get(name) is not None or hass.states.get(name) is not None:
                whom.append(name)
            elif (user := await hass.auth.async_get_user(name)) is not None:
                whom.append(f"{USER_PREFIX}{user.id}")
        for prefix, field in ((AT_DEVICE, "devices"), (IN_AREA, "areas")):
            whom += [f"{prefix}{name}" for name in as_texts(profile.get(field))]
        people.setdefault(str(profile.get("name") or ""), []).extend(whom)
        for field, decision in LISTS.items():
            texts = [text.strip().lower() for text in as_texts(profile.get(field))]
            kinds = list(filter(RULE.match, texts))
            if decision == ALWAYS:
                running = [facts.name for facts in DOMAINS.values() if facts.runs]
                # Of a whole domain whose things run others.
                kinds = [
                    trusting(kind) if any(fnmatchcase(name, kind) for name in running) else kind
                    for kind in kinds
                ]
            if whom and kinds:
                rules.append({DECISION: decision, KINDS: kinds, WHOM: whom})
    picked = [_with_people(item, people) for item in as_items(changed.get(CONF_POLICY_CHOICES, []))]
    if rules or picked:
        changed[CONF_POLICY_CHOICES] = [*filter(None, picked), *rules]
    return changed


def _with_people(item: Mapping[str, Any], people: Mapping[str, list[str]]) -> dict[str, Any] | None:
    """Return a rule with people in place of the names of profiles; None if it is for nobody any more."""
    if not (names := as_texts(item.get(WHOM))):
        return dict(item)
    whom: list[str] = []
    for name in names:
        prefix = EXCEPT if name.startswith(EXCEPT) else ""
        profile = name.removeprefix(prefix)
        named = people.get(profile.removeprefix(PROFILE)) if profile.startswith(PROFILE) else None
        # Nobody is excepted where nobody is left of a profile; a name that is not known does the same.
        whom += [name] if named is None or (prefix and not named) else [f"{prefix}{one}" for one in named]
    for_all = all(name.startswith(EXCEPT) for name in names)
    is_for_nobody = not for_all and all(name.startswith(EXCEPT) for name in whom)
    return None if is_for_nobody else {**item, WHOM: list(dict.fromkeys(whom))}


def _entities(value: Any) -> list[str]:
    """Return the chosen entities, which elsewhere are written with their attributes."""
    items = value if isinstance(value, list) else [value]
    named = (item.get("entity_id") if isinstance(item, Mapping) else item for item in items)
    return [name for name in named if isinstance(name, str) and name]


def _fits(field: Field, value: Any) -> bool:
    if field.secret or not isinstance(field.selector, CHECKED):
        return True
    if isinstance(field.selector, SelectSelector | TextSelector) and field.selector.config.get("multiple"):
        return isinstance(value, list)
    if isinstance(field.selector, BooleanSelector):
        return isinstance(value, bool)
    try:
        field.clean(value if isinstance(field.selector, DurationSelector) else field.selector(value))
    except InvalidInput, probatio.Invalid, TypeError, ValueError, AttributeError:
        return False
    return True
