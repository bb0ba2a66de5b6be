"""Conversations of a household as data, and what becomes of them on a real `hass`.

tests/scenarios/README.md describes the files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum
from pathlib import Path
import re
from typing import Any

from pytest_homeassistant_custom_component.common import MockUser, async_fire_time_changed

from homeassistant.components import conversation
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.helpers.entity_component import DATA_INSTANCES
from homeassistant.helpers.json import json_dumps
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from homeassistant.util.yaml import load_yaml
from tests.helpers.agent import Agent, async_add_agent, speech
from tests.helpers.demo_house import async_demo_house
from tests.helpers.everyday_house import async_add_calendar, async_add_list
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, tool_calls

FOLDER = Path(__file__).parents[1] / "scenarios"
CHANGEABLE = (
    "climate",
    "cover",
    "fan",
    "light",
    "lock",
    "media_player",
    "scene",
    "script",
    "switch",
    "todo",
    "vacuum",
)
"""Domains in which only what a scenario names may change."""
OPTIONS = {"memory_extraction_enabled": False, "quick_confirmations": True}
"""A request that follows a turn would take a reply that is meant for the next one. Else as by default."""
MARK = "[Added by Home Assistant, not said by the person]"
LANGUAGE = re.compile("[a-z]{2}")
SCENARIO_KEYS = {"name", "turns", "home", "lists", "calendars", "options", "expected", "reason"}
TURN_KEYS = {"say", "area", "assistant", "speaker", "request", "model", "mistakes"}
TURN_KEYS |= {"after", "results", "said", "rounds", "later"}
MISTAKE_KEYS = {"name", "must", "model", "after", "said", "rounds", "expected", "reason"}
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
        """Return a name for it."""
        names = [self.theme, self.scenario["name"], *([self.mistake["name"]] if self.mistake else [])]
        return "-".join((*names, self.language))

    @property
    def expected(self) -> Verdict:
        """Return how good it is known to be."""
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
        """Return the worst of what was found."""
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
    """Yield a scenario in its languages, then its mistakes in the first of them."""
    said = scenario["turns"][0]["say"]
    languages = list(said) if isinstance(said, Mapping) else ["en"]
    for language in languages:
        yield Run(theme, scenario, language)
    for number, turn in enumerate(scenario["turns"]):
        for mistake in turn.get("mistakes", ()):
            yield Run(theme, scenario, languages[0], mistake, number)


def _check(scenario: Mapping[str, Any]) -> None:
    """Refuse a field that nobody reads: what it asks for would never be checked."""
    _only(scenario, SCENARIO_KEYS)
    for turn in scenario["turns"]:
        _only(turn, TURN_KEYS)
        _only(turn.get("request", {}), REQUEST_KEYS)
        _only(turn.get("said", {}), SAID_KEYS)
        _only(turn.get("later", {}), LATER_KEYS)
        _only(turn.get("results", {}), RESULTS_KEYS)
        for mistake in turn.get("mistakes", ()):
            _only(mistake, MISTAKE_KEYS)
            _only(mistake.get("said", {}), SAID_KEYS)
            if mistake["must"] not in MUSTS:
                raise ValueError(f"{scenario['name']}: {mistake['must']}")


def _only(given: Mapping[str, Any], known: set[str]) -> None:
    """Raise ValueError for an unknown field."""
    if unknown := given.keys() - known:
        raise ValueError(f"{given.get('name')}: {unknown}")


def localized(value: Any, language: str, default: Any = None) -> Any:
    """Return what a value is in a language; one without languages is the same in all."""
    if isinstance(value, Mapping) and value and all(LANGUAGE.fullmatch(key) for key in value):
        return value.get(language, default)
    return value


async def async_run(hass: HomeAssistant, server: ModelServer, run: Run) -> Result:
    """Hold a conversation in a fresh demo house and return what became of it."""
    scenario = run.scenario
    agent = await _async_home(hass, server, scenario)
    user = MockUser(name="Anna", is_owner=True).add_to_hass(hass)
    result = Result()
    conversation_id = None
    for number, turn in enumerate(scenario["turns"]):
        mistake = run.mistake if number == run.mistaken_turn else None
        before = _states(hass)
        server.clear()
        server.script(_replies(turn, mistake, run.language))
        answer = await agent.say(
            localized(turn["say"], run.language),
            conversation_id=conversation_id,
            context=Context(user_id=None if turn.get("speaker") == "unknown" else user.id),
            language=turn.get("assistant", run.language),
            **_device(hass, agent, turn.get("area")),
        )
        conversation_id = answer.conversation_id
        result.rounds.append(len(server.chats))
        result.problems += _problems(hass, server, run.language, turn, mistake, before, answer)
        if "later" in turn and not mistake:
            async_fire_time_changed(hass, dt_util.utcnow() + timedelta(hours=turn["later"]["hours"]))
            await hass.async_block_till_done(wait_background_tasks=True)
            result.problems += _unlike(hass, turn["later"]["after"])
        if mistake:
            break  # what follows depends on what the mistake was
    return result


async def _async_home(hass: HomeAssistant, server: ModelServer, scenario: Mapping[str, Any]) -> Agent:
    """Set up the demo house as a scenario begins, and the agent."""
    await async_demo_house(hass)
    assert await async_setup_component(hass, "conversation", {})
    for name in scenario.get("lists", ()):
        await async_add_list(hass, name)
    for name in scenario.get("calendars", ()):
        await async_add_calendar(hass, name)
    for entity_id, attributes in scenario.get("home", {}).items():
        entity: Any = hass.data[DATA_INSTANCES][entity_id.partition(".")[0]].get_entity(entity_id)
        assert entity is not None, entity_id
        entity.change(**attributes)
    await hass.async_block_till_done()
    return await async_add_agent(hass, server, {**OPTIONS, **scenario.get("options", {})})


def _device(hass: HomeAssistant, agent: Agent, area_name: str | None) -> dict[str, str]:
    """Return the fields of a sentence that is spoken to a satellite in an area; none for a chat."""
    if area_name is None:
        return {}
    devices = dr.async_get(hass)
    area = ar.async_get(hass).async_get_area_by_name(area_name)
    assert area is not None, area_name
    satellite = devices.async_get_or_create(
        config_entry_id=agent.entry.entry_id, identifiers={("test", area_name)}, name=f"{area_name} satellite"
    )
    devices.async_update_device(satellite.id, area_id=area.id)
    return {"device_id": satellite.id}


def _replies(turn: Mapping[str, Any], mistake: Mapping[str, Any] | None, language: str) -> list[Reply]:
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
    return tool_calls([call for several in calls for call in several.items()])


def _states(hass: HomeAssistant) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return what can change by a command."""
    return {
        state.entity_id: (state.state, dict(state.attributes)) for state in hass.states.async_all(CHANGEABLE)
    }


