"""Who imports whom: one direction, and no circle, the imports for types included."""

import ast
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
import re

import pytest

from custom_components import home_agent

ROOT = Path(home_agent.__file__).parent

LAYERS = (
    (
        "const",
        "database",
        "errors",
        "events",
        "idle",
        "issues",
        "languages",
        "regex",
        "settings",
        "texts",
        "timespans",
    ),
    ("store", "inference", "vector", "connection"),
    ("domains",),
    ("safety", "knowledge", "memory", "planned", "when"),
    (*("tools", "context", "conversations"), *("panel.usage", "self_test.kept")),
    ("agent", "channels", "proactive", "privacy", "runtime", "entity"),
)
"""From below to above; a room imports from its own layer and from those below. What is not named is above."""


def modules() -> Mapping[str, Path]:
    """Return the files of the package by the names of their modules, the package itself without one."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imported(name: str) -> set[str]:
    """Return the modules of the package that one imports, wherever in the file that stands."""
    path = MODULES[name]
    package = name.split(".") if name else []
    if path.name != "__init__.py":
        package = package[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
        for alias in node.names:
            inner = ".".join([*base, alias.name])
            found.add(inner if inner in MODULES else ".".join(base))
    return found - {name}


IMPORTS = {name: imported(name) for name in MODULES}


def layer(name: str) -> int:
    """Return the number of a module's layer."""
    named = {name, name.partition(".")[0]}
    return next((number for number, rooms in enumerate(LAYERS) if named.intersection(rooms)), len(LAYERS))


def test_every_import_is_found() -> None:
    """What is imported is a file of the package; a layer names nothing that is gone."""
    assert set().union(*IMPORTS.values()) <= set(MODULES)
    assert {room for rooms in LAYERS for room in rooms} <= {
        *MODULES,
        *(name.partition(".")[0] for name in MODULES),
    }


def test_no_circle() -> None:
    """Each file can be read before those that use it."""
    try:
        TopologicalSorter(IMPORTS).prepare()
    except CycleError as err:
        pytest.fail(f"these import each other: {' <- '.join(err.args[1])}")


def test_one_direction() -> None:
    """Nothing below knows what stands above."""
    upward = [f"{name} -> {each}" for name in IMPORTS for each in IMPORTS[name] if layer(each) > layer(name)]
    assert sorted(upward) == []


TESTS = Path(__file__).parents[1]


def test_no_test_imports_another() -> None:
    """What tests share is in tests/helpers."""
    files = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    assert files
    found = [
        f"{path.relative_to(TESTS)}: {node.module}"
        for path, source in files.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and re.match(r"(tests\.(\w+\.)*)?test_", node.module or "")
    ]
    assert found == []


ASKS_EXPOSURE = {"context.retrieval", "proactive.rules"}
"""The view of an agent, and what looks at the weather."""


def test_only_the_view_asks_what_is_exposed() -> None:
    """Anything else would go round the lists of what an agent may see."""
    found = re.compile(r"import .*\bis_exposed\b")
    asking = {name for name, path in MODULES.items() if found.search(path.read_text("utf-8"))}
    assert asking == ASKS_EXPOSURE
