"""What is kept of a turn that is over, without codes: history, logs, figures."""

from collections.abc import Sequence
from dataclasses import dataclass
import json
import re
from typing import Any, Final, Self

from homeassistant.helpers.json import json_dumps
from homeassistant.util import dt as dt_util

from ..const import CONF_HISTORY, CONF_HISTORY_PERSIST, CONF_PANEL
from ..conversations.turns import kept_at_home
from ..errors import HomeAgentError
from ..inference.models import FunctionCall, Message
from ..safety.answers import mask_numbers
from ..safety.redaction import redacted, secrets_of, wants_code
from .figures import Trace
from .log import messages_of
from .request import drew_on_home
from .turn import Turn
from .turn_log import MAX_TEXT, LoggedTurn

MASKED: Final = "••••"
"""What is kept of a code."""


def record(turn: Turn, *, err: HomeAgentError | None = None, listens: bool = False) -> None:
    """Store the turn and its usage; `listens` says that the microphone opens again."""
    said = messages_of(turn)
    messages = without_codes(said, turn.language)
    if turn.figures.trace.asked:
        # Without a history, the calls of earlier turns come from the chat log, with their codes.
        codes = Codes.of([*said, *(one for asked in turn.figures.trace.asked for one in asked.messages)])
        for asked in turn.figures.trace.asked:
            asked.messages = codes.removed(asked.messages, turn.language)
    _remember(turn, messages)
    _write_down(turn, messages, err, listens=listens)
    # The sensors keep the figures; the text of the requests goes with the panel's turn.
    turn.figures.trace = Trace()
    turn.data.memory.calls[turn.calls.conversation_id] = turn.calls.summary()
    turn.data.note_turn(turn.hass, turn.figures, turn.calls.verdicts, failed=err is not None)


def _remember(turn: Turn, messages: list[Message]) -> None:
    """Keep what was said, without the volatile block; nothing once the agent no longer exists."""
    data, at_home = turn.data, drew_on_home(turn)
    if at_home:
        data.memory.at_home[turn.calls.conversation_id] = True
    if turn.calls.tainted:
        data.memory.tainted[turn.calls.conversation_id] = True
    about = turn.calls.touched or [
        key for slot in (turn.context.slots if turn.context else ()) for key in slot.about
    ]
    if about and not turn.calls.forgotten:
        data.memory.about[turn.calls.conversation_id] = tuple(dict.fromkeys(about))
    if not data.settings[CONF_HISTORY] or turn.history_id is None or data.turns.stopped:
        return
    if turn.calls.forgotten:
        for agent in data.remembering:
            data.shared.history.forget_texts(agent.entry_id, turn.calls.forgotten)
        return
    data.shared.history.append_turn(
        data.entry_id,
        turn.history_id,
        kept_at_home(messages) if at_home else messages,
        at=dt_util.utcnow(),
        persist=data.settings[CONF_HISTORY_PERSIST],
        person=turn.calls.speaker.person_id,
        tainted=turn.calls.tainted,
        about=dict.fromkeys(about),
    )


def _write_down(turn: Turn, messages: list[Message], err: HomeAgentError | None, *, listens: bool) -> None:
    data, speaker, figures = turn.data, turn.calls.speaker, turn.figures
    error, at = type(err).__name__ if err else None, dt_util.utcnow()
    if turn.calls.forgotten:
        for agent in data.remembering:
            agent.turn_log.clear()
            forgetting = agent.log.async_forget(turn.calls.forgotten)
            turn.hass.async_create_background_task(forgetting, "home_agent forget")
        return
    if not messages:
        return
    said, answer = messages[0]["content"], messages[-1]["content"]
    if data.settings[CONF_PANEL]:
        turn.figures.trace.end()
        data.turn_log.add(
            LoggedTurn(
                id=speaker.turn_id,
                conversation=turn.history_id or turn.calls.conversation_id,
                at=at,
                sentence=said[:MAX_TEXT],
                answer=answer[:MAX_TEXT],
                person=speaker.person or "",
                surface=speaker.surface.name.lower(),
                language=turn.language,
                begun=figures.started,
                gathered=turn.figures.trace.gathered,
                context_ms=figures.context_ms,
                ms=figures.elapsed_ms,
                tokens=figures.prompt_tokens + figures.completion_tokens,
                error=error,
                cause=(err.said or str(err)) if err else "",
                asks=turn.asks,
                listens=listens,
                tainted=turn.calls.tainted,
                withheld=turn.calls.disclosure.withheld,
                asked=turn.figures.trace.asked,
                slots=turn.figures.trace.slots,
                calls=turn.calls.records,
                verdicts=turn.calls.verdicts,
                models=data.turn_log.models,
            )
        )
    data.log.note(
        said,
        answer,
        at,
        conversation=turn.history_id or turn.calls.conversation_id,
        person=speaker.person_id,
        surface=speaker.surface.name.lower(),
        tools=[called.tool_name for called in turn.calls.records],
        error=error,
        seconds=round(figures.elapsed_ms / 1000, 2),
    )


def without_codes(messages: Sequence[Message], language: str = "") -> list[Message]:
    """Return the messages of a turn without the codes and keys that its calls were made with."""
    return Codes.of(messages).removed(messages, language)


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes and keys that the calls of a turn were made with."""

    pattern: re.Pattern[str] | None
    are_wanted: bool
    """Whether a call is about a lock or an alarm."""

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Self:
        """Read the calls of messages; requests lack the calls of their answer, and repeat earlier ones."""
        made = dict.fromkeys(
            (call["function"]["name"], call["function"]["arguments"])
            for message in messages
            for call in message.get("tool_calls", ())
        )
        calls = [(name, _parsed(arguments)) for name, arguments in made]
        secrets = {secret for name, args in calls for secret in secrets_of(args, name)}
        patterns = (_pattern(secret) for secret in sorted(secrets, key=len, reverse=True))
        return cls(
            re.compile("|".join(patterns)) if secrets else None,
            any(wants_code(args, name) for name, args in calls),
        )

    def removed(self, messages: Sequence[Message], language: str) -> list[Message]:
        """Return messages without them.

        They go from the sentence and the results too, also where the digits were written apart. Where a call
        is about a lock or an alarm, every number of the sentence that may be its code goes.
        """
        if self.are_wanted:
            messages = [_without_numbers(message, language) for message in messages]
        if self.pattern is None:
            return list(messages)
        return [_without(message, self.pattern) for message in messages]


def _without_numbers(message: Message, language: str) -> Message:
    """Return a message of a person without numbers that may be a code, and any other message unchanged."""
    if message["role"] != "user":
        return message
    return {**message, "content": mask_numbers(message["content"], language, MASKED)}


def _without(message: Message, pattern: re.Pattern[str]) -> Message:
    masked: Message = {**message, "content": pattern.sub(MASKED, message["content"])}
    if calls := message.get("tool_calls"):
        masked["tool_calls"] = [{**call, "function": _shown(call["function"])} for call in calls]
    return masked


def _shown(function: FunctionCall) -> FunctionCall:
    """Return a call without codes."""
    args = redacted(_parsed(function["arguments"]), function["name"])
    return {**function, "arguments": json_dumps(args)}


def _parsed(arguments: str) -> dict[str, Any]:
    found = json.loads(arguments)
    return found if isinstance(found, dict) else {}


def _pattern(secret: str) -> str:
    text = r"[\s.-]*".join(secret) if secret.isdecimal() else re.escape(secret)
    return rf"(?<!\w){text}(?!\w)"
