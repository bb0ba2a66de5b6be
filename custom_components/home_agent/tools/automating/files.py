"""The file of automations: one is added, replaced or removed, and Home Assistant loads it.

What people wrote there stays as it is, with comments, order and secrets: only the lines of that automation
change.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
import os
from pathlib import Path
from typing import Any, Final

import probatio
import yaml

from homeassistant.config import AUTOMATION_CONFIG_PATH, YAML_CONFIG_FILE
from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.util.file import WriteError, write_utf8_file_atomic
from homeassistant.util.yaml import dump

from ...errors import HomeAgentError, ValidationError
from ..own_calls import async_reload_automation
from .records import without_record

AUTOMATION: Final = "automation"
NOT_INCLUDED: Final = (
    "configuration.yaml does not contain the line automation: !include automations.yaml, so the automation "
    "would not load. Nothing was created; tell the person to add the line and to restart Home Assistant"
)
MAX_BYTES: Final = 10_000_000

type Edit = Callable[[str, list[Any]], str]
"""From the text of the file and what it contains to the text that is written."""


class AutomationRefusedError(HomeAgentError):
    """An automation cannot be written; the message says why, and what to change."""

    def __init__(self, key: str, **placeholders: str) -> None:
        self.key = key
        super().__init__(**placeholders)


async def async_check(hass: HomeAssistant, automation_id: str, config: Mapping[str, Any]) -> None:
    """Validate an automation with Home Assistant's own schema. Raises AutomationRefusedError."""
    # Loaded already where there are automations.
    from homeassistant.components.automation.config import async_validate_config_item  # noqa: PLC0415

    try:
        await async_validate_config_item(hass, automation_id, {"id": automation_id, **config})
    except (probatio.Invalid, HomeAssistantError) as err:
        raise AutomationRefusedError("automation_invalid", error=str(err)[:200]) from err


async def async_check_included(hass: HomeAssistant) -> None:
    """Raise ValidationError if the configuration surely does not include the file of automations."""
    if await hass.async_add_executor_job(_is_left_out, Path(hass.config.path(YAML_CONFIG_FILE))):
        raise ValidationError(NOT_INCLUDED)


def _is_left_out(path: Path) -> bool:
    """Return whether no part of configuration.yaml may include automations; False for one that is not read.

    Runs in a worker thread.
    """
    try:
        found = _parse(_read(path) or "")
    except OSError, UnicodeDecodeError, AutomationRefusedError:
        return False
    if not isinstance(found, dict):
        return False
    core = found.get("homeassistant")
    if isinstance(core, tuple) or (isinstance(core, dict) and "packages" in core):
        return False
    # Each tag may include a file.
    return not any(
        isinstance(each, tuple)
        for key, value in found.items()
        if str(key).partition(" ")[0] == AUTOMATION
        for each in (value if isinstance(value, list) else [value])
    )


@callback
def entity_of(hass: HomeAssistant, automation_id: str) -> str | None:
    """Return the entity of an automation; None if Home Assistant has none of this id."""
    return er.async_get(hass).async_get_entity_id(AUTOMATION, AUTOMATION, automation_id)


async def async_read(hass: HomeAssistant, automation_id: str) -> dict[str, Any] | None:
    """Return an automation as the file has it, without its id; None if it is not there.

    Raises AutomationRefusedError for a file that cannot be read.
    """
    return await hass.async_add_executor_job(_read_item, _path(hass), automation_id)


async def async_add(
    hass: HomeAssistant, automation_id: str, config: Mapping[str, Any], context: Context
) -> str:
    """Write an automation, or replace the one of this id, have it loaded, and return its entity id.

    What does not load is taken back. Raises AutomationRefusedError.
    """
    if AUTOMATION not in hass.config.components:
        raise AutomationRefusedError("automations_missing")
    await async_check(hass, automation_id, config)
    item = {"id": automation_id, **config}

    def edit(text: str, had: list[Any]) -> str:
        return _replaced(text, had, automation_id, item)

    before, after = await _async_edit(hass, edit)
    failed: HomeAssistantError | None = None
    try:
        await async_reload_automation(hass, automation_id, context)
    except HomeAssistantError as err:
        failed = err
    entity_id = entity_of(hass, automation_id)
    state = hass.states.get(entity_id) if entity_id else None
    if failed is None and entity_id and state is not None and state.state != STATE_UNAVAILABLE:
        # Home Assistant's editor may have read the file before and written it after us.
        if await _async_is_there(hass, automation_id) is False:
            await _async_edit(hass, edit)
        return entity_id
    await hass.async_add_executor_job(_take_back, _path(hass), before, after)
    if before is not None and await _async_is_there(hass, automation_id):
        with suppress(HomeAssistantError):
            await async_reload_automation(hass, automation_id, context)
    raise AutomationRefusedError("automations_not_included") from failed


async def async_remove(hass: HomeAssistant, automation_id: str) -> None:
    """Remove an automation from the file and from Home Assistant. Raises AutomationRefusedError."""
    await _async_edit(hass, lambda text, had: _replaced(text, had, automation_id, None))
    if (entity_id := entity_of(hass, automation_id)) is not None:
        er.async_get(hass).async_remove(entity_id)


