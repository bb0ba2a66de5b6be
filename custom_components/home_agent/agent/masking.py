"""Codes kept out of what is stored of a conversation."""

from collections.abc import Mapping, Sequence
import json
import re
from typing import Any

from homeassistant.helpers.json import json_dumps

from ..safety.answers import mask_numbers
from ..safety.redaction import redacted, secrets_of, wants_code

MASKED = "••••"
"""What is kept of a code."""


def without_codes(messages: Sequence[Mapping[str, Any]], language: str = "") -> list[dict[str, Any]]:
    """Return the messages of a turn without the codes and keys that its calls were made with.

    They go from the sentence and the results too, also where the digits were written apart. Where a call is
    about a lock or an alarm, every number of the sentence that may be its code goes.
    """
    calls = [
        (call["function"]["name"], _parsed(call["function"]["arguments"]))
        for message in messages
        for call in message.get("tool_calls", ())
    ]
    secrets = {secret for name, args in calls for secret in secrets_of(args, name)}
    if any(wants_code(args, name) for name, args in calls):
        messages = [_without_numbers(message, language) for message in messages]
    if not secrets:
        return [dict(message) for message in messages]
    pattern = re.compile("|".join(_pattern(secret) for secret in sorted(secrets, key=len, reverse=True)))
    return [_without(message, pattern) for message in messages]


def _without_numbers(message: Mapping[str, Any], language: str) -> Mapping[str, Any]:
    """Return a message of a person without numbers that may be a code, and any other message unchanged."""
    if message["role"] != "user":
        return message
    return {**message, "content": mask_numbers(message["content"], language, MASKED)}


def _without(message: Mapping[str, Any], pattern: re.Pattern[str]) -> dict[str, Any]:
    """Return one message with all codes masked."""
    masked = {**message, "content": pattern.sub(MASKED, message["content"])}
    if calls := message.get("tool_calls"):
        masked["tool_calls"] = [{**call, "function": _shown(call["function"])} for call in calls]
    return masked


def _shown(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call without codes."""
    args = redacted(_parsed(function["arguments"]), function["name"])
    return {**function, "arguments": json_dumps(args)}


def _parsed(arguments: str) -> dict[str, Any]:
    """Return the arguments of a call."""
    found = json.loads(arguments)
    return found if isinstance(found, dict) else {}


def _pattern(secret: str) -> str:
    """Return what fits a secret that stands alone, its digits together or apart."""
    text = r"[\s.-]*".join(secret) if secret.isdecimal() else re.escape(secret)
    return rf"(?<!\w){text}(?!\w)"
