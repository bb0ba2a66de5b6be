"""Writes the translations of language variants; `scripts/variants` runs this."""

from collections.abc import Callable, Mapping
import json
from pathlib import Path
import re
import sys
from typing import Any, Final

from .generated import TRANSLATIONS, write_or_check

VARIANTS: Final[Mapping[str, dict[str, Any]]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
"""By variant: the language that it varies (`of`), and the words and phrases that differ (`words`)."""


def varied(variant: str) -> str:
    """Return the file of a variant as it has to be."""
    of, words = VARIANTS[variant]["of"], VARIANTS[variant]["words"]
    tree = json.loads((TRANSLATIONS / f"{of}.json").read_text(encoding="utf-8"))
    pattern = re.compile(rf"\b(?:{'|'.join(sorted(words, key=len, reverse=True))})\b", re.IGNORECASE)
    return json.dumps(_mapped(tree, _replacer(pattern, words)), ensure_ascii=False, indent=2) + "\n"


def _replacer(pattern: re.Pattern[str], words: Mapping[str, str]) -> Callable[[str], str]:
    """Return what replaces the words in a text and keeps capital letters; names in code and braces stay."""

    def replace(found: re.Match[str]) -> str:
        new = words[found[0].lower()]
        return new[0].upper() + new[1:] if found[0][0].isupper() else new

    def replaced(text: str) -> str:
        parts = re.split(r"(`[^`]*`|\{\w+\})", text)
        return "".join(part if index % 2 else pattern.sub(replace, part) for index, part in enumerate(parts))

    return replaced


def _mapped(tree: Any, change: Callable[[str], str]) -> Any:
    if isinstance(tree, dict):
        return {key: _mapped(value, change) for key, value in tree.items()}
    return change(tree)


if __name__ == "__main__":
    sys.exit(write_or_check({TRANSLATIONS / f"{variant}.json": varied(variant) for variant in VARIANTS}))
