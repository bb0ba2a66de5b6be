"""What may be spoken and what may be shown, however the reply was cut into pieces."""

from collections.abc import Iterable
import random
from typing import NamedTuple

from hypothesis import given, settings, strategies as st
import pytest

from custom_components.home_agent.agent.speech import SpeechFilter
from tests.helpers.examples import many

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
    """Return what a reply in these pieces comes to."""
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


THOUGHTS = [
    "<think>{}</think>",
    "<THINK>{}</Think>",
    "<thinking>{}</thinking>",
    "<thought>{}</thought>",
    '<reasoning effort="high">{}</reasoning>',
    "<think>{}</thinking>",
    "<reflection>{}</reflection>",
    "[THINK]{}[/THINK]",
    "<seed:think>{}</seed:think>",
    "<|begin_of_thought|>{}<|end_of_thought|>",
    "<|START_THINKING|>{}<|END_THINKING|>",
    "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|channel|>analysis<|message|>{}<|start|>assistant<|channel|>commentary<|message|>",
    "<|channel>thought\n{}<channel|>",
    "<|im_start|>think\n{}<|im_start|>answer",
    "<tool_response>{}</tool_response>",
]


def test_thoughts_are_never_given_out(subtests: pytest.Subtests) -> None:
    for dialect in THOUGHTS:
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


SPECIAL = [
    "<|im_end|>",
    "<|eot_id|>",
    "</s>",
    "<s>",
    "<end_of_turn>",
    "<|end|>",
    "<|endoftext|>",
    "<eos>",
    "<|return|>",
    "[/INST]",
    "<turn|>",
    "<|eom_id|>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "<|unknown_token|>",
    "<|end_of_text|>",
    "<pad>",
]


def test_special_tokens_are_not_given_out(subtests: pytest.Subtests) -> None:
    for token in SPECIAL:
        for surface in [True, False]:
            with subtests.test(surface=surface, token=token):
                assert read(f"Good night.{token}", voice=surface).text == "Good night."
                assert read(f"{token}Good {token}night.", voice=surface).text == "Good night."


CALLS = [
    '<tool_call>{"name": "ha_control", "arguments": {"a": "}"}}</tool_call>',
    '<tool_call>\n{"name": "ha_control", "arguments": {"a": "b}}\n</tool_call>',
    '<TOOLCALL>[{"name": "ha_control", "arguments": {}}]</TOOLCALL>',
    "<tool_call>ha_control\n<arg_key>name</arg_key><arg_value>Lamp</arg_value></tool_call>",
    '<function=ha_control>{"name": "Lamp"}</function>',
    "<function=ha_control><parameter=name>Lamp</parameter></function>",
    "<tool_call><function=ha_control><parameter=name>x</parameter></function></tool_call>",
    '<invoke name="ha_control"><parameter name="x">1</parameter></invoke>',
    '<|python_tag|>{"name": "ha_control", "parameters": {}}<|eom_id|>',
    '<|tool_call|>[{"name": "ha_control", "arguments": {}}]<|/tool_call|>',
    '<|tool_call>call:ha_control{name:<|"|>Lamp<|"|>}<tool_call|>',
    'HassTurnOff{domain:[<|"|>light<|"|>],name:<|"|>Kitchen Light<|"|>}<tool_call|>',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.ha_control:0{"a": 1}<|tool_calls_section_end|>',
    '<|channel|>commentary to=functions.ha_control <|constrain|>json<|message|>{"name": "Lamp"}<|call|>',
    '<|start|>assistant to=functions.ha_control<|channel|>commentary json<|message|>{"a": 1}<|call|>',
    '```json\n{"name": "ha_control", "arguments": {"name": "Lamp"}}\n```',
    '```\n   HassTurnOn(Backyard, ["light"])\n   ```',
    "```tool_code\nprint(lamp_on())\n```",
    '{"name": "ha_control", "arguments": {"name": "Lamp {1}", "n": "a \\" b"}}',
    '{"name": "ha_control", "parameters": {"area": "",}}',
    '{"type": "function", "function": "HassTurnOff", "parameters": {"area": "Kitchen"}}',
    '{"tool_calls": [{"name": "HassMediaPause", "arguments": {"area": "",}}]}',
    '[{"name": "ha_control", "arguments": {}}, {"name": "ha_query", "arguments": {}}]',
    "{'name': 'ha_control', 'arguments': {'name': 'Bob\\'s lamp'}}",
    'HassTurnOn(name="Living Room Light", domain="light")',
    "HassTurnOff({'name': 'Dining Room Light'})",
    "HassTurnOn(cover.smart_curtain)",
    "HassTurnOn(Bob's lamp)",
    'ha_control(name="x")',
    'weather(day="today")',
    'my-tool(day="today")',
    '[ha_control(name="x"), ha_query()]',
    "HassTurnOn\nname: Bedroom Fan\ndomain: fan",
    "HassTurnOff domain: fan name: Bedroom Fan",
]


