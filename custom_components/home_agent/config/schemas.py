"""The pages as tables: which fields each has, in which order."""

from collections.abc import Mapping
from typing import Any, Final

from homeassistant.helpers.selector import (
    EntitySelector,
    EntitySelectorConfig,
    TargetSelector,
    TemplateSelector,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
    TimeSelector,
)

from .. import const
from ..agent_options import CONF_ANNOUNCE_EXCLUDED, CONF_CONTROLLABLE, CONF_VISIBLE
from ..errors import InvalidInput
from ..knowledge.view import AREAS, DEVICES, ENTITIES, EXCLUDED, FLOORS, LABELS
from ..safety.rules import as_texts
from .channels import clean_chats
from .choices import NO_LABELS, choices_selector, clean_choices
from .expert import EXPERT
from .fields import Field, choice, in_section, int_field, key, shown_if, stripped, switch, text, texts
from .lists import (
    chats_selector,
    clean_proactive,
    notify_selector,
    owners_selector,
    proactive_labels,
    proactive_selector,
    profiles_selector,
)
from .validators import (
    clean_keywords,
    clean_names,
    clean_owners,
    clean_profiles,
    clean_targets,
    normalise_url,
)

MAX_NAMED: Final = 500
KEYS: Final = {
    ENTITIES: "entity_id",
    DEVICES: "device_id",
    AREAS: "area_id",
    FLOORS: "floor_id",
    LABELS: "label_id",
}
"""The name that Home Assistant's selector has for each."""
EXCLUDE: Final = "exclude"


def clean_allow_list(value: Any) -> dict[str, Any] | None:
    """Return what a target selector gave as it is stored, None for nothing. Raises InvalidInput."""
    if not isinstance(value, Mapping):
        return None
    named, excluded = _named(value), _named(value.get(EXCLUDE))
    if sum(map(len, (*named.values(), *excluded.values()))) > MAX_NAMED:
        raise InvalidInput("too_many_listed", limit=str(MAX_NAMED))
    return named | ({EXCLUDED: excluded} if excluded else {}) or None


def _named(value: Any) -> dict[str, list[str]]:
    if not isinstance(value, Mapping):
        return {}
    named = {key: list(dict.fromkeys(as_texts(value.get(picked)))) for key, picked in KEYS.items()}
    return {key: texts for key, texts in named.items() if texts}


def show_allow_list(stored: Any) -> dict[str, Any] | None:
    """Return a stored list as the selector shows it."""
    if not isinstance(stored, Mapping):
        return None
    shown: dict[str, Any] = {KEYS[key]: as_texts(texts) for key, texts in stored.items() if key in KEYS}
    excluded = show_allow_list(stored.get(EXCLUDED))
    return shown | ({EXCLUDE: excluded} if excluded else {})


def allow_list_field(key: str) -> Field:
    """Return the field of a list."""
    return Field(key=key, selector=TargetSelector(), clean=clean_allow_list, show=show_allow_list)


EXAMPLES: Final = {
    "example_local": "http://192.168.1.5:11434",
    "example_cloud": "https://api.openai.com/v1",
    "example_version": "2024-10-21",
}
"""Placeholders of the forms; addresses are not in translations."""

RESPONSE_STYLES: Final = ("concise", "normal", "detailed")


CONNECTION: Final = (
    Field(
        key=const.CONF_BASE_URL,
        selector=TextSelector(TextSelectorConfig(type=TextSelectorType.TEXT, autocomplete="url")),
        clean=normalise_url,
        required=True,
    ),
    Field(key=const.CONF_API_KEY, selector=key(), secret=True),
    *in_section(
        "advanced",
        Field(key=const.CONF_NAME, selector=text(), clean=stripped),
        Field(key=const.CONF_DIALECT, selector=choice("dialect", const.DIALECTS)),
        Field(key=const.CONF_PROXY_HEADERS, selector=text(multiline=True), clean=stripped),
        Field(key=const.CONF_AZURE_API_VERSION, selector=text(), clean=stripped),
    ),
)

REAUTH: Final = (Field(key=const.CONF_API_KEY, selector=key(), secret=True),)

ANSWERS: Final = (
    Field(key=const.CONF_PERSONA, selector=text(multiline=True), clean=stripped),
    Field(key=const.CONF_RESPONSE_STYLE, selector=choice("response_style", RESPONSE_STYLES)),
    Field(key=const.CONF_PROMPT_ADDITIONS, selector=TemplateSelector(), clean=stripped),
    switch(const.CONF_LOCAL_FIRST),
    switch(const.CONF_QUICK_CONFIRMATIONS),
    switch(const.CONF_SILENT_IN_ROOM),
    switch(const.CONF_THINKING),
)

PERMISSIONS: Final = (
    Field(key=const.CONF_POLICY_CHOICES, selector=choices_selector(NO_LABELS), clean=clean_choices),
    Field(key=const.CONF_POLICY_PROFILES, selector=profiles_selector([]), clean=clean_profiles),
    allow_list_field(CONF_VISIBLE),
    allow_list_field(CONF_CONTROLLABLE),
    switch(const.CONF_ALLOW_SCRIPTS),
    switch(const.CONF_ALLOW_AUTOMATIONS),
    *in_section(
        "confirming",
        Field(key=const.CONF_POLICY_PIN, selector=key(), secret=True),
        int_field(const.CONF_POLICY_TIMEOUT, 10, 600, "s"),
    ),
)

