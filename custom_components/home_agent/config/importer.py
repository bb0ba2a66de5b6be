"""An agent of Extended OpenAI Conversation as one of ours: connection, options, prompt and functions.

Nothing of the old agent is changed.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import count
import json
from pathlib import Path
import re
from typing import Any, Final

import probatio
import yaml

from homeassistant.components import persistent_notification
from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import TemplateError
from homeassistant.util import yaml as yaml_util

from .. import const
from ..agent.describe import async_phrase
from ..agent.prompt import render
from ..const import ASSISTANT, DEFAULTS, DOMAIN, LOGGER
from ..inference.models import Dialect
from ..regex import lazy_regex
from ..texts import without_embeds
from ..tools.custom import DATA_CUSTOM_TOOLS, CustomTools
from ..tools.custom.base import SINGLE
from ..tools.custom.loader import CONF_CUSTOM_TOOLS, async_problems
from ..tools.native import NATIVE
from .fields import Checked, async_language, check
from .schemas import PAGES

MAX_TEXT: Final = 200_000
"""Characters of the text that holds the functions."""
MAX_ERROR: Final = 200
OWN_TOOLS: Final[Mapping[str, str]] = {
    "execute_service": "ha_control",
    "execute_service_single": "ha_control",
    "get_state": "ha_query",
    "get_states": "ha_query",
    "get_history": "ha_query",
    "get_statistics": "ha_query",
    "get_energy": "energy",
    "add_automation": "automation",
    "calendar.get_events": "calendar",
    "calendar.list_events": "calendar",
    "todo.get_items": "todo_list",
    "weather.get_forecast": "weather",
    "weather.get_forecasts": "weather",
}
"""Functions that were built in, and actions whose response was the result: our tools that do the same."""

RESULT: Final = "_function_result"
"""The variable of a script that held the function's answer."""
BESIDES: Final = frozenset({"alias", "continue_on_error", "enabled", "metadata"})
"""Keys of a step that do not define its action."""
BEARER: Final = "bearer "
MAX_SECONDS: Final = 120
_ENCODED = lazy_regex(r"(?<!\s)\s*\|\s*url_?encode(?:\s*\(\s*\))?(?=[^{]*\}\})")

type Note = tuple[str, dict[str, str]]
"""A sentence of the report: its translation key and its placeholders."""


class NoTool(Exception):
    """Says why a function becomes no tool."""

    def __init__(self, key: str, /, **details: str) -> None:
        super().__init__(key)
        self.key = key
        self.details = details


@dataclass(slots=True)
class Imported:
    """The result of the import, before anything is stored."""

    old_id: str = ""
    connection: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    tools: list[dict[str, Any]] = field(default_factory=list)
    """The tools in the form of `custom_tools`."""
    taken: list[Note] = field(default_factory=list)
    left: list[Note] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    """Names of functions that our own tools replace."""


def convert(made: Imported, text: str) -> None:
    """Make tools of functions written as YAML, and messages about the others."""
    try:
        functions = yaml.safe_load(text[:MAX_TEXT])
    except (yaml.YAMLError, RecursionError) as err:
        error = " ".join(str(err).split())[:MAX_ERROR]
        made.left.append(("import_functions_unreadable", {"error": error}))
        return
    for number, entry in enumerate(functions if isinstance(functions, list) else [], 1):
        name = f"#{number}"
        try:
            spec, function = _part(entry, "spec"), _part(entry, "function")
            name = str(spec.get("name") or name)
            make = HANDLERS.get(str(function.get("type") or ""), _other)
            tool: dict[str, Any] = {
                "name": name,
                "description": str(spec.get("description") or name.replace("_", " ")),
            }
            if isinstance(parameters := spec.get("parameters"), Mapping) and parameters:
                tool["parameters"] = parameters
            made.tools.append({**tool, "handler": make(function)})
        except NoTool as none:
            note = none.key, {"name": name, **none.details}
            if replaced_by := none.details.get("tool"):
                made.renamed[name] = replaced_by
                made.taken.append(note)
            else:
                made.left.append(note)


