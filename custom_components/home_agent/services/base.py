"""What the services share: whose agent is meant, who calls, how records are shown."""

from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, override

import probatio

from homeassistant.auth.models import User
from homeassistant.core import Context, HomeAssistant, ServiceCall, SupportsResponse
from homeassistant.exceptions import ServiceValidationError, Unauthorized, UnknownUser
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util

from ..const import ASSISTANT, DOMAIN
from ..lifecycle import async_agent_of_entity, async_agents, async_find_agent
from ..runtime import Agent, FurtherAgent
from ..store import dump

AGENT_FIELDS: Final = ("agent_id", "config_entry_id", "entry_id")
"""The fields that name an agent, of which the first that is given counts."""
ANSWER_SUGGESTION = "answer_suggestion"

type Response = Mapping[str, object]
"""What a service returns; docs/reference/actions.md describes each."""
type Handler = Callable[[ServiceCall, Agent], Coroutine[Any, Any, Response]]


class Service(NamedTuple):
    """One service: what it takes, what it gives, who may call it."""

    handler: Handler
    fields: dict[Any, Any]
    response: SupportsResponse = SupportsResponse.OPTIONAL
    admin: bool = False
    aliases: Mapping[str, str] = MappingProxyType({})
    """Other names that fields are known by."""


class AliasedSchema(probatio.Schema):
    """A schema of a service that takes fields by other names too. Only the own names are described."""

    def __init__(self, fields: dict[Any, Any], aliases: Mapping[str, str]) -> None:
        super().__init__(fields)
        self._aliases = aliases

    @override
    def __call__(self, data: Any, **options: Any) -> Any:
        """Validate data. Raises probatio.Invalid, also where a field is given twice."""
        if isinstance(data, Mapping):
            twice = [alias for alias, name in self._aliases.items() if alias in data and name in data]
            if twice:
                raise probatio.Invalid(f"{twice[0]} is another name for {self._aliases[twice[0]]}: use one")
            data = {self._aliases.get(key, key): value for key, value in data.items()}
        return super().__call__(data, **options)


def invalid(key: str, **placeholders: str) -> ServiceValidationError:
    """Return why a call cannot be done, as the translations say it."""
    return ServiceValidationError(
        translation_domain=DOMAIN, translation_key=key, translation_placeholders=placeholders or None
    )


def row_of(record: object, *names: str) -> dict[str, Any]:
    """Return fields of a record as JSON holds them: enums by their values, times in ISO 8601."""
    return {name: dump(getattr(record, name)) for name in names}


async def async_caller(call: ServiceCall) -> User | None:
    """Return the user who calls; None for an automation. Raises UnknownUser for one who no longer exists."""
    if call.context.user_id is None:
        return None
    user = await call.hass.auth.async_get_user(call.context.user_id)
    if user is None:
        raise UnknownUser(context=call.context)
    return user


async def async_require_admin(call: ServiceCall) -> None:
    """Raise Unauthorized for a user who is not an administrator; automations have no user and may."""
    user = await async_caller(call)
    if user is not None and not user.is_admin:
        raise Unauthorized(context=call.context)


def entry_of(call: ServiceCall) -> Agent:
    """Return the agent a call means: by its entity, its subentry or its entry.

    Where there is only one connection, its first agent need not be named.
    """
    named = next((call.data[key] for key in AGENT_FIELDS if call.data.get(key)), None)
    loaded = async_agents(call.hass)
    found: list[Agent] = [agent for agent in loaded if not isinstance(agent, FurtherAgent)]
    if named:
        agent = async_agent_of_entity(call.hass, named) or async_find_agent(call.hass, named)
        found = [] if agent is None else [agent]
    action_id, now = call.data.get("action_id"), dt_util.utcnow()

    def holds(agent: Agent) -> bool:
        """Return whether an agent has what is to be answered; without an id, whether anything waits."""
        if action_id:
            return agent.runtime_data.confirmations.has(action_id)
        known, suggestion_id = agent.runtime_data.suggested.suggestions, call.data.get("suggestion_id")
        return suggestion_id in known or (
            not suggestion_id and any(item.is_open(now) for item in known.values())
        )

    if action_id or call.service == ANSWER_SUGGESTION:
        # If no agent has it, each would answer the same.
        found = [agent for agent in (found if named else loaded) if holds(agent)] or found[:1]
    if len(found) == 1:
        return found[0]
    raise invalid(
        "entry_ambiguous" if found else ("entry_not_found" if named else "no_entry_loaded"),
        entry_id=str(named),
        entries=", ".join(f"{e.title} ({e.entry_id})" for e in loaded),
    )


def llm_context(hass: HomeAssistant, context: Context) -> llm.LLMContext:
    """Return the caller of a service as the tools know callers."""
    return llm.LLMContext(DOMAIN, context, hass.config.language, ASSISTANT, None)
