"""Copies texts of the options into the forms of further agents; `scripts/agent_forms` runs this.

Home Assistant looks for the texts of a subentry's forms in a section of their own. A custom integration
cannot refer to other texts there.
"""

from copy import deepcopy
import json
import sys
from typing import Any, Final

from .generated import TRANSLATIONS, write_or_check

PAGES: Final = ("answers", "permissions", "tools", "safety", "prompt", "llm", "context", "history")
MEMORY: Final = ("memory_enabled", "memory_extraction_enabled", "profile_enabled")
LISTS: Final = ("visible_entities", "controllable_entities")


def with_copies(texts: dict[str, Any]) -> dict[str, Any]:
    """Return the texts of a language with the copies; without forms there is nothing to copy."""
    if "config_subentries" not in texts:
        return texts
    found = deepcopy(texts)
    steps, agent = found["options"]["step"], found["config_subentries"]["agent"]
    for page in PAGES:
        copied = deepcopy(steps[page])
        if page == "llm":
            copied.pop("sections", None)
        agent["step"][page] = copied
        menu = "init" if page in steps["init"]["menu_options"] else "expert"
        agent["step"]["reconfigure"]["menu_options"][page] = steps[menu]["menu_options"][page]
    agent["step"]["reconfigure"]["menu_options"]["done"] = steps["init"]["menu_options"]["done"]
    for part in ("data", "data_description"):
        for key in MEMORY:
            if key in steps["memory"][part]:
                agent["step"]["agent"][part][key] = steps["memory"][part][key]
    for key in LISTS:
        agent["step"]["user"]["data"][key] = steps["permissions"]["data"][key]
    own = {key: text for key, text in agent["error"].items() if key not in found["options"]["error"]}
    agent["error"] = {**found["options"]["error"], **own}
    return found


def main() -> int:
    """Write the copies, or only say whether they differ."""
    files = {}
    for path in sorted(TRANSLATIONS.glob("*.json")):
        texts = with_copies(json.loads(path.read_text(encoding="utf-8")))
        files[path] = json.dumps(texts, ensure_ascii=False, indent=2) + "\n"
    return write_or_check(files)


if __name__ == "__main__":
    sys.exit(main())
