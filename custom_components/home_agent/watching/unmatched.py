"""Repair issues for names in the options that match nothing any more, such as a rule for a renamed lock.

A rule that matches nothing is refused when it is typed, see config/checks.py. Later the entity may be renamed
or removed, and the rule then protects nothing although no one has changed it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from homeassistant.config_entries import SIGNAL_CONFIG_ENTRY_CHANGED, ConfigEntry, ConfigEntryChange
from homeassistant.const import EVENT_COMPONENT_LOADED, EVENT_SERVICE_REGISTERED, EVENT_SERVICE_REMOVED
from homeassistant.core import (
    CALLBACK_TYPE,
    Event,
    EventStateChangedData,
    HomeAssistant,
    callback,
)
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    issue_registry as ir,
    label_registry as lr,
)
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.helpers.start import async_at_started
from homeassistant.helpers.translation import async_get_translations
from homeassistant.util.event_type import EventType

from .. import const
from ..config.rule_names import async_has_people, async_rule_names, has_place
from ..config.schemas import label_path, page_of
from ..const import DEFAULTS, DOMAIN
from ..idle import Calm
from ..issues import report, withdraw
from ..knowledge.house import AREAS, DEVICES, EXCLUDED, FLOORS, LABELS, LISTED
from ..knowledge.speaker import DEVICE, PERSON
from ..lifecycle import stored_options
from ..proactive.rules import ARRIVALS, ENTITIES, PERSONS as TOLD
from ..runtime import Agent
from ..safety.rules import (
    ADMINISTRATORS,
    AT_HOME,
    AWAY,
    EXCEPT,
    GUEST_MODE,
    GUESTS,
    KINDS,
    NOBODY,
    PRESENCE,
    SOMEBODY,
    TARGETS as PICKED,
    WHOM,
    as_texts,
)
from ..settings import NAMING
from ..tools.recipients import TARGETS

CALM_SECONDS: Final = 30
"""How long what came with a change may take before names are looked at."""
CHANGES: Final[tuple[EventType[Any] | str, ...]] = (
    er.EVENT_ENTITY_REGISTRY_UPDATED,
    dr.EVENT_DEVICE_REGISTRY_UPDATED,
    ar.EVENT_AREA_REGISTRY_UPDATED,
    fr.EVENT_FLOOR_REGISTRY_UPDATED,
    lr.EVENT_LABEL_REGISTRY_UPDATED,
    EVENT_COMPONENT_LOADED,
    EVENT_SERVICE_REGISTERED,
    EVENT_SERVICE_REMOVED,
)
"""Events after which a name may match something, or no longer."""
PLACES: Final = (DEVICES, AREAS, LABELS, FLOORS, DEVICE)
"""Fields whose names are ids of devices, areas, labels and floors."""
PEOPLE: Final = (PRESENCE, WHOM)
"""Fields with persons, devices and rooms, some of them after a prefix."""
PREFIXES: Final = (AT_HOME, AWAY, EXCEPT)
NO_NAMES: Final = frozenset((SOMEBODY, NOBODY, GUESTS, GUEST_MODE, ADMINISTRATORS))
"""Values of these fields that cannot stop matching."""
MAX_LISTED: Final = 20

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    const.CONF_POLICY_CHOICES: (KINDS, *PICKED, *PEOPLE),
    const.CONF_VISIBLE: LISTED,
    const.CONF_CONTROLLABLE: LISTED,
    const.CONF_POLICY_PINS: (PERSON,),
    const.CONF_DEVICE_PERSONS: (DEVICE, PERSON),
    const.CONF_NOTIFY_TARGETS: (PERSON, TARGETS),
    const.CONF_TELEGRAM_CHATS: (PERSON,),
    const.CONF_PROACTIVE_RULES: (ENTITIES, TOLD, ARRIVALS),
}
"""The keys of names in the items of an option; the items of the others are names themselves."""
SWITCHES: Final = {
    const.CONF_TELEGRAM_CHATS: const.CONF_TELEGRAM,
    const.CONF_PROACTIVE_RULES: const.CONF_PROACTIVE,
}
"""Options that count only while another one is on."""


class NamedThing(NamedTuple):
    """One name in the options."""

    option: str
    field: str
    """The key of the item that contains it; empty for a plain text."""
    name: str


def named_in(options: Mapping[str, Any], keys: Iterable[str]) -> Iterator[NamedThing]:
    """Yield the names in some of the options."""
    for option in keys:
        if option in SWITCHES and not options.get(SWITCHES[option], DEFAULTS[SWITCHES[option]]):
            continue
        value = options.get(option) or []
        items = [value] if isinstance(value, Mapping | str) else list(value)
        taken_out = [item[EXCLUDED] for item in items if isinstance(item, Mapping) and EXCLUDED in item]
        for item in [*items, *taken_out]:
            if not isinstance(item, Mapping):
                yield NamedThing(option, "", str(item))
                continue
            for field in FIELDS.get(option, ()):
                texts = as_texts(item.get(field))
                names = map(_without_prefix, texts) if field in PEOPLE else texts
                yield from (NamedThing(option, field, name) for name in names if name not in NO_NAMES)


def _without_prefix(text: str) -> str:
    return text.removeprefix(_prefix_of(text))


def _prefix_of(text: str) -> str:
    return next((prefix for prefix in PREFIXES if text.startswith(prefix)), "")


def with_renamed(options: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """Return the options with new names in place of old ones."""
    naming = {option for keys in NAMING.values() for option in keys}
    return {key: _replaced(value, renamed) if key in naming else value for key, value in options.items()}


def _replaced(value: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        name = _without_prefix(value)
        return renamed.get(value) or _prefix_of(value) + renamed.get(name, name)
    if isinstance(value, Mapping):
        return {key: _replaced(item, renamed) for key, item in value.items()}
    return [_replaced(item, renamed) for item in value] if isinstance(value, list) else value


def renamed_of(data: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the entities that were renamed, as an issue keeps them: old id, new id."""
    return {old: str(new) for old, new in (data or {}).items() if "." in old}


