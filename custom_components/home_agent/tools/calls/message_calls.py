"""Messages as other agents' tools and Home Assistant's services take them, as calls of notify_person."""

from dataclasses import replace
from typing import Any, Final

from homeassistant.helpers import llm

from ...knowledge.spoken_words import words_of
from ...safety.redaction import UNPARSED
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
BESIDE: Final = frozenset({"to_phone", "title", "data", "cache", "language", "preannounce"})
"""Fields that may be left out without another meaning; a time or a condition may not."""
ALL: Final = "everybody"


def as_message(call: llm.ToolInput, word: str) -> llm.ToolInput | None:
    """Return a call as one of notify_person; None if it is none, or is one as it should be.

    `word` is the squashed name of the tool. A broadcast without a receiver is for everybody.
    """
    given = call.tool_args
    if UNPARSED in given or (call.tool_name != NOTIFY and word not in NAMES):
        return None
    nested = given.get("target") if isinstance(given.get("target"), dict) else {}
    fields: dict[str, Any] = {**given, **(nested or {})}
    said = next((value for key in TEXTS if isinstance(value := fields.get(key), str)), None)
    named = next((found for key in RECEIVERS if (found := texts(fields.get(key)))), ())
    receiver = ", ".join(named) or ("" if call.tool_name == NOTIFY else ALL)
    if said is None or not receiver or not fields.keys() <= {*RECEIVERS, *TEXTS, *BESIDE}:
        return None
    args: dict[str, Any] = {"person": receiver, "message": said}
    if isinstance(given.get("to_phone"), bool):
        args["to_phone"] = given["to_phone"]
    if call.tool_name == NOTIFY and args == given:
        return None
    return replace(call, tool_name=NOTIFY, tool_args=args)
