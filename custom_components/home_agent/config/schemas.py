"""The pages as tables: which fields each has, in which order."""

from collections.abc import Iterable
from typing import Final

from homeassistant.helpers.selector import (
    EntitySelector,
    EntitySelectorConfig,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TemplateSelector,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
    TimeSelector,
)

from .. import const
from ..tools.native import NATIVE
from .channels import clean_chats
from .fields import (
    FIELD_PATTERNS,
    Field,
    choice,
    fraction_field,
    int_field,
    key,
    rules,
    shown_if,
    stripped,
    switch,
    text,
)
from .lists import (
    chats_selector,
    clean_proactive,
    notify_selector,
    owners_selector,
    proactive_selector,
    profiles_selector,
)
from .validators import (
    clean_attributes,
    clean_collection,
    clean_collections,
    clean_duration,
    clean_hosts,
    clean_keywords,
    clean_names,
    clean_owners,
    clean_patterns,
    clean_profiles,
    clean_span,
    clean_targets,
    normalise_url,
)

EXAMPLES: Final = {
    "example_local": "http://192.168.1.5:11434",
    "example_cloud": "https://api.openai.com/v1",
    "example_version": "2024-10-21",
}
"""Placeholders of the forms; addresses are not in translations."""

REASONING_EFFORTS: Final = ("none", "minimal", "low", "medium", "high")
RESPONSE_STYLES: Final = ("concise", "normal", "detailed")


CONNECTION: Final = (
    Field(key=const.CONF_NAME, selector=text(), clean=stripped),
    Field(
        key=const.CONF_BASE_URL,
        selector=TextSelector(TextSelectorConfig(type=TextSelectorType.TEXT, autocomplete="url")),
        clean=normalise_url,
        required=True,
    ),
    Field(key=const.CONF_API_KEY, selector=key(), secret=True),
    Field(key=const.CONF_DIALECT, selector=choice("dialect", const.DIALECTS)),
    Field(key=const.CONF_PROXY_HEADERS, selector=text(multiline=True), clean=stripped),
    Field(key=const.CONF_AZURE_API_VERSION, selector=text(), clean=stripped),
)

REAUTH: Final = (Field(key=const.CONF_API_KEY, selector=key(), secret=True),)

LLM: Final = (
    fraction_field(const.CONF_TEMPERATURE, 2),
    fraction_field(const.CONF_TOP_P, 1),
    int_field(const.CONF_MAX_TOKENS, 1, 100_000),
    Field(key=const.CONF_KEEP_ALIVE, selector=text(), clean=clean_duration),
    int_field(const.CONF_NUM_CTX, 512, 2_000_000),
    switch(const.CONF_THINKING),
    Field(
        key=const.CONF_REASONING_EFFORT,
        selector=choice("reasoning_effort", REASONING_EFFORTS, free=True),
        clean=stripped,
    ),
    switch(const.CONF_STREAMING),
    switch(const.CONF_LOCAL_FIRST),
    switch(const.CONF_LOCAL_FALLBACK),
    Field(
        key=const.CONF_LLM_APIS,
        selector=SelectSelector(SelectSelectorConfig(options=[], multiple=True, custom_value=True)),
        clean=clean_names,
    ),
    Field(key=const.CONF_FALLBACK_BASE_URL, selector=text(), clean=normalise_url),
    *shown_if(
        const.CONF_FALLBACK_BASE_URL,
        (),
        Field(key=const.CONF_FALLBACK_API_KEY, selector=key(), secret=True),
        Field(key=const.CONF_FALLBACK_MODEL, selector=text(), clean=stripped),
    ),
)

