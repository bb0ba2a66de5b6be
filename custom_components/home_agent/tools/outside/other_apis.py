"""Tools of other LLM APIs: named so that every server accepts them, and known for what they are."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
import json
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util import slugify

from ...const import DOMAIN, LOGGER
from ...issues import report, withdraw
from ...regex import lazy_regex
from ...safety.firewall import firewall
from ...safety.firewall.firewall import LOOKALIKES
from ...texts import clean, fold_letters, quoted
from ..base import HomeAgentTool
from ..intents import CALL_ANYTHING, CORE, OtherTool, inner_name, inner_tool
from ..native import NATIVE

MAX_TOOL_NAME: Final = 128
MAX_DESCRIPTION: Final = 1_000
MAX_PROMPT: Final = 4_000
MAX_SCHEMA: Final = 8_000
MAX_DEPTH: Final = 20
MAX_KEPT: Final = 4_000
"""Texts of tools that are not read again on each turn."""
ISSUE: Final = "foreign_tools"
SPOKEN: Final = frozenset({"description", "title", "$comment"})
"""Keys of a schema that contain sentences."""
LIKE_LETTERS: Final = str.maketrans("013457$@", "oieastsa")
_NO_LETTERS: Final = lazy_regex(r"[\W_]+")
_CAMEL: Final = lazy_regex(r"(?<=[a-z])(?=[A-Z])|[_\-.:/]+")


type Function = Mapping[str, Any]
"""A tool as a request carries it: `name`, `description`, `parameters`."""


async def async_sanitize(hass: HomeAssistant, functions: Sequence[Function]) -> list[Function | None]:
    """Return functions cleaned for the model, in the same order; None for those that are refused."""
    if not functions:
        return []
    return await hass.async_add_executor_job(lambda: [*map(sanitize, functions)])


@lru_cache(MAX_KEPT)
def _cleaned(text: str) -> firewall.Cleaned:
    """Return a text cleaned. "Opens the door" is what a tool does, and no order."""
    return firewall.clean(text, describes=True)


@callback
def async_report_refused(hass: HomeAssistant, of: str, name: str, refused: Iterable[str]) -> None:
    """Report which tools are left out; `of` is the id of their server."""
    issue_id = f"{ISSUE}_{of}"
    if not (names := ", ".join(quoted(tool, MAX_TOOL_NAME) for tool in refused)):
        withdraw(hass, issue_id)
        return
    report(hass, issue_id, ISSUE, name=name, tools=names[:MAX_DESCRIPTION])


def sanitize(function: Function) -> Function | None:
    """Return a function with a cleaned description; None for one whose names give orders."""
    names = [function["name"], *_names(function.get("parameters"))]
    if not all(map(_is_plain, names)):
        return None
    cleaned = {**function, "parameters": _schema(function.get("parameters"))}
    if "description" in function:
        cleaned["description"] = _cleaned(clean(str(function["description"]), MAX_DESCRIPTION)).value
    if len(json.dumps(cleaned["parameters"], default=str)) > MAX_SCHEMA:
        cleaned["parameters"] = _bare(cleaned["parameters"])
        if len(json.dumps(cleaned["parameters"], default=str)) > MAX_SCHEMA:
            return None
    return cleaned


def imitates(name: str, own: Iterable[str]) -> bool:
    """Return whether a name is one of our own, or may be taken for one."""
    return _letters(name) in {_letters(one) for one in own}


def _schema(node: Any, depth: int = MAX_DEPTH, key: str = "") -> Any:
    if isinstance(node, str):
        is_spoken = key in SPOKEN or not _is_plain(node)
        return _cleaned(clean(node, MAX_DESCRIPTION)).value if is_spoken else node
    if isinstance(node, Mapping) and depth:
        return {name: _schema(item, depth - 1, str(name)) for name, item in node.items()}
    if isinstance(node, list | tuple) and depth:
        return [_schema(item, depth - 1) for item in node]
    return node if isinstance(node, bool | int | float) or node is None else {}


def _bare(node: Any) -> Any:
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
    return len(name) <= MAX_TOOL_NAME and not _cleaned(_CAMEL.sub(" ", name)).found


def _letters(name: str) -> str:
    """Return a folded name: without case, marks and gaps, and with letters in place of look-alike digits."""
    return _NO_LETTERS.sub("", fold_letters(name)).translate(LOOKALIKES).translate(LIKE_LETTERS)


MAX_NAME = 64
GET_SECONDS = 10
NO_PROMPT = frozenset({llm.LLM_API_ASSIST})
"""APIs whose prompt tells what our catalogue tells already."""

_NOT_ALLOWED = lazy_regex(r"[^a-zA-Z0-9_-]")


async def async_instances(
    hass: HomeAssistant, api_ids: Sequence[str], llm_context: llm.LLMContext
) -> list[llm.APIInstance]:
    """Return the APIs that can be had; one that cannot costs its tools and no turn."""
    wanted = [api_id for api_id in dict.fromkeys(api_ids) if api_id.split("|")[0] != DOMAIN]

    async def instance(api_id: str) -> llm.APIInstance | None:
        try:
            async with asyncio.timeout(GET_SECONDS):
                return await llm.async_get_api(hass, api_id, llm_context)
        except (HomeAssistantError, TimeoutError) as err:
            LOGGER.info("The LLM API %s cannot be used now: %s", api_id, str(err) or type(err).__name__)
        except Exception:  # noqa: BLE001 - somebody else's code must not end the turn
            LOGGER.exception("The LLM API %s failed", api_id)
        return None

    instances = await asyncio.gather(*map(instance, wanted))
    return [each for each in instances if each is not None]


@callback
def named_tools(
    instances: Iterable[llm.APIInstance], taken: Iterable[str]
) -> list[tuple[OtherTool, llm.APIInstance]]:
    """Return the tools of several APIs, each under a name of its own, the same on every turn.

    A name that is taken, or may be taken for one of ours, gets the id of its API in front; one that is too
    long is cut and marked. The names of native tools are taken also where these are not offered.
    The tool that calls anything is left out.
    """
    own = {*taken, *NATIVE}
    used = set(own)
    named = []
    for instance in instances:
        for tool in instance.tools:
            if inner_name(tool) == CALL_ANYTHING:
                continue
            name = wire_name(tool.name)
            if name in used or imitates(name, own):
                name = wire_name(f"{slugify(instance.api.id)}__{tool.name}")
            if name in used:
                continue
            used.add(name)
            named.append((OtherTool(name, tool, instance.api.id), instance))
    return named


def wire_name(name: str) -> str:
    """Return a name that every server accepts; two names that were cut still differ."""
    plain = _NOT_ALLOWED.sub("_", name)
    if len(plain) <= MAX_NAME and plain:
        return plain
    mark = blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{plain[: MAX_NAME - len(mark) - 1]}_{mark}"


async def async_prompts(hass: HomeAssistant, instances: Iterable[llm.APIInstance]) -> str:
    """Return the APIs' descriptions of their tools, without instructions that steer the model."""
    told = [each for each in instances if is_foreign(each) and each.api_prompt.strip()]
    prompts = [each.api_prompt.strip()[:MAX_PROMPT] for each in told]
    cleaned = await hass.async_add_executor_job(lambda: [*map(_cleaned, prompts)]) if prompts else []
    pairs = zip(told, cleaned, strict=True)
    return "\n".join(f"About the tools of {each.api.name}:\n{text.value}" for each, text in pairs)


def is_foreign(instance: llm.APIInstance) -> bool:
    """Return whether the tool descriptions of an API come from outside Home Assistant."""
    return instance.api.id not in NO_PROMPT


def source_of(tool: llm.Tool) -> str | None:
    """Return the server, or the LLM API, that a tool asks; None if nothing of a call leaves the home.

    Of other APIs intents and scripts stay, and tools whose own code says that they do. A tool that a server
    describes has nothing but the server's word.
    """
    if isinstance(tool, HomeAgentTool):
        return tool.source
    inner = inner_tool(tool)
    if isinstance(inner, llm.IntentTool) or (
        isinstance(inner, llm.ActionTool) and getattr(inner, "_domain", "") == "script"
    ):
        return None
    kind = type(inner)
    written = any("annotations" in vars(one) for one in kind.__mro__ if one is not llm.Tool)
    if written and (kind.__module__.startswith(CORE) or not kind.annotations.open_world):
        return None
    return f"api:{tool.namespace if isinstance(tool, OtherTool) else inner.integration}"
