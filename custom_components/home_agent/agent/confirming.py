"""Ask for a confirmation and process the answer, without the model."""

from dataclasses import replace

from ..embeds import literal
from ..safety.answers import Answer, Read, mask_numbers, read_answer_and_rest
from ..safety.confirmation import ActionOutcome, Addressee, ConfirmationRefused, PendingAction
from ..safety.frozen import FrozenCall
from .closing import MASKED
from .confirmed import async_carry_out, ordered
from .describe import async_told, parts
from .log import async_say, async_say_first, replace_sentence
from .phrases import async_phrase
from .turn import Turn

LATE = {
    ActionOutcome.EXPIRED: "confirmation_expired",
    ActionOutcome.WITHDRAWN: "confirmation_withdrawn",
    ActionOutcome.RESTARTED: "confirmation_restarted",
    ActionOutcome.WRONG_PIN: "confirmation_pin_locked",
}
"""What is said to an answer that comes too late."""


async def async_settle(turn: Turn) -> bool:
    """Handle the sentence as the answer to our question, if it is one; False if the model is to be asked.

    The model gets a sentence that is no answer, and what follows a yes.
    """
    confirmations, speaker = turn.data.confirmations, turn.calls.speaker
    owner = Addressee.of(speaker, turn.calls.conversation_id)
    action = confirmations.waiting_for(owner, include_unattended=speaker.is_automation)
    ended = None if action else confirmations.take_ended(owner)
    expects_pin = confirmations.expects_pin(owner)
    if action is None and ended is None and not expects_pin:
        return False
    asked = ordered(turn.hass, action.frozen) if action else None
    spoken = [turn.language, action.speaker.language if action else "", turn.hass.config.language]
    read = read_answer_and_rest(turn.calls.sentence, spoken, asked)
    if expects_pin:
        _mask(turn, read, is_open=action is not None or ended is not None)
    if action is None:
        if ended is None or read.answer is Answer.OTHER:
            return False
        await async_say(turn, await async_phrase(turn.hass, turn.language, LATE[ended]))
        return True
    if read.rest and not speaker.is_automation:
        action.rest = mask_numbers(read.rest, turn.language, MASKED) if expects_pin else read.rest
    return await _async_take(turn, action, read)


async def _async_take(turn: Turn, action: PendingAction, read: Read) -> bool:
    """Take the answer to an open question; False if the model is to be asked."""
    confirmations, is_automation = turn.data.confirmations, turn.calls.speaker.is_automation
    if read.answer is Answer.OTHER or (read.has_digits and not confirmations.wants_pin):
        # The person who was asked does not hear the automation, so the question stays pending.
        if is_automation:
            return False
        if read.is_unclear and not action.asked_again:
            action.asked_again = turn.asks = True
            await _async_say_question(turn, await _async_question_again(turn, action))
            return True
        await confirmations.async_drop(action, ActionOutcome.SUPERSEDED)
        await async_say_first(turn, await async_phrase(turn.hass, turn.language, "confirmation_closed"))
        return False
    told = await _async_settled(turn, action, read)
    if turn.asks or is_automation or read.answer is Answer.NO or not action.rest:
        await async_say(turn, told)
        return True
    await _async_go_on(turn, action, told)
    return False


async def _async_settled(turn: Turn, action: PendingAction, read: Read) -> str:
    confirmations, is_automation = turn.data.confirmations, turn.calls.speaker.is_automation
    if read.answer is Answer.NO:
        await confirmations.async_drop(action, ActionOutcome.REJECTED)
        return await async_phrase(turn.hass, turn.language, "confirmation_rejected")
    if read.answer is Answer.NUMBERS:
        turn.asks = not is_automation
        return await async_phrase(turn.hass, turn.language, "confirmation_pin_unclear")
    approving = confirmations.async_approve_owned(action, pin=read.pin or None, by_automation=is_automation)
    told, err = await async_carry_out(turn.hass, action, turn.language, approving)
    if err is None:
        turn.calls.touched.extend(sorted(action.entity_ids))
        confirmed = (part for part in parts(action.frozen) if isinstance(part, FrozenCall))
        turn.calls.draft.confirmed = tuple(confirmed)
    elif isinstance(err, ConfirmationRefused):
        turn.asks = err.asks_again and not is_automation
    return told


async def _async_question_again(turn: Turn, action: PendingAction) -> str:
    """Return the question once more, after an answer that was none."""
    question = action.question if turn.calls.speaker.voice else action.full
    if turn.data.confirmations.needs_pin(action):
        return f"{question} {await async_phrase(turn.hass, turn.language, 'confirmation_pin_needed')}"
    return await async_phrase(turn.hass, turn.language, "ask_yes_or_no", question=question)


async def _async_go_on(turn: Turn, action: PendingAction, told: str) -> None:
    """Say what became of a confirmed action, and let the model answer what else was said."""
    assert turn.user_input is not None
    turn.heard, turn.calls.sentence = turn.calls.sentence, action.rest
    turn.before = [{"role": "user", "content": turn.heard}, {"role": "assistant", "content": told}]
    turn.user_input = replace(turn.user_input, text=action.rest)
    replace_sentence(turn, action.rest)
    await async_say_first(turn, told)


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
    await _async_say_question(turn, " ".join(filter(None, (done, question, hint))), action.details)
    return True


async def _async_say_question(turn: Turn, question: str, details: str = "") -> None:
    """Say a question, with what it names exactly as it is: where markdown is rendered, marks are escaped."""
    if turn.calls.speaker.voice:
        await async_say(turn, question)
        return
    turn.question = question
    shown = literal(question)
    if details and turn.calls.speaker.shown:
        shown = f"{shown}\n\n```yaml\n{details.strip()}\n```"
    await async_say(turn, shown)


async def _async_done(turn: Turn) -> str:
    """Return what the calls of a turn did that waits for nothing; nothing in languages without the words."""
    told = [one for record in turn.calls.records if not record.read_only for one in record.told]
    return await async_told(turn.hass, turn.language, told) or ""


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
