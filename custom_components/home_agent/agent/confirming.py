"""What is said without the model: our questions, what a yes does, and what became of a plain command."""

from dataclasses import replace
from typing import Final

from ..const import CONF_QUICK_CONFIRMATIONS, CONF_SILENT_IN_ROOM
from ..languages.sentence import read
from ..planned.records import Giver
from ..planned.scheduler import Cancellation
from ..safety.answers import Answer, Read, mask_numbers, read_answer_and_rest, says_no
from ..safety.confirmation import ActionOutcome, Addressee, ConfirmationRefused, PendingAction
from ..safety.frozen import FrozenCall
from ..texts import literal
from ..tools.pending import tells_all
from .describe import area_of, async_carry_out, async_error_sentence, async_phrase, async_told, ordered, parts
from .speech import is_question
from .turn import (
    MASKED,
    Turn,
    async_say,
    async_say_first,
    last_words,
    note_unspoken,
    replace_sentence,
    words_beside_calls,
)

LATE: Final = {
    ActionOutcome.EXPIRED: "confirmation_expired",
    ActionOutcome.WITHDRAWN: "confirmation_withdrawn",
    ActionOutcome.RESTARTED: "confirmation_restarted",
    ActionOutcome.WRONG_PIN: "confirmation_pin_locked",
}
"""What is said to an answer that comes too late."""
SEVERAL: Final = 2
"""The fewest things that a sentence with a join means."""


async def async_take_reply(turn: Turn) -> bool:
    """Handle the sentence as the answer to our question, if it is one; False if the model is to be asked.

    The model gets a sentence that is no answer, and what follows a yes.
    """
    confirmations, speaker, sentence = turn.data.confirmations, turn.calls.speaker, turn.calls.sentence
    owner = Addressee.of(speaker, turn.calls.conversation_id)
    action = confirmations.waiting_for(owner, include_unattended=speaker.is_automation)
    ended = None if action else confirmations.take_ended(owner)
    expects_pin = confirmations.expects_pin(owner)
    if action is None and ended is None and not confirmations.has_pin:
        return False
    asked = ordered(turn.hass, action.frozen) if action else None
    spoken = [turn.language, action.speaker.language if action else "", turn.hass.config.language]
    read = read_answer_and_rest(sentence, spoken, asked)
    if expects_pin and (action or ended):
        # Nothing may read a PIN, nor what could be a part of one.
        is_pin = read.answer is Answer.PIN or read.has_pin
        sentence = MASKED if is_pin else mask_numbers(sentence, turn.language, MASKED)
    elif confirmations.has_pin and read.answer is Answer.PIN:
        # Also where nobody has asked. To compare it with the PIN would tell who tries whether it was right.
        sentence = MASKED
    if sentence != turn.calls.sentence:
        replace_sentence(turn, sentence)
        turn.calls.sentence = sentence
    if speaker.unprompted:
        return False  # nothing was asked there, so this yes is for somebody else
    if action is None:
        if ended is None or read.answer is Answer.OTHER:
            return False
        told = await async_phrase(turn.hass, turn.language, LATE[ended])
        await async_say(turn, f"{told} {await async_stop_alarms(turn, is_reply=True)}".strip())
        return True
    if read.rest and not speaker.is_automation:
        action.rest = mask_numbers(read.rest, turn.language, MASKED) if expects_pin else read.rest
    if read.answer is Answer.OTHER or (read.has_digits and not confirmations.needs_pin(action)):
        # The person who was asked does not hear an automation, so the question stays pending.
        if speaker.is_automation:
            return False
        if not read.is_unclear or action.asked_again:
            await confirmations.async_drop(action, ActionOutcome.SUPERSEDED)
            await async_say_first(turn, await async_phrase(turn.hass, turn.language, "confirmation_closed"))
            return False
        action.asked_again = turn.asks = True
        question = action.question if speaker.voice else action.full
        if confirmations.needs_pin(action):
            hint = await async_phrase(turn.hass, turn.language, "confirmation_pin_needed")
            question = f"{question} {hint}"
        else:
            question = await async_phrase(turn.hass, turn.language, "ask_yes_or_no", question=question)
        await _async_say_question(turn, question)
        return True
    told = await _async_take(turn, action, read)
    if turn.asks or speaker.is_automation or read.answer is Answer.NO or not action.rest:
        await async_say(turn, told)
        return True
    # What became of it is said, and the model answers the rest.
    assert turn.user_input is not None
    turn.heard, turn.calls.sentence = turn.calls.sentence, action.rest
    turn.user_input = replace(turn.user_input, text=action.rest)
    replace_sentence(turn, action.rest)
    await async_say_first(turn, told)
    return False


async def _async_take(turn: Turn, action: PendingAction, read: Read) -> str:
    """Take a yes, a no or a PIN; return what became of the action."""
    confirmations, is_automation = turn.data.confirmations, turn.calls.speaker.is_automation
    if read.answer is Answer.NO:
        await confirmations.async_drop(action, ActionOutcome.REJECTED)
        told = await async_phrase(turn.hass, turn.language, "confirmation_rejected")
        return f"{told} {await async_stop_alarms(turn, is_reply=True)}".strip()
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


