"""A name that a person uses and the home does not know: once they say which device they mean, it is offered.

A turn that could not find the name ends with a question; the next one reaches a single device. Or both are in
one turn, and its sentence corrects itself.
"""

from homeassistant.util import dt as dt_util

from ..const import CONF_MEMORY, CONF_TOOLS_DISABLED
from ..knowledge.names import squash, without_article
from ..knowledge.speaker import async_is_member, is_guest_mode
from ..memory.sentences import corrects
from ..safety.firewall.own_values import as_label
from ..safety.frozen import FrozenTool
from ..texts import words
from ..tools.ha_control import ControlTool
from ..tools.naming import LearnNameTool, is_new_name, may_be_named
from ..tools.pending import freeze
from ..tools.remembering import STORE_MEMORY
from ..tools.resolving.resolver import texts
from .confirming import async_ask
from .speech import is_question
from .turn import Turn, last_words

STEM = 4
"""Letters by which a word of a call is one of the person's, in whatever form."""


async def async_offer_name(turn: Turn) -> None:
    """Ask whether a name is to be kept, once for each name; note one that this turn could not find."""
    calls, recent = turn.calls, turn.recent
    asked, recent.unclear = recent.unclear, None
    refused = [record for record in calls.records if record.refused]
    if asked is None and not refused:
        return
    # A member may teach names, or a voice in the home that is no guest's; nobody whose turn has read text
    # from outside, or was begun by no wake word.
    settings, speaker = turn.data.settings, calls.speaker
    is_off = not settings[CONF_MEMORY] or STORE_MEMORY in settings[CONF_TOOLS_DISABLED]
    if is_off or calls.tainted or calls.draft or speaker.unprompted or turn.user_input is None:
        return
    is_voice = speaker.voice and speaker.context.user_id is None and not speaker.is_automation
    is_of_home = is_voice and not is_guest_mode(turn.hass, dt_util.utcnow())
    if not is_of_home and not await async_is_member(turn.hass, speaker):
        return
    said = {word[:STEM] for word in words(calls.sentence)}
    unknown = {
        name
        for record in refused
        if isinstance(calls.tools.get(record.tool_name), ControlTool)
        for key in ("name", "entity_id")  # models make up ids of what is not in the list
        for text in texts(record.args.get(key))
        if (named := text.rpartition(".")[2].replace("_", " "))
        and (name := " ".join(named.split()[-len(without_article(named).split()) :]))
        and all(word[:STEM] in said for word in words(name))
    }
    if not calls.touched and len(unknown) == 1 and is_question(last_words(turn).strip(), turn.language):
        recent.unclear = unknown.pop()
        return
    if asked is None and len(unknown) == 1 and corrects(calls.sentence):
        asked = unknown.pop()
    if asked is None or len(entity_ids := set(calls.touched)) != 1:
        return
    entity_id, offered = entity_ids.pop(), turn.data.suggested.offered_names
    house = await turn.data.house.async_snapshot()
    is_plain = await turn.hass.async_add_executor_job(as_label, asked) == asked
    may_be = is_plain and may_be_named(entity_id) and entity_id in house.entities
    if may_be and squash(asked) not in offered and is_new_name(house, asked):
        offered[squash(asked)] = None
        turn.data.suggested.changed()
        tool, args = LearnNameTool(turn.data.memories), {"name": asked, "entity_id": entity_id}
        item = FrozenTool(tool=tool, args=args, llm_context=calls.llm_context)
        freeze(turn.hass, calls.draft_of_call(), item)
        # What was said and the question are one answer.
        turn.lead, turn.said, turn.silent = f"{turn.lead} {last_words(turn)}".strip(), True, False
        del turn.chat_log.content[-1]
        await async_ask(turn, with_done=False)
