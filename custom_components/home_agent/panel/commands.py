"""What all commands of the panel share, and those about the agent, its turns and its figures."""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import probatio

from homeassistant.auth.models import User
from homeassistant.const import __version__
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.loader import async_get_integration
from homeassistant.util import dt as dt_util

from ..agent.record import MAX_TURNS, Row
from ..connection import queue_length
from ..const import (
    CONF_BASE_URL,
    CONF_FALLBACK_MODEL,
    CONF_LOCAL_FIRST,
    CONF_MEMORY,
    CONF_MODEL,
    DOMAIN,
)
from ..knowledge.speaker import USER_PREFIX, async_person_of_user, persons
from ..parts import is_learning_enabled, is_proactive_enabled
from ..runtime import HomeAgentData
from ..services.base import Response, invalid
from ..usage import MAX_DAYS, cost

type PanelHandler = Callable[[PanelCommand], Coroutine[Any, Any, Response]]

MAX_QUOTED: Final = 600
"""Characters of an answer, and of the arguments and the result of a call, in a report."""
EMPTY: Final[Response] = {}
"""The command worked, and there is nothing to show."""


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A command of the panel.

    A handler that is for everybody checks itself what the user may see and do.
    """

    handler: PanelHandler
    fields: Mapping[Any, Any] = field(default_factory=dict)
    """The fields beside the agent."""
    everybody: bool = False
    """Whether users who are not administrators may use it too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelCommand:
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

    def turn(self) -> Row:
        """Return the turn that is named, in all its parts. Raises HomeAssistantError if it is gone."""
        if (turn := self.data.turn_log.whole(self.fields["turn_id"])) is None:
            raise invalid("turn_unknown")
        return {**turn}


def int_in_range(least: int, most: int) -> probatio.All[Any]:
    """Return the check of a whole number."""
    return probatio.All(int, probatio.Range(min=least, max=most))


async def _async_overview(command: PanelCommand) -> Response:
    """Return how an agent is doing.

    `reachable` is None until the server was asked, `cost` without prices.
    """
    data, settings = command.data, command.data.settings
    address = urlsplit(settings.get(CONF_BASE_URL) or "")
    issues = ir.async_get(command.hass).issues.values()
    (today,) = data.shared.usage.of(data.entry_id).days(dt_util.now().date(), 1)
    return {
        "reachable": data.server_reachable,
        "server": f"{address.hostname or ''}{f':{address.port}' if address.port else ''}",
        "model": settings[CONF_MODEL],
        "fallback": settings.get(CONF_FALLBACK_MODEL) or "",
        "waiting": len(data.confirmations.pending),
        "suggestions": sum(item.state.value == "open" for item in data.suggested.suggestions.values()),
        "issues": sum(
            issue.domain == DOMAIN and issue.active and not issue.dismissed_version for issue in issues
        ),
        "exposed": len((await data.house.async_snapshot()).entities),
        "memories": len(data.memories.records()),
        "today": today,
        "cost": cost(today, settings),
        "queue": queue_length(command.hass, settings[CONF_BASE_URL]),
        "features": {
            "memory": bool(settings[CONF_MEMORY]),
            "learning": is_learning_enabled(settings),
            "proactive": is_proactive_enabled(settings),
            "local_first": bool(settings[CONF_LOCAL_FIRST]),
        },
    }


async def _async_turns(command: PanelCommand) -> Response:
    """Return the last turns in short, the newest first, and how many are kept."""
    return {"most": MAX_TURNS, "turns": command.data.turn_log.short()}


async def _async_turn(command: PanelCommand) -> Response:
    return command.turn()


async def _async_usage(command: PanelCommand) -> Response:
    """Return the usage of the last days, the oldest first, and what each cost; no costs without prices."""
    usage = command.data.shared.usage.of(command.data.entry_id)
    days = usage.days(dt_util.now().date(), command.fields["days"])
    costs = (cost(day, command.data.settings) for day in days)
    return {"days": days, "costs": [each for each in costs if each is not None]}


async def _async_report(command: PanelCommand) -> Response:
    """Return the text of an issue about a turn. Raises HomeAssistantError for one that is no longer kept.

    The requests are not part of it: they hold the names and the states of the whole home.
    """
    turn = command.turn()
    integration = await async_get_integration(command.hass, DOMAIN)
    text = await command.data.outgoing.async_mask("\n".join(_lines(turn)), turn["language"])
    return {"report": f"Home Agent {integration.version}, Home Assistant {__version__}\n{text}"}


def _lines(turn: Row) -> Iterator[str]:
    models = dict.fromkeys(request["model"] for request in turn["requests"])
    yield f"Model: {', '.join(models) or 'none was asked'}"
    yield f"Language: {turn['language']}, {turn['surface']}"
    yield f"Outcome: {turn['outcome']}{f' ({turn["error"]}: {turn["cause"]})' if turn['error'] else ''}"
    yield ""
    yield f"**Sentence:** {turn['sentence']}"
    yield f"**Answer:** {turn['answer'][:MAX_QUOTED]}"
    yield "**Expected:** "
    yield ""
    for request in turn["requests"]:
        parts = ", ".join(f"{part['name']} {part['tokens']}" for part in request["parts"])
        again = ", asked again" if request["again"] else ""
        yield (
            f"- request at {request['at']:.0f} ms{again}: waited {request['waited_ms']:.0f} ms, "
            f"first token {request['first_ms'] or 0:.0f} ms, "
            f"{request['ms']:.0f} ms, prompt {request['prompt']}, cached {request['cached']}, "
            f"answer {request['completion']} ({parts})"
        )
    for call in turn["calls"]:
        worked = "waits" if call["waits"] else "worked" if call["success"] else "failed"
        fit = " ".join((call["fit"], *call["rules"]))
        yield f"- call of {call['tool']} at {call['at']:.0f} ms: {worked}, {fit}"
        yield f"  - arguments: {call['args'][:MAX_QUOTED]}"
        yield f"  - result: {call['result'][:MAX_QUOTED]}"


_TURN: Final = {probatio.Required("turn_id"): str}

COMMANDS: Final[Mapping[str, CommandRow]] = {
    "overview": CommandRow(_async_overview),
    "turns": CommandRow(_async_turns),
    "turn": CommandRow(_async_turn, _TURN),
    "usage": CommandRow(_async_usage, {probatio.Optional("days", default=30): int_in_range(1, MAX_DAYS)}),
    "report": CommandRow(_async_report, _TURN),
}
