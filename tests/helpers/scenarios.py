"""Conversations of a household as data.

tests/scenarios/README.md describes the files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
import re
from typing import Any

from homeassistant.util.yaml import load_yaml
from tests.servers.replies import Reply, text, tool_calls

FOLDER = Path(__file__).parents[1] / "scenarios"
LANGUAGE = re.compile("[a-z]{2}")
SCENARIO_KEYS = {
    "name",
    "scripts",
    "turns",
    "home",
    "history",
    "music",
    "weather",
    "lists",
    "calendars",
    "options",
}
SCENARIO_KEYS |= {"expose", "labels", "done", "expected", "reason", "satellites", "people"}
TURN_KEYS = {"say", "area", "assistant", "speaker", "new", "request", "model", "mistakes"}
TURN_KEYS |= {"after", "items", "results", "said", "rounds", "later", "told"}
SCENARIO_KEYS |= {"energy", "automations", "languages", "updates", "further", "at", "music"}
TURN_KEYS |= {"written", "happens", "asked", "sent", "first", "answers"}
EVENT_KEYS = {"states", "hours", "ask", "answers", "asked", "sent", "told", "after", "response", "model"}
"""Of a turn in which nobody speaks."""
HAPPENS_KEYS = {"states", "after"}
MISTAKE_KEYS = {"name", "must", "model", "after", "results", "said", "rounds", "expected", "reason", "told"}
MISTAKE_KEYS |= {"written"}
REQUEST_KEYS = {"needs", "has", "has_not", "tools", "tools_not"}
LATER_KEYS = {"hours", "after"}
RESULTS_KEYS = {"has", "has_not"}
SAID_KEYS = {"has", "has_not", "asks"}
MUSTS = {"corrected", "retried", "refused", "asked"}


class Verdict(IntEnum):
    """How good a conversation was."""

    GOOD = 0
    FLAWED = 1
    BAD = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """What is not as a scenario says."""

    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """One conversation: a scenario in a language, with or without one mistake of the model."""

    theme: str
    scenario: Mapping[str, Any]
    language: str
    mistake: Mapping[str, Any] | None = None
    mistaken_turn: int = -1

    @property
    def id(self) -> str:
        names = [self.theme, self.scenario["name"], *([self.mistake["name"]] if self.mistake else [])]
        return "-".join((*names, self.language))

    @property
    def is_recorded(self) -> bool:
        """Return whether it is about the past, which needs a recorder."""
        return not {"history", "done", "energy"}.isdisjoint(self.scenario)

    @property
    def expected(self) -> Verdict:
        of_language = localized(
            (self.mistake or self.scenario).get("expected", "good"), self.language, "good"
        )
        return Verdict[of_language.upper()]


@dataclass(slots=True)
class Result:
    """What became of a conversation."""

    problems: list[Problem] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    """Model requests of each turn."""

    @property
    def verdict(self) -> Verdict:
        return max((problem.verdict for problem in self.problems), default=Verdict.GOOD)


def load_runs() -> list[Run]:
    """Return every conversation of every file. Raises ValueError for a field that does not exist."""
    runs: list[Run] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        scenarios = load_yaml(str(path))
        assert isinstance(scenarios, list), path
        for scenario in scenarios:
            _check(scenario)
            runs += _runs_of(path.stem, scenario)
    return runs


def _runs_of(theme: str, scenario: Mapping[str, Any]) -> Iterator[Run]:
    said = scenario["turns"][0].get("say")
    languages = scenario.get("languages") or (list(said) if isinstance(said, Mapping) else ["en"])
    for language in languages:
        yield Run(theme, scenario, language)
    for number, turn in enumerate(scenario["turns"]):
        for mistake in turn.get("mistakes", ()):
            yield Run(theme, scenario, languages[0], mistake, number)


def _check(scenario: Mapping[str, Any]) -> None:
    """Refuse a field that nobody reads: what it asks for would never be checked."""
    _only(scenario, SCENARIO_KEYS)
    for turn in scenario["turns"]:
        if "say" not in turn:
            _only(turn, EVENT_KEYS)
            continue
        _only(turn, TURN_KEYS)
        _only(turn.get("request", {}), REQUEST_KEYS)
        _only(turn.get("said", {}), SAID_KEYS)
        _only(turn.get("later", {}), LATER_KEYS)
        _only(turn.get("happens", {}), HAPPENS_KEYS)
        _only(turn.get("results", {}), RESULTS_KEYS)
        for mistake in turn.get("mistakes", ()):
            _only(mistake, MISTAKE_KEYS)
            _only(mistake.get("said", {}), SAID_KEYS)
            _only(mistake.get("results", {}), RESULTS_KEYS)
            if mistake["must"] not in MUSTS:
                raise ValueError(f"{scenario['name']}: {mistake['must']}")


def _only(given: Mapping[str, Any], known: set[str]) -> None:
    if unknown := given.keys() - known:
        raise ValueError(f"{given.get('name')}: {unknown}")


def localized(value: Any, language: str, default: Any = None) -> Any:
    """Return what a value is in a language; one without languages is the same in all."""
    if isinstance(value, Mapping) and value and all(LANGUAGE.fullmatch(key) for key in value):
        return value.get(language, default)
    return value


def replies_of(turn: Mapping[str, Any], mistake: Mapping[str, Any] | None, language: str) -> list[Reply]:
    """Return what the model answers: as a competent one does, or with a mistake first."""
    competent = [_reply(reply, language) for reply in turn.get("model", ())]
    if mistake is None:
        return competent
    mistaken = [_reply(reply, language) for reply in mistake["model"]]
    match mistake["must"]:
        case "retried":
            return mistaken + competent
        case "corrected":
            return mistaken + competent[-1:]
    return mistaken


def _reply(written: Any, language: str) -> Reply:
    """Return a reply as a file writes it: words, calls, several calls, or the fields of a `Reply`."""
    written = localized(written, language)
    if isinstance(written, str):
        return text(written)
    if isinstance(written, Mapping) and "reply" in written:
        return Reply(**written["reply"])
    calls: Sequence[Mapping[str, Any]] = written if isinstance(written, list) else [written]
    return tool_calls(
        [
            (name, _arguments(written_args, language))
            for several in calls
            for name, written_args in several.items()
        ]
    )


def _arguments(written: Any, language: str) -> Any:
    """Return the arguments of a call in a language; as text they are what the model writes."""
    if not isinstance(written, Mapping):
        return written
    return {key: localized(value, language) for key, value in written.items()}
