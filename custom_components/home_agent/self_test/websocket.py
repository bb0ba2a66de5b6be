"""The self-test on the websocket, for administrators.

`home_agent/self_test/run {entry_id}` is a subscription. It runs the test, or joins the one that runs, and
sends these events, the last of which is `result` or `error`:

    {"type": "progress", "done": 3, "total": 25}
    {"type": "result", "result": REPORT}
    {"type": "error", "message": "a sentence in the language of Home Assistant"}

Unsubscribing ends the test, unless somebody else waits for it.

`home_agent/self_test/result {entry_id}` answers `{"result": REPORT}` with the last report of the agent, null
if there is none. Its `model` may be one that the agent no longer uses.

REPORT is `Report` in self_test_reports.py: verdict (good, usable, poor, slow), advice, model, at, passed,
total, planned, capabilities (passed and total by name, in the order of `Capability`), weak, median_seconds,
median_first_token_seconds, cases.
"""

from typing import Any, Final

import probatio

from homeassistant.components import websocket_api
from homeassistant.components.websocket_api.connection import ActiveConnection
from homeassistant.components.websocket_api.const import ERR_NOT_FOUND
from homeassistant.components.websocket_api.decorators import require_admin, websocket_command
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError

from ..agent.describe import async_error_sentence
from ..agents import async_find_agent
from ..const import DOMAIN
from ..errors import HomeAgentError
from ..parts import async_part
from ..runtime import HomeAgentData

UNKNOWN: Final = "There is no such agent"


@callback
def async_register_self_test(hass: HomeAssistant) -> None:
    """Register the commands; doing so again changes nothing."""
    websocket_api.async_register_command(hass, _run)
    websocket_api.async_register_command(hass, _result)


@require_admin
@websocket_command({probatio.Required("type"): f"{DOMAIN}/self_test/run", probatio.Required("entry_id"): str})
@callback
def _run(hass: HomeAssistant, connection: ActiveConnection, msg: dict[str, Any]) -> None:
    """Run the test, and report how far it is and what it found."""
    if (entry := async_find_agent(hass, msg["entry_id"])) is None:
        connection.send_error(msg["id"], ERR_NOT_FOUND, UNKNOWN)
        return

    @callback
    def send(kind: str, **fields: Any) -> None:
        connection.send_event(msg["id"], {"type": kind, **fields})

    async def run() -> None:
        try:
            report = await _async_run(hass, entry.runtime_data, send)
        except HomeAgentError as err:
            send("error", message=await async_error_sentence(hass, hass.config.language, err))
        except HomeAssistantError as err:
            send("error", message=str(err))
        else:
            send("result", result=report)

    connection.send_result(msg["id"])
    task = hass.async_create_background_task(run(), "home_agent self-test on the websocket")
    connection.subscriptions[msg["id"]] = task.cancel


async def _async_run(hass: HomeAssistant, data: HomeAgentData, send: Any) -> Any:
    """Run the test, which loads now. Raises LLMError or ServiceValidationError."""
    running = await async_part(hass, "self_test.runner")

    @callback
    def watch(done: int, total: int) -> None:
        send("progress", done=done, total=total)

    return await running.async_run_self_test(hass, data, watch)


@require_admin
@websocket_command(
    {probatio.Required("type"): f"{DOMAIN}/self_test/result", probatio.Required("entry_id"): str}
)
@callback
def _result(hass: HomeAssistant, connection: ActiveConnection, msg: dict[str, Any]) -> None:
    """Send the last report."""
    if (entry := async_find_agent(hass, msg["entry_id"])) is None:
        connection.send_error(msg["id"], ERR_NOT_FOUND, UNKNOWN)
        return
    kept = entry.runtime_data.shared.self_tests.of(entry.entry_id)
    connection.send_result(msg["id"], {"result": kept.report})
