"""Automations for habits: drafted, checked, and added at the end of automations.yaml.

What people wrote there stays as it is, with comments, order and secrets: text is added, nothing is rewritten.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
import os
from pathlib import Path
from typing import Any, Final

import probatio
import yaml

from homeassistant.components.automation.config import async_validate_config_item
from homeassistant.components.climate.const import (
    ATTR_HVAC_MODE,
    ATTR_HVAC_MODES,
    ATTR_MAX_TEMP,
    ATTR_MIN_TEMP,
)
from homeassistant.config import AUTOMATION_CONFIG_PATH
from homeassistant.const import ATTR_ENTITY_ID, ATTR_TEMPERATURE, WEEKDAYS
from homeassistant.core import Context, HomeAssistant, State, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.util.file import WriteError, write_utf8_file_atomic
from homeassistant.util.yaml import dump

from ..const import DOMAIN
from ..domains import DOMAINS
from ..memory.learner.patterns import DAY_BEGINS, EVERY_DAY, Habit
from ..memory.learner.presentation import clock
from ..regex import lazy_regex
from ..tools.base import ServiceCall
from ..tools.own_calls import async_reload_automation
from .messenger import speakable

_MODE: Final = lazy_regex(r"^[a-z0-9_]{1,40}$")
AUTOMATION: Final = "automation"
MAX_BYTES: Final = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationDraft:
    """An automation that could be suggested."""

    call: ServiceCall
    config: dict[str, Any] = field(hash=False)


@callback
def draft(hass: HomeAssistant, habit: Habit, name: str, text: str) -> AutomationDraft | None:
    """Return the automation for a habit, None if no automation can replace it.

    `name` is that of the entity, `text` the habit in words; both may be anything.
    """
    domain = habit.subject.partition(".")[0]
    states = [hass.states.get(subject) for subject in habit.subjects]
    value, _, detail = habit.value.partition(":")
    service = DOMAINS[domain].suggested.get(value)
    found = [_data(state, value, detail) for state in states if state is not None]
    data = found[0] if found and len(found) == len(states) and None not in found else None
    if service is None or data is None:
        return None
    call = ServiceCall(domain=domain, service=service, entity_ids=habit.subjects, data=data)
    target = list(habit.subjects) if habit.others else habit.subject
    action: dict[str, Any] = {
        "action": f"{call.domain}.{call.service}",
        "target": {ATTR_ENTITY_ID: target},
    }
    if data:
        action["data"] = dict(data)
    at = clock(habit.minute)
    config: dict[str, Any] = {
        "alias": f"{speakable(name)}, {at}",
        "description": " ".join(text.split())[:500],
        "triggers": [{"trigger": "time", "at": f"{at.zfill(5)}:00"}],
        "conditions": _conditions(habit),
        "actions": [action],
        "mode": "single",
    }
    return AutomationDraft(call=call, config=config)


def _conditions(habit: Habit) -> list[dict[str, Any]]:
    """Return the days; actions after midnight belong to the evening before."""
    if habit.days == EVERY_DAY:
        return []
    hours, minutes = clock(habit.minute).split(":")
    late = int(hours) * 60 + int(minutes) < DAY_BEGINS
    days = sorted((day + late) % len(WEEKDAYS) for day in habit.days)
    return [{"condition": "time", "weekday": [WEEKDAYS[day] for day in days]}]


def _data(state: State, value: str, detail: str) -> dict[str, Any] | None:
    """Return the parameters of a call; None for a value that the entity does not take.

    Values of actions are templates to Home Assistant, so only plain ones pass.
    """
    if state.domain != "climate":
        return {}
    if value == "temperature":
        try:
            degrees = float(detail)
        except ValueError:
            return None
        low, high = state.attributes.get(ATTR_MIN_TEMP), state.attributes.get(ATTR_MAX_TEMP)
        fits = isfinite(degrees) and (low is None or degrees >= low) and (high is None or degrees <= high)
        return {ATTR_TEMPERATURE: degrees} if fits else None
    mode = "off" if value == "off" else detail
    modes = [str(known) for known in state.attributes.get(ATTR_HVAC_MODES) or ()]
    return {ATTR_HVAC_MODE: mode} if _MODE.match(mode) and mode in modes else None


class AutomationRefusedError(HomeAssistantError):
    """An automation cannot be added; the message says why, and what to change."""

    def __init__(self, key: str, **placeholders: str) -> None:
        """Take the translation key of the sentence and its placeholders."""
        super().__init__(
            translation_domain=DOMAIN, translation_key=key, translation_placeholders=placeholders
        )


async def async_check(hass: HomeAssistant, automation_id: str, config: Mapping[str, Any]) -> None:
    """Validate an automation with Home Assistant's own schema. Raises AutomationRefusedError."""
    try:
        await async_validate_config_item(hass, automation_id, {"id": automation_id, **config})
    except (probatio.Invalid, HomeAssistantError) as err:
        raise AutomationRefusedError("automation_invalid", error=str(err)[:200]) from err


