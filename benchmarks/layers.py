"""C1 and L1: how good conversations are, and what each layer between model and home spoils and mends.

L1b holds the scenarios, L1c what people say in 65 languages, with each layer switched on and off.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import iscoroutinefunction
import logging
from multiprocessing import get_context
import re
from statistics import mean
import sys
from typing import Any, Final
from unittest.mock import patch

from custom_components.home_agent.agent.speech import Spoken
from custom_components.home_agent.tools.calls import repair
from custom_components.home_agent.tools.calls.repair import Adapted
from homeassistant.core import HomeAssistant
from homeassistant.helpers.recorder import async_initialize_recorder
from homeassistant.setup import async_setup_component
from tests.helpers.scenario_run import async_run
from tests.helpers.scenarios import Result, Run, Verdict, load_runs
from tests.servers.model_server import ModelServer

from .harness import running_hass
from .report import Table
from .said import Form, Model, Turn, household, load, turns_of

PACKAGE: Final = "custom_components.home_agent."
ALL: Final = "all"
NONE: Final = "none"
RUNS_OF_TASK: Final = 20
TASKS_OF_PROCESS: Final = 5
"""How many conversations a process holds at most, in parts."""


@dataclass(frozen=True, slots=True)
class Off:
    """One place of a layer: what is there instead if the layer is switched off."""

    target: str
    """`module:attribute` below the integration, as it is called there."""
    without: Callable[..., Any]
    """What takes its place. It takes the same arguments, and is called with the layer on, too: where both
    give the same, the layer has changed nothing."""
    touches: Callable[..., bool] | None = None
    """Whether the layer may change something, by its arguments, where that cannot be seen from its result."""


def _gives(value: Any) -> Callable[..., Any]:
    return lambda *_args, **_options: value


_fit = repair.fit


def _unrepaired(*args: Any, **options: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return arguments that fit as they are. Raises ValidationError."""
    with patch.object(repair, "_read", lambda written, *_rest, **_options: written):
        return _fit(*args, **options)


_UNPLAIN: Final = re.compile(r"[^\w\s.,;:!?'\"%()/-]|\w/\w|\d\.\s|://")
"""What a filter for speech may change."""

CHECKED: Final = (
    *("tools.ha_control", "tools.script_tool", "tools.everyday.media_tool"),
    "tools.handler",
)
"""Modules that refuse what a sentence only asks or forbids."""
LAYERS: Final[Mapping[str, Sequence[Off]]] = {
    "asked": tuple(Off(f"{module}:check_asked", _gives(None)) for module in CHECKED),
    "needless": (Off("tools.control.planning:async_needless", _gives([])),),
    "rooms": (Off("tools.ha_control:arranged", lambda _run, args, **_options: args),),
    "repair": (Off("tools.handler:fit", _unrepaired), Off("tools.automating.writing:fit", _unrepaired)),
    "dialects": (Off("tools.handler:adapt", lambda call, _tools: [Adapted(call)]),),
    "honesty": (
        Off("agent.rounds:needs_call", _gives(False)),
        Off("agent.rounds:async_unsaid_failure", _gives(None)),
    ),
    "quick": (Off("agent.rounds:async_acknowledge", _gives(False)),),
    "speech": (
        Off(
            "agent.speech:SpeechFilter.feed",
            lambda _self, text: Spoken(text),
            lambda _self, text: bool(_UNPLAIN.search(text)),
        ),
        Off("agent.speech:SpeechFilter.flush", lambda _self: Spoken(), _gives(False)),
    ),
}
FORMS: Final = frozenset(("dialects", "speech"))
"""The layers without which a call of another form is none: they are no guesses."""
WITHOUT: Final[Mapping[str, frozenset[str]]] = {
    NONE: frozenset(),
    **{name: frozenset((name,)) for name in LAYERS},
    ALL: LAYERS.keys() - FORMS,
}


@dataclass(slots=True)
class Switches:
    """Which layers are off, and which of the others have changed something since the last look."""

    off: frozenset[str] = frozenset()
    touched: set[str] = field(default_factory=set)

    def take(self) -> frozenset[str]:
        """Return the layers that have changed something, and forget them."""
        touched, self.touched = frozenset(self.touched), set()
        return touched

    def switched(self, layer: str, place: Off, real: Callable[..., Any]) -> Callable[..., Any]:
        """Return what is called instead of a place of a layer."""

        def note(result: Any, other: Any) -> None:
            if layer not in self.touched and result != other:
                self.touched.add(layer)

        def call(*args: Any, **options: Any) -> Any:
            if layer in self.off:
                return place.without(*args, **options)
            try:
                result = real(*args, **options)
                if place.touches is None:
                    note(result, place.without(*args, **options))
                elif place.touches(*args, **options):
                    self.touched.add(layer)
            except Exception:
                self.touched.add(layer)
                raise
            return result

        async def async_call(*args: Any, **options: Any) -> Any:
            if layer in self.off:
                return place.without(*args, **options)
            result = await real(*args, **options)
            note(result, place.without(*args, **options))
            return result

        return async_call if iscoroutinefunction(real) else call


