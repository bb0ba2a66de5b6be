"""query_external_llm: a question to a second model, which sees what it is given and nothing else."""

from collections.abc import Iterable, Mapping
import re
from typing import Any, Final, NamedTuple, override

import probatio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import JsonValueType

from ...const import (
    CONF_EXTERNAL_DESCRIPTION,
    CONF_EXTERNAL_KEEP_ALIVE,
    CONF_EXTERNAL_MAX_TOKENS,
    CONF_EXTERNAL_TEMPERATURE,
)
from ...errors import ToolExecutionError, ValidationError
from ...inference.client import ModelClient
from ...inference.models import Caller, ChatRequest, Delta, ModelServerError, TokenUsage, background
from ...regex import lazy_regex
from ...safety.disclosure import DataCategory, DataPolicy, Disclosure
from ..base import HomeAgentTool, ToolRun
from .outgoing import Outgoing

MAX_CHARS: Final = 20_000
"""Characters of prompt and context together."""

_THOUGHT: Final = lazy_regex(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


class ExternalModel(NamedTuple):
    """The second model, and how it is asked."""

    client: ModelClient
    disclosure: Disclosure
    """What it may receive."""
    temperature: float
    max_tokens: int
    keep_alive: str | None

    async def complete(
        self,
        question: str,
        *,
        caller: Caller | None = None,
        temperature: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Delta:
        """Return the answer to a question without a conversation; without a caller nobody waits for it.

        Raises ModelServerError.
        """
        return await self.client.complete(
            ChatRequest(
                messages=[{"role": "user", "content": question}],
                temperature=self.temperature if temperature is None else temperature,
                max_tokens=self.max_tokens,
                keep_alive=self.keep_alive,
                response_schema=dict(schema) if schema else None,
                caller=caller or background("external model"),
            )
        )


def external_model(
    client: ModelClient | None, policy: DataPolicy, settings: Mapping[str, Any]
) -> ExternalModel | None:
    """Return the second model as the options want it; None if there is none."""
    if client is None:
        return None
    return ExternalModel(
        client=client,
        disclosure=policy.of_address(client.endpoint.base_url),
        temperature=settings[CONF_EXTERNAL_TEMPERATURE],
        max_tokens=settings[CONF_EXTERNAL_MAX_TOKENS],
        keep_alive=settings[CONF_EXTERNAL_KEEP_ALIVE],
    )


class ExternalModelTool(HomeAgentTool):
    """Asks the second model, which gets no data about the home, the conversation or a person."""

    name = "query_external_llm"
    discloses = DataCategory.PEOPLE | DataCategory.STATES
    max_text = MAX_CHARS
    title = "Ask another model"
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=False, open_world=True)
    parameters = probatio.Schema({probatio.Required("prompt"): str, probatio.Optional("context"): dict})

    def __init__(self, model: ExternalModel, outgoing: Outgoing, settings: Mapping[str, Any]) -> None:
        self.description = settings[CONF_EXTERNAL_DESCRIPTION]
        self._model = model
        self._outgoing = outgoing

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        prompt, context = args["prompt"], args.get("context") or {}
        if len(prompt) + len(json_dumps(context)) > MAX_CHARS:
            raise ValidationError(f"prompt and context: at most {MAX_CHARS} characters together")
        left_out: tuple[str, ...] = ()
        disclosure = self._model.disclosure
        if not disclosure.home and (run.disclosure.home or run.tainted):
            sent = await self._outgoing.async_question(self.name, prompt, context, run, disclosure)
            prompt, context, left_out = sent.text, sent.data, sent.left_out
        question = f"{prompt}\n\n{json_dumps(context)}" if context else prompt
        try:
            answer = await self._model.complete(question, caller=run.calls.caller)
        except ModelServerError as err:
            problem = f"the external model cannot be used ({err.kind.replace('_', ' ')}: {err.detail})"
            raise ToolExecutionError(f"{problem}. Answer without it") from None
        run.calls.external.append(answer.usage or TokenUsage())
        text = _THOUGHT.sub("", answer.content).strip()
        if not text:
            raise ToolExecutionError("the external model said nothing. Answer without it")
        told: dict[str, JsonValueType] = {"answer": text}
        if answer.finish_reason == "length":
            told["cut"] = "the end is missing"
        if left_out:
            told["not_passed_on"] = ", ".join(left_out)
        return told

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return the answer: what of it may be meant for the model is judged as of a title."""
        return (str(result["answer"]),) if isinstance(result, dict) else ()