def _problems(
    hass: HomeAssistant,
    server: ModelServer,
    language: str,
    turn: Mapping[str, Any],
    mistake: Mapping[str, Any] | None,
    before: Mapping[str, tuple[str, dict[str, Any]]],
    answer: conversation.ConversationResult,
) -> Iterator[Problem]:
    """Yield what is wrong with a turn."""
    wanted = {**turn, **mistake} if mistake else turn
    if mistake and mistake["must"] in ("refused", "asked"):
        wanted["after"] = mistake.get("after", {})
        wanted["said"] = mistake.get("said", {})
    yield from _wrong_states(hass, wanted.get("after", {}), before)
    yield from _wrong_words(server, language, turn, mistake, wanted.get("said", {}), answer)
    chats = server.chats
    if mistake is None and "results" in turn:
        yield from _wrong_results(hass, answer, turn["results"])
    if turn.get("request"):
        assert chats, "there is a request to look at"
        yield from _wrong_request(chats[0], turn["request"], language)
    scripted = len(_replies(turn, mistake, language))
    if len(chats) > (most := wanted.get("rounds", scripted)):
        yield Problem(Verdict.FLAWED, f"{len(chats)} model requests instead of at most {most}")
    if mistake and mistake["must"] == "retried" and len(chats) <= len(mistake["model"]):
        yield Problem(Verdict.BAD, "the model was not asked again")
    if mistake and mistake["must"] == "asked" and not answer.continue_conversation:
        yield Problem(Verdict.BAD, "the person was not asked")


def _wrong_states(
    hass: HomeAssistant, after: Mapping[str, Any], before: Mapping[str, tuple[str, dict[str, Any]]]
) -> Iterator[Problem]:
    """Yield what is not in the state that it should be in, and what changed beside it."""
    yield from _unlike(hass, after)
    for entity_id, now in _states(hass).items():
        if entity_id not in after and before.get(entity_id) != now:
            was = before.get(entity_id, ("missing", {}))
            changed = {name: value for name, value in now[1].items() if was[1].get(name) != value}
            yield Problem(Verdict.BAD, f"{entity_id} changed: {was[0]} -> {now[0]}, {changed}")


