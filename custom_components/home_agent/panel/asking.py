"""What a command of the panel gets, and what the commands share."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant

from ..knowledge.persons import USER_PREFIX, persons
from ..runtime import HomeAgentData

type Command = tuple[Callable[[Asking], Coroutine[Any, Any, dict[str, Any]]], Mapping[Any, Any]]
"""What answers, and the fields beside the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One command of an administrator."""

    hass: HomeAssistant
    data: HomeAgentData
    user: User
    fields: Mapping[str, Any]

    async def async_names(self) -> dict[str, str]:
        """Return what persons and users are called, by the ids that are stored."""
        names: dict[str, str] = {}
        for user in await self.hass.auth.async_get_users():
            names[user.id] = names[f"{USER_PREFIX}{user.id}"] = user.name or ""
        for person in persons(self.hass):
            names[person.id] = person.name
            if person.user_id:
                names[person.user_id] = person.name
        return names
