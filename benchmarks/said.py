"""What people say in 65 languages, with the calls and the answers of right and of wrong models."""

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
import json
from pathlib import Path
from typing import Any
import unicodedata
import zlib

from pytest_homeassistant_custom_component.common import MockUser

from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant
from tests.helpers.agent import speech
from tests.servers.loopback import Captured
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, tool_calls

from .harness import add_ours, running_hass
from .replay_house import Recorded, Row, async_build

DATA = Path(__file__).parent / "data" / "said"
QUESTIONS = {
    "HassClimateGetTemperature",
    "HassGetCurrentDate",
    "HassGetCurrentTime",
    "HassGetState",
    "HassGetWeather",
    "HassTimerStatus",
}
PROTECTED = ["lock", "cover", "valve"]
OPTIONS = {
    "quick_confirmations": False,  # else the model's own answer is not asked for
    "memory_extraction_enabled": False,
    "history_enabled": False,
    "session_persistence_enabled": False,
    "policy_allowed": PROTECTED,
}
SPEECH_KEEPS = "%'’-־"  # noqa: RUF001 - inside of words


class Form(StrEnum):
    """How a sentence is written."""

    WRITTEN = "as written"
    HEARD = "as heard"
    """Without punctuation and capitals, as most speech recognition writes it."""


class Model(StrEnum):
    """What the model does with a sentence."""

    RIGHT = "right call"
    """Makes the call of an order, once more if it was refused, and confirms it."""
    IDLE = "no call"
    """Says that an order is carried out, and has called nothing."""
    CHANGING = "wrong call"
    """Turns on or opens something in answer to a question."""
    ANSWERING = "answer"
    """Answers a question."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and what it is about."""

    language: str
    intent: str
    domain: str
    """Of what is turned on or off; empty for other intents."""
    text: str

    @property
    def is_question(self) -> bool:
        """Return whether nothing is to be changed."""
        return self.intent in QUESTIONS

    def in_form(self, form: Form) -> str:
        """Return the text in a form."""
        return self.text if form is Form.WRITTEN else as_heard(self.text)


@dataclass(slots=True)
class Turn:
    """What became of a sentence with a model."""

    sentence: Sentence
    model: Model
    form: Form
    refusals: int = 0
    """How many calls failed."""
    is_changed: bool = False
    """Whether a call worked."""
    requests: int = 0
    answer: str | None = None
    """What the model says; None if there is no text for it in the language."""
    is_said: bool = False
    """Whether that is what the person hears."""
    touched: frozenset[str] = frozenset()
    """The layers that changed something."""

    @property
    def asked_again(self) -> bool:
        """Return whether the model was asked more often than its calls need."""
        calls = self.refusals + self.is_changed
        return self.requests > calls + 1


def as_heard(written: str) -> str:
    """Return a sentence without punctuation and capitals."""
    kept = (
        char if not unicodedata.category(char).startswith("P") or char in SPEECH_KEEPS else " "
        for char in written.lower()
    )
    return " ".join("".join(kept).split())


