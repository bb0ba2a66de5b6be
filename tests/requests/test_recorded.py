"""Every byte that a model reads, compared with a recorded request.

A change of the prompt, of a tool's schema or of a result shows here as a difference. If it is wanted, record
the requests with `HOME_AGENT_RECORD=1 scripts/test --unit tests/requests` and read the difference in git.
"""

from hashlib import sha256
import json
import os
from pathlib import Path
import re
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockUser

from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.setup import async_setup_component
from tests.helpers.agent import async_add_agent
from tests.helpers.cloud import names_lead_home  # noqa: F401 - a fixture
from tests.helpers.demo_house import async_demo_house
from tests.helpers.everyday_house import NOW
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.servers.model_server import ModelServer

from .cases import CASES

RECORDED = Path(__file__).parent / "recorded"
PARTS = RECORDED / "parts.json"
"""Texts and lists of tools that many requests share, by kind and hash."""
LONG = 400
"""Characters from which a text is such a part."""
ULID = re.compile(r"\b01[0-9A-Z]{24}\b")
RECORDING = "HOME_AGENT_RECORD"

pytestmark = pytest.mark.freeze_time(NOW)


@pytest.mark.usefixtures("names_lead_home")
@pytest.mark.parametrize("name", CASES)
async def test_requests_are_as_recorded(hass: HomeAssistant, model_server: ModelServer, name: str) -> None:
    """The requests of a conversation are the recorded ones, byte for byte."""
    case = CASES[name]
    await async_demo_house(hass)
    assert await async_setup_component(hass, "conversation", {})
    agent = await async_add_agent(hass, model_server, case.options, **case.data(model_server))
    user = MockUser(name="Anna", is_owner=True).add_to_hass(hass)
    satellite = dr.async_get(hass).async_get_or_create(
        config_entry_id=agent.entry.entry_id, identifiers={("test", "satellite")}, name="Satellite"
    )
    kitchen = ar.async_get(hass).async_get_area_by_name("Kitchen")
    assert kitchen is not None
    dr.async_get(hass).async_update_device(satellite.id, area_id=kitchen.id)
    conversation_id = None
    for sentence, replies in case.turns:
        model_server.script(replies)
        answer = await agent.say(
            sentence,
            conversation_id=conversation_id,
            context=Context(user_id=user.id),
            device_id=satellite.id,
            language=case.language,
        )
        conversation_id = answer.conversation_id
    sent = [_plain(request.json) for request in model_server.chats]
    assert len(sent) >= sum(bool(replies) for _sentence, replies in case.turns)
    if os.environ.get(RECORDING):
        _record(name, sent)
    assert sent == _recorded(name)


def test_every_recorded_part_is_used() -> None:
    """Nothing is kept that no recorded request contains."""
    written = "".join((RECORDED / f"{name}.json").read_text(encoding="utf-8") for name in CASES)
    assert {path.stem for path in RECORDED.glob("*.json")} == {*CASES, PARTS.stem}
    parts = json.loads(PARTS.read_text(encoding="utf-8"))
    if os.environ.get(RECORDING):
        parts = {key: part for key, part in parts.items() if key in written}
        PARTS.write_text(_written(parts), encoding="utf-8")
    assert [key for key in parts if key not in written] == []


def _recorded(name: str) -> list[str]:
    parts = json.loads(PARTS.read_text(encoding="utf-8"))
    requests = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    for request in requests:
        if "tools" in request:
            request["tools"] = parts[request["tools"]]
        for message in request["messages"]:
            message["content"] = parts.get(message["content"], message["content"])
    return [_written(request) for request in requests]


def _record(name: str, requests: list[str]) -> None:
    """Write the requests of a case. Long texts and lists of tools are written once for all cases."""
    parts = json.loads(PARTS.read_text(encoding="utf-8")) if PARTS.exists() else {}

    def kept(kind: str, part: Any) -> str:
        key = f"{kind} {sha256(json.dumps(part).encode()).hexdigest()[:8]}"
        parts[key] = part
        return key

    shortened = [json.loads(request) for request in requests]
    for request in shortened:
        if "tools" in request:
            request["tools"] = kept("tools", request["tools"])
        for message in request["messages"]:
            if message["content"] and len(message["content"]) > LONG:
                message["content"] = kept(message["role"], message["content"])
    (RECORDED / f"{name}.json").write_text(_written(shortened), encoding="utf-8")
    PARTS.write_text(_written(dict(sorted(parts.items()))), encoding="utf-8")


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _plain(request: dict[str, Any]) -> str:
    """Return a request as text, with its calls numbered because ids are random."""
    written = ULID.sub("memory id", _written(request))
    for number, call_id in enumerate(dict.fromkeys(_call_ids(request))):
        written = written.replace(call_id, f"call {number}")
    return written


def _call_ids(request: dict[str, Any]) -> list[str]:
    return [
        call["id"]
        for message in request["messages"]
        for call in message.get("tool_calls", ())
        if "id" in call
    ]
