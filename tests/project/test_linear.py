"""Every pattern takes time in proportion to the length of the text. A new one is tried as well."""

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
from typing import Any, cast

import pytest

import custom_components.home_agent as package
from custom_components.home_agent import regex
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