def load(most: int | None = None) -> list[Sentence]:
    """Return the sentences; at most so many of each language, intent and domain, evenly spread."""
    sentences: list[Sentence] = []
    for (language, intent, domain), texts in _groups(DATA / "sentences.txt"):
        step = 1 if most is None else max(1, -(-len(texts) // most))
        sentences += [Sentence(language, intent, domain, one) for one in texts[::step]]
    return sentences


def _groups(path: Path) -> Iterator[tuple[tuple[str, str, str], list[str]]]:
    key = ("", "", "")
    lines = path.read_text(encoding="utf-8").splitlines()
    for is_heading, part in groupby(lines, lambda line: line.startswith("# ")):
        if is_heading:
            language, intent, *domain = list(part)[-1][2:].split()
            key = (language, intent, domain[0] if domain else "")
        else:
            yield key, list(part)


HOME: Row = json.loads((DATA / "home.json").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Order:
    """What a right model calls, and the state before."""

    action: str
    entity_id: str
    before: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def call(self) -> tuple[str, dict[str, Any]]:
        """Return the call."""
        if self.entity_id.startswith("todo."):
            return "todo_list", {"action": self.action, **self.values}
        return "ha_control", {"action": self.action, "entity_id": [self.entity_id], **self.values}


SWITCHED: Mapping[tuple[str, str], Order] = {
    ("HassTurnOn", "light"): Order("turn_on", "light.lamp", "off"),
    ("HassTurnOff", "light"): Order("turn_off", "light.lamp", "on"),
    ("HassTurnOn", "scene"): Order("turn_on", "light.lamp", "off"),
    ("HassTurnOn", "fan"): Order("turn_on", "fan.fan", "off"),
    ("HassTurnOff", "fan"): Order("turn_off", "fan.fan", "on"),
    ("HassTurnOn", "cover"): Order("open", "cover.blinds", "closed"),
    ("HassTurnOff", "cover"): Order("close", "cover.blinds", "open"),
    ("HassTurnOn", "valve"): Order("open", "valve.main", "closed"),
    ("HassTurnOff", "valve"): Order("close", "valve.main", "open"),
    ("HassTurnOn", "lock"): Order("lock", "lock.front_door", "unlocked"),
    ("HassTurnOff", "lock"): Order("unlock", "lock.front_door", "locked"),
}
ORDERS: Mapping[str, Order] = {
    "HassLightSet": Order("turn_on", "light.lamp", "off", {"brightness": 40}),
    "HassFanSetSpeed": Order("set_speed", "fan.fan", "on", {"percentage": 40}),
    "HassSetPosition": Order("set_position", "cover.blinds", "closed", {"position": 50}),
    "HassClimateSetTemperature": Order("set_temperature", "climate.thermostat", "heat", {"temperature": 21}),
    "HassLawnMowerStartMowing": Order("start", "lawn_mower.clippy", "docked"),
    "HassLawnMowerDock": Order("return_to_base", "lawn_mower.clippy", "mowing"),
    "HassVacuumStart": Order("start", "vacuum.rover", "docked"),
    "HassVacuumReturnToBase": Order("return_to_base", "vacuum.rover", "cleaning"),
    "HassMediaNext": Order("next", "media_player.tv", "playing"),
    "HassMediaPrevious": Order("previous", "media_player.tv", "playing"),
    "HassMediaPause": Order("pause", "media_player.tv", "playing"),
    "HassMediaUnpause": Order("play", "media_player.tv", "paused"),
    "HassMediaSearchAndPlay": Order("play", "media_player.tv", "paused"),
    "HassMediaPlayerMute": Order("mute", "media_player.tv", "playing"),
    "HassMediaPlayerUnmute": Order("unmute", "media_player.tv", "playing"),
    "HassSetVolume": Order("set_volume", "media_player.tv", "playing", {"volume_level": 40}),
    "HassSetVolumeRelative": Order("set_volume", "media_player.tv", "playing", {"volume_level": 60}),
    "HassListAddItem": Order("add", "todo.shopping", "0", {"items": ["Milk"]}),
    "HassShoppingListAddItem": Order("add", "todo.shopping", "0", {"items": ["Milk"]}),
}
WRONG = (SWITCHED["HassTurnOn", "light"], SWITCHED["HassTurnOn", "cover"], SWITCHED["HassTurnOff", "lock"])
"""What a wrong model does in answer to a question, in turn."""


@dataclass(slots=True)
class _Script:
    order: Order | None
    answer: str
    again: bool
    """Whether a call that failed is made once more."""
    calls: int = 0
    results: list[Mapping[str, Any]] = field(default_factory=list)

    def reply(self, request: Captured) -> Reply:
        """Answer a request."""
        last = request.messages[-1]
        if last["role"] == "tool":
            self.results.append(json.loads(last["content"]))
        elif self.calls or self.order is None:
            return text(self.answer)
        if self.order is not None and (not self.calls or self._is_refused_once):
            self.calls += 1
            return tool_calls([self.order.call])
        return text(self.answer)

    @property
    def _is_refused_once(self) -> bool:
        return self.again and len(self.results) == 1 and not self.results[0]["success"]


@dataclass(slots=True)
class Household:
    """A small home with an agent, and the model that it asks."""

    hass: HomeAssistant
    server: ModelServer
    agent: str
    entities: Mapping[str, Recorded]
    context: Context
    answers: Mapping[tuple[str, str, str], list[str]]
    """What is said after an order, or to a question, by language, intent and domain."""

    async def async_hold(self, turn: Turn) -> None:
        """Say a sentence to the agent and note what became of it."""
        sentence, order = turn.sentence, None
        number = zlib.crc32(sentence.text.encode())
        if turn.model is Model.CHANGING:
            order = WRONG[number % len(WRONG)]
        elif turn.model is Model.RIGHT:
            order = SWITCHED.get((sentence.intent, sentence.domain)) or ORDERS[sentence.intent]
        if order is not None:
            self.entities[order.entity_id].reset({"state": order.before})
        answers = self.answers.get((sentence.language, sentence.intent, sentence.domain))
        turn.answer = answers[number % len(answers)] if answers else None
        script = _Script(order, turn.answer or "OK.", again=turn.model is Model.RIGHT)
        self.server.default = script.reply
        self.server.requests.clear()
        result = await conversation.async_converse(
            self.hass,
            sentence.in_form(turn.form),
            None,
            self.context,
            language=sentence.language,
            agent_id=self.agent,
        )
        turn.requests = len(self.server.chats)
        turn.refusals = sum(not each["success"] for each in script.results)
        turn.is_changed = any(each["success"] for each in script.results)
        turn.is_said = turn.answer is not None and turn.answer in speech(result)


@asynccontextmanager
async def household() -> AsyncGenerator[Household]:
    """Return the home on a running Home Assistant."""
    with ModelServer() as server:
        async with running_hass() as hass:
            entities = await async_build(hass, HOME)
            agent = await add_ours(hass, server.url, OPTIONS)
            context = Context(user_id=MockUser(is_owner=True).add_to_hass(hass).id)
            try:
                yield Household(hass, server, agent, entities, context, dict(_groups(DATA / "answers.txt")))
            finally:
                for entry in hass.config_entries.async_entries("home_agent"):
                    await hass.config_entries.async_unload(entry.entry_id)


def turns_of(sentences: Iterable[Sentence]) -> list[Turn]:
    """Return the turns to hold: first those without calls, which later ones would back.

    A form that is the same as the one before is left out.
    """
    turns = [
        Turn(sentence, model, form)
        for sentence in sentences
        for form in Form
        if form is Form.WRITTEN or sentence.in_form(form) != sentence.text
        for model in (
            (Model.ANSWERING, Model.CHANGING) if sentence.is_question else (Model.IDLE, Model.RIGHT)
        )
    ]
    return sorted(turns, key=lambda turn: turn.model in (Model.RIGHT, Model.CHANGING))
