"""How large a request may be: what the options say, what the server told, and what it has shown since."""

from collections.abc import Mapping
from typing import Any, Final

from ..const import (
    CONF_HISTORY_MAX_TOKENS,
    CONF_MAX_CONTEXT_TOKENS,
    CONF_MAX_TOKENS,
    CONF_NUM_CTX,
    CONF_PROBED_CONTEXT_SIZE,
    DEFAULTS,
)
from ..inference.router import PRIMARY
from .budget import Budget, answer_room, chosen_shares
from .calibration import Gauge

HEADROOM: Final = 0.92
"""Of the room for a request, what is used: an estimate may be too low by as much."""
LARGEST_UNASKED: Final = 32_000
"""What a request grows to without being told to, however much the model takes."""


class Room:
    """Limits and budgets of one agent, per model.

    The smaller of what is configured and what the server told holds. Where nothing is configured, long
    conversations and results may use a larger model; what stands in every request may not, since it is
    paid for in every request.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Read the options once; an entry is set up anew when they change."""
        self._settings = settings
        self._chosen = chosen_shares(settings)
        self._gauges: dict[str, Gauge] = {}
        self._budgets: dict[str, tuple[tuple[int, float], Budget]] = {}
        """Per model: the shares, and what of the gauge they were made for."""

    def gauge(self, model: str = PRIMARY) -> Gauge:
        """Return what is known of a model's context."""
        if model not in self._gauges:
            self._gauges[model] = Gauge(self._limit(model))
        return self._gauges[model]

    def budget(self, model: str = PRIMARY) -> Budget:
        """Return the shares of a request to a model."""
        gauge = self.gauge(model)
        known = self._budgets.get(model)
        if known is None or known[0] != (gauge.limit, gauge.factor):
            budget = Budget.shared_out(
                min(self._settings[CONF_MAX_CONTEXT_TOKENS], gauge.limit),
                limit=gauge.limit,
                answer=self._settings[CONF_MAX_TOKENS],
                factor=gauge.factor,
                chosen=self._chosen,
            )
            known = self._budgets[model] = ((gauge.limit, gauge.factor), budget)
        return known[1]

    def chosen(self, slot: str, model: str = PRIMARY) -> int | None:
        """Return the share that a person has set, None where it is automatic."""
        return int(self._chosen[slot] / self.gauge(model).factor) if slot in self._chosen else None

    def history_tokens(self, model: str = PRIMARY) -> int:
        """Return what earlier turns may take: the share, or the limit of the options if that is less."""
        limit = int(self._settings[CONF_HISTORY_MAX_TOKENS] / self.gauge(model).factor)
        return min(limit, self.budget(model).history)

    def for_request(self, max_tokens: int, model: str = PRIMARY) -> int:
        """Return what a request may take, in estimated tokens, beside an answer of so many tokens."""
        gauge = self.gauge(model)
        return int(HEADROOM * (gauge.limit - answer_room(gauge.limit, max_tokens)) / gauge.factor)

    def for_answer(self, max_tokens: int, request: int, model: str = PRIMARY) -> int:
        """Return how long the answer to a request of so many estimated tokens may be.

        A limit that only the options set is about requests, and leaves the answer alone.
        """
        gauge = self.gauge(model)
        if not self._known(model) and not gauge.has_refused:
            return max_tokens
        left = gauge.limit - int(request * gauge.factor)
        return max(1, min(max_tokens, max(left, answer_room(gauge.limit, max_tokens))))

    def _limit(self, model: str) -> int:
        """Return the limit of options and probe."""
        size: int = self._settings[CONF_MAX_CONTEXT_TOKENS]
        known = self._known(model)
        if known and size == DEFAULTS[CONF_MAX_CONTEXT_TOKENS]:
            size = LARGEST_UNASKED
        return min((size, *known))

    def _known(self, model: str) -> tuple[int, ...]:
        """Return the sizes that the model is loaded with, or can be; the probe asked the primary one."""
        keys = (CONF_NUM_CTX, CONF_PROBED_CONTEXT_SIZE) if model == PRIMARY else (CONF_NUM_CTX,)
        return tuple(size for key in keys if (size := self._settings.get(key)))
