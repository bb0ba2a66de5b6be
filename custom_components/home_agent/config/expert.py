"""The pages of options for experts as tables: which fields each has, in which order."""

from dataclasses import replace
from typing import Final

from homeassistant.helpers.selector import (
    EntitySelector,
    EntitySelectorConfig,
    TemplateSelector,
)

from .. import const
from ..safety.rules import restricted_rules
from ..tools.native import NATIVE
from .fields import (
    FIELD_PATTERNS,
    Field,
    choice,
    fraction_field,
    in_section,
    int_field,
    key,
    number,
    shown_if,
    span_field,
    stripped,
    switch,
    text,
    texts,
    within,
)
from .validators import (
    clean_attributes,
    clean_collection,
    clean_collections,
    clean_duration,
    clean_hosts,
    clean_names,
    clean_patterns,
    clean_rules,
    normalise_url,
)

TOKENS: Final = "tokens"
ALWAYS: Final = "always"
KEEP_ALIVES: Final = ("5m", "30m", "1h", "24h", ALWAYS)
"""Offered beside any other duration that the server can read."""
REASONING_EFFORTS: Final = ("none", "minimal", "low", "medium", "high")

PRICES: Final = (const.CONF_PRICE_PROMPT, const.CONF_PRICE_CACHED, const.CONF_PRICE_ANSWER)
HIGHEST_PRICE: Final = 10_000


def _price(key: str) -> Field:
    return Field(
        key=key,
        selector=number(0, HIGHEST_PRICE, 0.001),
        clean=lambda value: within(float(value), 0, HIGHEST_PRICE),
    )


def keep_alive(key: str) -> Field:
    """Return a field for how long a server keeps its model loaded; servers write always as -1."""
    return Field(
        key=key,
        selector=choice("keep_alive", KEEP_ALIVES, free=True),
        clean=lambda value: "-1" if value == ALWAYS else clean_duration(value),
        show=lambda value: ALWAYS if value == "-1" else value,
    )


LLM: Final = (
    fraction_field(const.CONF_TEMPERATURE, 2),
    fraction_field(const.CONF_TOP_P, 1),
    int_field(const.CONF_MAX_TOKENS, 1, 100_000, TOKENS),
    replace(keep_alive(const.CONF_KEEP_ALIVE), only_ollama=True),
    replace(int_field(const.CONF_NUM_CTX, 512, 2_000_000, TOKENS), only_ollama=True),
    Field(
        key=const.CONF_REASONING_EFFORT,
        selector=choice("reasoning_effort", REASONING_EFFORTS, free=True),
        clean=stripped,
    ),
    switch(const.CONF_STREAMING),
    switch(const.CONF_LOCAL_FALLBACK),
    *in_section("prices", *map(_price, PRICES)),
    *in_section("requests", int_field(const.CONF_PARALLEL, 1, 64)),
    *in_section(
        "external",
        fraction_field(const.CONF_EXTERNAL_TEMPERATURE, 2),
        int_field(const.CONF_EXTERNAL_MAX_TOKENS, 1, 100_000, TOKENS),
        keep_alive(const.CONF_EXTERNAL_KEEP_ALIVE),
        Field(key=const.CONF_EXTERNAL_DESCRIPTION, selector=text(multiline=True), clean=stripped),
    ),
)

CONTEXT: Final = (
    Field(key=const.CONF_CONTEXT_MODE, selector=choice("context_mode", const.CONTEXT_MODES)),
    Field(
        key=const.CONF_DIRECT_ENTITIES,
        selector=EntitySelector(EntitySelectorConfig(multiple=True)),
        clean=clean_names,
    ),
    texts(FIELD_PATTERNS, clean_patterns),
    texts(const.CONF_DIRECT_ATTRIBUTES, clean_attributes),
    Field(key=const.CONF_CONTEXT_FORMAT, selector=choice("context_format", const.CONTEXT_FORMATS)),
    int_field(const.CONF_MAX_CONTEXT_TOKENS, 1_000, 128_000, TOKENS),
    *in_section("shares", *(int_field(key, 0, 100_000, TOKENS) for key in const.CONF_BUDGETS.values())),
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
        keep_alive(const.CONF_EMBEDDING_KEEP_ALIVE),
    ),
    Field(key=const.CONF_VECTOR_BACKEND, selector=choice("vector_backend", const.BACKENDS)),
    *shown_if(
        const.CONF_VECTOR_BACKEND,
        (const.BACKEND_CHROMA,),
        *in_section(
            "chroma",
            Field(key=const.CONF_VECTOR_HOST, selector=text(), clean=stripped),
            int_field(const.CONF_VECTOR_PORT, 1, 65_535),
            switch(const.CONF_VECTOR_SSL),
            Field(key=const.CONF_VECTOR_TOKEN, selector=key(), secret=True),
            Field(key=const.CONF_VECTOR_TENANT, selector=text(), clean=stripped),
            Field(key=const.CONF_VECTOR_DATABASE, selector=text(), clean=stripped),
        ),
    ),
    *in_section(
        "collections",
        Field(key=const.CONF_VECTOR_COLLECTION, selector=text(), clean=clean_collection),
        int_field(const.CONF_VECTOR_TOP_K, 1, 50),
        fraction_field(const.CONF_VECTOR_THRESHOLD, 1),
        texts(const.CONF_COLLECTIONS, clean_collections),
        int_field(const.CONF_COLLECTIONS_TOP_K, 1, 50),
        fraction_field(const.CONF_COLLECTIONS_THRESHOLD, 1),
    ),
)

HISTORY: Final = (
    switch(const.CONF_HISTORY),
    *shown_if(
        const.CONF_HISTORY,
        (True,),
        int_field(const.CONF_HISTORY_MAX_MESSAGES, 1, 100),
        int_field(const.CONF_HISTORY_MAX_TOKENS, 100, 50_000, TOKENS),
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

MEMORY_DETAILS: Final = (
    Field(
        key=const.CONF_MEMORY_EXTRACTION_LLM,
        selector=choice("memory_extraction_llm", const.EXTRACTION_LLMS),
    ),
    fraction_field(const.CONF_MEMORY_MIN_IMPORTANCE, 1),
    int_field(const.CONF_MEMORY_TOP_K, 1, 20),
    int_field(const.CONF_MEMORY_MAX, 10, 10_000),
    fraction_field(const.CONF_MEMORY_DEDUP, 1),
    fraction_field(const.CONF_MEMORY_DECAY, 1),
    Field(key=const.CONF_MEMORY_COLLECTION, selector=text(), clean=clean_collection),
    *in_section(
        "kept_for",
        *(span_field(key, days=True) for key in const.CONF_MEMORY_TTL.values()),
        span_field(const.CONF_MEMORY_CLEANUP),
    ),
    *in_section(
        "learning",
        Field(key=const.CONF_LEARNING_SOURCE, selector=choice("learning_source", const.LEARNING_SOURCES)),
        *shown_if(const.CONF_LEARNING_SOURCE, (const.SOURCE_INFLUXDB,), *_INFLUXDB),
    ),
)

PROMPT: Final = (
    switch(const.CONF_PROMPT_USE_DEFAULT),
    *shown_if(
        const.CONF_PROMPT_USE_DEFAULT,
        (False,),
        Field(key=const.CONF_PROMPT_CUSTOM, selector=TemplateSelector(), clean=stripped),
    ),
    switch(const.CONF_PROMPT_LABELS),
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
