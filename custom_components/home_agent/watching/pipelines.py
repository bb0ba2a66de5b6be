"""Assist pipelines: those that run commands past the policy of an agent, and those that are made for it."""

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from homeassistant.components.conversation import HOME_ASSISTANT_AGENT
from homeassistant.const import EVENT_COMPONENT_LOADED, Platform
from homeassistant.core import CALLBACK_TYPE, Context, Event, HassJob, HomeAssistant, callback
from homeassistant.helpers import entity_registry as er, issue_registry as ir
from homeassistant.helpers.event import async_call_later
from homeassistant.helpers.start import async_at_started

from ..agents import async_change_options
from ..const import (
    CONF_LOCAL_FIRST,
    CONF_POLICY_BLOCKED,
    CONF_POLICY_CHOICES,
    CONF_POLICY_PROFILES,
    CONF_POLICY_RESTRICTED,
    DOMAIN,
)
from ..domains import DOMAINS
from ..issues import report, withdraw
from ..knowledge.speaker import Speaker
from ..runtime import Agent
from ..safety.rules import Verdict

if TYPE_CHECKING:
    from homeassistant.components.assist_pipeline.pipeline import Pipeline

ASSIST: Final = "assist_pipeline"
CALM_SECONDS: Final = 0.5
"""Changes of the home within this time are looked at together."""
MAX_NAMED: Final = 5


class PipelineWatch:
    """Checks the pipelines when a pipeline, the home or the exposure changes."""

    def __init__(self, hass: HomeAssistant, entry: Agent) -> None:
        """Take the agent."""
        self._hass = hass
        self._entry = entry
        self._stops: list[CALLBACK_TYPE] = []
        self._attached = False
        self._timer: CALLBACK_TYPE | None = None

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Look when Home Assistant has started, and at each change; return how to stop."""
        self._attach()
        self._stops += [
            self._hass.bus.async_listen(EVENT_COMPONENT_LOADED, self._attach),
            self._entry.runtime_data.shared.house.async_listen(self._look_soon),
            async_at_started(self._hass, self._look),
        ]
        return self._stop

    @callback
    def _attach(self, _event: Event[Any] | None = None) -> None:
        """Listen to the store of the pipelines as soon as it exists."""
        if self._attached or ASSIST not in self._hass.config.components:
            return
        from homeassistant.components.assist_pipeline.pipeline import KEY_ASSIST_PIPELINE  # noqa: PLC0415

        self._attached = True
        store = self._hass.data[KEY_ASSIST_PIPELINE].pipeline_store
        self._stops.append(store.async_add_change_set_listener(self._async_changed))
        self._look()

    async def _async_changed(self, _changes: object) -> None:
        """Look at pipelines that were just saved."""
        self._look()

    @callback
    def _look_soon(self) -> None:
        """Check the pipelines when a relevant part of the home has changed."""
        if self._timer is None and _bypassing(self._hass, self._entry):
            job = HassJob(self._look, "home_agent pipelines", cancel_on_shutdown=True)
            self._timer = async_call_later(self._hass, CALM_SECONDS, job)

    @callback
    def _look(self, _when: HomeAssistant | datetime | None = None) -> None:
        """Report pipelines that pass the policy, or take the issue back."""
        self._end_timer()
        async_check_pipelines(self._hass, self._entry)

    @callback
    def _end_timer(self) -> None:
        """Cancel the pending check after a change of the home."""
        if self._timer is not None:
            self._timer()
            self._timer = None

    @callback
    def _stop(self) -> None:
        """Stop listening, and withdraw the issue."""
        self._end_timer()
        for stop in self._stops:
            stop()
        withdraw(self._hass, _issue_id(self._entry))


@callback
def async_check_pipelines(hass: HomeAssistant, entry: Agent) -> None:
    """Raise a repair issue for pipelines that prefer local sentences past the policy, or take it back."""
    found = _bypassing(hass, entry)
    if not found or not _restricts_something(hass, entry):
        withdraw(hass, _issue_id(entry))
        return
    report(
        hass,
        _issue_id(entry),
        "prefer_local_bypass",
        severity=ir.IssueSeverity.ERROR,
        fix={"entry_id": entry.entry_id},
        title=entry.title,
        pipelines=", ".join(pipeline.name for pipeline in found[:MAX_NAMED]),
    )


async def async_end_bypass(hass: HomeAssistant, entry: Agent) -> None:
    """Have all assistants of an agent ask it first, which then tries the built-in sentences itself."""
    from homeassistant.components.assist_pipeline import async_update_pipeline  # noqa: PLC0415

    for pipeline in _bypassing(hass, entry):
        await async_update_pipeline(hass, pipeline, prefer_local_intents=False)
    withdraw(hass, _issue_id(entry))
    async_change_options(hass, entry, {CONF_LOCAL_FIRST: True})


@callback
def may_be_assistant(hass: HomeAssistant) -> bool | None:
    """Return whether a new agent should be the preferred assistant; None if there are no assistants.

    It should unless the household has chosen another agent than Home Assistant's own.
    """
    if ASSIST not in hass.config.components:
        return None
    from homeassistant.components.assist_pipeline import PipelineNotFound  # noqa: PLC0415
    from homeassistant.components.assist_pipeline.pipeline import async_get_pipeline  # noqa: PLC0415

    try:
        return _is_free(hass, async_get_pipeline(hass))
    except PipelineNotFound:
        return True


@callback
def _is_free(hass: HomeAssistant, pipeline: Pipeline) -> bool:
    """Return whether an assistant has Home Assistant's own agent, or one that no longer exists."""
    agent = pipeline.conversation_engine
    return agent == HOME_ASSISTANT_AGENT or ("." in agent and hass.states.get(agent) is None)


