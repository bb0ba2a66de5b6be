"""What may be spoken and what may be shown, however the reply was cut into pieces."""

from collections.abc import Iterable
import random
from typing import NamedTuple

from hypothesis import given, settings, strategies as st
import pytest

from custom_components.home_agent.agent.speech import SpeechFilter
from tests.helpers.examples import many
from tests.helpers.tables import tables

TABLES = tables(__file__)

TOOLS = ("ha_control", "ha_query", "store_memory", "weather", "my-tool")


class Reading(NamedTuple):
    """What a reply comes to."""

    text: str
    thinking: str
    calls: list[str]
    alone: list[bool]


def read(
    pieces: Iterable[str],
    *,
    voice: bool = True,
    starts_thinking: bool = False,
    tools: tuple[str, ...] = TOOLS,
) -> Reading:
    speech = SpeechFilter(voice=voice, tool_names=tools, starts_thinking=starts_thinking)
    spoken = [*map(speech.feed, pieces), speech.flush()]
    text, thinking = ("".join(getattr(each, part) for each in spoken) for part in ("text", "thinking"))
    return Reading(text, thinking, [call.raw for call in speech.calls], [call.alone for call in speech.calls])


def voice(reply: str) -> str:
    """Return what is spoken of a reply that comes character by character."""
    return read(reply).text


def chat(reply: str) -> str:
    """Return what is shown of a reply that comes character by character."""
    return read(reply, voice=False).text


def test_thoughts_are_never_given_out(subtests: pytest.Subtests) -> None:
    for dialect in TABLES["thoughts"]:
        for surface in [True, False]:
            with subtests.test(surface=surface, dialect=dialect):
                reply = dialect.format("Hm, the *user* said {x}, 3 < 4.") + "\n\nThe light is on."
                for pieces in (reply, [reply]):
                    spoken = read(pieces, voice=surface)
                    assert spoken.text == "The light is on."
                    assert spoken.thinking.strip() == "Hm, the *user* said {x}, 3 < 4."
                    assert spoken.calls == []


def test_a_thought_that_never_ends_is_all_there_is(subtests: pytest.Subtests) -> None:
    for surface in [True, False]:
        with subtests.test(surface=surface):
            spoken = read("<think>The user wants <b>light", voice=surface)
            assert (spoken.text, spoken.thinking) == ("", "The user wants <b>light")


def test_the_end_of_a_thought_without_its_beginning_is_not_spoken(subtests: pytest.Subtests) -> None:
    for surface in [True, False]:
        with subtests.test(surface=surface):
            assert read("</think>\n\nYes.", voice=surface).text == "Yes."
            assert read("I should </think> Yes.", voice=surface).text == "I should Yes."
            speech = SpeechFilter(voice=surface)
            assert not speech.unopened_thought
            speech.feed("I should</think>Yes.")
            speech.flush()
            assert speech.unopened_thought


def test_the_turn_of_somebody_else_is_not_given_out() -> None:
    reply = "Yes.<|im_end|>\n<|im_start|>user\nAnd now?<|im_end|>\n<|im_start|>assistant\nNo.<|im_end|>"
    assert voice(reply) == "Yes. No."
    assert chat("Yes.<|user|>And now?<|assistant|>No.") == "Yes. No."


def test_special_tokens_are_not_given_out(subtests: pytest.Subtests) -> None:
    for token in TABLES["special"]:
        for surface in [True, False]:
            with subtests.test(surface=surface, token=token):
                assert read(f"Good night.{token}", voice=surface).text == "Good night."
                assert read(f"{token}Good {token}night.", voice=surface).text == "Good night."


def test_calls_written_as_text_are_taken_out(subtests: pytest.Subtests) -> None:
    for call in TABLES["calls"]:
        for surface in [True, False]:
            with subtests.test(surface=surface, call=call):
                reply = f"One moment.\n\n{call}\n\nThe lamp is on."
                for pieces in (reply, [reply]):
                    spoken = read(pieces, voice=surface)
                    assert spoken.text.split() == ["One", "moment.", "The", "lamp", "is", "on."]
                    (raw,) = spoken.calls
                    assert raw in call
                    assert spoken.thinking == ""


def test_a_call_without_its_end_is_the_rest_of_the_reply(subtests: pytest.Subtests) -> None:
    """What stands behind it was written before the call was made."""
    for reply in [
        'ha_control(name="x"',
        '<tool_call>{"name": "ha_control", "arguments": {}}\nDone.',
        '[TOOL_CALLS]ha_control[ARGS]{"name": "Lamp"}',
        '{"type":"function","function":{"name": "HassTurnOff", "parameters": {}}\nThe lamp is off now.',
    ]:
        for surface in [True, False]:
            with subtests.test(surface=surface, reply=reply):
                spoken = read(reply, voice=surface)
                assert spoken.text == ""
                assert len(spoken.calls) == 1


