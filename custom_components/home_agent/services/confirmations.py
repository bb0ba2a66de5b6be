"""Services that settle what waits for a person's word."""

from collections.abc import Mapping
from typing import Final

import probatio

from homeassistant.core import ServiceCall, ServiceResponse
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import config_validation as cv

from ..const import DOMAIN
from ..runtime import HomeAgentConfigEntry
from ..safety.confirmation import ConfirmationRefused
from ..safety.pending import Outcome
from .base import Service, async_caller


async def _async_confirm_action(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Take a person's word for an action that waits."""
    user = await async_caller(call)
    confirmations, action_id = entry.runtime_data.confirmations, call.data["action_id"]
    try:
        await confirmations.async_approve(action_id, user=user, pin=call.data.get("pin"))
    except ConfirmationRefused as err:
        raise _refused(err) from err
    return {"action_id": action_id, "outcome": Outcome.APPROVED.value}


async def _async_reject_action(call: ServiceCall, entry: HomeAgentConfigEntry) -> ServiceResponse:
    """Drop an action that waits."""
    user = await async_caller(call)
    try:
        await entry.runtime_data.confirmations.async_reject(call.data["action_id"], user=user)
    except ConfirmationRefused as err:
        raise _refused(err) from err
    return {"action_id": call.data["action_id"], "outcome": Outcome.REJECTED.value}


def _refused(err: ConfirmationRefused) -> ServiceValidationError:
    """Return why a word does not count, in the form of a service."""
    return ServiceValidationError(translation_domain=DOMAIN, translation_key=err.key)


SERVICES: Final[Mapping[str, Service]] = {
    "confirm_action": Service(
        _async_confirm_action,
        {probatio.Required("action_id"): cv.string, probatio.Optional("pin"): cv.string},
    ),
    "reject_action": Service(_async_reject_action, {probatio.Required("action_id"): cv.string}),
}
