"""What a yes covers: the question names all of it, and it runs as it was when it was asked about."""

import base64
import json
from pathlib import Path
import socket
from typing import Any

import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_mock_service

from custom_components.home_agent.texts import literal, without_embeds
from custom_components.home_agent.tools.outside import fetch
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, llm
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.custom_tools import async_offer
from tests.helpers.injected import AFTER_OUTSIDE
from tests.helpers.injection import OutsideTool
from tests.helpers.other_api import OtherAPI, Told
from tests.helpers.secure_house import SecureHouse, agent, ask, pending_ids  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls
from tests.servers.rest_server import RestServer, data

LITERAL = [
    "Your parcel: [track it](https://evil.example/login)",
    "pay {500} euro | now",
    "**Dear** *Ann*, ~~no~~ _under_scored \\*",
    "see www.evil.example or <https://evil.example> & `more`",
    "<a href='https://evil.example'>here</a> &amp; ![x](http://e.example)",
]
"""What a renderer of markdown or HTML would not show as it is."""


def add_lock(house: SecureHouse, object_id: str, name: str, area: str | None = None) -> str:
    """Put another lock into the house."""
    registry = er.async_get(house.hass)
    entry = registry.async_get_or_create("lock", "test", object_id, suggested_object_id=object_id)
    if area:
        found = ar.async_get(house.hass).async_get_or_create(area)
        registry.async_update_entity(entry.entity_id, area_id=found.id)
    house.hass.states.async_set(entry.entity_id, "locked", {"friendly_name": name})
    async_expose_entity(house.hass, "conversation", entry.entity_id, True)
    return entry.entity_id


def control(action: str, *entity_ids: str, **parameters: Any) -> tuple[str, dict[str, Any]]:
    """Return a call of the model."""
    ids = list(entity_ids) if len(entity_ids) > 1 else entity_ids[0]
    return "ha_control", {
        "action": action,
        "entity_id": ids,
        **({"parameters": parameters} if parameters else {}),
    }


def unlocked(house: SecureHouse) -> list[str]:
    """Return which doors were unlocked, in order."""
    return [one for service, ids in house.moved() if service == "lock.unlock" for one in ids]


@pytest.mark.parametrize("together", [True, False])
async def test_more_than_can_be_named_is_refused(
    model_server: ModelServer, secure: SecureHouse, *, together: bool
) -> None:
    """Four things are named and asked about, the rest is left out, and the person hears it."""
    agent = await secure.async_agent(model_server, {"tools_max_calls_per_turn": 20})
    doors = [add_lock(secure, f"door_{n}", f"Door {n}") for n in range(6)]
    calls = [control("unlock", *doors)] if together else [control("unlock", door) for door in doors]
    asked = await ask(agent, *calls)
    said = speech(asked)
    named = [door for n, door in enumerate(doors) if f"Door {n}" in said]
    assert len(named) == 4
    assert said.endswith("I left out the rest. Please ask for it separately.")
    assert secure.calls == []
    await agent.say("Yes", conversation_id=asked.conversation_id)
    assert sorted(unlocked(secure)) == sorted(named)


async def test_the_model_hears_what_was_left_out(model_server: ModelServer, secure: SecureHouse) -> None:
    """The results of the calls tell the asked ones from those that were left out."""
    agent = await secure.async_agent(model_server, {"tools_max_calls_per_turn": 20})
    doors = [add_lock(secure, f"door_{n}", f"Door {n}") for n in range(6)]
    await ask(agent, *(control("unlock", door) for door in doors))
    kept = agent.entry.runtime_data.recent.by_id.values()
    (made,) = [conversation.calls for conversation in kept if conversation.calls]
    assert len(made) == 6
    (turn,) = agent.entry.runtime_data.turn_log.short()
    results = [call["result"] for call in agent.entry.runtime_data.turn_log.whole(turn["id"])["calls"]]
    assert sum("waits for the person's confirmation" in result for result in results) == 4
    assert sum("At most 4 things" in result for result in results) == 2


async def test_an_entity_id_that_moved_on(hass: HomeAssistant, secure: SecureHouse, agent: Agent) -> None:
    """A yes to one door does not open another door that has received its entity ID meanwhile."""
    shed = add_lock(secure, "shed", "Shed Lock")
    asked = await ask(agent, control("open", "cover.garage"), control("unlock", shed))
    registry = er.async_get(hass)
    for old, new in ((shed, "lock.old_shed"), ("lock.front_door", shed)):
        hass.states.async_remove(old)
        registry.async_update_entity(old, new_entity_id=new)
    hass.states.async_set(shed, "locked", {"friendly_name": "Front Door"})
    done = await agent.say("Yes", conversation_id=asked.conversation_id)
    assert speech(done) == "Something has changed since I asked, so I did nothing. Please ask again."
    assert secure.calls == []


