"""Assist pipelines that answer before the agent does: what the policy restricts passes it there."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from homeassistant.const import Platform
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.start import async_at_started

from .const import DOMAIN
from .issues import report, withdraw
from .knowledge.house import is_exposed
from .knowledge.speaker import Speaker
from .runtime import HomeAgentConfigEntry
from .safety.verdict import Verdict
from .tools.control.actions import ACTIONS

if TYPE_CHECKING:
    from homeassistant.components.assist_pipeline.pipeline import Pipeline

INTERVAL = timedelta(minutes=15)
MAX_NAMED = 5


@callback
def async_watch_pipelines(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> Callable[[], None]:
    """Look at the pipelines when Home Assistant has started, and from time to time; return how to stop."""

    @callback
    def look(*_: HomeAssistant | datetime) -> None:
        async_check_pipelines(hass, entry)

    stops = [async_at_started(hass, look), async_track_time_interval(hass, look, INTERVAL)]

    @callback
    def stop() -> None:
        for unsubscribe in stops:
            unsubscribe()
        withdraw(hass, _issue_id(entry))

    return stop


@callback
def async_check_pipelines(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Raise a repair issue for pipelines that prefer local sentences past the policy, or take it back."""
    found = _bypassing(hass, entry)
    if not found or not _restricts_something(hass, entry):
        withdraw(hass, _issue_id(entry))
        return
    report(
        hass,
        _issue_id(entry),
        "prefer_local_bypass",
        fix={"entry_id": entry.entry_id},
        title=entry.title,
        pipelines=", ".join(pipeline.name for pipeline in found[:MAX_NAMED]),
    )


async def async_end_bypass(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Have the agent asked first by all assistants that are its own."""
    from homeassistant.components.assist_pipeline import async_update_pipeline  # noqa: PLC0415

    for pipeline in _bypassing(hass, entry):
        await async_update_pipeline(hass, pipeline, prefer_local_intents=False)
    async_check_pipelines(hass, entry)


def _issue_id(entry: HomeAgentConfigEntry) -> str:
    """Return the id of the issue of an entry."""
    return f"prefer_local_bypass_{entry.entry_id}"


def _bypassing(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> list[Pipeline]:
    """Return the pipelines with this agent that ask Home Assistant's own sentences first."""
    if "assist_pipeline" not in hass.config.components:
        return []
    from homeassistant.components.assist_pipeline import async_get_pipelines  # noqa: PLC0415

    agent = er.async_get(hass).async_get_entity_id(Platform.CONVERSATION, DOMAIN, entry.entry_id)
    return [
        pipeline
        for pipeline in async_get_pipelines(hass)
        if pipeline.prefer_local_intents and pipeline.conversation_engine in (agent, entry.entry_id)
    ]


def _restricts_something(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Return whether anything that Home Assistant's own sentences reach is not free."""
    anybody = Speaker(context=Context(), language=hass.config.language)
    policy = entry.runtime_data.policy
    for state in hass.states.async_all():
        services = {action.service for action in ACTIONS.get(state.domain, {}).values() if action.service}
        if not services or not is_exposed(hass, state.entity_id):
            continue
        if any(
            policy.judge(state.domain, service, (state.entity_id,), anybody) is not Verdict.ALLOW
            for service in services
        ):
            return True
    return False
