"""An open panel: the commands that its page sends on the websocket."""

from typing import Any

from pytest_homeassistant_custom_component.typing import MockHAClientWebSocket

from custom_components.home_agent.const import DOMAIN
from tests.helpers.agent import Agent


class Panel:
    """An open panel: one connection of one user."""

    def __init__(self, socket: MockHAClientWebSocket, agent: Agent) -> None:
        self.socket = socket
        self.agent = agent

    async def ask(self, name: str, **fields: Any) -> dict[str, Any]:
        """Send a command about the agent and return the whole answer."""
        whose = {} if name == "agents" else {"entry_id": self.agent.entry.entry_id}
        await self.socket.send_json_auto_id({"type": f"{DOMAIN}/{name}", **whose, **fields})
        answer: dict[str, Any] = await self.socket.receive_json()
        return answer

    async def get(self, name: str, **fields: Any) -> Any:
        """Send a command that works and return its result."""
        answer = await self.ask(name, **fields)
        assert answer["success"], answer
        return answer["result"]

    async def turn(self) -> dict[str, Any]:
        (newest, *_) = (await self.get("turns"))["turns"]
        found: dict[str, Any] = await self.get("turn", turn_id=newest["id"])
        return found
