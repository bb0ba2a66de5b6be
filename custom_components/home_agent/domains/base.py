"""The structure of the facts about a domain, what is derived from them, and what several domains share."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from homeassistant.core import State

from ..errors import ValidationError


class WorkInRooms(NamedTuple):
    """How a kind of machine is sent into single rooms."""

    action: str
    """The action whose `value` parameter lists rooms by area ID."""
    everywhere: frozenset[str]
    """Actions that work in all rooms, so that they become `action` if the person names a room."""
    areas: Callable[[Mapping[str, Any]], Iterable[str]]
    """From the options of an entity in the registry to the IDs of the areas that it can be sent to."""


class Grouping(NamedTuple):
    """How entities of a kind form groups that do the same."""

    join: str
    """The action that adds entities to a group."""
    leave: str
    members: str
    """The parameter and the attribute with a group; its leader is the first."""
    heard: frozenset[str]
    """Services after which the whole group plays."""


ANY: Final = ("*",)
"""All parameters, or all services, of the domain."""
ANY_CLASS: Final = "*"
"""Stands for every device class that is not named, and for none."""
STATE: Final = "state"
"""Stands in for an attribute name and means the state itself."""
UNKNOWN_SERVICE: Final = ""
"""Placeholder for a service that is unknown before it is called."""

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

type Changed = frozenset[str]
"""Names of the attributes that differ, and STATE if the state does."""
type ServiceCalls = Iterator[tuple[str, Mapping[str, Any]] | tuple[str, Mapping[str, Any], str]]
"""Services with their data, and the entity to call where that is another one."""
type RestoreRule = Callable[[FormerState], ServiceCalls]
"""From what an entity showed before a call to the calls that restore it."""
type TakeBackRule = Callable[
    [str, Mapping[str, Any], Collection[str]], tuple[str, Mapping[str, Any]] | str | None
]
"""From a service, its data and the states before it to the call that takes it back, or to the reason why
there is none; None if the states tell what to restore."""


class FormerState(NamedTuple):
    """What an entity showed before a call."""

    entity_id: str
    facts: DomainFacts
    state: str
    attributes: Mapping[str, Any]
    changed: Changed
    """What differs since."""
    after: Mapping[str, Any]
    """The attributes after the call."""


class MeantAction(NamedTuple):
    """What an action means to an entity in the state in which it is."""

    verb: str
    parameters: Mapping[str, Any]
    note: str = ""
    """What the person should hear, without its subject."""


def as_asked(_state: State, verb: str, parameters: Mapping[str, Any]) -> MeantAction:
    """Return that an action means the same in every state."""
    return MeantAction(verb, parameters)


class NothingToDo(Exception):
    """An action has no effect in the state in which an entity is; the text says so, without its subject."""


class Unsupported(ValidationError):
    """An entity does not have what some parameters set; the detail is a sentence without its subject."""

    def __init__(self, detail: str, *parameters: str) -> None:
        super().__init__(detail)
        self.parameters = parameters


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


class Action(NamedTuple):
    """One action that a model can ask for."""

    service: str | None
    """The service, or None if the parameters alone say what is called."""
    expected: frozenset[str] = frozenset()
    """States that show success; empty if the state does not tell."""
    unexpected: frozenset[str] = frozenset()
    """States that show it did not work."""
    passing: frozenset[str] = frozenset()
    """States on the way."""
    native: tuple[str, ...] = ()
    """Parameters that go with this very call; others go with services of their own."""
    takes: tuple[str, ...] = ()
    """Parameters accepted."""
    value: str | None = None
    """The parameter that a bare `value` means, and that must be given if `service` is None."""
    instead: tuple[str, ...] = ()
    """Parameters whose own service replaces this call."""
    features: str = ""
    """Features of which the entity needs one; see `features.py`."""
    ability: str | None = None
    """What an entity with one of these features is said to be able to do."""
    leader: str = ""
    """The parameter with a group; its first entity is called for all of them."""
    data: Mapping[str, Any] = NOTHING
    adds: Callable[[State], Mapping[str, Any]] | None = None
    """Returns more data, which depends on the entity; raises ValidationError where there is nothing to do."""
    shown: Mapping[str, Any] = NOTHING
    """Attributes that show success, where the entity has them."""
    is_on_its_way: Callable[[State], bool] | None = None
    """Returns whether it is at work, where the state does not show it."""
    direction: int = 0
    """1 or -1 for a step up or down."""
    opens: bool | None = None
    """True if it opens, unlocks or disarms, False if it does the opposite."""
    also_said: tuple[str, ...] = ()
    """Other actions whose verbs people use for it, where it does no more than those."""
    is_momentary: bool = False
    """Whether it does something although the state shows it already, such as to unlatch an unlocked door."""


class ControlParameter(NamedTuple):
    """One parameter of an action."""

    kind: str
    """How its value is read; a name in `tools.control.values.READERS`."""
    service: str
    """The service that sets it if the action's own service does not accept it."""
    attribute: str | None = None
    """State attribute that shows it, or STATE."""
    features: str = ""
    """Features of which the entity needs one; see `features.py`."""
    ability: str | None = None
    """What an entity that has it is said to be able to do; None for its name if it needs a feature."""
    aliases: str = ""
    """Other names that models use for it, with spaces between them."""
    choices: str | None = None
    """State attribute that lists the choices."""
    bounds: tuple[str, str] | None = None
    """State attributes with the least and the greatest value."""
    passing: frozenset[str] = frozenset()
    """States while it is being set."""
    has_few_choices: bool = False
    """Whether its choices are few words that stay, so that models are offered them."""
    is_verified: bool = True
    """Whether the attribute shows the value as it was given, so that it tells whether the call worked."""
    is_restored: bool = True
    """Whether `restore_settings` restores it; False where the domain's own rule does."""


