"""Repair issues for names in the options that match nothing any more, such as a rule for a renamed lock.

A rule that matches nothing is refused when it is typed, see config/checks.py. Later the entity may be renamed
or removed, and the rule then protects nothing although no one has changed it.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from homeassistant.config_entries import SIGNAL_CONFIG_ENTRY_CHANGED, ConfigEntry, ConfigEntryChange
from homeassistant.const import (
    EVENT_COMPONENT_LOADED,
    EVENT_SERVICE_REGISTERED,
    EVENT_SERVICE_REMOVED,
)
from homeassistant.core import (
    CALLBACK_TYPE,
    CoreState,
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

from ..config.rule_names import RuleNames, async_has_people, async_rule_names, has_place
from ..config.schemas import label_path, page_of
from ..const import (
    CONF_CONTROLLABLE,
    CONF_DEVICE_PERSONS,
    CONF_NOTIFY_TARGETS,
    CONF_POLICY_CHOICES,
    CONF_POLICY_PINS,
    CONF_PROACTIVE,
    CONF_PROACTIVE_RULES,
    CONF_TELEGRAM,
    CONF_TELEGRAM_CHATS,
    CONF_VISIBLE,
    DEFAULTS,
    DOMAIN,
)
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
from . import Calm

CALM_SECONDS: Final = 30
"""How long what came with a change may take before names are looked at."""
PLACES: Final = (DEVICES, AREAS, LABELS, FLOORS, DEVICE)
"""Fields whose names are ids of devices, areas, labels and floors."""
PEOPLE: Final = (PRESENCE, WHOM)
"""Fields with persons, devices and rooms, some of them after a prefix."""
PREFIXES: Final = (AT_HOME, AWAY, EXCEPT)
NO_NAMES: Final = frozenset((SOMEBODY, NOBODY, GUESTS, GUEST_MODE, ADMINISTRATORS))
"""Values of these fields that cannot stop matching."""
MAX_LISTED: Final = 20

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    CONF_POLICY_CHOICES: (KINDS, *PICKED, *PEOPLE),
    CONF_VISIBLE: LISTED,
    CONF_CONTROLLABLE: LISTED,
    CONF_POLICY_PINS: (PERSON,),
    CONF_DEVICE_PERSONS: (DEVICE, PERSON),
    CONF_NOTIFY_TARGETS: (PERSON, TARGETS),
    CONF_TELEGRAM_CHATS: (PERSON,),
    CONF_PROACTIVE_RULES: (ENTITIES, TOLD, ARRIVALS),
}
"""The keys of names in the items of an option; the items of the others are names themselves."""
SWITCHES: Final = {CONF_TELEGRAM_CHATS: CONF_TELEGRAM, CONF_PROACTIVE_RULES: CONF_PROACTIVE}
"""Options that count only while another one is on."""


@dataclass(frozen=True, slots=True)
class NamedThing:
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


def issue_id(key: str, entry: Agent) -> str:
    """Return the id of an agent's issue."""
    return f"{key}_{entry.entry_id}"


