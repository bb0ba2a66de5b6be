"""Tool calls that a model wrote as text instead of making them: their forms, and their content.

Only what says each argument by name is read. What cannot be read is handed on without arguments, so that
the model is told; nothing is guessed.
"""

import ast
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
import re
from typing import Any, Final

from ...literals import ARGUMENT_KEYS, NAME_KEYS, parsed
from ...regex import lazy_regex
from .blocks import Balanced

MAX_CALLS: Final = 10
"""Calls that are read, and places where one could begin that are looked at."""
MAX_CHARS: Final = 20_000
MAX_VALUE: Final = 5_000
"""Characters of one argument in XML."""
MAX_DEPTH: Final = 4

_NAMESPACES: Final = ("functions.", "default_api.")
_LIST_KEYS: Final = ("tool_calls", "tool_uses", "function_calls", "calls")
_NAME: Final = r"[A-Za-z_][\w.:-]{0,80}"
_QUOTE_MARKS: Final = ('<|"|>', "<escape>")
EDGES: Final = " \t`*->.;"
"""Characters that may surround a call on its line."""

_HAS_NAME: Final = lazy_regex(rf"""["']?(?:{"|".join((*NAME_KEYS, "action"))})["']?\s{{0,9}}:""")
_HAS_ARGUMENTS: Final = lazy_regex(rf"""["']?(?:{"|".join(ARGUMENT_KEYS)})["']?\s{{0,9}}:""")
_CALL_LIST: Final = lazy_regex(r"""["'](?:tool_calls|function_call|tool_uses)["']\s{0,9}:""")
_INTENT_START: Final = lazy_regex("Hass[A-Z]")
_WORD_START: Final = lazy_regex(r"\b\w")
_NUMBER_PART: Final = lazy_regex(r"(?::\d{0,4})?\Z")

_TAG: Final = lazy_regex(r"<[|\uff5c/]{0,2}[A-Za-z_][\w:.\u2581-]{0,40}[|\uff5c]?>|\[/?[A-Z_]{3,20}\]")
_INVOKE: Final = lazy_regex(rf"<(?:\w+:)?(?:invoke\s+name=|function[= ](?:name=)?)[\"']?({_NAME})[\"']?\s*>")
_XML_ARGUMENT: Final = lazy_regex(
    rf"<(?:\w+:)?parameter(?:\s+name)?=[\"']?([\w.-]{{1,60}})[\"']?[^>]{{0,40}}>\s{{0,20}}(.{{0,{MAX_VALUE}}}?)\s{{0,20}}</(?:\w+:)?parameter>",
    re.DOTALL,
)
_NAMED_JSON: Final = lazy_regex(
    rf"(?<![\w.:-])({_NAME}?)(?::\d{{0,4}})?\s{{0,5}}"
    rf"(?:\[ARGS\]|<[|][\w\u2581]+[|]>)?(?:\s{{1,5}}(?:commentary|json|code)){{0,3}}\s{{0,5}}(?:`{{3}}\w{{0,10}}\s{{0,5}})?(?=\{{)"
)
_KEY_TAGS: Final = lazy_regex(
    rf"<arg_key>\s{{0,5}}([\w.-]{{1,60}})\s{{0,5}}</arg_key>\s{{0,20}}<arg_value>(.{{0,{MAX_VALUE}}}?)</arg_value>",
    re.DOTALL,
)
_NAMED_TAG: Final = lazy_regex(rf"<({_NAME})>\s{{0,20}}(?=\{{)")
_CALL_ID: Final = lazy_regex(r"\[CALL_ID\]\w{1,40}")
_METHODS: Final = (".call", ".run", ".invoke")
"""What some models append to the name of a tool in Python."""
_BARE_KEY: Final = lazy_regex(r"([{,]\s{0,20})([A-Za-z_]\w{0,40})(\s{0,4}:)")
_NAME_PAIR: Final = lazy_regex(rf"[\"'](?:{'|'.join(NAME_KEYS)})[\"']\s*:\s*[\"']({_NAME})[\"']")
_ARGUMENTS_START: Final = lazy_regex(rf"[\"'](?:{'|'.join(ARGUMENT_KEYS)})[\"']\s*:\s*(?=\{{)")
_CALL_START: Final = lazy_regex(rf"(?<![\w.])({_NAME})\(")
_OPENING: Final = lazy_regex(r"[{\[]")
_PAIR: Final = lazy_regex(
    r"(?:^|[\s,;])(?:[-*]\s*)?(\w{1,40})\s?[:=]\s*(\"[^\"]*\"|'[^']*'|\[[^\]]*\]|.+?)"
    r"(?=[\s,;]+(?:[-*]\s*)?\w{1,40}\s?[:=]|\s*$)"
)


