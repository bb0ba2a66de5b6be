"""Media players."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from homeassistant.core import State

from .base import (
    ANY,
    ON_OFF_SERVICES,
    STATE,
    VOLUME_ALIASES,
    Action,
    ControlParameter,
    DomainFacts,
    FormerState,
    Grouping,
    MeantAction,
    NothingToDo,
    Reproduced,
    ServiceCalls,
    ValueStep,
    restore_settings,
    setting,
    words,
)
from .features import supports
from .showing import quoted_text, text_of

GROUP: Final = "group_members"
PLAYING: Final = words("playing buffering")
RESTING: Final = words("off standby")
REST_ACTIONS: Final = words("turn_on turn_off toggle play select_source pause stop join unjoin")
"""What has an effect on a player that is off."""
STEP: Final = 0.1


def _volume(service: str, direction: int) -> Action:
    return Action(
        service,
        direction=direction,
        takes=("step",),
        value="step",
        features="VOLUME_SET VOLUME_STEP",
        ability="volume",
    )


def _mute(*, is_muted: bool) -> Action:
    muted = {"is_volume_muted": is_muted}
    return Action("volume_mute", data=muted, shown=muted, features="VOLUME_MUTE", ability="mute")


def _adapt(state: State, verb: str, parameters: Mapping[str, Any]) -> MeantAction:
    """Leave a player alone that is off, unless it is to play, or to end."""
    if state.state in RESTING and verb not in REST_ACTIONS and "source" not in parameters:
        raise NothingToDo(f"is {state.state}, so nothing is heard of it")
    return MeantAction(verb, parameters)


def _step(state: State, direction: int, size: float | None) -> tuple[str, Mapping[str, Any]] | None:
    """Return a step of the player's own size, or half of what is left, so that it is never turned to zero."""
    volume = state.attributes.get("volume_level")
    if size is not None:
        return None
    is_soft = isinstance(volume, int | float) and 0 < volume <= STEP + 0.005
    if volume and direction < 0 and is_soft and supports(state, "VOLUME_SET"):
        return "volume_set", {"volume_level": round(volume / 2, 4)}
    return "volume_up" if direction > 0 else "volume_down", {}


def _restore(was: FormerState) -> ServiceCalls:
    """Yield settings, what plays or rests, and the group that the player was in; others leave it."""
    state, is_new = was.state, STATE in was.changed
    if is_new and state in RESTING:
        yield "turn_off", {}
    else:
        yield from restore_settings(was)
        if is_new and state in ("playing", "paused"):
            yield "media_play" if state == "playing" else "media_pause", {}
        elif is_new and state in ("on", "idle"):
            yield "turn_on" if state == "on" else "media_stop", {}
    before, after = ([*(shown.get(GROUP) or ())] for shown in (was.attributes, was.after))
    if set(before) == set(after):
        return
    if len(before) > 1:
        yield "join", {GROUP: before[1:]}, before[0]
    elif after and after[0] != was.entity_id:
        yield "unjoin", {}
    if after[:1] == [was.entity_id]:
        yield from (("unjoin", {}, other) for other in after if other not in (*before, was.entity_id))


def _lost(service: str, _data: Mapping[str, Any], before: Collection[str]) -> str | None:
    if service == "transfer_queue":
        return "plays what was moved to it; play_media moves it back"
    is_lost = service == "play_media" and not PLAYING.isdisjoint(before)
    return "what played before does not come back by itself" if is_lost else None


def _details(state: State) -> Iterator[str]:
    attributes = state.attributes
    if state.state == "off":
        return
    title, artist = attributes.get("media_title"), attributes.get("media_artist")
    if title:
        yield quoted_text(str(title)) + (f" by {quoted_text(str(artist))}" if artist else "")
    yield from text_of("source", state, prefix="source ")
    volume = attributes.get("volume_level")
    if attributes.get("is_volume_muted"):
        yield "muted"
    elif isinstance(volume, int | float) and 0 <= volume <= 1:
        yield f"volume {round(volume * 100)}%"
    members = attributes.get(GROUP)
    if isinstance(members, list | tuple) and len(members) > 1:
        yield f"in a group of {len(members)}"


