"""play_media: music, radio and films by their names, found in what a player knows."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, override

import probatio

from homeassistant.components.media_player.const import MediaPlayerDeviceClass
from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_SUPPORTED_FEATURES, STATE_BUFFERING, STATE_PLAYING
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ...domains.features import feature_bits, supports
from ...errors import ToolExecutionError, ValidationError
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.names import phrase_similarity, squash
from ...safety.frozen import ServiceCall
from ...texts import fold, one_line
from ..base import HomeAgentTool, ToolOutput, ToolRun
from ..control.asked import check_asked
from ..control.planning import Expectation, Settling
from ..results import ToldAct
from .choosing import choose_one, records_of

DOMAIN: Final = "media_player"
BROWSE: Final = "BROWSE_MEDIA"
SEARCH: Final = "SEARCH_MEDIA"
"""Features of a player."""
FINDING: Final = f"{SEARCH} {BROWSE}"

KINDS: Final = {
    "track": ("track", "music"),
    "album": ("album",),
    "artist": ("artist", "composer", "contributing_artist"),
    "playlist": ("playlist",),
    "genre": ("genre",),
    "station": ("channel", "music", "app"),
    "podcast": ("podcast", "episode"),
    "film": ("movie", "video"),
    "series": ("tv_show", "season", "episode"),
}
"""Kind: the media classes of Home Assistant that it means."""

WATCHED: Final = frozenset({"film", "series"})
"""Kinds that need a screen."""

SOURCES: Final = ("media_source", "radio_browser", "dlna_dms", "jellyfin")
"""Media sources that hold music and films; others hold what cameras have seen, photos or speech."""
SOURCE_SCHEME: Final = "media-source://"

MAX_BROWSED: Final = 24
"""Folders that are opened for one question."""
MAX_DEPTH: Final = 4
MAX_CHILDREN: Final = 2000
"""Entries of a folder that are looked at."""
BROWSE_SECONDS: Final = 12
SURE: Final = 0.8
"""How like a title a query must be that has other words."""
PLAY: Final = "PLAY_MEDIA"
ENQUEUE: Final = "MEDIA_ENQUEUE"
"""Features of a player beside those of searching."""
MAX_QUERY: Final = 120
MAX_TITLE: Final = 120
MAX_OTHERS: Final = 4
MAX_FOUND: Final = 15


@dataclass(frozen=True, slots=True)
class MediaMatch:
    """Something that a player can play."""

    title: str
    kind: str
    content_id: str
    content_type: str


async def async_find(run: ToolRun, entity_id: str, query: str, kind: str | None) -> list[MediaMatch]:
    """Return the matches of a player, the best first: of its own search, else of its folders.

    Raises PermissionDenied for what the speaker may not read, ToolExecutionError if the player fails.
    """
    if not supports(run.hass.states.get(entity_id), SEARCH):
        return await _async_browse(run, entity_id, query, kind)
    matches: list[MediaMatch] = []
    for classes in ([list(KINDS[kind])] if kind else []) + [[]]:
        data: dict[str, Any] = {"search_query": query}
        if classes:
            data["media_filter_classes"] = classes
        call = ServiceCall(domain=DOMAIN, service="search_media", entity_ids=(entity_id,), data=data)
        result = (await run.read(call)).get(entity_id)
        if matches := list(_playable(getattr(result, "result", ()))):
            break
    return sorted(matches, key=lambda match: squash(match.title) != squash(query))


async def _async_browse(run: ToolRun, entity_id: str, query: str, kind: str | None) -> list[MediaMatch]:
    """Return what fits in the folders of a player; those of the kind that is meant are opened first."""
    fits: dict[MediaMatch, float] = {}
    folders: list[tuple[int, int, dict[str, str]]] = [(0, 0, {})]
    with suppress(TimeoutError):
        async with asyncio.timeout(BROWSE_SECONDS):
            for opened in range(MAX_BROWSED):
                if not folders or 1.0 in fits.values():
                    break
                folders.sort(key=lambda item: item[:2])
                _, depth, data = folders.pop(0)
                call = ServiceCall(domain=DOMAIN, service="browse_media", entity_ids=(entity_id,), data=data)
                try:
                    folder = (await run.read(call)).get(entity_id)
                except ToolExecutionError:
                    if opened == 0:
                        raise
                    continue
                children = list(getattr(folder, "children", None) or ())[:MAX_CHILDREN]
                for match in _playable(children):
                    if (likeness := _likeness(query, match.title)) >= SURE:
                        fits[match] = likeness - (0.1 if kind and match.kind not in KINDS[kind] else 0)
                for child in children if depth < MAX_DEPTH else ():
                    content_id = str(child.media_content_id)
                    if not child.can_expand or not is_harmless(content_id):
                        continue
                    classes = {str(child.media_class), str(child.children_media_class)}
                    rank = 0 if kind and classes & set(KINDS[kind]) else 1
                    own = {
                        "media_content_id": content_id,
                        "media_content_type": str(child.media_content_type),
                    }
                    folders.append((rank, depth + 1, own))
    return sorted(fits, key=lambda match: -fits[match])


def _playable(items: Iterable[Any]) -> Iterator[MediaMatch]:
    """Yield the playable media that is music or film, not a camera."""
    for item in items:
        if item.can_play and is_harmless(str(item.media_content_id)):
            yield MediaMatch(
                str(item.title),
                str(item.media_class),
                str(item.media_content_id),
                str(item.media_content_type),
            )


def is_harmless(content_id: str) -> bool:
    """Return whether an id is of the player's own library, or of a source of music and films."""
    if not content_id.casefold().startswith(SOURCE_SCHEME):
        return True
    source = content_id[len(SOURCE_SCHEME) :].partition("/")[0]
    return source in ("", *SOURCES)


