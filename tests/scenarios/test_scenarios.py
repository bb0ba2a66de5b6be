"""Conversations of a household are as good as their files say, no worse and no better."""

from zlib import crc32

import pytest

from homeassistant.components.recorder import Recorder
from homeassistant.core import HomeAssistant
from tests.helpers.examples import THOROUGH
from tests.helpers.lingering import expected_lingering_timers  # noqa: F401 - a fixture
from tests.helpers.scenario_run import async_run
from tests.helpers.scenarios import Run, Verdict, load_runs
from tests.servers.model_server import ModelServer

RUNS = load_runs()


def _held() -> list[Run]:
    """Return each scenario in its first language and in another one, which differs from scenario to scenario.

    What only one scenario speaks is held, too. `scripts/test --long` and `scripts/bench scenarios` hold all.
    """
    languages: dict[tuple[str, str], list[Run]] = {}
    for run in RUNS:
        if run.mistake is None:
            languages.setdefault((run.theme, run.scenario["name"]), []).append(run)
    held = [run for run in RUNS if run.mistake]
    for (_theme, name), (first, *others) in languages.items():
        held += [first, *others] if THOROUGH else [first]
        if others and not THOROUGH:
            held.append(others[crc32(name.encode()) % len(others)])
    languages_held = {run.language for run in held}
    held += {run.language: run for run in RUNS if run.language not in languages_held}.values()
    return held


HELD = _held()


async def _async_hold(hass: HomeAssistant, server: ModelServer, run: Run) -> None:
    result = await async_run(hass, server, run)
    assert result.verdict is run.expected, (
        "\n".join(problem.text for problem in result.problems) or "now good"
    )


@pytest.mark.parametrize("run", [run for run in HELD if not run.is_recorded], ids=lambda run: run.id)
async def test_scenario(hass: HomeAssistant, model_server: ModelServer, run: Run) -> None:
    """A conversation is as good as its file says."""
    await _async_hold(hass, model_server, run)


@pytest.mark.parametrize("run", [run for run in HELD if run.is_recorded], ids=lambda run: run.id)
async def test_scenario_about_the_past(
    recorder_mock: Recorder, hass: HomeAssistant, model_server: ModelServer, run: Run
) -> None:
    """A conversation about what was is as good as its file says."""
    await _async_hold(hass, model_server, run)


def test_names_are_unique() -> None:
    """Each conversation has a name of its own."""
    names = [run.id for run in RUNS]
    assert len(names) == len(set(names)) > 0


def test_every_language_is_held() -> None:
    """No language is left to the longer tests."""
    assert {run.language for run in HELD} == {run.language for run in RUNS}


def test_every_defect_has_a_reason() -> None:
    """A scenario that is not good says why, and only such a scenario does."""
    defects = [run for run in RUNS if run.expected is not Verdict.GOOD]
    assert [run.id for run in defects if not (run.mistake or run.scenario).get("reason")] == []
    declared = [holder for run in RUNS if "reason" in (holder := run.mistake or run.scenario)]
    assert [holder["name"] for holder in declared if "expected" not in holder] == []