CONTEXT: Final = (
    Field(key=const.CONF_CONTEXT_MODE, selector=choice("context_mode", const.CONTEXT_MODES)),
    Field(
        key=const.CONF_DIRECT_ENTITIES,
        selector=EntitySelector(EntitySelectorConfig(multiple=True)),
        clean=clean_names,
    ),
    Field(
        key=FIELD_PATTERNS,
        selector=TextSelector(TextSelectorConfig(multiple=True)),
        clean=clean_patterns,
    ),
    Field(
        key=const.CONF_DIRECT_ATTRIBUTES,
        selector=TextSelector(TextSelectorConfig(multiple=True)),
        clean=clean_attributes,
    ),
    Field(key=const.CONF_CONTEXT_FORMAT, selector=choice("context_format", const.CONTEXT_FORMATS)),
    int_field(const.CONF_MAX_CONTEXT_TOKENS, 1_000, 128_000),
    *(int_field(key, 0, 100_000) for key in const.CONF_BUDGETS.values()),
)

VECTOR_STORE: Final = (
    Field(
        key=const.CONF_EMBEDDING_PROVIDER,
        selector=choice("embedding_provider", const.EMBEDDING_PROVIDERS),
    ),
    *shown_if(
        const.CONF_EMBEDDING_PROVIDER,
        (const.EMBEDDING_OPENAI, const.EMBEDDING_OLLAMA),
        Field(key=const.CONF_EMBEDDING_BASE_URL, selector=text(), clean=normalise_url),
        Field(key=const.CONF_EMBEDDING_MODEL, selector=text(), clean=stripped),
        Field(key=const.CONF_EMBEDDING_API_KEY, selector=key(), secret=True),
    ),
    *shown_if(
        const.CONF_EMBEDDING_PROVIDER,
        (const.EMBEDDING_OLLAMA,),
        Field(key=const.CONF_EMBEDDING_KEEP_ALIVE, selector=text(), clean=clean_duration),
    ),
    Field(key=const.CONF_VECTOR_BACKEND, selector=choice("vector_backend", const.BACKENDS)),
    *shown_if(
        const.CONF_VECTOR_BACKEND,
        (const.BACKEND_CHROMA,),
        Field(key=const.CONF_VECTOR_HOST, selector=text(), clean=stripped),
        int_field(const.CONF_VECTOR_PORT, 1, 65_535),
        switch(const.CONF_VECTOR_SSL),
        Field(key=const.CONF_VECTOR_TOKEN, selector=key(), secret=True),
        Field(key=const.CONF_VECTOR_TENANT, selector=text(), clean=stripped),
        Field(key=const.CONF_VECTOR_DATABASE, selector=text(), clean=stripped),
    ),
    Field(key=const.CONF_VECTOR_COLLECTION, selector=text(), clean=clean_collection),
    int_field(const.CONF_VECTOR_TOP_K, 1, 50),
    fraction_field(const.CONF_VECTOR_THRESHOLD, 1),
    Field(
        key=const.CONF_COLLECTIONS,
        selector=TextSelector(TextSelectorConfig(multiple=True)),
        clean=clean_collections,
    ),
    int_field(const.CONF_COLLECTIONS_TOP_K, 1, 50),
    fraction_field(const.CONF_COLLECTIONS_THRESHOLD, 1),
)

HISTORY: Final = (
    switch(const.CONF_HISTORY),
    *shown_if(
        const.CONF_HISTORY,
        (True,),
        int_field(const.CONF_HISTORY_MAX_MESSAGES, 1, 100),
        int_field(const.CONF_HISTORY_MAX_TOKENS, 100, 50_000),
        switch(const.CONF_HISTORY_PERSIST),
        int_field(const.CONF_HISTORY_RETENTION_DAYS, 1, 365, "d"),
        switch(const.CONF_HISTORY_SUMMARIZE),
    ),
    switch(const.CONF_SESSION_PERSISTENCE),
    int_field(const.CONF_SESSION_TIMEOUT, 1, 1_440, "min"),
)

