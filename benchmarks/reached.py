"""R1 and P5 together: whether what a sentence means stands in the first request, and what that costs."""

import re

from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

from .harness import add_ours, running_home
from .queries import spoken
from .report import Table, middle
from .requests import GOAL_TOKENS, as_text, count_tokens

SIZES = (500, 1000)
"""Smaller homes are listed whole."""
GOAL = 94
NUMBER = r"(?! \d)"
"""What may not follow a name: "Light 2" is another one than "Light"."""


async def reached() -> Table:
    """Return the share of what is meant that stands in the captured request, with the defaults."""
    table = Table(
        "R1/P5",
        "the captured first request, English, defaults",
        (
            "entities",
            "sentences",
            "queries",
            "in the request %",
            "goal",
            "median tokens",
            "most tokens",
            "goal",
        ),
    )
    for size in SIZES:
        with ModelServer() as server:
            server.default = text("Here is a short answer to that.")
            async with running_home(size) as (hass, home):
                ours = await add_ours(hass, server.url, {})
                for kind in ("en", "en indirect"):
                    shares, tokens = [], []
                    for query in spoken(hass, home.areas, "en"):
                        if kind not in query.groups:
                            continue
                        server.clear()
                        await conversation.async_converse(hass, query.text, None, Context(), "en", ours)
                        (chat,) = server.chats[:1]
                        shares.append(_share(hass, chat, query.gold))
                        tokens.append(count_tokens(as_text(chat.json)))
                    found = 100 * sum(shares) / len(shares)
                    cost = (middle(tokens), max(tokens), f"<= {GOAL_TOKENS}")
                    table.add(size, kind, len(shares), found, f">= {GOAL}" if kind == "en" else "", *cost)
    return table


def _share(hass: HomeAssistant, chat: Captured, gold: frozenset[str]) -> float:
    sent = as_text(chat.json)
    names = [state.name for entity_id in gold if (state := hass.states.get(entity_id))]
    return sum(bool(re.search(re.escape(name) + NUMBER, sent)) for name in names) / len(names)
