"""The questions of rules: whether to do something about what a rule has found."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from homeassistant.core import HomeAssistant, callback

from ..channels.asking import Asker, Lead, Receivers
from ..const import LOGGER
from ..errors import ValidationError
from ..safety.confirmation import ActionOutcome
from .rules import ProactiveRule

SECONDS: Final = 900.0
"""How long a question of a rule waits for an answer."""
UNANSWERED: Final = frozenset({None, ActionOutcome.EXPIRED, ActionOutcome.WRONG_PIN})
"""Outcomes after which the message of the rule is sent instead. None: nobody could be asked."""


class RuleQuestions:
    """The open questions of one entry, one for each rule."""

    def __init__(self, hass: HomeAssistant, asker: Asker) -> None:
        self._hass = hass
        self._asker = asker
        self._open: dict[str, asyncio.Task[None]] = {}

    @callback
    def ask(
        self,
        rule: ProactiveRule,
        entity_ids: Sequence[str],
        lead: Lead,
        persons: Iterable[str],
        unanswered: Callable[[], Awaitable[None]],
    ) -> None:
        """Ask in the background, in place of an older question; `unanswered` is awaited if nobody answers."""
        self.withdraw(rule.key)
        work = self._async_ask(rule, entity_ids, lead, tuple(persons), unanswered)
        task = self._hass.async_create_background_task(work, "home_agent question")
        self._open[rule.key] = task

        def forget(done: asyncio.Task[None]) -> None:
            if self._open.get(rule.key) is done:
                del self._open[rule.key]

        task.add_done_callback(forget)

    @callback
    def withdraw(self, key: str) -> None:
        """Take the question of a rule back."""
        if (task := self._open.pop(key, None)) is not None:
            task.cancel()

    @callback
    def stop(self) -> None:
        """Take all questions back."""
        for key in list(self._open):
            self.withdraw(key)

    async def _async_ask(
        self,
        rule: ProactiveRule,
        entity_ids: Sequence[str],
        lead: Lead,
        persons: tuple[str, ...],
        unanswered: Callable[[], Awaitable[None]],
    ) -> None:
        satellites = self._asker.near_somebody() if rule.aloud else ()
        receivers = Receivers(persons=persons, satellites=satellites)
        outcome: ActionOutcome | None = None
        try:
            proposal = self._asker.propose(rule.ask, rule.ask_entities or entity_ids)
        except ValidationError as err:
            LOGGER.info("What a rule asks about is not possible now: %s", err)
        else:
            outcome = await self._asker.async_propose(proposal, lead, receivers, SECONDS)
        if outcome in UNANSWERED:
            await unanswered()
