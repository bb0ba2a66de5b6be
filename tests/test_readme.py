"""HACS shows the README: it has to be there and say something."""

from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_readme() -> None:
    written = README.read_text(encoding="utf-8")
    assert written.startswith("# Home Agent")
    assert len(written) > 500