MEDIA_PLAYER = DomainFacts(
    name="media_player",
    counted="on",
    actions={
        "turn_on": Action("turn_on", unexpected=RESTING, takes=ANY, features="TURN_ON"),
        "turn_off": Action("turn_off", expected=RESTING, features="TURN_OFF"),
        "toggle": Action("toggle", features="TURN_ON TURN_OFF"),
        "play": Action(
            "media_play",
            expected=words("playing"),
            passing=words("buffering"),
            takes=ANY,
            features="PLAY",
            ability="play",
        ),
        "pause": Action("media_pause", unexpected=PLAYING, features="PAUSE", ability="pause"),
        "stop": Action("media_stop", unexpected=PLAYING, features="STOP"),
        "next": Action("media_next_track", features="NEXT_TRACK", ability="skip"),
        "previous": Action("media_previous_track", features="PREVIOUS_TRACK", ability="skip"),
        "volume_up": _volume("volume_up", 1),
        "volume_down": _volume("volume_down", -1),
        "increase": _volume("volume_up", 1),
        "decrease": _volume("volume_down", -1),
        "set_volume": setting("volume_level", *ANY),
        "set_value": setting("volume_level", *ANY),
        "mute": _mute(is_muted=True),
        "unmute": _mute(is_muted=False),
        "select_source": setting("source", *ANY),
        "join": Action(
            "join", takes=(GROUP,), leader=GROUP, value=GROUP, features="GROUPING", ability="group"
        ),
        "unjoin": Action("unjoin", features="GROUPING", ability="group"),
    },
    parameters={
        "source": ControlParameter(
            "text",
            "select_source",
            "source",
            "SELECT_SOURCE",
            choices="source_list",
            aliases="input input_source channel select_source",
        ),
        "sound_mode": ControlParameter(
            "text",
            "select_sound_mode",
            "sound_mode",
            "SELECT_SOUND_MODE",
            choices="sound_mode_list",
            aliases="sound",
        ),
        "volume_level": ControlParameter(
            "volume", "volume_set", "volume_level", "VOLUME_SET", ability="volume", aliases=VOLUME_ALIASES
        ),
        "is_volume_muted": ControlParameter(
            "boolean",
            "volume_mute",
            "is_volume_muted",
            "VOLUME_MUTE",
            ability="mute",
            aliases="mute muted is_muted",
        ),
        "shuffle": ControlParameter("boolean", "shuffle_set", "shuffle", "SHUFFLE_SET"),
        "repeat": ControlParameter("repeat", "repeat_set", "repeat", "REPEAT_SET"),
        "seek_position": ControlParameter(
            "seconds", "media_seek", features="SEEK", ability="seek", aliases="position seek"
        ),
        GROUP: ControlParameter(
            "ids",
            "join",
            GROUP,
            "GROUPING",
            ability="group",
            aliases="members group group_with join_with players speakers",
            is_verified=False,
            is_restored=False,
        ),
    },
    groups=Grouping(
        "join",
        "unjoin",
        GROUP,
        words("play_media media_play media_play_pause turn_on toggle select_source media_seek"),
    ),
    told={"join": "joined", "unjoin": "parted"},
    fields={"volume": "volume", "source": "source"},
    synonyms=words("toggle volume_up volume_down set_volume select_source"),
    step=ValueStep("volume_level", STEP, call=_step),
    resting=RESTING,
    adapt=_adapt,
    writes=frozenset(("play_media",)),
    reads=frozenset(("search_media", "browse_media")),
    reaching=frozenset(("play_media",)),
    restore=_restore,
    take_back=_lost,
    details=_details,
    reported=("media_title", "media_artist", "app_name", "source", "volume_level", "is_volume_muted"),
    abilities={"play_media": "PLAY_MEDIA", "group": "GROUPING"},
    contained=ANY,
    reproduced=Reproduced(
        states={
            "off": ("turn_off",),
            "on": ("turn_on",),
            **dict.fromkeys(PLAYING, ("turn_on", "media_play")),
            "paused": ("turn_on", "media_pause"),
            "idle": ("turn_on", "media_stop"),
        },
        attributes={
            "source": "select_source",
            "sound_mode": "select_sound_mode",
            "volume_level": "volume_set",
            "is_volume_muted": "volume_mute",
            "media_content_id": "play_media",
        },
    ),
    active="playing",
    acts={**dict.fromkeys(RESTING, "off"), **dict.fromkeys(("on", "idle", "paused", *PLAYING), "on")},
    suggested=ON_OFF_SERVICES,
    in_everything=True,
    is_switched_with_everything=True,
    is_lively=True,
)
