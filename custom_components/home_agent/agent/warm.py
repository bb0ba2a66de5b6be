"""Warm start: the stable part of the prompt is prefilled before a person has finished speaking."""

from collections.abc import Mapping
from hashlib import blake2b
from time import monotonic
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_bytes

from ..const import (
    ASSISTANT,
    CONF_KEEP_ALIVE,
    CONF_LLM_APIS,
    CONF_MAX_TOKENS,
    CONF_NUM_CTX,
    CONF_THINKING,
    DOMAIN,
    LOGGER,
)
from ..context.fitting import FittedRequest, RequestDraft, fit
from ..context.manager import ContextManager
from ..inference.errors import ModelServerError
from ..inference.models import ChatRequest, Message
from ..inference.queue import background
from ..inference.router import MODELS, Router
from ..knowledge.speaker import Speaker
from ..safety.disclosure import DataPolicy
from .prompt import PromptBuilder
from .tool_schemas import OwnTools, async_other_tools

NOTHING_SAID: Message = {"role": "user", "content": "."}
WARM_SECONDS = 240.0
"""How long a prefilled prompt is taken to stay in the server's cache."""


class Warmer:
    """Lets a server at home read the system prompt and the tools ahead of time; never a cloud one."""

    def __init__(
        self,
        hass: HomeAssistant,
        settings: Mapping[str, Any],
        router: Router,
        context: ContextManager,
        prompt: PromptBuilder,
        tools: OwnTools,
        policy: DataPolicy,
    ) -> None:
        self._hass = hass
        self._settings = settings
        self._router = router
        self._context = context
        self._prompt = prompt
        self._tools = tools
        self._policy = policy
        self._warm: tuple[bytes, float] | None = None
        self._busy = False

    def note_used(self) -> None:
        """Note that a turn has just filled the cache."""
        if self._warm is not None:
            self._warm = (self._warm[0], monotonic())

    async def async_warm(self) -> None:
        """Build the indexes and prefill the stable part, unless it is warm or being warmed.

        Failing costs nothing.
        """
        if self._busy:
            return
        self._busy = True
        try:
            await self._context.async_prepare()
            if self._policy.of(self._router.expected).home:
                await self._async_prefill()
        except ModelServerError as err:
            LOGGER.debug("The prompt could not be prefilled: %s", err.kind)
        finally:
            self._busy = False

    async def _async_prefill(self) -> None:
        """Send the stable part with an answer of one token; once more where that shows it to be too long."""
        for _ in range(2):
            fitted = await self._async_stable_part()
            begins = json_bytes([fitted.messages[0]["content"], fitted.tools])
            mark = blake2b(begins, digest_size=16).digest()
            if (
                self._warm is not None
                and self._warm[0] == mark
                and monotonic() - self._warm[1] < WARM_SECONDS
            ):
                return
            request = ChatRequest(
                messages=fitted.messages,
                tools=fitted.tools,
                max_tokens=1,
                keep_alive=self._settings[CONF_KEEP_ALIVE],
                num_ctx=self._settings.get(CONF_NUM_CTX),
                thinking=self._settings[CONF_THINKING],
                caller=background("read ahead"),
            )
            answer = await self._router.complete(
                {model: request for model in MODELS if self._policy.of(model).home}
            )
            self._warm = (mark, monotonic())
            if answer.usage is not None:
                model, usage = self._router.last_used, answer.usage
                self._context.window.note_usage(model, fitted.tokens, usage.prompt, usage.cached)

    async def _async_stable_part(self) -> FittedRequest:
        stable = await self._context.async_stable()
        context, language = Context(), self._hass.config.language
        others = await async_other_tools(
            self._hass,
            self._settings[CONF_LLM_APIS],
            llm.LLMContext(DOMAIN, context, language, ASSISTANT, None),
            self._tools.names,
        )
        nobody = Speaker(context=context, language=language)
        systems = self._prompt.systems(stable, "", nobody, [], others.prompt or None)
        tools = [*self._tools.beside(stable.house, stable.catalogue), *others.schemas]
        draft = RequestDraft(
            systems=systems,
            tools=tools,
            tools_budget=stable.budget.chosen.get("tools"),
            slots=(self._context.known(nobody, stable.budget),),
        )
        limit = self._context.window.request_tokens(self._settings[CONF_MAX_TOKENS])
        return fit(draft, [NOTHING_SAID], limit)
