"""MemoryExtractionMixin: what happens with a turn after the answer, for the memory's sake."""

from collections.abc import Mapping
from typing import Any

from homeassistant.util import dt as dt_util

from ..const import CONF_MEMORY, CONF_MEMORY_EXTRACTION
from ..inference.errors import ModelServerError
from ..inference.models import ChatRequest
from ..inference.router import Router
from ..memory.extraction.extractor import Ask, Exchange
from ..memory.extraction.reply import INSTRUCTION, SCHEMA
from ..safety.disclosure import DataPolicy
from ..tools.external_llm import ExternalModel
from .afterthought import afterthought
from .fitting import FittingMixin
from .messages import from_contents
from .model_errors import as_agent_error
from .sentence_kind import Kind, kind_of
from .turn import Turn

STORING = "store_memory"
MAX_TOKENS = 600
NOBODY = "the speaker"


class MemoryExtractionMixin(FittingMixin):
    """Hands turns to the extractor. It works when nobody speaks."""

    def _learn_from(self, turn: Turn) -> None:
        """Note a turn that may have brought something worth remembering."""
        settings = self.settings
        if not (settings[CONF_MEMORY] and settings[CONF_MEMORY_EXTRACTION]) or not _may_tell(turn):
            return
        assert turn.fitted is not None
        answer = from_contents(turn.chat_log.content[-1:])
        self.data.extractor.note(
            Exchange(
                messages=[*turn.fitted.messages, *answer],
                tools=turn.fitted.tools,
                speaker=turn.calls.speaker,
                said=turn.calls.sentence,
                at_home=self._stays_home(turn),
                at=dt_util.utcnow(),
            )
        )


def _may_tell(turn: Turn) -> bool:
    """Return whether a person said something to the model that is more than an order.

    What an automation says is nobody's, and what came with text from outside may be somebody else's.
    """
    speaker, calls = turn.calls.speaker, turn.calls
    if turn.fitted is None or calls.tainted or not (speaker.context.user_id or speaker.voice):
        return False
    if any(record.tool_name == STORING and record.success for record in calls.records):
        return False
    return not (calls.acted and kind_of(calls.sentence, turn.language) is Kind.ORDER)


def asking_external(model: ExternalModel) -> Ask:
    """Return what asks the external model about an exchange: what was said, and nothing of the house.

    One outside the house is not shown an answer that drew on what stays at home.
    """

    async def ask(exchange: Exchange) -> str:
        home = model.disclosure.home
        spoken = [f"Person: {exchange.said}"]
        if home or not exchange.at_home:
            spoken.append(f"Assistant: {exchange.messages[-1]['content']}")
        name = exchange.speaker.person if model.disclosure.people else None
        spoken.append(INSTRUCTION.format(name=name or NOBODY))
        try:
            answer = await model.complete("\n\n".join(spoken), temperature=0.0, schema=SCHEMA)
        except ModelServerError as err:
            raise as_agent_error(err) from err
        return answer.content

    return ask


def asking(router: Router, policy: DataPolicy, settings: Mapping[str, Any]) -> Ask:
    """Return what asks the agent's own model about an exchange."""

    async def ask(exchange: Exchange) -> str:
        def build(model: str) -> ChatRequest | None:
            disclosure = policy.of(model)
            if exchange.at_home and not disclosure.home:
                return None
            name = exchange.speaker.person if disclosure.people else None
            instruction = INSTRUCTION.format(name=name or NOBODY)
            return afterthought(
                settings, exchange.messages, exchange.tools, instruction, MAX_TOKENS, schema=SCHEMA
            )

        try:
            return (await router.complete(build)).content
        except ModelServerError as err:
            raise as_agent_error(err) from err

    return ask
