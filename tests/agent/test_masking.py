"""Codes and keys are kept out of events, traces, stores and answers, however they are named and nested."""

import json
import re
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.agent.turn import MASKED
from custom_components.home_agent.const import EVENT_TOOL_EXECUTED, EVENT_TOOL_PROGRESS
from custom_components.home_agent.runtime import DATA_SHARED
from custom_components.home_agent.safety.answers import mask_numbers
from custom_components.home_agent.safety.redaction import UNPARSED, is_secret, redacted, without_secrets
from custom_components.home_agent.safety.spoken_numbers import hash_pin
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import call_action, speech
from tests.helpers.secure_house import SecureHouse
from tests.helpers.tables import tables
from tests.servers.model_server import ModelServer
from tests.servers.replies import text, tool_calls

TABLES = tables(__file__)

SECRET_NAMES = """
    code Code CODE alarm_code alarmCode user-code userCode usercode door.code codes pin PIN user_pin pinCode
    LockPIN passcode password Passwort wifi_password passwd pass_word api_key apiKey apikey access_key token
    refreshToken access_token client_secret clientSecret auth credentials mot_de_passe contraseña clave
    wachtwoord senha codice hasło haslo kod passord adgangskode lösenord heslo пароль codePIN 密码
    暗証番号 비밀번호 código jelszó salasana passwordRouter
"""
SECRET_KEYS = SECRET_NAMES.split()
HARMLESS_NAMES = """
    spin pinned opinion shipping brightness color_temp encoder codec keyboard key_light tokenize authority
    volume name entity_id position secretary
"""
HARMLESS_KEYS = HARMLESS_NAMES.split()
SECRET = "s3cr3t-4711"
MICROSECONDS = re.compile(r"\.\d{6}\+00:00|, \d{1,6}(?=, tzinfo=)")
"""Of a moment, which may have the digits of a PIN."""


def test_names_of_secrets() -> None:
    assert [key for key in SECRET_KEYS if not is_secret(key)] == []
    assert [key for key in HARMLESS_KEYS if is_secret(key)] == []
    assert is_secret(UNPARSED)


harmless = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(HARMLESS_KEYS), inner, max_size=3)
    ),
    max_leaves=8,
)
hidden = st.sampled_from(
    [SECRET, [SECRET], {"value": SECRET}, [{"name": [SECRET]}], {"name": {"a": (SECRET,)}}]
)


@st.composite
def arguments(draw: st.DrawFn) -> dict[str, Any]:
    inner: Any = {draw(st.sampled_from(SECRET_KEYS)): draw(hidden)}
    for _ in range(draw(st.integers(0, 5))):
        wrapped = draw(st.sampled_from(HARMLESS_KEYS))
        inner = draw(st.sampled_from([{wrapped: inner}, {wrapped: [1, inner]}, {wrapped: [[inner]]}]))
    return {**draw(st.dictionaries(st.sampled_from(HARMLESS_KEYS), harmless, max_size=3)), **inner}


relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@relaxed
@given(arguments())
def test_no_secret_passes(args: dict[str, Any]) -> None:
    """Whatever the nesting, neither the arguments nor a text that quotes them hold it."""
    assert SECRET not in json.dumps(redacted(args), default=str)
    assert SECRET not in without_secrets(f"The bridge said: {SECRET}{SECRET} is wrong", args)


def test_short_codes_leave_numbers_alone() -> None:
    assert without_secrets("code 12: 123 of 120 in 12", {"code": 12}) == (
        "code **REDACTED**: 123 of 120 in **REDACTED**"
    )
    assert without_secrets("True", {"code": True}) == "True"


def test_numbers_that_could_be_a_pin(subtests: pytest.Subtests) -> None:
    for sentence, language, masked in [
        ("it should be 4711 I think", "en", f"it should be {MASKED} I think"),
        ("try 4 7 1 1 again, please!", "en", f"try {MASKED} again, please!"),
        ("hm, four-seven one one or so", "en", f"hm, {MASKED} or so"),
        ("probier vier sieben eins eins mal", "de", f"probier {MASKED} mal"),
        ("set 21 degrees in 10 minutes", "en", "set 21 degrees in 10 minutes"),
        ("one light or two", "en", "one light or two"),
        ("", "en", ""),
    ]:
        with subtests.test(sentence=sentence, language=language):
            assert mask_numbers(sentence, language, MASKED) == masked