def _likeness(query: str, title: str) -> float:
    """Return how well a title fits: 1 for the same name, less for one that only has its words."""
    asked, name = fold(query).split(), fold(title).split()
    if squash(query) == squash(title):
        return 1.0
    if asked and set(asked) <= set(name):
        return 0.95
    return min(0.9, phrase_similarity(asked, name))


class MediaTool(HomeAgentTool):
    """Searches a player and plays the best match. Titles are untrusted."""

    name = "play_media"
    names_targets = True
    title = "Play music and films"
    description = "Find a title, artist, album, genre, station or film and play it. player: its name or room."
    unoffered = ("kind",)
    domain = DOMAIN
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("query"): str,
            probatio.Optional("player"): str,
            probatio.Optional("kind"): probatio.In(list(KINDS)),
            probatio.Optional("action"): probatio.In(["play", "queue", "search"]),
        }
    )

    def __init__(self) -> None:
        self._able: set[str] = set()
        """Players that could search once: some forget how while they are off, and the tools stay the same."""

    @override
    def is_useful(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
        """Return whether there is a player that can look for something."""
        if not any(entity_id in house.entities for entity_id in self._able):
            needed = [feature_bits(DOMAIN, features) for features in (FINDING, PLAY)]
            self._able = {
                state.entity_id
                for state in hass.states.async_all(DOMAIN)
                if isinstance(bits := state.attributes.get(ATTR_SUPPORTED_FEATURES), int)
                and bits & needed[0]
                and bits & needed[1]
                and state.entity_id in house.entities
            }
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
        items = [result.get("started")]
        for key in ("found", "others"):
            items += rows if isinstance(rows := result.get(key), list) else []
        return [str(item["title"]) for item in items if isinstance(item, dict)]

    @override
    async def async_check(self, args: Mapping[str, Any], run: ToolRun) -> None:
        """Refuse to change anything in answer to a question. Raises ValidationError."""
        check_asked(run)

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[ToldAct, ...]:
        """Return what is playing now."""
        if not isinstance(result, Mapping) or result.get("state") != STATE_PLAYING or "queued" in result:
            return ()
        if not isinstance(started := result.get("started"), Mapping):
            return ()
        return (ToldAct(key="plays", names=[str(started["title"])]),)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Find, and play unless only a search is wanted.

        Raises ValidationError for a player that is not clear, ToolExecutionError where nothing is found.
        """
        query = one_line(args["query"].strip(), MAX_QUERY)
        if not query:
            raise ValidationError("query: say what is to be played")
        action = args.get("action") or "play"
        player = _player(run, args, needed=ENQUEUE if action == "queue" else PLAY)
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


def _player(run: ToolRun, args: Mapping[str, Any], *, needed: str) -> EntityRecord:
    """Return the player that is meant.

    Of several in one room it is the one that can search, then the screen for films and the other one for
    everything else, then the one that is playing.
    """
    wants_screen = args.get("kind") in WATCHED

    def state(record: EntityRecord) -> State | None:
        return run.hass.states.get(record.entity_id)

    def shows(record: EntityRecord) -> bool:
        attributes = found.attributes if (found := state(record)) else {}
        return (attributes.get(ATTR_DEVICE_CLASS) == MediaPlayerDeviceClass.TV) == wants_screen

    def plays(record: EntityRecord) -> bool:
        return (found := state(record)) is not None and found.state == STATE_PLAYING

    able = records_of(
        run, DOMAIN, lambda found: all(supports(found, features) for features in (FINDING, PLAY, needed))
    )
    better = (lambda record: supports(state(record), SEARCH), shows, plays)
    return choose_one(run, able, args.get("player"), "player", better=better)


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
    return {"title": one_line(found.title, MAX_TITLE), "kind": found.kind}
