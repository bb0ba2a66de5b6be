"""The self-test of a model that no agent uses yet: an agent is put together for it, and taken apart again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component

from ..agents.building import build
from ..const import DOMAIN
from ..parts import async_load_parts, async_part
from ..runtime import DATA_SHARED, SharedData
from ..self_test_reports import Report
from ..settings import settings_of
from ..store import EntryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An agent as the config flow has it so far."""

    entry_id: str
    title: str
    data: Mapping[str, Any]
    options: Mapping[str, Any]


async def async_shared(hass: HomeAssistant) -> SharedData:
    """Return what all agents share, also before the first one is added.

    An integration that is in `configuration.yaml` was set up when Home Assistant started.
    """
    if DATA_SHARED not in hass.data:
        await async_setup_component(hass, DOMAIN, {})
    return hass.data[DATA_SHARED]


async def async_try(
    hass: HomeAssistant, shared: SharedData, draft: Draft, progress: Callable[[float], None], language: str
) -> Report:
    """Run the self-test of a draft, with advice in a language; `progress` gets the share that is done.

    Raises LLMError if the server cannot be asked, and ServiceValidationError if options leave out tools that
    the test needs.
    """
    await async_load_parts(hass, settings_of(draft))
    runner = await async_part(hass, "self_test.runner")
    try:
        report: Report = await runner.SelfTest(hass, build(hass, draft)).async_run(
            lambda done, total: progress(done / total), language
        )
    finally:
        for store in shared.stores:
            if isinstance(store, EntryStore):
                store.forget(draft.entry_id)
    return report
