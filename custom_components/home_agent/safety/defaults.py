"""The policy that an agent is shipped with, as data.

A rule is `domain`, `domain.service`, an entity id, or `domain:device_class` with or without a service;
`*` and `?` stand for any text. What makes a home safer (locking, closing, arming) is allowed, what opens
it is restricted.
"""

from typing import Final

from ..domains import DOMAINS

BLOCKED: Final = ("homeassistant", "hassio", "home_agent", "recorder.purge*", "backup.restore*")
"""Never, whatever the options say."""

UNBLOCKED: Final = ("homeassistant.update_entity",)
"""Exceptions from the blocked ones: they only read."""

RESTRICTED: Final = (
    "shell_command",
    "python_script",
    "pyscript",
    "rest_command",
    "conversation",
    "assist_satellite",
)
"""Actions that require a confirmation, in addition to those of the domains."""

UNRESTRICTED: Final = ("assist_satellite.announce",)
"""Exceptions from the restricted ones: what is said needs no answer, which nobody would have to give."""

INSIDE: Final = (
    # Services that only inform.
    "logbook.log",
    "mobile_app.notify",
    "notify",
    "persistent_notification",
    "shopping_list",
    "system_log.write",
    "tts",
    # Groups of players that play the same, and what they played before.
    "music_assistant",
    "sonos",
    "homeassistant.update_entity",
)
"""Services that are judged like calls of their own as steps of scripts, scenes and automations, beside what
the domains state. Others are restricted there: they reach devices past their entities, run programs, send
requests or fire events."""

NOT_INSIDE: Final = ("tts.clear_cache", "*.reload")
"""Exceptions from those."""

GENERIC_SERVICES: Final = ("turn_on", "turn_off", "toggle")
"""Services of `homeassistant` that mean those of each entity's own domain."""


def restricted_rules() -> tuple[str, ...]:
    """Return all rules for actions that require a confirmation."""
    return (*(rule for facts in DOMAINS.values() for rule in facts.restricted), *RESTRICTED)
