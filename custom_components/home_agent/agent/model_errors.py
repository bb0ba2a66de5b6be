"""Failures of a model server as errors of the agent."""

from ..errors import (
    AuthenticationError,
    HomeAgentError,
    LLMError,
    LLMTimeout,
    LLMUnavailable,
    RateLimitExceeded,
    TokenLimitExceeded,
)
from ..inference.errors import ErrorKind, ModelServerError

_ERRORS: dict[ErrorKind, type[HomeAgentError]] = {
    ErrorKind.AUTH: AuthenticationError,
    ErrorKind.RATE_LIMIT: RateLimitExceeded,
    ErrorKind.TIMEOUT: LLMTimeout,
    ErrorKind.UNAVAILABLE: LLMUnavailable,
    ErrorKind.CONTEXT_TOO_LONG: TokenLimitExceeded,
}


def as_agent_error(err: ModelServerError) -> HomeAgentError:
    """Return the error that a person can be told about."""
    return _ERRORS.get(err.kind, LLMError)(err.detail)
