"""ContextManager: what a request carries besides the rules and the conversation."""

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, cast

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..const import (
    CONF_DIRECT_ENTITIES,
    CONF_MAX_CONTEXT_TOKENS,
    CONF_PROMPT_LABELS,
    EVENT_CONTEXT_INJECTED,
    EVENT_CONTEXT_OPTIMIZED,
    LOGGER,
)
from ..events import EventEmitter
from ..knowledge.house import House, HouseSnapshot
from ..knowledge.speaker import Speaker
from .budget import Budget
from .catalogue import Catalogue, build_catalogue
from .providers.base import ContextProvider, ContextRequest, Slot
from .providers.direct import DirectContextProvider
from .tokens import estimate_tokens

PROVIDER_SECONDS = 2.0
"""How long a provider may take before its slot is left out."""

SHRUNK_HOME = 200
"""Tokens of the catalogue where a request was too long for the model."""
SHRUNK_LINES = 8
INLINE_ENTITIES = 50
"""Houses up to this size get their catalogue on the event loop."""

VOLATILE_HEADING = "[Added by Home Assistant, not said by the person]"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledContext:
    """The context of one request."""

    house: HouseSnapshot
    catalogue: Catalogue
    """Stable: the same text until registries, exposure or options change."""
    volatile: str
    """Of this moment: stands beside the newest user message."""
    entity_ids: tuple[str, ...]


class ContextManager:
    """Runs the providers side by side and puts their slots together."""

    def __init__(
        self, hass: HomeAssistant, house: House, settings: Mapping[str, Any], emitter: EventEmitter
    ) -> None:
        """Read the options once; an entry is set up anew when they change."""
        self._hass = hass
        self._house = house
        self._emitter = emitter
        self._patterns = tuple(settings[CONF_DIRECT_ENTITIES])
        self._include_labels = bool(settings[CONF_PROMPT_LABELS])
        self.mode = "direct"
        self.budget = Budget.for_context(settings[CONF_MAX_CONTEXT_TOKENS])
        self._stable: tuple[HouseSnapshot, HouseSnapshot, Catalogue] | None = None
        self._providers: Sequence[ContextProvider] = (DirectContextProvider(hass),)

    async def async_stable(self) -> tuple[HouseSnapshot, Catalogue]:
        """Return the house that this agent shows to its model, and the catalogue of it."""
        whole = await self._house.async_snapshot()
        if self._stable is None or self._stable[0] is not whole:
            house = whole
            if self._patterns:
                house = whole.derived(("chosen", self._patterns), lambda all_: chosen(all_, self._patterns))
            build = partial(
                build_catalogue,
                house,
                token_budget=self.budget.home,
                include_labels=self._include_labels,
            )
            large = len(house.entities) > INLINE_ENTITIES
            catalogue = await self._hass.async_add_executor_job(build) if large else build()
            self._stable = (whole, house, catalogue)
        return self._stable[1:]

    async def async_prepare(self) -> None:
        """Build what the first sentence would have to wait for."""
        house, _catalogue = await self.async_stable()
        for provider in self._providers:
            await provider.async_prepare(house)

    async def async_assemble(
        self, *, sentence: str, speaker: Speaker, conversation_id: str
    ) -> AssembledContext:
        """Return the context of one sentence."""
        house, catalogue = await self.async_stable()
        request = ContextRequest(
            sentence=sentence,
            speaker=speaker,
            house=house,
            budget=self.budget,
            catalogue=catalogue,
        )
        slots = await asyncio.gather(*(self._async_slot(provider, request) for provider in self._providers))
        volatile = self._volatile(request, slots)
        entity_ids = tuple(entity_id for slot in slots for entity_id in slot.entity_ids)
        self._emitter.fire(
            EVENT_CONTEXT_INJECTED,
            conversation_id=conversation_id,
            mode=self.mode,
            entities_included=list(entity_ids),
            entity_count=len(house.entities) if catalogue.complete else len(entity_ids),
            token_count=catalogue.tokens + estimate_tokens(volatile),
            vector_db_query=None,
        )
        return AssembledContext(house=house, catalogue=catalogue, volatile=volatile, entity_ids=entity_ids)

    async def async_shrink(self, context: AssembledContext) -> AssembledContext:
        """Return the least that a sentence needs: rooms, clock and speaker, and the states found first."""
        build = partial(build_catalogue, context.house, token_budget=SHRUNK_HOME)
        catalogue = await self._hass.async_add_executor_job(build)
        volatile = "\n".join(context.volatile.split("\n")[:SHRUNK_LINES])
        before = context.catalogue.tokens + estimate_tokens(context.volatile)
        after = catalogue.tokens + estimate_tokens(volatile)
        self._emitter.fire(
            EVENT_CONTEXT_OPTIMIZED,
            original_tokens=before,
            optimized_tokens=after,
            compression_ratio=round(after / max(before, 1), 3),
            was_truncated=not catalogue.complete,
        )
        return replace(context, catalogue=catalogue, volatile=volatile)

    async def _async_slot(self, provider: ContextProvider, request: ContextRequest) -> Slot:
        """Return a provider's slot; an empty one if it fails or is late."""
        try:
            async with asyncio.timeout(PROVIDER_SECONDS):
                return await provider.async_provide(request)
        except TimeoutError:
            LOGGER.warning("The %s context took too long and is left out", provider.name)
        except Exception:  # noqa: BLE001 - a provider never costs the turn
            LOGGER.exception("The %s context failed and is left out", provider.name)
        return Slot(heading="", lines=())

    def _volatile(self, request: ContextRequest, slots: Sequence[Slot]) -> str:
        """Return the block of this moment: clock, person, place, then the slots."""
        now = dt_util.now()
        lines = [VOLATILE_HEADING, f"Time: {now:%A %Y-%m-%d %H:%M}", self._who(request)]
        return "\n".join(line for line in (*lines, *(slot.text for slot in slots)) if line)

    def _who(self, request: ContextRequest) -> str:
        """Return who speaks, in which language, how and where."""
        speaker, house = request.speaker, request.house
        parts = [speaker.person] if speaker.person else []
        parts += [f"language {speaker.language}", "by voice" if speaker.voice else "in writing"]
        if speaker.area_id and (area := house.areas.get(speaker.area_id)):
            floor = house.floors.get(area.floor_id) if area.floor_id else None
            parts.append(f"in {area.name}" + (f", {floor.name}" if floor else ""))
        return f"Speaker: {', '.join(parts)}"


def chosen(house: HouseSnapshot, patterns: Sequence[str]) -> HouseSnapshot:
    """Return the house with only the entities that a pattern names."""
    return HouseSnapshot(
        version=house.version,
        entities={
            entity_id: record
            for entity_id, record in house.entities.items()
            if any(fnmatchcase(entity_id, pattern) for pattern in patterns)
        },
        areas=house.areas,
        floors=house.floors,
        carried=cast(dict[Hashable, object], house.carried.setdefault(("chosen", tuple(patterns)), {})),
    )
