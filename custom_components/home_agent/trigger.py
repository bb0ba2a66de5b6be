"""Platform: triggers of the automation editor. They work even if the events on the bus are off."""

from typing import Any, ClassVar, override

import probatio

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers.dispatcher import async_dispatcher_connect
from homeassistant.helpers.trigger import (
    Trigger,
    TriggerActionRunner,
    TriggerConfig,
    TriggerNotTriggeredReporter,
)
from homeassistant.helpers.typing import ConfigType
from homeassistant.util.event_type import EventType

from .automations import (
    AGENT_SCHEMA,
    CONF_AGENT,
    CONF_PERSON,
    PERSON_SCHEMA,
    checked,
    options_schema,
    person_of,
    title_of,
)
from .const import (
    EVENT_CONFIRMATION_REQUESTED,
    EVENT_CONVERSATION_FINISHED,
    EVENT_MEMORY_STORED,
    EVENT_PLANNED_RUN,
    EVENT_SUGGESTION_REQUESTED,
    EVENT_TIMER_FINISHED,
)
from .events import Occurrence, event_signal


class AgentTrigger(Trigger):
    """Follows an event of one agent or of all agents."""

    schema: ClassVar[probatio.Schema] = options_schema(AGENT_SCHEMA)
    event: ClassVar[EventType[Any]]
    variables: ClassVar[tuple[str, ...]]
    """The fields of the event that become trigger variables."""
    needs: ClassVar[str | None] = None
    """The field of the event that must not be empty."""

    @override
    @classmethod
    async def async_validate_config(cls, hass: HomeAssistant, config: ConfigType) -> ConfigType:
        """Check the options. Raises probatio.Invalid."""
        return checked(hass, cls.schema, config)

    def __init__(self, hass: HomeAssistant, config: TriggerConfig) -> None:
        super().__init__(hass, config)
        self._key = config.key
        self._options = config.options or {}

    @override
    async def async_attach_runner(
        self, run_action: TriggerActionRunner, did_not_trigger: TriggerNotTriggeredReporter | None = None
    ) -> CALLBACK_TYPE:
        """Run the actions for each event that fits."""

        @callback
        def follow(occurrence: Occurrence) -> None:
            data = occurrence.data
            person = person_of(self._hass, data)
            if (self.needs and not data[self.needs]) or not self._fits(occurrence, person):
                return
            agent = title_of(self._hass, occurrence.entry_id, occurrence.subentry_id)
            payload = {
                **{name: data[name] for name in self.variables},
                "config_entry_id": occurrence.entry_id,
                **({"subentry_id": occurrence.subentry_id} if occurrence.subentry_id else {}),
                "agent": agent,
                "person": person,
            }
            run_action(payload, f"{self._key} of {agent}", occurrence.context)

        return async_dispatcher_connect(self._hass, event_signal(self.event), follow)

    def _fits(self, occurrence: Occurrence, person: str | None) -> bool:
        """Return whether an event is about a followed agent or connection, and a followed person."""
        persons = self._options.get(CONF_PERSON)
        agent = self._options.get(CONF_AGENT)
        return (not agent or agent in (occurrence.entry_id, occurrence.subentry_id)) and (
            not persons or person in persons
        )


class PersonTrigger(AgentTrigger):
    """Follows an event of certain people, or of everybody."""

    schema = options_schema(PERSON_SCHEMA)


class ConfirmationTrigger(PersonTrigger):
    """An action waits for a confirmation."""

    event = EVENT_CONFIRMATION_REQUESTED
    variables = ("action_id", "summary", "expires_at", "conversation_id")


class TimerTrigger(PersonTrigger):
    """A timer or reminder is due."""

    event = EVENT_TIMER_FINISHED
    variables = ("timer_id", "name", "due", "device_id", "told_by")


class SuggestionTrigger(AgentTrigger):
    """A habit is suggested as an automation."""

    event = EVENT_SUGGESTION_REQUESTED
    variables = ("suggestion_id", "summary", "expires_at")


class FailedTurnTrigger(PersonTrigger):
    """A request ended with an error."""

    event = EVENT_CONVERSATION_FINISHED
    variables = ("conversation_id", "error_type", "error_message")
    needs = "error_type"


class MemoryTrigger(PersonTrigger):
    """A memory is new or was corrected."""

    event = EVENT_MEMORY_STORED
    variables = ("memory_id", "memory_type", "source", "private")


class PlannedRunTrigger(PersonTrigger):
    """A planned command was due."""

    event = EVENT_PLANNED_RUN
    variables = ("command_id", "action", "entity_ids", "due", "outcome", "failed")


TRIGGERS: dict[str, type[Trigger]] = {
    "confirmation_requested": ConfirmationTrigger,
    "timer_finished": TimerTrigger,
    "suggestion_made": SuggestionTrigger,
    "turn_failed": FailedTurnTrigger,
    "memory_stored": MemoryTrigger,
    "planned_command_run": PlannedRunTrigger,
}


async def async_get_triggers(hass: HomeAssistant) -> dict[str, type[Trigger]]:
    """Return the triggers."""
    return TRIGGERS
