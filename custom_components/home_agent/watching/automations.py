"""A repair issue for automations that were asked for and that a rule would forbid today.

An automation runs without being judged again. If a rule becomes stricter later, or an entity is no longer
exposed, it keeps running, and an administrator is told.
"""

from typing import Final

from homeassistant.core import CALLBACK_TYPE, Context, HomeAssistant, callback
from homeassistant.helpers.start import async_at_started

from ..idle import Calm
from ..issues import report, withdraw
from ..knowledge.speaker import Speaker
from ..runtime import Agent
from ..tools.automating.kept import (
    AutomationRefusedError,
    async_read,
    calls_in,
    entities_in_clauses,
    entity_of,
)

CALM_SECONDS: Final = 30
"""How long what came with a change may take before automations are looked at."""
ISSUE: Final = "automations_break_rules"
NOT_EXPOSED: Final = ("person.", "zone.")
"""Beginnings of entities that triggers may be about without being exposed."""
MAX_LISTED: Final = 20


@callback
def async_watch_automations(hass: HomeAssistant, agent: Agent) -> CALLBACK_TYPE:
    """Look at the automations when Home Assistant has started and when the home changes; return the stop."""
    issue_id = f"{ISSUE}_{agent.entry_id}"

    async def async_check() -> None:
        """Raise the issue for automations with what would be refused today, renew it or take it back.

        What a person has added in the editor is not judged: an administrator wrote it there. What has no
        state may come back.
        """
        broken: list[str] = []
        for own in agent.runtime_data.shared.automations.of(agent.entry_id).all():
            if entity_of(hass, own.id) is None:
                continue
            try:
                written = await async_read(hass, own.id)
            except AutomationRefusedError:
                continue
            if written is None:
                continue
            guard = agent.runtime_data.handler.guard
            user = await hass.auth.async_get_user(own.user_id) if own.user_id else None
            context = Context(user_id=own.user_id if user else None)
            speaker = Speaker(context=context, language=own.language, anytime=True)
            confirmed = calls_in(own.config)
            watched = set(entities_in_clauses(own.config)) & set(entities_in_clauses(written))
            if any(
                not guard.is_free(call, user, speaker)
                for call in calls_in(written)
                if call in confirmed and all(map(hass.states.get, call.entity_ids))
            ) or any(
                not guard.is_exposed(entity_id)
                for entity_id in watched
                if not entity_id.startswith(NOT_EXPOSED) and hass.states.get(entity_id)
            ):
                broken.append(own.alias)
        if not broken:
            withdraw(hass, issue_id)
            return
        names = "\n".join(f"- {name}" for name in broken[:MAX_LISTED])
        report(hass, issue_id, ISSUE, title=agent.title, names=names)

    @callback
    def look(_hass: HomeAssistant | None = None) -> None:
        agent.async_create_background_task(hass, async_check(), "home_agent automations")

    calm = Calm(hass, CALM_SECONDS, look)
    stops = [async_at_started(hass, look), agent.runtime_data.shared.house.async_listen(calm.wait), calm.stop]

    @callback
    def stop() -> None:
        for each in stops:
            each()
        withdraw(hass, issue_id)

    return stop
