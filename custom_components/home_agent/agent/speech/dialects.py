"""The marks that models put around what is not meant for people: tags and special tokens."""

from collections.abc import Iterable
from enum import Enum, auto
import re
from typing import Final

from ...regex import lazy


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


class Mark(Enum):
    """What a tag means."""

    THINK = auto()
    THINK_END = auto()
    RESULT = auto()
    """An invented tool result: dropped like a thought."""
    CALL = auto()
    HEADER = auto()
    """A role follows: `<|im_start|>assistant`."""
    CHANNEL = auto()
    """A channel follows: `<|channel|>analysis<|message|>`."""
    ROLE = auto()
    """The role of somebody else: `<|user|>`."""
    NOISE = auto()
    """Dropped, what follows is text."""


THINK_NAMES: Final = _words(
    "think thinking thought thoughts reason reasoning reflection scratchpad inner_monologue "
    "seed:think antml:thinking"
)
THINK_STARTS: Final = _words(
    "begin_of_thought begin_of_thinking begin_of_reasoning start_of_thought start_thinking think_start "
    "begin_thinking thinking_start"
)
THINK_ENDS: Final = _words(
    "end_of_thought end_of_thinking end_of_reasoning end_thinking think_end thinking_end"
)
RESULT_NAMES: Final = _words(
    "tool_response tool_responses tool_result tool_results function_response function_results "
    "tool_outputs_begin tool_output_begin"
)
CALL_NAMES: Final = _words(
    "tool_call tool_calls toolcall tool_code tool_use function_call function_calls functioncall "
    "function invoke action_call minimax:tool_call seed:tool_call antml:function_calls antml:invoke "
    "tool_calls_begin tool_calls_section_begin tool_call_begin start_action action_start python_tag plugin"
)
NOISE_NAMES: Final = _words(
    "s bos eos pad unk end_of_turn end_of_text endoftext answer final_answer final_response response "
    "begin_of_solution end_of_solution"
)

PLAIN_TAGS: Final[dict[str, Mark]] = {
    **dict.fromkeys(THINK_NAMES, Mark.THINK),
    **dict.fromkeys(RESULT_NAMES, Mark.RESULT),
    **dict.fromkeys(CALL_NAMES, Mark.CALL),
    **dict.fromkeys(NOISE_NAMES, Mark.NOISE),
    "start_of_turn": Mark.HEADER,
}
"""Tags known by their name alone, `<name>`."""

BARRED_TAGS: Final[dict[str, Mark]] = {
    **PLAIN_TAGS,
    **dict.fromkeys(THINK_STARTS, Mark.THINK),
    **dict.fromkeys(THINK_ENDS, Mark.THINK_END),
    **dict.fromkeys(_words("start im_start start_header_id start_of_role turn"), Mark.HEADER),
    **dict.fromkeys(_words("user human system observation tool developer ipython"), Mark.ROLE),
    "channel": Mark.CHANNEL,
}
"""Tags in bars, `<|name|>`; one that is not listed is noise."""

HALF_BARRED_TAGS: Final[dict[str, Mark]] = {
    **PLAIN_TAGS,
    **dict.fromkeys(("channel", "turn"), Mark.NOISE),
}
"""Tags with one bar, `<name|>`, all of which close."""

SQUARE_TAGS: Final[dict[str, Mark]] = {
    "THINK": Mark.THINK,
    "think": Mark.THINK,
    "TOOL_CALLS": Mark.CALL,
    "TOOL_CALL": Mark.CALL,
    "TOOL_RESULTS": Mark.RESULT,
    **dict.fromkeys(_words("INST SYSTEM_PROMPT AVAILABLE_TOOLS ARGS TOOL_CONTENT"), Mark.NOISE),
}
"""Tags in square brackets, `[NAME]`."""

OWN_ROLES: Final = frozenset(_words("assistant model ai bot answer"))
OTHER_ROLES: Final = frozenset(_words("user human system tool developer ipython observation function"))
THINK_CHANNELS: Final = frozenset(_words("analysis thought think thinking reasoning"))
CALL_FENCES: Final = frozenset(_words("tool_code tool_call tool_calls tool_use function_call"))

