"""Assist pipelines that run commands past the policy of an agent."""

from typing import TYPE_CHECKING, Any, Final

from homeassistant.const import EVENT_COMPONENT_LOADED
from homeassistant.core import CALLBACK_TYPE, Context, Event, HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.start import async_at_started

from ..const import CONF_LOCAL_FIRST, CONF_POLICY_BLOCKED, CONF_POLICY_CHOICES, CONF_POLICY_RESTRICTED
from ..domains import DOMAINS
from ..entity import conversation_entity
from ..idle import Calm
from ..issues import report, withdraw
from ..knowledge.speaker import Speaker
from ..lifecycle import async_change_options
from ..lifecycle.assistants import ASSIST, pipelines_of
from ..runtime import Agent
from ..safety.rules import Verdict

if TYPE_CHECKING:
    from homeassistant.components.assist_pipeline.pipeline import Pipeline

CALM_SECONDS: Final = 0.5
"""Changes of the home within this time are looked at together."""
MAX_NAMED: Final = 5
ISSUE: Final = "prefer_local_bypass"


@callback
def async_watch_pipelines(hass: HomeAssistant, entry: Agent) -> CALLBACK_TYPE:
    """Look when Home Assistant has started, and when a pipeline, the home or the exposure changes.

    Return how to stop.
    """
    stops: list[CALLBACK_TYPE] = []
    is_attached = False

    @callback
    def look(_hass: HomeAssistant | None = None) -> None:
        """Raise a repair issue for pipelines that prefer local sentences past the policy, or take it back."""
        calm.stop()
        found = _bypassing(hass, entry)
        if not found or not _restricts_something(hass, entry):
            withdraw(hass, f"{ISSUE}_{entry.entry_id}")
            return
        report(
            hass,
            f"{ISSUE}_{entry.entry_id}",
            ISSUE,
            severity=ir.IssueSeverity.ERROR,
            fix={"entry_id": entry.entry_id},
            title=entry.title,
            pipelines=", ".join(pipeline.name for pipeline in found[:MAX_NAMED]),
        )

    calm = Calm(hass, CALM_SECONDS, look)

    async def async_changed(_changes: object) -> None:
        look()

    @callback
    def attach(_event: Event[Any] | None = None) -> None:
        nonlocal is_attached
        if is_attached or ASSIST not in hass.config.components:
            return
        from homeassistant.components.assist_pipeline.pipeline import KEY_ASSIST_PIPELINE  # noqa: PLC0415

        is_attached = True
        store = hass.data[KEY_ASSIST_PIPELINE].pipeline_store
        stops.append(store.async_add_change_set_listener(async_changed))
        look()

    @callback
    def look_soon() -> None:
        if _bypassing(hass, entry):
            calm.wait()

    @callback
    def stop() -> None:
        for each in (*stops, calm.stop):
            each()
        withdraw(hass, f"{ISSUE}_{entry.entry_id}")

    attach()
    stops += [
        hass.bus.async_listen(EVENT_COMPONENT_LOADED, attach),
        entry.runtime_data.shared.house.async_listen(look_soon),
        async_at_started(hass, look),
    ]
    return stop


async def async_end_bypass(hass: HomeAssistant, entry: Agent) -> None:
    """Have all assistants of an agent ask it first, which then tries the built-in sentences itself."""
    from homeassistant.components.assist_pipeline import async_update_pipeline  # noqa: PLC0415

    for pipeline in _bypassing(hass, entry):
        await async_update_pipeline(hass, pipeline, prefer_local_intents=False)
    withdraw(hass, f"{ISSUE}_{entry.entry_id}")
    async_change_options(hass, entry, {CONF_LOCAL_FIRST: True})


def _bypassing(hass: HomeAssistant, entry: Agent) -> list[Pipeline]:
    """Return the pipelines with this agent that ask Home Assistant's own sentences first."""
    own = pipelines_of(hass, (conversation_entity(hass, entry.entry_id), entry.entry_id))
    return [pipeline for pipeline in own if pipeline.prefer_local_intents]


LIMITING: Final = (CONF_POLICY_BLOCKED, CONF_POLICY_RESTRICTED, CONF_POLICY_CHOICES)
"""Options with rules of the household that can limit something."""


def _restricts_something(hass: HomeAssistant, entry: Agent) -> bool:
    """Return whether anything that Home Assistant's own sentences reach is not free for everyone."""
    settings, policy = entry.runtime_data.settings, entry.runtime_data.policy
    if policy.view.narrows or any(settings[key] for key in LIMITING):
        return True
    anybody = Speaker(context=Context(), language=hass.config.language)
    for state in hass.states.async_all():
        services = {action.service for action in DOMAINS[state.domain].actions.values() if action.service}
        if not services or not policy.view.is_exposed(state.entity_id):
            continue
        if any(
            policy.judge(state.domain, service, (state.entity_id,), anybody).verdict is not Verdict.ALLOW
            for service in services
        ):
            return True
    return False
