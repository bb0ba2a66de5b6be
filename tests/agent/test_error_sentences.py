"""An error is said once, with its true cause; its words reach the panel, and no conversation the log."""

import logging
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import async_capture_events
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.home_agent.const import (
    DOMAIN,
    EVENT_CONVERSATION_FINISHED,
    EVENT_ERROR,
    EVENT_STREAMING_ERROR,
)
from homeassistant.components import conversation
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_add_agent, async_agent, speech
from tests.helpers.everyday_house import async_add_satellite
from tests.helpers.household import async_furnish
from tests.helpers.listening import open_session
from tests.helpers.pipeline import run_pipeline
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, cut, empty, error_in_stream, html, raw, reset, status

NO_FALLBACK = {"local_fallback_enabled": False}
UNREACHABLE = "I can't reach the language model. Please check that its server is running."
REPORTED = "The model server reported an error. Please try again, or check the server."
REFUSED = "The model server refused my request. The panel shows the reason."
UNREADABLE = "Sorry, the language model gave me an answer that I can't use. Please try again."
NO_MODEL = "The model server doesn't have the configured model. Please choose another one in the settings."
CAUSES: dict[str, tuple[Reply, str, str]] = {
    "closed": (reset(), "LLMUnavailable", UNREACHABLE),
    "500": (status(500, "CUDA out of memory"), "LLMServerError", REPORTED),
    "503": (status(503, "Loading model"), "LLMServerError", REPORTED),
    "in the stream": (error_in_stream("CUDA out of memory"), "LLMServerError", REPORTED),
    "empty": (empty(), "LLMServerError", REPORTED),
    "a web page": (html(), "LLMError", UNREADABLE),
    "no model": (status(404, "model 'test-model' not found"), "ModelNotFound", NO_MODEL),
    "refused": (status(422, "unsupported content"), "RequestRefused", REFUSED),
    "busy": (
        status(429, "slow down", headers={"Retry-After": "3600"}),
        "RateLimitExceeded",
        "The language model is busy. Please try again in a minute.",
    ),
    "no credit": (
        status(402, "Insufficient credits"),
        "QuotaExceeded",
        "The account for the language model has no credit left.",
    ),
    "no quota": (
        status(429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
        "QuotaExceeded",
        "The account for the language model has no credit left.",
    ),
}


async def test_the_sentence_tells_the_cause(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    """Each kind of failure has its own sentence and its own type."""
    agent = await async_agent(hass, model_server, NO_FALLBACK)
    for cause, (reply, error_type, sentence) in CAUSES.items():
        with subtests.test(cause=cause):
            errors = async_capture_events(hass, EVENT_ERROR)
            finished = async_capture_events(hass, EVENT_CONVERSATION_FINISHED)
            model_server.default = reply
            assert speech(await agent.say("Tell me a story")) == sentence
            assert [event.data["error_type"] for event in errors] == [error_type]
            assert [event.data["error_type"] for event in finished] == [error_type]


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("", "The language model needs a key. Please add one in the settings."),
        ("sk-secret", "The model server refused my key. Please check the key in the settings."),
    ],
)
async def test_a_key_that_was_never_set(
    hass: HomeAssistant, model_server: ModelServer, key: str, sentence: str
) -> None:
    """A server that requires a key has not refused a key if none was sent."""
    agent = await async_agent(hass, model_server, NO_FALLBACK, llm_api_key=key)
    model_server.default = status(401, "Unauthorized")
    assert speech(await agent.say("Tell me a story")) == sentence


