"""What a yes does: which words repeat what was asked about, and what was done, once the states show it."""

from collections.abc import Awaitable, Sequence

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er

from ..domains import DOMAINS
from ..errors import HomeAgentError
from ..safety.answers import Ordered
from ..safety.confirmation import PendingAction
from ..safety.frozen import Frozen, FrozenCall, FrozenPlan
from ..tools.control.planning import Settling, expectation_of
from .describe import async_done, async_targets, parts
from .phrases import async_error_sentence, async_phrase


async def async_carry_out(
    hass: HomeAssistant, action: PendingAction, language: str, approving: Awaitable[None]
) -> tuple[str, HomeAgentError | None]:
    """Run an action by an approval of it; return what became of it as a sentence, and the error if it failed.

    The error is ConfirmationRefused where the word did not count.
    """
    items = [
        call
        for part in parts(action.frozen)
        for call in (part.calls if isinstance(part, FrozenPlan) and part.due is None else (part,))
    ]
    expected = {
        entity_id: expectation
        for call in items
        if isinstance(call, FrozenCall) and (expectation := expectation_of(call.domain, call.service))
        for entity_id in call.entity_ids
    }
    settling = Settling(hass, expected)
    try:
        await approving
        if expected:
            await settling.async_wait()
    except HomeAgentError as err:
        return await async_error_sentence(hass, language, err), err
    finally:
        settling.stop()
    seen = {entity_id: hass.states.get(entity_id) for entity_id in expected}
    waiting = [entity_id for entity_id, state in seen.items() if not expected[entity_id].is_told(state)]
    unseen = [entity_id for entity_id in waiting if not expected[entity_id].is_reached(seen[entity_id])]
    if waiting:
        targets = await async_targets(hass, language, unseen or waiting)
        key = "done_unseen" if unseen else "done_begun"
        return await async_phrase(hass, language, key, targets=targets), None
    return await async_done(hass, language, items), None


@callback
def ordered(hass: HomeAssistant, frozen: Sequence[Frozen]) -> Ordered:
    """Return the verbs and the names by which a person may repeat what was asked about, beside a yes."""
    calls = [
        call for part in parts(frozen) for call in (part.calls if isinstance(part, FrozenPlan) else (part,))
    ]
    verbs: list[frozenset[str]] = []
    for call in calls:
        # People have no single verb for anything but a call.
        if isinstance(call, FrozenCall):
            named = DOMAINS[call.domain].actions.items()
            fitting = [(name, *action.also_said) for name, action in named if action.service == call.service]
            verbs.append(frozenset(verb for names in fitting for verb in names))
        else:
            verbs.append(frozenset())
    targets = {entity_id for call in calls if isinstance(call, FrozenCall) for entity_id in call.entity_ids}
    names: list[str] = []
    if len(targets) == 1 and len(calls) == 1:
        (entity_id,) = targets
        if (state := hass.states.get(entity_id)) is not None:
            names.append(state.name)
        if (entry := er.async_get(hass).async_get(entity_id)) is not None:
            names.extend(alias for alias in entry.aliases if isinstance(alias, str))
    return Ordered(frozenset.intersection(*verbs) if verbs else frozenset(), tuple(names))