class ValueStep(NamedTuple):
    """How a value is raised or lowered."""

    parameter: str
    size: float
    """Size of a step where nothing else is known."""
    attribute: str | None = None
    """State attribute with the entity's own step."""
    least: float = 0
    """The least size of a step, where the entity's own is smaller."""
    ends: tuple[str, ...] = ()
    """The ends of a range, which are moved together where there is no single value."""
    services: tuple[str, ...] = ()
    """Services that make a step."""
    call: Callable[[State, int, float | None], tuple[str, Mapping[str, Any]] | None] | None = None
    """From the state, the direction (1 or -1) and the size of a step, if it was given, to the call that makes
    it; None where the value is set instead."""


class Reproduced(NamedTuple):
    """What Home Assistant calls to bring an entity into a state that a scene holds."""

    states: Mapping[str, tuple[str, ...]] = NOTHING
    """The services by state."""
    other: tuple[str, ...] = ()
    """The services for every other state; none where core ignores such a state."""
    attributes: Mapping[str, str] | None = None
    """The services that set attributes; None if they are those of the parameters."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DomainFacts:
    """All that is known about one kind of device. What is not stated is the strict or the empty choice."""

    name: str
    """The domain in Home Assistant."""

    actions: Mapping[str, Action] = NOTHING
    """What models may do, by name. What is not here cannot be called."""
    parameters: Mapping[str, ControlParameter] = NOTHING
    """The parameters of these actions, in the order of their calls."""
    rooms: WorkInRooms | None = None
    """How it works in single rooms, if it can; a room in a call then says where to work."""
    groups: Grouping | None = None
    fields: Mapping[str, str] = NOTHING
    """The fields of the control tool that models are offered for parameters: names or aliases of these, and
    the ability that an entity needs for each; empty if none. Others are given as `parameters`."""
    synonyms: frozenset[str] = frozenset()
    """Actions that are accepted but not offered to models, as other actions cover them."""
    step: ValueStep | None = None
    turn_on: str = "turn_on"
    """The action that Home Assistant means by a generic "turn on"."""
    turn_off: str = "turn_off"
    adapt: Callable[[State, str, Mapping[str, Any]], MeantAction] = as_asked
    """From the state, an action and its parameters to what these mean now.

    Raises NothingToDo, Unsupported or ValidationError."""
    resting: frozenset[str] = frozenset()
    """States in which most actions have no effect."""
    is_gated: bool = False
    """Whether an option of the agent switches it off: it reaches past the limits of its own domain."""
    calls_members: bool = False
    """Whether the members of an entity are called instead of the entity."""
    writes: frozenset[str] = frozenset()
    """Services that change something, called on entities by tools other than ha_control."""
    reads: frozenset[str] = frozenset()
    """Services that only answer."""
    untargeted: frozenset[str] = frozenset()
    """Services that take no target; who may read the entities of their calls may call them."""
    comes_to: Mapping[str, Mapping[str, str]] = NOTHING
    """What services do to entities of other kinds, by whose rules they are judged as well: to their targets,
    under an empty key, and to the entity that a key of their data names."""
    lasting: frozenset[str] = frozenset()
    """Services that end only minutes later, when all of it is done."""
    untold: frozenset[str] = frozenset()
    """Data of calls that a question does not mention, as they only make them safer."""
    admin_services: frozenset[str] = frozenset()
    """Services that Home Assistant lets only administrators call."""
    system_platforms: frozenset[str] = frozenset()
    """Integrations whose entities are part of Home Assistant itself, so that somebody unknown, whom Home
    Assistant would let call these services, may not call them."""
    reaching: frozenset[str] = frozenset()
    """Services whose data may name an address."""

    device_actions: Mapping[str, str] = NOTHING
    """Services of Home Assistant's device actions whose type is neither an action here nor their name."""

    is_protected: bool = False
    """Whether it secures access, water or alarms, so that a guess never moves it."""
    guarded_classes: frozenset[str] = frozenset()
    """Device classes of entrances, if not every entity of the domain is one."""
    directions: Mapping[str, bool] = NOTHING
    """Services that are not an action: True if they open, False if they close."""

    restore: RestoreRule | None = None
    """How an entity is restored; None if it stays as it is."""
    safe_action: str | None = None
    """The only action that restores an entrance."""
    kept: tuple[str, ...] = ()
    """Attributes kept to restore an entity, beside those of the parameters."""
    take_back: TakeBackRule | None = None
    """How calls that show in no state are taken back."""

    told: Mapping[str, str] = NOTHING
    """The sentences that tell of its actions, where they are not those of `tools/control/telling.py`."""
    say: Callable[[State], str] | None = None
    """Returns the state itself in words; None if the state and its unit are enough."""
    details: Callable[[State], Iterator[str]] | None = None
    """Yields additions to the state for the prompt."""
    says_age: bool = False
    """Whether it matters how long the state has lasted."""
    is_moment: bool = False
    """Whether the state is the time the entity was last used."""
    reported: tuple[str, ...] | None = None
    """Attributes that a query answers without being asked for them; None if nothing is known of them."""

    abilities: Mapping[str, str] = NOTHING
    """Features without an action or parameter, by their names."""
    find_abilities: Callable[[Mapping[str, Any]], Iterator[str]] | None = None
    """Yields abilities from the attributes of an entity."""
    describing: tuple[str, ...] = ()
    """Attributes that `find_abilities` reads."""
    restricted: tuple[str, ...] = ()
    """Rules of the default policy for actions that require a confirmation."""
    unrestricted: tuple[str, ...] = ()
    """Exceptions from those."""
    contained: tuple[str, ...] = ()
    """Services that reach nothing but entities of this kind, so that as a step of a script they are judged
    like calls of their own. Others are restricted there."""
    not_contained: tuple[str, ...] = ()
    """Exceptions from those."""
    runs: tuple[str, ...] = ()
    """Services that run user-defined sequences."""
    reproduced: Reproduced | None = None
    """How a scene brings an entity into a state."""

    several: Mapping[str, str] = NOTHING
    """What several entities are called where that is not the domain with an s, by device class."""
    counted: str = ""
    """The word for entities whose state is none of AT_REST, where `active` means fewer states."""
    measures: Mapping[str, str] = NOTHING
    """Attributes with a measurement, by the device class of a sensor that would show the same."""

    active: str = ""
    """The state whose time is counted in summaries of the day."""
    acts: Mapping[str, str] = NOTHING
    """States, and what a person did to bring them about. Movement counts from its start."""
    other_act: str | None = None
    """The meaning of any other state; None if it is never set on purpose."""
    suggested: Mapping[str, str] = NOTHING
    """Acts that an automation can take over, and the services for them."""

    in_everything: bool = False
    """Whether "everything in the kitchen" includes it."""
    is_switched_with_everything: bool = False
    """Whether "turn everything off" includes it."""
    choices: tuple[str, ...] = ()
    """The attributes with what can be chosen, told of an entity that is asked about alone."""
    moves: bool = False
    """Whether it is not where its area is, such as a vacuum at work."""
    is_lively: bool = False
    """Whether its state is worth telling although the sentence is about something else."""

    @cached_property
    def passing(self) -> frozenset[str]:
        """The states on the way to another one."""
        return frozenset().union(*(action.passing for action in self.actions.values()))

    @cached_property
    def arranging(self) -> frozenset[str]:
        """The actions that concern the rooms of a machine, or a group of players."""
        works = {self.rooms.action, *self.rooms.everywhere} if self.rooms else set()
        plays = {self.groups.join, self.groups.leave} if self.groups else set()
        return frozenset(works | plays)

    @cached_property
    def services(self) -> frozenset[str]:
        """The services that actions, parameters and steps call on its entities."""
        if self.calls_members:
            return frozenset()
        named = [action.service for action in self.actions.values()]
        named += [] if self.is_gated else [parameter.service for parameter in self.parameters.values()]
        return frozenset(filter(None, (*named, *(self.step.services if self.step else ()))))

    def service_of(self, device_action: str) -> str:
        """Return the service that one of Home Assistant's device actions calls."""
        action = self.actions.get(device_action)
        own = action.service if action is not None else None
        return self.device_actions.get(device_action) or own or device_action

    def parameter_of(self, word: str) -> str | None:
        """Return the parameter that a word names; "value" is that of the action `set_value`."""
        if word in self.parameters:
            return word
        if word == "value" and "set_value" in self.actions:
            return self.actions["set_value"].value
        named = (name for name, parameter in self.parameters.items() if word in parameter.aliases.split())
        return next(named, None)

    @cached_property
    def kept_attributes(self) -> tuple[str, ...]:
        """The attributes that are needed to restore an entity."""
        shown = (parameter.attribute for parameter in self.parameters.values())
        return tuple(dict.fromkeys((*(name for name in shown if name and name != STATE), *self.kept)))

    @cached_property
    def generic_services(self) -> Mapping[str, str]:
        """The services that a generic "turn on" and "turn off" mean where they have other names."""
        meant = {"turn_on": self.turn_on, "turn_off": self.turn_off}
        return {
            name: str(self.actions[verb].service)
            for name, verb in meant.items()
            if verb != name and verb in self.actions
        }

    @cached_property
    def opening_services(self) -> tuple[str, ...]:
        """The services that open, unlock or disarm."""
        return tuple(str(action.service) for action in self.actions.values() if action.opens)

    @cached_property
    def ways(self) -> Mapping[str, bool]:
        """The actions and services that open (True) and those that close (False)."""
        found = dict(self.directions)
        for verb, action in self.actions.items():
            if action.opens is not None:
                found |= {verb: action.opens, str(action.service): action.opens}
        return found

    @cached_property
    def reproducing_services(self) -> Mapping[str, str]:
        """The services that a scene calls for attributes."""
        if self.reproduced is None:
            return {}
        if self.reproduced.attributes is not None:
            return self.reproduced.attributes
        return {
            parameter.attribute: parameter.service
            for parameter in self.parameters.values()
            if parameter.attribute and parameter.attribute != STATE and parameter.service != "turn_on"
        }

    @cached_property
    def feature_abilities(self) -> Mapping[str, str]:
        """The features of each ability; none where every entity has it."""
        stated = [(action.ability, action.features) for action in self.actions.values()]
        stated += [
            (parameter.ability or (name if parameter.features else None), parameter.features)
            for name, parameter in self.parameters.items()
        ]
        found: dict[str, str] = {}
        for ability, features in stated:
            if ability is not None:
                found[ability] = f"{found.get(ability, '')} {features}".strip()
        return {**found, **self.abilities}


