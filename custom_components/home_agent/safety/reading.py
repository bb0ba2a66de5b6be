"""Who may be told what of the home: the one gate for states, attributes and history.

Names of entities are no secret: every speaker's prompt has the same ones, so that it stays in the model's
cache.
"""

from dataclasses import dataclass
from typing import Final

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.core import HomeAssistant, callback

from ..domains import DOMAINS
from ..knowledge.speaker import Speaker
from .policy import Policy
from .rules import Verdict

LISTS: Final = ("calendar", "todo")
"""Kinds that rules may hide; of all others rules are about changes only."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who asks through one agent, and what they may be told now."""

    hass: HomeAssistant
    policy: Policy
    speaker: Speaker
    user: User | None
    """The active user who speaks. Without one, a speaker with an account may read nothing."""

    @callback
    def sees(self, entity_id: str) -> bool:
        """Return whether an entity is exposed to the agent, and the speaker may read it."""
        return self.policy.view.is_exposed(entity_id) and self.permits(entity_id)

    @callback
    def permits(self, entity_id: str) -> bool:
        """Return whether rights and rules let the speaker read an entity, exposed or not."""
        if self.user is None:
            has_right = self.speaker.context.user_id is None
        else:
            has_right = self.user.permissions.check_entity(entity_id, POLICY_READ)
        domain = entity_id.partition(".")[0]
        return has_right and not (
            domain in LISTS
            and any(
                self.policy.judge(domain, service, (entity_id,), self.speaker, user=self.user)
                is not Verdict.ALLOW
                for service in DOMAINS[domain].reads
            )
        )

    @property
    def narrows(self) -> bool:
        """Return whether there is anything exposed that the speaker may not be told of through the agent."""
        if self.user is None:
            reads_all = self.speaker.context.user_id is None
        else:
            reads_all = self.user.permissions.access_all_entities(POLICY_READ)
        lists = self.hass.states.async_entity_ids(LISTS)
        return self.policy.view.narrows or not reads_all or not all(map(self.permits, lists))
