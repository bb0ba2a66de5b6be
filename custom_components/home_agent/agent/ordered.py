"""The words with which a person may repeat what was asked about, beside a yes."""

from collections.abc import Sequence

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er

from ..domains import DOMAINS
from ..safety.answers import Ordered
from ..safety.frozen import Frozen, FrozenCall, FrozenPlan
from .questions import parts


@callback
def ordered(hass: HomeAssistant, frozen: Sequence[Frozen]) -> Ordered:
    """Return the verbs and the names by which a person may repeat what was asked about."""
    calls = [
        call for part in parts(frozen) for call in (part.calls if isinstance(part, FrozenPlan) else (part,))
    ]
    verbs = [_verbs(call) for call in calls]
    targets = {one for call in calls if isinstance(call, FrozenCall) for one in call.entity_ids}
    names: list[str] = []
    if len(targets) == 1 and len(calls) == 1:
        (entity_id,) = targets
        if (state := hass.states.get(entity_id)) is not None:
            names.append(state.name)
        if (entry := er.async_get(hass).async_get(entity_id)) is not None:
            names.extend(alias for alias in entry.aliases if isinstance(alias, str))
    return Ordered(frozenset.intersection(*verbs) if verbs else frozenset(), tuple(names))


def _verbs(call: Frozen) -> frozenset[str]:
    """Return the actions that a call means; none for what people have no single verb for."""
    if not isinstance(call, FrozenCall):
        return frozenset()
    actions = DOMAINS[call.domain].actions.items()
    fitting = [(name, *action.also_said) for name, action in actions if action.service == call.service]
    return frozenset(verb for verbs in fitting for verb in verbs)
