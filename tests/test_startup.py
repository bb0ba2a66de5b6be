"""What the integration costs at start: nothing is compiled while modules load."""

import ast
from collections.abc import Iterator
from pathlib import Path
import re

from homeassistant.core import HomeAssistant
import pytest

from custom_components import home_agent
from custom_components.home_agent import regex
from custom_components.home_agent.regex import compile_all, lazy

from .agent import async_add_agent
from .servers.model_server import ModelServer

INTEGRATION = Path(home_agent.__file__).parent


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs while a module is imported: all but the bodies of functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _at_import(child)


def test_no_pattern_is_compiled_while_modules_load() -> None:
    compiling = {
        f"{file.relative_to(INTEGRATION)}:{node.lineno}"
        for file in INTEGRATION.rglob("*.py")
        for node in _at_import(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
    }
    assert compiling == set()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the patterns that are compiled from now on; those of the modules are forgotten."""
    found: list[str] = []
    compile_now = re.compile

    def note(pattern: str, flags: int = 0) -> re.Pattern[str]:
        found.append(pattern)
        return compile_now(pattern, flags)

    monkeypatch.setattr(re, "compile", note)
    monkeypatch.setattr(regex, "_written", [])
    return found


def test_a_pattern_is_compiled_once_at_its_first_use(compiled: list[str]) -> None:
    word = lazy(r"(?P<first>\w)\w*", re.IGNORECASE)
    assert (word.pattern, compiled) == (r"(?P<first>\w)\w*", [])
    assert word.sub("x", "two words") == "x x"
    assert [found["first"] for found in word.finditer("two words")] == ["t", "w"]
    assert (word.flags & re.IGNORECASE, word.groups, dict(word.groupindex)) == (
        re.IGNORECASE,
        1,
        {"first": 1},
    )
    assert compiled == [word.pattern]
    with pytest.raises(AttributeError):
        word.scanner  # noqa: B018 - patterns are not this much alike


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    written, made = lazy(r"a+(b)?"), re.compile(r"a+(b)?")
    for text in ("aab", "xab", "b", "a ab"):
        for method in ("search", "match", "fullmatch"):
            mine, theirs = getattr(written, method)(text), getattr(made, method)(text)
            assert (mine and mine.span(1)) == (theirs and theirs.span(1))
        for method in ("findall", "split"):
            assert getattr(written, method)(text) == getattr(made, method)(text)
        assert written.subn("-", text) == made.subn("-", text)
    assert lazy(rb"\d+").findall(b"1 22") == [b"1", b"22"]


def test_all_patterns_are_compiled_ahead(compiled: list[str]) -> None:
    first, second = lazy("one"), lazy("two")
    assert first.search("one")
    compile_all()
    assert sorted(compiled) == ["one", "two"]
    assert second.search("two")
    assert sorted(compiled) == ["one", "two"]


async def test_a_set_up_compiles_them_beside_the_loop(
    house: HomeAssistant, model_server: ModelServer
) -> None:
    lazy("one more")
    await async_add_agent(house, model_server)
    assert regex._written == []
