"""FittingMixin: every request fits the model, and the events say what became of it."""

from ..const import EVENT_CONTEXT_INJECTED, EVENT_CONTEXT_OPTIMIZED, LOGGER
from ..context.fitting import FittedRequest, fit
from ..entity import HomeAgentBaseEntity
from ..inference.errors import ModelServerError
from ..inference.models import Usage
from ..safety.disclosure import Tells
from .disclosing import UNSAID, current_for, draft_for, keeps_something
from .messages import correction, from_contents
from .turn import Turn

TRUNCATING = frozenset({"sentence", "results", "instructions", "rounds"})
"""Steps after which the model reads only a part of something."""


class FittingMixin(HomeAgentBaseEntity):
    """Sizes requests to what the model takes, and learns how much that is."""

    def _fit(self, turn: Turn, model: str, claim: str = "") -> FittedRequest:
        """Return the next request of a turn as it fits a model, with what this one may be told."""
        policy, messages = self.data.data_policy, from_contents(turn.chat_log.content[turn.first :])
        disclosure = policy.of(model)
        turn.asked, turn.calls.disclosure.model = model, disclosure
        if disclosure.home and not turn.calls.disclosure.withheld:
            turn.calls.disclosure.withheld = keeps_something(turn.draft, messages, policy.away, turn.calls)
        from_home = turn.calls.disclosure.withheld and not disclosure.home
        turn.fitted = fit(
            draft_for(turn.draft, disclosure),
            current_for(messages, disclosure, turn.calls, from_home=from_home),
            self.data.context.window.request_tokens(turn.max_tokens, model),
            after=correction(UNSAID if claim and from_home else claim),
        )
        factor = self.data.context.window.calibration(model).factor
        turn.trace.ask(model, turn.fitted, factor, again=bool(claim))
        self._report(turn, turn.fitted, factor)
        return turn.fitted

    def _report(self, turn: Turn, fitted: FittedRequest, factor: float) -> None:
        """Tell what a request carries, and what was taken out of it; once for what stays the same."""
        if turn.context is None:
            return
        ids = tuple(entity_id for slot in fitted.slots for entity_id in slot.entity_ids)
        catalogue = fitted.catalogue or turn.context.catalogue
        told = catalogue.tokens + sum(slot.tokens for slot in fitted.slots)
        if (carried := (told, ids)) != turn.reported:
            turn.reported = carried
            self.emitter.fire(
                EVENT_CONTEXT_INJECTED,
                turn.calls.speaker.context,
                conversation_id=turn.calls.conversation_id,
                mode=self.data.context.mode,
                entities_included=list(ids),
                entity_count=len(turn.context.house.entities) if catalogue.complete else len(ids),
                token_count=round(told * factor),
                request_tokens=round(fitted.tokens * factor),
                vector_db_query=next((slot.query for slot in fitted.slots if slot.query), None),
            )
        if fitted.steps and fitted.steps != turn.compressed:
            LOGGER.debug("The request was made shorter: %s", ", ".join(fitted.steps))
            self.emitter.fire(
                EVENT_CONTEXT_OPTIMIZED,
                turn.calls.speaker.context,
                conversation_id=turn.calls.conversation_id,
                original_tokens=round(fitted.original * factor),
                optimized_tokens=round(fitted.tokens * factor),
                compression_ratio=round(fitted.tokens / max(fitted.original, 1), 3),
                was_truncated=not TRUNCATING.isdisjoint(fitted.steps),
                shortened=list(fitted.steps),
            )
        turn.compressed = fitted.steps

    def _drew_on_home(self, turn: Turn) -> bool:
        """Return whether a turn holds what a model outside the house must not be told later on."""
        away, calls = self.data.data_policy.away, turn.calls
        tells = [calls.disclosure.categories[call_id] for call_id in calls.disclosure.made_at_home]
        return (
            turn.calls.disclosure.withheld
            or any(Tells.PEOPLE in told or not away.allows(told) for told in tells)
            or (turn.fitted is None and not away.states)
        )

    def _stays_home(self, turn: Turn) -> bool:
        """Return whether the last request, or what came of it, must not be shown to a model outside."""
        return turn.calls.disclosure.withheld and self.data.data_policy.of(turn.asked).home

    def _note_usage(self, turn: Turn, usage: Usage) -> None:
        """Learn from what the server counted."""
        if turn.fitted is not None:
            calibration = self.data.context.window.calibration(self.router.last_used)
            calibration.note_usage(turn.fitted.tokens, usage.prompt, usage.cached)

    def _note_refusal(self, turn: Turn, err: ModelServerError) -> None:
        """Learn from a request that the server found too long."""
        LOGGER.info("The model server finds the request too long; asking again with less")
        assert turn.fitted is not None
        self.data.context.window.calibration(turn.asked).note_refusal(
            turn.fitted.tokens, limit=err.limit, counted=err.counted, answer=turn.max_tokens
        )