@callback
def async_watch_names(hass: HomeAssistant, entry: Agent) -> CALLBACK_TYPE:
    """Look at the names when Home Assistant has started and when the home changes; return how to stop."""
    issue_ids = {key: f"{key}_{entry.entry_id}" for key in NAMING}
    named = {key: list(named_in(stored_options(entry), keys)) for key, keys in NAMING.items()}
    entity_ids = {one.name for each in named.values() for one in each if "." in one.name}
    issues = (ir.async_get(hass).async_get_issue(DOMAIN, issue_id) for issue_id in issue_ids.values())
    renamed = {old: new for issue in issues if issue for old, new in renamed_of(issue.data).items()}

    async def async_check() -> None:
        """Raise the issues, renew them or take them back.

        While something loads, what is unknown may still come, and an issue stays as it is.
        """
        texts = [one.name for each in named.values() for one in each if one.field not in (*PLACES, *PEOPLE)]
        names = await async_rule_names(hass, texts)

        async def async_matches(one: NamedThing) -> bool:
            if one.field in PEOPLE:
                return await async_has_people(hass, one.name)
            if one.field in PLACES:
                return has_place(hass, DEVICES if one.field == DEVICE else one.field, one.name)
            return names.has(one.name)

        for key, each in named.items():
            gone = [one for one in each if not await async_matches(one)]
            if gone:
                now = {one.name: new for one in gone if names.has(new := renamed.get(one.name, ""))}
                await async_report(key, gone, now)
            elif not names.loading:
                withdraw(hass, issue_ids[key])

    async def async_report(key: str, gone: list[NamedThing], now: Mapping[str, str]) -> None:
        """Tell what no longer matches, and what it is called now."""
        labels = await async_get_translations(hass, hass.config.language, "options", {DOMAIN})
        lines = []
        for one in dict.fromkeys(gone):
            label = labels.get(f"component.{DOMAIN}.options.step.{label_path(one.option)}", one.option)
            new = f" → `{now[one.name]}`" if one.name in now else ""
            lines.append(f"- {label}: `{one.name}`{new}")
        left = next((one for one in gone if one.name not in now), None)
        report(
            hass,
            issue_ids[key],
            key,
            severity=ir.IssueSeverity.ERROR if key == "rules_unmatched" else ir.IssueSeverity.WARNING,
            persistent=True,
            fix={"entry_id": entry.entry_id, "page": page_of(left.option) if left else "", **now},
            title=entry.title,
            names="\n".join(lines[:MAX_LISTED]),
        )

    @callback
    def look(_hass: HomeAssistant | None = None) -> None:
        entry.async_create_background_task(hass, async_check(), "home_agent names")

    @callback
    def note_renamed(event: Event[er.EventEntityRegistryUpdatedData]) -> None:
        old = event.data.get("old_entity_id") if event.data["action"] == "update" else None
        for name in entity_ids:
            if old is not None and old in (name, renamed.get(name)):
                renamed[name] = event.data["entity_id"]

    @callback
    def on_state(event: Event[EventStateChangedData]) -> None:
        if event.data["old_state"] is None or event.data["new_state"] is None:
            calm.wait()

    @callback
    def on_config_entry(_change: ConfigEntryChange, changed: ConfigEntry) -> None:
        if changed.domain != DOMAIN:
            calm.wait()

    calm = Calm(hass, CALM_SECONDS, look)
    stops = [
        async_at_started(hass, look),
        hass.bus.async_listen(er.EVENT_ENTITY_REGISTRY_UPDATED, note_renamed),
        *(hass.bus.async_listen(event, calm.wait) for event in CHANGES),
        async_track_state_change_event(hass, entity_ids, on_state),
        async_dispatcher_connect(hass, SIGNAL_CONFIG_ENTRY_CHANGED, on_config_entry),
        calm.stop,
    ]

    @callback
    def stop() -> None:
        """Stop; the issues stay, because they know what was renamed."""
        for each in stops:
            each()

    return stop