_INFLUXDB: Final = (
    Field(key=const.CONF_INFLUX_VERSION, selector=choice("influxdb_version", const.INFLUX_VERSIONS)),
    Field(key=const.CONF_INFLUX_URL, selector=text(), clean=normalise_url),
    Field(key=const.CONF_INFLUX_DATABASE, selector=text(), clean=stripped),
    *shown_if(
        const.CONF_INFLUX_VERSION,
        (const.INFLUX_2,),
        Field(key=const.CONF_INFLUX_ORG, selector=text(), clean=stripped),
        Field(key=const.CONF_INFLUX_TOKEN, selector=key(), secret=True),
    ),
    *shown_if(
        const.CONF_INFLUX_VERSION,
        (const.INFLUX_1,),
        Field(key=const.CONF_INFLUX_USERNAME, selector=text(), clean=stripped),
        Field(key=const.CONF_INFLUX_PASSWORD, selector=key(), secret=True),
    ),
)

MEMORY: Final = (
    switch(const.CONF_MEMORY),
    switch(const.CONF_PROFILE),
    Field(key=const.CONF_DEVICE_PERSONS, selector=owners_selector(), clean=clean_owners),
    *shown_if(
        const.CONF_MEMORY,
        (True,),
        switch(const.CONF_MEMORY_EXTRACTION),
        *shown_if(
            const.CONF_MEMORY_EXTRACTION,
            (True,),
            Field(
                key=const.CONF_MEMORY_EXTRACTION_LLM,
                selector=choice("memory_extraction_llm", const.EXTRACTION_LLMS),
            ),
            fraction_field(const.CONF_MEMORY_MIN_IMPORTANCE, 1),
        ),
        int_field(const.CONF_MEMORY_TOP_K, 1, 20),
        int_field(const.CONF_MEMORY_MAX, 10, 10_000),
        fraction_field(const.CONF_MEMORY_DEDUP, 1),
        fraction_field(const.CONF_MEMORY_DECAY, 1),
        *(Field(key=key, selector=text(), clean=clean_span) for key in const.CONF_MEMORY_TTL.values()),
        Field(key=const.CONF_MEMORY_CLEANUP, selector=text(), clean=clean_span),
        Field(key=const.CONF_MEMORY_COLLECTION, selector=text(), clean=clean_collection),
        switch(const.CONF_LEARNING),
        *shown_if(
            const.CONF_LEARNING,
            (True,),
            Field(key=const.CONF_LEARNING_SOURCE, selector=choice("learning_source", const.LEARNING_SOURCES)),
            *shown_if(const.CONF_LEARNING_SOURCE, (const.SOURCE_INFLUXDB,), *_INFLUXDB),
        ),
    ),
)

EXTERNAL_LLM: Final = (
    switch(const.CONF_EXTERNAL),
    *shown_if(
        const.CONF_EXTERNAL,
        (True,),
        Field(key=const.CONF_EXTERNAL_BASE_URL, selector=text(), clean=normalise_url),
        Field(key=const.CONF_EXTERNAL_API_KEY, selector=key(), secret=True),
        Field(key=const.CONF_EXTERNAL_MODEL, selector=text(), clean=stripped),
        fraction_field(const.CONF_EXTERNAL_TEMPERATURE, 2),
        int_field(const.CONF_EXTERNAL_MAX_TOKENS, 1, 100_000),
        Field(key=const.CONF_EXTERNAL_KEEP_ALIVE, selector=text(), clean=clean_duration),
        Field(key=const.CONF_EXTERNAL_DESCRIPTION, selector=text(multiline=True), clean=stripped),
    ),
)

PROMPT: Final = (
    switch(const.CONF_PROMPT_USE_DEFAULT),
    *shown_if(
        const.CONF_PROMPT_USE_DEFAULT,
        (False,),
        Field(key=const.CONF_PROMPT_CUSTOM, selector=TemplateSelector(), clean=stripped),
    ),
    Field(key=const.CONF_PROMPT_ADDITIONS, selector=TemplateSelector(), clean=stripped),
    switch(const.CONF_PROMPT_LABELS),
    Field(key=const.CONF_PERSONA, selector=text(multiline=True), clean=stripped),
    Field(key=const.CONF_RESPONSE_STYLE, selector=choice("response_style", RESPONSE_STYLES)),
    switch(const.CONF_QUICK_CONFIRMATIONS),
    switch(const.CONF_SILENT_IN_ROOM),
)

