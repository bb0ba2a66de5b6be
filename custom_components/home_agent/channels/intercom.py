"""Questions that one person has put to another: asked aloud, else in writing, and the reply brought back."""

from collections.abc import Sequence
from typing import Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar

from ..agent.describe import async_phrase
from ..const import LOGGER
from ..errors import HomeAgentError
from ..safety.frozen import FrozenCall
from ..texts import one_line
from ..tools.everyday.notify_tool import Inquiry
from ..tools.guard import Guard
from ..tools.messages import heard_on
from .announcing import Announcer
from .asking import MAX_SATELLITES, Questions, Receivers

ALOUD_SECONDS: Final = 120
WRITTEN_SECONDS: Final = 15 * 60
MAX_ANSWER: Final = 300


class Intercom:
    """Puts the questions of one agent's people.

    A reply is told to the one who asked, and no model reads it: it can neither act nor be taken for words of
    the person who asked.
    """

    def __init__(self, hass: HomeAssistant, guard: Guard, asker: Questions, announcer: Announcer) -> None:
        self._hass = hass
        self._guard = guard
        self._asker = asker
        self._announcer = announcer

    @callback
    def ask(self, asked: Inquiry) -> None:
        """Put a question in the background."""
        self._asker.begin(self._async_carry(asked))

    async def _async_carry(self, asked: Inquiry) -> None:
        area = ar.async_get(self._hass).async_get_area(asked.speaker.area_id or "")
        language, question = asked.owner.language, asked.text
        if name := asked.speaker.person or (area.name if area else ""):
            question = await async_phrase(
                self._hass, language, "intercom_question", name=name, question=asked.text
            )
        satellites = tuple(entity_id for call in asked.aloud for entity_id in heard_on(call))
        aloud = Receivers(satellites=satellites[:MAX_SATELLITES])
        answer = await self._async_ask(asked, question, asked.aloud, aloud, ALOUD_SECONDS)
        if not answer:
            in_writing = Receivers(persons=asked.persons)
            answer = await self._async_ask(asked, question, asked.written, in_writing, WRITTEN_SECONDS)
        await self._announcer.async_tell_reply(asked.owner, asked.name, answer)

    async def _async_ask(
        self,
        asked: Inquiry,
        question: str,
        calls: Sequence[FrozenCall],
        receivers: Receivers,
        seconds: float,
    ) -> str:
        """Return what was replied, nothing if nobody has or the household no longer allows the question."""
        if not calls or not self._asker.reaches(receivers):
            return ""
        try:
            user = await self._guard.async_user(asked.speaker)
            for call in calls:
                self._guard.check_again(call, user, asked.speaker)
            with self._guard.journal.acting(calls, asked.speaker, {}):
                chosen = await self._asker.async_choose(question, None, receivers, seconds)
        except HomeAgentError as err:
            LOGGER.info("A question was not put: %s", err)
            return ""
        return one_line(chosen.answer, MAX_ANSWER) if chosen else ""
