"""What Telegram is sent: HTML that it takes, in messages that fit."""

from html import unescape
import re

from hypothesis import given, strategies as st
import pytest

from custom_components.home_agent.channels.telegram import MAX_UNITS, as_html, pieces
from custom_components.home_agent.texts import literal, visible
from tests.servers.telegram_server import wrong_message

MARKS = st.text(st.sampled_from("ab c\n`*_~[]()<>&#-.😀/:"), max_size=400) | st.sampled_from(
    ["```", "**", "[a](https://e.org)", "- ", "# ", "`x`", "<b>", "\n\n"]
)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("**bold**, *slanted*, _too_, ~~gone~~", "<b>bold</b>, <i>slanted</i>, <i>too</i>, <s>gone</s>"),
        ("a_b_c, 2*3*4, 5 * 6", "a_b_c, 2*3*4, 5 * 6"),
        ("1 < 2 & 3 > 2", "1 &lt; 2 &amp; 3 &gt; 2"),
        ("# Title\n- one\n* two", "<b>Title</b>\n• one\n• two"),
        ("`a < b` and ``c`d``", "<code>a &lt; b</code> and <code>c`d</code>"),
        ("```yaml\na: <b>\n```", "<pre>a: &lt;b&gt;</pre>"),
        ("```\nnever closed", "```\nnever closed"),
        ("[here](https://e.org/?a=1&b=2)", '<a href="https://e.org/?a=1&amp;b=2">here</a>'),
        ("[bad](javascript:alert(1))", "[bad](javascript:alert(1))"),
        ("**bold *and slanted***", "<b>bold <i>and slanted</i></b>"),
    ],
)
def test_markdown(written: str, shown: str) -> None:
    assert as_html(written) == shown


@pytest.mark.parametrize("mark", ["*", "_", "**a ", "~~a~~", "[", "`"])
def test_marks_without_end(mark: str) -> None:
    """A model that stutters is shown as far as that makes sense, and nothing gives way."""
    shown = as_html(mark * (MAX_UNITS // len(mark)))
    assert not wrong_message({"text": shown, "parse_mode": "html"})


@given(st.one_of(st.text(), st.lists(MARKS, max_size=30).map("".join)))
def test_what_a_question_quotes_is_shown_as_it_is(value: str) -> None:
    """No mark, address, tag or brace of it is rendered, in a chat or by a voice."""
    value = visible(value)
    shown = as_html(f"Should I send this: {literal(value)}")
    assert "<" not in shown
    assert unescape(shown) == f"Should I send this: {value}".strip()


@given(st.lists(MARKS, max_size=30).map("".join))
def test_telegram_takes_whatever_a_model_writes(answer: str) -> None:
    for piece in pieces(answer):
        shown = as_html(piece)
        if re.sub("<[^>]*>", "", unescape(shown)).strip():
            assert wrong_message({"text": shown, "parse_mode": "html"}) == ""


@given(st.text(st.sampled_from("ab \n.`😀"), min_size=1, max_size=300).map(lambda text: text * 60))
def test_messages_fit_and_lose_no_word(answer: str) -> None:
    sent = list(pieces(answer))

    assert all(len(piece.encode("utf-16-le")) // 2 <= MAX_UNITS for piece in sent)
    left = re.sub(r"[\s`]", "", "".join(sent))
    assert left == re.sub(r"[\s`]", "", answer)


def test_a_block_of_code_is_closed_and_opened_again() -> None:
    sent = list(pieces("```\n" + "line of code\n" * 800 + "```"))

    assert len(sent) > 1
    assert all(piece.startswith("```\n") and piece.endswith("\n```") for piece in sent)