def test_calls_written_as_text_are_taken_out(subtests: pytest.Subtests) -> None:
    for call in CALLS:
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


PLAIN = [
    ("**Bold** and *it* and ***both*** and __strong__ and _em_.", "Bold and it and both and strong and em."),
    ("~~no~~ yes, about ~20", "no yes, about ~20"),
    ("`light.bed_light` is ``on``", "light.bed_light is on"),
    ("# Lights\n\nAll are on", "Lights. All are on"),
    ("The lights:\n- Kitchen\n- Bedroom\n* Bath", "The lights: Kitchen, Bedroom, Bath"),
    ("The lights:\n\n- [ ] Milk\n- [x] Eggs\n\nThat is all", "The lights: Milk, Eggs. That is all"),
    ("1. First\n2. Second.\n3) Third", "1. First, 2. Second. 3) Third"),
    (
        "| Room | Temp |\n|:---|---:|\n| Kitchen | 21 \u00b0C |\n| Bath | |",
        "Room, Temp. Kitchen, 21 \u00b0C. Bath",
    ),
    ("See [the docs](https://a.b/c_(d)) now.", "See the docs now."),
    ("![A cat](http://a.b/c.png) sleeps", "A cat sleeps"),
    ("![](http://a.b/c.png) sleeps", "sleeps"),
    ("Look at https://a.b/c?d=e_f&g=h, then go.", "Look at, then go."),
    ("Look (https://a.b/c). Or www.example.com!", "Look. Or!"),
    ("Look at <https://a.b/c> please", "Look at please"),
    ("It is so [1], said he [^2].", "It is so, said he."),
    ("It is so\u30101\u2020source\u3011.", "It is so."),
    ("> quoted\n> twice", "quoted twice"),
    ("One\n\n---\n\nTwo", "One. Two"),
    ("One\n\nTwo.\n\nThree", "One. Two. Three"),
    ("Kitchen: on\nBath: off\nand done", "Kitchen: on. Bath: off and done"),
    ("Here:\n```yaml\na: 1\n- b\n```\nDone.", "Here: Done."),
    ("Here:\n```\nplain words\n```\nDone.", "Here: plain words. Done."),
    ("Here:\n```python\nprint(1)", "Here:"),
    ("Tom &amp; Jerry &#39;n&#x27; &deg;", "Tom & Jerry 'n' \u00b0"),
    ("<b>bold</b> <a href='x' class=\"y\">link</a><br/>Next.", "bold link. Next."),
    ("<ul><li>Kitchen</li><li>Bath</li></ul>", "Kitchen. Bath"),
    ("\\*not bold\\* and 1\\. no", "*not bold* and 1. no"),
    ("Settings \u2192 Devices", "Settings, Devices"),
    ("\u6253\u5f00**\u5395\u6240**\u706f\u3002", "\u6253\u5f00\u5395\u6240\u706f\u3002"),
    ("- \u53a8\u623f\n- \u5367\u5ba4", "\u53a8\u623f\u3001\u5367\u5ba4"),
    ("It is {almost} [so] {}", "It is almost so"),
    ("   spaced    out \n", "spaced out"),
    ("Done \u2705", "Done"),
    ("Hi \U0001f44b\U0001f3fd there \U0001f468\u200d\U0001f469\u200d\U0001f467!", "Hi there!"),
    (
        "Flag \U0001f1e9\U0001f1ea and \U0001f3f4\U000e0067\U000e0062\U000e007f, sun \u2600\ufe0f.",
        "Flag and, sun.",
    ),
    ("Press 1\ufe0f\u20e3 now", "Press 1 now"),
    ("nice\U0001f60aday", "nice day"),
    ("a \u2764\ufe0f\u200d\U0001f525 b", "a b"),
]


