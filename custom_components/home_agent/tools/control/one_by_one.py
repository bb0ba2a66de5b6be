"""Scenes and scripts: used one by one, by name, and only where the household lets the agent use them."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from ...domains import DOMAINS, gated_domains
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ..resolving.targets import Target

MAX_LISTED: Final = 10
_SEPARATORS: Final = str.maketrans(dict.fromkeys(";/|&\n", ","))


def resolve_gated(
    target: Target,
    domains: Collection[str],
    resolve: Callable[[Collection[str]], list[EntityRecord]],
    *,
    gated: bool,
) -> list[EntityRecord]:
    """Return what a target means; a room or a kind of thing alone never means scenes and scripts in it.

    `resolve` takes the domains that count. Raises ValidationError.
    """
    gates = gated_domains()
    others = frozenset(domains) - gates
    if not (target.is_empty or target.name or any("*" not in key for key in target.entity_id)):
        asked = gates.intersection(target.domain)
        return _one_by_one(target, resolve(others | asked if gated else others))
    try:
        return _one_by_one(target, resolve(domains))
    except ValidationError:
        if gated:
            raise
    return resolve(others)


def _one_by_one(target: Target, found: list[EntityRecord]) -> list[EntityRecord]:
    """Return what was found. Raises ValidationError for more scenes and scripts than were named."""
    several = [record for record in found if DOMAINS[record.domain].is_gated]
    if len(several) > max(1, _named(target)):
        raise ValidationError(f"Which one? Name one scene or script: {_listed(several)}")
    return found


def _named(target: Target) -> int:
    """Return how many things a target names."""
    ids = sum("*" not in key for key in target.entity_id)
    return ids or len((target.name or "").translate(_SEPARATORS).split(","))


def _listed(records: Sequence[EntityRecord]) -> str:
    """Return names to choose from."""
    return ", ".join(f"{record.name[:40]} ({record.entity_id})" for record in records[:MAX_LISTED])
