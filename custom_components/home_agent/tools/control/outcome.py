"""What became of a call of ha_control, target by target, as the model and the agent read it."""

from dataclasses import dataclass, field
from typing import Final, cast

from homeassistant.core import State
from homeassistant.util.json import JsonValueType

from ...context.states import describe_state
from ...domains.base import STATE
from ...errors import HomeAgentError, ValidationError
from ...knowledge.house import HouseSnapshot
from ...safety.ledger import EarlierState
from ..base import PartlyFailed, TargetsFailed
from ..results import ControlResult
from .restoring import same, value_of

MAX_ERROR: Final = 500
MAX_NAMED: Final = 4
"""Targets that an error names with their reasons."""
NOT_EXPOSED: Final = "does not exist or is not exposed"
OFFLINE: Final = "is unavailable (offline)"


@dataclass(slots=True)
class ControlOutcome:
    """What became of one call."""

    house: HouseSnapshot
    done: dict[str, str] = field(default_factory=dict)
    unchanged: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    planned: dict[str, str] = field(default_factory=dict)
    """What happens later and when."""
    plan_id: str = ""
    notes: list[str] = field(default_factory=list)
    misfits: set[str] = field(default_factory=set)
    """Targets that the call does not fit, so that another call may help."""

    def fail(self, entity_id: str, reason: HomeAgentError | str) -> None:
        """Note why nothing became of one target."""
        self.failed[entity_id] = str(reason)
        if isinstance(reason, ValidationError):
            self.misfits.add(entity_id)

    def note(self, text: str) -> None:
        """Add a sentence once."""
        if text not in self.notes:
            self.notes.append(text)

    def shown(self, state: State) -> str:
        """Return what an entity shows, in words."""
        return describe_state(state, self.house.entities.get(state.entity_id))

    def show(self, before: State, after: State) -> None:
        """Note what a target shows, and whether anything of it changed."""
        part = self.unchanged if is_unchanged(before, after) else self.done
        part[after.entity_id] = self.shown(after)

    def content(self) -> ControlResult:
        """Return what the model reads."""
        parts = {
            "done": self.done,
            "unchanged": self.unchanged,
            "failed": self.failed,
            "planned": self.planned,
            "id": self.plan_id,
            "notes": self.notes,
        }
        return cast("ControlResult", {key: value for key, value in parts.items() if value})

    def result(self) -> JsonValueType:
        """Return what was done.

        Raises PartlyFailed or TargetsFailed with it if something failed, and ValidationError if the call fits
        no target.
        """
        content = cast("dict[str, JsonValueType]", self.content())
        if not self.failed:
            return content
        if self.done or self.unchanged or self.planned:
            raise PartlyFailed(self.error(), content)
        if self.misfits.issuperset(self.failed):
            raise ValidationError(self.error())
        raise TargetsFailed(self.error(), content)

    def error(self) -> str:
        """Return a sentence with the targets that failed."""
        told = [
            f"{self.name_of(entity_id)} {reason}"
            for entity_id, reason in list(self.failed.items())[:MAX_NAMED]
        ]
        if (more := len(self.failed) - len(told)) > 0:
            told.append(f"and {more} more failed")
        return "; ".join(told)[:MAX_ERROR]

    def name_of(self, entity_id: str) -> str:
        """Return the name of a target, or its id if it may not be known."""
        record = self.house.entities.get(entity_id)
        is_hidden = record is None or self.failed.get(entity_id) == NOT_EXPOSED
        return entity_id if is_hidden or record is None else record.name


def is_unchanged(before: State, after: State) -> bool:
    """Return whether an entity shows nothing else than before, as far as a call may change it."""
    one, other = EarlierState.of(before), EarlierState.of(after)
    names = {STATE, *one.attributes, *other.attributes}
    return all(same(name, value_of(one, name), value_of(other, name)) for name in names)
