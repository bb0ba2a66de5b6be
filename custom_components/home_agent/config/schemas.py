"""The pages as tables: which fields each has, in which order."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from homeassistant.helpers.selector import (
    DeviceSelector,
    EntitySelector,
    EntitySelectorConfig,
    ObjectSelector,
    SelectOptionDict,
    TargetSelector,
    TemplateSelector,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
    TimeSelector,
)

from .. import const
from ..const import CONF_ANNOUNCE_EXCLUDED, CONF_CONTROLLABLE, CONF_VISIBLE
from ..errors import InvalidInput
from ..knowledge.house import AREAS, DEVICES, ENTITIES, EXCLUDED, FLOORS, LABELS
from ..knowledge.speaker import DEVICE
from ..safety.rules import PIN, as_texts, restricted_rules
from ..tools.native import NATIVE
from ..tools.recipients import CHAT, TARGETS
from .choices import NO_LABELS, choices_selector, clean_choices
from .fields import (
    FIELD_PATTERNS,
    Field,
    choice,
    clean_attributes,
    clean_collection,
    clean_collections,
    clean_duration,
    clean_hosts,
    clean_keywords,
    clean_names,
    clean_owners,
    clean_patterns,
    clean_pins,
    clean_rules,
    clean_targets,
    fraction_field,
    hidden_pins,
    in_section,
    int_field,
    key,
    normalise_url,
    number,
    offered,
    span_field,
    switch,
    text,
    texts,
)
from .lists import clean_chats, of_persons

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
    return Field(key, TargetSelector(), clean=clean_allow_list, show=show_allow_list)


EXAMPLES: Final = {
    "example_local": "http://192.168.1.5:11434",
    "example_cloud": "https://api.openai.com/v1",
    "example_version": "2024-10-21",
}
"""Placeholders of the forms; addresses are not in translations."""

RESPONSE_STYLES: Final = ("concise", "normal", "detailed")


CONNECTION: Final = (
    Field(
        const.CONF_BASE_URL,
        TextSelector(TextSelectorConfig(type=TextSelectorType.TEXT, autocomplete="url")),
        clean=normalise_url,
        required=True,
    ),
    Field(const.CONF_API_KEY, key(), secret=True),
    *in_section(
        "advanced",
        Field(const.CONF_NAME, text()),
        Field(const.CONF_DIALECT, choice("dialect", const.DIALECTS)),
        Field(const.CONF_PROXY_HEADERS, text(multiline=True)),
        Field(const.CONF_AZURE_API_VERSION, text()),
    ),
)


def model_field(options: Sequence[SelectOptionDict]) -> Field:
    """Return the field of the page of models, which takes other names as well."""
    return Field(const.CONF_MODEL, offered(list(options)), required=True)


ASSISTANT: Final = switch("make_assistant")
REAUTH: Final = (Field(const.CONF_API_KEY, key(), secret=True),)

ANSWERS: Final = (
    Field(const.CONF_PERSONA, text(multiline=True)),
    Field(const.CONF_RESPONSE_STYLE, choice("response_style", RESPONSE_STYLES)),
    Field(const.CONF_PROMPT_ADDITIONS, TemplateSelector()),
    switch(const.CONF_LOCAL_FIRST),
    switch(const.CONF_QUICK_CONFIRMATIONS),
    switch(const.CONF_THINKING),
    *in_section(
        "voice",
        switch(const.CONF_SILENT_IN_ROOM),
        switch(const.CONF_ONE_MOMENT),
        switch(const.CONF_KEEP_LISTENING),
    ),
)

PERMISSIONS: Final = (
    Field(const.CONF_POLICY_CHOICES, choices_selector(NO_LABELS), clean=clean_choices),
    allow_list_field(CONF_VISIBLE),
    allow_list_field(CONF_CONTROLLABLE),
    switch(const.CONF_ALLOW_SCRIPTS),
    switch(const.CONF_ALLOW_AUTOMATIONS),
    *in_section(
        "confirming",
        Field(const.CONF_POLICY_PIN, key(), secret=True),
        switch(const.CONF_POLICY_PIN_ALWAYS),
        Field(
            const.CONF_POLICY_PINS,
            of_persons(const.CONF_POLICY_PINS, PIN, key()),
            clean=clean_pins,
            show=hidden_pins,
        ),
        int_field(const.CONF_POLICY_TIMEOUT, 10, 600, "s"),
    ),
)

MEMORY: Final = (
    switch(const.CONF_MEMORY),
    switch(const.CONF_MEMORY_EXTRACTION),
    switch(const.CONF_LEARNING),
    switch(const.CONF_PROFILE),
    Field(
        const.CONF_DEVICE_PERSONS,
        of_persons(const.CONF_DEVICE_PERSONS, DEVICE, DeviceSelector()),
        clean=clean_owners,
    ),
)

MESSAGES: Final = (
    Field(
        const.CONF_NOTIFY_TARGETS,
        of_persons(const.CONF_NOTIFY_TARGETS, TARGETS, offered([], multiple=True)),
        clean=clean_targets,
    ),
    switch(const.CONF_TELEGRAM),
    Field(
        const.CONF_TELEGRAM_CHATS, of_persons(const.CONF_TELEGRAM_CHATS, CHAT, offered([])), clean=clean_chats
    ),
    Field(
        CONF_ANNOUNCE_EXCLUDED,
        selector=EntitySelector(
            EntitySelectorConfig(domain=["assist_satellite", "media_player"], multiple=True)
        ),
        clean=clean_names,
    ),
    switch(const.CONF_PROACTIVE),
    switch(const.CONF_PROACTIVE_SUGGESTIONS),
    *in_section(
        "quiet_hours",
        Field(const.CONF_PROACTIVE_QUIET_START, TimeSelector()),
        Field(const.CONF_PROACTIVE_QUIET_END, TimeSelector()),
        int_field(const.CONF_PROACTIVE_MAX_PER_DAY, 1, 50),
    ),
)

WEB: Final = (
    Field(const.CONF_SEARCH_PROVIDER, choice("search_provider", const.SEARCH_PROVIDERS)),
    Field(const.CONF_SEARCH_URL, text(), clean=normalise_url),
    Field(const.CONF_SEARCH_KEY, key(), secret=True),
    *in_section(
        "external",
        switch(const.CONF_EXTERNAL),
        Field(const.CONF_EXTERNAL_BASE_URL, text(), clean=normalise_url),
        Field(const.CONF_EXTERNAL_API_KEY, key(), secret=True),
        Field(const.CONF_EXTERNAL_MODEL, text()),
    ),
    *in_section(
        "fallback",
        Field(const.CONF_FALLBACK_BASE_URL, text(), clean=normalise_url),
        Field(const.CONF_FALLBACK_API_KEY, key(), secret=True),
        Field(const.CONF_FALLBACK_MODEL, text()),
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

TOKENS: Final = "tokens"
ALWAYS: Final = "always"
KEEP_ALIVES: Final = ("5m", "30m", "1h", "24h", ALWAYS)
"""Offered beside any other duration that the server can read."""
REASONING_EFFORTS: Final = ("none", "minimal", "low", "medium", "high")

PRICES: Final = (const.CONF_PRICE_PROMPT, const.CONF_PRICE_CACHED, const.CONF_PRICE_ANSWER)


def keep_alive(key: str) -> Field:
    """Return a field for how long a server keeps its model loaded; servers write always as -1."""
    return Field(
        key,
        choice("keep_alive", KEEP_ALIVES, free=True),
        clean=lambda value: "-1" if value == ALWAYS else clean_duration(value),
        show=lambda value: ALWAYS if value == "-1" else value,
    )


LLM: Final = (
    fraction_field(const.CONF_TEMPERATURE, 2),
    fraction_field(const.CONF_TOP_P, 1),
    int_field(const.CONF_MAX_TOKENS, 1, 100_000, TOKENS),
    keep_alive(const.CONF_KEEP_ALIVE),
    int_field(const.CONF_NUM_CTX, 512, 2_000_000, TOKENS),
    Field(const.CONF_REASONING_EFFORT, choice("reasoning_effort", REASONING_EFFORTS, free=True)),
    switch(const.CONF_STREAMING),
    switch(const.CONF_LOCAL_FALLBACK),
    *in_section("prices", *(Field(key, number(0, 10_000, 0.001)) for key in PRICES)),
    *in_section("requests", int_field(const.CONF_PARALLEL, 1, 64)),
    *in_section(
        "external",
        fraction_field(const.CONF_EXTERNAL_TEMPERATURE, 2),
        int_field(const.CONF_EXTERNAL_MAX_TOKENS, 1, 100_000, TOKENS),
        keep_alive(const.CONF_EXTERNAL_KEEP_ALIVE),
        Field(const.CONF_EXTERNAL_DESCRIPTION, text(multiline=True)),
    ),
)

CONTEXT: Final = (
    Field(const.CONF_CONTEXT_MODE, choice("context_mode", const.CONTEXT_MODES)),
    Field(const.CONF_DIRECT_ENTITIES, EntitySelector(EntitySelectorConfig(multiple=True)), clean=clean_names),
    texts(FIELD_PATTERNS, clean_patterns),
    texts(const.CONF_DIRECT_ATTRIBUTES, clean_attributes),
    Field(const.CONF_CONTEXT_FORMAT, choice("context_format", const.CONTEXT_FORMATS)),
    int_field(const.CONF_MAX_CONTEXT_TOKENS, 1_000, 128_000, TOKENS),
    *in_section("shares", *(int_field(key, 0, 100_000, TOKENS) for key in const.CONF_BUDGETS.values())),
)

VECTOR_STORE: Final = (
    Field(const.CONF_EMBEDDING_PROVIDER, choice("embedding_provider", const.EMBEDDING_PROVIDERS)),
    Field(const.CONF_EMBEDDING_BASE_URL, text(), clean=normalise_url),
    Field(const.CONF_EMBEDDING_MODEL, text()),
    Field(const.CONF_EMBEDDING_API_KEY, key(), secret=True),
    keep_alive(const.CONF_EMBEDDING_KEEP_ALIVE),
    Field(const.CONF_VECTOR_BACKEND, choice("vector_backend", const.BACKENDS)),
    *in_section(
        "chroma",
        Field(const.CONF_VECTOR_HOST, text()),
        int_field(const.CONF_VECTOR_PORT, 1, 65_535),
        switch(const.CONF_VECTOR_SSL),
        Field(const.CONF_VECTOR_TOKEN, key(), secret=True),
        Field(const.CONF_VECTOR_TENANT, text()),
        Field(const.CONF_VECTOR_DATABASE, text()),
    ),
    *in_section(
        "collections",
        Field(const.CONF_VECTOR_COLLECTION, text(), clean=clean_collection),
        int_field(const.CONF_VECTOR_TOP_K, 1, 50),
        fraction_field(const.CONF_VECTOR_THRESHOLD, 1),
        texts(const.CONF_COLLECTIONS, clean_collections),
        int_field(const.CONF_COLLECTIONS_TOP_K, 1, 50),
        fraction_field(const.CONF_COLLECTIONS_THRESHOLD, 1),
    ),
)

HISTORY: Final = (
    switch(const.CONF_HISTORY),
    int_field(const.CONF_HISTORY_MAX_MESSAGES, 1, 100),
    int_field(const.CONF_HISTORY_MAX_TOKENS, 100, 50_000, TOKENS),
    switch(const.CONF_HISTORY_PERSIST),
    int_field(const.CONF_HISTORY_RETENTION_DAYS, 1, 365, "d"),
    switch(const.CONF_HISTORY_SUMMARIZE),
    switch(const.CONF_SESSION_PERSISTENCE),
    int_field(const.CONF_SESSION_TIMEOUT, 1, 1_440, "min"),
)

_INFLUXDB: Final = (
    Field(const.CONF_INFLUX_VERSION, choice("influxdb_version", const.INFLUX_VERSIONS)),
    Field(const.CONF_INFLUX_URL, text(), clean=normalise_url),
    Field(const.CONF_INFLUX_DATABASE, text()),
    Field(const.CONF_INFLUX_ORG, text()),
    Field(const.CONF_INFLUX_TOKEN, key(), secret=True),
    Field(const.CONF_INFLUX_USERNAME, text()),
    Field(const.CONF_INFLUX_PASSWORD, key(), secret=True),
)

MEMORY_DETAILS: Final = (
    Field(const.CONF_MEMORY_EXTRACTION_LLM, choice("memory_extraction_llm", const.EXTRACTION_LLMS)),
    fraction_field(const.CONF_MEMORY_MIN_IMPORTANCE, 1),
    int_field(const.CONF_MEMORY_TOP_K, 1, 20),
    int_field(const.CONF_MEMORY_MAX, 10, 10_000),
    fraction_field(const.CONF_MEMORY_DEDUP, 1),
    fraction_field(const.CONF_MEMORY_DECAY, 1),
    Field(const.CONF_MEMORY_COLLECTION, text(), clean=clean_collection),
    *in_section(
        "kept_for",
        *(span_field(key, days=True) for key in const.CONF_MEMORY_TTL.values()),
        span_field(const.CONF_MEMORY_CLEANUP),
    ),
    *in_section(
        "learning",
        Field(const.CONF_LEARNING_SOURCE, choice("learning_source", const.LEARNING_SOURCES)),
        *_INFLUXDB,
    ),
)

PROMPT: Final = (
    switch(const.CONF_PROMPT_USE_DEFAULT),
    Field(const.CONF_PROMPT_CUSTOM, TemplateSelector()),
    switch(const.CONF_PROMPT_LABELS),
)

TOOLS: Final = (
    switch(const.CONF_TOOLS_NATIVE),
    Field(
        const.CONF_TOOLS_DISABLED,
        choice("tools_disabled", tuple(NATIVE), free=True, multiple=True),
        clean=clean_names,
    ),
    int_field(const.CONF_TOOLS_MAX_CALLS, 1, 50),
    int_field(const.CONF_TOOLS_TIMEOUT, 5, 300, "s"),
    texts(const.CONF_LLM_APIS, clean_names),
)

SAFETY: Final = (
    texts(const.CONF_POLICY_BLOCKED, clean_rules, restricted_rules()),
    texts(const.CONF_POLICY_RESTRICTED, clean_rules, restricted_rules()),
    texts(const.CONF_POLICY_ALLOWED, clean_rules, restricted_rules()),
    texts(const.CONF_REST_ALLOWED_HOSTS, clean_hosts),
    switch(const.CONF_MCP_WRITES),
    int_field(const.CONF_AUTOMATION_TURNS, 1, 1_000),
)

DEBUG: Final = (
    switch(const.CONF_PANEL),
    switch(const.CONF_DEBUG_LOGGING),
    switch(const.CONF_EMIT_EVENTS),
    switch(const.CONF_CONVERSATION_LOG),
)

EXPERT: Final[dict[str, tuple[Field, ...]]] = {
    "llm": LLM,
    "prompt": PROMPT,
    "context": CONTEXT,
    "vector_store": VECTOR_STORE,
    "history": HISTORY,
    "memory_details": MEMORY_DETAILS,
    "tools": TOOLS,
    "safety": SAFETY,
    "debug": DEBUG,
}
"""The pages of the menu for experts."""
PAGES: Final = {**HOUSEHOLD, **EXPERT}
LISTED: Final[dict[str, tuple[Field, ...]]] = {
    "message_rules": (Field(const.CONF_PROACTIVE_RULES, ObjectSelector()),)
}
"""Options that are menus of items, each with a form of its own."""
PLACES: Final = {**PAGES, **LISTED}
"""Where the menus lead to, with the options that are changed there."""


def page_of(option: str) -> str:
    """Return the page that has an option."""
    return next(page for page, fields in PLACES.items() if any(field.key == option for field in fields))


def label_path(option: str) -> str:
    """Return where the translations have the label of an option, below `options.step`."""
    page = page_of(option)
    section = next(field.section for field in PLACES[page] if field.key == option)
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