async def test_the_servers_words(
    hass: HomeAssistant, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The panel shows what the server said, without the key; the log and the event only its status."""
    agent = await async_agent(hass, model_server, NO_FALLBACK, llm_api_key="sk-very-secret")
    errors = async_capture_events(hass, EVENT_ERROR)
    model_server.default = status(500, "CUDA out of memory for sk-very-secret")
    await agent.say("Tell me a story")
    assert "500" in errors[0].data["error_message"]
    assert "LLMServerError: the server answered with 500" in caplog.text
    log = agent.entry.runtime_data.turn_log
    cause = str(log.whole(log.short()[0]["id"]))
    assert "500: CUDA out of memory" in cause
    assert "very-secret" not in str(errors[0].data) + caplog.text + cause


SAID = "Remind me that Kim's diagnosis is lupus"
QUOTING: dict[str, Reply] = {
    "a message": status(500, f"cannot tokenize: {SAID}"),
    "a part": status(400, "bad input near diagnosis is lupus at 17"),
    "one word": status(500, "unknown token lupus"),
    "quoted": status(500, 'error parsing tool call: raw=\'{"text": "lupus medicine"}\', err=invalid'),
    "escaped": status(500, 'request was {\\"content\\": \\"Kim\\u0027s diagnosis is lupus\\"}'),
    "in the stream": error_in_stream(f"cannot tokenize: {SAID}"),
    "no JSON": raw(b"data: Kim has lupus, so take care\n\n"),
    "broken JSON": raw(b'data: {"choices": [{"delta": {"content": "Kim has lupus"\n\n'),
}


async def test_a_server_that_quotes(
    hass: HomeAssistant,
    model_server: ModelServer,
    caplog: pytest.LogCaptureFixture,
    subtests: pytest.Subtests,
) -> None:
    """No log message of the default level and no event contains what a person or the model said."""
    caplog.set_level(logging.INFO)
    agent = await async_agent(hass, model_server, NO_FALLBACK)
    for name, reply in QUOTING.items():
        with subtests.test(name):
            caplog.clear()
            errors = [async_capture_events(hass, event) for event in (EVENT_ERROR, EVENT_STREAMING_ERROR)]
            model_server.default = reply
            await agent.say(SAID)
            told = [event.data for events in errors for event in events]
            assert told
            logged = [record.getMessage() for record in caplog.records if DOMAIN in record.name]
            assert [line for line in logged if "The turn failed" in line]
            for word in ("lupus", "diagnosis", "Kim"):
                assert word not in str(told) + "\n".join(logged)


class Dialog:
    """The chat dialog of Home Assistant, with an assistant for each sentence."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def ask(self, sentence: str, agent: Agent, **options: Any) -> tuple[str, dict[str, Any]]:
        """Return the words that were streamed, and the result."""
        pipeline = {
            **dict.fromkeys(("stt_engine", "stt_language", "tts_engine", "tts_language", "tts_voice")),
            **dict.fromkeys(("wake_word_entity", "wake_word_id")),
            "conversation_language": "en",
            "language": "en",
            "name": "Assist",
            "conversation_engine": agent.entity_id,
        }
        await self._client.send_json_auto_id({"type": "assist_pipeline/pipeline/create", **pipeline})
        created = (await self._client.receive_json())["result"]["id"]
        streamed, result, _audio = await run_pipeline(self._client, sentence, pipeline=created, **options)
        return streamed, result


@pytest.fixture
async def dialog(
    hass: HomeAssistant, model_server: ModelServer, hass_ws_client: WebSocketGenerator
) -> Dialog:
    await async_furnish(hass)
    # Before the client, which starts the web server.
    for component in ("assist_pipeline", "assist_satellite", "ai_task"):
        assert await async_setup_component(hass, component, {})
    return Dialog(await hass_ws_client(hass))


async def test_an_error_stands_once_in_the_chat(
    hass: HomeAssistant, model_server: ModelServer, dialog: Dialog
) -> None:
    """It is the result of the turn and part of the conversation, and it is not streamed before."""
    agent = await async_add_agent(hass, model_server, NO_FALLBACK)
    model_server.default = status(500, "CUDA out of memory")
    streamed, result = await dialog.ask("Tell me a story", agent)
    assert streamed == ""
    assert result["response"]["response_type"] == "error"
    assert result["response"]["speech"]["plain"]["speech"] == REPORTED
    assert result["continue_conversation"] is False
    with (
        open_session(hass, result["conversation_id"]) as session,
        conversation.async_get_chat_log(hass, session) as log,
    ):
        assert [content.content for content in log.content if content.role == "assistant"] == [REPORTED]


async def test_an_answer_that_breaks_off(
    hass: HomeAssistant, model_server: ModelServer, dialog: Dialog
) -> None:
    """The dialog shows what was said and the error; a satellite that is speaking hears the error too."""
    agent = await async_add_agent(hass, model_server, NO_FALLBACK)
    satellite = await async_add_satellite(hass)
    broken = [cut(2, chunks=["Once upon a time. ", "There was. ", "The end."])]
    model_server.default = reset()
    model_server.script(broken)
    streamed, result = await dialog.ask("Tell me a story", agent)
    assert "Once upon a time" in streamed
    assert UNREACHABLE not in streamed
    assert result["response"]["speech"]["plain"]["speech"] == UNREACHABLE
    model_server.clear()
    model_server.script(broken)
    streamed, result = await dialog.ask("Tell me a story", agent, device_id=satellite.device)
    assert streamed.count(UNREACHABLE) == 1
    assert result["response"]["speech"]["plain"]["speech"] == UNREACHABLE
