"""A repair issue for automations that were asked for and that a rule would forbid today.

An automation runs without being judged again. If a rule becomes stricter later, or an entity is no longer
exposed, it keeps running, and an administrator is told.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, Context, CoreState, HassJob, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later
from homeassistant.helpers.start import async_at_started

from ..issues import report, withdraw
from ..knowledge.speaker import Speaker
from ..runtime import Agent
from ..tools.automating.kept import (
    AutomationRefusedError,
    OwnAutomation,
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
    return _AutomationWatch(hass, agent).async_start()


class _AutomationWatch:
    """Looks after the automations of one agent."""

    def __init__(self, hass: HomeAssistant, agent: Agent) -> None:
        self._hass = hass
        self._agent = agent
        self._own = agent.runtime_data.shared.automations.of(agent.entry_id)
        self._issue_id = f"{ISSUE}_{agent.entry_id}"
        self._timer: CALLBACK_TYPE | None = None

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Begin; return how to stop."""
        stops = [
            async_at_started(self._hass, self._look),
            self._agent.runtime_data.shared.house.async_listen(self._wait),
            self._own.listen(self._wait),
        ]

        @callback
        def stop() -> None:
            for each in stops:
                each()
            if self._timer is not None:
                self._timer()
                self._timer = None
            withdraw(self._hass, self._issue_id)

        return stop

    @callback
    def _wait(self) -> None:
        """Look in a while, when more may have changed."""
        if self._timer is None and self._hass.state is CoreState.running and self._own.all():
            job = HassJob(self._on_calm, cancel_on_shutdown=True)
            self._timer = async_call_later(self._hass, CALM_SECONDS, job)

    @callback
    def _on_calm(self, _now: datetime) -> None:
        self._timer = None
        self._look()

    @callback
    def _look(self, _hass: HomeAssistant | None = None) -> None:
        self._agent.async_create_background_task(self._hass, self._async_check(), "home_agent automations")

    async def _async_check(self) -> None:
        """Raise the issue, renew it or take it back."""
        broken = [own.alias for own in self._own.all() if await self._async_breaks(own)]
        if not broken:
            withdraw(self._hass, self._issue_id)
            return
        names = "\n".join(f"- {name}" for name in broken[:MAX_LISTED])
        report(self._hass, self._issue_id, ISSUE, title=self._agent.title, names=names)

    async def _async_breaks(self, own: OwnAutomation) -> bool:
        """Return whether an automation contains what would be refused today.

        What a person has added in the editor is not judged: an administrator wrote it there.
        """
        if entity_of(self._hass, own.id) is None:
            return False
        try:
            written = await async_read(self._hass, own.id)
        except AutomationRefusedError:
            return False
        return written is not None and await self._async_is_refused(own, written)

    async def _async_is_refused(self, own: OwnAutomation, written: Mapping[str, Any]) -> bool:
        guard = self._agent.runtime_data.handler.guard
        user = await self._hass.auth.async_get_user(own.user_id) if own.user_id else None
        context = Context(user_id=own.user_id if user else None)
        speaker = Speaker(context=context, language=own.language, anytime=True)
        confirmed = calls_in(own.config)
        calls = [call for call in calls_in(written) if call in confirmed and self._are_there(call.entity_ids)]
        if any(not guard.is_free(call, user, speaker) for call in calls):
            return True
        watched = set(entities_in_clauses(own.config)) & set(entities_in_clauses(written))
        return any(
            not guard.is_exposed(one)
            for one in watched
            if not one.startswith(NOT_EXPOSED) and self._are_there((one,))
        )

    def _are_there(self, entity_ids: Sequence[str]) -> bool:
        """Return whether entities have a state; one that is missing may come back."""
        return all(self._hass.states.get(one) is not None for one in entity_ids)
