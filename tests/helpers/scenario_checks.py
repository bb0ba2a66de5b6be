"""What is wrong with a turn of a conversation: states, words, requests, results."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
import re
from typing import Any

from homeassistant.components import conversation
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.core import HomeAssistant
from homeassistant.helpers.json import json_dumps
from tests.helpers.agent import speech
from tests.helpers.remembering import known
from tests.helpers.scenarios import Problem, Verdict, localized, replies_of
from tests.servers.loopback import Captured

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
    "update",
    "vacuum",
)
"""Domains in which only what a scenario names may change."""
MARK = "[Added by Home Assistant, not said by the person]"


def states(hass: HomeAssistant) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return what can change by a command."""
    return {
        state.entity_id: (state.state, dict(state.attributes)) for state in hass.states.async_all(CHANGEABLE)
    }


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of one turn."""

    language: str
    before: Mapping[str, tuple[str, dict[str, Any]]]
    """What could change, before the turn."""
    answer: conversation.ConversationResult
    chats: Sequence[Captured]
    """The model requests."""
    results: Sequence[str]
    """What the tools returned."""


def read_results(hass: HomeAssistant, answer: conversation.ConversationResult) -> list[str]:
    """Return the results of a turn's calls as JSON, as a model reads them."""
    results: list[str] = []
    for content in reversed(hass.data[DATA_CHAT_LOGS][str(answer.conversation_id)].content):
        if isinstance(content, conversation.UserContent):
            break
        if isinstance(content, conversation.ToolResultContent):
            results.append(json_dumps(content.result.data))
    return results


def problems(
    hass: HomeAssistant, turn: Mapping[str, Any], mistake: Mapping[str, Any] | None, heard: Heard
) -> Iterator[Problem]:
    wanted = {**turn, **mistake} if mistake else turn
    if mistake and mistake["must"] in ("refused", "asked"):
        wanted["after"] = mistake.get("after", {})
        wanted["items"] = {}
        wanted["said"] = mistake.get("said", {})
    yield from _wrong_states(hass, wanted.get("after", {}), wanted.get("items", {}), heard.before)
    yield from _wrong_words(turn, mistake, wanted.get("said", {}), heard)
    chats = heard.chats
    yield from _wrong_results("\n".join(heard.results), (mistake or turn).get("results", {}))
    if turn.get("request"):
        assert chats, "there is a request to look at"
        yield from _wrong_request(chats[0], turn["request"], heard.language)
    scripted = len(replies_of(turn, mistake, heard.language))
    if len(chats) > (most := wanted.get("rounds", scripted)):
        yield Problem(Verdict.FLAWED, f"{len(chats)} model requests instead of at most {most}")
    if mistake and mistake["must"] == "retried" and len(chats) <= len(mistake["model"]):
        yield Problem(Verdict.BAD, "the model was not asked again")
    if mistake and mistake["must"] == "asked" and not heard.answer.continue_conversation:
        yield Problem(Verdict.BAD, "the person was not asked")


def _wrong_states(
    hass: HomeAssistant,
    after: Mapping[str, Any],
    items: Mapping[str, Any],
    before: Mapping[str, tuple[str, dict[str, Any]]],
) -> Iterator[Problem]:
    """Yield what is not in the state that it should be in, and what changed beside it."""
    yield from unlike_all(hass, after, before, items)


def unlike_all(
    hass: HomeAssistant,
    after: Mapping[str, Any],
    before: Mapping[str, tuple[str, dict[str, Any]]],
    others: Iterable[str] = (),
) -> list[Problem]:
    """Return what is not in the state that it should be in, and what changed beside it and `others`."""
    found = [*unlike(hass, after)]
    for entity_id, now in states(hass).items():
        if entity_id not in {*after, *others} and before.get(entity_id) != now:
            was = before.get(entity_id, ("missing", {}))
            changed = {name: value for name, value in now[1].items() if was[1].get(name) != value}
            found.append(Problem(Verdict.BAD, f"{entity_id} changed: {was[0]} -> {now[0]}, {changed}"))
    return found


def unlike(hass: HomeAssistant, after: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is not in the state that it should be in."""
    now = states(hass)
    for entity_id, expected in after.items():
        state, attributes = now[entity_id]
        given = {**attributes, "state": state}
        wanted = expected if isinstance(expected, Mapping) else {"state": expected}
        for name, value in wanted.items():
            found = list(seen) if isinstance(seen := given.get(name), tuple) else seen
            # Home Assistant adds steps of volumes up as floats.
            is_near = isinstance(found, float) and isinstance(value, int | float) and isclose(found, value)
            if not is_near and found != value:
                yield Problem(Verdict.BAD, f"{entity_id}: {name} is {found!r} instead of {value!r}")


def _wrong_words(
    turn: Mapping[str, Any], mistake: Mapping[str, Any] | None, said: Mapping[str, Any], heard: Heard
) -> Iterator[Problem]:
    spoken, language = speech(heard.answer), heard.language
    for words in localized(said.get("has", []), language, []):
        if words.casefold() not in spoken.casefold():
            yield Problem(Verdict.BAD, f"{words!r} is not said: {spoken!r}")
    for words in localized(said.get("has_not", []), language, []):
        if words.casefold() in spoken.casefold():
            yield Problem(Verdict.BAD, f"{words!r} is said: {spoken!r}")
    if said.get("asks") is not None and said["asks"] != heard.answer.continue_conversation:
        yield Problem(Verdict.BAD, f"{'no' if said['asks'] else 'a'} question is asked: {spoken!r}")
    replies = replies_of(turn, mistake, language)
    counts = mistake is None or mistake["must"] in ("corrected", "retried")
    if counts and replies and len(heard.chats) >= len(replies) and replies[-1].text.strip("…") not in spoken:
        yield Problem(Verdict.BAD, f"{replies[-1].text!r} is not what is said: {spoken!r}")


def _wrong_request(request: Captured, wanted: Mapping[str, Any], language: str) -> Iterator[Problem]:
    asked = next(message for message in reversed(request.messages) if message["role"] == "user")
    _sentence, _, beside = asked["content"].partition(MARK)
    beside += known(request.messages[0]["content"])
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


def _wrong_results(told: str, wanted: Mapping[str, Any]) -> Iterator[Problem]:
    for words in wanted.get("has", ()):
        if not any(alternative in told for alternative in words.split("|")):
            yield Problem(Verdict.BAD, f"{words!r} is not in the results: {told!r}")
    for words in wanted.get("has_not", ()):
        if words in told:
            yield Problem(Verdict.BAD, f"{words!r} is in the results: {told!r}")


def _stands_in(wanted: str, beside: str) -> bool:
    """Return whether one of the alternatives stands there as whole words, as a name or as an entity id."""
    plain = _words(beside)
    return any(_words(alternative) in plain for alternative in wanted.split("|"))


def _words(written: str) -> str:
    return f" {' '.join(re.findall(r'[^\W_]+', written.casefold()))} "
