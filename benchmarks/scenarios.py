"""C1: how good conversations of a household are, and how many model requests they take."""

from collections.abc import Callable, Sequence

from homeassistant.core import HomeAssistant
from homeassistant.helpers.recorder import async_initialize_recorder
from homeassistant.setup import async_setup_component
from tests.helpers.scenario_run import async_run
from tests.helpers.scenarios import Result, Run, Verdict, load_runs
from tests.servers.model_server import ModelServer

from .harness import running_hass
from .report import Table

GOAL = 95
GOAL_REQUESTS = 1.4


async def run() -> list[Table]:
    """Hold all conversations and return the tables."""
    found: list[tuple[Run, Result]] = []
    for held in load_runs():
        with ModelServer() as server:
            async with running_hass() as hass:
                if held.is_recorded:
                    await async_record(hass)
                found.append((held, await async_run(hass, server, held)))
    competent = [(held, result) for held, result in found if held.mistake is None]
    mistakes = [(held, result) for held, result in found if held.mistake]
    tables = [
        _table("conversations, by theme", competent, lambda held: held.theme),
        _table("conversations, by language", competent, lambda held: held.language),
        _table("mistakes of the model, by theme", mistakes, lambda held: held.theme),
    ]
    tables[0].notes.append(f"goal: {GOAL} % good, none bad, at most {GOAL_REQUESTS} model requests per turn")
    return tables


async def async_record(hass: HomeAssistant) -> None:
    """Set up a recorder with a database of its own."""
    async_initialize_recorder(hass)
    database = {"db_url": f"sqlite:///{hass.config.path('home-assistant.db')}"}
    assert await async_setup_component(hass, "recorder", {"recorder": database})


def _table(title: str, found: Sequence[tuple[Run, Result]], group: Callable[[Run], str]) -> Table:
    """Return the verdicts and the model requests per turn of each group, and of all."""
    columns = ("group", "conversations", "good", "flawed", "bad", "good %", "requests per turn")
    table = Table("C1", title, columns)
    for name in (*sorted({group(held) for held, _result in found}), "all"):
        results = [result for held, result in found if name in (group(held), "all")]
        counts = [sum(result.verdict is verdict for result in results) for verdict in Verdict]
        rounds = [count for result in results for count in result.rounds]
        share = 100 * counts[Verdict.GOOD] / len(results)
        table.add(name, len(results), *counts, share, sum(rounds) / max(1, len(rounds)))
    return table
