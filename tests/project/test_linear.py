"""Every pattern and every reader of text takes time in proportion to the length of the text.

Nothing is listed here: a new pattern, and a new reader in one of the modules below, is tried as well.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
import importlib
import inspect
from pathlib import Path
import pkgutil
import re
from types import ModuleType
from typing import Any, cast, get_type_hints

import pytest

import custom_components.home_agent as package
from custom_components.home_agent import regex
from custom_components.home_agent.agent.rounds import may_answer_order
from custom_components.home_agent.agent.speech import CallText
from custom_components.home_agent.const import MAX_SENTENCE_CHARS
from tests.helpers.checks import for_each
from tests.helpers.growth import LENGTH, too_slow

pytestmark = pytest.mark.slow

BOUNDED = {
    "agent.speech": 20_000,  # what the filter holds back of an answer
    "languages.": MAX_SENTENCE_CHARS,  # what the person said
    "safety.sanitizer.": 20_000,  # longer texts are cut before they are read
    "safety.firewall.": 20_000,
}
"""Characters that the callers of a folder hand over at most."""
PARTS = 8
"""Tests that share the patterns, so that they can run side by side."""

SPACED = "1 |12 |1.|1,|1:|1-|1h |a |aa |a1|a-|a.|a@|a_|a:|a=|Ab |<a |<a b='|- |1. "
SIGNS = "- . _ * ** ` ``` # | \\ / // % %41 = & ? ! … ( [ { < \" ' “ []( [a]( ![ </ {'a': [1,"
STRINGS = [
    *("0", "1", "a", "A", "é", "e\u0301", "\u0301", "\u200d", "一", "😀", "٣", "ß", " ", "\n", "\t", "\x00"),
    *(*SPACED.split("|"), *SIGNS.split()),
    *("http://", "a://b", "+49 ", "in ", "at ", "code: ", "code:", "is ", "\r\n", " \n", "x\n", ", ", "; "),
]
"""What all are tried with, repeated; a pattern is tried with its own pieces besides."""


def modules() -> Iterator[ModuleType]:
    """Yield all modules of the integration."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def inline() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the patterns that stand in calls such as `re.sub`."""
    for file in sorted(Path(package.__path__[0]).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re")), args=[ast.Constant(value=str(written)), *_]
                ):
                    yield f"{file.stem}:{node.lineno} re", re.compile(written)


