"""Home Assistant's own sentences, checked by the same guard as the model's calls."""

from contextlib import suppress
from typing import TYPE_CHECKING

from homeassistant.components import conversation
from homeassistant.helpers import intent

from ..errors import PermissionDenied
from ..safety.frozen import FrozenIntent
from ..safety.ledger import RecordedAction
from ..safety.rules import Verdict
from ..tools.asked_about import freeze
from .log import async_say, remove_from
from .phrases import async_phrase
from .turn import Turn

if TYPE_CHECKING:
    from hassil.recognize import RecognizeResult


async def async_answer_locally(turn: Turn) -> bool:
    """Answer with Home Assistant's own sentences; False if they do not know this one or may not act.

    The answer is in the chat log afterwards; what needs a confirmation waits in the turn's draft.
    """
    assert turn.user_input is not None
    guard, speaker = turn.data.handler.guard, turn.calls.speaker
    user = await guard.async_user(speaker)
    waiting: list[FrozenIntent] = []
    actions: list[RecordedAction] = []

    def refused(result: RecognizeResult) -> bool:
        slots = {entity.name: entity.value for entity in result.entities_list}
        try:
            judged = guard.check_intent(result.intent.name, slots, user, speaker)
        except PermissionDenied:
            return True
        if judged is None:
            return True
        verdict, frozen = judged
        if verdict is Verdict.CONFIRM:
            waiting.append(frozen)
            return True
        turn.calls.touched.extend(entity_id for call in frozen.calls for entity_id in call.entity_ids)
        actions[:] = [guard.journal.begin(call, speaker) for call in frozen.calls]
        return False

    before = len(turn.chat_log.content)
    response = await conversation.async_handle_intents(
        turn.hass, turn.user_input, turn.chat_log, intent_filter=refused
    )
    failed = response is None or response.response_type is intent.IntentResponseType.ERROR
    for action in actions:
        guard.journal.end(action, "failed" if failed else None)
    if response is None or response.response_type is intent.IntentResponseType.ERROR:
        # The notes of the sentences about a failed attempt would look like the model's own calls.
        remove_from(turn, before)
        turn.calls.touched.clear()
        if waiting:
            # Calls that one question cannot describe are left to the model, which can reduce them.
            with suppress(PermissionDenied):
                freeze(turn.hass, turn.calls.draft.of_call(turn.calls.origin()), waiting[0])
        return False
    turn.local_response = response
    speech = response.speech.get("plain", {}).get("speech")
    await async_say(turn, speech or await async_phrase(turn.hass, turn.language, "done"))
    return True
