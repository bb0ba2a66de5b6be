"""An agent of Extended OpenAI Conversation as one of ours: connection, options, prompt and functions.

Nothing of the old agent is changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from jinja2 import TemplateError as SyntaxProblem
from jinja2.meta import find_undeclared_variables

from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import TemplateError
from homeassistant.helpers.template import TemplateEnvironment

from ..agent.prompt import render
from ..const import (
    CONF_API_KEY,
    CONF_AZURE_API_VERSION,
    CONF_BASE_URL,
    CONF_DIALECT,
    CONF_MAX_CONTEXT_TOKENS,
    CONF_MAX_TOKENS,
    CONF_NAME,
    CONF_PROMPT_CUSTOM,
    CONF_PROMPT_USE_DEFAULT,
    CONF_PROXY_HEADERS,
    CONF_REASONING_EFFORT,
    CONF_TEMPERATURE,
    CONF_TOOLS_MAX_CALLS,
    CONF_TOP_P,
    DEFAULTS,
    EXTENDED_OPENAI,
)
from ..inference.models import Dialect
from ..regex import lazy_regex
from .fields import Checked, check
from .import_functions import Functions, Note, convert, read_functions
from .schemas import PAGES

OPENAI_URL: Final = "https://api.openai.com/v1"
SUBENTRY: Final = "conversation"
"""Newer releases keep each agent in a subentry of this type."""

OPTIONS: Final[Mapping[str, tuple[str, Any]]] = {
    "temperature": (CONF_TEMPERATURE, None),
    "top_p": (CONF_TOP_P, None),
    "reasoning_effort": (CONF_REASONING_EFFORT, None),
    "max_tokens": (CONF_MAX_TOKENS, 150),
    "context_threshold": (CONF_MAX_CONTEXT_TOKENS, 13_000),
    "max_function_calls_per_conversation": (CONF_TOOLS_MAX_CALLS, 1),
}
"""Its options, ours, and its default if that differs from an unset option."""
RAISED_TO_OURS: Final = frozenset({CONF_TOOLS_MAX_CALLS})
"""Limits that count something smaller here, so that a lower one would end too early."""

VARIABLES: Final = ("user_message", "current_device_id", "ha_name", "exposed_entities")
RENAMED: Final[Mapping[str, str]] = {
    "user_input.text": "user_message",
    "user_input.device_id": "current_device_id",
}
"""Variables of its prompt that have another name here."""
MOVING: Final = ("now()", "states(", ".state")
"""What makes a prompt new text in every turn."""
UNCHANGED: Final = frozenset(
    {
        "fbce695d5490c604014c12d6b626c62dbe5223d51f63067a756ed60bd040b737",
        "f0c394961da74511cad7af0e7c1e80271a764b99df3fd51642947e79f2211812",
    }
)
"""Digests of its default prompts."""
MAX_ERROR: Final = 200
_SPACE = lazy_regex(r"\s+")
_WORD = lazy_regex(r"\w+")


@dataclass(frozen=True, slots=True)
class OldAgent:
    """One agent as it is stored."""

    id: str
    title: str
    data: Mapping[str, Any]
    options: Mapping[str, Any]


@dataclass(slots=True)
class Imported:
    """The result of the import, before anything is stored."""

    old_id: str
    connection: dict[str, Any]
    model: str
    options: dict[str, Any] = field(default_factory=dict)
    functions: Functions = field(default_factory=Functions)
    taken: list[Note] = field(default_factory=list)
    left: list[Note] = field(default_factory=list)
    file: str = ""
    """Where the tools are to be written."""


@callback
def old_agents(hass: HomeAssistant) -> list[OldAgent]:
    """Return the agents that can be imported: one of each entry, or each of its subentries."""
    found = []
    for entry in hass.config_entries.async_entries(EXTENDED_OPENAI, include_ignore=False):
        parts = [part for part in entry.subentries.values() if part.subentry_type == SUBENTRY]
        found += [OldAgent(part.subentry_id, part.title, entry.data, part.data) for part in parts]
        if not parts:
            found.append(OldAgent(entry.entry_id, entry.title, entry.data, entry.options))
    return found


@callback
def async_import(hass: HomeAssistant, old: OldAgent) -> Imported:
    """Return the import of an old agent."""
    made = Imported(old.id, _connection(old), str(old.options.get("chat_model") or ""))
    try:
        made.functions = convert(read_functions(str(old.options.get("functions") or "")))
    except ValueError as err:
        made.left.append(Note("import_functions_unreadable", {"error": str(err)[:MAX_ERROR]}))
    if old.options.get("skills"):
        made.left.append(Note("import_skills", {}))
    _take_options(made, old.options)
    _take_prompt(hass, made, str(old.options.get("prompt") or "").strip())
    return made


def _connection(old: OldAgent) -> dict[str, Any]:
    """Return the connection as our form keeps it."""
    organization = old.data.get("organization")
    values = {
        CONF_NAME: old.title,
        CONF_BASE_URL: old.data.get("base_url") or OPENAI_URL,
        CONF_API_KEY: old.data.get("api_key"),
        CONF_DIALECT: Dialect.AZURE if old.data.get("api_provider") == "azure" else None,
        CONF_PROXY_HEADERS: f"OpenAI-Organization: {organization}" if organization else None,
        CONF_AZURE_API_VERSION: old.data.get("api_version"),
    }
    return {key: value for key, value in values.items() if value}


def _take_options(made: Imported, options: Mapping[str, Any]) -> None:
    """Import the options that were changed and that are valid here."""
    fields = {field.key: field for page in PAGES.values() for field in page}
    for name, (key, unchosen) in OPTIONS.items():
        value = options.get(name)
        if value in (None, "", unchosen):
            continue
        try:
            value = max(value, DEFAULTS[key]) if key in RAISED_TO_OURS else value
            checked = check((fields[key],), {key: value}, {})
        except TypeError, ValueError:
            checked = Checked({}, {key: "invalid"}, {})
        if checked.errors:
            made.left.append(Note("import_option", {"option": name, "value": str(value)[:40]}))
        made.options |= {key: value for key, value in checked.values.items() if value != DEFAULTS.get(key)}
    if made.options:
        shown = ", ".join(f"`{key}: {value}`" for key, value in made.options.items())
        made.taken.append(Note("import_options", {"options": shown}))


def _take_prompt(hass: HomeAssistant, made: Imported, prompt: str) -> None:
    """Import a custom prompt if it can be rendered here."""
    if not prompt:
        return
    if sha256(_SPACE.sub("", prompt).encode()).hexdigest() in UNCHANGED:
        made.taken.append(Note("import_prompt_default", {}))
        return
    for old, new in {**RENAMED, **made.functions.renamed}.items():
        prompt = _replaced(prompt, old, new)
    try:
        unknown = _unknown_variables(hass, prompt)
        render(hass, prompt, _variables(hass))
    except (TemplateError, SyntaxProblem, RecursionError) as err:
        made.left.append(Note("import_prompt_broken", {"error": str(err)[:MAX_ERROR]}))
        return
    made.options |= {CONF_PROMPT_USE_DEFAULT: False, CONF_PROMPT_CUSTOM: prompt}
    made.taken.append(Note("import_prompt", {}))
    if moving := [name for name in MOVING if name in prompt]:
        made.taken.append(Note("import_prompt_moving", {"names": _listed(moving)}))
    if unknown:
        made.left.append(Note("import_prompt_unknown", {"names": _listed(unknown)}))


def _replaced(prompt: str, old: str, new: str) -> str:
    """Return a prompt with one name for another; a name that is an everyday word stays."""
    if "_" not in old:
        return prompt
    parts = prompt.split(old)
    done = parts[0]
    for part in parts[1:]:
        inside = _WORD.match(done[-1:]) or _WORD.match(part[:1])
        done += (old if inside else new) + part
    return done


def _unknown_variables(hass: HomeAssistant, prompt: str) -> list[str]:
    """Return the variables that a prompt names and that are not there."""
    environment = TemplateEnvironment(hass)
    named = find_undeclared_variables(environment.parse(prompt))
    return sorted(named - environment.globals.keys() - {*VARIABLES})


def _variables(hass: HomeAssistant) -> dict[str, Any]:
    """Return the variables of a prompt in a turn, to test it."""
    exposed = [
        {"entity_id": state.entity_id, "name": state.name, "state": state.state, "aliases": []}
        for state in hass.states.async_all()
        if async_should_expose(hass, "conversation", state.entity_id)
    ]
    texts = {"user_message": "", "current_device_id": None, "ha_name": hass.config.location_name}
    return {**texts, "exposed_entities": exposed}


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