def held(value: Any, depth: int = 4) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns in a value of a module."""
    if isinstance(value, (regex._Lazy, re.Pattern)):
        yield cast(re.Pattern[Any], value)
    elif depth and isinstance(value, Mapping):
        for item in value.values():
            yield from held(item, depth - 1)
    elif depth and isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from held(item, depth - 1)
    elif depth and is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from held(getattr(value, field.name, None), depth - 1)
    elif depth and type(value).__module__.startswith(package.__name__) and hasattr(value, "__dict__"):
        yield from held(vars(value), depth)
    elif callable(value) and hasattr(value, "cache_info") and not inspect.signature(value).parameters:
        yield from held(value(), depth)


@cache
def methods() -> dict[tuple[str, str], set[str]]:
    """Return which methods are called on a name, by file; the file is empty for names that others import."""
    found: dict[tuple[str, str], set[str]] = {}
    for file in Path(package.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                    pass
                case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr=method)):
                    pass
                case ast.Call(func=ast.Name(id="end_of"), args=[ast.Name(id=name), *_]):
                    method = "match"
                case _:
                    continue
            found.setdefault((file.stem if name.startswith("_") else "", name), set()).add(method)
    return found


def runs(name: str, pattern: re.Pattern[Any]) -> Callable[[Any], object]:
    """Return how a pattern is used: at one place only, or searched through to the end."""
    module, variable = name.split()[:2]
    file = module.rpartition(".")[2] if variable.startswith("_") else ""
    used = methods().get((file, variable), set())
    if used and used <= {"match", "fullmatch"}:
        return lambda text: [getattr(pattern, method)(text) for method in sorted(used)]
    return lambda text: [None for _ in pattern.finditer(text)]


@cache
def patterns() -> dict[str, re.Pattern[Any]]:
    """Return every pattern of the integration by the module that holds it and its text."""
    found = dict(inline())
    seen = set()
    for module in modules():
        name = module.__name__.removeprefix(f"{package.__name__}.")
        if module is regex:
            continue
        for variable, value in list(vars(module).items()):
            for pattern in held(value):
                if id(pattern) not in seen:
                    found[f"{name} {variable} {pattern.pattern!r} {pattern.flags}"] = pattern
                seen.add(id(pattern))
    for item in regex._written:
        if id(item) not in seen:
            found[f"? ? {item.pattern!r}"] = cast(re.Pattern[Any], item)
    return dict(sorted(found.items()))


def pieces(pattern: re.Pattern[Any]) -> list[str]:
    """Return the words and signs that a pattern names."""
    written = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    plain = re.sub(r"\\[a-zA-Z]|\(\?[a-zA-Z:<!=]+", "", written)
    found = list(dict.fromkeys(re.findall(r"[^\W\d_]{2,}|\W", plain)))[:8]
    return [*found, *(f"{piece} " for piece in found)]


@for_each("part", range(PARTS))
def test_every_pattern_is_linear(part: int) -> None:
    """As it is used, with whatever makes it begin again and again."""
    known = list(patterns().items())[part::PARTS]
    assert len(known) > 20
    slow = {}
    for name, pattern in known:
        is_bytes = isinstance(pattern.pattern, bytes)
        strings = [*STRINGS, *pieces(pattern)]
        most = next((bound for folder, bound in BOUNDED.items() if name.startswith(folder)), LENGTH)
        if problem := too_slow(runs(name, pattern), strings, is_bytes=is_bytes, most=most):
            slow[name[:100]] = problem
    assert slow == {}


READERS = (
    *("agent.speech", "context.window", "inference.transport", "texts"),
    *("memory.extractor", "memory.sentences"),
    *("safety.answers", "safety.redaction", "safety.firewall.firewall", "safety.firewall.own_values"),
    *("safety.sanitizer.private_names", "safety.sanitizer.sanitizer"),
    *("tools.calls.repair", "context.kind_lines"),
    *("timespans", "tools.control.values", "when"),
    *("knowledge.names", "tools.resolving.resolver", "texts", "vector.lexical"),
)
"""Modules whose public functions read text."""
ELSEWHERE = {"clean", "read_candidates"}
"""Read long texts in a worker thread only, or replies that the limit of tokens keeps short."""


def readers() -> Iterator[tuple[str, Callable[[Any], object]]]:
    """Yield the public functions that take one text, and nothing else that has no default."""
    for name in READERS:
        module = importlib.import_module(f"{package.__name__}.{name}")
        for key, function in inspect.getmembers(module, inspect.isfunction):
            if key.startswith("_") or function.__module__ != module.__name__ or key in ELSEWHERE:
                continue
            needed = [
                parameter
                for parameter in inspect.signature(function).parameters.values()
                if parameter.default is parameter.empty
            ]
            if needed and needed[0].annotation in (str, "str", Any, object):
                yield f"{name}.{key}", _bound(function, len(needed))


def _bound(function: Callable[..., object], needed: int) -> Callable[[Any], object]:
    """Return a reader of one text; its other arguments are the simplest that may be given."""
    hints = get_type_hints(function)
    names = list(inspect.signature(function).parameters)[1:needed]
    given = [_simplest(hints.get(name)) for name in names]

    def read(text: Any) -> object:
        try:
            return function(text, *given)
        except Exception:  # noqa: BLE001 - a refusal is as good as an answer
            return None

    return read


def _simplest(hint: Any) -> Any:
    return {str: "en", int: 10, float: 1.0, bool: False}.get(hint)


@pytest.mark.parametrize(("name", "read"), [pytest.param(*found, id=found[0]) for found in readers()])
def test_every_reader_is_linear(name: str, read: Callable[[Any], object]) -> None:
    """Of whatever a model, a person or a service may hand over."""
    assert too_slow(read, STRINGS) == "", name


def test_calls_in_text_are_read_in_linear_time() -> None:
    """Whatever a model may write where a call is expected."""

    def read(text: str) -> object:
        return CallText(text, alone=True).read(bool)

    calls = ['{"name": "a", ', "f(", 'f("', "f{", "[f(", "{'", 'f{a:<|"|>', "<function=f>", "f\na: 1\n"]
    assert too_slow(read, [*STRINGS, *calls]) == ""


def test_answers_are_judged_in_linear_time() -> None:
    """Whatever a model may answer, also without an end of a word or of a sentence."""

    def judge(text: str) -> object:
        return may_answer_order(text, "en")

    assert too_slow(judge, [*STRINGS, "x", "I have ", "done, ", "is on. "]) == ""