@contextmanager
def switchable() -> Iterator[Switches]:
    """Make the layers switchable."""
    switches = Switches()
    with ExitStack() as stack:
        for layer, places in LAYERS.items():
            for place in places:
                module, _, path = place.target.partition(":")
                *parents, name = path.split(".")
                owner: Any = import_module(PACKAGE + module)
                for parent in parents:
                    owner = getattr(owner, parent)
                replaced = switches.switched(layer, place, getattr(owner, name))
                stack.enter_context(patch.object(owner, name, replaced))
        yield switches


@dataclass(slots=True)
class Chosen:
    """What is measured."""

    corpora: Sequence[str] = ("scenarios", "said")
    layers: Sequence[str] = tuple(WITHOUT)
    """Rows of the tables; `none` is always measured."""
    sample: int | None = 4
    """How many sentences of each language, intent and domain are said; None for all."""


CHOSEN = Chosen()


async def run() -> list[Table]:
    """Measure what is chosen."""
    suites: Mapping[str, Callable[[Switches], Awaitable[list[Table]]]] = {
        "scenarios": _async_scenarios,
        "said": _async_said,
    }
    tables: list[Table] = []
    with switchable() as switches:
        for name in CHOSEN.corpora:
            tables += await suites[name](switches)
    return tables


async def _async_passes[T](
    switches: Switches,
    cases: Sequence[T],
    hold: Callable[[Sequence[T]], Awaitable[Mapping[int, Any]]],
    touched: Callable[[Any], frozenset[str]],
) -> dict[str, list[Any]]:
    """Return the outcome of every case by the layers that are off.

    A layer that has changed nothing in a case is not switched off in it: it would change nothing again.
    """
    switches.off = frozenset()
    first = await hold(cases)
    outcomes = {NONE: [first[id(case)] for case in cases]}
    for name in CHOSEN.layers:
        if name == NONE:
            continue
        switches.off = WITHOUT[name]
        other = [case for case in cases if not switches.off.isdisjoint(touched(first[id(case)]))]
        print(f"{name} off: {len(other):,} of {len(cases):,}", file=sys.stderr, flush=True)
        changed = await hold(other) if other else {}
        outcomes[name] = [changed.get(id(case), first[id(case)]) for case in cases]
    switches.off = frozenset()
    return outcomes


@dataclass(slots=True)
class Held:
    """What became of a conversation."""

    result: Result
    touched: frozenset[str]

    @property
    def problems(self) -> list[str]:
        """Return what was wrong."""
        return [problem.text for problem in self.result.problems]


async def _async_scenarios(switches: Switches) -> list[Table]:
    """Hold the conversations of a household with each layer off, in processes that end: each leaves much."""
    runs = load_runs()
    places = {id(each): place for place, each in enumerate(runs)}

    async def hold(chosen: Sequence[Run]) -> dict[int, Held]:
        loop = asyncio.get_running_loop()
        parts = [
            [places[id(each)] for each in chosen[start : start + RUNS_OF_TASK]]
            for start in range(0, len(chosen), RUNS_OF_TASK)
        ]
        context = get_context("spawn")
        with ProcessPoolExecutor(mp_context=context, max_tasks_per_child=TASKS_OF_PROCESS) as pool:
            work = [loop.run_in_executor(pool, _hold_runs, part, switches.off) for part in parts]
            held = [each for part in await asyncio.gather(*work) for each in part]
        return {id(run): each for run, each in zip(chosen, held, strict=True)}

    return _held_tables(runs, await _async_passes(switches, runs, hold, lambda held: held.touched))


_runs = cache(load_runs)


def _hold_runs(places: Sequence[int], off: frozenset[str]) -> list[Held]:
    logging.disable(logging.ERROR)
    with switchable() as switches:
        switches.off = off
        return [asyncio.run(_async_hold_run(_runs()[place], switches)) for place in places]


async def _async_hold_run(run: Run, switches: Switches) -> Held:
    with ModelServer() as server:
        async with running_hass() as hass:
            if run.is_recorded:
                await _async_record(hass)
            switches.take()
            return Held(await async_run(hass, server, run), switches.take())


def _is_about_states(problem: str) -> bool:
    return (" instead of " in problem or " changed: " in problem) and "model requests" not in problem


def _held_tables(runs: Sequence[Run], outcomes: Mapping[str, Sequence[Held]]) -> list[Table]:
    columns = (
        "off",
        "good",
        "answers withheld",
        "wrong states",
        "more requests",
        "requests per turn",
        "mistakes stopped",
        "tried",
    )
    table = Table("L1b", "conversations of a household, by the layer that is off", columns)
    for name, held in outcomes.items():
        right = [each for run, each in zip(runs, held, strict=True) if run.mistake is None]
        wrong = [each for run, each in zip(runs, held, strict=True) if run.mistake]
        table.add(
            name,
            _share(sum(each.result.verdict is Verdict.GOOD for each in right), len(right)),
            sum("is not what is said" in str(each.problems) for each in right),
            sum(any(map(_is_about_states, each.problems)) for each in right),
            sum("model requests" in str(each.problems) for each in right),
            mean(count for each in right for count in each.result.rounds),
            _share(sum(each.result.verdict is not Verdict.BAD for each in wrong), len(wrong)),
            sum(name == NONE or not WITHOUT[name].isdisjoint(first.touched) for first in outcomes[NONE]),
        )
    table.notes.append("tried: conversations in which the layer changes something")
    return [table]


