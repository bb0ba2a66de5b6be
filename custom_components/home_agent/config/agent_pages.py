"""The pages of an agent: the options that each agent has of its own, also beside others on one connection.

The other options belong to the connection and the household: servers, stores, messages, what is said unasked.
"""

from typing import Final

from .. import const
from .expert import EXPERT
from .fields import Field, switch
from .schemas import HOUSEHOLD

MEMORY: Final = tuple(
    switch(key) for key in (const.CONF_MEMORY, const.CONF_MEMORY_EXTRACTION, const.CONF_PROFILE)
)
AGENT_PAGES: Final[dict[str, tuple[Field, ...]]] = {
    "answers": HOUSEHOLD["answers"],
    "permissions": HOUSEHOLD["permissions"],
    "tools": EXPERT["tools"],
    "safety": EXPERT["safety"],
    "prompt": EXPERT["prompt"],
    "llm": tuple(field for field in EXPERT["llm"] if not field.section),
    "context": EXPERT["context"],
    "history": EXPERT["history"],
}
"""Pages that a further agent has in common with the options of the connection."""
AGENT_KEYS: Final = frozenset(field.key for fields in (MEMORY, *AGENT_PAGES.values()) for field in fields)
"""The options that each agent has of its own."""
