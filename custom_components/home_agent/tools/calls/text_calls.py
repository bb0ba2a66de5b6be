"""Tool calls that a model wrote as text instead of making them, read in the forms that models write.

Only what says each argument by name is read. What cannot be read is handed on without arguments, so that
the model is told; nothing is guessed.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
import json
import re
from typing import Any, Final

from ...literals import ARGUMENT_KEYS, NAME_KEYS, parsed
from ...regex import lazy

LIST_KEYS: Final = ("tool_calls", "tool_uses", "function_calls", "calls")
MAX_CALLS: Final = 10
"""Calls that are read, and places where one could begin that are looked at."""
MAX_CHARS: Final = 20_000
MAX_VALUE: Final = 5_000
"""Characters of one argument in XML."""
MAX_DEPTH: Final = 4

_NAME: Final = r"[A-Za-z_][\w.:-]{0,80}"
_QUOTE_MARK: Final = '<|"|>'
_TAG: Final = lazy(r"<[|\uff5c/]{0,2}[A-Za-z_][\w:.\u2581-]{0,40}[|\uff5c]?>|\[/?[A-Z_]{3,20}\]")
_INVOKE: Final = lazy(rf"<(?:\w+:)?(?:invoke\s+name=|function[= ](?:name=)?)[\"']?({_NAME})[\"']?\s*>")
_XML_ARGUMENT: Final = lazy(
    rf"<(?:\w+:)?parameter(?:\s+name)?=[\"']?([\w.-]{{1,60}})[\"']?[^>]{{0,40}}>\s{{0,20}}(.{{0,{MAX_VALUE}}}?)\s{{0,20}}</(?:\w+:)?parameter>",
    re.DOTALL,
)
_NAMED_JSON: Final = lazy(
    rf"(?<![\w.:-])({_NAME}?)(?::\d{{1,4}})?\s{{0,5}}(?:\[ARGS\]|<[|][\w\u2581]+[|]>)?\s{{0,5}}(?=\{{)"
)
_BARE_KEY: Final = lazy(r"([{,]\s{0,20})([A-Za-z_]\w{0,40})(\s{0,4}:)")
_NAME_PAIR: Final = lazy(rf"[\"'](?:{'|'.join(NAME_KEYS)})[\"']\s*:\s*[\"']({_NAME})[\"']")
_ARGUMENTS_START: Final = lazy(rf"[\"'](?:{'|'.join(ARGUMENT_KEYS)})[\"']\s*:\s*(?=\{{)")
_CALL_START: Final = lazy(rf"(?<![\w.])({_NAME})\(")
_PAIR: Final = lazy(
    r"(?:^|[\s,;])(?:[-*]\s*)?(\w{1,40})\s?[:=]\s*(\"[^\"]*\"|'[^']*'|\[[^\]]*\]|.+?)"
    r"(?=[\s,;]+(?:[-*]\s*)?\w{1,40}\s?[:=]|\s*$)"
)
_EDGES: Final = " \t`*->.;"


@dataclass(frozen=True, slots=True)
class TextCall:
    """One call; `args` is None where its arguments cannot be read."""

    name: str
    args: dict[str, Any] | None


def read_calls(raw: str, known: Callable[[str], bool], *, alone: bool = True) -> list[TextCall]:
    """Return the calls in a text that was taken for calls.

    `known` tells names that stand for tools. A call by name only counts where it stands `alone`, not amid a
    sentence about it.
    """
    text = raw[:MAX_CHARS].replace(_QUOTE_MARK, '"')
    for read in (_from_xml, _from_json, _from_broken_json):
        if found := list(read(text))[:MAX_CALLS]:
            return found
    if (pair := _NAME_PAIR.search(text)) and known(pair[1]):
        return [TextCall(pair[1], None)]
    if not alone:
        return []
    plain = _TAG.sub(" ", text).strip().strip("`").strip()
    for read_plain in (_from_named_json, _from_python, _from_pairs):
        if found := list(read_plain(plain, known))[:MAX_CALLS]:
            return found
    name = re.match(_NAME, plain)
    return [TextCall(name[0].rstrip(".:-"), None)] if name and known(name[0].rstrip(".:-")) else []


def stands_alone(content: str, raw: str) -> bool:
    """Return whether a piece of a reply has its lines for itself."""
    at = content.find(raw)
    if at < 0:
        return True
    before = content[:at].rpartition("\n")[2]
    after = content[at + len(raw) :].partition("\n")[0]
    return not before.strip(_EDGES) and not after.strip(_EDGES)


def _from_xml(text: str) -> Iterator[TextCall]:
    """Yield calls as `<invoke name=…><parameter name=…>` or `<function=…><parameter=…>`."""
    starts = list(_INVOKE.finditer(text))
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        body = text[start.end() : end]
        args = {found[1]: parsed(found[2].strip()) for found in _XML_ARGUMENT.finditer(body)}
        if not args and (value := next(_json_values(body), None)) is not None:
            args = value if isinstance(value, dict) else {}
        yield TextCall(start[1], args)


def _from_json(text: str) -> Iterator[TextCall]:
    """Yield calls as JSON, alone or in lists."""
    for value in _json_values(text):
        yield from _calls_in(value)


def _calls_in(value: Any, depth: int = 0) -> Iterator[TextCall]:
    """Yield the calls in a value that was JSON."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _calls_in(item, depth + 1)
    if not isinstance(value, dict):
        return
    for key in LIST_KEYS:
        if isinstance(value.get(key), list):
            yield from _calls_in(value[key], depth + 1)
            return
    for key in ("function", "function_call"):
        if isinstance(value.get(key), dict):
            yield from _calls_in(value[key], depth + 1)
            return
    keys = (*NAME_KEYS, "action") if "action_input" in value else NAME_KEYS
    name = next((value[key] for key in keys if isinstance(value.get(key), str)), None)
    holder = next((key for key in ARGUMENT_KEYS if key in value), None)
    if name and holder:
        args = value[holder]
        args = parsed(args) if isinstance(args, str) else args
        yield TextCall(name.strip(), args if isinstance(args, dict) else {} if args in (None, "") else None)


