"""Whether the microphone opens again, in languages that ask without a question mark."""

# ruff: noqa: RUF001 - letters of many languages

import pytest

from tests.helpers.agent import Agent
from tests.servers.model_server import ModelServer
from tests.servers.replies import text


async def test_the_microphone_in_each_language(
    model_server: ModelServer, agent: Agent, subtests: pytest.Subtests
) -> None:
    """Some languages ask without a question mark."""
    for language, question, answer in [
        ("ja", "キッチンの照明を消しますか。", "キッチンの照明は静かです。"),
        ("ja", "どの部屋でしょうか", "夜は静か。"),
        ("zh-CN", "要关掉厨房的灯吗。", "厨房的灯关着。"),
        ("zh-Hant", "要關掉廚房的燈嗎", "廚房的燈關著。"),
        ("ko", "주방 조명을 끌까요.", "주방 조명은 꺼져 있어요."),
        ("tr", "Mutfak ışığını kapatayım mı", "Mutfak ışığı kapalı."),
        ("el", "Ποιο φως εννοείς;", "Το φως είναι κλειστό."),
        ("en", "Which light do you mean?", "The light is off."),
    ]:
        with subtests.test(language=language, question=question):
            model_server.script([text(question), text(answer)])
            assert (await agent.say("Licht", language=language)).continue_conversation is True
            assert (await agent.say("Licht", language=language)).continue_conversation is False