def _part(entry: Any, key: str) -> Mapping[str, Any]:
    part = entry.get(key) if isinstance(entry, Mapping) else None
    if not isinstance(part, Mapping):
        raise NoTool("import_incomplete", part=key)
    return part


def _native(function: Mapping[str, Any]) -> dict[str, Any]:
    name = str(function.get("name") or "")
    if tool := OWN_TOOLS.get(name):
        raise NoTool("import_covered_by", tool=tool)
    return _other({"type": name})


def _other(function: Mapping[str, Any]) -> dict[str, Any]:
    raise NoTool("import_unknown_type", type=str(function.get("type") or "")[:40])


def _template(function: Mapping[str, Any]) -> dict[str, Any]:
    if not function.get("value_template"):
        raise NoTool("import_incomplete", part="value_template")
    return {"type": "template", "value_template": function["value_template"]}


def _script(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return the handler of a script that is one action without a response, or gives a result."""
    steps = function.get("sequence")
    steps = steps if isinstance(steps, list) else [steps]
    step = steps[0] if len(steps) == 1 and isinstance(steps[0], Mapping) else {}
    keys = {str(key) for each in steps if isinstance(each, Mapping) for key in each} - BESIDES
    if (given := step.get("variables")) and keys == {"variables"} and [*given] == [RESULT]:
        return {"type": "template", "value_template": given[RESULT]}
    action = step.get("action") or step.get("service") or step.get("service_template")
    if "response_variable" in keys and (tool := OWN_TOOLS.get(str(action))):
        raise NoTool("import_covered_by", tool=tool)
    unknown = keys - {"action", "service", "service_template", "target", "entity_id", "data", "data_template"}
    if not isinstance(action, str) or unknown:
        raise NoTool("import_step", step=", ".join(sorted(unknown or keys))[:40])
    target = step.get("target") or ({"entity_id": step["entity_id"]} if step.get("entity_id") else None)
    data = step.get("data") or step.get("data_template")
    parts = {"target": target, "data": data}
    return {"type": "service", "action": action} | {key: part for key, part in parts.items() if part}


def _rest(function: Mapping[str, Any]) -> dict[str, Any]:
    url = function.get("resource_template") or function.get("resource")
    if not isinstance(url, str):
        raise NoTool("import_incomplete", part="resource")
    written = function.get("headers")
    headers = dict(written) if isinstance(written, Mapping) else {}
    auth: dict[str, Any] = {}
    if function.get("username"):
        if str(function.get("authentication") or "basic").lower() != "basic":
            raise NoTool("import_unknown_type", type="rest, digest")
        user, password = str(function["username"]), str(function.get("password") or "")
        auth = {"type": "basic", "username": user, "password": password}
    else:
        for name, value in headers.items():
            if str(name).lower() == "authorization" and str(value).lower().startswith(BEARER):
                del headers[name]
                auth = {"type": "bearer", "token": str(value)[len(BEARER) :].strip()}
                break
    payload = function.get("payload_template") or function.get("payload")
    body = {"body": payload}
    types = [name for name in headers if str(name).lower() == "content-type"]
    if all("json" in str(headers[name]).lower() for name in types):
        # JSON stays JSON, so that a quotation mark in an argument cannot break it.
        with suppress(ValueError, TypeError):
            body = {"json": _as_texts(json.loads(payload or ""))}
            for name in types:
                del headers[name]
    method = str(function.get("method") or "GET").upper()
    answer = function.get("value_template")
    seconds = function.get("timeout")
    parts = {
        "url": _ENCODED.sub("", url.strip()),
        "method": method if method != "GET" else None,
        "headers": headers,
        "query": function.get("params"),
        **body,
        "auth": auth,
        "response": {"template": answer} if answer else None,
        "timeout": min(max(seconds, 1), MAX_SECONDS) if isinstance(seconds, (int, float)) else None,
    }
    handler = {"type": "rest"} | {key: part for key, part in parts.items() if part}
    return handler | ({"verify_ssl": False} if function.get("verify_ssl") is False else {})


def _as_texts(value: Any) -> Any:
    """Return JSON whose templates give texts, as they did between quotation marks."""
    if isinstance(value, Mapping):
        return {key: _as_texts(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_as_texts(part) for part in value]
    single = SINGLE.fullmatch(value) if isinstance(value, str) else None
    return f"{{{{ ({single[1].strip()}) | string }}}}" if single else value


HANDLERS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "native": _native,
    "predefined": _native,
    "rest": _rest,
    "script": _script,
    "template": _template,
}
"""The types that become tools, and those that were built in."""


OPENAI_URL: Final = "https://api.openai.com/v1"
SUBENTRY: Final = "conversation"
"""Newer releases keep each agent in a subentry of this type."""

OPTIONS: Final[Mapping[str, tuple[str, Any]]] = {
    "temperature": (const.CONF_TEMPERATURE, None),
    "top_p": (const.CONF_TOP_P, None),
    "reasoning_effort": (const.CONF_REASONING_EFFORT, None),
    "max_tokens": (const.CONF_MAX_TOKENS, 150),
    "context_threshold": (const.CONF_MAX_CONTEXT_TOKENS, 13_000),
}
"""Its options, ours, and its default if that differs from an unset option."""

RENAMED: Final[Mapping[str, str]] = {
    "user_input.text": "user_message",
    "user_input.device_id": "current_device_id",
}
"""Variables of its prompt that have another name here."""
UNCHANGED: Final = frozenset(
    {
        "fbce695d5490c604014c12d6b626c62dbe5223d51f63067a756ed60bd040b737",
        "f0c394961da74511cad7af0e7c1e80271a764b99df3fd51642947e79f2211812",
    }
)
"""Digests of its default prompts."""
_SPACE = lazy_regex(r"\s+")


@dataclass(frozen=True, slots=True)
class OldAgent:
    """One agent as it is stored."""

    id: str
    title: str
    data: Mapping[str, Any]
    options: Mapping[str, Any]


@callback
def old_agents(hass: HomeAssistant) -> list[OldAgent]:
    """Return the agents that can be imported: one of each entry, or each of its subentries."""
    found = []
    for entry in hass.config_entries.async_entries(const.EXTENDED_OPENAI, include_ignore=False):
        parts = [part for part in entry.subentries.values() if part.subentry_type == SUBENTRY]
        found += [OldAgent(part.subentry_id, part.title, entry.data, part.data) for part in parts]
        if not parts:
            found.append(OldAgent(entry.entry_id, entry.title, entry.data, entry.options))
    return found


@callback
def async_import(hass: HomeAssistant, old: OldAgent) -> Imported:
    """Return the import of an old agent."""
    organization = old.data.get("organization")
    connection = {
        const.CONF_NAME: old.title,
        const.CONF_BASE_URL: old.data.get("base_url") or OPENAI_URL,
        const.CONF_API_KEY: old.data.get("api_key"),
        const.CONF_DIALECT: Dialect.AZURE if old.data.get("api_provider") == "azure" else None,
        const.CONF_PROXY_HEADERS: f"OpenAI-Organization: {organization}" if organization else None,
        const.CONF_AZURE_API_VERSION: old.data.get("api_version"),
    }
    filled = {key: value for key, value in connection.items() if value}
    made = Imported(old.id, filled, str(old.options.get("chat_model") or ""))
    convert(made, str(old.options.get("functions") or ""))
    if old.options.get("skills"):
        made.left.append(("import_skills", {}))
    fields = {field.key: field for page in PAGES.values() for field in page}
    for name, (key, unchosen) in OPTIONS.items():
        value = old.options.get(name)
        if value in (None, "", unchosen):
            continue
        try:
            checked = check((fields[key],), {key: probatio.Schema(fields[key].selector)(value)}, {})
        except probatio.Invalid, TypeError, ValueError:
            checked = Checked({}, {key: "invalid"}, {})
        if checked.errors:
            made.left.append(("import_option", {"option": name, "value": str(value)[:40]}))
        made.options |= {key: value for key, value in checked.values.items() if value != DEFAULTS.get(key)}
    if made.options:
        shown = ", ".join(f"`{key}: {value}`" for key, value in made.options.items())
        made.taken.append(("import_options", {"options": shown}))
    prompt = str(old.options.get("prompt") or "").strip()
    if not prompt or sha256(_SPACE.sub("", prompt).encode()).hexdigest() in UNCHANGED:
        return made
    for former, new in {**RENAMED, **made.renamed}.items():
        if "_" in former:  # an everyday word stays
            prompt = re.sub(rf"(?<!\w){re.escape(former)}(?!\w)", new, prompt)
    exposed = [
        {"entity_id": state.entity_id, "name": state.name, "state": state.state, "aliases": []}
        for state in hass.states.async_all()
        if async_should_expose(hass, ASSISTANT, state.entity_id)
    ]
    variables = {
        "user_message": "",
        "current_device_id": None,
        "ha_name": hass.config.location_name,
        "exposed_entities": exposed,
    }
    try:
        render(hass, prompt, variables)
    except (TemplateError, RecursionError) as err:
        made.left.append(("import_prompt_broken", {"error": str(err)[:MAX_ERROR]}))
    else:
        made.options |= {const.CONF_PROMPT_USE_DEFAULT: False, const.CONF_PROMPT_CUSTOM: prompt}
        made.taken.append(("import_prompt", {}))
    return made


FILE: Final = "home_agent_import"
HEADER: Final = "# Custom tools of Home Agent, made of the functions of Extended OpenAI Conversation.\n"


async def async_save(hass: HomeAssistant, made: Imported, title: str) -> None:
    """Write the file of the tools that work, and leave a notification that says what came over."""
    known = hass.data.get(DATA_CUSTOM_TOOLS) or CustomTools()
    taken = {*NATIVE, *(recipe.name for recipe in known.known())}
    kept = []
    for tool in made.tools:
        if problems := async_problems(hass, tool, taken):
            made.left.append(("import_wrong", {"name": tool["name"], "problems": "; ".join(problems)}))
        else:
            kept.append(tool)
            taken.add(tool["name"])
    made.tools, file = kept, ""
    if made.tools:
        folder = Path(hass.config.config_dir)
        text = HEADER + str(yaml_util.dump({CONF_CUSTOM_TOOLS: made.tools}))
        try:
            file = await hass.async_add_executor_job(_write, folder, text)
        except OSError as err:
            LOGGER.warning("The imported tools could not be written: %s", err)
            problem = {"name": f"{FILE}.yaml", "problems": err.strerror or type(err).__name__}
            made.tools, made.left = [], [*made.left, ("import_wrong", problem)]
    phrase = partial(async_phrase, hass, await async_language(hass))
    connection = "import_connection", {"url": made.connection[const.CONF_BASE_URL]}
    tools = [("import_tool", {"name": tool["name"]}) for tool in made.tools]
    lines = []
    for heading, notes in (("import_taken", [connection, *made.taken, *tools]), ("import_left", made.left)):
        if notes:
            lines += [f"**{await phrase(heading)}**", ""]
            lines += [without_embeds(f"- {await phrase(key, **details)}") for key, details in notes]
            lines.append("")
    if file:
        lines += [
            await phrase("import_file", file=file),
            f"\n```yaml\n{DOMAIN}: !include {file}\n```\n",
            await phrase("import_merge"),
        ]
    message = "\n".join([*lines, await phrase("import_next")])
    persistent_notification.async_create(hass, message, title, f"{DOMAIN}_import_{made.old_id}")


def _write(folder: Path, text: str) -> str:
    """Write a new file, never over one that is there, and return its name. Raises OSError."""
    for number in count(1):
        name = f"{FILE}{f'_{number}' if number > 1 else ''}.yaml"
        with suppress(FileExistsError), (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)
            return name
    raise AssertionError