def renamed_of(data: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the entities that were renamed, as an issue keeps them: old id, new id."""
    return {old: str(new) for old, new in (data or {}).items() if "." in old}


@callback
def async_watch_names(hass: HomeAssistant, entry: Agent) -> CALLBACK_TYPE:
    """Look at the names when Home Assistant has started and when the home changes; return how to stop."""
    return _NameWatch(hass, entry).async_start()


class _NameWatch:
    """Looks after the names in one agent's options; they do not change while it runs."""

    def __init__(self, hass: HomeAssistant, entry: Agent) -> None:
        self._hass = hass
        self._entry = entry
        self._named = {key: list(named_in(stored_options(entry), keys)) for key, keys in NAMING.items()}
        names = {one.name for named in self._named.values() for one in named}
        self._exact = names | {name.partition(":")[2] for name in names}
        issues = (ir.async_get(hass).async_get_issue(DOMAIN, issue_id(key, entry)) for key in NAMING)
        self._renamed = {old: new for issue in issues if issue for old, new in renamed_of(issue.data).items()}
        self._left: set[str] = set()
        """Names that the registry has given up, whose states go a moment later."""
        self._lock = asyncio.Lock()
        self._calm = Calm(hass, CALM_SECONDS, self._async_look)

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Begin; return how to stop."""
        hass, listen = self._hass, self._hass.bus.async_listen
        entity_ids = [name for name in self._exact if "." in name]
        wait = self._calm.wait  # something may match now, or no longer
        stops = [
            async_at_started(hass, self._async_look),
            listen(er.EVENT_ENTITY_REGISTRY_UPDATED, self._on_entity),
            listen(dr.EVENT_DEVICE_REGISTRY_UPDATED, self._on_place),
            listen(ar.EVENT_AREA_REGISTRY_UPDATED, self._on_place),
            listen(fr.EVENT_FLOOR_REGISTRY_UPDATED, self._on_place),
            listen(lr.EVENT_LABEL_REGISTRY_UPDATED, self._on_place),
            listen(EVENT_COMPONENT_LOADED, wait),
            listen(EVENT_SERVICE_REGISTERED, wait),
            listen(EVENT_SERVICE_REMOVED, wait),
            async_track_state_change_event(hass, entity_ids, self._on_state),
            async_dispatcher_connect(hass, SIGNAL_CONFIG_ENTRY_CHANGED, self._on_config_entry),
            self._calm.stop,
        ]

        @callback
        def stop() -> None:
            """Stop; the issues stay, because they know what was renamed."""
            for each in stops:
                each()

        return stop

    @callback
    def _on_entity(self, event: Event[er.EventEntityRegistryUpdatedData]) -> None:
        """Note a new id of an entity that is named; others matter to patterns at most."""
        data, meant = event.data, set[str]()
        old = data.get("old_entity_id") if data["action"] == "update" else None
        if isinstance(old, str):
            meant = {old, *(name for name, new in self._renamed.items() if new == old)} & self._exact
            self._renamed |= dict.fromkeys(meant, data["entity_id"])
            self._left.add(old)
        if data["action"] == "remove":
            self._left.add(data["entity_id"])
        else:
            self._left.discard(data["entity_id"])
        if meant or data["entity_id"] in self._exact:
            self._async_look()
        elif old or data["action"] != "update":
            self._calm.wait()

    @callback
    def _on_place(self, event: Event[Any]) -> None:
        """Look at once when a device, an area, a floor or a label that is named was removed."""
        data = event.data
        keys = ("device_id", "area_id", "floor_id", "label_id")
        place = next((data[key] for key in keys if data.get(key)), None)
        if data["action"] == "remove" and place in self._exact:
            self._async_look()

    @callback
    def _on_state(self, event: Event[EventStateChangedData]) -> None:
        """An entity came or went that the registry may not know."""
        came, went = event.data["old_state"] is None, event.data["new_state"] is None
        if came or (went and event.data["entity_id"] in self._left):
            self._async_look()
        elif went:
            self._calm.wait()  # it may be back in a moment, when a file is read again

    @callback
    def _on_config_entry(self, _change: ConfigEntryChange, entry: ConfigEntry) -> None:
        if entry.domain != DOMAIN:
            self._calm.wait()

    @callback
    def _async_look(self, _hass: HomeAssistant | None = None) -> None:
        if self._hass.state is CoreState.running:
            self._entry.async_create_background_task(self._hass, self._async_check(), "home_agent names")

    async def _async_check(self) -> None:
        """Raise the issues, renew them or take them back.

        While something loads, what is unknown may still come, and an issue stays as it is.
        """
        async with self._lock:
            all_named = [one for each in self._named.values() for one in each]
            rules = [one.name for one in all_named if one.field not in (*PLACES, *PEOPLE)]
            names = await async_rule_names(self._hass, rules)
            now = replace(names, loading=False)
            for key, each in self._named.items():
                gone = [one for one in each if not await self._async_matches(now, one)]
                if not gone:
                    withdraw(self._hass, issue_id(key, self._entry))
                elif names.loading:
                    sure = (*PLACES, *PEOPLE)  # of these nothing may still come
                    gone = [
                        one
                        for one in gone
                        if one.name in self._renamed or one.field in sure or not names.has(one.name)
                    ]
                if gone:
                    await self._async_report(key, gone, now)

    async def _async_matches(self, names: RuleNames, one: NamedThing) -> bool:
        if one.field in PEOPLE:
            return await async_has_people(self._hass, one.name)
        if one.field in PLACES:
            return has_place(self._hass, DEVICES if one.field == DEVICE else one.field, one.name)
        return names.has(one.name)

    async def _async_report(self, key: str, gone: list[NamedThing], names: RuleNames) -> None:
        """Tell what no longer matches, and what it is called now."""
        missing = {one.name for one in gone}
        renamed = {old: new for old, new in self._renamed.items() if old in missing and names.has(new)}
        labels = await async_get_translations(self._hass, self._hass.config.language, "options", {DOMAIN})
        lines = []
        for one in dict.fromkeys(gone):
            label = labels.get(f"component.{DOMAIN}.options.step.{label_path(one.option)}", one.option)
            line = f"- {label}: `{one.name}`"
            if one.name in renamed:
                line += f" → `{renamed[one.name]}`"
            lines.append(line)
        left = [one for one in gone if one.name not in renamed]
        page = page_of(left[0].option) if left else ""
        report(
            self._hass,
            issue_id(key, self._entry),
            key,
            severity=ir.IssueSeverity.ERROR if key == "rules_unmatched" else ir.IssueSeverity.WARNING,
            persistent=True,
            fix={"entry_id": self._entry.entry_id, "page": page, **renamed},
            title=self._entry.title,
            names="\n".join(lines[:MAX_LISTED]),
        )
