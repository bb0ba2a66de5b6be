"""How models are told not to think, beside the parameters of their servers."""

from typing import Final

from ...regex import lazy_regex
from ..models import Message

_ALWAYS_THINKING: Final = lazy_regex(
    r"gpt-?oss|gpt-?5|(?:^|[/:_-])o[134](?:$|[-:])|gemini-(?:2\.5|3)|grok-[34]-mini"
)
"""Models that cannot stop to think, only think less."""
_SOFT_SWITCH: Final = lazy_regex(
    r"(?:qwen-?3(?![.\d])(?!.*(?:2507|instruct|thinking|coder|next|vl|omni)))|smollm-?3|hunyuan-(?:a13b|\d)"
)
"""Models that read a word in the prompt, also behind servers that pass nothing to their template."""
NO_THINK: Final = "/no_think"
LEAST_EFFORT: Final = "low"
TEMPLATE_SWITCHES: Final = {"enable_thinking": False, "thinking": False}
"""Under these names templates know the switch: Qwen and GLM the first, DeepSeek and Granite the second."""


def always_thinks(model: str) -> bool:
    """Return whether a model can only be told how much to think."""
    return _ALWAYS_THINKING.search(model.casefold()) is not None


def without_thinking(messages: list[Message], model: str) -> list[Message]:
    """Return the messages, with the word not to think in the system prompt of a model that knows it."""
    if not messages or _SOFT_SWITCH.search(model.casefold()) is None:
        return messages
    first, *others = messages
    if first["role"] != "system":
        return [{"role": "system", "content": NO_THINK}, *messages]
    told: Message = {**first, "content": f"{first['content']}\n{NO_THINK}"}
    return [told, *others]
