"""Requests about a conversation that is over for now: they begin with its own messages."""

from collections.abc import Callable, Mapping, Sequence
import re
from typing import TYPE_CHECKING, Any, Final

from homeassistant.core import HomeAssistant

from ..const import CONF_KEEP_ALIVE, CONF_NUM_CTX, LOGGER
from ..context.window import cut_tail
from ..conversations.history import ConversationHistoryManager
from ..idle import IdleQueue
from ..inference.client import MODELS, Router
from ..inference.models import ChatRequest, Message, ModelServerError, as_agent_error, background
from ..memory.extractor import INSTRUCTION, SCHEMA, Ask, Exchange
from ..regex import lazy_regex
from ..safety.disclosure import DataPolicy

if TYPE_CHECKING:
    from ..tools.outside.external_llm import ExternalModel

MAX_TOKENS = 600
NOBODY = "the speaker"
SUMMARY_INSTRUCTION: Final = """\
Now do something else. Do not answer the person. Sum up what was said in this conversation so far, in the \
person's language and in at most 120 words: what the person wanted, what was found out and done, what is \
still open. Only what was said; no states, no lists of devices. Write the summary and nothing else."""
SUMMARY_TOKENS: Final = 300
_THOUGHT: Final = lazy_regex(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


def afterthought(
    settings: Mapping[str, Any],
    messages: Sequence[Message],
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
        messages=[*(message.copy() for message in messages), {"role": "user", "content": instruction}],
        tools=[dict(tool) for tool in tools],
        tool_choice="none" if tools else None,
        temperature=0.0,
        max_tokens=max_tokens,
        keep_alive=settings[CONF_KEEP_ALIVE],
        num_ctx=settings.get(CONF_NUM_CTX),
        thinking=False,
        response_schema=dict(schema) if schema else None,
        caller=background("afterthought"),
    )


def asking_external(model: ExternalModel) -> Ask:
    """Return a function that asks the external model about an exchange, without data about the home.

    One outside the home is not shown an answer that drew on what stays at home.
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
    """Return a function that asks the agent's own model about an exchange."""

    async def ask(exchange: Exchange) -> str:
        requests = {}
        for model in MODELS:
            disclosure = policy.of(model)
            if disclosure.home or not exchange.at_home:
                name = exchange.speaker.person if disclosure.people else None
                instruction = INSTRUCTION.format(name=name or NOBODY)
                requests[model] = afterthought(
                    settings, exchange.messages, exchange.tools, instruction, MAX_TOKENS, schema=SCHEMA
                )
        try:
            return (await router.complete(requests)).content
        except ModelServerError as err:
            raise as_agent_error(err) from err

    return ask


def summaries(
    hass: HomeAssistant,
    entry_id: str,
    *,
    history: ConversationHistoryManager,
    router: Router,
    policy: DataPolicy,
    settings: Mapping[str, Any],
    is_busy: Callable[[], bool],
) -> IdleQueue[Exchange]:
    """Return the queue of conversations that the model is to sum up while no turn is running."""

    async def sum_up(history_id: str, spoken: Exchange) -> bool:
        request = afterthought(settings, spoken.messages, spoken.tools, SUMMARY_INSTRUCTION, SUMMARY_TOKENS)
        try:
            answer = await router.complete(
                {model: request for model in MODELS if policy.of(model).home or not spoken.at_home}
            )
        except ModelServerError as err:
            LOGGER.info("A conversation could not be summed up (%s)", err.kind)
            return False
        if summary := _THOUGHT.sub("", answer.content).strip():
            history.keep_summary(entry_id, history_id, cut_tail(summary, SUMMARY_TOKENS))
        return True

    return IdleQueue(hass, "summary", sum_up, is_busy=is_busy)
