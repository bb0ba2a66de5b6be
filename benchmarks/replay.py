"""R2: recorded tool calls of real models through the guard, the state after against the state expected."""

from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
import json
import os
from pathlib import Path
from typing import Any

from custom_components.home_agent.agent.rounds import filter_for, written_calls
from custom_components.home_agent.const import CONF_POLICY_ALLOWED
from custom_components.home_agent.domains import DOMAINS
from custom_components.home_agent.knowledge.speaker import Speaker
from custom_components.home_agent.tools.calls.repair import INTENTS, squashed
from custom_components.home_agent.tools.handler import ToolHandler
from custom_components.home_agent.tools.turn_calls import TurnCalls
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er, llm

from .harness import ServerProcess, add_ours, running_hass
from .replay_house import Recorded, async_build
from .report import Table

OWN_DATA = Path(__file__).parent / "data" / "replay"
DATA_VARIABLE = "HOME_AGENT_REPLAY_DATA"
MAX_CALLS = 12
MAX_ERROR = 300

type Row = dict[str, Any]


@dataclass(slots=True)
class Outcome:
    """What became of one recorded sequence."""

    row: Row
    task: Row
    stock: bool = False
    ours: bool = False
    stock_moved: frozenset[str] = frozenset()
    ours_moved: frozenset[str] = frozenset()
    errors: list[str] = field(default_factory=list)

    @property
    def moved_by_repair(self) -> frozenset[str]:
        """Return protected entities that move here and do not in stock Home Assistant."""
        return self.ours_moved - self.stock_moved


async def run() -> list[Table]:
    """Replay the recordings of a folder with `homes.jsonl`, `tasks.jsonl` and `calls.jsonl`."""
    folder = Path(os.environ.get(DATA_VARIABLE) or OWN_DATA)
    homes = {row["home"]: row for row in _rows(folder / "homes.jsonl")}
    tasks = {(row["task_id"], bool(row.get("negative"))): row for row in _rows(folder / "tasks.jsonl")}
    by_home: dict[str, list[Outcome]] = {}
    for row in _rows(folder / "calls.jsonl"):
        task = tasks.get((row["task_id"], bool(row.get("negative"))))
        if task is not None and (row["tool_calls"] or row.get("leak")):
            by_home.setdefault(task["home"], []).append(Outcome(row, task))
    server = ServerProcess()
    try:
        for name, outcomes in by_home.items():
            async with _home(homes[name], server.url) as replayer:
                for outcome in outcomes:
                    await replayer.async_replay(outcome)
    finally:
        server.stop()
    return _tables([outcome for outcomes in by_home.values() for outcome in outcomes])


def _rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


@dataclass(slots=True)
class Replayer:
    """One home, and both ways through it."""

    hass: HomeAssistant
    entities: Mapping[str, Recorded]
    handler: ToolHandler
    assist: llm.APIInstance

    async def async_replay(self, outcome: Outcome) -> None:
        """Replay one sequence in stock Home Assistant and through the guard."""
        before = self._reset(outcome.task)
        if not outcome.row.get("leak"):
            await self._async_stock(outcome)
        outcome.stock, outcome.stock_moved = self._judge(outcome.task, before)
        before = self._reset(outcome.task)
        await self._async_ours(outcome)
        outcome.ours, outcome.ours_moved = self._judge(outcome.task, before)

    async def _async_stock(self, outcome: Outcome) -> None:
        names = {tool.name.rpartition("__")[2]: tool.name for tool in self.assist.tools}
        for call in outcome.row["tool_calls"]:
            name = names.get(call["name"], call["name"])
            try:
                await self.assist.async_call_tool(llm.ToolInput(tool_name=name, tool_args=call["args"] or {}))
            except HomeAssistantError, ValueError, TypeError:
                continue
        await self.hass.async_block_till_done()

    async def _async_ours(self, outcome: Outcome) -> None:
        """Run the calls, or the text that they were written in, as one turn."""
        assist = {
            tool.name: tool
            for tool in self.assist.tools
            if squashed(tool.name.rpartition("__")[2]).removeprefix("hass") not in INTENTS
        }
        turn = TurnCalls(
            speaker=Speaker(context=Context(), language="en"),
            sentence=outcome.task["text"],
            conversation_id="replay",
            tools={**self.handler.tools, **assist},
            llm_context=self.assist.llm_context,
            max_calls=MAX_CALLS,
        )
        for call in _calls(outcome.row, turn):
            result = await self.handler.async_execute(call, turn)
            if result.error:
                outcome.errors.append(str(result.data["error"]))
        await self.hass.async_block_till_done()

    def _reset(self, task: Row) -> dict[str, str]:
        setup = task.get("setup") or {}
        for entity_id, entity in self.entities.items():
            entity.reset(setup.get(entity_id))
        return {entity_id: self._state(entity_id) for entity_id in self.entities}

    def _state(self, entity_id: str) -> str:
        state = self.hass.states.get(entity_id)
        assert state is not None
        return f"{state.state} {state.attributes.get('current_position', '')}"

    def _judge(self, task: Row, before: Mapping[str, str]) -> tuple[bool, frozenset[str]]:
        """Return whether everything is as expected, and which protected entities moved."""
        after = {entity_id: self._state(entity_id) for entity_id in self.entities}
        expected = task.get("expect_changes") or {}
        changed = {entity_id for entity_id in after if after[entity_id] != before[entity_id]}
        right = changed <= expected.keys() and all(
            self._as_expected(entity_id, wanted, (task.get("ignore_changes") or {}).get(entity_id, ()))
            for entity_id, wanted in expected.items()
        )
        moved = {key for key in changed if DOMAINS[key.partition(".")[0]].is_protected}
        return right, frozenset(moved)

    def _as_expected(self, entity_id: str, wanted: Row, ignored: Sequence[str]) -> bool:
        state = self.hass.states.get(entity_id)
        assert state is not None
        return wanted.get("state", state.state) == state.state and all(
            key in ignored or state.attributes.get(key) == value
            for key, value in (wanted.get("attributes") or {}).items()
        )