def _from_broken_json(text: str) -> Iterator[TextCall]:
    """Yield calls whose outer brackets are wrong, while those of their arguments are right."""
    names = list(_NAME_PAIR.finditer(text))
    for start in islice(_ARGUMENTS_START.finditer(text), MAX_CALLS):
        name = next((found[1] for found in reversed(names) if found.start() < start.start()), None)
        value = next(_json_values(text[start.end() :]), None)
        if name and isinstance(value, dict):
            yield TextCall(name, value)


def _from_named_json(text: str, known: Callable[[str], bool]) -> Iterator[TextCall]:
    """Yield calls as the name of a tool and the JSON of its arguments."""
    named = ((_bare_name(found[1]), found) for found in _NAMED_JSON.finditer(text))
    for name, found in islice((pair for pair in named if pair[0] and known(pair[0])), MAX_CALLS):
        rest = text[found.end() :]
        value = next(_json_values(rest), None)
        if value is None:
            value = next(_json_values(_BARE_KEY.sub(r'\1"\2"\3', rest)), None)
        yield TextCall(name, value if isinstance(value, dict) else None)


def _bare_name(written: str) -> str:
    """Return a name without a number behind it."""
    return re.sub(r":\d{1,4}\Z", "", written.rstrip(":.-"))


def _from_python(text: str, known: Callable[[str], bool]) -> Iterator[TextCall]:
    """Yield calls as Python writes them."""
    starts = (start for start in _CALL_START.finditer(text) if known(start[1]))
    for start in islice(starts, MAX_CALLS):
        source = _balanced(text, start.end() - 1)
        if source is None:
            continue
        yield TextCall(start[1], _arguments(f"f{source}"))


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


def _balanced(text: str, at: int) -> str | None:
    """Return the brackets that open at `at` with all that is in them."""
    depth, quote = 0, ""
    for index in range(at, len(text)):
        char = text[index]
        if quote:
            quote = "" if char == quote and text[index - 1] != "\\" else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return text[at : index + 1]
    return None


def _from_pairs(text: str, known: Callable[[str], bool]) -> Iterator[TextCall]:
    """Yield a call as its name and `key: value` pairs."""
    name = re.match(_NAME, text)
    if name is None or not known(name[0].rstrip(".:-")):
        return
    pairs = {found[1]: parsed(found[2]) for found in _PAIR.finditer(text[name.end() :])}
    if pairs:
        yield TextCall(name[0].rstrip(".:-"), pairs)


def _json_values(text: str) -> Iterator[Any]:
    """Yield the objects and lists in a text, outermost only."""
    decoder = json.JSONDecoder()
    at = 0
    while (at := next((i for i in range(at, len(text)) if text[i] in "{["), len(text))) < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError, RecursionError:
            source = _balanced(text, at) if text[at] == "{" and text[at + 1 : at + 2] in "'\"" else None
            value = parsed(source) if source else None
            if not isinstance(value, dict):
                return
            at += len(source or " ")
        yield value
