"""Which languages are translated, and how much of them."""

from collections.abc import Iterable
from pathlib import Path
import re

from custom_components.home_agent import panel
from custom_components.home_agent.config.schemas import CONNECTION, HOUSEHOLD

WHOLE = ["da", "de", "en", "es", "fr", "it", "nb", "nl", "pl", "pt", "ru", "sv"]
"""Languages in which everything is written."""

VARIANTS = ["es-419", "pt-BR"]
"""Variants of whole languages; `scripts/variants` writes them."""

SPOKEN = ["cs", "fi", "hu", "ja", "ko", "tr", "uk", "zh-Hans"]
"""Languages that have what a household hears and sees; Home Assistant shows the rest in English."""

PAGES = (
    "init",
    *HOUSEHOLD,
    "message_rules",
    "add_rule",
    "message_rule",
    "fallback_cloud",
    "external_cloud",
    "always_open",
)
"""The first menu of the options, what it leads to, and what pages say before they save."""
SELECTORS = {
    field.selector.config["translation_key"]
    for fields in (CONNECTION, *HOUSEHOLD.values())
    for field in fields
    if field.selector.config.get("translation_key")
}
PREFIXES = (
    *("exceptions.", "selector.spoken."),  # what people hear
    *("config.", "entity.", "selector.adding.", "selector.import_report.", "selector.page_notes."),
    *(f"options.step.{page}." for page in PAGES),
    *(f"selector.{name}." for name in SELECTORS),
    # The words that are put into lists inside lists.
    *("selector.policy_", "selector.proactive_rule.", "selector.proposed_action."),
)
ERROR, PANEL = "options.error.", "selector.panel.options."
EXPERT_ERRORS = (
    *("chroma_", "collection_", "database_", "embedding_", "influxdb_", "memories_", "not_chroma", "prompt_"),
    *("tenant_", "invalid_attribute", "invalid_collection", "invalid_duration", "invalid_host"),
    "invalid_pattern",
)
"""What only the pages under Expert settings refuse."""


def household_keys(english: Iterable[str]) -> list[str]:
    """Return the keys of what a household hears and sees, in their order.

    That is all but the pages for experts, further agents, actions, repairs, and the pages of the panel for
    administrators.
    """
    folder = Path(panel.__file__).parent / "frontend"
    # The frame, the page about oneself, and the card.
    names = ("main.js", "me.js", "confirmations.js", "audit.js", "today.js")
    source = "".join((folder / name).read_text(encoding="utf-8") for name in names)
    words = set(re.findall(r'(?<!\bh\()"(\w+)"', source))
    beginnings = tuple(re.findall(r"`(\w+_)\$", source))

    def is_shown(key: str) -> bool:
        if key.startswith(ERROR):
            return not key.removeprefix(ERROR).startswith(EXPERT_ERRORS)
        if key.startswith(PANEL):
            word = key.removeprefix(PANEL)
            return word in words or word.startswith(beginnings)
        return key.startswith(PREFIXES)

    return list(filter(is_shown, english))
