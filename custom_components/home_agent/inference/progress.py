"""How long an answer may take: what counts as progress, and when a request is given up."""

import asyncio

from .dialects.base import Answer
from .errors import ErrorKind, ModelServerError

GRACE = 3.0
"""Seconds a server may take to end its answer after it has named the reason to finish."""


class Progress:
    """The limits of one answer. Only words, thoughts and parts of calls count as progress.

    Servers send comments, blank lines and empty deltas to keep a connection open: these must not keep a
    turn waiting.
    """

    def __init__(self, answer: Answer, first: float, idle: float, give_up_at: float | None) -> None:
        """Start to wait: `first` seconds for the beginning, `idle` for each later part."""
        self._answer = answer
        self._idle = idle
        self._seen = answer.size
        self._finished = False
        self._now = asyncio.get_running_loop().time
        self._give_up_at = give_up_at
        self._until = self._now() + first

    def left(self) -> float:
        """Return for how many seconds the next bytes may be awaited. Raises ModelServerError if for none."""
        if self._answer.size > self._seen:
            self._seen = self._answer.size
            self._until = self._now() + self._idle
        if self._answer.finish_reason is not None and not self._finished:
            self._finished = True
            self._until = self._now() + GRACE
        until = self._until if self._give_up_at is None else min(self._until, self._give_up_at)
        if (left := until - self._now()) <= 0:
            raise ModelServerError(ErrorKind.TIMEOUT, "the server's answer does not go on in time")
        return left
