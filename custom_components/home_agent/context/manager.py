"""ContextManager: the context of a request in addition to the rules and the conversation."""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final, NamedTuple, cast

from homeassistant.util import dt as dt_util

from ..const import (
    CONF_ALLOW_SCRIPTS,
    CONF_CONTEXT_MODE,
    CONF_DIRECT_ENTITIES,
    CONF_MEMORY,
    CONF_POLICY_BLOCKED,
    CONF_PROFILE,
    CONF_PROMPT_LABELS,
    LOGGER,
    MODE_VECTOR,
)
from ..domains import DOMAINS
from ..errors import ContextInjectionError
from ..inference.client import PRIMARY
from ..knowledge.house import EntityRecord, HouseSnapshot, Snapshots
from ..knowledge.speaker import Speaker
from ..languages import find
from ..safety.policy import Reader
from ..safety.rules import Effect, RuleSet
from .catalogue import build_catalogue, build_summary
from .named import language_of
from .providers.base import ContextProvider, ContextRequest, ProviderSetup
from .providers.entities import EntitiesContextProvider
from .providers.texts import (
    DocumentsContextProvider,
    MemoryContextProvider,
    ProfileContextProvider,
    everything_known,
)
from .window import Budget, Catalogue, ContextWindow, Slot

UNPROMPTED: Final = ". No wake word, the microphone was open: if this is not said to you, answer only \u2026"


