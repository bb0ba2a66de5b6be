"""play_media: music, radio and films by their names, found in what a player knows."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, override

import probatio

from homeassistant.const import STATE_BUFFERING, STATE_PLAYING
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ...domains.base import supports
from ...errors import ToolExecutionError, ValidationError
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...texts import one_line
from ..base import HomeAgentTool, ServiceCall, ToolRun
from ..control.direction import check_asked
from ..control.readback import Expectation, Settling
from .choosing import choose_one, records_of
from .media_library import BROWSE, DOMAIN, KINDS, SEARCH, MediaMatch, async_find

PLAY: Final = "PLAY_MEDIA"
ENQUEUE: Final = "MEDIA_ENQUEUE"
"""Features of a player beside those of searching."""
MAX_QUERY: Final = 120
MAX_TITLE: Final = 120
MAX_OTHERS: Final = 4
MAX_FOUND: Final = 15


class MediaTool(HomeAgentTool):
    """Searches a player and plays the best match. Titles are untrusted."""

    name = "play_media"
    title = "Play music and films"
    description = "Find music, radio or films and play them."
    domain = DOMAIN
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("query", description="title, artist, album, genre or station"): str,
            probatio.Optional("player", description="player or room"): str,
            probatio.Optional("kind"): probatio.In(list(KINDS)),
            probatio.Optional("action"): probatio.In(["play", "queue", "search"]),
        }
    )

    def __init__(self) -> None:
        """Know no player yet."""
        self._able: set[str] = set()
        """Players that could search once: some forget how while they are off, and the tools stay the same."""

    @override
    def is_useful(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        """Return whether there is a player that can look for something."""
        if self._able.isdisjoint(house.entities):
            states = map(hass.states.get, house.derived("players", _players))
            self._able = {state.entity_id for state in states if state is not None and _finds(state)}
        return bool(self._able)

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """Return whether nothing is played."""
        return args.get("action") == "search"

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return the titles: their publishers choose them."""
        if not isinstance(result, dict):
            return []
        items = [result.get("started"), *_as_list(result.get("found")), *_as_list(result.get("others"))]
        return [str(item["title"]) for item in items if isinstance(item, dict)]

    @override
    async def async_check(self, args: Mapping[str, Any], run: ToolRun) -> None:
        """Refuse to change anything in answer to a question. Raises ValidationError."""
        check_asked(run)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Find, and play unless only a search is wanted.

        Raises ValidationError for a player that is not clear, ToolExecutionError where nothing is found.
        """
        query = one_line(args["query"].strip(), MAX_QUERY)
        if not query:
            raise ValidationError("query: say what is to be played")
        action = args.get("action") or "play"
        player = _player(run, args.get("player"), needed=ENQUEUE if action == "queue" else PLAY)
        found = await async_find(run, player.entity_id, query, args.get("kind"))
        if not found:
            raise ToolExecutionError("The player finds nothing of that name that it can play")
        on = one_line(player.name, MAX_TITLE)
        if action == "search":
            return {"found": [_as_match(item) for item in found[:MAX_FOUND]], "on": on}
        state = await _async_play(run, player.entity_id, found[0], queue=action == "queue")
        result: dict[str, JsonValueType] = {"started": _as_match(found[0]), "on": on, "state": state}
        if action == "queue":
            result["queued"] = True
        if others := found[1 : 1 + MAX_OTHERS]:
            result["others"] = [_as_match(item) for item in others]
        return result


def _players(house: HouseSnapshot) -> list[str]:
    """Return the players of a house."""
    return [entity_id for entity_id, record in house.entities.items() if record.domain == DOMAIN]


def _finds(state: State, needed: str = PLAY) -> bool:
    """Return whether a player can look for media and play them."""
    return all(supports(state, features) for features in (PLAY, f"{SEARCH} {BROWSE}", needed))


def _player(run: ToolRun, said: str | None, *, needed: str) -> EntityRecord:
    """Return the player that is meant; of several in one room the one that can search."""

    def searches(record: EntityRecord) -> bool:
        return supports(run.hass.states.get(record.entity_id), SEARCH)

    able = records_of(run, DOMAIN, lambda state: _finds(state, needed))
    return choose_one(run, able, said, "player", better=searches)


async def _async_play(run: ToolRun, entity_id: str, found: MediaMatch, *, queue: bool) -> str:
    """Play or queue a match, and return the state of the player after at most a second."""
    data = {"media_content_id": found.content_id, "media_content_type": found.content_type}
    if queue:
        data["enqueue"] = "add"
    call = ServiceCall(domain=DOMAIN, service="play_media", entity_ids=(entity_id,), data=data)
    expected = Expectation(frozenset((STATE_PLAYING,)), passing=frozenset((STATE_BUFFERING,)))
    settling = Settling(run.hass, {entity_id: expected})
    try:
        await run.call(call)
        if not queue:
            await settling.async_wait()
    finally:
        settling.stop()
    state = run.hass.states.get(entity_id)
    return one_line(state.state, MAX_TITLE) if state else "unknown"


def _as_match(found: MediaMatch) -> dict[str, JsonValueType]:
    """Return a match as the model reads it."""
    return {"title": one_line(found.title, MAX_TITLE), "kind": found.kind}


def _as_list(value: object) -> list[Any]:
    """Return a list, an empty one for anything else."""
    return value if isinstance(value, list) else []