async def run_scenarios() -> list[Table]:
    """Return C1: how good conversations of a household are, and how many model requests they take."""
    found: list[tuple[Run, Result]] = []
    for held in load_runs():
        with ModelServer() as server:
            async with running_hass() as hass:
                if held.is_recorded:
                    await _async_record(hass)
                found.append((held, await async_run(hass, server, held)))
    competent = [(held, result) for held, result in found if held.mistake is None]
    mistakes = [(held, result) for held, result in found if held.mistake]
    tables = [
        _by_group("conversations, by theme", competent, lambda held: held.theme),
        _by_group("conversations, by language", competent, lambda held: held.language),
        _by_group("mistakes of the model, by theme", mistakes, lambda held: held.theme),
    ]
    tables[0].notes.append("goal: 95 % good, none bad, at most 1.4 model requests per turn")
    return tables


async def _async_record(hass: HomeAssistant) -> None:
    async_initialize_recorder(hass)
    database = {"db_url": f"sqlite:///{hass.config.path('home-assistant.db')}"}
    assert await async_setup_component(hass, "recorder", {"recorder": database})


def _by_group(title: str, found: Sequence[tuple[Run, Result]], group: Callable[[Run], str]) -> Table:
    columns = ("group", "conversations", "good", "flawed", "bad", "good %", "requests per turn")
    table = Table("C1", title, columns)
    for name in (*sorted({group(held) for held, _result in found}), "all"):
        results = [result for held, result in found if name in (group(held), "all")]
        counts = [sum(result.verdict is verdict for result in results) for verdict in Verdict]
        rounds = [count for result in results for count in result.rounds]
        share = 100 * counts[Verdict.GOOD] / len(results)
        table.add(name, len(results), *counts, share, sum(rounds) / max(1, len(rounds)))
    return table


async def _async_said(switches: Switches) -> list[Table]:
    async def hold(turns: Sequence[Turn]) -> dict[int, Turn]:
        held: dict[int, Turn] = {}
        # What was done before backs a claim: turns without calls have a home of their own.
        for is_calling in (False, True):
            async with household() as home:
                for each in turns:
                    if (each.model in (Model.RIGHT, Model.CHANGING)) is is_calling:
                        turn = Turn(each.sentence, each.model, each.form)
                        switches.take()
                        await home.async_hold(turn)
                        turn.touched = switches.take() - {"speech"}  # the answers are plain
                        held[id(each)] = turn
        return held

    turns = turns_of(load(CHOSEN.sample))
    outcomes = await _async_passes(switches, turns, hold, lambda turn: turn.touched)
    return [_said_table(form, outcomes) for form in Form]


def _said_table(form: Form, outcomes: Mapping[str, Sequence[Turn]]) -> Table:
    columns = (
        "off",
        "orders refused",
        "twice",
        "answer withheld",
        "asked again",
        "no call, caught",
        "call to a question, stopped",
        "its answer withheld",
        "asked again",
    )
    table = Table("L1c", f"what people say in 65 languages, {form}, by the layer that is off", columns)
    for name, turns in outcomes.items():
        table.add(name, *_figures(_in_form(turns, form)))
    return table


def _figures(turns: Sequence[Turn]) -> Iterator[object]:
    right, idle, changing, answering = (
        [turn for turn in turns if turn.model is model]
        for model in (Model.RIGHT, Model.IDLE, Model.CHANGING, Model.ANSWERING)
    )
    idle, answering = ([turn for turn in part if turn.answer] for part in (idle, answering))
    done = [turn for turn in right if turn.is_changed and turn.answer]
    yield _share(sum(bool(turn.refusals) for turn in right), len(right))
    yield sum(not turn.is_changed for turn in right)
    yield _share(sum(not turn.is_said for turn in done), len(done))
    yield sum(turn.asked_again for turn in done)
    yield _share(sum(turn.asked_again for turn in idle), len(idle))
    yield _share(sum(bool(turn.refusals) for turn in changing), len(changing))
    yield _share(sum(not turn.is_said for turn in answering), len(answering))
    yield sum(turn.asked_again for turn in answering)


def _in_form(turns: Sequence[Turn], form: Form) -> list[Turn]:
    """Return the turns of one form; a sentence that is the same as heard was said once."""
    own = [turn for turn in turns if turn.form is form]
    if form is Form.HEARD:
        same = [
            turn
            for turn in turns
            if turn.form is Form.WRITTEN and turn.sentence.in_form(Form.HEARD) == turn.sentence.text
        ]
        own += same
    return own


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "-"