async def async_stop_alarms(turn: Turn, *, is_reply: bool = False) -> str:
    """Stop the alarms that ring if the sentence is a no, and return what is said then; else nothing.

    A reply to our question has to be a stop, and stops those in the room. What may be one to the model's, or
    was said without a wake word, has to be a stop too.
    """
    speaker = turn.calls.speaker
    ringing = turn.data.shared.planned.ringing(speaker, only_here=is_reply)
    if not ringing or speaker.is_automation:
        return ""
    before = last_words(turn, turn.first).strip()
    stops = is_reply or speaker.unprompted or is_question(before, turn.language)
    spoken = dict.fromkeys((turn.language, turn.hass.config.language))
    if not any(says_no(turn.calls.sentence, each, stops=stops) for each in spoken):
        return ""
    for planned, alarms in ringing.items():
        await planned.async_cancel([alarm.id for alarm in alarms])
        planned.cancelled.append(Cancellation(owner=Giver.of(speaker, None), items=alarms))
    return await async_phrase(turn.hass, turn.language, "done_alarm_off")


async def async_ask(turn: Turn, *, with_done: bool = True) -> bool:
    """End the turn with our question if something waits for a confirmation; the microphone opens.

    What the turn has done meanwhile is told first, as the model does not get to say it, unless it was told.

    An automation cannot answer: the question goes to the notifications and phones, and it is told so.
    """
    if not turn.calls.draft:
        return False
    unattended = turn.calls.speaker.is_automation
    action = await turn.data.confirmations.async_open(turn.calls.draft, unattended=unattended)
    hint = ""
    if unattended:
        hint = await async_phrase(turn.hass, turn.language, "confirmation_elsewhere")
    elif turn.data.confirmations.needs_pin(action):
        hint = await async_phrase(turn.hass, turn.language, "confirmation_pin_needed")
    turn.asks = not unattended
    question = action.question if turn.calls.speaker.voice else action.full
    acts = [act for record in turn.calls.records if not record.read_only for act in record.told]
    done = await async_told(turn.hass, turn.language, acts) if with_done else ""
    # The YAML of an automation is in the panel; a chat shows it where one sentence leaves something out.
    is_whole = all(tells_all(part, written=False) for part in parts(action.frozen))
    details = "" if is_whole else action.details
    await _async_say_question(turn, " ".join(filter(None, (done, question, hint))), details)
    return True


async def _async_say_question(turn: Turn, question: str, details: str = "") -> None:
    if turn.calls.speaker.voice:
        await async_say(turn, question)
        return
    turn.question = question
    shown = literal(question)  # where markdown is rendered, names are to be seen as they are
    if details and turn.calls.speaker.shown:
        shown = f"{shown}\n\n```yaml\n{details.strip()}\n```"
    await async_say(turn, shown)


async def async_acknowledge(turn: Turn, before: int) -> bool:
    """End the turn with a sentence of our own, or in silence; False if the model has to speak.

    It tells what a plain command has done, or which rules have refused all of it: the model would try another
    way first, and it may not tell the reason. An automation reads the model's answer that it asked for, and a
    prompt of the caller's says how to answer. `before` is the number of calls before the last answer of the
    model. What the model said beside its calls is the answer, if it said anything.
    """
    calls, settings = turn.calls, turn.data.settings
    is_quick, is_silent = settings[CONF_QUICK_CONFIRMATIONS], settings[CONF_SILENT_IN_ROOM]
    last, changing = calls.records[before:], [record for record in calls.records if not record.read_only]
    sentence, words = read(calls.sentence, turn.language), words_beside_calls(turn)
    if (
        (turn.user_input is None or turn.user_input.extra_system_prompt or turn.chat_log.extra_system_prompt)
        or (calls.speaker.is_automation or calls.draft or turn.asks or not (is_quick or is_silent))
        # Queries before are how the model found out what to do. Beside a change they are a question.
        or (not last or not changing or any(record.read_only for record in last))
        or not sentence.is_plain
    ):
        return False
    if is_quick and not (turn.said or words) and all(record.refusals for record in changing):
        refusals = [refusal for record in changing for refusal in record.refusals]
        sentences = [await async_error_sentence(turn.hass, turn.language, refusal) for refusal in refusals]
        await async_say(turn, " ".join(dict.fromkeys(sentences)))
        return True
    if not all(record.success and record.told and not record.waits for record in changing):
        return False
    referents = sum(max(act.referents for act in record.told) for record in changing)
    if sentence.is_joined and referents < SEVERAL:
        return False
    if words:
        if is_quick:
            words_beside_calls(turn, as_answer=True)
        return bool(is_quick)
    acts = [act for record in changing for act in record.told]
    # All that happened is in the room of the satellite, and nothing has to be said.
    areas = {area.id if (area := area_of(turn.hass, entity_id)) else None for entity_id in calls.touched}
    is_silent = (
        is_silent
        and not (turn.said or turn.patience or any(act.already for act in acts))
        and calls.speaker.voice
        and areas == {calls.speaker.area_id or ""}
    )
    text = await async_told(turn.hass, turn.language, acts) if is_silent or is_quick else None
    if text is not None and is_silent:
        turn.silent = True
        note_unspoken(turn, text)
    elif text is not None:
        await async_say(turn, text)
    return text is not None
