"""Options that make one agent differ from another on the same connection."""

from typing import Any, Final

CONF_VISIBLE: Final = "visible_entities"
"""What the agent may see: entities, devices, areas, floors and labels. Empty: everything exposed."""
CONF_CONTROLLABLE: Final = "controllable_entities"
"""What it may control of what it sees. Empty: all of it."""
CONF_ANNOUNCE_EXCLUDED: Final = "announce_excluded"
"""Satellites and speakers that never announce anything."""
CONF_SHARED_MEMORY: Final = "shared_memory"
"""Whether a further agent uses the first one's memory. Not set: it does if CONF_VISIBLE is empty."""

AGENT_DEFAULTS: Final[dict[str, Any]] = {
    CONF_VISIBLE: {},
    CONF_CONTROLLABLE: {},
    CONF_ANNOUNCE_EXCLUDED: [],
}
