"""Questions of automations with answers to choose from: nothing is done about the answer here."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from homeassistant.core import Context, Event, HomeAssistant, callback
from homeassistant.util.ulid import ulid_now

from ..agent.describe import async_phrase
from ..const import CONF_NOTIFY_TARGETS, LOGGER
from ..errors import HomeAgentError, ToolExecutionError
from ..safety.answers import Answer, read_reply
from ..texts import fold
from ..tools.own_calls import async_ask_question, async_notify
from ..tools.people import ChatQuestion, PersonalChats, Route, chats_of, read_targets, route_to, user_id_of
from .asking import Receivers
from .phones import CLEAR, EVENT_PHONE, async_user_of_press
from .satellites import can_ask, language_of

YES: Final = "yes"
NO: Final = "no"


def meant(heard: str, titles: Mapping[str, str], language: str) -> str | None:
    """Return the one answer that a sentence names; None if it names none or several."""
    if set(titles) == {YES, NO}:
        read = read_reply(heard, language).answer
        return {Answer.YES: YES, Answer.NO: NO}.get(read)
    said = f" {' '.join(_words(heard))} "
    found = [answer for answer, title in titles.items() if f" {' '.join(_words(title))} " in said]
    return found[0] if len(found) == 1 else None


def _words(text: str) -> list[str]:
    """Return the words of a text, without marks."""
    return "".join(letter if letter.isalnum() else " " for letter in fold(text)).split()


ANSWER: Final = "HOME_AGENT_ANSWER_"
MAX_ROUNDS: Final = 2
"""How often a satellite asks."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An answer, and the person or the satellite that gave it."""

    answer: str
    by: str


class Chooser:
    """Asks questions with answers to choose from."""

    def __init__(self, hass: HomeAssistant, entry_id: str, settings: Mapping[str, Any]) -> None:
        self._hass = hass
        self._entry_id = entry_id
        self._targets = read_targets(settings[CONF_NOTIFY_TARGETS])

    @callback
    def reaches(self, receivers: Receivers) -> bool:
        """Return whether anybody can be asked now."""
        persons = receivers.persons
        return bool(self._routes(persons) or self._chats_of(persons)) or any(
            can_ask(self._hass, entity_id) for entity_id in receivers.satellites
        )

    async def async_choose(
        self, question: str, answers: Sequence[str], receivers: Receivers, seconds: float
    ) -> Chosen | None:
        """Ask, and return the first answer, None if there is none in time. Without answers: yes or no."""
        asked_id = ulid_now()
        titles = {one: one for one in answers} or {
            YES: await async_phrase(self._hass, self._hass.config.language, "confirmation_yes"),
            NO: await async_phrase(self._hass, self._hass.config.language, "confirmation_no"),
        }
        numbered = {str(number): answer for number, answer in enumerate(titles)}
        chosen: asyncio.Future[Chosen] = self._hass.loop.create_future()
        routes = self._routes(receivers.persons)
        users = {user_id_of(self._hass, person): person for person in receivers.persons}
        chats = self._chats_of(receivers.persons)

        @callback
        def take(user_id: str | None, answer: str) -> None:
            if not chosen.done():
                chosen.set_result(Chosen(answer, users[user_id]))

        async def async_pressed(event: Event[Any]) -> None:
            number = str(event.data.get("action", "")).removeprefix(f"{ANSWER}{asked_id}_")
            user = await async_user_of_press(self._hass, event) if number in numbered else None
            if user is not None and user.id in users:
                take(user.id, numbered[number])

        stop = self._hass.bus.async_listen(EVENT_PHONE, async_pressed)
        aloud = self._hass.async_create_background_task(
            self._async_ask_aloud(question, titles, receivers.satellites, chosen), "home_agent question"
        )
        buttons = [
            {"action": f"{ANSWER}{asked_id}_{number}", "title": title}
            for number, title in enumerate(titles.values())
        ]
        try:
            await self._async_send(routes, question, asked_id, actions=buttons, timeout=int(seconds))
            if chats is not None:
                whom = frozenset(filter(None, users))
                await chats.async_ask(
                    ChatQuestion(id=asked_id, text=question, titles=titles, users=whom, take=take)
                )
            async with asyncio.timeout(seconds):
                if not routes and chats is None:
                    await aloud
                    return chosen.result() if chosen.done() else None
                return await chosen
        except TimeoutError:
            return None
        finally:
            stop()
            aloud.cancel()
            await self._async_send([one for one in routes if one.can_clear], CLEAR, asked_id)
            if chats is not None:
                answer = chosen.result().answer if chosen.done() and not chosen.cancelled() else None
                await chats.async_end(asked_id, answer)

    @callback
    def _chats_of(self, persons: Iterable[str]) -> PersonalChats | None:
        chats = chats_of(self._hass, self._entry_id)
        return chats if chats is not None and any(map(chats.of_person, persons)) else None

    @callback
    def _routes(self, persons: Iterable[str]) -> list[Route]:
        targets = [target for person in persons for target in self._targets.get(person, ())]
        found = (route_to(self._hass, target) for target in targets)
        return list(dict.fromkeys(route for route in found if route is not None and route.has_buttons))

    async def _async_send(self, routes: Sequence[Route], message: str, asked_id: str, **details: Any) -> None:
        """Send to each phone; one that cannot be reached does not stop the others."""

        async def send(route: Route) -> None:
            data = {"message": message, "data": {"tag": f"home_agent_{asked_id}", **details}}
            try:
                await async_notify(self._hass, route.service, data, Context())
            except HomeAgentError as err:
                LOGGER.warning("A question was not sent: %s", err)

        await asyncio.gather(*map(send, routes))

    async def _async_ask_aloud(
        self,
        question: str,
        titles: Mapping[str, str],
        satellites: Sequence[str],
        chosen: asyncio.Future[Chosen],
    ) -> None:
        for entity_id in satellites:
            for _ in range(MAX_ROUNDS):
                if not can_ask(self._hass, entity_id):
                    break
                try:
                    heard = await async_ask_question(self._hass, entity_id, question)
                except ToolExecutionError as err:
                    LOGGER.debug("Nobody answered a question on %s: %s", entity_id, err)
                    break
                answer = meant(heard, titles, language_of(self._hass, entity_id))
                if answer is not None and not chosen.done():
                    chosen.set_result(Chosen(answer, entity_id))
                    return
