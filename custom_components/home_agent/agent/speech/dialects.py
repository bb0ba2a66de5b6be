"""The marks that models put around what is not meant for people: tags, special tokens, names of tools."""

from collections.abc import Collection, Iterable
from enum import Enum, auto
from functools import lru_cache
import re
from typing import Final

from ...literals import ARGUMENT_KEYS, NAME_KEYS
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
NAMESPACES: Final = ("functions.", "default_api.")
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

_HAS_NAME: Final = lazy(rf"""["']?(?:{"|".join((*NAME_KEYS, "action"))})["']?\s{{0,9}}:""")
_HAS_ARGUMENTS: Final = lazy(rf"""["']?(?:{"|".join(ARGUMENT_KEYS)})["']?\s{{0,9}}:""")
_CALL_LIST: Final = lazy(r"""["'](?:tool_calls|function_call|tool_uses)["']\s{0,9}:""")
ARGUMENTS: Final = lazy(r"""\s{0,20}(?:\w{1,40}+\s{0,4}+[=:]|["'{]|\)|\[\s{0,4}["'{\]])""")
_INTENT_START: Final = lazy("Hass[A-Z]")
_WORD_START: Final = lazy(r"\b\w")
_NUMBER_PART: Final = lazy(r"(?::\d{0,4})?\Z")


class ToolNames:
    """The names by which a call written as text is known."""

    def __init__(self, names: Collection[str]) -> None:
        """Build the patterns of these names and of Home Assistant's intents."""
        ordered = sorted({name for name in names if name}, key=len, reverse=True)
        spaces = "|".join(re.escape(space) for space in NAMESPACES)
        body = "|".join([r"Hass[A-Z]\w{1,60}", *(re.escape(name) for name in ordered)])
        self.pattern = re.compile(rf"(?:(?:{spaces})(?:{body}|\w{{1,64}})|(?:{body}))(?!\w)(?::\d{{1,4}})?")
        self.quoted = re.compile(rf"""["'](?:{body})["']""")
        starts = "|".join(["Hass[A-Z]", spaces, *(re.escape(name) for name in ordered)])
        self.trigger = re.compile(rf"[<\[{{\u25c1`]|\b(?:{starts})")
        spaced = (space + name for space in NAMESPACES for name in ("", *ordered))
        self._prefixes = prefixes([*ordered, *spaced, "Hass"])
        self._longest = max(map(len, self._prefixes))

    def pending(self, text: str, start: int) -> int:
        """Return where a name begins that the end of the text may be cut out of, else the end."""
        for word in _WORD_START.finditer(text, max(start, len(text) - self._longest)):
            if text[word.start() :] in self._prefixes:
                return word.start()
        return len(text)

    def cut(self, text: str, start: int) -> bool:
        """Return whether the text ends within a name that begins at `start`."""
        tail = text[start : start + self._longest + 1]
        if tail in self._prefixes or _INTENT_START.fullmatch(tail):
            return True
        name = self.pattern.match(text, start)
        return name is not None and _NUMBER_PART.match(text, name.end()) is not None

    def is_call(self, raw: str) -> bool:
        """Return whether JSON, or what was meant to be JSON, asks for a tool."""
        return bool(
            (_HAS_NAME.search(raw) and _HAS_ARGUMENTS.search(raw))
            or _CALL_LIST.search(raw)
            or self.quoted.search(raw)
        )


@lru_cache(maxsize=16)
def tool_names(names: frozenset[str]) -> ToolNames:
    """Return the patterns of these names, which are the same from turn to turn."""
    return ToolNames(names)
