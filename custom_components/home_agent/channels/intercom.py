"""Questions that one person has put to another: asked aloud, else in writing, and the reply brought back."""

from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar

from ..agent.describe import async_phrase
from ..const import LOGGER
from ..errors import HomeAgentError
from ..texts import one_line
from ..tools.everyday.notify_tool import Inquiry
from ..tools.guard import Guard
from ..tools.messages import heard_on
from ..tools.recipients import is_spoken
from .announcing import Announcer
from .asking import MAX_SATELLITES, Questions, Receivers

ALOUD_SECONDS: Final = 120
WRITTEN_SECONDS: Final = 15 * 60
MAX_ANSWER: Final = 300


class Intercom:
    """Puts the questions of people. No model reads the reply: it acts as little as any announcement."""

    def __init__(self, hass: HomeAssistant, guard: Guard, asker: Questions, announcer: Announcer) -> None:
        self._hass = hass
        self._guard = guard
        self._asker = asker
        self._announcer = announcer

    async def async_ask(self, asked: Inquiry) -> None:
        """Put a question in the background."""
        self._asker.begin(self._async_carry(asked))

    async def _async_carry(self, asked: Inquiry) -> None:
        area, question = ar.async_get(self._hass).async_get_area(asked.speaker.area_id or ""), asked.text
        if name := asked.speaker.person or (area.name if area else ""):
            names = {"name": name, "question": question}
            question = await async_phrase(self._hass, asked.owner.language, "intercom_question", **names)
        answer = ""
        try:
            answer = await self._async_ask(asked, question, ALOUD_SECONDS, aloud=True)
            answer = answer or await self._async_ask(asked, question, WRITTEN_SECONDS, aloud=False)
        finally:  # whoever asked was promised to hear of it, also where the agent is unloaded
            await self._announcer.async_tell_reply(asked.owner, asked.name, asked.text, answer)

    async def _async_ask(self, asked: Inquiry, question: str, seconds: float, *, aloud: bool) -> str:
        """Return what was replied, nothing if nobody has or the household no longer allows the question."""
        calls = [call for call in asked.calls if is_spoken(call.domain, call.service) is aloud]
        satellites = tuple(entity_id for call in calls if aloud for entity_id in heard_on(call))
        receivers = Receivers(persons=() if aloud else asked.persons, satellites=satellites[:MAX_SATELLITES])
        if not calls or not self._asker.reaches(receivers):
            return ""
        try:
            user = await self._guard.async_user(asked.speaker)
            for call in calls:
                self._guard.check(call, user, asked.speaker)
            with self._guard.journal.acting(calls, asked.speaker, {}):
                chosen = await self._asker.async_choose(question, None, receivers, seconds)
        except HomeAgentError as err:
            LOGGER.info("A question was not put: %s", err)
            return ""
        return one_line(chosen.answer, MAX_ANSWER) if chosen else ""
