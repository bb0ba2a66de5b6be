"""Pages for developers name files that exist."""

from pathlib import Path
import re

import pytest

from tests.helpers.documents import ROOT

INTEGRATION = ROOT / "custom_components" / "home_agent"
NAMED = re.compile(r"`([\w./<>-]+(?:\.py|\.json|/))`")
PLACEHOLDER = re.compile(r"<\w+>")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/developers/architecture.md"])
def test_named_files_exist(page: str) -> None:
    named = set(NAMED.findall((ROOT / page).read_text(encoding="utf-8")))
    assert named
    assert [name for name in sorted(named) if not _exists(name)] == []


def _exists(name: str) -> bool:
    pattern = PLACEHOLDER.sub("*", name.rstrip("/"))
    places: list[Path] = [ROOT, INTEGRATION]
    if any(next(place.glob(pattern), None) for place in places):
        return True
    return next(INTEGRATION.rglob(pattern), None) is not None