async def async_make_assistant(hass: HomeAssistant, entry: Agent) -> None:
    """Make an assistant with this agent and prefer it.

    It gets the language and the speech settings of the assistant that was preferred. One that has the agent
    already is used instead of a new one, as is one of its name that no other agent answers.
    """
    agent = _agent(hass, entry)
    if agent is None or ASSIST not in hass.config.components:
        return
    from homeassistant.components.assist_pipeline import async_update_pipeline  # noqa: PLC0415
    from homeassistant.components.assist_pipeline.pipeline import KEY_ASSIST_PIPELINE  # noqa: PLC0415

    store = hass.data[KEY_ASSIST_PIPELINE].pipeline_store
    known: list[Pipeline] = list(store.data.values())
    same = [pipeline for pipeline in known if pipeline.conversation_engine in (agent, entry.entry_id)]
    named = [pipeline for pipeline in known if pipeline.name == entry.title and _is_free(hass, pipeline)]
    own = next(iter(same or named), None)
    if own is not None:
        await async_update_pipeline(hass, own, conversation_engine=agent, prefer_local_intents=False)
    else:
        model = store.data.get(store.async_get_preferred_item()) or next(iter(known), None)
        if model is None:
            return
        settings = model.to_json()
        del settings["id"]
        changed = {"name": entry.title, "conversation_engine": agent, "prefer_local_intents": False}
        own = await store.async_create_item({**settings, **changed})
    store.async_set_preferred_item(own.id)


async def async_fall_back(hass: HomeAssistant, agents: Collection[str | None]) -> None:
    """Have the assistants of an agent that is removed use Home Assistant's own agent again.

    `agents` are its entity and its id.
    """
    if ASSIST not in hass.config.components:
        return
    from homeassistant.components.assist_pipeline import (  # noqa: PLC0415
        async_get_pipelines,
        async_update_pipeline,
    )

    for pipeline in async_get_pipelines(hass):
        if pipeline.conversation_engine in agents:
            await async_update_pipeline(hass, pipeline, conversation_engine=HOME_ASSISTANT_AGENT)


@callback
def _agent(hass: HomeAssistant, entry: Agent) -> str | None:
    """Return the entity of an agent, None if it has none."""
    return er.async_get(hass).async_get_entity_id(Platform.CONVERSATION, DOMAIN, entry.entry_id)


def _issue_id(entry: Agent) -> str:
    return f"prefer_local_bypass_{entry.entry_id}"


def _bypassing(hass: HomeAssistant, entry: Agent) -> list[Pipeline]:
    """Return the pipelines with this agent that ask Home Assistant's own sentences first."""
    if ASSIST not in hass.config.components:
        return []
    from homeassistant.components.assist_pipeline import async_get_pipelines  # noqa: PLC0415

    agent = _agent(hass, entry)
    return [
        pipeline
        for pipeline in async_get_pipelines(hass)
        if pipeline.prefer_local_intents and pipeline.conversation_engine in (agent, entry.entry_id)
    ]


LIMITING: Final = (CONF_POLICY_BLOCKED, CONF_POLICY_RESTRICTED, CONF_POLICY_CHOICES, CONF_POLICY_PROFILES)
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
            policy.judge(state.domain, service, (state.entity_id,), anybody) is not Verdict.ALLOW
            for service in services
        ):
            return True
    return False
