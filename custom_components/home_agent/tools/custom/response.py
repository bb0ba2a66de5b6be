"""What of an answer reaches the model: all of it, a part by its path, or what a template makes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import probatio

from homeassistant.util.json import json_loads

from ...errors import ToolExecutionError
from ...regex import lazy_regex
from .checks import TEXT, Templates, Text, Variables
from .http import HttpAnswer

FORMATS: Final = ("auto", "json", "text")
EXTRA: Final = ("value", "value_json", "status")
"""What a template of the answer has besides the arguments."""
_STEP = lazy_regex(r"\.?([^.\[\]]+)|\[(-?\d{1,6}|\*)\]|\[['\"]([^'\"]+)['\"]\]")
_READABLE: Final = (
    "text/",
    "application/json",
    "application/xml",
    "application/yaml",
    "application/javascript",
)

type PathStep = str | int | None
"""A key, an index, or None for each item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReader:
    """How an answer is read."""

    kind: str
    path: Sequence[PathStep]
    written: str
    template: Text | None

    def read(self, answer: HttpAnswer, variables: Variables) -> Any:
        """Return the value for the model. Raises ToolExecutionError if the answer cannot be read."""
        needs_json = self.kind == "json" or bool(self.path)
        if self.kind != "text":
            _check_type(answer, needs_json=needs_json)
        found = None if self.kind == "text" else _parsed(answer)
        if found is _NOT_JSON and needs_json:
            too_long = "is longer than is read" if answer.cut else "is not valid JSON"
            raise ToolExecutionError(f"The server's answer {too_long}")
        if self.template is not None:
            extra = {"value": answer.text, "status": answer.status}
            if found is not _NOT_JSON and self.kind != "text":
                extra["value_json"] = found
            return self.template.value({**variables, **extra})
        if self.path:
            return _follow(found, self.path, self.written)
        return answer.text if self.kind == "text" or found is _NOT_JSON else found


_NOT_JSON: Final = object()


def _path(written: str) -> tuple[str, list[PathStep]]:
    """Return a path such as `$.items[0].name` as it is written, and its steps."""
    text = written.strip().removeprefix("$")
    steps: list[PathStep] = []
    position = 0
    while position < len(text) and (match := _STEP.match(text, position)):
        name, index, quoted = match.groups()
        steps.append((name or quoted) if index is None else (None if index == "*" else int(index)))
        position = match.end()
    if not steps or position < len(text):
        raise probatio.Invalid("not a path such as items[0].name or items[*].name")
    return written, steps


def _one_way(response: dict[str, Any]) -> dict[str, Any]:
    if {"path", "template"} <= response.keys():
        raise probatio.Invalid("path and template exclude each other", ["template"])
    return response


RESPONSE: Final = probatio.All(
    {
        probatio.Alias("path", "json_path"): probatio.All(TEXT, _path),
        probatio.Alias("template", "value_template"): TEXT,
        probatio.Optional("format", default="auto"): probatio.In(FORMATS),
    },
    _one_way,
)


def read_response(config: Mapping[str, Any], templates: Templates) -> ResponseReader:
    """Return how a tool wants its answers read."""
    written, path = config.get("path", ("", ()))
    source = config.get("template")
    template = templates.text(source, "response", "template", extra=EXTRA) if source else None
    return ResponseReader(kind=config["format"], path=path, written=written, template=template)


def _check_type(answer: HttpAnswer, *, needs_json: bool) -> None:
    kind = answer.content_type
    if kind in ("text/html", "application/xhtml+xml"):
        raise ToolExecutionError("The server answered with a web page instead of data")
    readable = kind.startswith(_READABLE) or kind.endswith(("+json", "+xml", "+yaml"))
    # aiohttp says octet-stream where the server says nothing.
    if not readable and not (needs_json and kind == "application/octet-stream"):
        raise ToolExecutionError("The server answered with content that is neither JSON nor text")


def _parsed(answer: HttpAnswer) -> Any:
    if answer.cut:
        return _NOT_JSON
    try:
        return json_loads(answer.text)
    except ValueError:
        return _NOT_JSON


def _follow(value: Any, steps: Sequence[PathStep], written: str) -> Any:
    """Return the value of a path. Raises ToolExecutionError if there is none."""
    for number, step in enumerate(steps):
        if step is None and isinstance(value, list):
            rest = steps[number + 1 :]
            return [_follow(item, rest, written) for item in value]
        value = _step(value, step)
        if value is _NOT_JSON:
            raise ToolExecutionError(f"The server's answer holds no {written}")
    return value


def _step(value: Any, step: PathStep) -> Any:
    if isinstance(value, dict):
        return value.get(str(step), _NOT_JSON)
    if isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
        return value[step]
    return _NOT_JSON
