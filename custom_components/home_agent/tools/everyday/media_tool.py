"""play_media: music, radio and films by their names, found in what a player knows.

Where Music Assistant is installed, its search knows who made what, and its queues move between rooms. Its
players are players of Home Assistant that hand `media_player.play_media` to it, so that rules, questions and
undo are the same for all players.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final, NamedTuple, override

import probatio

from homeassistant.const import (
    ATTR_DEVICE_CLASS,
    ATTR_SUPPORTED_FEATURES,
    STATE_BUFFERING,
    STATE_PAUSED,
    STATE_PLAYING,
    STATE_UNAVAILABLE,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er, llm
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
TV: Final = "tv"
SEARCH: Final = "SEARCH_MEDIA"
"""Features of a player."""
FINDING: Final = f"{SEARCH} BROWSE_MEDIA"

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
MAX_CHILDREN: Final = 2000
"""Entries of a folder that are looked at."""
SURE: Final = 0.8
"""How like a title a query must be that has other words."""
PLAY: Final = "PLAY_MEDIA"
MAX_TITLE: Final = 120
MAX_OTHERS: Final = 4
MAX_FOUND: Final = 15
ENQUEUED: Final = {"queue": "add", "next": "next"}
"""Actions that leave alone what plays, and how Home Assistant calls them."""
ACTIONS: Final = ("play", "queue", "search")
MUSIC_ACTIONS: Final = (*ACTIONS, "next", "move")
"""What is offered where players of Music Assistant are."""
MUSIC_SLOTS: Final = {"artist": str, "album": str, "radio_mode": bool}
MUSIC: Final = "music_assistant"
MUSIC_LISTS: Final = ("artists", "playlists", "radio", "tracks", "albums", "podcasts", "audiobooks")
"""The lists of a search. Of what is called the same the first one is meant."""
MUSIC_KINDS: Final = {
    **{kind: [kind] for kind in ("track", "album", "artist", "playlist", "podcast")},
    "genre": ["playlist", "radio"],
    "station": ["radio"],
}
"""Kind: the kinds of Music Assistant that it means."""
PLAYS: Final = frozenset((STATE_PLAYING, STATE_BUFFERING))


class MediaMatch(NamedTuple):
    """Something that a player can play."""

    title: str
    kind: str
    content_id: str
    content_type: str
    by: str = ""
    """Who made it, where that is known."""

    def as_result(self) -> dict[str, JsonValueType]:
        """Return what the model is told of it."""
        by: dict[str, JsonValueType] = {"by": self.by} if self.by else {}
        return {"title": one_line(self.title, MAX_TITLE), "kind": self.kind, **by}


async def async_find(run: ToolRun, entity_id: str, query: str, kind: str | None) -> list[MediaMatch]:
    """Return the matches of a player, the best first: of its own search, else of its folders.

    Raises PermissionDenied for what the speaker may not read, ToolExecutionError if the player fails.
    """
    if not supports(run.hass.states.get(entity_id), SEARCH):
        return await _async_browse(run, entity_id, query, kind)
    matches: list[MediaMatch] = []
    for classes in ([list(KINDS[kind])] if kind else []) + [[]]:
        data = {"search_query": query, **({"media_filter_classes": classes} if classes else {})}
        call = ServiceCall(domain=DOMAIN, service="search_media", entity_ids=(entity_id,), data=data)
        result = (await run.read(call)).get(entity_id)
        if matches := list(_playable(getattr(result, "result", ()))):
            break
    return sorted(matches, key=lambda match: squash(match.title) != squash(query))


def is_music_player(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether a player is one of Music Assistant's."""
    entry = er.async_get(hass).async_get(entity_id)
    return entry is not None and entry.platform == MUSIC


async def _async_find_music(
    run: ToolRun, entity_id: str, query: str, kind: str | None, artist: str, album: str
) -> list[MediaMatch]:
    """Return the matches of Music Assistant, the most alike first, all by the artist."""
    entry, name = er.async_get(run.hass).async_get(entity_id), query or album or artist
    given = {"artist": artist, "album": album}
    by = {key: value for key, value in given.items() if value and value != name}
    kinds = ["artist"] if name == artist else ["album"] if name == album else []
    kinds = kinds or (["track"] if album else ["track", "album"] if artist else [])
    data: dict[str, Any] = {"config_entry_id": entry.config_entry_id if entry else "", "name": name, **by}
    data |= {"media_type": wanted} if (wanted := MUSIC_KINDS.get(kind or "", kinds)) else {}
    call = ServiceCall(
        domain=MUSIC, service="search", entity_ids=(entity_id,), data={**data, "limit": MAX_FOUND}
    )
    answer = await run.read(call) if kind not in WATCHED else {}
    matches = []
    for item in (item for key in MUSIC_LISTS for item in answer.get(key) or ()):
        title, media_type, uri = (str(item.get(key) or "") for key in ("name", "media_type", "uri"))
        makers = ", ".join(str(each.get("name")) for each in item.get("artists") or ())
        if is_harmless(uri):
            matches.append(MediaMatch(title, media_type, uri, media_type, one_line(makers, MAX_TITLE)))
    own = [match for match in matches if "artist" not in by or _likeness(artist, match.by) >= SURE]
    if matches and not own:
        listed = "; ".join(f"{match.title} by {match.by}" for match in matches[:MAX_OTHERS])
        problem = ToolExecutionError(f"Nothing of that name by {artist}. There is: {listed}. Say so, and ask")
        problem.quotes = True
        raise problem
    return sorted(own, key=lambda match: -_likeness(name, match.title))


