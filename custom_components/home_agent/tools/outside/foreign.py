"""Descriptions of third-party tools, cleaned and limited in length before they enter a prompt."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import json
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback

from ...issues import report, withdraw
from ...regex import lazy_regex
from ...safety.firewall import firewall
from ...safety.firewall.text import LOOKALIKES
from ...texts import clean, fold_letters, quoted

MAX_NAME: Final = 128
MAX_DESCRIPTION: Final = 1_000
MAX_PROMPT: Final = 4_000
MAX_SCHEMA: Final = 8_000
MAX_DEPTH: Final = 20
MAX_KEPT: Final = 1_000
ISSUE: Final = "foreign_tools"
SPOKEN: Final = frozenset({"description", "title", "$comment"})
"""Keys of a schema that contain sentences."""
LIKE_LETTERS: Final = str.maketrans("013457$@", "oieastsa")
_NO_LETTERS: Final = lazy_regex(r"[\W_]+")
_CAMEL: Final = lazy_regex(r"(?<=[a-z])(?=[A-Z])|[_\-.:/]+")


@dataclass(frozen=True, slots=True)
class SanitizedSchema:
    """A tool schema that a request may carry; None if the tool is refused."""

    function: Mapping[str, Any] | None


_judged: Final[OrderedDict[str, SanitizedSchema]] = OrderedDict()


async def async_sanitize(
    hass: HomeAssistant, functions: Sequence[Mapping[str, Any]]
) -> list[SanitizedSchema]:
    """Return functions (`name`, `description`, `parameters`) cleaned for the model, in the same order.

    Known functions are cached; the firewall reads new ones in a worker thread.
    """
    keys = [json.dumps(function, sort_keys=True, default=str) for function in functions]
    new = {key: function for key, function in zip(keys, functions, strict=True) if key not in _judged}
    if new:
        found = await hass.async_add_executor_job(lambda: [sanitize(function) for function in new.values()])
        _judged.update(zip(new, found, strict=True))
    told = [_judged[key] for key in keys]
    for key in dict.fromkeys(keys):
        _judged.move_to_end(key)
    while len(_judged) > max(MAX_KEPT, len(keys)):
        _judged.popitem(last=False)
    return told


async def async_sanitize_text(hass: HomeAssistant, text: str) -> str:
    """Return an API's description of its tools, cleaned for a prompt."""
    if (known := _judged.get(text)) is None:
        cut = text.strip()[:MAX_PROMPT]
        cleaned = await hass.async_add_executor_job(lambda: firewall.clean(cut, describes=True))
        known = _judged[text] = SanitizedSchema({"description": str(cleaned.value)})
    assert known.function is not None
    return str(known.function["description"])


@callback
def async_report_refused(hass: HomeAssistant, of: str, name: str, refused: Iterable[str]) -> None:
    """Report which tools are left out; `of` is the id of their server."""
    issue_id = f"{ISSUE}_{of}"
    if not (names := ", ".join(quoted(tool, MAX_NAME) for tool in refused)):
        withdraw(hass, issue_id)
        return
    report(hass, issue_id, ISSUE, name=name, tools=names[:MAX_DESCRIPTION])


def sanitize(function: Mapping[str, Any]) -> SanitizedSchema:
    """Return a function with a cleaned description; one whose names give orders is refused."""
    names = [function["name"], *_names(function.get("parameters"))]
    if not all(map(_is_plain, names)):
        return SanitizedSchema(None)
    told = {**function}
    if "description" in function:
        told["description"] = _text(str(function["description"]), MAX_DESCRIPTION)
    told["parameters"] = _schema(function.get("parameters"))
    if len(json.dumps(told["parameters"], default=str)) > MAX_SCHEMA:
        told["parameters"] = _bare(told["parameters"])
        if len(json.dumps(told["parameters"], default=str)) > MAX_SCHEMA:
            return SanitizedSchema(None)
    return SanitizedSchema(told)


def imitates(name: str, own: Iterable[str]) -> bool:
    """Return whether a name is one of our own, or may be taken for one."""
    return _letters(name) in {_letters(one) for one in own}


def _text(text: str, limit: int) -> str:
    """Return a text on one line, cleaned and cut. "Opens the door" is what a tool does, and no order."""
    return str(firewall.clean(clean(text, limit), describes=True).value)


def _schema(node: Any, depth: int = MAX_DEPTH, key: str = "") -> Any:
    if isinstance(node, str):
        return _text(node, MAX_DESCRIPTION) if key in SPOKEN or not _is_plain(node) else node
    if isinstance(node, Mapping) and depth:
        return {name: _schema(item, depth - 1, str(name)) for name, item in node.items()}
    if isinstance(node, list | tuple) and depth:
        return [_schema(item, depth - 1) for item in node]
    return node if isinstance(node, bool | int | float) or node is None else {}


def _bare(node: Any) -> Any:
    """Return a schema without its sentences."""
    if isinstance(node, Mapping):
        return {
            name: _bare(item)
            for name, item in node.items()
            if name not in SPOKEN or not isinstance(item, str)
        }
    return [_bare(item) for item in node] if isinstance(node, list) else node


def _names(node: Any, depth: int = MAX_DEPTH) -> Iterable[str]:
    if isinstance(node, Mapping) and depth:
        for key, item in node.items():
            yield str(key)
            yield from _names(item, depth - 1)
    elif isinstance(node, list) and depth:
        for item in node:
            yield from _names(item, depth - 1)


def _is_plain(name: str) -> bool:
    return len(name) <= MAX_NAME and not firewall.clean(_CAMEL.sub(" ", name), describes=True).found


def _letters(name: str) -> str:
    """Return a folded name: without case, marks and gaps, and with letters in place of look-alike digits."""
    return _NO_LETTERS.sub("", fold_letters(name)).translate(LOOKALIKES).translate(LIKE_LETTERS)
