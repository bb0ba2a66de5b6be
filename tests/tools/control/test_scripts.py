"""Scripts with fields, through real turns: values are checked, and what they make of the script is judged."""

from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_mock_service

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent
from tests.helpers.secure_house import SecureHouse
from tests.helpers.turns import tool_results
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

ALLOWED = {"allow_scripts_and_scenes": True}
SCRIPTS: dict[str, dict[str, Any]] = {
    "announce": {
        "fields": {
            "message": {"description": "What to say", "required": True, "selector": {"text": {}}},
            "volume": {"selector": {"number": {"min": 0, "max": 100}}},
            "loud": {"selector": {"boolean": {}}, "required": True, "default": False},
        },
        "sequence": [
            {"action": "notify.family", "data": {"message": "{{ message }}", "title": "{{ volume }}"}}
        ],
    },
    "open_it": {
        "fields": {"what": {"selector": {"entity": {}}}, "how": {"selector": {"text": {}}}},
        "sequence": [{"action": "cover.open_cover", "target": {"entity_id": "{{ what }}"}}],
    },
    "by_word": {
        "fields": {"word": {}},
        "sequence": [
            {
                "action": "lock.unlock",
                "target": {"entity_id": "{{ 'lock.front_door' if word == 'sesame' else 'lock.none' }}"},
            }
        ],
    },
    "any_service": {
        "fields": {"service": {}, "verb": {}},
        "sequence": [{"action": "lock.{{ verb }}", "target": {"entity_id": "lock.front_door"}}],
    },
    "passed_on": {
        "fields": {"thing": {}},
        "sequence": [{"action": "script.open_it", "data": {"what": "{{ thing }}"}}],
    },
    "passed_on_as_variables": {
        "fields": {"thing": {}},
        "sequence": [
            {
                "action": "script.turn_on",
                "target": {"entity_id": "script.open_it"},
                "data": {"variables": {"what": "{{ thing }}"}},
            }
        ],
    },
    "overwritten": {
        "fields": {"what": {}},
        "sequence": [
            {"variables": {"what": "cover.garage"}},
            {"action": "cover.open_cover", "target": {"entity_id": "{{ what }}"}},
        ],
    },
    "answered": {
        "fields": {"what": {}},
        "sequence": [
            {"action": "todo.get_items", "target": {"entity_id": "todo.it"}, "response_variable": "what"},
            {"action": "cover.open_cover", "target": {"entity_id": "{{ what }}"}},
        ],
    },
    "own_variable": {
        "fields": {"what": {}},
        "variables": {"what": "cover.garage", "place": "cover.blind"},
        "sequence": [{"action": "cover.open_cover", "target": {"entity_id": "{{ place }}"}}],
    },
    "plain": {"sequence": [{"action": "light.turn_on", "target": {"entity_id": "light.hall"}}]},
}


class Scripts:
    """The house with its scripts, all exposed."""

    def __init__(self, hass: HomeAssistant, secure: SecureHouse, agent: Agent) -> None:
        self.hass, self.secure, self.agent = hass, secure, agent
        self.told: list[ServiceCall] = async_mock_service(hass, "notify", "family")

    async def run(self, script: str, parameters: dict[str, Any] | None, **slots: Any) -> tuple[str, str]:
        """Have the model run a script; return the question, if there is one, and the result."""
        self.secure.reset()
        self.told.clear()
        self.agent.server.clear()
        args = {"action": "activate", "entity_id": f"script.{script}", **slots}
        if parameters is not None:
            args["parameters"] = parameters
        self.agent.server.script([tool_calls([("ha_control", args)]), text("Done.")])
        await self.agent.say("Make it so", context=Context(user_id=self.secure.anna.id))
        await self.hass.async_block_till_done()
        confirmations = self.agent.entry.runtime_data.confirmations
        question = " ".join(action.question for action in confirmations.pending)
        await confirmations.async_stop()
        chats = self.agent.server.chats
        return question, str(tool_results(chats[1])) if len(chats) > 1 else ""


