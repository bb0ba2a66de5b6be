"""Platform: conditions of the automation editor."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Unpack, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers.condition import Condition, ConditionCheckParams, ConditionConfig
from homeassistant.helpers.typing import ConfigType

from .agents import async_agents, ids_of
from .automations import (
    AGENT_SCHEMA,
    CONF_AGENT,
    CONF_PERSON,
    PERSON_SCHEMA,
    checked,
    options_schema,
    person_of,
)
from .runtime import HomeAgentData


class AgentCondition(Condition):
    """Is about one agent or about all agents that are loaded."""

    schema: ClassVar[probatio.Schema] = options_schema(AGENT_SCHEMA)

    @classmethod
    @override
    async def async_validate_config(cls, hass: HomeAssistant, config: ConfigType) -> ConfigType:
        """Check the options. Raises probatio.Invalid."""
        return checked(hass, cls.schema, config)

    def __init__(self, hass: HomeAssistant, config: ConditionConfig) -> None:
        super().__init__(hass, config)
        self._options = config.options or {}

    @property
    def _agents(self) -> list[HomeAgentData]:
        wanted = self._options.get(CONF_AGENT)
        agents = async_agents(self._hass)
        return [agent.runtime_data for agent in agents if not wanted or wanted in ids_of(agent)]


class PersonCondition(AgentCondition):
    """Is about what certain people have started, or anybody."""

    schema = options_schema(PERSON_SCHEMA)

    @abstractmethod
    def _owners(self, agent: HomeAgentData) -> Iterable[Mapping[str, Any]]:
        """Return whose each thing is, as `person` and `user_id`."""

    @override
    def _async_check(self, **kwargs: Unpack[ConditionCheckParams]) -> bool:
        persons = self._options.get(CONF_PERSON)
        owners = [owner for agent in self._agents for owner in self._owners(agent)]
        return any(not persons or person_of(self._hass, owner) in persons for owner in owners)


class ConfirmationPending(PersonCondition):
    """Whether an action waits for a confirmation."""

    @override
    def _owners(self, agent: HomeAgentData) -> Iterable[Mapping[str, Any]]:
        return [
            {"person": action.speaker.person_id, "user_id": action.owner.user_id}
            for action in agent.confirmations.pending
        ]


class TimerRunning(PersonCondition):
    """Whether a timer or a reminder that is not repeated is running."""

    @override
    def _owners(self, agent: HomeAgentData) -> Iterable[Mapping[str, Any]]:
        """Return who set them; those that were cancelled on their device are gone."""
        agent.timers.look(None, "")
        return [{"user_id": timer.user_id} for timer in agent.timers.all() if timer.repeat is None]


class ServerReachable(AgentCondition):
    """Whether the model servers answer."""

    @override
    def _async_check(self, **kwargs: Unpack[ConditionCheckParams]) -> bool:
        agents = self._agents
        return bool(agents) and all(agent.server_reachable is True for agent in agents)


CONDITIONS: dict[str, type[Condition]] = {
    "is_confirmation_pending": ConfirmationPending,
    "is_server_reachable": ServerReachable,
    "is_timer_running": TimerRunning,
}


async def async_get_conditions(hass: HomeAssistant) -> dict[str, type[Condition]]:
    """Return the conditions."""
    return CONDITIONS
