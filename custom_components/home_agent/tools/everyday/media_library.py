"""What a media player knows under a name: by its own search, else by a look through its folders."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from ...domains.base import supports
from ...errors import ToolExecutionError
from ...knowledge.names import phrase_similarity, squash
from ...texts import fold
from ..base import ServiceCall, ToolRun

DOMAIN: Final = "media_player"
BROWSE: Final = "BROWSE_MEDIA"
SEARCH: Final = "SEARCH_MEDIA"
"""Features of a player."""

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


@dataclass(frozen=True, slots=True)
class MediaMatch:
    """Something that a player can play."""

    title: str
    kind: str
    content_id: str
    content_type: str


async def async_find(run: ToolRun, entity_id: str, query: str, kind: str | None) -> list[MediaMatch]:
    """Return the matches of a player, the best first.

    Raises PermissionDenied for what the speaker may not read, ToolExecutionError if the player fails.
    """
    state = run.hass.states.get(entity_id)
    if not supports(state, SEARCH):
        return await _async_browse(run, entity_id, query, kind)
    found = await _async_search(run, entity_id, query, kind)
    if not found and kind:
        found = await _async_search(run, entity_id, query, None)
    return found


async def _async_search(run: ToolRun, entity_id: str, query: str, kind: str | None) -> list[MediaMatch]:
    """Return the matches of a player's own search; exact names first."""
    data: dict[str, Any] = {"search_query": query}
    if kind:
        data["media_filter_classes"] = list(KINDS[kind])
    call = ServiceCall(domain=DOMAIN, service="search_media", entity_ids=(entity_id,), data=data)
    result = (await run.read(call)).get(entity_id)
    found = list(_playable(getattr(result, "result", ())))
    return sorted(found, key=lambda item: squash(item.title) != squash(query))


async def _async_browse(run: ToolRun, entity_id: str, query: str, kind: str | None) -> list[MediaMatch]:
    """Return the matching entries of a player's folders, found in a limited search."""
    fits: dict[MediaMatch, float] = {}
    folders: list[tuple[int, int, dict[str, str]]] = [(0, 0, {})]
    with suppress(TimeoutError):
        async with asyncio.timeout(BROWSE_SECONDS):
            for opened in range(MAX_BROWSED):
                if not folders or 1.0 in fits.values():
                    break
                folders.sort(key=lambda item: item[:2])
                _, depth, data = folders.pop(0)
                try:
                    children = await _async_open(run, entity_id, data)
                except ToolExecutionError:
                    if opened == 0:
                        raise
                    continue
                for item in _playable(children):
                    if (likeness := _likeness(query, item.title)) >= SURE:
                        fits[item] = likeness - (0.1 if kind and item.kind not in KINDS[kind] else 0)
                if depth < MAX_DEPTH:
                    folders += _folders(children, depth + 1, kind)
    return sorted(fits, key=lambda item: -fits[item])


async def _async_open(run: ToolRun, entity_id: str, data: dict[str, str]) -> Sequence[Any]:
    """Return the contents of a folder."""
    call = ServiceCall(domain=DOMAIN, service="browse_media", entity_ids=(entity_id,), data=data)
    opened = (await run.read(call)).get(entity_id)
    return list(getattr(opened, "children", None) or ())[:MAX_CHILDREN]


def _folders(
    children: Iterable[Any], depth: int, kind: str | None
) -> Iterator[tuple[int, int, dict[str, str]]]:
    """Yield the folders among children, with their rank: those of the kind that is meant go first."""
    for child in children:
        if not child.can_expand or not is_harmless(str(child.media_content_id)):
            continue
        classes = {str(child.media_class), str(child.children_media_class)}
        rank = 0 if kind and classes & set(KINDS[kind]) else 1
        yield (
            rank,
            depth,
            {
                "media_content_id": str(child.media_content_id),
                "media_content_type": str(child.media_content_type),
            },
        )


def _playable(items: Iterable[Any]) -> Iterator[MediaMatch]:
    """Yield what can be played and is music or film, not what a camera sees."""
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
    """Return how well a title fits: 1 for the very name, less for one that only has its words."""
    asked, name = fold(query).split(), fold(title).split()
    if squash(query) == squash(title):
        return 1.0
    if asked and set(asked) <= set(name):
        return 0.95
    return min(0.9, phrase_similarity(asked, name))
