"""What people say, by language, as `fixtures/spoken.yaml` has it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

_FILE: Final = Path(__file__).parents[1] / "fixtures" / "spoken.yaml"
_SPOKEN: Final[Mapping[str, Mapping[str, Sequence[str]]]] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
QUESTIONS: Final = _SPOKEN["questions"]
REQUESTS: Final = _SPOKEN["requests"]
REASONS: Final = _SPOKEN["reasons"]
