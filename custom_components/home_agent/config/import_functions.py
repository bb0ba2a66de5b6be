"""Functions of Extended OpenAI Conversation as custom tools, or why they cannot be converted."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
import json
from typing import Any, Final

import yaml

from ..regex import lazy_regex
from ..tools.custom.checks import SINGLE

MAX_TEXT: Final = 200_000
"""Characters of the text that holds the functions."""

NATIVE: Final[Mapping[str, str]] = {
    "execute_service": "ha_control",
    "execute_service_single": "ha_control",
    "get_state": "ha_query",
    "get_states": "ha_query",
    "get_history": "ha_query",
    "get_statistics": "ha_query",
    "get_energy": "energy",
    "add_automation": "automation",
}
"""Functions that were built in, and which tool of ours does the same."""
ANSWERING: Final[Mapping[str, str]] = {
    "calendar.get_events": "calendar",
    "calendar.list_events": "calendar",
    "todo.get_items": "todo_list",
    "weather.get_forecast": "weather",
    "weather.get_forecasts": "weather",
}
"""Actions whose response was the function's result, and our tools with the same result."""
REASONS: Final[Mapping[str, str]] = {
    "get_user_from_user_id": "import_speaker",
    "bash": "import_no_programs",
    "composite": "import_composite",
    "file": "import_no_programs",
    "scrape": "import_scrape",
    "sqlite": "import_sqlite",
}
"""Messages about functions and types that do not become a tool."""

RESULT: Final = "_function_result"
"""The variable of a script that held the function's answer."""
BESIDES: Final = frozenset({"alias", "continue_on_error", "enabled", "metadata"})
"""Keys of a step that do not define its action."""
BEARER: Final = "bearer "
MAX_SECONDS: Final = 120
_ENCODED = lazy_regex(r"(?<!\s)\s*\|\s*url_?encode(?:\s*\(\s*\))?(?=[^{]*\}\})")


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence of the report: its translation key and its placeholders."""

    key: str
    details: Mapping[str, str]


class NoTool(Exception):
    """Says why a function becomes no tool."""

    def __init__(self, key: str, /, *, covered: bool = False, **details: str) -> None:
        """Take the reason; `covered` if nothing is lost."""
        super().__init__(key)
        self.note = Note(key, details)
        self.covered = covered


@dataclass(slots=True)
class Functions:
    """What becomes of an agent's functions."""

    tools: list[dict[str, Any]] = field(default_factory=list)
    """The tools in the form of `custom_tools`."""
    covered: list[Note] = field(default_factory=list)
    left: list[Note] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    """Names of functions that our own tools replace."""


def read_functions(text: str) -> list[Any]:
    """Return the functions of a text of YAML. Raises ValueError for anything else."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"more than {MAX_TEXT} characters")
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as err:
        raise ValueError(" ".join(str(err).split())) from err
    if found is not None and not isinstance(found, list):
        raise ValueError("no list")
    return found or []


def convert(functions: Iterable[Any]) -> Functions:
    """Return the tools made of functions, and messages about the others."""
    done = Functions()
    for number, entry in enumerate(functions, 1):
        name = f"#{number}"
        try:
            spec, function = _part(entry, "spec"), _part(entry, "function")
            name = str(spec.get("name") or name)
            done.tools.append(_tool(name, spec, _handler(function)))
        except NoTool as none:
            said = Note(none.note.key, {"name": name, **none.note.details})
            (done.covered if none.covered else done.left).append(said)
            if tool := none.note.details.get("tool"):
                done.renamed[name] = tool
    return done


def _part(entry: Any, key: str) -> Mapping[str, Any]:
    """Return one half of a function."""
    part = entry.get(key) if isinstance(entry, Mapping) else None
    if not isinstance(part, Mapping):
        raise NoTool("import_incomplete", part=key)
    return part


def _tool(name: str, spec: Mapping[str, Any], handler: dict[str, Any]) -> dict[str, Any]:
    """Return a tool as it is written."""
    tool = {"name": name, "description": str(spec.get("description") or name.replace("_", " "))}
    parameters = spec.get("parameters")
    shown = {"parameters": parameters} if isinstance(parameters, Mapping) and parameters else {}
    return {**tool, **shown, "handler": handler}


def _handler(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return the handler of a function. Raises NoTool."""
    kind = str(function.get("type") or "")
    if make := HANDLERS.get(kind):
        return make(function)
    if kind in REASONS:
        raise NoTool(REASONS[kind])
    raise NoTool("import_unknown_type", type=kind[:40])


