"""Builds an agent once, during the setup of its connection."""

from homeassistant.core import HomeAssistant

from ..channels.announcing import Announcer
from ..const import CONF_AUTOMATION_TURNS, CONF_CONVERSATION_LOG
from ..conversations.log import ConversationLog
from ..runtime import HomeAgentData
from ..safety.policy import Throttle
from ..settings import AgentConfig
from ..tools.planned.runs import PlannedRuns
from .parts import AgentParts


def build(hass: HomeAssistant, entry: AgentConfig) -> HomeAgentData:
    """Put the parts of an entry together; nothing is read yet, and parts.py has loaded the optional ones."""
    return assemble(hass, AgentParts(hass, entry, entry.entry_id))


def assemble(hass: HomeAssistant, parts: AgentParts) -> HomeAgentData:
    """Return an agent made of its parts."""
    announcer = Announcer(hass, parts.connection_id, parts.members, parts.emitter)
    return HomeAgentData(
        settings=parts.settings,
        shared=parts.shared,
        house=parts.house,
        emitter=parts.emitter,
        router=parts.router,
        handler=parts.handler,
        policy=parts.policy,
        data_policy=parts.data_policy,
        confirmations=parts.confirmations,
        throttle=Throttle(parts.settings[CONF_AUTOMATION_TURNS]),
        context=parts.context,
        prompt=parts.prompt,
        tool_schemas=parts.tool_schemas,
        own_tools=parts.own_tools,
        outgoing=parts.outgoing,
        entry_id=parts.id,
        owns_memory=parts.owns_memory,
        semantic=parts.semantic,
        library=parts.library,
        memories=parts.memories,
        profile=parts.profile,
        timers=parts.timers,
        planned=parts.planned,
        planned_runs=PlannedRuns(parts.handler, parts.planned, parts.emitter, announcer.async_tell_planned),
        announcer=announcer,
        turns=parts.turns,
        asker=parts.asker,
        log=ConversationLog(hass, parts.id, enabled=parts.settings[CONF_CONVERSATION_LOG]),
        turn_log=parts.shared.turn_logs[parts.id].configure(parts.settings),
        extractor=parts.extractor(),
        summarizer=parts.summarizer(),
        learner=parts.learner,
        suggested=parts.suggested,
        make_proactive=parts.async_proactive,
        indexer=parts.indexer(),
        warmer=parts.warmer(),
    )
