"""What Home Agent may propose on its own: simple actions of the vetted table, and who may say yes to them."""

from collections.abc import Iterable, Sequence
from typing import Final

from homeassistant.core import HomeAssistant

from ..errors import PermissionDenied, ValidationError
from ..knowledge.speaker import Speaker
from ..safety.frozen import MAX_THINGS, CallDraft, CallOrigin, WaitingCalls
from ..safety.rules import Verdict
from .base import ServiceCall
from .control.planning import calls_of, plan
from .control.values import Units
from .guard import Guard
from .waiting import freeze

PROPOSED: Final = (
    "close",
    "lock",
    "turn_off",
    "turn_on",
    "open",
    "unlock",
    "start",
    "return_to_base",
    "arm_away",
    "arm_night",
    "activate",
)
"""Actions without values, by the names that the domains give them."""


def propose(
    hass: HomeAssistant, verb: str, entity_ids: Iterable[str], *, gated: bool
) -> tuple[ServiceCall, ...]:
    """Return the calls of an action on as many entities as a question can name.

    Raises ValidationError if an entity cannot do that now.
    """
    units = Units(hass.config.units.temperature_unit)
    chosen = list(dict.fromkeys(entity_ids))
    calls: list[ServiceCall] = []
    for entity_id in chosen[:MAX_THINGS]:
        if (state := hass.states.get(entity_id)) is None:
            raise ValidationError(f"{entity_id} does not exist")
        try:
            made = plan(state, verb, {}, units, gated=gated)
        except ValidationError as err:
            raise ValidationError(f"{entity_id} {err}") from err
        calls += calls_of(made, entity_id)
    if not calls:
        raise ValidationError("nothing to do")
    return tuple(calls)


async def async_verdict(guard: Guard, calls: Sequence[ServiceCall], speaker: Speaker) -> Verdict:
    """Return whether somebody may have these calls made, and whether they are restricted."""
    try:
        user = await guard.async_user(speaker)
        if all(guard.is_free(call, user, speaker) for call in calls):
            return Verdict.ALLOW
        return max(guard.check(call, user, speaker) for call in calls)
    except PermissionDenied:
        return Verdict.BLOCK


def draft_of(
    hass: HomeAssistant, guard: Guard, calls: Iterable[ServiceCall], speaker: Speaker
) -> WaitingCalls:
    """Return the calls as a question for a confirmation needs them."""
    draft = WaitingCalls(speaker=speaker, conversation_id=speaker.conversation_id)
    part = CallDraft(draft=draft, origin=CallOrigin(speaker=speaker))
    for call in calls:
        freeze(hass, part, guard.frozen(call, speaker, None))
    return draft