ON_OFF_SERVICES: Final = {"on": "turn_on", "off": "turn_off"}
ON_OFF_STATES: Final = {"on": ("turn_on",), "off": ("turn_off",)}
REPRODUCED_ON_OFF: Final = Reproduced(states=ON_OFF_STATES)

STEPS: Final = {
    name: Action(None, direction=direction, value="step", takes=("step",))
    for name, direction in (("increase", 1), ("decrease", -1))
}
"""Actions that raise and lower a value."""

PRESET_ALIASES: Final = "preset mode"
VOLUME_ALIASES: Final = "volume level percent percentage"
DURATION_ALIASES: Final = "time length minutes_and_seconds"

CODE: Final = ControlParameter("code", "", aliases="pin alarm_code")
TRANSITION: Final = ControlParameter("seconds", "turn_on", aliases="transition_time fade")


def on_off_actions(
    *takes: str, native: tuple[str, ...] = (), features: str = "", off: str = "off"
) -> dict[str, Action]:
    """Return on, off and toggle; an entity needs one of the features."""
    return {
        "turn_on": Action(
            "turn_on", unexpected=frozenset((off,)), takes=takes, native=native, features=features
        ),
        "turn_off": Action("turn_off", expected=frozenset((off,)), features=features),
        "toggle": Action("toggle", features=features),
    }


