"""Satellites and phones of a scenario, and what was announced, asked and sent there."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from pytest_homeassistant_custom_component.common import MockUser, async_fire_time_changed, async_mock_service

from custom_components.home_agent.const import DOMAIN
from homeassistant.components.assist_pipeline.pipeline import async_get_pipeline, async_update_pipeline
from homeassistant.core import Context, EventOrigin, HomeAssistant, ServiceCall
from homeassistant.helpers import area_registry as ar
from homeassistant.helpers.entity_component import DATA_INSTANCES
from homeassistant.util import dt as dt_util
from tests.helpers.asking_satellite import AskingSatellite
from tests.helpers.everyday_house import async_add_satellite
from tests.helpers.scenario_checks import states, unlike_all
from tests.helpers.scenarios import Problem, Verdict, localized

CLEAR = "clear_notification"
"""The message that takes a notification away."""


@dataclass(slots=True)
class Listeners:
    """Who can be told or asked something; empty in most scenarios."""

    users: Mapping[str, MockUser]
    satellites: dict[str, AskingSatellite] = field(default_factory=dict)
    phones: dict[str, list[ServiceCall]] = field(default_factory=dict)

    @property
    def told(self) -> dict[str, list[str]]:
        """Return what people had announced, or sent to somebody."""
        return self._heard(lambda one: one.said, lambda data: data is None)

    @property
    def asked(self) -> dict[str, list[str]]:
        return self._heard(lambda one: one.asked, lambda data: bool(data and "actions" in data))

    @property
    def sent(self) -> dict[str, list[str]]:
        """Return what Home Agent has sent without being asked."""
        return self._heard(lambda _one: [], lambda data: bool(data) and "actions" not in data)

    def _heard(
        self,
        spoken: Callable[[AskingSatellite], list[str]],
        counts: Callable[[Mapping[str, Any] | None], bool],
    ) -> dict[str, list[str]]:
        heard = {area: list(spoken(one)) for area, one in self.satellites.items()}
        for name, calls in self.phones.items():
            heard[name] = [
                call.data["message"]
                for call in calls
                if call.data["message"] != CLEAR and counts(call.data.get("data"))
            ]
        return {name: texts for name, texts in heard.items() if texts}

    def press(self, hass: HomeAssistant, name: str, title: str) -> None:
        """Press a button of the newest question on a phone."""
        asked = next(call for call in reversed(self.phones[name]) if "actions" in call.data.get("data", {}))
        buttons = {button["title"]: button["action"] for button in asked.data["data"]["actions"]}
        context = Context(user_id=self.users[name].id)
        pressed = {"action": buttons.get(title) or next(iter(buttons.values())), "reply_text": title}
        hass.bus.async_fire("mobile_app_notification_action", pressed, EventOrigin.remote, context)

    def problems(self, wanted: Mapping[str, Any], language: str) -> Iterator[Problem]:
        """Yield what was told in a turn and should not have been, or the other way round; forget it.

        Questions and unasked messages are looked at where a turn names them, and where nobody speaks.
        """
        told = {name: [text] for name, text in (localized(wanted.get("told", {}), language) or {}).items()}
        if self.told != told:
            yield Problem(Verdict.BAD, f"told {self.told} instead of {told}")
        for key, heard in (("asked", self.asked), ("sent", self.sent)):
            if key in wanted or not wanted.keys() & {"say", "must"}:
                parts = localized(wanted.get(key, {}), language) or {}
                if not _fits(heard, parts):
                    yield Problem(Verdict.BAD, f"{key} {heard} instead of {parts}")
        for one in self.satellites.values():
            one.said.clear()
            one.asked.clear()
        for calls in self.phones.values():
            calls.clear()


def _fits(heard: Mapping[str, list[str]], wanted: Mapping[str, str | list[str]]) -> bool:
    """Return whether each has heard texts with these parts, one after the other, and nobody else anything."""
    several = {name: [parts] if isinstance(parts, str) else parts for name, parts in wanted.items()}
    return heard.keys() == several.keys() and all(
        len(texts) == len(several[name])
        and all(part in text for part, text in zip(several[name], texts, strict=True))
        for name, texts in heard.items()
    )


def options_of(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a scenario with phones or satellites: no hour is a quiet one."""
    if not {"people", "satellites"} & scenario.keys():
        return {}
    people = scenario.get("people", {})
    targets = [
        {"person": f"person.{name.lower()}", "targets": [f"notify.mobile_app_{name.lower()}"]}
        for name in people
    ]
    quiet = dict.fromkeys(("proactive_quiet_start", "proactive_quiet_end"), "00:00:00")
    return {**quiet, "notify_targets": targets}


