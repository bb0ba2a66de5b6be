"""What services raise, as errors of Home Agent."""

from collections.abc import Iterator
from contextlib import contextmanager

import probatio

from homeassistant.exceptions import HomeAssistantError, Unauthorized, UnknownUser

from ..errors import PermissionDenied, ToolExecutionError
from ..safety.redaction import without_secrets
from .base import ServiceCall


@contextmanager
def translate_service_errors(call: ServiceCall) -> Iterator[None]:
    """Raise what a service raises as PermissionDenied or ToolExecutionError."""
    try:
        yield
    except (Unauthorized, UnknownUser) as err:
        raise PermissionDenied(f"The user may not use {call.domain}.{call.service}") from err
    except (HomeAssistantError, probatio.Invalid, ValueError, TypeError) as err:
        # A door may quote its code, and this goes into ledger, audit log and result.
        problem = f"{call.domain}.{call.service} failed: {err}"
        raise ToolExecutionError(without_secrets(problem, call.data)) from err