def _native(function: Mapping[str, Any]) -> dict[str, Any]:
    """Report which tool of ours replaces a built-in function."""
    name = str(function.get("name") or "")
    if tool := NATIVE.get(name):
        raise NoTool("import_covered_by", covered=True, tool=tool)
    if reason := REASONS.get(name):
        raise NoTool(reason, covered=reason == "import_speaker")
    raise NoTool("import_unknown_type", type=name[:40])


def _template(function: Mapping[str, Any]) -> dict[str, Any]:
    if not function.get("value_template"):
        raise NoTool("import_incomplete", part="value_template")
    return {"type": "template", "value_template": function["value_template"]}


def _script(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one action of a script, or the one value that it works out."""
    steps = function.get("sequence")
    steps = steps if isinstance(steps, list) else [steps]
    if len(steps) != 1:
        raise NoTool("import_steps")
    step = steps[0] if isinstance(steps[0], Mapping) else {}
    keys = [str(key) for key in step if key not in BESIDES]
    if keys == ["variables"] and isinstance(step["variables"], Mapping) and [*step["variables"]] == [RESULT]:
        return {"type": "template", "value_template": step["variables"][RESULT]}
    action = next((step[key] for key in ("action", "service", "service_template") if key in step), None)
    if not isinstance(action, str):
        raise NoTool("import_step", step=", ".join(keys)[:40])
    return _service(action, step, keys)


def _service(action: str, step: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """Return one action with its targets and data."""
    if "response_variable" in step:
        if tool := ANSWERING.get(action):
            raise NoTool("import_covered_by", covered=True, tool=tool)
        raise NoTool("import_answer", action=action[:60])
    known = {"action", "service", "service_template", "target", "entity_id", "data", "data_template"}
    if others := [key for key in keys if key not in known]:
        raise NoTool("import_step", step=", ".join(others)[:40])
    target = step.get("target") or ({"entity_id": step["entity_id"]} if step.get("entity_id") else None)
    data = step.get("data") or step.get("data_template")
    parts = {"target": target, "data": data}
    return {"type": "service", "action": action} | {key: part for key, part in parts.items() if part}


def _rest(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request."""
    url = function.get("resource_template") or function.get("resource")
    if not isinstance(url, str):
        raise NoTool("import_incomplete", part="resource")
    headers, auth = _credentials(function)
    method = str(function.get("method") or "GET").upper()
    answer = function.get("value_template")
    seconds = function.get("timeout")
    parts = {
        "url": _ENCODED.sub("", url.strip()),
        "method": method if method != "GET" else None,
        "headers": headers,
        "query": function.get("params"),
        **_body(function, headers),
        "auth": auth,
        "response": {"template": answer} if answer else None,
        "timeout": min(max(seconds, 1), MAX_SECONDS) if isinstance(seconds, (int, float)) else None,
    }
    handler = {"type": "rest"} | {key: part for key, part in parts.items() if part}
    return handler | ({"verify_ssl": False} if function.get("verify_ssl") is False else {})


def _body(function: Mapping[str, Any], headers: dict[str, Any]) -> dict[str, Any]:
    """Return the body; JSON stays JSON, so that a quotation mark in an argument cannot break it."""
    payload = function.get("payload_template") or function.get("payload")
    types = [name for name in headers if str(name).lower() == "content-type"]
    if all("json" in str(headers[name]).lower() for name in types):
        try:
            found = json.loads(payload or "")
        except ValueError, TypeError:
            return {"body": payload}
        for name in types:
            del headers[name]
        return {"json": _as_texts(found)}
    return {"body": payload}


def _as_texts(value: Any) -> Any:
    """Return JSON whose templates give texts, as they did between quotation marks."""
    if isinstance(value, Mapping):
        return {key: _as_texts(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_as_texts(part) for part in value]
    single = SINGLE.fullmatch(value) if isinstance(value, str) else None
    return f"{{{{ ({single[1].strip()}) | string }}}}" if single else value


def _credentials(function: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the headers without the API key, and where that key belongs. Raises NoTool."""
    written = function.get("headers")
    headers = dict(written) if isinstance(written, Mapping) else {}
    if function.get("username"):
        if str(function.get("authentication") or "basic").lower() != "basic":
            raise NoTool("import_digest")
        user, password = str(function["username"]), str(function.get("password") or "")
        return headers, {"type": "basic", "username": user, "password": password}
    for name, value in headers.items():
        if str(name).lower() == "authorization" and str(value).lower().startswith(BEARER):
            del headers[name]
            return headers, {"type": "bearer", "token": str(value)[len(BEARER) :].strip()}
    return headers, {}


HANDLERS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "native": _native,
    "predefined": _native,
    "rest": _rest,
    "script": _script,
    "template": _template,
}
"""The types that become tools, and those that were built in."""