async def async_add(
    hass: HomeAssistant, automation_id: str, config: Mapping[str, Any], context: Context
) -> str:
    """Write an automation, have it loaded, and return its entity id.

    One that does not load is taken out again. Raises AutomationRefusedError.
    """
    if AUTOMATION not in hass.config.components:
        raise AutomationRefusedError("automations_missing")
    await async_check(hass, automation_id, config)
    path = Path(hass.config.path(AUTOMATION_CONFIG_PATH))
    item = {"id": automation_id, **config}
    before, after = await hass.async_add_executor_job(_append, path, item)
    failed: HomeAssistantError | None = None
    try:
        await async_reload_automation(hass, automation_id, context)
    except HomeAssistantError as err:
        failed = err
    entity_id = er.async_get(hass).async_get_entity_id(AUTOMATION, AUTOMATION, automation_id)
    if failed is None and entity_id is not None and hass.states.get(entity_id) is not None:
        # Home Assistant's editor may have read the file before and written it after us.
        if not await hass.async_add_executor_job(_holds, path, automation_id):
            await hass.async_add_executor_job(_append, path, item)
        return entity_id
    await hass.async_add_executor_job(_take_back, path, before, after)
    raise AutomationRefusedError("automations_not_included") from failed


def _append(path: Path, item: Mapping[str, Any]) -> tuple[str | None, str]:
    """Add an automation to the file; return its text before and after. Runs in a worker thread."""
    path = Path(os.path.realpath(path))
    try:
        before = _read(path)
        after = _appended(before or "", item)
        if _read(path) != before:
            raise AutomationRefusedError("automations_busy")
        write_utf8_file_atomic(str(path), after)
    except (OSError, UnicodeDecodeError, WriteError) as err:
        raise AutomationRefusedError("automations_unwritable", error=type(err).__name__) from err
    return before, after


def _holds(path: Path, automation_id: str) -> bool:
    """Return whether the file contains an automation. Runs in a worker thread."""
    with suppress(OSError, UnicodeDecodeError):
        return automation_id in (_read(Path(os.path.realpath(path))) or "")
    return True


def _take_back(path: Path, before: str | None, after: str) -> None:
    """Restore the file, unless it was changed in the meantime."""
    path = Path(os.path.realpath(path))
    with suppress(OSError, UnicodeDecodeError, WriteError):
        if _read(path) != after:
            return
        if before is None:
            path.unlink()
        else:
            write_utf8_file_atomic(str(path), before)


def _read(path: Path) -> str | None:
    """Return the text of the file, None if there is none."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise AutomationRefusedError("automations_unreadable")
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _appended(text: str, item: Mapping[str, Any]) -> str:
    """Return the text with one automation more, and everything else as it was."""
    had = _parse(text)
    if had is None or had == []:
        # An empty list is often written as []; comments stay.
        kept = "".join(
            line for line in text.splitlines(keepends=True) if line.strip().partition("#")[0].strip() != "[]"
        )
        return _joined(kept, [], item, text)
    if not isinstance(had, list):
        raise AutomationRefusedError("automations_unreadable")
    return _joined(text, had, item, text)


def _joined(text: str, had: list[Any], item: Mapping[str, Any], original: str) -> str:
    """Return the text with the item behind it, if it reads as it should."""
    newline = "\r\n" if "\r\n" in original else "\n"
    indent = next((line[: len(line) - len(line.lstrip())] for line in text.splitlines() if _begins(line)), "")
    lines = [f"{indent}{line}" for line in str(dump([dict(item)])).splitlines()]
    glue = "" if not text or text.endswith("\n") else newline
    after = f"{text}{glue}{newline.join(lines)}{newline}"
    if _parse(after) != [*had, dict(item)]:
        raise AutomationRefusedError("automations_unreadable")
    return after


def _begins(line: str) -> bool:
    """Return whether a line begins an item of a list."""
    return line.lstrip() == "-" or line.lstrip().startswith("- ")


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The quick reader where there is one."""


class _Loader(_Base):  # type: ignore[misc]
    """Reads YAML without resolving references: includes and secrets stay names."""

    def construct_undefined(self, node: yaml.Node) -> Any:
        """Return a tag with the node that follows it."""
        if isinstance(node, yaml.ScalarNode):
            return (node.tag, node.value)
        if isinstance(node, yaml.SequenceNode):
            return (node.tag, self.construct_sequence(node, deep=True))
        return (node.tag, self.construct_mapping(node, deep=True))


_Loader.add_constructor(None, _Loader.construct_undefined)


def _parse(text: str) -> Any:
    """Return the parsed text. Raises AutomationRefusedError for invalid YAML."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as err:
        raise AutomationRefusedError("automations_unreadable") from err
