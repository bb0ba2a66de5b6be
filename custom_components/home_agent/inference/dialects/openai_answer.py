"""Reads the answers of OpenAI-compatible servers, which agree less than their name says."""

from collections.abc import Mapping
from typing import Any, override

from ..errors import ErrorKind, ModelServerError, in_stream
from ..models import Delta, ToolCall, Usage
from .base import Answer, tokens

_THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking")
_UNKNOWN_REASONS = ("", "null", "none")


class OpenAIAnswer(Answer):
    """Chunks of a stream and whole completions alike."""

    @override
    def read(self, data: Mapping[str, Any]) -> Delta | None:
        """Return what a chunk or a completion says."""
        choices = data.get("choices")
        if data.get("error") or data.get("object") == "error" or (choices is None and _complains(data)):
            raise in_stream(data, secrets=self.secrets)
        self._count(data)
        self.recognised = self.recognised or choices is not None
        for choice in choices or ():
            if not choice.get("index"):
                return self._choice(choice)
        return None

    def _choice(self, choice: Mapping[str, Any]) -> Delta | None:
        """Return what the first choice says."""
        delta = choice.get("delta")
        delta = (choice.get("message") if delta is None else delta) or {}
        content, thinking = _split(delta.get("content"))
        content += _string(delta.get("refusal"))
        thinking += next((text for name in _THINKING_FIELDS if (text := _string(delta.get(name)))), "")
        if _is_thought(delta):
            content, thinking = "", thinking + content
        calls: list[ToolCall] = []
        for entry in delta.get("tool_calls") or ():
            if entry:
                calls += self.calls.add(entry)
        reason = str(choice.get("finish_reason") or "").lower()
        if reason == "error":
            raise ModelServerError(ErrorKind.UNAVAILABLE, "the server gave up in the middle of its answer")
        if reason not in _UNKNOWN_REASONS:
            self.finish_reason = "tool_calls" if reason == "function_call" else reason
            calls += self.calls.flush()
        return self._delta(content, thinking, calls)

    def _count(self, data: Mapping[str, Any]) -> None:
        """Keep the newest token counts; cached ones have three names."""
        usage = data.get("usage") or (data.get("x_groq") or {}).get("usage")
        timings = data.get("timings") or {}
        if not usage:
            if timings and self.usage:
                self.usage = Usage(self.usage.prompt, self.usage.completion, tokens(timings.get("cache_n")))
            return
        details = usage.get("prompt_tokens_details") or {}
        cached = (
            details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or timings.get("cache_n")
        )
        self.usage = Usage(
            tokens(usage.get("prompt_tokens")), tokens(usage.get("completion_tokens")), tokens(cached)
        )


def _complains(data: Mapping[str, Any]) -> bool:
    """Tell whether an object without choices is an error nobody labelled."""
    return bool(data.get("detail")) or isinstance(data.get("message"), str)


def _is_thought(delta: Mapping[str, Any]) -> bool:
    """Tell whether Gemini marks this content as a thought."""
    extra = delta.get("extra_content") or {}
    return bool((extra.get("google") or {}).get("thought"))


def _string(value: Any) -> str:
    """Return a string, whatever stands in its place."""
    return value if isinstance(value, str) else ""


def _split(content: Any) -> tuple[str, str]:
    """Return words and thoughts of a content, which may be a list of parts."""
    if not isinstance(content, list):
        return _string(content), ""
    words = thoughts = ""
    for part in content:
        if not isinstance(part, Mapping):
            words += _string(part)
        elif part.get("type") in ("thinking", "reasoning"):
            inner = part.get("thinking") or part.get("text")
            thoughts += _split(inner)[0]
        else:
            words += _string(part.get("text"))
    return words, thoughts