TAG: Final = lazy(
    r"<(?P<bar>[|\uff5c])?(?P<slash>/)?(?P<name>[A-Za-z_][\w:.\u2581-]{0,40}|\")"
    r"(?P<rest>[\s=/][^<>]{0,200}?)?(?P<bar2>[|\uff5c])?>"
)
TAG_PART: Final = lazy(
    r"<(?P<bar>[|\uff5c])?/?(?P<name>[A-Za-z_][\w:.\u2581-]{0,40}|\")?"
    r"(?P<rest>[\s=/][^<>]{0,200})?[|\uff5c]?\Z"
)
MOON_TAG: Final = lazy(r"\u25c1(?P<slash>/)?(?P<name>[a-z_]{1,20})\u25b7")
MOON_PART: Final = lazy(r"\u25c1/?[a-z_]{0,20}\Z")
SQUARE_TAG: Final = lazy(r"\[(?P<slash>/)?(?P<name>[A-Za-z_]{3,20})\]")
SQUARE_PART: Final = lazy(r"\[/?(?P<name>[A-Za-z_]{0,20})\Z")
ROLE: Final = lazy(r"[ \t]*([A-Za-z_]{0,20})([^<\n]{0,100})")
CHANNEL: Final = lazy(r"[ \t]*([A-Za-z_]{0,20})((?:[^<\n]|<\|constrain\|>){0,120})(<\|message\|>|\n)?")
CHANNEL_NEXT: Final = ("<|message|>", "<|constrain|>")

END_OF_TURN: Final = (
    r"<\|(?:im_end|eot_id|eom_id|end|return|call|end_of_text|endoftext)\|>|</s>|<end_of_turn>|<turn\|>"
)
HEADER_AHEAD: Final = (
    r"(?=<\|(?:start|im_start|start_header_id|channel|assistant)\|>|<start_of_turn>|<\|(?:turn|channel)>"
    r"|<\uff5cAssistant\uff5c>)"
)


def _names(names: Iterable[str]) -> str:
    """Return an alternation of names, in which `_` also stands for its look-alike."""
    return "|".join(re.escape(name).replace("_", "[_\u2581]") for name in names)


THINK_CLOSE: Final = lazy(
    rf"<[|\uff5c]?/(?:{_names(THINK_NAMES)})\s{{0,8}}[|\uff5c]?>|<(?:{_names(THINK_NAMES)}|channel)\|>"
    rf"|<[|\uff5c](?:{_names(THINK_ENDS)})[|\uff5c]>|\[/think\]|\u25c1/think\u25b7|{END_OF_TURN}|{HEADER_AHEAD}",
    re.IGNORECASE,
)
TURN_CLOSE: Final = lazy(HEADER_AHEAD)
HARMONY_CLOSE: Final = lazy(f"{END_OF_TURN}|{HEADER_AHEAD}")
CALL_CLOSE: Final = lazy(END_OF_TURN)
FENCE_CLOSE: Final = lazy(r"`{3}")


def closing(name: str) -> re.Pattern[str]:
    """Return what ends the block that a tag of this name opened."""
    ends = {name.replace("begin", "end").replace("start", "end")} - {name}
    return re.compile(
        rf"<[|\uff5c]?/(?:{_names([name])})\s{{0,8}}[|\uff5c]?>|<(?:{_names([name])})\|>"
        + (rf"|<[|\uff5c](?:{_names(ends)})[|\uff5c]>" if ends else "")
        + f"|{END_OF_TURN}|{HEADER_AHEAD}",
        re.IGNORECASE,
    )


def prefixes(names: Iterable[str]) -> frozenset[str]:
    """Return every beginning of every name, the whole name included."""
    return frozenset(name[:end] for name in names for end in range(1, len(name) + 1))


PLAIN_PREFIXES: Final = prefixes(HALF_BARRED_TAGS)
SQUARE_PREFIXES: Final = prefixes(SQUARE_TAGS)