async def async_forget_person(hass: HomeAssistant, automation_ids: Iterable[str]) -> None:
    """Remove from descriptions who asked for automations, and their words; unwritable files stay."""
    for each in automation_ids:
        with suppress(HomeAssistantError, AutomationRefusedError):
            written = await async_read(hass, each)
            described = str((written or {}).get("description") or "")
            if written is None or (kept := without_record(described)) == described:
                continue
            item = {"id": each, **written, "description": kept}
            await _async_edit(hass, partial(_replaced, automation_id=each, item=item))
            await async_reload_automation(hass, each, Context())


def _path(hass: HomeAssistant) -> Path:
    return Path(hass.config.path(AUTOMATION_CONFIG_PATH))


async def _async_edit(hass: HomeAssistant, edit: Edit) -> tuple[str | None, str]:
    """Change the file; return its text before and after."""
    return await hass.async_add_executor_job(_edit, _path(hass), edit)


async def _async_is_there(hass: HomeAssistant, automation_id: str) -> bool | None:
    """Return whether the file contains an automation; None for a file that cannot be read."""
    with suppress(AutomationRefusedError):
        return await async_read(hass, automation_id) is not None
    return None


def _edit(path: Path, edit: Edit) -> tuple[str | None, str]:
    """Change the file; return its text before and after. Runs in a worker thread."""
    path = Path(os.path.realpath(path))
    try:
        before = _read(path)
        after = edit(before or "", _items(before or ""))
        if _read(path) != before:
            raise AutomationRefusedError("automations_busy")
        write_utf8_file_atomic(str(path), after)
    except (OSError, UnicodeDecodeError, WriteError) as err:
        raise AutomationRefusedError("automations_unwritable", error=type(err).__name__) from err
    return before, after


def _read_item(path: Path, automation_id: str) -> dict[str, Any] | None:
    """Return an automation without its id. Runs in a worker thread."""
    try:
        had = _items(_read(Path(os.path.realpath(path))) or "")
    except (OSError, UnicodeDecodeError) as err:
        raise AutomationRefusedError("automations_unreadable") from err
    found = next((item for item in had if _is(item, automation_id)), None)
    return None if found is None else {key: value for key, value in found.items() if key != "id"}


def _is(item: Any, automation_id: str) -> bool:
    return isinstance(item, dict) and str(item.get("id")) == automation_id


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


def _replaced(text: str, had: list[Any], automation_id: str, item: Mapping[str, Any] | None) -> str:
    """Return the text with another automation in place of that of an id, or without it.

    A new one is added at the end; everything else stays as it is.
    """
    place = next((index for index, each in enumerate(had) if _is(each, automation_id)), None)
    if place is None:
        return text if item is None else _appended(text, had, item)
    lines = text.splitlines(keepends=True)
    first, last = _span(text, lines, place)
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    own = [] if item is None else [f"{line}{_newline(text)}" for line in _dumped(item, indent)]
    after = "".join((*lines[:first], *own, *lines[last:]))
    expected = [*had[:place], *([] if item is None else [dict(item)]), *had[place + 1 :]]
    if not expected and _parse(after) is None:
        after += f"[]{_newline(text)}"
    return _sure(after, expected)


def _span(text: str, lines: list[str], place: int) -> tuple[int, int]:
    """Return the first line of an item and the line behind it; comments behind it are not its own."""
    node = yaml.compose(text, Loader=_Loader)
    if not isinstance(node, yaml.SequenceNode) or node.flow_style:
        raise AutomationRefusedError("automations_unreadable")
    mark = node.value[place]
    first, last = mark.start_mark.line, mark.end_mark.line
    while first and not _begins(lines[first]):
        first -= 1
    # A block ends where the next one begins, or behind its last line.
    last += last < len(lines) and mark.end_mark.column > 0 and not _begins(lines[last])
    while last > first + 1 and lines[last - 1].strip().partition("#")[0] == "":
        last -= 1
    return first, last


def _appended(text: str, had: list[Any], item: Mapping[str, Any]) -> str:
    """Return the text with one automation more, and everything else as it was."""
    kept = text
    if not had:
        # An empty list is often written as []; comments stay.
        kept = "".join(
            line for line in text.splitlines(keepends=True) if line.strip().partition("#")[0].strip() != "[]"
        )
    newline = _newline(text)
    indent = next((line[: len(line) - len(line.lstrip())] for line in kept.splitlines() if _begins(line)), "")
    glue = "" if not kept or kept.endswith("\n") else newline
    after = f"{kept}{glue}{newline.join(_dumped(item, indent))}{newline}"
    return _sure(after, [*had, dict(item)])


def _sure(text: str, expected: list[Any]) -> str:
    if _items(text) != expected:
        raise AutomationRefusedError("automations_unreadable")
    return text


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _dumped(item: Mapping[str, Any], indent: str) -> list[str]:
    return [f"{indent}{line}" for line in str(dump([dict(item)])).splitlines()]


def _begins(line: str) -> bool:
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


def _items(text: str) -> list[Any]:
    """Return the automations of a text. Raises AutomationRefusedError for anything but a list."""
    found = _parse(text)
    if found is None:
        return []
    if not isinstance(found, list):
        raise AutomationRefusedError("automations_unreadable")
    return found
