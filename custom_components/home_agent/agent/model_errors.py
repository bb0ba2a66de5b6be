"""Failures of a model server as errors of the agent, each with the sentence that names its cause."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from ..errors import (
    AuthenticationError,
    CannotSee,
    HomeAgentError,
    KeyMissing,
    KeyUnusable,
    LLMBusy,
    LLMError,
    LLMServerError,
    LLMTimeout,
    LLMUnavailable,
    ModelNotFound,
    QuotaExceeded,
    RateLimitExceeded,
    RequestRefused,
    TokenLimitExceeded,
)
from ..inference.models import ErrorKind, ModelServerError

_ERRORS: Final[Mapping[ErrorKind, type[HomeAgentError]]] = {
    ErrorKind.AUTH: AuthenticationError,
    ErrorKind.RATE_LIMIT: RateLimitExceeded,
    ErrorKind.TIMEOUT: LLMTimeout,
    ErrorKind.UNAVAILABLE: LLMUnavailable,
    ErrorKind.CONTEXT_TOO_LONG: TokenLimitExceeded,
    ErrorKind.MODEL_NOT_FOUND: ModelNotFound,
    ErrorKind.BAD_REQUEST: RequestRefused,
    ErrorKind.MALFORMED: LLMError,
    ErrorKind.BUSY: LLMBusy,
}


def as_agent_error(err: ModelServerError, *, with_pictures: bool = False) -> HomeAgentError:
    """Return the error in a form that a user can see.

    A server that refuses a request with pictures has a model that cannot see, as a rule.
    """
    kind, error = err.kind, _ERRORS[err.kind]
    if with_pictures and kind is ErrorKind.BAD_REQUEST:
        error = CannotSee
    elif kind is ErrorKind.AUTH and not err.answered:
        error = KeyUnusable
    elif kind is ErrorKind.AUTH and err.keyless:
        error = KeyMissing
    elif kind is ErrorKind.RATE_LIMIT and (err.status == HTTPStatus.PAYMENT_REQUIRED or not err.retryable):
        error = QuotaExceeded
    elif kind is ErrorKind.UNAVAILABLE and err.answered:
        error = LLMServerError
    raised = error(err.plain)
    raised.said = err.detail
    return raised
