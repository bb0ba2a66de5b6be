"""Voice assistants, which are Assist pipelines: one is made for a new agent, none stays without an agent."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from homeassistant.components.conversation import HOME_ASSISTANT_AGENT
from homeassistant.core import HomeAssistant, callback

from ..entity import conversation_entity
from ..knowledge.speaker import preferred_pipeline
from ..runtime import Agent

if TYPE_CHECKING:
    from homeassistant.components.assist_pipeline.pipeline import Pipeline

ASSIST: Final = "assist_pipeline"


@callback
def may_be_assistant(hass: HomeAssistant) -> bool | None:
    """Return whether a new agent should be the preferred assistant; None if there are no assistants.

    It should unless the household has chosen another agent than Home Assistant's own.
    """
    pipeline = preferred_pipeline(hass)
    if pipeline is None:
        return True if ASSIST in hass.config.components else None
    return _is_free(hass, pipeline)


@callback
def _is_free(hass: HomeAssistant, pipeline: Pipeline) -> bool:
    agent = pipeline.conversation_engine
    return agent == HOME_ASSISTANT_AGENT or ("." in agent and hass.states.get(agent) is None)


@callback
def pipelines_of(hass: HomeAssistant, agents: Collection[str | None]) -> list[Pipeline]:
    """Return the assistants of an agent, which is named by its entity or its id."""
    if ASSIST not in hass.config.components:
        return []
    from homeassistant.components.assist_pipeline import async_get_pipelines  # noqa: PLC0415

    return [pipeline for pipeline in async_get_pipelines(hass) if pipeline.conversation_engine in agents]


async def async_make_assistant(hass: HomeAssistant, entry: Agent) -> None:
    """Make an assistant with this agent and prefer it.

    It gets the language and the speech settings of the assistant that was preferred. One that has the agent
    already is used instead of a new one, as is one of its name that no other agent answers.
    """
    agent = conversation_entity(hass, entry.entry_id)
    if agent is None or ASSIST not in hass.config.components:
        return
    from homeassistant.components.assist_pipeline import async_update_pipeline  # noqa: PLC0415
    from homeassistant.components.assist_pipeline.pipeline import KEY_ASSIST_PIPELINE  # noqa: PLC0415

    store = hass.data[KEY_ASSIST_PIPELINE].pipeline_store
    known: list[Pipeline] = list(store.data.values())
    same = pipelines_of(hass, (agent, entry.entry_id))
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
    for pipeline in pipelines_of(hass, agents):
        from homeassistant.components.assist_pipeline import async_update_pipeline  # noqa: PLC0415

        await async_update_pipeline(hass, pipeline, conversation_engine=HOME_ASSISTANT_AGENT)