async def test_a_code_in_a_sentence(
    hass: HomeAssistant, model_server: ModelServer, secure: SecureHouse, hass_storage: dict[str, Any]
) -> None:
    """The lock gets it; no event, no store and no later request has it."""
    agent = await secure.async_agent(model_server)
    async_expose_entity(hass, "conversation", "lock.cellar", True)
    seen = [async_capture_events(hass, name) for name in (EVENT_TOOL_EXECUTED, EVENT_TOOL_PROGRESS)]
    args = {"action": "lock", "entity_id": "lock.cellar", "parameters": {"code": "483920"}}
    model_server.script([tool_calls([("ha_control", args)]), text("Locked with 483920.")])
    asked = await agent.say("Lock the cellar with 48 39 20")
    assert secure.calls[0].data == {"code": "483920"}
    model_server.clear()
    await agent.say("Thanks", conversation_id=asked.conversation_id)
    for store in (hass.data[DATA_SHARED].history, hass.data[DATA_SHARED].journals):
        await store.async_flush()
    disk = json.dumps(hass_storage)
    assert "Lock the cellar with" in disk.encode().decode("unicode_escape")
    for place in (disk, str(seen), model_server.chats[0].raw.decode()):
        assert "483920" not in place
        assert "48 39 20" not in place


@pytest.mark.parametrize("answer", ["4711", "no wait, it was 4711 I believe", "four seven one one"])
async def test_a_pin_is_not_stored(
    hass: HomeAssistant,
    model_server: ModelServer,
    secure: SecureHouse,
    hass_storage: dict[str, Any],
    answer: str,
) -> None:
    """Neither as an answer, nor among other words, nor after the phone has answered already."""
    agent = await secure.async_agent(
        model_server, {"policy_pin": await hass.async_add_executor_job(hash_pin, "4711")}
    )
    unlock = ("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
    model_server.script([tool_calls([unlock]), text("Hm."), text("I see.")])
    asked = await agent.say("Open the front door")
    same = {"conversation_id": asked.conversation_id}
    await agent.say(answer, **same)
    model_server.script([tool_calls([unlock]), text("Hm.")])
    await agent.say("Open the front door again", **same)
    confirmations = agent.entry.runtime_data.confirmations
    for action in confirmations.pending:
        await confirmations.async_approve_owned(action, pin="4711")
    assert speech(await agent.say("4711", **same))
    await hass.data[DATA_SHARED].history.async_flush()
    log = hass.data[DATA_CHAT_LOGS][asked.conversation_id].content
    requests = [chat.raw.decode() for chat in model_server.chats]
    for place in (json.dumps(hass_storage["home_agent.history"]), str(log), *requests):
        words = MICROSECONDS.sub("", place)
        assert "4711" not in words
        assert "four seven" not in words


async def test_a_code_in_any_form(
    hass: HomeAssistant,
    model_server: ModelServer,
    secure: SecureHouse,
    hass_storage: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    subtests: pytest.Subtests,
) -> None:
    """No event, store, log or action response contains it, whether the call fits or not."""
    await secure.async_agent(model_server)
    user = MockUser(name="Anna", is_owner=True).add_to_hass(hass)
    for shape, call in TABLES["shapes"].items():
        with subtests.test(shape):
            model_server.clear()
            async_expose_entity(hass, "conversation", "lock.cellar", True)
            seen = [async_capture_events(hass, name) for name in (EVENT_TOOL_EXECUTED, EVENT_TOOL_PROGRESS)]
            model_server.script([tool_calls([call]), text("Well."), text("Well.")])
            answer = await call_action(hass, "process", {"text": "Do it with 4711"}, Context(user_id=user.id))
            assert answer is not None
            assert answer["tool_calls"]
            assert "4711" not in str(answer["tool_calls"])
            shared = hass.data[DATA_SHARED]
            for store in (shared.history, shared.journals, shared.confirmations):
                await store.async_flush()
            assert len(seen[0]) == 1
            assert "4711" not in str([event.data for events in seen for event in events])
            assert "4711" not in str(hass_storage)
            ours = [record.getMessage() for record in caplog.records if "home_agent" in record.name]
            assert [line for line in ours if "4711" in line] == []