MEMORY: Final = (
    switch(const.CONF_MEMORY),
    *shown_if(const.CONF_MEMORY, (True,), switch(const.CONF_MEMORY_EXTRACTION), switch(const.CONF_LEARNING)),
    switch(const.CONF_PROFILE),
    Field(key=const.CONF_DEVICE_PERSONS, selector=owners_selector(), clean=clean_owners),
)

MESSAGES: Final = (
    Field(key=const.CONF_NOTIFY_TARGETS, selector=notify_selector([]), clean=clean_targets),
    switch(const.CONF_TELEGRAM),
    *shown_if(
        const.CONF_TELEGRAM,
        (True,),
        Field(key=const.CONF_TELEGRAM_CHATS, selector=chats_selector([]), clean=clean_chats),
    ),
    Field(
        key=CONF_ANNOUNCE_EXCLUDED,
        selector=EntitySelector(
            EntitySelectorConfig(domain=["assist_satellite", "media_player"], multiple=True)
        ),
        clean=clean_names,
    ),
    switch(const.CONF_PROACTIVE),
    *shown_if(
        const.CONF_PROACTIVE,
        (True,),
        Field(
            key=const.CONF_PROACTIVE_RULES,
            selector=proactive_selector(proactive_labels({})),
            clean=clean_proactive,
        ),
        switch(const.CONF_PROACTIVE_SUGGESTIONS),
    ),
    *in_section(
        "quiet_hours",
        Field(key=const.CONF_PROACTIVE_QUIET_START, selector=TimeSelector()),
        Field(key=const.CONF_PROACTIVE_QUIET_END, selector=TimeSelector()),
        int_field(const.CONF_PROACTIVE_MAX_PER_DAY, 1, 50),
    ),
)

WEB: Final = (
    Field(key=const.CONF_SEARCH_PROVIDER, selector=choice("search_provider", const.SEARCH_PROVIDERS)),
    *shown_if(
        const.CONF_SEARCH_PROVIDER,
        const.SEARCH_PROVIDERS[1:],
        Field(key=const.CONF_SEARCH_URL, selector=text(), clean=normalise_url),
    ),
    *shown_if(
        const.CONF_SEARCH_PROVIDER,
        (const.SEARCH_TAVILY, const.SEARCH_SEARXNG),
        Field(key=const.CONF_SEARCH_KEY, selector=key(), secret=True),
    ),
    *in_section(
        "external",
        switch(const.CONF_EXTERNAL),
        *shown_if(
            const.CONF_EXTERNAL,
            (True,),
            Field(key=const.CONF_EXTERNAL_BASE_URL, selector=text(), clean=normalise_url),
            Field(key=const.CONF_EXTERNAL_API_KEY, selector=key(), secret=True),
            Field(key=const.CONF_EXTERNAL_MODEL, selector=text(), clean=stripped),
        ),
    ),
    *in_section(
        "fallback",
        Field(key=const.CONF_FALLBACK_BASE_URL, selector=text(), clean=normalise_url),
        *shown_if(
            const.CONF_FALLBACK_BASE_URL,
            (),
            Field(key=const.CONF_FALLBACK_API_KEY, selector=key(), secret=True),
            Field(key=const.CONF_FALLBACK_MODEL, selector=text(), clean=stripped),
        ),
    ),
    *in_section(
        "privacy",
        switch(const.CONF_CLOUD_PROFILE),
        switch(const.CONF_CLOUD_STATES),
        texts(const.CONF_SANITIZER_KEYWORDS, clean_keywords),
    ),
)

HOUSEHOLD: Final[dict[str, tuple[Field, ...]]] = {
    "answers": ANSWERS,
    "permissions": PERMISSIONS,
    "memory": MEMORY,
    "messages": MESSAGES,
    "web": WEB,
}
"""The pages of the first menu."""

PAGES: Final = {**HOUSEHOLD, **EXPERT}


def page_of(option: str) -> str:
    """Return the page that has an option."""
    return next(page for page, fields in PAGES.items() if any(field.key == option for field in fields))


def label_path(option: str) -> str:
    """Return where the translations have the label of an option, below `options.step`."""
    page = page_of(option)
    section = next(field.section for field in PAGES[page] if field.key == option)
    return f"{page}.sections.{section}.data.{option}" if section else f"{page}.data.{option}"


AGENT_MEMORY: Final = tuple(
    switch(key) for key in (const.CONF_MEMORY, const.CONF_MEMORY_EXTRACTION, const.CONF_PROFILE)
)
AGENT_PAGES: Final[dict[str, tuple[Field, ...]]] = {
    "answers": HOUSEHOLD["answers"],
    "permissions": HOUSEHOLD["permissions"],
    "tools": EXPERT["tools"],
    "safety": EXPERT["safety"],
    "prompt": EXPERT["prompt"],
    "llm": tuple(field for field in EXPERT["llm"] if not field.section),
    "context": EXPERT["context"],
    "history": EXPERT["history"],
}
"""Pages that a further agent has in common with the options of the connection."""
AGENT_KEYS: Final = frozenset(
    field.key for fields in (AGENT_MEMORY, *AGENT_PAGES.values()) for field in fields
)
"""The options that each agent has of its own."""
