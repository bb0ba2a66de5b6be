"""Home Assistant's own sentences, let through by the same guard as the model's calls."""

from typing import TYPE_CHECKING

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent

from ..errors import PermissionDenied
from ..tools.handler import ToolHandler
from ..tools.intents import predicted_calls
from .closing import async_say
from .phrases import async_phrase
from .turn import Turn

if TYPE_CHECKING:
    from hassil.recognize import RecognizeResult


async def async_answer(hass: HomeAssistant, turn: Turn, handler: ToolHandler, agent_id: str) -> bool:
    """Answer with Home Assistant's own sentences; False if they do not know this one or may not act.

    The answer stands in the chat log afterwards.
    """
    assert turn.user_input is not None
    speaker = turn.calls.speaker
    user = await handler.async_user(speaker)

    def refused(result: RecognizeResult) -> bool:
        slots = {entity.name: entity.value for entity in result.entities_list}
        calls = predicted_calls(hass, result.intent.name, slots, speaker)
        if calls is None:
            return True
        try:
            for call in calls:
                handler.check(call, user)
        except PermissionDenied:
            return True
        turn.calls.touched.extend(entity_id for call in calls for entity_id in call.entity_ids)
        return False

    before = len(turn.chat_log.content)
    response = await conversation.async_handle_intents(
        hass, turn.user_input, turn.chat_log, intent_filter=refused
    )
    if response is None or response.response_type is intent.IntentResponseType.ERROR:
        # What the sentences noted down about a failed try would reach the model as calls of its own.
        del turn.chat_log.content[before:]
        turn.calls.touched.clear()
        return False
    speech = response.speech.get("plain", {}).get("speech") or await async_phrase(hass, turn.language, "done")
    await async_say(turn, agent_id, speech)
    return True
