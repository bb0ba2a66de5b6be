"""What servers say when a prompt is too long for them, and the numbers in it."""

from typing import Any

import pytest

from custom_components.home_agent.inference.models import ErrorKind, from_answer


def error(message: str, **fields: Any) -> dict[str, Any]:
    """Return an error as most servers write it."""
    return {"error": {"message": message, **fields}}


REFUSALS = {
    "openai": (
        error(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001.",
            code="context_length_exceeded",
        ),
        8192,
        9001,
    ),
    "vllm": (
        error(
            "This model's maximum context length is 4096 tokens. However, you requested 5100 tokens "
            "(4600 in the messages, 500 in the completion). Please reduce the length of the messages."
        ),
        4096,
        4600,
    ),
    "vllm, newer": (
        error("The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure"),
        4096,
        5000,
    ),
    "vllm, the answer beside it": (
        error(
            "'max_tokens' or 'max_completion_tokens' is too large: 500. This model's maximum context length "
            "is 8192 tokens and your request has 7900 input tokens"
        ),
        8192,
        7900,
    ),
    "llama.cpp": (
        error(
            "request (5210 tokens) exceeds the available context size (4096 tokens), try increasing it",
            type="exceed_context_size_error",
            n_prompt_tokens=5210,
            n_ctx=4096,
        ),
        4096,
        5210,
    ),
    "llama.cpp, words only": (
        error("request (5210 tokens) exceeds the available context size (4096 tokens), try increasing it"),
        4096,
        5210,
    ),
    "lm studio": (
        error(
            "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded "
            "with context length of only 4096 tokens, which is not enough."
        ),
        4096,
        None,
    ),
    "anthropic": (error("prompt is too long: 210000 tokens > 200000 maximum"), 200_000, 210_000),
    "gemini": (
        error(
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            status="INVALID_ARGUMENT",
        ),
        1_048_576,
        1_200_000,
    ),
    "thousands": (error("maximum context length is 131,072 tokens, you requested 140,000"), 131_072, 140_000),
    "no numbers": (error("context length exceeded"), None, None),
    "no object": ("input is too long for this model", None, None),
    "odd numbers": (error("context size 1", n_ctx="many", n_prompt_tokens=True), None, None),
}


def test_the_numbers_of_a_refusal(subtests: pytest.Subtests) -> None:
    for server, (body, limit, counted) in REFUSALS.items():
        with subtests.test(server):
            found = from_answer(400, body)
            assert found.kind is ErrorKind.CONTEXT_TOO_LONG
            assert (found.limit, found.counted) == (limit, counted)


def test_other_errors_have_none() -> None:
    found = from_answer(400, error("max_tokens must be at most 4096", param="max_tokens"))
    assert (found.limit, found.counted) == (None, None)
