"""What recall_memory says when nothing fits the words of the model."""

from homeassistant.core import HomeAssistant
from tests.helpers.agent import async_agent
from tests.helpers.remembering import FACT, call, remember, user
from tests.servers.model_server import ModelServer


async def test_a_search_in_vain_says_how_to_list_all(hass: HomeAssistant, model_server: ModelServer) -> None:
    """Models search for "everything about me"; what others have is not counted."""
    agent = await async_agent(hass, model_server)
    anna, ben = user(hass, "Anna"), user(hass, "Ben")
    await remember(agent, FACT, anna)
    found = await call(agent, "recall_memory", {"query": "everything about me"}, anna)
    assert found["result"] == "Nothing is remembered about that. '*' lists the 1 that there are."
    found = await call(agent, "recall_memory", {"query": "everything about me"}, ben)
    assert found["result"] == "Nothing is remembered about that."
