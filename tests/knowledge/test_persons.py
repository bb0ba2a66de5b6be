"""Who speaks: by user, by the device's owner, in this order; and whom a service means."""

import pytest

from custom_components.home_agent.knowledge.speaker import async_person_of_user
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent
from tests.servers.model_server import ModelServer
from tests.servers.replies import text


@pytest.fixture
async def users(hass: HomeAssistant) -> dict[str, str]:
    """Anna, a person with a user, and Ben, a user alone."""
    anna = await hass.auth.async_create_user("anna.login")
    ben = await hass.auth.async_create_user("Ben")
    people = [{"id": "p-anna", "name": "Anna", "user_id": anna.id}, {"id": "p-carl", "name": "Carl"}]
    assert await async_setup_component(hass, "person", {"person": people})
    await hass.async_block_till_done()
    return {"anna": anna.id, "ben": ben.id}


@pytest.fixture
async def agent(hass: HomeAssistant, users: dict[str, str], model_server: ModelServer) -> Agent:
    """An agent of whom a satellite belongs to Carl."""
    owners = [{"device": "tablet", "person": "person.carl"}]
    return await async_agent(hass, model_server, {"device_persons": owners})


async def test_a_user_is_the_person_who_has_the_account(hass: HomeAssistant, users: dict[str, str]) -> None:
    """A person's id stays when the entity is renamed; a user without a person is somebody as well."""
    anna = await async_person_of_user(hass, users["anna"])
    ben = await async_person_of_user(hass, users["ben"])
    assert anna is not None
    assert ben is not None
    assert (anna.id, anna.name) == ("p-anna", "Anna")
    assert (ben.id, ben.name) == (f"user:{users['ben']}", "Ben")
    assert await async_person_of_user(hass, None) is None
    assert await async_person_of_user(hass, "gone") is None


async def test_the_model_is_told_who_speaks(
    agent: Agent, users: dict[str, str], subtests: pytest.Subtests
) -> None:
    """The account counts before the device's owner."""
    for who, device, named in [
        ("anna", None, "Anna"),
        ("anna", "tablet", "Anna"),
        (None, "tablet", "Carl"),
        (None, "other", None),
    ]:
        with subtests.test(who=who, device=device):
            agent.server.script([text("Good evening.")])
            context = Context(user_id=users[who]) if who else Context()
            await agent.say("good evening", context=context, device_id=device)
            sent = agent.server.chats[-1].messages[-1]["content"]
            line = next(line for line in sent.splitlines() if line.startswith("Speaker: "))
            assert line.startswith(f"Speaker: {named}, " if named else "Speaker: language")
