"""Platform: the model of an entry for AI Task, as text or as structured data."""

from contextlib import suppress
import re
from typing import override

import probatio

from homeassistant.components import ai_task, conversation
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.util.json import JsonValueType, json_loads

from .agent.llm import async_answer
from .agent.pictures import read_pictures
from .agent.prompt import function_tools
from .agent.turn import Turn, from_contents, guard_tools, last_words
from .const import CONF_MAX_TOKENS, DOMAIN
from .context.window import Prompt, RequestDraft
from .entity import HomeAgentBaseEntity
from .inference.models import Caller, Priority
from .knowledge.speaker import Speaker
from .regex import lazy_regex
from .runtime import HomeAgentConfigEntry
from .tools.turn_calls import TurnCalls

PARALLEL_UPDATES = 0

MAX_CALLS = 50
"""A task may look more things up than a person waits for."""

MIN_ANSWER_TOKENS = 4096
"""Data is longer than speech."""

THOUGHT = lazy_regex(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
FENCED = lazy_regex(r"\A[^{\[\"]*```\w*\s*\n(.*?)\n?```", re.DOTALL)
"""What is before a fence is prose; a fence inside the data belongs to it."""


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the entity."""
    async_add_entities([HomeAgentTask(entry)])


class HomeAgentTask(HomeAgentBaseEntity, ai_task.AITaskEntity):
    """Generates data with the model of the entry."""

    _attr_supported_features = (
        ai_task.AITaskEntityFeature.GENERATE_DATA | ai_task.AITaskEntityFeature.SUPPORT_ATTACHMENTS
    )
    _attr_translation_key = "task"

    def __init__(self, entry: HomeAgentConfigEntry) -> None:
        super().__init__(entry)
        self._attr_unique_id = f"{entry.entry_id}_ai_task"

    @override
    async def _async_generate_data(
        self, task: ai_task.GenDataTask, chat_log: conversation.ChatLog
    ) -> ai_task.GenDataTaskResult:
        """Answer a task; raises HomeAssistantError if the answer is not what was asked for.

        Automations may not ask without end.
        """
        if self._context is None or self._context.user_id is None:
            self.data.throttle.check()
        turn = self._turn(task, chat_log)
        files = [(attachment.path, attachment.mime_type) for attachment in task.attachments or ()]
        try:
            turn.pictures = await self.hass.async_add_executor_job(read_pictures, files)
        except (OSError, ValueError) as err:
            raise HomeAssistantError(
                translation_domain=DOMAIN,
                translation_key="attachment",
                translation_placeholders={"task": task.name, "error": str(err)},
            ) from err
        if turn.pictures:
            turn.calls.taint()  # the picture may show text from an untrusted source
        await async_answer(turn)
        text = last_words(turn)
        if not text.strip():
            raise HomeAssistantError(translation_domain=DOMAIN, translation_key="no_answer")
        return ai_task.GenDataTaskResult(
            conversation_id=chat_log.conversation_id, data=_data(task, text) if task.structure else text
        )

    def _turn(self, task: ai_task.GenDataTask, chat_log: conversation.ChatLog) -> Turn:
        """Return the turn of a task; the tools of its API go through the guard."""
        api = chat_log.llm_api
        context = (
            api.llm_context if api else llm.LLMContext(DOMAIN, self._context, None, "conversation", None)
        )
        calls = TurnCalls(
            speaker=Speaker(context=context.context or Context(), language=self.hass.config.language),
            sentence=task.instructions,
            conversation_id=chat_log.conversation_id,
            tools={tool.name: tool for tool in api.tools} if api else {},
            llm_context=context,
            max_calls=MAX_CALLS,
            caller=Caller(self.entity_id, Priority.TASK),
        )
        guard_tools(chat_log, self.data.handler, calls)
        first = len(chat_log.content) - 1
        told = next((part.content for part in chat_log.content[:1] if part.role == "system"), "")
        return Turn(
            hass=self.hass,
            data=self.data,
            agent_id=self.entity_id,
            chat_log=chat_log,
            calls=calls,
            language=self.hass.config.language,
            max_tokens=max(MIN_ANSWER_TOKENS, self.settings[CONF_MAX_TOKENS]),
            first=first,
            draft=RequestDraft(
                systems=[lambda: Prompt(told)],
                tools=function_tools(api.tools, api.custom_serializer) if api else [],
                history=from_contents(chat_log.content[1:first]),
            ),
            response_schema=_schema(task.structure, api) if task.structure else None,
        )


def _schema(structure: probatio.Schema, api: llm.APIInstance | None) -> dict[str, object]:
    return dict(
        probatio.to_openapi(
            structure,
            custom_serializer=api.custom_serializer if api else llm.selector_serializer,
            openapi_version="3.1.0",
        )
    )


def _data(task: ai_task.GenDataTask, text: str) -> JsonValueType:
    """Return the structured answer.

    Models without schema support think aloud and wrap JSON in a code fence. Raises HomeAssistantError for
    anything that is not JSON.
    """
    body = THOUGHT.sub("", text)
    fenced = FENCED.search(body)
    for answer in (text, fenced[1] if fenced else body):
        with suppress(ValueError):
            return json_loads(answer)
    raise HomeAssistantError(
        translation_domain=DOMAIN,
        translation_key="not_json",
        translation_placeholders={"task": task.name},
    )
