"""The profile in a conversation: noted, read, shown beside the sentence, and to nobody else."""

from typing import Any

from custom_components.home_agent.memory.records import Sensitivity
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import Agent
from tests.helpers.remembering import anna, told, user  # noqa: F401 - a fixture


async def note(
    agent: Agent, value: str, context: Context | None = None, said: str = "Note that", **more: Any
) -> dict[str, Any]:
    """Let the model note something; return what it got back."""
    args = {"category": "food", "key": "diet", "value": value, **more}
    await agent.act(("update_user_profile", args), sentence=said, context=context)
    return agent.results[-1]


async def test_the_household_has_one_too(hass: HomeAssistant, agent: Agent) -> None:
    """Public for everybody; somebody unknown changes nothing that is private, and no person's."""
    result = await note(agent, "Tuesday", None, category="household", key="bins")
    assert result["success"]
    assert "Tuesday" in await told(agent, "When are the bins of the household due?")
    refused = await note(agent, "vegan")
    assert not refused["success"]
    anna = user(hass, "Anna")
    await note(agent, "in the shed", anna, category="household", key="spare key", sensitivity="private")
    assert "shed" not in str(await agent.call("get_user_profile"))
    assert not (await note(agent, "gone", None, category="household", key="spare key"))["success"]
    assert "shed" in str(await agent.call("get_user_profile", context=anna))


async def test_deleting(agent: Agent, anna: Context) -> None:
    """An empty value takes an entry out; a changed one keeps how sensitive it is."""
    await note(agent, "vegetarian", anna, sensitivity="sensitive")
    assert (await note(agent, "vegan", anna))["success"]
    (entry,) = agent.entry.runtime_data.profile.records()
    assert entry.sensitivity is Sensitivity.SENSITIVE
    assert (await note(agent, "", anna))["result"] == {"forgotten": ["diet: vegan"]}
    assert "vegan" not in str(await agent.call("get_user_profile", context=anna))
