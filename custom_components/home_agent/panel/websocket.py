"""The panel's commands on the websocket: checked, bounded, for administrators unless a row says otherwise.

Each row of a table is one command; what it raises reaches the page as a sentence.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, override

import probatio

from homeassistant.components import websocket_api
from homeassistant.components.websocket_api.connection import ActiveConnection
from homeassistant.components.websocket_api.const import ERR_HOME_ASSISTANT_ERROR, ERR_NOT_FOUND
from homeassistant.components.websocket_api.decorators import async_response, require_admin
from homeassistant.components.websocket_api.messages import BASE_COMMAND_MESSAGE_SCHEMA
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.dispatcher import async_dispatcher_connect, async_dispatcher_send

from ..agent.describe import async_error_sentence
from ..const import CONF_PANEL, DOMAIN
from ..errors import HomeAgentError
from ..lifecycle import async_agents, async_find_agent
from ..runtime import DATA_SHARED, Agent, FurtherAgent, HomeAgentData, Topic, signal_of
from ..safety.confirmation import ActionOutcome, ConfirmationChannel, Confirmations, PendingAction
from ..settings import async_part
from . import activity, commands, memories
from .commands import CommandRow, PanelCommand, PanelHandler

COMMANDS: Final[Mapping[str, CommandRow]] = {
    **commands.COMMANDS,
    **memories.COMMANDS,
    **activity.COMMANDS,
}
type WebSocketCommand = Callable[[HomeAssistant, ActiveConnection, dict[str, Any]], None]
ENTRY: Final = {probatio.Required("entry_id"): str}
UNKNOWN: Final = "There is no such agent"
FRONTEND = "frontend"


class PanelChannel(ConfirmationChannel):
    """Tells panels to look again."""

    def __init__(self, hass: HomeAssistant, entry_id: str) -> None:
        self._hass = hass
        self._signal = signal_of(Topic.CONFIRMATIONS, entry_id)

    @override
    async def async_ask(self, action: PendingAction) -> None:
        async_dispatcher_send(self._hass, self._signal, action)

    @override
    async def async_settled(self, action: PendingAction, outcome: ActionOutcome) -> None:
        async_dispatcher_send(self._hass, self._signal, action)


@callback
def async_register_commands(hass: HomeAssistant) -> None:
    """Register all commands, once for all agents."""
    for name, row in COMMANDS.items():
        _register(
            hass,
            name,
            {**ENTRY, probatio.Optional("language"): str, **row.fields},
            _answering(row.handler),
            everybody=row.everybody,
        )
    _register(hass, "agents", {}, _agents, everybody=True)
    _register(hass, "subscribe", ENTRY, _subscribe, everybody=True)
    _register(hass, "self_test/run", ENTRY, _run_self_test, everybody=False)


def _register(
    hass: HomeAssistant, name: str, fields: Mapping[Any, Any], command: WebSocketCommand, *, everybody: bool
) -> None:
    kind = f"{DOMAIN}/{name}"
    schema = BASE_COMMAND_MESSAGE_SCHEMA.extend({probatio.Required("type"): kind, **fields})
    permitted = command if everybody else require_admin(command)
    websocket_api.async_register_command(hass, kind, permitted, schema)


def _answering(handler: PanelHandler) -> WebSocketCommand:
    @async_response
    async def answer(hass: HomeAssistant, connection: ActiveConnection, msg: dict[str, Any]) -> None:
        data = _data(hass, msg["entry_id"])
        if data is None:
            connection.send_error(msg["id"], ERR_NOT_FOUND, UNKNOWN)
            return
        command = PanelCommand(
            hass=hass, data=data, user=connection.user, context=connection.context(msg), fields=msg
        )
        try:
            connection.send_result(msg["id"], await handler(command))
        except HomeAssistantError as err:
            # Raised, Home Assistant would log it as an error; a wrong PIN is none.
            connection.send_error(
                msg["id"],
                ERR_HOME_ASSISTANT_ERROR,
                str(err),
                translation_domain=err.translation_domain,
                translation_key=err.translation_key,
                translation_placeholders=err.translation_placeholders,
            )

    return answer


@callback
def _agents(hass: HomeAssistant, connection: ActiveConnection, msg: dict[str, Any]) -> None:
    shown = [agent for agent in async_agents(hass) if _data(hass, agent.entry_id) is not None]
    agents = []
    for agent in shown:
        row = {"entry_id": agent.entry_id, "title": agent.title}
        if isinstance(agent, FurtherAgent):  # the first agent is the entry, and has its options
            row["config_entry_id"] = agent.config_entry.entry_id
        agents.append(row)
    connection.send_result(msg["id"], {"agents": agents})


@callback
def _subscribe(hass: HomeAssistant, connection: ActiveConnection, msg: dict[str, Any]) -> None:
    """Report that something has changed, not what; the subscription survives a reload of the agent.

    Only administrators learn that somebody has spoken, or that something is remembered. Others learn of
    what they may answer.
    """
    entry_id: str = msg["entry_id"]
    if _data(hass, entry_id) is None:
        connection.send_error(msg["id"], ERR_NOT_FOUND, UNKNOWN)
        return

    def following(topic: Topic) -> CALLBACK_TYPE:
        @callback
        def tell(action: PendingAction | None = None) -> None:
            user = connection.user
            if action is None or user.is_admin or Confirmations.may_answer(action, user):
                connection.send_event(msg["id"], {"topic": topic.value})

        return async_dispatcher_connect(hass, signal_of(topic, entry_id), tell)

    seen_by_admins = (Topic.TURNS, Topic.MEMORIES, Topic.SERVER) if connection.user.is_admin else ()
    ends = [following(topic) for topic in (Topic.CONFIRMATIONS, *seen_by_admins)]

    @callback
    def stop() -> None:
        for end in ends:
            end()

    connection.subscriptions[msg["id"]] = stop
    connection.send_result(msg["id"])


@callback
def _run_self_test(hass: HomeAssistant, connection: ActiveConnection, msg: dict[str, Any]) -> None:
    """Run the self-test, or join the one that runs, and report how far it is and what it found.

    Unsubscribing ends the test, unless somebody else waits for it.
    """
    if (data := _data(hass, msg["entry_id"])) is None:
        connection.send_error(msg["id"], ERR_NOT_FOUND, UNKNOWN)
        return

    @callback
    def send(kind: str, **fields: Any) -> None:
        connection.send_event(msg["id"], {"type": kind, **fields})

    async def run() -> None:
        runner = await async_part(hass, "self_test.runner")
        try:
            report = await runner.async_run_self_test(
                hass, data, lambda done, total: send("progress", done=done, total=total)
            )
        except HomeAgentError as err:
            send("error", message=await async_error_sentence(hass, hass.config.language, err))
        except HomeAssistantError as err:
            send("error", message=str(err))
        else:
            send("result", result=report)

    connection.send_result(msg["id"])
    task = hass.async_create_background_task(run(), "home_agent self-test on the websocket")
    connection.subscriptions[msg["id"]] = task.cancel


def _data(hass: HomeAssistant, entry_id: str) -> HomeAgentData | None:
    if (agent := async_find_agent(hass, entry_id)) is None:
        return None
    data = agent.runtime_data
    return data if data.settings[CONF_PANEL] else None


async def async_show(hass: HomeAssistant, entry: Agent) -> None:
    """Show an agent in the panel; the panel is there once, for all of them."""
    shared = hass.data[DATA_SHARED]
    if shared.panel_address is None:
        shared.panel_address = ""
        async_register_commands(hass)
    if FRONTEND in hass.config.components:
        sidebar = await async_part(hass, "panel.sidebar")
        await sidebar.async_show(hass, shared)
    entry.runtime_data.confirmations.channels.append(PanelChannel(hass, entry.entry_id))


async def async_hide(hass: HomeAssistant) -> None:
    """Take the panel away; doing so again is not an error."""
    if FRONTEND in hass.config.components:
        (await async_part(hass, "panel.sidebar")).async_hide(hass, hass.data[DATA_SHARED])
