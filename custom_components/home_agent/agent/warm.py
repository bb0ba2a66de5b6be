"""Warm start: the stable part of the prompt is prefilled before somebody has finished speaking."""

from collections.abc import Mapping
from hashlib import blake2b
from time import monotonic
from typing import Any

from homeassistant.core import Context, HomeAssistant

from ..config.validators import is_cloud
from ..const import CONF_BASE_URL, CONF_KEEP_ALIVE, CONF_NUM_CTX, CONF_THINKING, LOGGER
from ..context.manager import AssembledContext, ContextManager
from ..inference.errors import ModelServerError
from ..inference.models import ChatRequest
from ..inference.router import Router
from ..knowledge.speaker import Speaker
from .prompt import PromptBuilder

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
        tools: list[dict[str, Any]],
    ) -> None:
        """Take what a request is made of."""
        self._hass = hass
        self._settings = settings
        self._router = router
        self._context = context
        self._prompt = prompt
        self._tools = tools
        self._wanted = not is_cloud(settings[CONF_BASE_URL])
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
            if self._wanted:
                await self._async_prefill()
        except ModelServerError as err:
            LOGGER.debug("The prompt could not be prefilled: %s", err.kind)
        finally:
            self._busy = False

    async def _async_prefill(self) -> None:
        """Send the stable part with an answer of one token."""
        house, catalogue = await self._context.async_stable()
        context = AssembledContext(house=house, catalogue=catalogue, volatile="", entity_ids=())
        nobody = Speaker(context=Context(), language=self._hass.config.language)
        system = self._prompt.system(context, "", nobody, [])
        mark = blake2b(system.encode(), digest_size=16).digest()
        if self._warm is not None and self._warm[0] == mark and monotonic() - self._warm[1] < WARM_SECONDS:
            return
        await self._router.complete(
            ChatRequest(
                messages=[{"role": "system", "content": system}, {"role": "user", "content": "."}],
                tools=self._tools,
                max_tokens=1,
                keep_alive=self._settings[CONF_KEEP_ALIVE],
                num_ctx=self._settings.get(CONF_NUM_CTX),
                thinking=self._settings[CONF_THINKING],
            )
        )
        self._warm = (mark, monotonic())