def test_prose_about_calls_is_left_alone(subtests: pytest.Subtests) -> None:
    for reply in [
        "You can use ha_control (a tool) to switch lamps.",
        "The ha_query tool reads states; ha_control, however, writes them.",
        "HassTurnOn is an intent. It switches things on.",
        "The weather (today) is fine, the weather(ish) man says.",
        "I have functions. They are many.",
        "Prices: 5 < 6 and 7 > 2, a<b, x <y.",
        "Hassle-free, that is what the Hassio team wants.",
    ]:
        for surface in [True, False]:
            with subtests.test(surface=surface, reply=reply):
                spoken = read(reply, voice=surface)
                assert (spoken.text, spoken.calls, spoken.thinking) == (reply, [], "")


def test_json_that_is_no_call_is_shown_but_not_spoken() -> None:
    for data in ('{"temperature": 21, "unit": "C"}', '[{"a": 1}]'):
        reply = f"The state is {data} now."
        assert voice(reply) == "The state is now."
        assert chat(reply) == reply
        assert read(reply, voice=False).calls == read(reply).calls == []


def test_a_voice_reads_sentences(subtests: pytest.Subtests) -> None:
    for reply, spoken in TABLES["plain"]:
        with subtests.test(reply=reply, spoken=spoken):
            assert voice(reply) == spoken
            assert read([reply]).text == spoken


def test_ordinary_text_is_left_alone(subtests: pytest.Subtests) -> None:
    for reply in TABLES["ordinary_text_is_left_alone"]:
        with subtests.test(reply=reply):
            assert voice(reply) == reply
            assert chat(reply) == reply


def test_a_chat_keeps_its_markdown() -> None:
    reply = (
        "# Title\n\n**Bold** \U0001f600 [a](https://b.c)\n\n- one\n  - two\n\n"
        "| a | b |\n|---|---|\n\n```yaml\nlight:\n  - id: 1\n```\n<https://d.e> &amp; `x`"
    )
    assert chat(reply) == reply


def test_the_last_words_are_not_lost() -> None:
    for reply in TABLES["the_last_words_are_not_lost"]:
        assert chat(reply) == reply
    for reply in ("a <", "a (h", "a &am", "a \\", "a http", "a ha_contro", "a <thi", "21", "a !"):
        assert voice(reply) == reply


PIECES = (
    "< > </ <| |> think thinking _ * ** *** ` ``` ~~~ [ ] ( ) ]( { } \" ' : , . ! # ## - 1. > = "
    "| \\ & ; http https:// www. ha_ control HassT Hass urnOn( to= <b \ufe0f \u200d \U0001f600 "
    "\u3010 \u3011 h w word \xfcber \u4e16 final analysis assistant user"
)
FRAGMENTS = (
    *(template.format("x y") for template in TABLES["thoughts"]),
    *TABLES["calls"],
    *(reply for reply, _ in TABLES["plain"]),
    *TABLES["special"],
    *PIECES.split(),
    " ",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "*" * 7,
    "-" * 7,
    "`" * 5,
    "~" * 5,
)


@settings(max_examples=many(300), deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14), st.booleans(), st.randoms(use_true_random=False))
def test_the_cuts_change_nothing(parts: list[str], surface: bool, chance: random.Random) -> None:
    """Any reply comes to the same, in one piece, in characters, and cut anywhere."""
    reply = "".join(parts)
    whole = read([reply], voice=surface)
    cuts = sorted(chance.sample(range(len(reply) + 1), min(len(reply), chance.randint(0, 12))))
    pieces = [reply[start:end] for start, end in zip([0, *cuts], [*cuts, len(reply)], strict=True)]
    assert read(reply, voice=surface) == whole
    assert read(pieces, voice=surface) == whole


@settings(max_examples=many(200), deadline=None)
@given(st.text(max_size=200), st.booleans())
def test_any_text_can_be_read(reply: str, surface: bool) -> None:
    """Nothing raises, and the cuts change nothing."""
    assert read(reply, voice=surface) == read([reply], voice=surface)


@settings(max_examples=many(200), deadline=None)
@given(st.sampled_from(TABLES["thoughts"]), st.text("abc <>/|[]{}*`\n", max_size=40), st.booleans())
def test_a_secret_thought_stays_secret(dialect: str, filling: str, surface: bool) -> None:
    """Whatever stands around it, a thought is not given out."""
    assert "SECRET" not in read(f"{dialect.format('SECRET')}{filling}", voice=surface).text
