"""The last turns, step by step: in memory only, for people who look at them in the panel."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Self

from homeassistant.core import callback
from homeassistant.helpers.json import json_dumps

from ..const import CONF_FALLBACK_MODEL, CONF_MODEL, CONF_PANEL
from ..context.compression import BETWEEN, Fitted, slot_tokens
from ..context.providers.base import Slot
from ..context.tokens import estimate_tokens
from ..inference.router import FALLBACK, PRIMARY
from ..tools.quality import Verdict
from ..tools.turn_calls import CallRecord
from .trace import Asked
from .turn import Turn

MAX_TURNS: Final = 50
MAX_LINES: Final = 30
"""Lines kept of one part of a request."""
MAX_LINE: Final = 240
"""Characters of a line, and of a sentence of a list."""
MAX_TEXT: Final = 2_000
"""Characters of what was said, and of the arguments of a call."""
MAX_CALLS: Final = 50

type Record = dict[str, Any]


class TurnLog:
    """The last turns of one agent; nothing of it is ever written to disk."""

    def __init__(self, *, wanted: bool, models: Mapping[str, str]) -> None:
        """Keep nothing unless wanted; `models` are the names of the router's models."""
        self._turns: deque[Record] = deque(maxlen=MAX_TURNS if wanted else 0)
        self._models = models

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Return the log that the options want."""
        models = {PRIMARY: settings[CONF_MODEL], FALLBACK: settings.get(CONF_FALLBACK_MODEL) or FALLBACK}
        return cls(wanted=settings[CONF_PANEL], models=models)

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._turns)

    @callback
    def add(
        self,
        turn: Turn,
        said: str,
        answer: str,
        *,
        at: datetime,
        error: str | None = None,
        listens: bool = False,
    ) -> None:
        """Keep a turn; `said` and `answer` are without codes."""
        if not self._turns.maxlen:
            return
        turn.trace.end()
        speaker, figures = turn.calls.speaker, turn.figures
        requests = [self._request(asked, figures.started) for asked in turn.trace.asked]
        slots = turn.trace.asked[-1].fitted.slots if turn.trace.asked else ()
        gathered = turn.trace.gathered
        self._turns.append(
            {
                "id": speaker.turn_id,
                "conversation": turn.history_id or turn.calls.conversation_id,
                "at": at.isoformat(),
                "sentence": said[:MAX_TEXT],
                "answer": answer[:MAX_TEXT],
                "person": speaker.person or "",
                "surface": speaker.surface.name.lower(),
                "language": turn.language,
                "ms": _ms(figures.elapsed_ms),
                "tokens": figures.prompt_tokens + figures.completion_tokens,
                "error": error,
                "listens": listens,
                "tainted": turn.calls.tainted,
                "kept_home": turn.kept_home,
                "context_at": _ms((gathered - figures.started) * 1000) if gathered else 0.0,
                "context_ms": _ms(figures.context_ms),
                "requests": requests,
                "calls": list(_calls(turn.calls.records, turn.calls.verdicts, figures.started)),
                "slots": [_slot(slot) for slot in slots if slot.lines],
            }
        )

    def _request(self, asked: Asked, begun: float) -> Record:
        """Return what is kept of a request."""
        ended = asked.ended or asked.started
        factor = asked.factor
        return {
            "model": self._models.get(asked.model, asked.model),
            "again": asked.again,
            "at": _ms((asked.started - begun) * 1000),
            "first_ms": None if asked.first is None else _ms((asked.first - asked.started) * 1000),
            "ms": _ms((ended - asked.started) * 1000),
            "prompt": asked.prompt,
            "completion": asked.completion,
            "cached": asked.cached,
            "tokens": round(asked.fitted.tokens * factor),
            "original": round(asked.fitted.original * factor),
            "steps": list(asked.fitted.steps),
            "parts": [
                {"name": name, "tokens": round(tokens * factor)}
                for name, tokens in parts(asked.fitted).items()
                if tokens > 0
            ],
        }

    @callback
    def all(self) -> list[Record]:
        """Return the turns, the newest first."""
        return list(reversed(self._turns))

    @callback
    def get(self, turn_id: str) -> Record | None:
        """Return one turn."""
        return next((record for record in self._turns if record["id"] == turn_id), None)

    @callback
    def clear(self, conversation: str | None = None) -> None:
        """Forget the turns of a conversation, or all."""
        others = (record for record in self._turns if record["conversation"] != conversation)
        self._keep(() if conversation is None else others)

    @callback
    def prune(self, oldest: datetime) -> None:
        """Forget what is older."""
        self._keep(record for record in self._turns if datetime.fromisoformat(record["at"]) >= oldest)

    def _keep(self, records: Iterable[Record]) -> None:
        """Keep these and no others."""
        self._turns = deque(records, self._turns.maxlen)


def parts(fitted: Fitted) -> dict[str, int]:
    """Return what a request is made of, with the estimated tokens of each part."""
    first = fitted.messages[0] if fitted.messages else {}
    system = estimate_tokens(first["content"]) if first.get("role") == "system" else 0
    catalogue = min(fitted.catalogue.tokens, system) if fitted.catalogue else 0
    slots = {slot.name: slot_tokens(slot) for slot in fitted.slots if slot.lines}
    tools = fitted.tokens - BETWEEN - system - fitted.history - fitted.said - sum(slots.values())
    return {
        "rules": system - catalogue,
        "catalogue": catalogue,
        "tools": tools,
        "history": fitted.history,
        "said": fitted.said,
        **slots,
    }


def _calls(records: Iterable[CallRecord], verdicts: Iterable[Verdict], begun: float) -> Iterator[Record]:
    """Yield what is kept of the calls; each has its verdict."""
    for _, record, verdict in zip(range(MAX_CALLS), records, verdicts, strict=False):
        yield {
            "tool": record.tool_name,
            "args": json_dumps(record.args)[:MAX_TEXT],
            "result": record.said,
            "success": record.success,
            "at": _ms((record.started - begun) * 1000),
            "ms": _ms(record.duration_ms),
            "fit": verdict.fit.value,
            "rules": list(verdict.rules),
        }


def _slot(slot: Slot) -> Record:
    """Return what is kept of one part of the moment."""
    scores = slot.scores if len(slot.scores) == len(slot.lines) else ({},) * len(slot.lines)
    shown = zip(slot.lines[:MAX_LINES], scores, strict=False)
    return {
        "name": slot.name,
        "heading": slot.heading,
        "tokens": slot_tokens(slot),
        "lines": [
            {"text": line[:MAX_LINE], "scores": {by: round(score, 3) for by, score in found.items()}}
            for line, found in shown
        ],
        "left_out": max(0, len(slot.lines) - MAX_LINES),
    }


def _ms(value: float) -> float:
    """Return milliseconds as they are shown."""
    return round(value, 2)