async def async_add_listeners(
    hass: HomeAssistant, scenario: Mapping[str, Any], users: Mapping[str, MockUser], language: str
) -> Listeners:
    """Add the satellites, which speak a language, and the people of a scenario with a phone for each."""
    found = Listeners(users)
    for name, where in scenario.get("people", {}).items():
        user = users[name]
        attributes = {"user_id": user.id, "id": name.lower(), "friendly_name": name}
        hass.states.async_set(f"person.{name.lower()}", where, attributes)
        found.phones[name] = async_mock_service(hass, "notify", f"mobile_app_{name.lower()}")
    for area_name in scenario.get("satellites", ()):
        area = ar.async_get(hass).async_get_area_by_name(area_name)
        assert area is not None, area_name
        found.satellites[area_name] = await async_add_satellite(
            hass, f"{area_name} satellite", area.id, AskingSatellite
        )
    if found.satellites:
        voice = {"language": language, "tts_language": language}
        await async_update_pipeline(hass, async_get_pipeline(hass), **voice)
    return found


SECONDS = 5.0
"""How long it may take until what a turn expects has come about."""
QUIET_SECONDS = 0.2
"""How long nothing may come where a turn expects nothing."""


def change(hass: HomeAssistant, entity_id: str, reported: Any) -> None:
    """Have an entity report a state by itself: attributes of one of the demo house, or a plain state."""
    if isinstance(reported, Mapping):
        entity: Any = hass.data[DATA_INSTANCES][entity_id.partition(".")[0]].get_entity(entity_id)
        assert entity is not None, entity_id
        entity.change(**reported)
        return
    old = hass.states.get(entity_id)
    hass.states.async_set(entity_id, reported, old.attributes if old else {})


async def async_happen(
    hass: HomeAssistant, turn: Mapping[str, Any], listeners: Listeners, language: str
) -> list[Problem]:
    """Let a turn happen, answer what is asked, and return what is wrong then."""
    before = states(hass)
    answers = prepare(turn, listeners, language)
    response: dict[str, Any] = {}
    async with _asking(hass, turn, listeners, language, response):
        for entity_id, reported in turn.get("states", {}).items():
            change(hass, entity_id, reported)
        await hass.async_block_till_done()
        if hours := turn.get("hours"):
            async_fire_time_changed(hass, dt_util.utcnow() + timedelta(hours=hours))
            await hass.async_block_till_done()
        expected = [localized(turn.get(key, {}), language) or {} for key in ("asked", "sent")]
        await _async_until(
            hass,
            lambda: [listeners.asked.keys(), listeners.sent.keys()] == [part.keys() for part in expected],
            nothing=not any(expected),
        )
        for name in answers.keys() & listeners.phones.keys():
            listeners.press(hass, name, answers[name])
        after = turn.get("after", {})
        told = localized(turn.get("told", {}), language) or {}

        def is_over() -> bool:
            return listeners.told.keys() == told.keys() and not unlike_all(hass, after, before)

        await _async_until(hass, is_over, nothing=not (after or told))
    found = unlike_all(hass, after, before)
    found += listeners.problems(turn, language)
    for key, value in turn.get("response", {}).items():
        if response.get(key) != value:
            found.append(Problem(Verdict.BAD, f"the response is {response}"))
    return found


def prepare(turn: Mapping[str, Any], listeners: Listeners, language: str) -> dict[str, Any]:
    """Have satellites hear the answers of a turn to what they ask, and return all answers."""
    answers = {name: localized(answer, language) for name, answer in turn.get("answers", {}).items()}
    for area, satellite in listeners.satellites.items():
        said = answers.get(area, [])
        satellite.answers = [said] if isinstance(said, str) else list(said)
    return answers


async def async_reply(
    hass: HomeAssistant, turn: Mapping[str, Any], listeners: Listeners, language: str
) -> None:
    """Answer on phones what a sentence had asked there, and wait for what is told then."""
    for name, answer in turn["answers"].items():
        if name in listeners.phones:
            await _async_until(hass, lambda name=name: name in listeners.asked, nothing=False)
            listeners.press(hass, name, localized(answer, language))
    told = localized(turn.get("told", {}), language) or {}
    await _async_until(hass, lambda: listeners.told.keys() == told.keys(), nothing=not told)


@asynccontextmanager
async def _asking(
    hass: HomeAssistant,
    turn: Mapping[str, Any],
    listeners: Listeners,
    language: str,
    response: dict[str, Any],
) -> AsyncIterator[None]:
    """Have an automation ask with the action `home_agent.ask`, and keep the response."""
    if "ask" not in turn:
        yield
        return
    data = {key: localized(value, language) for key, value in turn["ask"].items()}
    rooms = [listeners.satellites[area].entity_id for area in data.pop("satellites", ())]
    data |= {"satellite": rooms} if rooms else {}
    asking = hass.async_create_task(
        hass.services.async_call(DOMAIN, "ask", data, blocking=True, return_response=True), eager_start=False
    )
    yield
    async with asyncio.timeout(SECONDS):
        response.update(await asking or {})


async def _async_until(hass: HomeAssistant, look: Callable[[], bool], *, nothing: bool) -> None:
    """Let the home work until something is so, at most some seconds; a moment where nothing may come."""
    try:
        async with asyncio.timeout(QUIET_SECONDS if nothing else SECONDS):
            while nothing or not look():  # noqa: ASYNC110 - what happens is not in the hands of the test
                await asyncio.sleep(0.01)
    except TimeoutError:
        return
