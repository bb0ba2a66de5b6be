"""Ask for a confirmation and process the answer, without the model."""

from collections.abc import Sequence

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

from ..domains import DOMAINS
from ..errors import HomeAgentError
from ..safety.answers import Answer, Ordered, Read, mask_numbers, read_answer
from ..safety.confirmation import ConfirmationRefused, Refusal
from ..safety.frozen import Frozen, FrozenCall, FrozenPlan
from ..safety.pending import ActionOutcome, Owner, PendingAction
from .log import async_say, replace_sentence
from .phrases import async_error_sentence, async_phrase
from .questions import ConfirmedActionReporter, parts
from .quick.sentences import async_sentence
from .recording import MASKED
from .turn import Turn

LATE = {
    ActionOutcome.EXPIRED: "confirmation_expired",
    ActionOutcome.WITHDRAWN: "confirmation_withdrawn",
    ActionOutcome.RESTARTED: "confirmation_restarted",
    ActionOutcome.WRONG_PIN: "confirmation_pin_locked",
}
"""What is said to an answer that comes too late."""


async def async_settle(turn: Turn) -> bool:
    """Handle the sentence as the answer to our question, if it is one; False if the turn continues."""
    confirmations, speaker = turn.data.confirmations, turn.calls.speaker
    owner = Owner.of(speaker, turn.calls.conversation_id)
    action = confirmations.waiting_for(owner, include_unattended=speaker.is_automation)
    ended = None if action else confirmations.take_ended(owner)
    expects_pin = confirmations.expects_pin(owner)
    if action is None and ended is None and not expects_pin:
        return False
    ordered = _ordered(turn.hass, action.frozen) if action else None
    read = read_answer(turn.calls.sentence, turn.language, ordered)
    if expects_pin:
        _mask(turn, read, is_open=action is not None or ended is not None)
    if action is None:
        if ended is None or read.answer is Answer.OTHER:
            return False
        await async_say(turn, await async_phrase(turn.hass, turn.language, LATE[ended]))
        return True
    if read.answer is Answer.OTHER or (read.has_digits and not confirmations.wants_pin):
        # The person who was asked does not hear the automation, so the question stays pending.
        if not speaker.is_automation:
            await confirmations.async_drop(action, ActionOutcome.SUPERSEDED)
        return False
    await async_say(turn, await _async_settled(turn, action, read))
    return True


def _ordered(hass: HomeAssistant, frozen: Sequence[Frozen]) -> Ordered:
    """Return the verbs and the names by which a person may repeat what was asked about."""
    calls = [
        call for part in parts(frozen) for call in (part.calls if isinstance(part, FrozenPlan) else (part,))
    ]
    verbs = [_verbs(call) for call in calls]
    targets = {one for call in calls if isinstance(call, FrozenCall) for one in call.entity_ids}
    names: list[str] = []
    if len(targets) == 1 and len(calls) == 1:
        (entity_id,) = targets
        if (state := hass.states.get(entity_id)) is not None:
            names.append(state.name)
        if (entry := er.async_get(hass).async_get(entity_id)) is not None:
            names.extend(alias for alias in entry.aliases if isinstance(alias, str))
    return Ordered(frozenset.intersection(*verbs) if verbs else frozenset(), tuple(names))


def _verbs(call: Frozen) -> frozenset[str]:
    """Return the actions that a call means; none for what people have no single verb for."""
    if not isinstance(call, FrozenCall):
        return frozenset()
    actions = DOMAINS[call.domain].actions.items()
    fitting = [(name, *action.also_said) for name, action in actions if action.service == call.service]
    return frozenset(verb for verbs in fitting for verb in verbs)


async def _async_settled(turn: Turn, action: PendingAction, read: Read) -> str:
    """Execute the answer and return the reply."""
    confirmations = turn.data.confirmations
    if read.answer is Answer.NO:
        await confirmations.async_drop(action, ActionOutcome.REJECTED)
        return await async_phrase(turn.hass, turn.language, "confirmation_rejected")
    if read.answer is Answer.NUMBERS:
        turn.asks = not turn.calls.speaker.is_automation
        return await async_phrase(turn.hass, turn.language, "confirmation_pin_unclear")
    reporter = ConfirmedActionReporter(turn.hass, action.frozen)
    try:
        await confirmations.async_approve_owned(
            action, pin=read.pin or None, by_automation=turn.calls.speaker.is_automation
        )
        turn.calls.touched.extend(sorted(action.entity_ids))
        return await reporter.async_sentence(turn.language)
    except ConfirmationRefused as err:
        again = err.reason in (Refusal.PIN_NEEDED, Refusal.PIN_WRONG)
        turn.asks = again and not turn.calls.speaker.is_automation
        return await async_phrase(turn.hass, turn.language, err.key)
    except HomeAgentError as err:
        return await async_error_sentence(turn.hass, turn.language, err)
    finally:
        reporter.stop()


async def async_ask(turn: Turn) -> bool:
    """End the turn with our question if something waits for a confirmation; the microphone opens.

    What the turn has done meanwhile is told first, as the model does not get to say it.

    An automation cannot answer: the question goes to the notifications and phones, and it is told so.
    """
    if not turn.calls.draft:
        return False
    unattended = turn.calls.speaker.is_automation
    action = await turn.data.confirmations.async_open(turn.calls.draft, unattended=unattended)
    hint = ""
    if unattended:
        hint = await async_phrase(turn.hass, turn.language, "confirmation_elsewhere")
    elif turn.data.confirmations.wants_pin:
        hint = await async_phrase(turn.hass, turn.language, "confirmation_pin_needed")
    turn.asks = not unattended
    question = action.question if turn.calls.speaker.voice else action.full
    done = await _async_done(turn)
    await async_say(turn, " ".join(part for part in (done, question, hint) if part))
    return True


async def _async_done(turn: Turn) -> str:
    """Return what the calls of a turn did that waits for nothing; nothing in languages without the words."""
    told = [one for record in turn.calls.records if not record.read_only for one in record.told]
    return await async_sentence(turn.hass, turn.language, told) or ""


def _mask(turn: Turn, read: Read, *, is_open: bool) -> None:
    """Take a PIN out of the sentence and the chat log, before anything reads them.

    While the question is open, also what could be a part of one, and long numbers among other words.
    """
    sentence = turn.calls.sentence
    if read.answer is Answer.PIN or (read.has_pin and is_open):
        masked = MASKED
    else:
        masked = mask_numbers(sentence, turn.language, MASKED) if is_open else sentence
    if masked != sentence:
        replace_sentence(turn, masked)
        turn.calls.sentence = masked