class CallNames:
    """The names by which a call written as text is known."""

    def __init__(self, names: Collection[str]) -> None:
        """Build the patterns of these names and of Home Assistant's intents."""
        ordered = sorted({name for name in names if name}, key=len, reverse=True)
        spaces = "|".join(re.escape(space) for space in _NAMESPACES)
        body = "|".join([r"Hass[A-Z]\w{1,60}", *(re.escape(name) for name in ordered)])
        self.pattern = re.compile(rf"(?:(?:{spaces})(?:{body}|\w{{1,64}})|(?:{body}))(?!\w)(?::\d{{1,4}})?")
        self._quoted = re.compile(rf"""["'](?:{body})["']""")
        starts = "|".join(["Hass[A-Z]", spaces, *(re.escape(name) for name in ordered)])
        self.trigger = re.compile(rf"[<\[{{\u25c1`]|\b(?:{starts})")
        spaced = (space + name for space in _NAMESPACES for name in ("", *ordered))
        self._prefixes = frozenset(
            name[:end] for name in (*ordered, *spaced, "Hass") for end in range(1, len(name) + 1)
        )
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

    def in_json(self, raw: str) -> bool:
        """Return whether JSON, or an attempt at JSON, calls a tool."""
        return bool(
            (_HAS_NAME.search(raw) and _HAS_ARGUMENTS.search(raw))
            or _CALL_LIST.search(raw)
            or self._quoted.search(raw)
        )


@lru_cache(maxsize=16)
def call_names(names: frozenset[str]) -> CallNames:
    """Return the patterns of these names, which are the same from turn to turn."""
    return CallNames(names)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """One call; `args` is None if its arguments cannot be read, and `name` is empty if there was none."""

    name: str
    args: dict[str, Any] | None


@dataclass(slots=True)
class CallText:
    """A piece of a reply that was taken for calls."""

    raw: str
    alone: bool
    """Whether the piece has its lines for itself; amid a sentence, it may be about a call."""
    arguments: bool = False
    """Whether the piece may be the arguments of a call without the name of its tool."""

    def read(self, is_tool: Callable[[str], bool]) -> list[WrittenCall]:
        """Return the calls; `is_tool` tells whether a name is a tool."""
        text = self.raw[:MAX_CHARS]
        for mark in _QUOTE_MARKS:
            text = text.replace(mark, '"')
        text = _CALL_ID.sub("", text)
        bare = self._bare(text)
        as_key = partial(_from_tool_as_key, is_tool=is_tool)
        for read in (as_key, _from_xml, _from_key_tags, _from_json, _from_broken_json):
            found = list(read(text))[:MAX_CALLS]
            if found and (not bare or all(is_tool(call.name) for call in found)):
                return found
        if bare:
            return bare
        if (pair := _NAME_PAIR.search(text)) and is_tool(pair[1]):
            return [WrittenCall(pair[1], None)]
        if not self.alone:
            return []
        plain = _TAG.sub(" ", text).strip().strip("`").strip()
        for read_plain in (_from_named_json, _from_python, _from_pairs):
            if found := list(read_plain(plain, is_tool))[:MAX_CALLS]:
                return found
        name = _name_in(plain)
        return [WrittenCall(name, None)] if is_tool(name) else []

    def _bare(self, text: str) -> list[WrittenCall]:
        """Return the arguments that the piece consists of, without the names of tools."""
        if not (self.alone and self.arguments):
            return []
        found = [item for value in _values(text) for item in (value if isinstance(value, list) else [value])]
        return [WrittenCall("", args) for args in found if isinstance(args, dict)][:MAX_CALLS]


def _from_xml(text: str) -> Iterator[WrittenCall]:
    """Yield calls as `<invoke name=…><parameter name=…>` or `<function=…><parameter=…>`."""
    starts = list(_INVOKE.finditer(text))
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        body = text[start.end() : end]
        args = {found[1]: parsed(found[2].strip()) for found in _XML_ARGUMENT.finditer(body)}
        if args or (opening := _OPENING.search(body)) is None:
            yield WrittenCall(start[1], args)
        else:
            yield WrittenCall(start[1], _object_at(body, opening.start()))


def _from_key_tags(text: str) -> Iterator[WrittenCall]:
    """Yield a call as its name and pairs of `<arg_key>` and `<arg_value>`."""
    if args := {found[1]: parsed(found[2].strip()) for found in _KEY_TAGS.finditer(text)}:
        yield WrittenCall(_name_in(_TAG.sub(" ", text.partition("<arg_key>")[0]).strip()), args)


def _from_tool_as_key(text: str, is_tool: Callable[[str], bool]) -> Iterator[WrittenCall]:
    """Yield calls in which the name of a tool is the only key, or a tag around the arguments."""
    for found in islice(_NAMED_TAG.finditer(text), MAX_CALLS):
        if is_tool(found[1]) and (args := _object_at(text, found.end())) is not None:
            yield WrittenCall(found[1], args)
    for value in _values(text):
        if isinstance(value, dict) and len(value) == 1:
            name, args = next(iter(value.items()))
            if isinstance(args, dict) and isinstance(name, str) and is_tool(name):
                yield WrittenCall(name, args)


def _from_json(text: str) -> Iterator[WrittenCall]:
    """Yield calls as JSON, alone or in lists."""
    for value in _values(text):
        yield from _calls_in(value)


