"""What was imported, in words; and the tools as YAML: tried, shown, written to a file."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from pathlib import Path
import re
from typing import Any, Final, override

import yaml

from homeassistant.components import persistent_notification
from homeassistant.core import HomeAssistant
from homeassistant.helpers.redact import REDACTED

from ..agent.phrases import async_phrase
from ..connection import is_template
from ..const import CONF_BASE_URL, DOMAIN, LOGGER
from ..embeds import without_embeds
from ..regex import lazy_regex
from ..safety.redaction import is_secret
from ..tools.custom.loader import CONF_CUSTOM_TOOLS, async_problems
from ..tools.custom.recipes import DATA_CUSTOM_TOOLS, CustomTools
from ..tools.native import NATIVE
from .import_functions import Note
from .importer import Imported
from .language import async_language

FILE: Final = "home_agent_import"
MAX_FILES: Final = 100
MAX_SHOWN: Final = 20_000
"""Characters of YAML in a dialog; the file has all."""
HEADER: Final = "# Custom tools of Home Agent, made of the functions of Extended OpenAI Conversation.\n"
SCRIPTED: Final = ("script.", "scene.")
READING: Final = frozenset({"GET", "HEAD"})
SECRET_PARAMETERS: Final = frozenset({"appid", "key", "sig", "signature"})
"""Names in an address that are secret there and nowhere else."""
_TICKS = lazy_regex(r"`+")
_PARAMETER = lazy_regex(r"([?&])([^=&?{}]+)=([^&{}]+)")


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and uses no references."""

    @override
    def ignore_aliases(self, data: Any) -> bool:
        """Write each part where it belongs."""
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    """Return a text, in a block where it has lines."""
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def as_yaml(tools: Iterable[Mapping[str, Any]]) -> str:
    """Return the tools as they are in a file that `home_agent:` includes."""
    return yaml.dump(
        {CONF_CUSTOM_TOOLS: list(tools)}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )


async def async_check_tools(hass: HomeAssistant, made: Imported) -> None:
    """Keep the tools that our own loader accepts, and report the problems of the others."""
    known = hass.data.get(DATA_CUSTOM_TOOLS) or CustomTools()
    taken = {*NATIVE, *(recipe.name for recipe in known.known())}
    kept = []
    for tool in made.functions.tools:
        problems = async_problems(hass, yaml.safe_load(as_yaml([tool]))[CONF_CUSTOM_TOOLS][0], taken)
        if not problems:
            kept.append(tool)
            taken.add(tool["name"])
            continue
        made.functions.left.append(
            Note("import_wrong", {"name": tool["name"], "problems": "; ".join(problems)})
        )
    made.functions.tools = kept


async def async_find_file(hass: HomeAssistant, made: Imported) -> None:
    """Choose a file that is not there yet."""
    if made.functions.tools:
        made.file = await hass.async_add_executor_job(_free_name, Path(hass.config.config_dir))


def _free_name(folder: Path) -> str:
    """Return the name of a file that is not there."""
    names = (f"{FILE}{f'_{number}' if number > 1 else ''}.yaml" for number in range(1, MAX_FILES))
    return next((name for name in names if not (folder / name).exists()), f"{FILE}_{MAX_FILES}.yaml")


async def async_report(hass: HomeAssistant, made: Imported, *, failure: str = "") -> str:
    """Return a report on the import, in the language in which it is read."""
    language = await async_language(hass)

    async def phrase(key: str, **details: str) -> str:
        return await async_phrase(hass, language, key, **details)

    connection = Note("import_connection", {"url": made.connection[CONF_BASE_URL]})
    sections = {
        "import_taken": [connection, *made.taken, *map(_of_tool, made.functions.tools)],
        "import_covered": made.functions.covered,
        "import_left": [*made.left, *made.functions.left],
    }
    lines = []
    for heading, notes in sections.items():
        if notes:
            lines += [f"**{await phrase(heading)}**", ""]
            lines += [without_embeds(f"- {await phrase(note.key, **note.details)}") for note in notes]
            lines.append("")
    if made.functions.tools:
        lines += [line async for line in _steps(made, phrase, failure)]
    return "\n".join([*lines, await phrase("import_next")])


async def _steps(made: Imported, phrase: Callable[..., Awaitable[str]], failure: str) -> AsyncIterator[str]:
    """Yield instructions for the tools, and the tools."""
    key = "import_not_written" if failure else "import_file"
    yield await phrase(key, file=made.file, error=failure)
    yield f"\n```yaml\n{DOMAIN}: !include {made.file}\n```\n"
    yield await phrase("import_merge")
    masked = [_masked(tool) for tool in made.functions.tools]
    if masked != made.functions.tools:
        yield await phrase("import_secrets")
    shown = as_yaml(masked)
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in _TICKS.findall(shown)), 0)
    yield f"\n{fence}yaml\n{shown[:MAX_SHOWN]}{'…' if len(shown) > MAX_SHOWN else ''}\n{fence}\n"


def _of_tool(tool: Mapping[str, Any]) -> Note:
    """Return the sentence about a tool."""
    handler = tool["handler"]
    acts = handler["type"] == "rest" and handler.get("method", "GET") not in READING
    scripted = str(handler.get("action", "")).startswith(SCRIPTED)
    key = "import_tool_asks" if acts else "import_tool_scripts" if scripted else "import_tool"
    return Note(key, {"name": tool["name"]})


def _masked(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool without the keys in its handler; templates are none."""
    return {**tool, "handler": _without_keys(tool["handler"], "")}


def _without_keys(value: Any, key: str) -> Any:
    """Return a part of a handler without keys."""
    if isinstance(value, Mapping):
        return {name: _without_keys(part, str(name)) for name, part in value.items()}
    if isinstance(value, list):
        return [_without_keys(part, key) for part in value]
    if key == "url":
        return _PARAMETER.sub(_without_value, str(value))
    is_key = is_secret(key) or key in SECRET_PARAMETERS
    return REDACTED if is_key and value and not is_template(str(value)) else value


def _without_value(found: re.Match[str]) -> str:
    """Return a parameter of an address without its value, if that is a key."""
    mark, name, value = found.groups()
    is_key = is_secret(name) or name.lower() in SECRET_PARAMETERS
    return f"{mark}{name}={REDACTED if is_key else value}"


async def async_save(hass: HomeAssistant, made: Imported, title: str) -> None:
    """Write the file, and leave a notification that can be read again."""
    failure = ""
    if made.functions.tools:
        try:
            made.file = await hass.async_add_executor_job(
                _write, Path(hass.config.config_dir), made.file, as_yaml(made.functions.tools)
            )
        except OSError as err:
            LOGGER.warning("The imported tools could not be written: %s", err)
            failure = err.strerror or type(err).__name__
    message = await async_report(hass, made, failure=failure)
    persistent_notification.async_create(hass, message, title, f"{DOMAIN}_import_{made.old_id}")


def _write(folder: Path, name: str, text: str) -> str:
    """Write a new file, never over one that is there, and return its name. Raises OSError."""
    try:
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(HEADER + text)
    except FileExistsError:
        name = _free_name(folder)
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(HEADER + text)
    return name
