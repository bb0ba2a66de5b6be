"""The page of proactive messages: their rules."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from ..errors import InvalidInput
from ..memory.settings import read_span
from ..proactive import rules
from ..safety.profiles import as_texts
from .validators import clean_names

MAX_WATCHED: Final = 50
MAX_WATCHED_DAYS: Final = 30
MAX_ENTITIES: Final = 500


def clean_proactive(value: object) -> list[dict[str, object]]:
    """Return the rules of proactive messages without empty values.

    Raises InvalidInput for one that could never be told.
    """
    items = value if isinstance(value, list) else [value]
    if len(items) > MAX_WATCHED:
        raise InvalidInput("too_many_rules", limit=str(MAX_WATCHED))
    return [_clean_watched(item) for item in items if isinstance(item, Mapping)]


def _clean_watched(item: Mapping[str, object]) -> dict[str, object]:
    """Return one rule of proactive messages."""
    name = str(item[rules.RULE])
    template = rules.TEMPLATES[name]
    entities = clean_names(as_texts(item.get(rules.ENTITIES)))[:MAX_ENTITIES]
    state = str(item.get(rules.STATE) or "").strip()
    if name == rules.OWN_RULE and not (entities and state):
        raise InvalidInput("proactive_state_missing")
    if not template.kinds and not entities:
        raise InvalidInput("proactive_entities_missing")
    duration = "".join(str(item.get(rules.DURATION) or "").split()).lower()
    if duration:
        try:
            too_long = (read_span(duration) or timedelta(0)) > timedelta(days=MAX_WATCHED_DAYS)
        except (ValueError, OverflowError) as err:
            raise InvalidInput("proactive_duration") from err
        if too_long:
            raise InvalidInput("proactive_duration")
    found: dict[str, object] = {
        rules.ENTITIES: entities,
        rules.STATE: state if name == rules.OWN_RULE else "",
        rules.DURATION: duration,
        rules.PERSONS: clean_names(as_texts(item.get(rules.PERSONS))),
        rules.URGENT: bool(item.get(rules.URGENT)),
    }
    return {rules.RULE: name, **{key: kept for key, kept in found.items() if kept}}
