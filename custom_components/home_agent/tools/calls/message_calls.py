"""Messages as other agents' tools and Home Assistant's services take them, as calls of notify_person."""

from dataclasses import replace
from typing import Any, Final

from homeassistant.helpers import llm

from ...knowledge.names import squash
from ...knowledge.spoken_words import words_of
from ...regex import lazy_regex
from ...safety.redaction import UNPARSED
from ..everyday.audience import self_words
from ..everyday.notify_tool import NotifyTool
from ..resolving.targets import texts

NOTIFY: Final = NotifyTool.name
NAMES: Final = words_of(
    "announce announcement broadcast makeannouncement sendannouncement broadcastmessage announcemessage "
    "assistsatelliteannounce tts ttsspeak speak say sendmessage sendnotification notify notifyuser "
    "notifysendmessage sendtophone"
)
"""Names of such tools and services, squashed and without "hass"."""
RECEIVERS: Final = (
    *("person", "recipient", "recipients", "to", "target", "targets", "who", "name"),
    *("area", "room", "area_name", "floor", "location", "entity_id", "media_player_entity_id"),
)
"""Fields that name a receiver, the most telling ones first."""
TEXTS: Final = ("message", "text", "content", "announcement", "body")
TIMES: Final = ("when", "time", "at", "delay", "scheduled_time", "datetime")
"""Fields that say when it is told."""
TIMER: Final = "timer"
REPEAT: Final = "repeat"
BESIDE: Final = frozenset({"to_phone", "title", "data", "cache", "language", "preannounce"})
"""Fields that may be left out without another meaning; a time or a condition may not."""
ALL: Final = "everybody"
_SCRIPT: Final = lazy_regex(r"(?:[\w.:/]*[.:/_])?script(?:__|[.:/])")
"""The beginning of the name of a script: one that is called "announce" does what the household wrote."""


def as_message(call: llm.ToolInput, word: str) -> llm.ToolInput | None:
    """Return a call as one of notify_person; None if it is none, or is one as it should be.

    `word` is the squashed name of the tool. A broadcast without a receiver is for everybody.
    """
    given = call.tool_args
    if UNPARSED in given or (call.tool_name != NOTIFY and word not in NAMES) or _SCRIPT.match(call.tool_name):
        return None
    nested = given.get("target") if isinstance(given.get("target"), dict) else {}
    fields: dict[str, Any] = {**given, **(nested or {})}
    said = next((value for key in TEXTS if isinstance(value := fields.get(key), str)), None)
    named = next((found for key in RECEIVERS if (found := texts(fields.get(key)))), ())
    receiver = ", ".join(named) or ("" if call.tool_name == NOTIFY else ALL)
    known = {*RECEIVERS, *TEXTS, *BESIDE, *TIMES, REPEAT}
    if said is None or not receiver or not fields.keys() <= known:
        return None
    args: dict[str, Any] = {"person": receiver, "message": said}
    if isinstance(given.get("to_phone"), bool):
        args["to_phone"] = given["to_phone"]
    if when := next((str(value) for key in TIMES if (value := fields.get(key))), None):
        args["when"] = when
    if repeat := fields.get(REPEAT):
        args[REPEAT] = str(repeat)
    if call.tool_name == NOTIFY and args == given:
        return None
    return replace(call, tool_name=NOTIFY, tool_args=args)


def as_reminder(call: llm.ToolInput) -> llm.ToolInput | None:
    """Return a message of a speaker to themselves for later as a reminder, which is told where it was set."""
    args = call.tool_args
    receiver = str(args.get("person", ""))
    to_self = squash(receiver) in self_words() and receiver.islower()  # "mia" is Italian for my, Mia a name
    if call.tool_name != NOTIFY or not to_self or not args.get("when") or args.get("to_phone"):
        return None
    beside = {key: args[key] for key in ("when", REPEAT) if args.get(key)}
    return replace(
        call, tool_name=TIMER, tool_args={"action": "set", "name": args.get("message", ""), **beside}
    )