TOOLS: Final = (
    switch(const.CONF_TOOLS_NATIVE),
    Field(
        key=const.CONF_TOOLS_DISABLED,
        selector=choice("tools_disabled", tuple(NATIVE), free=True, multiple=True),
        clean=clean_names,
    ),
    int_field(const.CONF_TOOLS_MAX_CALLS, 1, 50),
    int_field(const.CONF_TOOLS_TIMEOUT, 5, 300, "s"),
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
)

SAFETY: Final = (
    rules(const.CONF_POLICY_BLOCKED),
    rules(const.CONF_POLICY_RESTRICTED),
    rules(const.CONF_POLICY_ALLOWED),
    int_field(const.CONF_POLICY_TIMEOUT, 10, 600, "s"),
    Field(key=const.CONF_POLICY_PIN, selector=key(), secret=True),
    Field(key=const.CONF_POLICY_PROFILES, selector=profiles_selector(), clean=clean_profiles),
    switch(const.CONF_ALLOW_SCRIPTS),
    Field(
        key=const.CONF_REST_ALLOWED_HOSTS,
        selector=TextSelector(TextSelectorConfig(multiple=True)),
        clean=clean_hosts,
    ),
    switch(const.CONF_MCP_WRITES),
    int_field(const.CONF_AUTOMATION_TURNS, 1, 1_000),
    switch(const.CONF_CLOUD_PROFILE),
    switch(const.CONF_CLOUD_STATES),
    Field(
        key=const.CONF_SANITIZER_KEYWORDS,
        selector=TextSelector(TextSelectorConfig(multiple=True)),
        clean=clean_keywords,
    ),
)

CHANNELS: Final = (
    Field(key=const.CONF_NOTIFY_TARGETS, selector=notify_selector([]), clean=clean_targets),
    switch(const.CONF_TELEGRAM),
    Field(key=const.CONF_TELEGRAM_CHATS, selector=chats_selector([]), clean=clean_chats),
)

PROACTIVE: Final = (
    switch(const.CONF_PROACTIVE),
    *shown_if(
        const.CONF_PROACTIVE,
        (True,),
        Field(key=const.CONF_PROACTIVE_RULES, selector=proactive_selector({}), clean=clean_proactive),
        switch(const.CONF_PROACTIVE_SUGGESTIONS),
        Field(key=const.CONF_PROACTIVE_QUIET_START, selector=TimeSelector()),
        Field(key=const.CONF_PROACTIVE_QUIET_END, selector=TimeSelector()),
        int_field(const.CONF_PROACTIVE_MAX_PER_DAY, 1, 50),
    ),
)

DEBUG: Final = (
    switch(const.CONF_DEBUG_LOGGING),
    switch(const.CONF_EMIT_EVENTS),
    switch(const.CONF_CONVERSATION_LOG),
    switch(const.CONF_PANEL),
)

PAGES: Final[dict[str, tuple[Field, ...]]] = {
    "llm": LLM,
    "context": CONTEXT,
    "vector_store": VECTOR_STORE,
    "history": HISTORY,
    "memory": MEMORY,
    "prompt": PROMPT,
    "tools": TOOLS,
    "external_llm": EXTERNAL_LLM,
    "safety": SAFETY,
    "channels": CHANNELS,
    "proactive": PROACTIVE,
    "debug": DEBUG,
}


def model_field(models: Iterable[str]) -> Field:
    """Return the field that offers a server's models and takes any other name."""
    selector = SelectSelector(
        SelectSelectorConfig(
            options=list(models), mode=SelectSelectorMode.DROPDOWN, custom_value=True, sort=True
        )
    )
    return Field(key=const.CONF_MODEL, selector=selector, clean=stripped, required=True)