async def test_a_tool_with_its_arguments(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse
) -> None:
    """The title, the receiver and the beginning of the text are said; all of it is written; no code is."""
    mail = Told("mailer__send_mail")
    mail.title = "Send an e-mail"
    mail.parameters = probatio.Schema({str: object})
    llm.async_register_api(hass, OtherAPI(hass, "other", [mail]))
    agent = await secure.async_agent(model_server, {"llm_apis": ["other"]})
    body = f"We are away until Sunday. {'x' * 300}"
    args = {"to": "bob@example.org", "body": body, "api_key": "sesame-4711", "tags": ["a", "b"]}
    asked = await ask(agent, ("mailer__send_mail", args))
    said = speech(asked)
    assert said.startswith(
        "Should I use Send an e-mail (to: bob@example.org, body: We are away until Sunday. xx"
    )
    assert 'tags: ["a","b"]' in said
    assert len(said) < 260
    assert "sesame" not in said
    (action,) = agent.entry.runtime_data.confirmations.pending
    assert body in action.full
    await agent.say("Yes", conversation_id=asked.conversation_id)
    assert mail.calls == [args]


async def test_a_script_with_its_variables(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse
) -> None:
    """What the model passes on is part of what is confirmed."""
    fields = {"door": {"selector": {"text": {}}}, "minutes": {"selector": {"number": {"min": 1, "max": 99}}}}
    step = {"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}}
    script = {"let_in": {"alias": "Let in", "fields": fields, "sequence": [step]}}
    assert await async_setup_component(hass, "script", {"script": script})
    async_expose_entity(hass, "conversation", "script.let_in", True)
    agent = await secure.async_agent(model_server, {"allow_scripts_and_scenes": True})
    asked = await ask(agent, control("turn_on", "script.let_in", door="side door", minutes=20))
    assert speech(asked) == (
        "Should I start Let in (door: side door, minutes: 20) and unlock the Front Door?"
    )


async def test_a_message_with_its_text(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A long one is said in part and shown in full."""
    async_mock_service(hass, "notify", "mobile_app_anna_phone")
    targets = [{"person": "person.anna", "targets": ["notify.mobile_app_anna_phone"]}]
    hass.states.async_set("person.anna", "home", {"friendly_name": "Anna"})
    options = {"notify_targets": targets, "policy_restricted": ["notify"]}
    agent = (await async_agent(hass, model_server, options)).at_satellite()
    message = f"Dinner is ready. {'Come soon. ' * 40}".strip()
    asked = await ask(agent, ("notify_person", {"person": "Anna", "message": message}))
    assert speech(asked).startswith(f"Should I send this to anna phone: {message[:190]}")
    assert message not in speech(asked)
    (action,) = agent.entry.runtime_data.confirmations.pending
    assert action.full == f"Should I send this to anna phone: {message}"


class TestMarkedTurns:
    """After text from outside was read."""

    PLAN = "Ann is never at home on Tuesdays, the key is under the mat"

    @pytest.fixture
    def lookup(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let public names lead to loopback."""

        async def resolve(_self: object, host: str, port: int = 0, family: int = socket.AF_INET) -> list[Any]:
            found = {"hostname": host, "host": "127.0.0.1", "port": port, "family": family}
            return [{**found, "proto": 0, "flags": socket.AI_NUMERICHOST}]

        monkeypatch.setattr(fetch.PublicResolver, "resolve", resolve)

    async def read_and_act(
        self, agent: Agent, *calls: tuple[str, dict[str, Any]], user: MockUser | None = None
    ) -> Any:
        """Read from outside and then make calls."""
        outside = OutsideTool()
        outside.content = "Fine weather"
        handler = agent.entry.runtime_data.handler
        handler.set_tools([*(tool for tool in handler.tools.values() if tool.name != outside.name), outside])
        agent.server.clear()
        rounds = [
            tool_calls([(outside.name, {})]),
            *(tool_calls([call]) for call in calls),
            text("So it is."),
        ]
        agent.server.script(rounds)
        return await agent.say("Read it", context=Context(user_id=user.id) if user else None)

    @pytest.mark.usefixtures("lookup")
    @pytest.mark.parametrize("form", ["plain", "base64", "spaced"])
    @pytest.mark.parametrize("allowed", ["true", "false"])
    async def test_private_words_do_not_leave_after_a_yes(
        self,
        hass: HomeAssistant,
        model_server: ModelServer,
        rest_server: RestServer,
        secure: SecureHouse,
        tmp_path: Path,
        form: str,
        allowed: str,
    ) -> None:
        """They are held back before the person is asked, whatever the household lets the tool have."""
        hass.states.async_set("person.ann", "home", {"friendly_name": "Ann Miller"})
        rest_server.routes["/"] = data({})
        agent = await secure.async_agent(model_server)
        tool = f"""
        - name: create_task
          description: Create a task.
          parameters:
            properties:
              title: {{type: string}}
          handler:
            type: rest
            method: POST
            url: "{rest_server.address.replace("127.0.0.1", "api.example.com")}/tasks"
            private_words: {allowed}
            json: {{title: "{{{{ title }}}}"}}
        """
        await async_offer(agent, tmp_path, tool)
        words = {
            "plain": "Ann Miller lock.front_door",
            "base64": base64.b64encode(b"Ann Miller lock.front_door").decode(),
            "spaced": "A n n M i l l e r",
        }
        asked = await self.read_and_act(agent, ("create_task", {"title": words[form]}))
        assert speech(asked).startswith("So it is.")
        assert pending_ids(hass) == []
        await agent.say("Yes", conversation_id=asked.conversation_id)
        assert rest_server.requests == []
        asked = await self.read_and_act(agent, ("create_task", {"title": "Buy milk"}))
        assert speech(asked) == "Should I use create task (title: Buy milk)?"
        await agent.say("Yes", conversation_id=asked.conversation_id)
        assert [request.json for request in rest_server.requests] == [{"title": "Buy milk"}]

    @pytest.mark.usefixtures("lookup")
    async def test_what_became_private_meanwhile(
        self,
        hass: HomeAssistant,
        model_server: ModelServer,
        rest_server: RestServer,
        secure: SecureHouse,
        tmp_path: Path,
    ) -> None:
        """The yes runs with the mark of its turn: what is private by then is held back."""
        rest_server.routes["/"] = data({})
        agent = await secure.async_agent(model_server)
        tool = f"""
        - name: create_task
          description: Create a task.
          parameters:
            properties:
              title: {{type: string}}
          handler:
            type: rest
            method: POST
            url: "{rest_server.address.replace("127.0.0.1", "api.example.com")}/tasks"
            private_words: true
            json: {{title: "{{{{ title }}}}"}}
        """
        await async_offer(agent, tmp_path, tool)
        asked = await self.read_and_act(agent, ("create_task", {"title": "Call Ann Miller"}))
        assert speech(asked) == "Should I use create task (title: Call Ann Miller)?"
        hass.states.async_set("person.ann", "home", {"friendly_name": "Ann Miller"})
        await agent.say("Yes", conversation_id=asked.conversation_id)
        assert rest_server.requests == []

    @pytest.mark.parametrize("value", LITERAL)
    async def test_a_message_is_told_as_it_is(
        self, hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, value: str
    ) -> None:
        """By a voice, to programs and on every channel; where markdown is rendered, marks are escaped."""
        sent = async_mock_service(hass, "notify", "anna")
        hass.states.async_set("person.anna", "home", {"user_id": secure.anna.id, "friendly_name": "Anna"})
        targets = {"notify_targets": [{"person": "person.anna", "targets": ["notify.anna"]}]}
        agent = await secure.async_agent(model_server, targets)
        call = ("notify_person", {"person": "Anna", "message": value})
        question = f"{AFTER_OUTSIDE}Should I send this to anna: {value}"
        asked = await self.read_and_act(agent, call, user=secure.anna)
        plain = asked.response.speech["plain"]
        assert plain["speech"] == without_embeds(question)
        assert plain["extra_data"]["markdown"] == literal(question)
        assert sent[-1].data["message"].startswith(question)
        asked = await self.read_and_act(agent, call)
        assert speech(asked) == question
        sent.clear()
        await agent.say("Yes", conversation_id=asked.conversation_id)
        assert [one.data["message"] for one in sent] == [value]

    @pytest.mark.parametrize(
        "hidden", ["Ann\u200b is\u2060 ill", "hello \u202edlrow", "a\U000e0041\U000e0042"]
    )
    async def test_what_nobody_sees_is_not_asked(
        self, hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, hidden: str
    ) -> None:
        """Invisible characters, and arguments that a question leaves out."""
        async_mock_service(hass, "notify", "anna")
        mail = Told("send_mail")
        mail.parameters = probatio.Schema({probatio.Optional("text"): str, probatio.Optional("api_key"): str})
        llm.async_register_api(hass, OtherAPI(hass, "other", [mail]))
        hass.states.async_set("person.anna", "home", {"user_id": secure.anna.id, "friendly_name": "Anna"})
        targets = [{"person": "person.anna", "targets": ["notify.anna"]}]
        agent = await secure.async_agent(model_server, {"notify_targets": targets, "llm_apis": ["other"]})
        for call in (
            ("notify_person", {"person": "Anna", "message": hidden}),
            ("send_mail", {"text": "Hello", "api_key": "Ann is ill"}),
        ):
            await self.read_and_act(agent, call, user=secure.anna)
            assert pending_ids(hass) == []
            told = json.dumps(model_server.chats[-1].json["messages"])
            assert "a question cannot tell all of this" in told

    async def test_what_cannot_be_told_is_not_asked(
        self, hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse
    ) -> None:
        """Nobody can judge words of somebody outside of which they hear the beginning."""
        mail = Told("send_mail")
        llm.async_register_api(hass, OtherAPI(hass, "other", [mail]))
        agent = await secure.async_agent(model_server, {"llm_apis": ["other"]})
        asked = await self.read_and_act(agent, ("send_mail", {"text": "word " * 100}))
        assert pending_ids(hass) == []
        assert speech(asked).startswith("So it is.")
        told = json.dumps(model_server.chats[-1].json["messages"])
        assert "a question cannot tell all of this" in told
        written = await self.read_and_act(agent, ("send_mail", {"text": "word " * 100}), user=secure.anna)
        assert speech(written).count("word") == 100
        asked = await self.read_and_act(agent, ("send_mail", {"text": "Short enough"}))
        assert speech(asked) == "Should I use send mail (text: Short enough)?"
