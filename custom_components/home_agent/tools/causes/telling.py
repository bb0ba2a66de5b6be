"""Changes and what brought them about, in the words of the home and as far as the speaker may know them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import area_registry as ar, device_registry as dr

from ...context.states import describe_state
from ...knowledge.house import HouseSnapshot
from ...knowledge.persons import persons
from ...safety.firewall.own_values import is_own_state, without_outside
from ...texts import clean
from ...timespans import format_local
from ..differences import differences
from .recorded import Change
from .traces import Trigger

NAME_CHARS: Final = 40
NOBODY: Final = "not through Home Assistant: by hand at the device, in its own app, or by itself"
REPORTING: Final = frozenset({"binary_sensor", "sensor", "event"})
"""Domains whose entities report what they measure, so that nothing brought a change about."""
SOMEBODY: Final = "a member of the household"
ANOTHER: Final = "another text"
NOT_EXPOSED: Final = "something that is not exposed"
CONNECTED: Final = "an integration or an app that is connected to Home Assistant"
HOUSEHOLD: Final = frozenset({"automation", "script", "scene"})
"""Domains that the household itself wrote; their names are no secret to its members."""
TRIGGERS: Final = frozenset(
    {"time", "time_pattern", "sun", "homeassistant", "webhook", "event", "mqtt", "conversation", "tag"}
    | {"calendar", "template"}
)
"""Kinds of triggers that say by themselves why an automation ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who is told, and what they may know."""

    hass: HomeAssistant
    house: HouseSnapshot
    sees: Callable[[str], bool]
    """Whether an entity is exposed and the speaker may read it."""
    may_read: Callable[[str], bool]
    """Whether the speaker may read an entity, exposed or not."""
    is_member: bool
    """Whether the speaker is known as a member of the household."""
    names_people: bool
    """Whether the speaker, and the model, may know the names of people."""
    narrows: bool
    """Whether the agent has lists, which leave out what the household itself wrote."""
    user_id: str | None
    accounts: Mapping[str, str | None]
    """Names of the accounts that have no person, by their id; None for a service's own."""

    def name_of(self, entity_id: str) -> str | None:
        """Return the name of an entity; None if the speaker may not know it."""
        domain = entity_id.partition(".")[0]
        state = self.hass.states.get(entity_id)
        if not self.sees(entity_id) and not (
            self.is_member and not self.narrows and domain in HOUSEHOLD and self.may_read(entity_id)
        ):
            return None
        record = self.house.entities.get(entity_id)
        if record is None and state is None:
            return None
        return clean(record.name if record else state.name if state else "", NAME_CHARS)

    def state_of(self, entity_id: str, text: str | None) -> str | None:
        """Return a state in words; None for text from outside."""
        now = self.hass.states.get(entity_id)
        if text is None or now is None:
            return None
        return self.shown(State(entity_id, text, _kept(now, text), validate_entity_id=False))

    def shown(self, state: State) -> str | None:
        """Return a state in words; None for text from outside."""
        if not is_own_state(self.hass, state):
            return None
        own = without_outside(self.hass, state)
        return describe_state(own, self.house.entities.get(state.entity_id), aged=False)

    def person(self, user_id: str | None) -> str:
        """Return who a user is."""
        if user_id is not None and user_id in self.accounts and self.accounts[user_id] is None:
            return CONNECTED
        if user_id is None or not self.names_people:
            return SOMEBODY
        name = next((one.name for one in persons(self.hass) if one.user_id == user_id), None)
        if name is None:
            account = self.accounts.get(user_id)
            return f"the account {clean(account, NAME_CHARS)}" if account else "an account that is gone"
        asks = " (who asks)" if user_id == self.user_id else ""
        return f"{clean(name, NAME_CHARS)}{asks}"

    def place(self, device_id: str | None) -> str:
        """Return the room of a device, with a preposition; empty if it has none that may be known."""
        device = dr.async_get(self.hass).async_get(device_id) if device_id else None
        area_id = device.area_id if device else None
        if not self.is_member or (self.narrows and area_id not in self.house.areas):
            return ""
        area = ar.async_get(self.hass).async_get_area(area_id) if area_id else None
        return f" in {clean(area.name, NAME_CHARS)}" if area else ""

    def who_asked(self, user_id: str | None) -> str:
        """Return who a request came from."""
        return self.person(user_id) if user_id else "somebody"

    def ran(self, entity_id: str, *, is_first: bool = True) -> str:
        """Return a script, a scene or an automation as a cause; `is_first` if nothing is between."""
        return f"{'' if is_first else 'started '}by {self.which(entity_id)}"

    def which(self, entity_id: str) -> str:
        """Return a script, a scene or an automation with its name, if the speaker may know it."""
        domain, name = entity_id.partition(".")[0], self.name_of(entity_id)
        return f"{domain} {name}" if name else f"{'an' if domain[0] in 'aeiou' else 'a'} {domain}"

    def because(self, trigger: Trigger) -> str:
        """Return the trigger of an automation as a reason; empty if it is not known."""
        if trigger.entity_id and trigger.platform not in ("time", "conversation"):
            return f"because {self.changed(trigger.entity_id, trigger.state)}"
        return f"by its {trigger.platform} trigger" if trigger.platform in TRIGGERS else ""

    def changed(self, entity_id: str, state: str | None) -> str:
        """Return what an entity did, without what the speaker may not know."""
        name = self.name_of(entity_id) if self.sees(entity_id) else None
        if name is None:
            return f"{NOT_EXPOSED} changed"
        told = self.state_of(entity_id, state)
        return f"{name} became {told}" if told else f"{name} changed"


def _kept(now: State, text: str) -> Mapping[str, object]:
    """Return the attributes that tell the kind of a state of the past, or all if it is the current one."""
    if now.state == text:
        return now.attributes
    return {
        key: value
        for key, value in now.attributes.items()
        if key in ("device_class", "unit_of_measurement", "options", "friendly_name")
    }


def tell(viewer: Viewer, change: Change, causes: Sequence[str]) -> str:
    """Return a change with its time and what brought it about."""
    told = f"{format_local(change.at)} {_difference(viewer, change)}"
    if not causes and change.after.domain in REPORTING:
        return told
    return ", ".join([told, *(causes or [NOBODY])])


def _difference(viewer: Viewer, change: Change) -> str:
    """Return the states before and after, or the settings that changed."""
    before, after = change.before, change.after
    now = viewer.shown(after) or ANOTHER
    if before is None:
        return now
    if before.state != after.state:
        return f"{viewer.shown(before) or ANOTHER} -> {now}"
    old, new = (without_outside(viewer.hass, state).attributes for state in (before, after))
    return ", ".join(differences(old, new)) or now
