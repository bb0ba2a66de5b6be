"""Requests about a conversation that is over for now: they begin with its own messages."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..const import CONF_KEEP_ALIVE, CONF_NUM_CTX
from ..inference.errors import ModelServerError
from ..inference.models import ChatRequest
from ..inference.router import Router
from ..memory.extraction.extractor import Ask, Exchange
from ..memory.extraction.reply import INSTRUCTION, SCHEMA
from ..safety.disclosure import DataPolicy
from .model_errors import as_agent_error

if TYPE_CHECKING:
    from ..tools.external_llm import ExternalModel

MAX_TOKENS = 600
NOBODY = "the speaker"


def afterthought(
    settings: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    instruction: str,
    max_tokens: int,
    *,
    schema: Mapping[str, Any] | None = None,
) -> ChatRequest:
    """Return a request that asks something about messages that a model has seen.

    It begins with these very messages and tools, so that the server has read most of it already, and finds
    them in its cache when the conversation goes on.
    """
    return ChatRequest(
        messages=[*map(dict, messages), {"role": "user", "content": instruction}],
        tools=[dict(tool) for tool in tools],
        tool_choice="none" if tools else None,
        temperature=0.0,
        max_tokens=max_tokens,
        keep_alive=settings[CONF_KEEP_ALIVE],
        num_ctx=settings.get(CONF_NUM_CTX),
        thinking=False,
        response_schema=dict(schema) if schema else None,
    )


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