def test_a_voice_reads_sentences(subtests: pytest.Subtests) -> None:
    for reply, spoken in PLAIN:
        with subtests.test(reply=reply, spoken=spoken):
            assert voice(reply) == spoken
            assert read([reply]).text == spoken


def test_ordinary_text_is_left_alone(subtests: pytest.Subtests) -> None:
    for reply in [
        "3 * 4 = 12, 2*3 = 6, 2**3 = 8 and 5 > 3.",
        "The entity light.bed_light_2 is on_hold.",
        "C# and F#, I <3 you, R&D, AT&T, a < b.",
        "It is 12:30, 21.5 \u00b0C, 3/4, \u00bd, 50 %, 5 \u20ac, $5, +3, -5, \u00b12, 4\u20136, 1,000.50!",
        "It's the cat's; \u201cyes\u201d, she said \u2018no\u2019 (maybe).",
        "Bonjour ! \u00c7a va ? Oui : tr\u00e8s bien.",
        "\u05d4\u05d0\u05d5\u05e8 \u05d3\u05d5\u05dc\u05e7",
        "\u0627\u0644\u0636\u0648\u0621 \u0645\u0636\u0627\u0621\u061f",
        "\u30ad\u30c3\u30c1\u30f3\u306e\u7167\u660e\u3092\u3064\u3051\u307e\u3057\u305f\u3002",
        "e\u0301te\u0301",
        "\u0928\u092e\u0938\u094d\u200d\u0924\u0947, \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "4.5 hotels, #1 in town, @home, 100\u2122, \u00a9 2026, 20 \u00d7 3 \u00f7 2 \u2248 30.",
        "192.168.1.5:8123 or home-assistant.io or a@b.de",
    ]:
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
    for reply in (
        "a <",
        "a *",
        "a `",
        "a [",
        "a (h",
        "a &am",
        "a \\",
        "a http",
        "a ha_contro",
        "a <thi",
        "21",
    ):
        assert chat(reply) == reply
    for reply in ("a <", "a (h", "a &am", "a \\", "a http", "a ha_contro", "a <thi", "21", "a !"):
        assert voice(reply) == reply


PIECES = (
    "< > </ <| |> think thinking _ * ** *** ` ``` ~~~ [ ] ( ) ]( { } \" ' : , . ! # ## - 1. > = "
    "| \\ & ; http https:// www. ha_ control HassT Hass urnOn( to= <b \ufe0f \u200d \U0001f600 "
    "\u3010 \u3011 h w word \xfcber \u4e16 final analysis assistant user"
)
FRAGMENTS = (
    *(template.format("x y") for template in THOUGHTS),
    *CALLS,
    *(reply for reply, _ in PLAIN),
    *SPECIAL,
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
@given(st.sampled_from(THOUGHTS), st.text("abc <>/|[]{}*`\n", max_size=40), st.booleans())
def test_a_secret_thought_stays_secret(dialect: str, filling: str, surface: bool) -> None:
    """Whatever stands around it, a thought is not given out."""
    assert "SECRET" not in read(f"{dialect.format('SECRET')}{filling}", voice=surface).text
