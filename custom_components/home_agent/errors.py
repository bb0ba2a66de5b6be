"""What can go wrong, each with a key for the sentence a person hears.

The text of a translation key is in `translations/<language>.json` under `exceptions`.
"""

from typing import Any, Final, override

from homeassistant.exceptions import HomeAssistantError

from .const import DOMAIN


class HomeAgentError(HomeAssistantError):
    """Base of all errors of this integration.

    `detail` is for the log and the model; the person hears the translated sentence.
    """

    key = "unknown"
    said = ""
    """What a server said of it. It may quote a conversation, so it goes neither to the log nor into
    events."""
    quotes = False
    """Whether the detail repeats what an outsider may have written."""

    def __init_subclass__(cls, *, key: str = "") -> None:
        """Take the key of a kind of error; it has that of its base otherwise."""
        super().__init_subclass__()
        cls.key = key or cls.key

    def __init__(self, detail: str = "", **placeholders: Any) -> None:
        self.detail = detail
        super().__init__(
            translation_domain=DOMAIN,
            translation_key=self.key,
            translation_placeholders={name: str(value) for name, value in placeholders.items()},
        )

    @override
    def __str__(self) -> str:
        """Return the detail, or the English sentence if there is none."""
        return self.detail or super().__str__()


class ContextInjectionError(HomeAgentError, key="context_injection"):
    """The context of a request could not be built."""


class NotErased(HomeAgentError, key="not_erased"):
    """What is forgotten is still in files that cannot be written now; they are written again later."""


class ToolExecutionError(HomeAgentError, key="tool_execution"):
    """A tool ran and failed; the detail says how, in words a model can act on."""


class ToolNotFound(HomeAgentError, key="tool_not_found"):
    """No tool has this name."""


class ValidationError(HomeAgentError, key="validation"):
    """Arguments do not fit; the detail names the slot, the value and what is allowed."""

    names: tuple[str, ...] = ()
    """Possible targets, by name."""


class PermissionDenied(HomeAgentError, key="permission_denied"):
    """The speaker may not do this, or the entity is not exposed."""

    reason = ""
    """The key of the sentence that says why, where what was planned is not done; empty if there is none."""


class NotConfirmed(PermissionDenied):
    """A person would have to confirm it, and nobody can be asked."""

    reason = "why_confirmation"


class NotExposed(PermissionDenied):
    """The agent may not see a target."""

    reason = "why_hidden"


class NotPermitted(PermissionDenied):
    """The Home Assistant user may not do it."""

    reason = "why_rights"


class RefusedByRule(PermissionDenied):
    """A rule of the household forbids it; the sentence in the translations says which."""

    def __init__(self, key: str, detail: str, **placeholders: str) -> None:
        self.key = self.reason = key
        super().__init__(detail, **placeholders)


class TooMuchAtOnce(PermissionDenied):
    """One question cannot name everything that waits for a confirmation."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"At most {most} things can be confirmed at once; this was left out and not done. "
            "The person is told to ask for it separately"
        )


class ChangedSinceAsked(PermissionDenied, key="confirmation_changed"):
    """An entity ID refers to another entity than when the question was asked."""


WAITS: Final = (
    "waits for the person's confirmation; nothing was done yet. "
    "The person is asked by the system: do not ask and do not call again"
)
"""What a model reads of a call that waits, in the turn of the call."""
WAITED: Final = "waited for a confirmation then, and that question is over: if asked again, call again"
"""The text that replaces it in later turns."""


class ConfirmationNeeded(HomeAgentError, key="confirmation_needed"):
    """A call waits for a confirmation; nothing was done. `action_id` names what waits."""

    def __init__(self, action_id: str) -> None:
        self.action_id = action_id
        super().__init__(WAITS)


class TooManyRequests(HomeAgentError, key="too_many_requests"):
    """Automations ask more often than the household allows."""


class SentenceTooLong(HomeAgentError, key="sentence_too_long"):
    """A sentence is longer than a person would say or type."""


class TokenLimitExceeded(HomeAgentError, key="token_limit_exceeded"):
    """The request does not fit the model even after compression."""


class LLMError(HomeAgentError, key="llm_error"):
    """The model server answered with something that cannot be used."""


class AuthenticationError(LLMError, key="llm_authentication"):
    """The model server refused the key."""


class KeyMissing(AuthenticationError, key="llm_key_missing"):
    """The model server requires a key, and none is set."""


class KeyUnusable(AuthenticationError, key="llm_key_unusable"):
    """The template of the key does not render, so nothing was sent."""


class RateLimitExceeded(LLMError, key="llm_rate_limit"):
    """The model server limits how often it is asked."""


class QuotaExceeded(RateLimitExceeded, key="llm_quota"):
    """The account has no credit left."""


class LLMServerError(LLMError, key="llm_server_error"):
    """The model server was reached but reported an error."""


class LLMBusy(LLMError, key="llm_busy"):
    """Too many requests wait for the model server."""


class ModelNotFound(LLMError, key="llm_model_not_found"):
    """The model server does not have the model."""


class RequestRefused(LLMError, key="llm_refused"):
    """The model server does not accept the request."""


class CannotSee(RequestRefused, key="llm_cannot_see"):
    """The model server does not accept a request with pictures."""


class LLMTimeout(LLMError, key="llm_timeout"):
    """The model server did not answer in time."""


class LLMUnavailable(LLMError, key="llm_unavailable"):
    """The model server cannot be reached."""


class TurnInterrupted(HomeAgentError, key="interrupted"):
    """The agent was unloaded, or Home Assistant stops, while the turn was under way."""


_PARTS: Final = {
    "invalid_auth": "key",
    "key_needed": "key",
    "invalid_key": "key",
    "invalid_key_template": "key",
    "headers_not_json": "headers",
    "invalid_header_line": "headers",
    "invalid_header_name": "headers",
    "invalid_header_value": "headers",
    "duplicate_header": "headers",
    "embedding_failed": "model",
    "model_missing": "model",
    "model_not_found": "model",
    "model_refused": "model",
    "rate_limited": "base",
    "server_error": "base",
    "timeout": "base",
}


class InvalidInput(Exception):
    """A value cannot be used.

    `key` names the sentence in the translations, `placeholders` fill it.
    """

    @property
    def part(self) -> str:
        """Return the part of a connection that is wrong: url, key, headers, model or base (none of them)."""
        return _PARTS.get(self.key, "url")

    def __init__(self, key: str, **placeholders: str) -> None:
        super().__init__(key)
        self.key = key
        self.placeholders = placeholders
