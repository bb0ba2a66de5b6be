"""The defaults of options, of which one depends on other options."""

from collections.abc import Mapping
from typing import Any

from .const import (
    CONF_PERSONA,
    CONF_PROMPT_ADDITIONS,
    CONF_PROMPT_USE_DEFAULT,
    CONF_QUICK_CONFIRMATIONS,
    DEFAULTS,
)


def defaults_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults beside what is stored.

    A household that wrote how the agent talks hears the model, also after a plain command.
    """
    texts = (stored.get(key) or "" for key in (CONF_PERSONA, CONF_PROMPT_ADDITIONS))
    is_own = any(text.strip() for text in texts) or not stored.get(CONF_PROMPT_USE_DEFAULT, True)
    return {**DEFAULTS, CONF_QUICK_CONFIRMATIONS: not is_own}