async def _async_move(run: ToolRun, player: str | None, source: str | None) -> JsonValueType:
    hass = run.hass
    records = records_of(run, DOMAIN, lambda state: is_music_player(hass, state.entity_id))
    states = {one: state for one in records if (state := hass.states.get(one.entity_id)) is not None}
    target = choose_one(run, records, player, "player")
    others = [one for one in states if one != target and run.reader.sees(one.entity_id)]
    plays = [one for one in others if states[one].state in PLAYS]
    movable = plays or [one for one in others if states[one].state == STATE_PAUSED]
    if not movable:
        here = states[target].state in PLAYS
        problem = "It plays there already" if here else "Nothing is playing that could be moved"
        raise ToolExecutionError(f"{problem}. Say so")
    now = choose_one(run, movable, source, "source")
    before = states[now]
    expected = Expectation(frozenset((before.state,)), passing=PLAYS)
    settling = Settling(hass, {target.entity_id: expected})
    data = {"source_player": now.entity_id}
    try:
        await run.call(
            ServiceCall(domain=MUSIC, service="transfer_queue", entity_ids=(target.entity_id,), data=data)
        )
        await settling.async_wait()
    finally:
        settling.stop()
    after = hass.states.get(target.entity_id)
    result: dict[str, JsonValueType] = {
        "moved_to": target.entity_id,
        "from": now.entity_id,
        "state": one_line(after.state, MAX_TITLE) if after else "unknown",
    }
    if title := before.attributes.get("media_title"):
        result["started"] = {"title": one_line(str(title), MAX_TITLE)}
    return result


async def _async_browse(run: ToolRun, entity_id: str, query: str, kind: str | None) -> list[MediaMatch]:
    """Return what fits in the folders of a player; those of the kind that is meant are opened first."""
    fits: dict[MediaMatch, float] = {}
    folders: list[tuple[int, int, dict[str, str]]] = [(0, 0, {})]
    with suppress(TimeoutError):
        async with asyncio.timeout(12):
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
                for child in children if depth < 4 else ():
                    content_id = str(child.media_content_id)
                    if not child.can_expand or not is_harmless(content_id):
                        continue
                    classes = {str(child.media_class), str(child.children_media_class)}
                    rank = 0 if kind and classes & set(KINDS[kind]) else 1
                    opens = {
                        "media_content_id": content_id,
                        "media_content_type": str(child.media_content_type),
                    }
                    folders.append((rank, depth + 1, opens))
    return sorted(fits, key=lambda match: -fits[match])