def _calls(row: Row, turn: TurnCalls) -> list[llm.ToolInput]:
    if row.get("leak"):
        speech = filter_for(turn.tools, voice=True)
        speech.feed(row["final_text"])
        speech.flush()
        return written_calls(speech, turn.tools)
    return [
        llm.ToolInput(tool_name=call["name"] or "", tool_args=call["args"] or {})
        for call in row["tool_calls"]
    ]


@asynccontextmanager
async def _home(home: Row, url: str) -> AsyncGenerator[Replayer]:
    """Return one recorded home on a running Home Assistant, with an agent that asks nobody back."""
    async with running_hass() as hass:
        entities = await async_build(hass, home)
        protected = sorted(name for name, facts in DOMAINS.items() if facts.is_protected)
        entity_id = await add_ours(hass, url, {CONF_POLICY_ALLOWED: protected})
        entry = er.async_get(hass).async_get(entity_id)
        assert entry is not None
        assert entry.config_entry_id is not None
        agent = hass.config_entries.async_get_known_entry(entry.config_entry_id)
        context = llm.LLMContext("replay", Context(), "en", "conversation", None)
        assist = await llm.async_get_api(hass, llm.LLM_API_ASSIST, context)
        try:
            yield Replayer(hass, entities, agent.runtime_data.handler, assist)
        finally:
            await hass.config_entries.async_unload(agent.entry_id)


def _tables(outcomes: Sequence[Outcome]) -> list[Table]:
    recorded = [item for item in outcomes if not item.row.get("leak")]
    positive = [item for item in recorded if not item.task.get("negative")]
    table = Table(
        "R2",
        "recorded tool calls, state after against state expected",
        ("what", "sequences", "Home Agent", "stock", "goal"),
    )
    for what, items, goal in (
        ("failing ones that reach the right state", [item for item in positive if not item.stock], ">= 40 %"),
        ("passing ones that still pass", [item for item in recorded if item.stock], ">= 99.8 %"),
        ("calls written as text that reach it", [item for item in outcomes if item.row.get("leak")], ""),
    ):
        table.add(what, _n(items), _share(items, "ours"), _share(items, "stock"), goal)
    moved = [item for item in outcomes if item.moved_by_repair]
    wrongly = [item for item in moved if not item.ours]
    what = "moves of locks, covers, valves, alarms that stock refuses, as asked"
    table.add(what, _n(moved), _n(moved) - _n(wrongly), 0, "")
    table.add("the same, not as asked", _n(moved), _n(wrongly), 0, "0")
    errors = [len(error) for item in outcomes for error in item.errors]
    table.add("longest error for the model, characters", len(errors), max(errors), "", f"<= {MAX_ERROR}")
    differing = [item for item in recorded if item.row.get("stock_ok") not in (None, item.stock)]
    table.notes.append(f"stock as recorded before: {_n(recorded) - _n(differing)} of {_n(recorded)} the same")
    return [table, _by_model(positive)]


def _by_model(positive: Sequence[Outcome]) -> Table:
    """Return how many sequences of each model reach the right state, the most recorded model first."""
    table = Table("R2a", "right states by model", ("model", "sequences", "Home Agent", "stock"))
    counts = Counter[str]()
    for item in positive:
        counts[item.row["model"]] += item.row.get("n", 1)
    worse = 0
    for model, _ in counts.most_common():
        own = [item for item in positive if item.row["model"] == model]
        table.add(model, _n(own), _share(own, "ours"), _share(own, "stock"))
        worse += _n([item for item in own if item.ours]) < _n([item for item in own if item.stock])
    table.notes.append(f"models with fewer right states than stock: {worse} of {len(counts)}")
    return table


def _n(items: Sequence[Outcome]) -> int:
    return sum(item.row.get("n", 1) for item in items)


def _share(items: Sequence[Outcome], way: str) -> str:
    total = _n(items)
    right = _n([item for item in items if getattr(item, way)])
    return f"{100 * right / total:.1f} % ({right})" if total else "-"
