"""Tables that stand beside a module in a YAML file of the same name."""

from pathlib import Path
from typing import Any

import yaml


def tables(module: str) -> dict[str, Any]:
    """Return the tables beside a module, whose `__file__` is given."""
    return dict(yaml.safe_load(Path(module).with_suffix(".yaml").read_text(encoding="utf-8")))
