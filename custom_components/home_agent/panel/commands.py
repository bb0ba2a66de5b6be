"""What all commands of the panel share, and those about the agent, its turns and its figures."""

from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import probatio

from homeassistant.auth.models import User
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.util import dt as dt_util

from .. import const
from ..agent.record import MAX_TURNS
from ..connection import queue_length
from ..const import DOMAIN
from ..knowledge.speaker import USER_PREFIX, async_person_of_user, persons
from ..runtime import HomeAgentData
from ..services.base import Response, invalid
from ..settings import is_learning_enabled
from .usage import MAX_DAYS, cost

type PanelHandler = Callable[[PanelCommand], Coroutine[Any, Any, Response]]

EMPTY: Final[Response] = {}
"""The command worked, and there is nothing to show."""


class CommandRow(NamedTuple):
    """A command of the panel.

    A handler that is for everybody checks itself what the user may see and do.
    """

    handler: PanelHandler
    fields: Mapping[Any, Any] = MappingProxyType({})
    """The fields beside the agent."""
    everybody: bool = False
    """Whether users who are not administrators may use it too."""


class PanelCommand(NamedTuple):
    """One command of a user. Only administrators may send it, unless it is for everybody."""

    hass: HomeAssistant
    data: HomeAgentData
    user: User
    context: Context
    fields: Mapping[str, Any]

    async def async_names(self) -> dict[str, str]:
        """Return the names of persons and users by their stored ids."""
        names: dict[str, str] = {}
        for user in await self.hass.auth.async_get_users():
            names[user.id] = names[f"{USER_PREFIX}{user.id}"] = user.name or ""
        for person in persons(self.hass):
            names[person.id] = person.name
            if person.user_id:
                names[person.user_id] = person.name
        return names

    async def async_people(self) -> list[dict[str, str]]:
        """Return the persons of the household, and the user of the panel if that is none of them."""
        known = {person.id: person.name for person in persons(self.hass)}
        if (own := await async_person_of_user(self.hass, self.user.id)) is not None:
            known.setdefault(own.id, own.name)
        return [{"id": person_id, "name": name} for person_id, name in known.items()]


def int_in_range(least: int, most: int) -> probatio.All[Any]:
    """Return the check of a whole number."""
    return probatio.All(int, probatio.Range(min=least, max=most))


async def _async_overview(command: PanelCommand) -> Response:
    """Return how an agent is doing.

    `reachable` is None until the server was asked, `cost` without prices.
    """
    data, settings = command.data, command.data.settings
    address = urlsplit(settings.get(const.CONF_BASE_URL) or "")
    issues = ir.async_get(command.hass).issues.values()
    (today,) = data.shared.usage.of(data.entry_id).days(dt_util.now().date(), 1)
    return {
        "reachable": data.server_reachable,
        "server": f"{address.hostname or ''}{f':{address.port}' if address.port else ''}",
        "model": settings[const.CONF_MODEL],
        "fallback": settings.get(const.CONF_FALLBACK_MODEL) or "",
        "waiting": len(data.confirmations.pending),
        "suggestions": sum(item.state.value == "open" for item in data.suggested.suggestions.values()),
        "issues": sum(
            issue.domain == DOMAIN and issue.active and not issue.dismissed_version for issue in issues
        ),
        "exposed": len((await data.house.async_snapshot()).entities),
        "memories": len(data.memories.records()),
        "today": today,
        "cost": cost(today, settings),
        "queue": queue_length(command.hass, settings[const.CONF_BASE_URL]),
        "features": {
            "memory": bool(settings[const.CONF_MEMORY]),
            "learning": is_learning_enabled(settings),
            "proactive": bool(settings[const.CONF_PROACTIVE]),
            "local_first": bool(settings[const.CONF_LOCAL_FIRST]),
        },
    }


async def _async_turns(command: PanelCommand) -> Response:
    return {"most": MAX_TURNS, "turns": command.data.turn_log.short()}


async def _async_turn(command: PanelCommand) -> Response:
    """Return a turn in all its parts. Raises HomeAssistantError if it is gone."""
    if (turn := command.data.turn_log.whole(command.fields["turn_id"])) is None:
        raise invalid("turn_unknown")
    return {**turn}


async def _async_usage(command: PanelCommand) -> Response:
    """Return the usage of the last days, the oldest first, and what each cost; no costs without prices."""
    usage = command.data.shared.usage.of(command.data.entry_id)
    days = usage.days(dt_util.now().date(), command.fields["days"])
    costs = (cost(day, command.data.settings) for day in days)
    return {"days": days, "costs": [each for each in costs if each is not None]}


async def _async_self_test(command: PanelCommand) -> Response:
    """Return the last report of the self-test, None if there is none; its model may be a former one."""
    return {"result": command.data.shared.self_tests.of(command.data.entry_id).report}


_TURN: Final = {probatio.Required("turn_id"): str}

COMMANDS: Final[Mapping[str, CommandRow]] = {
    "overview": CommandRow(_async_overview),
    "self_test/result": CommandRow(_async_self_test),
    "turns": CommandRow(_async_turns),
    "turn": CommandRow(_async_turn, _TURN),
    "usage": CommandRow(_async_usage, {probatio.Optional("days", default=30): int_in_range(1, MAX_DAYS)}),
}
