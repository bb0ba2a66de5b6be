"""The one place where services are called."""

from pathlib import Path
import re

from custom_components import home_agent

INTEGRATION = Path(home_agent.__file__).parent


def test_services_are_called_in_one_place() -> None:
    calling = {
        str(file.relative_to(INTEGRATION))
        for file in INTEGRATION.rglob("*.py")
        if re.search(r"services\s*\.async_call\b", file.read_text(encoding="utf-8"))
    }
    assert calling == {"tools/guard.py", "tools/own_calls.py"}
