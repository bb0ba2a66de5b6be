"""Which entities are listed: no scenes and scripts that may not be used, as nothing can be read from them."""

from collections.abc import Mapping
from typing import Any

from ..const import CONF_ALLOW_SCRIPTS, CONF_POLICY_BLOCKED
from ..domains import DOMAINS
from ..knowledge.house import EntityRecord
from ..safety.rules import Effect, RuleSet


class Usable:
    """What the options leave of scenes and scripts. Other entities are listed: their states can be read."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._allowed = bool(settings[CONF_ALLOW_SCRIPTS])
        self._blocked = RuleSet(settings[CONF_POLICY_BLOCKED])

    @property
    def everything(self) -> bool:
        """Return whether no entity is left out."""
        return self._allowed and not self._blocked

    def lists(self, record: EntityRecord) -> bool:
        """Return whether the model is told of an entity."""
        if not DOMAINS[record.domain].is_gated:
            return True
        run = Effect(domain=record.domain, service="turn_on", entity_id=record.entity_id)
        return self._allowed and not self._blocked.fits(run)
