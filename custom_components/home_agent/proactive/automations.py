"""Automations where Home Assistant's editor keeps them: in automations.yaml, added at its end.

What people wrote there stays as it is, with comments, order and secrets: text is added, nothing is rewritten.
"""

from collections.abc import Mapping
from contextlib import suppress
import os
from pathlib import Path
from typing import Any, Final

import probatio
import yaml

from homeassistant.components.automation.config import async_validate_config_item
from homeassistant.config import AUTOMATION_CONFIG_PATH
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.util.file import WriteError, write_utf8_file_atomic
from homeassistant.util.yaml import dump

from ..const import DOMAIN
from ..tools.own_calls import async_reload_automation

AUTOMATION: Final = "automation"
MOST_BYTES: Final = 10_000_000


class AutomationRefusedError(HomeAssistantError):
    """An automation cannot be added; the message says why, and what to change."""

    def __init__(self, key: str, **placeholders: str) -> None:
        """Take the key of the sentence in the translations and what fills it."""
        super().__init__(
            translation_domain=DOMAIN, translation_key=key, translation_placeholders=placeholders
        )


async def async_check(hass: HomeAssistant, automation_id: str, config: Mapping[str, Any]) -> None:
    """Hold an automation against Home Assistant's own schema. Raises AutomationRefusedError."""
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
    """Return the text of the file, None where there is none."""
    try:
        if path.stat().st_size > MOST_BYTES:
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
    """Reads YAML without following what it points to: includes and secrets stay names."""

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