class Usable:
    """What the options leave of scenes and scripts. Other entities are listed: their states can be read."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._allowed = bool(settings[CONF_ALLOW_SCRIPTS])
        self._blocked = RuleSet(settings[CONF_POLICY_BLOCKED])

    @property
    def everything(self) -> bool:
        """Return whether no entity is left out."""
        return self._allowed and not self._blocked

    def lists(self, record: EntityRecord) -> bool:
        """Return whether the model is told of an entity."""
        if not DOMAINS[record.domain].is_gated:
            return True
        run = Effect(domain=record.domain, service="turn_on", entity_id=record.entity_id)
        return self._allowed and not self._blocked.fits(run)


PROVIDER_SECONDS = 2.0
"""How long a provider may take before its slot is left out."""

INLINE_ENTITIES = 50
"""Houses up to this size get their catalogue on the event loop."""

VOLATILE_HEADING = "[Added by Home Assistant, not said by the person]"

PROVIDERS: Sequence[Callable[[ProviderSetup], ContextProvider | None]] = (
    EntitiesContextProvider,
    lambda setup: ProfileContextProvider(setup) if setup.settings[CONF_PROFILE] else None,
    lambda setup: MemoryContextProvider(setup) if setup.settings[CONF_MEMORY] else None,
    lambda setup: DocumentsContextProvider(setup.texts) if setup.texts.configured else None,
)
"""Factories of providers; they return None if the options disable the provider. They run in this order."""


class AssembledContext(NamedTuple):
    """The context of one request."""

    house: HouseSnapshot
    catalogue: Catalogue
    """Stable: the same text until registries, exposure or options change."""
    budget: Budget
    slots: Sequence[Slot] = ()
    """Parts that change with each turn; they are sent with the newest user message."""


class ContextManager:
    """Runs the providers side by side and puts their slots together."""

    def __init__(self, house: Snapshots, setup: ProviderSetup) -> None:
        self._hass = setup.hass
        self._house = house
        settings = setup.settings
        self._patterns = tuple(settings[CONF_DIRECT_ENTITIES])
        self._usable = Usable(settings)
        self._include_labels = bool(settings[CONF_PROMPT_LABELS])
        self.mode: str = settings[CONF_CONTEXT_MODE]
        self.window = ContextWindow(settings)
        self._setup = setup
        self._away = setup.data_policy.away
        self._stable: dict[str, tuple[HouseSnapshot, AssembledContext]] = {}
        """Per model: the complete home, and derived data."""
        self._providers = [provider for make in PROVIDERS if (provider := make(setup)) is not None]

    async def async_stable(self, model: str = PRIMARY) -> AssembledContext:
        """Return the home that this agent shows to its model with its catalogue, without slots."""
        whole = await self._house.async_snapshot()
        budget = self.window.budget(model)
        known = self._stable.get(model)
        if known is None or known[0] is not whole or known[1].budget != budget:
            house, patterns = whole, self._patterns
            if patterns:
                house = only(
                    house,
                    ("chosen", patterns),
                    lambda record: any(fnmatchcase(record.entity_id, pattern) for pattern in patterns),
                )
            if not self._usable.everything:
                house = only(house, ("usable", self._usable), self._usable.lists)
            # All entities if they fit, rooms only where entities are looked up anyway.
            build: Callable[[], Catalogue] = partial(
                build_catalogue, house, token_budget=budget.home, include_labels=self._include_labels
            )
            if self.mode == MODE_VECTOR:
                build = partial(build_summary, house, token_budget=budget.home)
            is_large = len(house.entities) > INLINE_ENTITIES
            catalogue = await self._hass.async_add_executor_job(build) if is_large else build()
            stable = AssembledContext(house=house, catalogue=catalogue, budget=budget)
            known = self._stable[model] = (whole, stable)
        return known[1]

    async def async_prepare(self) -> None:
        """Build caches that the first sentence would otherwise wait for."""
        stable = await self.async_stable()
        for provider in self._providers:
            await provider.async_prepare(stable.house)

    async def async_assemble(
        self, *, sentence: str, reader: Reader, model: str = PRIMARY, before: Sequence[str] = ()
    ) -> AssembledContext:
        """Return the context of one sentence; `before` are the entities of the last turn.

        Raises ContextInjectionError if the home is not known.
        """
        try:
            stable = await self.async_stable(model)
        except Exception as err:
            LOGGER.debug("The house could not be read", exc_info=True)
            raise ContextInjectionError(f"the house could not be read: {type(err).__name__}") from err
        speaker = reader.speaker
        known, ids = everything_known(self._setup, speaker, stable.budget)
        request = ContextRequest(
            sentence=sentence,
            speaker=speaker,
            reader=reader,
            house=stable.house,
            budget=stable.budget,
            catalogue=stable.catalogue,
            before=before,
            known=ids,
        )

        async def async_slot(provider: ContextProvider) -> Slot:
            """Return a provider's slot; an empty one if it fails or is late: it never costs the turn."""
            try:
                async with asyncio.timeout(PROVIDER_SECONDS):
                    return replace(await provider.async_provide(request), name=provider.name)
            except TimeoutError:
                reason = f"no answer within {PROVIDER_SECONDS:g} seconds"
            except Exception as err:  # noqa: BLE001 - whatever a provider raises
                LOGGER.debug("The %s context failed", provider.name, exc_info=True)
                reason = f"{type(err).__name__}: {err}"
            LOGGER.warning("The %s context is left out: %s", provider.name, reason)
            return Slot(heading="", lines=())

        slots = await asyncio.gather(*map(async_slot, self._providers))
        return stable._replace(slots=(self._moment(request), known, *slots))

    def known(self, speaker: Speaker, budget: Budget) -> Slot:
        """Return all that a speaker may know of people, as far as every request contains it."""
        return everything_known(self._setup, speaker, budget)[0]

    def _moment(self, request: ContextRequest) -> Slot:
        """Return the context that does not depend on the sentence: clock, person, place."""
        now = dt_util.now()
        time = f"Time: {now:%A %Y-%m-%d %H:%M}"
        outside = (time, self._who(request, named=self._away.people))
        lines = (time, self._who(request))
        return Slot(heading=VOLATILE_HEADING, lines=lines, outside=outside, fixed=True, name="moment")

    def _who(self, request: ContextRequest, *, named: bool = True) -> str:
        """Return the speaker with channel and location, and with the language if the sentence is in it."""
        speaker, house = request.speaker, request.house
        parts = [speaker.person] if speaker.person and named else []
        if language_of(request.sentence, speaker.language) in {None, find(speaker.language)}:
            parts.append(f"language {speaker.language}")
        parts.append(speaker.surface)
        if speaker.area_id and (area := house.areas.get(speaker.area_id)):
            floor = house.floors.get(area.floor_id) if area.floor_id else None
            parts.append(f"in {area.name}" + (f", {floor.name}" if floor else ""))
        return f"Speaker: {', '.join(parts)}{UNPROMPTED if speaker.unprompted else ''}"


def only(house: HouseSnapshot, key: Hashable, keeps: Callable[[EntityRecord], bool]) -> HouseSnapshot:
    """Return the home with only some of its entities; what is derived of them is kept under the key."""
    return HouseSnapshot(
        version=house.version,
        entities={entity_id: record for entity_id, record in house.entities.items() if keeps(record)},
        areas=house.areas,
        floors=house.floors,
        carried=cast(dict[Hashable, object], house.carried.setdefault(key, {})),
    )
