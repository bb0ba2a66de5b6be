"""What an installed Home Assistant needs for chosen integrations.

Run with a Python that has `homeassistant`: with a file of integration names it prints their pinned
requirements, taken from the manifests of these integrations, of what they depend on, and of what their
platforms belong to; with `--constraints` the path of Home Assistant's own constraints.
"""

from collections.abc import Iterable
from importlib.util import find_spec
import json
from pathlib import Path
import sys

SHARED_PLATFORMS = {"backup", "diagnostics", "repairs"}


def core() -> Path:
    """Return the folder of the homeassistant package, which need not be importable yet."""
    spec = find_spec("homeassistant")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("homeassistant is not installed here")
    return Path(spec.submodule_search_locations[0])


def requirements(components: Path, wanted: Iterable[str]) -> set[str]:
    """Return the requirements of the wanted integrations and of everything they pull in."""
    known = {path.parent.name for path in components.glob("*/manifest.json")}
    todo, seen, found = list(wanted), set[str](), set[str]()
    while todo:
        domain = todo.pop()
        if domain in seen or domain not in known:
            continue
        seen.add(domain)
        manifest = json.loads((components / domain / "manifest.json").read_text(encoding="utf-8"))
        found.update(manifest.get("requirements", []))
        todo += manifest.get("dependencies", [])
        todo += [
            module.stem
            for module in (components / domain).glob("*.py")
            if module.stem in SHARED_PLATFORMS or is_entity_platform(components, module.stem)
        ]
    return found


def is_entity_platform(components: Path, name: str) -> bool:
    """Tell whether the module name of an integration is that of an entity platform such as light."""
    manifest = components / name / "manifest.json"
    return (
        manifest.exists()
        and json.loads(manifest.read_text(encoding="utf-8")).get("integration_type") == "entity"
    )


def main(argument: str) -> None:
    """Print what was asked for."""
    if argument == "--constraints":
        print(core() / "package_constraints.txt")
        return
    lines = Path(argument).read_text(encoding="utf-8").splitlines()
    wanted = [name for line in lines if (name := line.partition("#")[0].strip())]
    print("\n".join(sorted(requirements(core() / "components", wanted))))


if __name__ == "__main__":
    main(sys.argv[1])
