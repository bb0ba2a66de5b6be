"""What became of a message: who heard or got it, what went wrong, and what of that the speaker may learn."""

from dataclasses import dataclass, field

from homeassistant.util.json import JsonValueType

from ...errors import ConfirmationNeeded, PermissionDenied
from ..resolving.resolver import plain
from .audience import Audience


@dataclass(slots=True)
class Delivery:
    """What became of one message so far."""

    audience: Audience
    problems: list[str] = field(default_factory=list)
    """What is known to be wrong before anything is sent."""
    heard: dict[str, str] = field(default_factory=dict)
    """The rooms where it was announced, by device."""
    sent: list[str] = field(default_factory=list)
    """The persons to whom it was sent."""
    unheard: dict[str, str] = field(default_factory=dict)
    """What went wrong, by device."""
    unsent: dict[str, str] = field(default_factory=dict)
    """What went wrong, by person."""
    denied: list[PermissionDenied] = field(default_factory=list)
    waiting: ConfirmationNeeded | None = None

    def result(self) -> dict[str, JsonValueType]:
        """Return who got the message and how.

        Of a person of whom the speaker may not learn anything it says only that the message was passed on.
        """
        rooms = [room for device, room in self.heard.items() if device not in self._concealed_devices]
        open_sent = [one for one in self.sent if one not in self.audience.concealed | self.audience.unnamed]
        passed_on = [name for name in sorted(self.audience.concealed) if self._reached(name)]
        parts = {
            "announced_in": list(dict.fromkeys(rooms)),
            "sent_to": open_sent,
            "told": passed_on,
        }
        return {key: [*found] for key, found in parts.items() if found}

    def has_reached_anybody(self) -> bool:
        """Return whether anybody heard or got it."""
        return bool(self.heard or self.sent)

    def problem(self) -> str:
        """Return what went wrong, as far as the speaker may know it; empty for nothing."""
        hidden, concealed = self._concealed_devices, self.audience.concealed
        told = [
            *self.problems,
            *(text for device, text in self.unheard.items() if device not in hidden),
            *(text for name, text in self.unsent.items() if name not in concealed | self.audience.unnamed),
            *(f"{plain(name)} is not reached" for name in sorted(concealed) if not self._reached(name)),
        ]
        return "; ".join(dict.fromkeys(told))

    @property
    def _concealed_devices(self) -> frozenset[str]:
        """Return the devices that announce it only for persons of whom the speaker may not learn anything."""
        near = self.audience.near
        return frozenset().union(*(near.get(name, ()) for name in self.audience.concealed))

    def _reached(self, name: str) -> bool:
        return name in self.sent or any(one in self.heard for one in self.audience.near.get(name, ()))
