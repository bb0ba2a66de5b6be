"""What a model's answer to a case would have done in the imaginary house, held against what was wanted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homeassistant.core import State
from homeassistant.helpers import llm

from ..agent.claims.script_gate import claim_gate
from ..errors import HomeAgentError
from ..knowledge.records import HouseSnapshot
from ..knowledge.speaker import Speaker
from ..tools.calls.repair import fit
from ..tools.control.actions import domains_of
from ..tools.control.arguments import read_args
from ..tools.control.planning import plan
from ..tools.control.values import Units
from ..tools.ha_control import ControlTool
from ..tools.ha_query import QueryTool
from ..tools.resolving.resolver import resolve
from ..tools.resolving.targets import Target
from .cases import Case


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model answered: its calls, and its words."""

    calls: Sequence[llm.ToolInput]
    words: str


class Checker:
    """Knows the imaginary house and the tools."""

    def __init__(
        self,
        house: HouseSnapshot,
        states: Mapping[str, State],
        tools: Mapping[str, llm.Tool],
        speaker: Speaker,
    ) -> None:
        """Take what an answer is held against."""
        self._house = house
        self._states = states
        self._tools = tools
        self._speaker = speaker

    def problem(self, case: Case, answer: ModelAnswer) -> str | None:
        """Return what is wrong with an answer; None if it is right."""
        try:
            done = self._done(case, answer.calls)
            read = self._read(case, answer.calls)
        except HomeAgentError as err:
            return f"a call does not fit: {err}"
        if wrong := _difference(case, done, answer):
            return wrong
        if not case.effects and any(call.tool_name == ControlTool.name for call in answer.calls):
            return f"calls {ControlTool.name}, although nothing was to be done"
        if case.reads and case.reads not in read:
            return f"did not read the history of {case.reads}"
        return None

    def unsaid(self, case: Case, words: str) -> str | None:
        """Return what is missing in an answer, or None if nothing is missing."""
        if case.answers and not _says(words, case.answers):
            return f"does not say {' or '.join(case.answers)}"
        return None

    def _done(self, case: Case, calls: Sequence[llm.ToolInput]) -> dict[str, list[tuple[str, Any]]]:
        """Return the services that calls come down to, by entity. Raises HomeAgentError."""
        done: dict[str, list[tuple[str, Any]]] = {}
        for call in calls:
            if call.tool_name != ControlTool.name:
                continue
            fitted = fit(self._tools[ControlTool.name], call.tool_args, case.said)
            verb, target, given = read_args(fitted.checked)
            for record in self._meant(case, target, domains_of(verb)):
                made = plan(self._states[record], verb, given, Units())
                done.setdefault(record, []).extend((step.service, step.data) for step in made.calls)
        return done

    def _read(self, case: Case, calls: Sequence[llm.ToolInput]) -> set[str]:
        """Return the entities whose history is read. Raises HomeAgentError."""
        found: set[str] = set()
        for call in calls:
            if call.tool_name == QueryTool.name and case.reads:
                args = fit(self._tools[QueryTool.name], call.tool_args, case.said).checked
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
    """Return how what was done differs from what was wanted."""
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
    gate = claim_gate(case.said, case.language, lambda _kind: False)
    gate.feed(words)
    gate.finish()
    return gate.unbacked


def _says(words: str, wanted: Sequence[str]) -> bool:
    """Return whether one of the words stands in an answer."""
    said = words.casefold()
    return any(word in said for word in wanted)