def setting(value: str, *takes: str) -> Action:
    """Return an action that sets its parameters; a bare value belongs to the first."""
    return Action(None, value=value, takes=takes or (value,))


def choice(name: str, choices: str, aliases: str = "") -> ControlParameter:
    """Return a parameter with a list of choices, whose service and feature have its name."""
    return ControlParameter(
        "text", f"set_{name}", name, name.upper(), ability=name, choices=choices, aliases=aliases
    )


def restore_on_off(was: FormerState) -> ServiceCalls:
    """Yield on or off."""
    if STATE in was.changed and was.state in ("on", "off"):
        yield f"turn_{was.state}", {}


def restore_settings(was: FormerState) -> ServiceCalls:
    """Yield the calls that set the attributes of parameters."""
    for name, parameter in was.facts.parameters.items():
        shown = parameter.attribute
        if shown in was.changed and shown in was.attributes and parameter.is_restored:
            yield parameter.service, {name: was.attributes[shown]}


def restore_switched(was: FormerState) -> ServiceCalls:
    """Yield the calls for entities that are on or off, with settings while they are on."""
    yield from restore_on_off(was)
    if was.state != "off":
        yield from restore_settings(was)


def restore_value(service: str, parameter: str, convert: Callable[[str], Any] = str) -> RestoreRule:
    """Return the rule for entities that are set to a state."""

    def rule(was: FormerState) -> ServiceCalls:
        yield service, {parameter: convert(was.state)}

    return rule


def restore_rest(states: tuple[str, ...], service: str) -> RestoreRule:
    """Return the rule for machines: they are sent back to rest, never to work."""

    def rule(was: FormerState) -> ServiceCalls:
        if STATE not in was.changed:
            yield from restore_settings(was)
        elif was.state in states:
            yield service, {}

    return rule


SWITCHED: Final = DomainFacts(
    name="",
    actions=on_off_actions(),
    restore=restore_switched,
    contained=ANY,
    reproduced=REPRODUCED_ON_OFF,
    active="on",
    acts={"on": "on", "off": "off"},
    suggested=ON_OFF_SERVICES,
    in_everything=True,
)
"""Facts of entities that are only on or off."""
