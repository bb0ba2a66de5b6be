"""How large the project is, and whether a change made it larger: `python -m scripts.lib.size [--fix]`.

The figures are in size.json beside this file. A change that lowers one writes it down with --fix; one that
raises a figure has to say so by editing the file.
"""

import ast
from collections import Counter
from collections.abc import Iterable
import json
from pathlib import Path
import re
import sys
from typing import Final

ROOT: Final = Path(__file__).parents[2]
INTEGRATION: Final = ROOT / "custom_components" / "home_agent"
FIGURES: Final = Path(__file__).with_suffix(".json")
_NAME: Final = re.compile(r"\b_\w+")


def measure() -> dict[str, int]:
    """Return the figures by their names: lines, files, functions, bytes, words."""
    sources = _sources(INTEGRATION)
    used_once, private = one_use(sources.values())
    return {
        "lines of the integration": _lines(sources),
        "files of the integration": len(sources),
        "lines of tools, agent and languages": _lines(
            {
                path: text
                for path, text in sources.items()
                if path.relative_to(INTEGRATION).parts[0] in ("tools", "agent", "languages")
            }
        ),
        "lines of safety": _lines(_sources(INTEGRATION / "safety")),
        "private functions with one caller, in percent": round(100 * used_once / private),
        "bytes of word tables": sum(
            path.stat().st_size for path in (INTEGRATION / "languages").glob("*.json")
        ),
        "lines of tests": _lines(_sources(ROOT / "tests")),
        "lines of benchmarks": _lines(_sources(ROOT / "benchmarks")),
        "words of documents": sum(
            len(page.read_text(encoding="utf-8").split())
            for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
        ),
    }


def one_use(sources: Iterable[str]) -> tuple[int, int]:
    """Return how many private functions are named once beside their definition, and how many there are."""
    names: Counter[str] = Counter()
    defined: Counter[str] = Counter()
    for source in sources:
        names.update(_NAME.findall(source))
        defined.update(
            node.name
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("_")
            and not node.name.startswith("__")
        )
    return sum(names[name] == 2 for name in defined), defined.total()


def _sources(folder: Path) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}


def _lines(sources: dict[Path, str]) -> int:
    return sum(len(text.splitlines()) for text in sources.values())


def main() -> int:
    """Compare the figures with those written down, and print what grew."""
    now, before = measure(), json.loads(FIGURES.read_text(encoding="utf-8"))
    grown = {name: figure for name, figure in now.items() if figure > before.get(name, 0)}
    if "--fix" in sys.argv:
        kept = {name: min(figure, before.get(name, figure)) for name, figure in now.items()}
        FIGURES.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    for name, figure in grown.items():
        print(f"{name}: {figure:,} instead of at most {before.get(name, 0):,}; see {FIGURES.name}")
    return bool(grown)


if __name__ == "__main__":
    sys.exit(main())
