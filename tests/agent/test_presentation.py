"""The form of an answer for each kind of request: markdown for a screen, plain words for a voice."""

from collections.abc import AsyncGenerator
from typing import Any, override

import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockModule,
    MockPlatform,
    mock_config_flow,
    mock_integration,
    mock_platform,
)
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from homeassistant.components import tts
from homeassistant.components.assist_pipeline import async_get_pipelines, async_update_pipeline
from homeassistant.config_entries import ConfigEntry, ConfigFlow
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.setup import async_setup_component
from tests.helpers.agent import Agent, async_agent, speech
from tests.helpers.pipeline import run_pipeline
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

MARKDOWN = (
    "Here is a **plan** for tonight:\n\n1. Dim the *living room*\n2. Close the `blinds` and read "
    "[the guide](https://example.com/guide)\n\n| Room | Temp |\n|---|---|\n| Kitchen | 21 |\n"
)
MARKS = ("*", "`", "|", "](", "https", "#")
WORDS = ("plan", "living room", "blinds", "guide", "Kitchen", "21")
ENGINE = "tts.reader"


class Reader(tts.TextToSpeechEntity):
    """A text-to-speech engine that keeps what it is given to read."""

    _attr_default_language = "en"
    _attr_name = "Reader"

    def __init__(self) -> None:
        self._attr_supported_languages = ["en"]
        self.read: list[str] = []


class StreamingReader(Reader):
    """A client that reads the answer while it streams."""

    @override
    async def async_stream_tts_audio(self, request: tts.TTSAudioRequest) -> tts.TTSAudioResponse:
        self.read.append("".join([part async for part in request.message_gen]))

        async def audio() -> AsyncGenerator[bytes]:
            yield b"audio"

        return tts.TTSAudioResponse("mp3", audio())


class WholeReader(Reader):
    """A client that waits for the whole answer."""

    @override
    async def async_get_tts_audio(self, message: str, *_: Any, **__: Any) -> tts.TtsAudioType:
        self.read.append(message)
        return "mp3", b"audio"


async def add_reader(hass: HomeAssistant, reader: Reader) -> None:
    async def setup_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
        await hass.config_entries.async_forward_entry_setups(entry, ["tts"])
        return True

    async def setup_platform(
        _hass: HomeAssistant, _entry: ConfigEntry, add: AddConfigEntryEntitiesCallback
    ) -> None:
        add([reader])

    mock_integration(hass, MockModule("reader", async_setup_entry=setup_entry), built_in=False)
    mock_platform(hass, "reader.config_flow")
    mock_platform(hass, "reader.tts", MockPlatform(async_setup_entry=setup_platform))
    entry = MockConfigEntry(domain="reader")
    entry.add_to_hass(hass)
    with mock_config_flow("reader", ConfigFlow):
        assert await hass.config_entries.async_setup(entry.entry_id)
        await hass.async_block_till_done()


@pytest.fixture
async def agent(hass: HomeAssistant, model_server: ModelServer) -> Agent:
    """Return an agent that is behind the only assistant and answers with markdown."""
    agent = await async_agent(hass, model_server)
    model_server.default = text(chunks=[MARKDOWN[at : at + 7] for at in range(0, len(MARKDOWN), 7)])
    return agent


async def assist(agent: Agent, reader: Reader) -> None:
    await add_reader(agent.hass, reader)
    assert await async_setup_component(agent.hass, "assist_pipeline", {})
    await agent.hass.services.async_call("tts", "clear_cache", blocking=True)
    (pipeline,) = async_get_pipelines(agent.hass)
    await async_update_pipeline(
        agent.hass,
        pipeline,
        conversation_engine=agent.entity_id,
        prefer_local_intents=False,
        tts_engine=ENGINE,
        tts_language="en",
    )


def assert_is_plain(words: str) -> None:
    """Check that words can be read aloud and are all there."""
    assert not [mark for mark in MARKS if mark in words]
    assert not [word for word in WORDS if word not in words]


@pytest.mark.parametrize("reader", [StreamingReader, WholeReader])
async def test_the_dialogs_microphone_is_a_voice(
    agent: Agent, hass_ws_client: WebSocketGenerator, reader: type[Reader]
) -> None:
    """No device is known, but the run ends in speech: the stream, the result and what is read are plain."""
    engine = reader()
    await assist(agent, engine)
    client = await hass_ws_client(agent.hass)
    streamed, result, token = await run_pipeline(client, "What is the plan?", end_stage="tts")
    assert_is_plain(streamed)
    assert result["response"]["speech"]["plain"]["speech"] == streamed.strip()
    assert token is not None
    stream = agent.hass.data[tts.const.DATA_TTS_MANAGER].token_to_stream[token]
    assert b"".join([chunk async for chunk in stream.async_stream_result()])
    (read,) = engine.read
    assert_is_plain(read)
    assert "by voice" in agent.server.chats[-1].messages[-1]["content"]


async def test_what_is_typed_keeps_its_markdown(agent: Agent, hass_ws_client: WebSocketGenerator) -> None:
    """The dialog replaces what it streamed with the speech of the result, so both carry the markdown."""
    await assist(agent, StreamingReader())
    client = await hass_ws_client(agent.hass)
    streamed, result, token = await run_pipeline(client, "What is the plan?")
    assert token is None
    assert result["response"]["speech"]["plain"]["speech"] == streamed == MARKDOWN.strip()
    assert "in writing" in agent.server.chats[-1].messages[-1]["content"]


@pytest.mark.parametrize("data", ['{"warm": true, "rooms": ["kitchen"]}', "```yaml\nwarm: true\n```"])
async def test_an_answer_of_data_alone_is_returned(
    hass: HomeAssistant, model_server: ModelServer, data: str
) -> None:
    """An automation that requested JSON receives it."""
    agent = await async_agent(hass, model_server)
    model_server.default = text(data)
    assert speech(await agent.say("Answer in JSON.")) == data
