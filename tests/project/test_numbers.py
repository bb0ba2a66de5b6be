"""Each number on the pages for people is that of the code, of a benchmark, or explained."""

import re

import pytest

from custom_components.home_agent.proactive import rules
from tests.helpers.checks import every
from tests.helpers.documents import PAGES, code, rows, section
from tests.helpers.prose import of_page
from tests.helpers.said_numbers import EXPLAINED, HELD, SAID, TOKENS


def without(sentence: str, parts: list[str]) -> str:
    """Return a sentence without these parts, the longest first."""
    for part in sorted(parts, key=len, reverse=True):
        sentence = re.sub(rf"(?<![\d.,]){re.escape(part)}(?![\d]|[.,]\d)", " ", sentence)
    return sentence


@pytest.mark.parametrize("page", SAID)
def test_what_is_said(page: str) -> None:
    """Each statement is on its page with the numbers of the code."""
    written = "\n".join(of_page(page))
    expected = [template.format(*values) for template, *values in SAID[page]]
    assert [one for one in every(expected) if one not in written] == []


@pytest.mark.parametrize("page", HELD)
def test_no_other_numbers(page: str) -> None:
    """A number that nothing explains fails: add its statement above."""
    known = [template.format(*values) for template, *values in SAID.get(page, [])]
    known += EXPLAINED.get(page, ())
    found = [sentence for sentence in of_page(page) if re.search(r"\d", without(sentence, known))]
    assert found == []


def test_tokens_of_tools() -> None:
    """They are those of the benchmark."""
    written = section("docs/everyday.md", "Everyday tools", 1)
    shown = {code(tool)[0]: tokens for tool, _, tokens, _ in rows(written, 4)}
    assert {tool: tokens.partition(",")[0] for tool, tokens in shown.items()} == {
        tool: TOKENS[tool] for tool in shown
    }


def test_times_of_rules() -> None:
    shown = {code(rule)[0]: time for rule, _, time in rows(section("docs/proactive.md", "Rules"), 3)}
    expected = {name: rule.duration.total_seconds() / 60 for name, rule in rules.TEMPLATES.items()}
    assert {
        rule: float(time.split()[0]) * (60 if "hour" in time else 1) for rule, time in shown.items()
    } == expected


def figures(row: str) -> tuple[list[str], list[str]]:
    """Return the figures of Home Agent and of core in a row of the measured table."""
    (cells,) = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGES["docs/benchmarks.md"].splitlines()
        if line.startswith(f"| {row}, ")
    )
    return cells[1].split(" / "), cells[2].split(" / ")


def test_figures_beside_core() -> None:
    """They are those that the benchmarks measured."""
    plain, with_call, tokens = figures("P1"), figures("P2"), figures("P5")
    readme, compared = table_rows("README.md"), table_rows("docs/comparison.md")
    for row, unit, (ours, core) in (
        ("Tokens of the first request", "", tokens),
        ("Time added to an answer", " ms", plain),
        ("Time added to a command", " ms", with_call),
    ):
        assert [row, f"{core[1]}{unit}", f"{ours[1]}{unit}"] in readme
    times = ([f"{measured[place]} ms" for measured in reversed(plain)] for place in range(3))
    counts = [
        ["", ""],
        *([f"; {measured[place]} tokens" for measured in reversed(tokens)] for place in (1, 2)),
    ]
    for size, time, count in zip(("50", "500", "5,000"), times, counts, strict=True):
        assert [size, *map("".join, zip(time, count, strict=True))] in compared


def table_rows(page: str) -> list[list[str]]:
    """Return the rows of all tables of a page."""
    lines = (line for line in PAGES[page].splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
