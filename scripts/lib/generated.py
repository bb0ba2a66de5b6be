"""Files that are made from others: written, or with `--check` only compared."""

from collections.abc import Mapping
from pathlib import Path
import sys
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
TRANSLATIONS: Final = ROOT / "custom_components" / "home_agent" / "translations"


def write_or_check(files: Mapping[Path, str]) -> int:
    """Write the files that differ from what they should hold, or say which do; return the exit code."""
    is_check = "--check" in sys.argv
    differing = [
        path for path, new in files.items() if not path.exists() or path.read_text(encoding="utf-8") != new
    ]
    for path in differing:
        if not is_check:
            path.write_text(files[path], encoding="utf-8")
        print(f"{path.name}: {'is not up to date' if is_check else 'written'}")
    return int(bool(differing) and is_check)
