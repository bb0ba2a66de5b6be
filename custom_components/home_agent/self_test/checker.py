"""Compares what a model answers with what a case asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homeassistant.core import State
from homeassistant.helpers import llm

from ..agent.honesty import may_answer_order
from ..domains import domains_of
from ..errors import HomeAgentError
from ..knowledge.house import HouseSnapshot
from ..knowledge.speaker import Speaker
from ..texts import plain
from ..tools.base import HomeAgentTool
from ..tools.calls.arguments import fit as fit_call
from ..tools.control.arguments import read_args
from ..tools.control.planning import plan
from ..tools.control.values import Units
from ..tools.ha_control import ControlTool
from ..tools.ha_query import QueryTool
from ..tools.resolving.resolver import Target, resolve
from .cases import Case


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model answered: its calls, and its words."""

    calls: Sequence[llm.ToolInput]
    words: str


class Checker:
    """Knows the imaginary home and the tools."""

    def __init__(
        self,
        house: HouseSnapshot,
        states: Mapping[str, State],
        tools: Mapping[str, llm.Tool],
        speaker: Speaker,
    ) -> None:
        self._house = house
        self._states = states
        self._tools = tools
        self._speaker = speaker

    def problem(self, case: Case, answer: ModelAnswer) -> str | None:
        """Return the problem of an answer; None if it is right."""
        try:
            done = self._done(case, answer.calls)
            read = self._read(case, answer.calls)
        except HomeAgentError as err:
            return None if case.tries else f"a call does not fit: {err}"
        if wrong := _difference(case, done, answer):
            return wrong
        if unasked := self._unasked(case, answer.calls):
            return f"calls {unasked}, although nothing of the kind was asked for"
        if case.reads and case.reads not in read:
            return f"did not read the history of {case.reads}"
        return None

    def unsaid(self, case: Case, words: str) -> str | None:
        """Return the missing part of an answer, or None if the answer is complete."""
        if said := [wrong for wrong in case.wrong if _says(words, wrong)]:
            return f"says {said[0]}"
        if case.answers and not any(_says(words, wanted) for wanted in case.answers):
            return f"does not say {' or '.join(case.answers)}"
        return None

    def _unasked(self, case: Case, calls: Sequence[llm.ToolInput]) -> str | None:
        for call in calls:
            tool = self._tools.get(call.tool_name)
            if tool is None or (call.tool_name == ControlTool.name and case.effects):
                continue
            reads = tool.only_reads(call.tool_args) if isinstance(tool, HomeAgentTool) else False
            if not reads:
                return call.tool_name
        return None

    def _done(self, case: Case, calls: Sequence[llm.ToolInput]) -> dict[str, list[tuple[str, Any]]]:
        """Return the services that calls come down to, by entity. Raises HomeAgentError."""
        done: dict[str, list[tuple[str, Any]]] = {}
        for call in calls:
            if call.tool_name != ControlTool.name:
                continue
            fitted = fit_call(self._tools[ControlTool.name], call.tool_args, case.said)
            verb, target, given = read_args(fitted.args)
            for record in self._meant(case, target, domains_of(verb)):
                made = plan(self._states[record], verb, given, Units())
                done.setdefault(record, []).extend((step.service, step.data) for step in made.calls)
        return done

    def _read(self, case: Case, calls: Sequence[llm.ToolInput]) -> set[str]:
        """Return the entities whose history is read. Raises HomeAgentError."""
        found: set[str] = set()
        for call in calls:
            if call.tool_name == QueryTool.name and case.reads:
                args = fit_call(self._tools[QueryTool.name], call.tool_args, case.said).args
                if args.get("history"):
                    found.update(self._meant(case, Target.from_args(args), None))
        return found

    def _meant(self, case: Case, target: Target, domains: Any) -> list[str]:
        """Return the entities that a target means. Raises ValidationError."""
        found = resolve(
            self._house,
            target,
            speaker=self._speaker,
            sentence=case.said,
            allowed_domains=domains,
            exists=lambda _entity_id: False,
        )
        return [record.entity_id for record in found]


def _difference(case: Case, done: Mapping[str, list[tuple[str, Any]]], answer: ModelAnswer) -> str | None:
    if case.effects and not done:
        if claims_success(case, answer.words):
            return "says that it is done, without a call"
        return "makes no call"
    if extra := sorted(done.keys() - case.effects.keys()):
        return f"also moves {', '.join(extra)}"
    if missing := sorted(case.effects.keys() - done.keys()):
        return f"leaves out {', '.join(missing)}"
    for entity_id, (service, data) in case.effects.items():
        if not any(name == service and data.items() <= given.items() for name, given in done[entity_id]):
            calls = "; ".join(f"{name} {given}" for name, given in done[entity_id])
            return f"{entity_id}: {calls}"
    return None


def claims_success(case: Case, words: str) -> bool:
    """Return whether words claim what no call has done."""
    return bool(words.strip()) and not may_answer_order(words, case.language)


def _says(words: str, wanted: str) -> bool:
    return f" {plain(wanted)} " in f" {plain(words)} "