@pytest.fixture
async def scripts(hass: HomeAssistant, model_server: ModelServer) -> Scripts:
    """Return them."""
    secure = SecureHouse(hass)
    await secure.async_build()
    assert await async_setup_component(hass, "script", {"script": SCRIPTS})
    agent = await secure.async_agent(model_server, ALLOWED)
    for name in SCRIPTS:
        async_expose_entity(hass, "conversation", f"script.{name}", True)
    await hass.async_block_till_done()
    return Scripts(hass, secure, agent)


@pytest.mark.parametrize("where", ["parameters", "variables", "beside"])
async def test_values_reach_the_script(scripts: Scripts, where: str) -> None:
    """In `parameters`, under `variables` in them, or beside the other arguments."""
    values = {"message": "Dinner is ready", "volume": "30"}
    given = {"parameters": values, "variables": {"variables": values}, "beside": None}[where]
    slots = values if where == "beside" else {}
    question, _ = await scripts.run("announce", given, **slots)
    assert question == ""
    assert [call.data for call in scripts.told] == [{"message": "Dinner is ready", "title": 30}]


@pytest.mark.parametrize(
    ("script", "given", "said"),
    [
        ("announce", {"message": "Hi", "speed": 3}, "message (What to say), volume, loud"),
        ("announce", None, "is missing message"),
        ("announce", {"message": "Hi", "loud": "perhaps"}, "does not fit"),
        ("announce", {"variables": "Hi"}, "an object is needed"),
        ("open_it", {"what": "the moat"}, "nothing is called the moat"),
        ("open_it", {"what": "lock.cellar"}, "not exposed"),
        ("open_it", {"what": ["cover.blind", " lock.CELLAR "]}, "does not"),
        ("open_it", {"what": "cover.blind", "how": "like lock.cellar"}, "not exposed"),
        ("plain", {"brightness": 5}, "This script takes no values"),
    ],
)
async def test_what_does_not_fit(
    scripts: Scripts, script: str, given: dict[str, Any] | None, said: str
) -> None:
    """The error names the fields; a value that names a hidden entity is refused."""
    question, result = await scripts.run(script, given)
    assert said.replace("'", "") in result.replace("\\\\'", "").replace("'", "")
    assert question == ""
    assert scripts.told == []
    assert scripts.secure.calls == []


@pytest.mark.parametrize(
    ("script", "given", "told", "moved"),
    [
        ("open_it", {"what": "cover.blind"}, "", "cover.open_cover"),
        ("open_it", {"what": "cover.garage"}, "open the Garage", ""),
        ("open_it", {"what": "the garage"}, "open the Garage", ""),
        ("open_it", {}, "not known until it runs", ""),
        ("by_word", {"word": "sesame"}, "unlock the Front Door", ""),
        ("any_service", {"verb": "lock"}, "", "lock.lock"),
        ("any_service", {"verb": "unlock"}, "unlock the Front Door", ""),
        ("passed_on", {"thing": "cover.blind"}, "", "cover.open_cover"),
        ("passed_on", {"thing": "cover.garage"}, "open the Garage", ""),
        ("passed_on_as_variables", {"thing": "cover.garage"}, "open the Garage", ""),
        ("overwritten", {"what": "cover.blind"}, "not known until it runs", ""),
        ("answered", {"what": "cover.blind"}, "not known until it runs", ""),
        ("own_variable", {}, "", "cover.open_cover"),
    ],
)
async def test_a_script_is_judged_with_its_values(
    scripts: Scripts, script: str, given: dict[str, Any], told: str, moved: str
) -> None:
    """Services and targets that depend on a value are rendered with it, others are restricted."""
    question, _ = await scripts.run(script, given)
    assert told in question
    assert bool(question) is bool(told)
    assert [service for service, _ in scripts.secure.moved()] == ([moved] if moved else [])