def _playable(items: Iterable[Any]) -> Iterator[MediaMatch]:
    """Yield the playable media that is music or film, not a camera."""
    for item in items:
        if item.can_play and is_harmless(str(item.media_content_id)):
            facts = (item.title, item.media_class, item.media_content_id, item.media_content_type)
            yield MediaMatch(*map(str, facts))


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
    description = "Play a title, artist, album, genre, station or film. player: name or room."
    domain = DOMAIN
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Optional("query"): str,
            probatio.Optional("player"): str,
            probatio.Optional("kind"): probatio.In(list(KINDS)),
            **{probatio.Optional(slot): kind for slot, kind in MUSIC_SLOTS.items()},
            probatio.Optional("source"): str,
            probatio.Optional("action"): probatio.In([*MUSIC_ACTIONS, "transfer"]),
        }
    )

    def __init__(self) -> None:
        self._able: set[str] = set()
        """Players that could search once: some forget how while they are off, and the tools stay the same."""

    @override
    def is_useful(self, hass: HomeAssistant, house: HouseSnapshot) -> bool:
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
    def parameters_in(self, hass: HomeAssistant, house: HouseSnapshot) -> Mapping[str, Any]:
        return _offered(any(is_music_player(hass, record.entity_id) for record in house.of_domain(DOMAIN)))

    @override
    def only_reads(self, args: Mapping[str, Any]) -> bool:
        return args.get("action") == "search"

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        if not isinstance(result, dict):
            return []
        items = [result.get("started")]
        for key in ("found", "others"):
            items += rows if isinstance(rows := result.get(key), list) else []
        return [
            str(item[key])
            for item in items
            if isinstance(item, dict)
            for key in ("title", "by")
            if key in item
        ]

    @override
    async def async_check(self, args: Mapping[str, Any], run: ToolRun) -> None:
        """Refuse to change anything in answer to a question. Raises ValidationError."""
        check_asked(run)

    @override
    def tell(self, args: Mapping[str, Any], result: ToolOutput, run: ToolRun) -> tuple[ToldAct, ...]:
        if not isinstance(result, Mapping) or result.get("state") != STATE_PLAYING or "queued" in result:
            return ()
        if "moved_to" in result:
            return (ToldAct(key="music_moved", entity_ids=(str(result["moved_to"]),)),)
        if not isinstance(started := result.get("started"), Mapping):
            return ()
        return (ToldAct(key="plays", names=[str(started["title"])]),)

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Find, and play unless only a search is wanted.

        Raises ValidationError for a player that is not clear, ToolExecutionError where nothing is found.
        """
        query, artist, album = (
            one_line((args.get(slot) or "").strip(), 120) for slot in ("query", "artist", "album")
        )
        action, kind = args.get("action") or "play", args.get("kind")
        if action in ("move", "transfer"):
            return await _async_move(run, args.get("player"), args.get("source"))
        if not (query or artist or album):
            raise ValidationError("query: say what is to be played")
        features = (FINDING, PLAY, *(("MEDIA_ENQUEUE",) if action in ENQUEUED else ()))
        records = records_of(run, DOMAIN, lambda state: all(supports(state, each) for each in features))
        is_watched = kind in WATCHED

        def rank(record: EntityRecord) -> tuple[bool, ...]:
            """Return whether it is there, can search, is for films or for music as is wanted, and plays."""
            state, entity_id = run.hass.states.get(record.entity_id), record.entity_id
            is_screen = state is not None and state.attributes.get(ATTR_DEVICE_CLASS) == TV
            return (
                state is not None and state.state != STATE_UNAVAILABLE,
                supports(state, SEARCH),
                is_screen == is_watched,
                is_music_player(run.hass, entity_id) != is_watched,
                state is not None and state.state == STATE_PLAYING,
            )

        player = choose_one(run, records, args.get("player"), "player", rank)
        is_music = is_music_player(run.hass, player.entity_id)
        if run.hass.states.is_state(player.entity_id, STATE_UNAVAILABLE):
            raise ToolExecutionError(f"{one_line(player.name, MAX_TITLE)} is not available now. Say so")
        if args.get("radio_mode") and not is_music:
            raise ValidationError("radio_mode: only players of Music Assistant go on with similar music")
        if is_music:
            found = await _async_find_music(run, player.entity_id, query, kind, artist, album)
        else:
            asked = " ".join(filter(None, (artist, album, query)))
            found = await async_find(run, player.entity_id, asked, kind)
        if not found:
            raise ToolExecutionError("The player finds nothing of that name that it can play. Say so")
        on = one_line(player.name, MAX_TITLE)
        if action == "search":
            return {"found": [item.as_result() for item in found[:MAX_FOUND]], "on": on}
        data: dict[str, Any] = {
            "media_content_id": found[0].content_id,
            "media_content_type": found[0].content_type,
            **({"enqueue": ENQUEUED[action]} if action in ENQUEUED else {}),
            **({"extra": {"radio_mode": True}} if args.get("radio_mode") else {}),
        }
        expected = Expectation(frozenset((STATE_PLAYING,)), passing=frozenset((STATE_BUFFERING,)))
        settling = Settling(run.hass, {player.entity_id: expected})
        try:
            await run.call(
                ServiceCall(domain=DOMAIN, service="play_media", entity_ids=(player.entity_id,), data=data)
            )
            if action not in ENQUEUED:
                await settling.async_wait()
        finally:
            settling.stop()
        state = run.hass.states.get(player.entity_id)
        shows = one_line(state.state, MAX_TITLE) if state else "unknown"
        result: dict[str, JsonValueType] = {"started": found[0].as_result(), "on": on, "state": shows}
        if action in ENQUEUED:
            result["queued"] = True
        if others := found[1 : 1 + MAX_OTHERS]:
            result["others"] = [item.as_result() for item in others]
        return result


@cache
def _offered(has_music: bool) -> Mapping[str, Any]:
    slots: dict[Any, Any] = {probatio.Optional("query") if has_music else probatio.Required("query"): str}
    slots[probatio.Optional("player")] = str
    if has_music:
        slots |= {probatio.Optional(slot): kind for slot, kind in MUSIC_SLOTS.items()}
    slots[probatio.Optional("action")] = probatio.In(list(MUSIC_ACTIONS if has_music else ACTIONS))
    schema = probatio.to_openapi(probatio.Schema(slots), openapi_version="3.1.0")
    return {key: value for key, value in schema.items() if key != "additionalProperties"}
