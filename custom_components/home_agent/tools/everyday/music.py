"""Music Assistant, where it is installed: its search knows who made what, and its queues move between rooms.

Its players are players of Home Assistant, which hand `media_player.play_media` to Music Assistant, so that
rules, questions and undo are the same for all players.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from homeassistant.const import STATE_BUFFERING, STATE_PAUSED, STATE_PLAYING
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.util.json import JsonValueType

from ...errors import ToolExecutionError
from ...safety.frozen import ServiceCall
from ...texts import one_line
from ..base import ToolRun
from ..control.planning import Expectation, Settling
from .choosing import choose_one, records_of

MUSIC: Final = "music_assistant"
MAX_TITLE: Final = 120
LISTS: Final = {
    "artists": "artist",
    "playlists": "playlist",
    "radio": "radio",
    "tracks": "track",
    "albums": "album",
    "podcasts": "podcast",
    "audiobooks": "audiobook",
}
"""The lists of a search, with the kind of what they hold. Of the same name the first one is meant."""
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    **{kind: (kind,) for kind in ("track", "album", "artist", "playlist", "podcast")},
    "genre": ("playlist", "radio"),
    "station": ("radio",),
}
"""Kind of the tool: the kinds of Music Assistant that it means."""
PLAYS: Final = frozenset((STATE_PLAYING, STATE_BUFFERING))


@callback
def is_music_player(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether a player is one of Music Assistant's."""
    entry = er.async_get(hass).async_get(entity_id)
    return entry is not None and entry.platform == MUSIC


async def async_search(
    run: ToolRun, entity_id: str, *, query: str, kind: str | None, artist: str, album: str
) -> list[Mapping[str, Any]]:
    """Return what Music Assistant finds, list after list: an artist or an album where only that is named.

    Raises PermissionDenied for what the speaker may not read, ToolExecutionError if the search fails.
    """
    entry = er.async_get(run.hass).async_get(entity_id)
    data: dict[str, Any] = {"config_entry_id": entry.config_entry_id if entry else "", "limit": 10}
    if query:
        by = {"artist": artist, "album": album}
        kinds: tuple[str, ...] = ("track",) if album else ("track", "album") if artist else ()
    else:
        by = {"artist": artist} if album else {}
        kinds = ("album",) if album else ("artist",)
    kinds = KINDS.get(kind or "", kinds)
    data |= {"name": query or album or artist, **{key: name for key, name in by.items() if name}}
    data |= {"media_type": list(kinds)} if kinds else {}
    answer = await run.read(ServiceCall(domain=MUSIC, service="search", entity_ids=(entity_id,), data=data))
    return [item for name in LISTS for item in answer.get(name) or ()]


def makers(item: Mapping[str, Any]) -> str:
    """Return who made something that was found; nothing where that is not known."""
    names = (str(artist.get("name") or "") for artist in item.get("artists") or ())
    return one_line(", ".join(filter(None, names)), MAX_TITLE)


def others_by(titles: Iterable[str], artist: str) -> ToolExecutionError:
    """Return the error for what was found of others only."""
    listed = "; ".join(dict.fromkeys(titles))
    problem = ToolExecutionError(f"Nothing of that name by {artist}. There is: {listed}. Say so, and ask")
    problem.quotes = True
    return problem


async def async_transfer(run: ToolRun, player: str | None, source: str | None) -> JsonValueType:
    """Move what plays to another player of Music Assistant.

    Raises ValidationError for players that are not clear, ToolExecutionError where nothing can be moved.
    """
    hass = run.hass
    records = records_of(run, "media_player", lambda state: is_music_player(hass, state.entity_id))
    target = choose_one(run, records, player, "player")

    def shows(entity_id: str, *states: str) -> bool:
        state = hass.states.get(entity_id)
        return state is not None and state.state in states

    others = [one for one in records if one != target and run.reader.sees(one.entity_id)]
    plays = [one for one in others if shows(one.entity_id, *PLAYS)]
    movable = plays or [one for one in others if shows(one.entity_id, STATE_PAUSED)]
    if not movable:
        here = shows(target.entity_id, *PLAYS)
        problem = "It plays there already" if here else "Nothing is playing that could be moved"
        raise ToolExecutionError(f"{problem}. Say so")
    now = choose_one(run, movable, source, "source")
    before = hass.states.get(now.entity_id)
    assert before is not None
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
    state = hass.states.get(target.entity_id)
    result: dict[str, JsonValueType] = {
        "moved_to": one_line(target.name, MAX_TITLE),
        "from": one_line(now.name, MAX_TITLE),
        "state": one_line(state.state, MAX_TITLE) if state else "unknown",
    }
    if title := before.attributes.get("media_title"):
        result["started"] = {"title": one_line(str(title), MAX_TITLE)}
    return result
