"""Runs exactly the confirmed calls; everything except the confirmation is checked again."""

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import replace
from typing import Any

import probatio

from homeassistant.auth.models import User
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm

from ..errors import ChangedSinceAsked, PermissionDenied, ToolExecutionError
from ..safety.confirmation import PendingAction
from ..safety.frozen import (
    CallOrigin,
    Frozen,
    FrozenAutomation,
    FrozenCall,
    FrozenIntent,
    FrozenLook,
    FrozenPlan,
    FrozenTool,
)
from ..safety.rules import Verdict
from .asked_about import check_contents, check_unchanged
from .automating.files import AutomationRefusedError
from .automating.own import check_administrator, unattended
from .base import HomeAgentTool, service_call
from .handler import ToolHandler
from .results import envelope
from .vetted import is_spoken


async def async_run_approved(handler: ToolHandler, action: PendingAction) -> None:
    """Run a confirmed action.

    Raises HomeAgentError for calls that are not allowed any more and for failed ones.
    """
    user = await handler.guard.async_user(action.speaker)
    try:
        async with asyncio.timeout(handler.timeout):
            for item in action.frozen:
                check_unchanged(handler.hass, item)
            if action.own is not None and not action.own.restricted:
                _check_free(handler, action, user)
            for item in action.frozen:
                if not _is_spoken(item):
                    await _async_run(handler, item, user, _origin(item, action))
            await _async_together(
                _async_run(handler, item, user, _origin(item, action))
                for item in action.frozen
                if _is_spoken(item)
            )
    except TimeoutError as err:
        raise ToolExecutionError(f"It did not finish within {handler.timeout:g} s") from err
    except (HomeAssistantError, probatio.Invalid, ValueError) as err:
        if isinstance(err, PermissionDenied | ToolExecutionError | AutomationRefusedError):
            raise
        raise ToolExecutionError(f"It failed: {err}") from err


def _origin(item: Frozen, action: PendingAction) -> CallOrigin:
    return item.origin or CallOrigin(speaker=action.speaker)


def _is_spoken(item: Frozen) -> bool:
    """Return whether an item is an announcement; those of several rooms begin together."""
    return isinstance(item, FrozenCall) and is_spoken(item.domain, item.service)


async def _async_together(running: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run announcements concurrently, each to its end. Raises the first error."""
    ended = await asyncio.gather(*running, return_exceptions=True)
    for error in ended:
        if error is not None:
            raise error


def _check_free(handler: ToolHandler, action: PendingAction, user: User | None) -> None:
    """Raise ChangedSinceAsked if a call is restricted by now, since a free one is asked about without PIN."""
    for item in action.frozen:
        if isinstance(item, FrozenCall):
            call = service_call(item)
            if handler.guard.check(call, user, action.speaker) is Verdict.CONFIRM:
                raise ChangedSinceAsked


async def _async_run(handler: ToolHandler, item: Frozen, user: User | None, origin: CallOrigin) -> None:
    guard, speaker = handler.guard, origin.speaker
    match item:
        case FrozenLook():
            guard.judge_look(item, user, speaker)
            await guard.async_look_now(item, speaker)
        case FrozenCall():
            call = service_call(item)
            guard.check(call, user, speaker)
            check_contents(item, guard.contents(call, speaker, user))
            await guard.async_make(call, speaker)
        case FrozenPlan():
            speaker = replace(speaker, due=item.due)
            for one in item.calls:
                call = service_call(one)
                guard.check(call, user, speaker)
                check_contents(one, guard.contents(call, speaker, user))
            await item.begin()
        case FrozenAutomation():
            check_administrator(user)
            for one in item.calls:
                if not guard.is_free(service_call(one), user, unattended(speaker)):
                    raise ChangedSinceAsked
            await item.begin()
        case FrozenIntent():
            await guard.async_run_intent(item, user, speaker)
        case FrozenTool():
            judged = guard.judge_tool(item, user, speaker)
            if isinstance(judged, FrozenTool):
                check_contents(item, judged.contents)
            if isinstance(item.tool, HomeAgentTool):
                await handler.async_run_own(item.tool, dict(item.args), origin)
                return
            await handler.async_check_leaving(item, origin)
            call_input = llm.ToolInput(item.tool.name, dict(item.args))
            calls = guard.calls_of(item.tool, item.args, speaker)
            with guard.journal.acting_all(calls, speaker, item.args):
                result = await item.tool.async_call(handler.hass, call_input, item.llm_context)
                envelope(result, strict=True)
