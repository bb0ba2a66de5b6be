"""Summarizer: what long conversations leave behind is summed up before it is left out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import re
from typing import Any, Final

from homeassistant.core import HomeAssistant

from ..const import LOGGER
from ..context.tokens import cut_tail
from ..history import ConversationHistoryManager
from ..idle import IdleQueue
from ..inference.errors import ModelServerError
from ..inference.router import Router
from ..regex import lazy
from ..safety.disclosure import DataPolicy
from .afterthought import afterthought

INSTRUCTION: Final = """\
Now do something else. Do not answer the person. Sum up what was said in this conversation so far, in the \
person's language and in at most 120 words: what the person wanted, what was found out and done, what is \
still open. Only what was said; no states, no lists of devices. Write the summary and nothing else."""
MAX_TOKENS: Final = 300
_THOUGHT: Final = lazy(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A conversation as the model saw it last."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    at_home: bool = False
    """Whether only a model at home may be shown this."""


class Summarizer:
    """Asks the model for summaries while nobody speaks."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry_id: str,
        *,
        history: ConversationHistoryManager,
        router: Router,
        policy: DataPolicy,
        settings: Mapping[str, Any],
        is_busy: Callable[[], bool],
    ) -> None:
        """Take whose conversations these are, and who is asked."""
        self._entry_id = entry_id
        self._history = history
        self._router = router
        self._policy = policy
        self._settings = settings
        self.queue = IdleQueue[Spoken](hass, "summary", self._async_sum_up, is_busy=is_busy)

    async def _async_sum_up(self, history_id: str, spoken: Spoken) -> bool:
        """Keep what the model makes of a conversation; False if it could not be asked."""
        request = afterthought(self._settings, spoken.messages, spoken.tools, INSTRUCTION, MAX_TOKENS)
        try:
            answer = await self._router.complete(
                lambda model: request if self._policy.of(model).home or not spoken.at_home else None
            )
        except ModelServerError as err:
            LOGGER.info("A conversation could not be summed up (%s)", err.kind)
            return False
        summary = _THOUGHT.sub("", answer.content).strip()
        if summary:
            self._history.keep_summary(self._entry_id, history_id, cut_tail(summary, MAX_TOKENS))
        return True
