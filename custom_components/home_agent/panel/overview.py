"""The command behind the first page: how the agent is doing."""

from collections.abc import Mapping
from typing import Final, TypedDict
from urllib.parse import urlsplit

from homeassistant.core import callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.util import dt as dt_util

from ..connection import QueueLength, queue_length
from ..const import (
    CONF_BASE_URL,
    CONF_FALLBACK_MODEL,
    CONF_LOCAL_FIRST,
    CONF_MEMORY,
    CONF_MODEL,
    DOMAIN,
)
from ..parts import is_learning_enabled, is_proactive_enabled
from ..usage import UsageDay, cost
from .commands import CommandRow, PanelCommand


class OverviewAnswer(TypedDict):
    """How an agent is doing."""

    reachable: bool | None
    """Whether the model server answers; None until it was asked."""
    server: str
    """The name and the port of the server, without its path and keys."""
    model: str
    fallback: str
    waiting: int
    """Actions that wait for a confirmation."""
    suggestions: int
    """Suggestions that wait for an answer."""
    issues: int
    """Repair issues of the integration."""
    exposed: int
    """Entities that the agent may see."""
    memories: int
    today: UsageDay
    cost: float | None
    """What today cost; None without prices."""
    features: dict[str, bool]
    queue: QueueLength
    """Requests to the model server, those of other agents included."""


async def _async_overview(command: PanelCommand) -> OverviewAnswer:
    data, settings = command.data, command.data.settings
    (today,) = data.shared.usage.of(data.entry_id).days(dt_util.now().date(), 1)
    return {
        "reachable": data.server_reachable,
        "server": _host(settings.get(CONF_BASE_URL) or ""),
        "model": settings[CONF_MODEL],
        "fallback": settings.get(CONF_FALLBACK_MODEL) or "",
        "waiting": len(data.confirmations.pending),
        "suggestions": sum(item.state.value == "open" for item in data.suggested.suggestions.values()),
        "issues": _issues(command),
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


def _host(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"{host}:{parts.port}" if parts.port else host


@callback
def _issues(command: PanelCommand) -> int:
    issues = ir.async_get(command.hass).issues.values()
    return sum(issue.domain == DOMAIN and issue.active and not issue.dismissed_version for issue in issues)


COMMANDS: Final[Mapping[str, CommandRow]] = {"overview": CommandRow(_async_overview)}