def _calls_in(value: Any, depth: int = 0) -> Iterator[WrittenCall]:
    """Yield the calls in a value that was JSON."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _calls_in(item, depth + 1)
    if not isinstance(value, dict):
        return
    for key in (*_LIST_KEYS, "function", "function_call"):
        if isinstance(value.get(key), list if key in _LIST_KEYS else dict):
            yield from _calls_in(value[key], depth + 1)
            return
    keys = (*NAME_KEYS, "action") if "action_input" in value else NAME_KEYS
    name = next((value[key] for key in keys if isinstance(value.get(key), str)), None)
    holder = next((key for key in ARGUMENT_KEYS if key in value), None)
    if name and holder:
        args = value[holder]
        args = parsed(args) if isinstance(args, str) else args
        yield WrittenCall(
            name.strip(), args if isinstance(args, dict) else {} if args in (None, "") else None
        )


def _from_broken_json(text: str) -> Iterator[WrittenCall]:
    """Yield calls whose outer brackets are wrong, while those of their arguments are right."""
    names = list(_NAME_PAIR.finditer(text))
    for start in islice(_ARGUMENTS_START.finditer(text), MAX_CALLS):
        name = next((found[1] for found in reversed(names) if found.start() < start.start()), None)
        args = _object_at(text, start.end())
        if name and args is not None:
            yield WrittenCall(name, args)


def _from_named_json(text: str, is_tool: Callable[[str], bool]) -> Iterator[WrittenCall]:
    """Yield calls as the name of a tool and the JSON of its arguments."""
    named = ((found, _name_in(found[1])) for found in _NAMED_JSON.finditer(text))
    for found, name in islice((pair for pair in named if is_tool(pair[1])), MAX_CALLS):
        end = _closing(text, found.end())
        yield WrittenCall(name, _object(text[found.end() : end]) if end else None)
        if end is None:
            return


def _name_in(text: str) -> str:
    """Return the name at the beginning of a text, without a number behind it."""
    found = re.match(_NAME, text)
    return re.sub(r":\d{1,4}\Z", "", found[0].rstrip(".:-")) if found else ""


def _from_python(text: str, is_tool: Callable[[str], bool]) -> Iterator[WrittenCall]:
    """Yield calls as Python writes them."""
    named = ((start, _without_method(start[1])) for start in _CALL_START.finditer(text))
    for start, name in islice((pair for pair in named if is_tool(pair[1])), MAX_CALLS):
        end = _closing(text, start.end() - 1)
        if end is None:
            return
        yield WrittenCall(name, _arguments(f"f{text[start.end() - 1 : end]}"))


def _without_method(name: str) -> str:
    """Return the name of a tool without what Python calls on it."""
    return next((name.removesuffix(method) for method in _METHODS if name.endswith(method)), name)


def unfenced(text: str) -> str:
    """Return the text inside a code fence, or the text itself."""
    body = text.strip().strip("`").strip()
    return body if body[:1] in ("{", "[") else body.partition("\n")[2].strip() or body


def _arguments(source: str) -> dict[str, Any] | None:
    """Return the arguments of a call in Python, if all are said by name."""
    try:
        node = ast.parse(source, mode="eval").body
    except SyntaxError, ValueError, RecursionError, MemoryError:
        return None
    if not isinstance(node, ast.Call):
        return None
    try:
        args = {key.arg: ast.literal_eval(key.value) for key in node.keywords if key.arg}
        given = [ast.literal_eval(value) for value in node.args]
    except ValueError, TypeError, RecursionError, MemoryError:
        return None
    if len(given) == 1 and isinstance(given[0], dict) and not args:
        return {str(key): value for key, value in given[0].items()}
    return None if given else args


def _from_pairs(text: str, is_tool: Callable[[str], bool]) -> Iterator[WrittenCall]:
    """Yield a call as its name and `key: value` pairs."""
    name = _name_in(text)
    if is_tool(name):
        pairs = {found[1]: parsed(found[2]) for found in _PAIR.finditer(text[len(name) :])}
        if pairs:
            yield WrittenCall(name, pairs)


def _values(text: str) -> Iterator[Any]:
    """Yield the objects and lists in a text, outermost only."""
    at = 0
    while (start := _OPENING.search(text, at)) and (at := _closing(text, start.start()) or 0):
        value = parsed(text[start.start() : at])
        if isinstance(value, str):
            return
        yield value


def _object_at(text: str, at: int) -> dict[str, Any] | None:
    """Return the object that begins at a bracket, None if it cannot be read."""
    end = _closing(text, at)
    return _object(text[at:end]) if end else None


def _object(text: str) -> dict[str, Any] | None:
    """Return the object that a text is, also with keys that are not quoted; None for anything else."""
    for written in (text, _BARE_KEY.sub(r'\1"\2"\3', text)):
        if isinstance(value := parsed(written), dict):
            return value
    return None


def _closing(text: str, at: int) -> int | None:
    """Return where the bracket ends that opens at `at`; None if it does not."""
    step = Balanced(text[at], prose=False).scan(text, at, final=True)
    return step.next if step.done else None
