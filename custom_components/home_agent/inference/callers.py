"""Who waits for the answer to a request, and the error where that would take too long."""

from dataclasses import dataclass
from enum import IntEnum
from typing import override

from .errors import ErrorKind, ModelServerError


class Priority(IntEnum):
    """Who waits for an answer; smaller numbers come first."""

    PERSON = 1
    TASK = 2
    """An automation or an administrator's test needs the answer, and nobody listens while it comes."""
    BACKGROUND = 3
    """Nobody needs it now: memories, summaries, prompts that are read ahead."""


@dataclass(slots=True, eq=False)
class Caller:
    """The one that a turn, or a piece of work, asks for. All of its requests share this."""

    who: str = ""
    """The speaker; requests of several speakers are answered in turn."""
    priority: Priority = Priority.PERSON
    whole: bool = False
    """Whether an answer is used only when it is complete, so that it may be interrupted until then."""
    waited: float = 0.0
    """Seconds that its requests have waited."""
    served: int = 0
    """Requests that were sent: a turn that has begun goes on before others begin."""
    running: int = 0
    """Requests that are being answered: a tool of the turn may ask while the turn's own answer ends."""


def background(who: str) -> Caller:
    """Return the caller of work that nobody waits for."""
    return Caller(who, Priority.BACKGROUND, whole=True)


class ServerBusy(ModelServerError):
    """A request has waited for too long, or would. Nothing was sent."""

    def __init__(self, caller: Caller, detail: str) -> None:
        super().__init__(ErrorKind.BUSY, detail, retryable=False)
        self._is_person = caller.priority is Priority.PERSON

    @property
    @override
    def is_down(self) -> bool:
        """Tell that the fallback may be asked for a person; other work waits until later."""
        return self._is_person