def _unlike(hass: HomeAssistant, after: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is not in the state that it should be in."""
    now = _states(hass)
    for entity_id, expected in after.items():
        state, attributes = now[entity_id]
        given = {**attributes, "state": state}
        wanted = expected if isinstance(expected, Mapping) else {"state": expected}
        for name, value in wanted.items():
            found = list(seen) if isinstance(seen := given.get(name), tuple) else seen
            if found != value:
                yield Problem(Verdict.BAD, f"{entity_id}: {name} is {found!r} instead of {value!r}")


def _wrong_words(
    server: ModelServer,
    language: str,
    turn: Mapping[str, Any],
    mistake: Mapping[str, Any] | None,
    said: Mapping[str, Any],
    answer: conversation.ConversationResult,
) -> Iterator[Problem]:
    """Yield what is said and may not be, and what is missing."""
    spoken = speech(answer)
    for words in localized(said.get("has", []), language, []):
        if words.casefold() not in spoken.casefold():
            yield Problem(Verdict.BAD, f"{words!r} is not said: {spoken!r}")
    for words in localized(said.get("has_not", []), language, []):
        if words.casefold() in spoken.casefold():
            yield Problem(Verdict.BAD, f"{words!r} is said: {spoken!r}")
    if said.get("asks") is not None and said["asks"] != answer.continue_conversation:
        yield Problem(Verdict.BAD, f"{'no' if said['asks'] else 'a'} question is asked: {spoken!r}")
    replies = _replies(turn, mistake, language)
    heard = mistake is None or mistake["must"] in ("corrected", "retried")
    if heard and replies and len(server.chats) >= len(replies) and replies[-1].text not in spoken:
        yield Problem(Verdict.BAD, f"{replies[-1].text!r} is not what is said: {spoken!r}")


def _wrong_request(request: Captured, wanted: Mapping[str, Any], language: str) -> Iterator[Problem]:
    """Yield what the first request of a turn lacks or should not contain."""
    asked = next(message for message in reversed(request.messages) if message["role"] == "user")
    _sentence, _, beside = asked["content"].partition(MARK)
    offered = {tool["function"]["name"] for tool in request.json.get("tools", ())}
    for key, verdict in (("needs", Verdict.BAD), ("has", Verdict.FLAWED)):
        for words in localized(wanted.get(key, []), language, []):
            if not _stands_in(words, beside):
                yield Problem(verdict, f"{words!r} is not beside the sentence: {beside!r}")
    for words in localized(wanted.get("has_not", []), language, []):
        if _stands_in(words, beside):
            yield Problem(Verdict.FLAWED, f"{words!r} is beside the sentence: {beside!r}")
    if missing := set(wanted.get("tools", ())) - offered:
        yield Problem(Verdict.BAD, f"{missing} not offered")
    if needless := set(wanted.get("tools_not", ())) & offered:
        yield Problem(Verdict.FLAWED, f"{needless} offered")


def _wrong_results(
    hass: HomeAssistant, answer: conversation.ConversationResult, wanted: Mapping[str, Any]
) -> Iterator[Problem]:
    """Yield what the results of a turn's calls lack or should not contain."""
    results: list[str] = []
    for content in reversed(hass.data[DATA_CHAT_LOGS][str(answer.conversation_id)].content):
        if isinstance(content, conversation.UserContent):
            break
        if isinstance(content, conversation.ToolResultContent):
            results.append(json_dumps(content.result.data))
    assert results, "there are results to look at"
    told = "\n".join(results)
    for words in wanted.get("has", ()):
        if words not in told:
            yield Problem(Verdict.BAD, f"{words!r} is not in the results: {told!r}")
    for words in wanted.get("has_not", ()):
        if words in told:
            yield Problem(Verdict.BAD, f"{words!r} is in the results: {told!r}")


def _stands_in(wanted: str, beside: str) -> bool:
    """Return whether one of the alternatives stands there as whole words, as a name or as an entity id."""
    plain = _words(beside)
    return any(_words(alternative) in plain for alternative in wanted.split("|"))


def _words(written: str) -> str:
    """Return the words and numbers of a text, each with a space before and after it."""
    return f" {' '.join(re.findall(r'[^\W_]+', written.casefold()))} "
