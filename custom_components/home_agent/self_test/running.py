"""One self-test of an agent at a time: who asks for it while it runs, waits for the same one."""

import asyncio
from contextlib import suppress

from homeassistant.core import HomeAssistant

from ..runtime import HomeAgentData
from ..self_test_reports import Progress, Report, SelfTestResult
from .runner import SelfTest


async def async_run_self_test(hass: HomeAssistant, data: HomeAgentData, watch: Progress) -> Report:
    """Run the self-test of an agent, keep its report and return it; `watch` is told how far it is.

    Who cancels this stops waiting; the test ends when nobody waits any more. Raises LLMError if the server
    cannot be asked, and ServiceValidationError if the options leave out a tool that the test needs.
    """
    kept = data.shared.self_tests.of(data.entry_id)
    test = SelfTest(hass, data)
    kept.watchers.append(watch)
    if kept.task is None or kept.task.done():
        kept.task = hass.async_create_background_task(_async_test(test, kept), "home_agent self-test")
    running = kept.task
    try:
        return await asyncio.shield(running)
    finally:
        kept.watchers.remove(watch)
        if not kept.watchers and not running.done():
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def _async_test(test: SelfTest, kept: SelfTestResult) -> Report:
    """Run a test, tell who watches, and keep the report. Raises LLMError."""

    def tell(done: int, total: int) -> None:
        for watch in kept.watchers:
            watch(done, total)

    report = await test.async_run(tell)
    kept.keep(report)
    return report
