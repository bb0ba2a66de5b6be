"""docs/comparison.md says of Home Assistant's own agents what their source says."""

from datetime import timedelta
from pathlib import Path

import homeassistant
from homeassistant.helpers import chat_session
from tests.helpers.checks import every
from tests.helpers.documents import PAGES

COMPONENTS = Path(homeassistant.__file__).parent / "components"
WRITTEN = PAGES["docs/comparison.md"]


def source(name: str) -> str:
    """Return the source of a module of an integration, without line breaks in strings."""
    text = (COMPONENTS / name).read_text(encoding="utf-8")
    return text.replace('"\n    "', "")


def test_assist() -> None:
    """Its instructions, its tools and its limits."""
    quoted = "Use intent__HassTurnOff to unlock a lock"
    assert quoted in WRITTEN
    assert "intent__HassTurnOff to unlock a lock" in source("intent/llm.py")
    assert "GetLiveContext" in source("homeassistant/llm.py")
    assert "include_state=False" in source("homeassistant/llm.py")
    assert "ScriptTool" in source("script/llm.py")
    assert "async_device_supports_timers" in source("intent/llm.py")
    assert timedelta(minutes=5) == chat_session.CONVERSATION_TIMEOUT
    assert "for 5 minutes after" in WRITTEN


def test_rounds() -> None:
    agents = ("anthropic", "google_generative_ai_conversation", "llama_cpp", "ollama", "open_router")
    for agent in every((*agents, "openai_conversation")):
        assert "MAX_TOOL_ITERATIONS = 10\n" in source(f"{agent}/entity.py")
    assert "at most 10 rounds" in WRITTEN


def test_searches() -> None:
    """The services that search the web themselves."""
    for agent in every(("anthropic", "openai_conversation", "google_generative_ai_conversation")):
        assert "search" in source(f"{agent}/const.py").lower()
