"""What became of a plain command, without asking the model again: it worked, or a rule has refused it."""

from collections.abc import Sequence
from typing import Final

from ..const import CONF_QUICK_CONFIRMATIONS, CONF_SILENT_IN_ROOM
from ..languages.sentence import read
from ..tools.turn_calls import CallRecord
from .describe import area_of, async_told
from .log import async_say, end_with_words_beside_calls, note_unspoken, words_beside_calls
from .phrases import async_error_sentence
from .turn import Turn

SEVERAL: Final = 2
"""The fewest things that a sentence with a join means."""


async def async_confirm(turn: Turn, before: int) -> bool:
    """End the turn with a sentence of our own, or in silence; False if the model has to speak.

    `before` is the number of calls before the last answer of the model. What the model said beside its
    calls is the answer, if it said anything.
    """
    if not _is_wanted(turn):
        return False
    sentence = read(turn.calls.sentence, turn.language)
    if sentence.is_plain and await _async_refuse(turn, before):
        return True
    done = _clean(turn.calls.records, before)
    referents = sum(max(one.referents for one in record.told) for record in done)
    if not sentence.is_plain or not done or (sentence.is_joined and referents < SEVERAL):
        return False
    if words_beside_calls(turn).strip() and turn.data.settings[CONF_QUICK_CONFIRMATIONS]:
        end_with_words_beside_calls(turn)
        return True
    return not words_beside_calls(turn).strip() and await _async_tell(turn, done)


async def _async_refuse(turn: Turn, before: int) -> bool:
    """Say which rules of the household refused all that the turn was to change; False if not all was.

    The model would try another way first, and it may not tell the reason.
    """
    records = turn.calls.records
    changing = [record for record in records if not record.read_only]
    is_last = bool(records[before:]) and not any(record.read_only for record in records[before:])
    is_refused = bool(changing) and all(record.refusals for record in changing)
    if not (is_last and is_refused and turn.data.settings[CONF_QUICK_CONFIRMATIONS]):
        return False
    if turn.said or words_beside_calls(turn).strip():
        return False
    told = [
        await async_error_sentence(turn.hass, turn.language, refusal)
        for record in changing
        for refusal in record.refusals
    ]
    await async_say(turn, " ".join(dict.fromkeys(told)))
    return True


async def _async_tell(turn: Turn, done: Sequence[CallRecord]) -> bool:
    """Tell what was done, or only write it down; False if there are no words for it."""
    is_silent = not turn.said and _is_in_room(turn, done)
    if not (is_silent or turn.data.settings[CONF_QUICK_CONFIRMATIONS]):
        return False
    told = [one for record in done for one in record.told]
    if (sentence := await async_told(turn.hass, turn.language, told)) is None:
        return False
    if is_silent:
        turn.silent = True
        note_unspoken(turn, sentence)
    else:
        await async_say(turn, sentence)
    return True


def _is_wanted(turn: Turn) -> bool:
    """Return whether a person speaks who has not asked for the model's own words.

    An automation reads the answer that it asked for, and a prompt of the caller's says how to answer.
    """
    settings = turn.data.settings
    if turn.user_input is None or turn.user_input.extra_system_prompt or turn.chat_log.extra_system_prompt:
        return False
    if turn.calls.speaker.is_automation or turn.calls.draft or turn.asks:
        return False
    return bool(settings[CONF_QUICK_CONFIRMATIONS] or settings[CONF_SILENT_IN_ROOM])


def _clean(records: Sequence[CallRecord], before: int) -> list[CallRecord]:
    """Return the calls that changed something, if all of them worked and can be told; nothing otherwise.

    Queries that came before are how the model found out what to do. Beside a change they are a question.
    """
    last = records[before:]
    changing = [record for record in records if not record.read_only]
    if not last or any(record.read_only for record in last):
        return []
    is_clean = all(record.success and record.told and not record.waits for record in changing)
    return changing if is_clean else []


def _is_in_room(turn: Turn, done: Sequence[CallRecord]) -> bool:
    """Return whether all that happened is in the room of the satellite, and nothing has to be said."""
    speaker, touched = turn.calls.speaker, turn.calls.touched
    if not turn.data.settings[CONF_SILENT_IN_ROOM] or not speaker.voice or not speaker.area_id or not touched:
        return False
    if any(one.key.startswith("already") for record in done for one in record.told):
        return False
    areas = {area.id if (area := area_of(turn.hass, entity_id)) else None for entity_id in touched}
    return areas == {speaker.area_id}
