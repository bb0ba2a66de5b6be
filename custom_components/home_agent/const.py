"""Option keys, defaults, event names and limits."""

import logging
from typing import Any, Final

from homeassistant.util.event_type import EventType

DOMAIN: Final = "home_agent"
VERSION: Final = 1
MINOR_VERSION: Final = 3
"""Of an entry. 1.1 was written by 0.1.0, and by another integration with this domain."""
EXTENDED_OPENAI: Final = "extended_openai_conversation"
"""The integration whose agents can be imported."""
LOGGER: Final = logging.getLogger(__package__)

ASSISTANT: Final = "conversation"
"""The assistant whose exposure settings decide what the agent sees."""

# Connection: the entry's data.
CONF_NAME: Final = "name"
CONF_BASE_URL: Final = "llm_base_url"
CONF_API_KEY: Final = "llm_api_key"
CONF_MODEL: Final = "llm_model"
CONF_PROXY_HEADERS: Final = "llm_proxy_headers"
CONF_DIALECT: Final = "llm_dialect"
CONF_AZURE_API_VERSION: Final = "azure_api_version"
CONF_PROBED_CONTEXT_SIZE: Final = "probed_context_size"
"""Tokens as reported by the server; missing if it reported none."""
CONF_PROBED_TOOL_CALLING: Final = "probed_tool_calling"
"""Whether the model called a tool when it was tried; missing where that stayed unknown."""

DIALECTS: Final = ("auto", "openai", "ollama", "azure")

# LLM
CONF_TEMPERATURE: Final = "llm_temperature"
CONF_TOP_P: Final = "llm_top_p"
CONF_MAX_TOKENS: Final = "llm_max_tokens"
CONF_KEEP_ALIVE: Final = "llm_keep_alive"
CONF_NUM_CTX: Final = "llm_num_ctx"
CONF_THINKING: Final = "thinking_enabled"
CONF_REASONING_EFFORT: Final = "reasoning_effort"
CONF_STREAMING: Final = "streaming_enabled"
CONF_FALLBACK_BASE_URL: Final = "fallback_llm_base_url"
CONF_FALLBACK_API_KEY: Final = "fallback_llm_api_key"
CONF_FALLBACK_MODEL: Final = "fallback_llm_model"
CONF_PARALLEL: Final = "llm_parallel_requests"
CONF_LOCAL_FALLBACK: Final = "local_fallback_enabled"
CONF_PRICE_PROMPT: Final = "price_prompt_tokens"
CONF_PRICE_CACHED: Final = "price_cached_tokens"
CONF_PRICE_ANSWER: Final = "price_answer_tokens"
CONF_LOCAL_FIRST: Final = "local_first_enabled"

# Context
CONF_CONTEXT_MODE: Final = "context_mode"
CONF_CONTEXT_FORMAT: Final = "context_format"
CONF_DIRECT_ATTRIBUTES: Final = "direct_attributes"
CONF_DIRECT_ENTITIES: Final = "direct_entities"
CONF_MAX_CONTEXT_TOKENS: Final = "max_context_tokens"
CONF_BUDGETS: Final = {
    slot: f"budget_{slot}"
    for slot in ("rules", "tools", "home", "history", "retrieved", "documents", "memories", "profile")
}
"""Per slot of a request: the option that sets its share, in tokens."""

CONTEXT_FORMATS: Final = ("compact", "json", "natural_language", "hybrid")

MODE_DIRECT: Final = "direct"
MODE_VECTOR: Final = "vector_db"
CONTEXT_MODES: Final = (MODE_DIRECT, MODE_VECTOR)

# Vector store
CONF_VECTOR_BACKEND: Final = "vector_db_backend"
CONF_VECTOR_HOST: Final = "vector_db_host"
CONF_VECTOR_PORT: Final = "vector_db_port"
CONF_VECTOR_SSL: Final = "vector_db_ssl"
CONF_VECTOR_TOKEN: Final = "vector_db_auth_token"  # noqa: S105 - the name of an option
CONF_VECTOR_TENANT: Final = "vector_db_tenant"
CONF_VECTOR_DATABASE: Final = "vector_db_database"
CONF_VECTOR_COLLECTION: Final = "vector_db_collection"
CONF_EMBEDDING_PROVIDER: Final = "vector_db_embedding_provider"
CONF_EMBEDDING_BASE_URL: Final = "vector_db_embedding_base_url"
CONF_EMBEDDING_MODEL: Final = "vector_db_embedding_model"
CONF_EMBEDDING_API_KEY: Final = "openai_api_key"
CONF_EMBEDDING_KEEP_ALIVE: Final = "embedding_keep_alive"
CONF_VECTOR_TOP_K: Final = "vector_db_top_k"
CONF_VECTOR_THRESHOLD: Final = "vector_db_similarity_threshold"
CONF_COLLECTIONS: Final = "additional_collections"
CONF_COLLECTIONS_TOP_K: Final = "additional_top_k"
CONF_COLLECTIONS_THRESHOLD: Final = "additional_similarity_threshold"

BACKEND_EMBEDDED: Final = "embedded"
BACKEND_CHROMA: Final = "chroma"
BACKENDS: Final = (BACKEND_EMBEDDED, BACKEND_CHROMA)

EMBEDDING_NONE: Final = "none"
EMBEDDING_BUILTIN: Final = "builtin"
EMBEDDING_OPENAI: Final = "openai"
EMBEDDING_OLLAMA: Final = "ollama"
EMBEDDING_PROVIDERS: Final = (EMBEDDING_NONE, EMBEDDING_BUILTIN, EMBEDDING_OPENAI, EMBEDDING_OLLAMA)

# History
CONF_HISTORY: Final = "history_enabled"
CONF_HISTORY_MAX_MESSAGES: Final = "history_max_messages"
CONF_HISTORY_MAX_TOKENS: Final = "history_max_tokens"
CONF_HISTORY_PERSIST: Final = "history_persist"
CONF_HISTORY_RETENTION_DAYS: Final = "history_retention_days"
CONF_HISTORY_SUMMARIZE: Final = "history_summarize"
CONF_SESSION_PERSISTENCE: Final = "session_persistence_enabled"
CONF_SESSION_TIMEOUT: Final = "session_timeout"
"""Minutes, everywhere."""

# Memory
CONF_MEMORY: Final = "memory_enabled"
CONF_MEMORY_EXTRACTION: Final = "memory_extraction_enabled"
CONF_MEMORY_EXTRACTION_LLM: Final = "memory_extraction_llm"
CONF_MEMORY_MAX: Final = "memory_max_memories"
CONF_MEMORY_MIN_IMPORTANCE: Final = "memory_min_importance"
CONF_MEMORY_COLLECTION: Final = "memory_collection_name"
CONF_MEMORY_TOP_K: Final = "memory_context_top_k"
CONF_MEMORY_DEDUP: Final = "memory_dedup_threshold"
CONF_MEMORY_DECAY: Final = "memory_importance_decay"
CONF_MEMORY_TTL: Final = {kind: f"memory_{kind}_ttl" for kind in ("event", "context", "fact", "preference")}
"""Per type of memory: the option that says how long one lives."""
CONF_MEMORY_CLEANUP: Final = "memory_cleanup_interval"
CONF_PROFILE: Final = "profile_enabled"
CONF_LEARNING: Final = "learning_enabled"
CONF_LEARNING_SOURCE: Final = "learning_source"
CONF_INFLUX_VERSION: Final = "influxdb_version"
CONF_INFLUX_URL: Final = "influxdb_url"
CONF_INFLUX_DATABASE: Final = "influxdb_database"
CONF_INFLUX_ORG: Final = "influxdb_org"
CONF_INFLUX_USERNAME: Final = "influxdb_username"
CONF_INFLUX_PASSWORD: Final = "influxdb_password"  # noqa: S105 - the name of an option
CONF_INFLUX_TOKEN: Final = "influxdb_token"  # noqa: S105 - the name of an option
SOURCE_RECORDER: Final = "recorder"
SOURCE_INFLUXDB: Final = "influxdb"
LEARNING_SOURCES: Final = (SOURCE_RECORDER, SOURCE_INFLUXDB)
INFLUX_1: Final = "v1"
INFLUX_2: Final = "v2"
INFLUX_VERSIONS: Final = (INFLUX_1, INFLUX_2)
EXTRACTION_LOCAL: Final = "local"
EXTRACTION_EXTERNAL: Final = "external"
EXTRACTION_LLMS: Final = (EXTRACTION_LOCAL, EXTRACTION_EXTERNAL)
CONF_DEVICE_PERSONS: Final = "device_persons"
"""The owners of devices: a list of device and person."""

# External LLM
CONF_EXTERNAL: Final = "external_llm_enabled"
CONF_EXTERNAL_BASE_URL: Final = "external_llm_base_url"
CONF_EXTERNAL_API_KEY: Final = "external_llm_api_key"
CONF_EXTERNAL_MODEL: Final = "external_llm_model"
CONF_EXTERNAL_TEMPERATURE: Final = "external_llm_temperature"
CONF_EXTERNAL_MAX_TOKENS: Final = "external_llm_max_tokens"
CONF_EXTERNAL_KEEP_ALIVE: Final = "external_llm_keep_alive"
CONF_EXTERNAL_DESCRIPTION: Final = "external_llm_tool_description"

# Prompt
CONF_PROMPT_USE_DEFAULT: Final = "prompt_use_default"
CONF_PROMPT_CUSTOM: Final = "prompt_custom"
CONF_PROMPT_ADDITIONS: Final = "prompt_custom_additions"
CONF_PROMPT_LABELS: Final = "prompt_include_labels"
CONF_PERSONA: Final = "persona"
CONF_RESPONSE_STYLE: Final = "response_style"
CONF_QUICK_CONFIRMATIONS: Final = "quick_confirmations"
CONF_SILENT_IN_ROOM: Final = "silent_in_room"
CONF_ONE_MOMENT: Final = "one_moment"
CONF_KEEP_LISTENING: Final = "keep_listening"

# Tools
CONF_TOOLS_NATIVE: Final = "tools_enable_native"
CONF_TOOLS_DISABLED: Final = "tools_disabled"
CONF_TOOLS_MAX_CALLS: Final = "tools_max_calls_per_turn"
CONF_TOOLS_TIMEOUT: Final = "tools_timeout"

# Web search
CONF_SEARCH_PROVIDER: Final = "web_search_provider"
CONF_SEARCH_URL: Final = "web_search_url"
CONF_SEARCH_KEY: Final = "web_search_api_key"
SEARCH_NONE: Final = "none"
SEARCH_TAVILY: Final = "tavily"
SEARCH_DUCKDUCKGO: Final = "duckduckgo"
SEARCH_SEARXNG: Final = "searxng"
SEARCH_PROVIDERS: Final = (SEARCH_NONE, SEARCH_TAVILY, SEARCH_DUCKDUCKGO, SEARCH_SEARXNG)

CONF_LLM_APIS: Final = "llm_apis"
"""Ids of other integrations' LLM APIs that the agent may use."""

# Safety
CONF_POLICY_BLOCKED: Final = "policy_blocked"
CONF_POLICY_RESTRICTED: Final = "policy_restricted"
CONF_POLICY_ALLOWED: Final = "policy_allowed"
CONF_POLICY_TIMEOUT: Final = "policy_confirmation_timeout"
"""Seconds."""
CONF_POLICY_PIN: Final = "policy_pin"
"""A salted hash, never the PIN itself."""
CONF_POLICY_PINS: Final = "policy_pins"
"""Persons with a PIN of their own, as hashes too."""
CONF_POLICY_PIN_ALWAYS: Final = "policy_pin_always"
"""Whether every confirmation needs the PIN, not only where a rule asks for it."""
CONF_POLICY_CHOICES: Final = "policy_choices"
"""Rules that were picked from lists."""
POLICY_RULES: Final = (CONF_POLICY_BLOCKED, CONF_POLICY_RESTRICTED, CONF_POLICY_ALLOWED)
"""Options that are lists of rules."""
CONF_ALLOW_SCRIPTS: Final = "allow_scripts_and_scenes"
CONF_ALLOW_AUTOMATIONS: Final = "allow_automations"
CONF_MCP_WRITES: Final = "mcp_allow_writes"
CONF_REST_ALLOWED_HOSTS: Final = "rest_allowed_hosts"
CONF_AUTOMATION_TURNS: Final = "automation_turns_per_minute"
CONF_CLOUD_PROFILE: Final = "cloud_send_profile"
CONF_CLOUD_STATES: Final = "cloud_send_ha_state"
CONF_SANITIZER_KEYWORDS: Final = "sanitizer_keywords"
"""Words that never leave the home in a search; `*` and `?` are wildcards."""

# Channels
CONF_NOTIFY_TARGETS: Final = "notify_targets"
"""Which notify targets are whose."""
CONF_TELEGRAM: Final = "telegram_enabled"
CONF_TELEGRAM_CHATS: Final = "telegram_chat_persons"
"""Which Telegram chat is whose."""

# Proactive
CONF_PROACTIVE: Final = "proactive_enabled"
CONF_PROACTIVE_RULES: Final = "proactive_rules"
CONF_PROACTIVE_SUGGESTIONS: Final = "proactive_suggestions"
CONF_PROACTIVE_QUIET_START: Final = "proactive_quiet_start"
CONF_PROACTIVE_QUIET_END: Final = "proactive_quiet_end"
CONF_PROACTIVE_MAX_PER_DAY: Final = "proactive_max_per_day"

# Debug
CONF_DEBUG_LOGGING: Final = "debug_logging"
CONF_CONVERSATION_LOG: Final = "conversation_log_enabled"
CONF_PANEL: Final = "panel_enabled"
CONF_EMIT_EVENTS: Final = "emit_events"

# What makes one agent differ from another on the same connection
CONF_VISIBLE: Final = "visible_entities"
"""What the agent may see: entities, devices, areas, floors and labels. Empty: everything exposed."""
CONF_CONTROLLABLE: Final = "controllable_entities"
"""What it may control of what it sees. Empty: all of it."""
CONF_ANNOUNCE_EXCLUDED: Final = "announce_excluded"
"""Satellites and speakers that never announce anything."""
CONF_SHARED_MEMORY: Final = "shared_memory"
"""Whether a further agent uses the first one's memory. Not set: it does if CONF_VISIBLE is empty."""

DEFAULTS: Final[dict[str, Any]] = {
    CONF_DIALECT: "auto",
    CONF_TEMPERATURE: 0.7,
    CONF_TOP_P: 1.0,
    CONF_MAX_TOKENS: 500,
    CONF_KEEP_ALIVE: "5m",
    CONF_THINKING: False,
    CONF_STREAMING: True,
    CONF_LOCAL_FALLBACK: True,
    CONF_LOCAL_FIRST: False,
    CONF_CONTEXT_MODE: MODE_DIRECT,
    CONF_DIRECT_ENTITIES: [],
    CONF_MAX_CONTEXT_TOKENS: 8000,
    CONF_CONTEXT_FORMAT: "compact",
    CONF_DIRECT_ATTRIBUTES: [],
    CONF_VECTOR_BACKEND: BACKEND_EMBEDDED,
    CONF_VECTOR_HOST: "localhost",
    CONF_VECTOR_PORT: 8000,
    CONF_VECTOR_SSL: False,
    CONF_VECTOR_TOKEN: "",
    CONF_VECTOR_TENANT: "default_tenant",
    CONF_VECTOR_DATABASE: "default_database",
    CONF_VECTOR_COLLECTION: "home_entities",
    CONF_EMBEDDING_PROVIDER: EMBEDDING_NONE,
    CONF_EMBEDDING_BASE_URL: "",
    CONF_EMBEDDING_MODEL: "",
    CONF_EMBEDDING_API_KEY: "",
    CONF_EMBEDDING_KEEP_ALIVE: "5m",
    CONF_VECTOR_TOP_K: 5,
    CONF_VECTOR_THRESHOLD: 0.1,
    CONF_COLLECTIONS: [],
    CONF_COLLECTIONS_TOP_K: 5,
    CONF_COLLECTIONS_THRESHOLD: 0.3,
    CONF_HISTORY: True,
    CONF_HISTORY_MAX_MESSAGES: 10,
    CONF_HISTORY_MAX_TOKENS: 4000,
    CONF_HISTORY_PERSIST: True,
    CONF_HISTORY_RETENTION_DAYS: 7,
    CONF_HISTORY_SUMMARIZE: False,
    CONF_SESSION_PERSISTENCE: True,
    CONF_SESSION_TIMEOUT: 30,
    CONF_MEMORY: True,
    CONF_MEMORY_EXTRACTION: True,
    CONF_MEMORY_EXTRACTION_LLM: EXTRACTION_LOCAL,
    CONF_MEMORY_MAX: 100,
    CONF_MEMORY_MIN_IMPORTANCE: 0.3,
    CONF_MEMORY_COLLECTION: "home_agent_memories",
    CONF_MEMORY_TOP_K: 5,
    CONF_MEMORY_DEDUP: 0.85,
    CONF_MEMORY_DECAY: 0.0,
    CONF_MEMORY_TTL["event"]: "90d",
    CONF_MEMORY_TTL["context"]: "14d",
    CONF_MEMORY_CLEANUP: "1h",
    CONF_PROFILE: True,
    CONF_LEARNING: False,
    CONF_LEARNING_SOURCE: SOURCE_RECORDER,
    CONF_INFLUX_VERSION: INFLUX_1,
    CONF_INFLUX_URL: "",
    CONF_INFLUX_DATABASE: "home_assistant",
    CONF_INFLUX_ORG: "",
    CONF_INFLUX_USERNAME: "",
    CONF_INFLUX_PASSWORD: "",
    CONF_INFLUX_TOKEN: "",
    CONF_DEVICE_PERSONS: [],
    CONF_EXTERNAL: False,
    CONF_EXTERNAL_BASE_URL: "",
    CONF_EXTERNAL_API_KEY: "",
    CONF_EXTERNAL_MODEL: "",
    CONF_EXTERNAL_TEMPERATURE: 0.8,
    CONF_EXTERNAL_MAX_TOKENS: 1000,
    CONF_EXTERNAL_KEEP_ALIVE: "5m",
    CONF_EXTERNAL_DESCRIPTION: (
        "Ask a stronger model that knows a lot but nothing of this house or conversation. "
        "For hard questions, plans and long texts. The prompt says all it needs."
    ),
    CONF_PROMPT_USE_DEFAULT: True,
    CONF_PROMPT_CUSTOM: "",
    CONF_PROMPT_ADDITIONS: "",
    CONF_PROMPT_LABELS: False,
    CONF_PERSONA: "",
    CONF_RESPONSE_STYLE: "concise",
    CONF_QUICK_CONFIRMATIONS: True,
    CONF_SILENT_IN_ROOM: False,
    CONF_ONE_MOMENT: True,
    CONF_KEEP_LISTENING: False,
    CONF_TOOLS_NATIVE: True,
    CONF_TOOLS_DISABLED: [],
    CONF_TOOLS_MAX_CALLS: 5,
    CONF_TOOLS_TIMEOUT: 30,
    CONF_SEARCH_PROVIDER: SEARCH_NONE,
    CONF_SEARCH_URL: "",
    CONF_SEARCH_KEY: "",
    CONF_LLM_APIS: [],
    CONF_POLICY_CHOICES: [],
    CONF_POLICY_BLOCKED: [],
    CONF_POLICY_RESTRICTED: [],
    CONF_POLICY_ALLOWED: [],
    CONF_POLICY_TIMEOUT: 60,
    CONF_POLICY_PIN: "",
    CONF_POLICY_PINS: [],
    CONF_POLICY_PIN_ALWAYS: True,
    CONF_ALLOW_SCRIPTS: True,
    CONF_ALLOW_AUTOMATIONS: True,
    CONF_MCP_WRITES: False,
    CONF_REST_ALLOWED_HOSTS: [],
    CONF_AUTOMATION_TURNS: 30,
    CONF_CLOUD_PROFILE: False,
    CONF_CLOUD_STATES: True,
    CONF_SANITIZER_KEYWORDS: [],
    CONF_NOTIFY_TARGETS: [],
    CONF_TELEGRAM: False,
    CONF_TELEGRAM_CHATS: [],
    CONF_PROACTIVE: False,
    CONF_PROACTIVE_RULES: [],
    CONF_PROACTIVE_SUGGESTIONS: True,
    CONF_PROACTIVE_QUIET_START: "22:00:00",
    CONF_PROACTIVE_QUIET_END: "07:00:00",
    CONF_PROACTIVE_MAX_PER_DAY: 5,
    CONF_DEBUG_LOGGING: False,
    CONF_CONVERSATION_LOG: False,
    CONF_PANEL: True,
    CONF_EMIT_EVENTS: True,
    CONF_VISIBLE: {},
    CONF_CONTROLLABLE: {},
    CONF_ANNOUNCE_EXCLUDED: [],
}

# Events
type EventData = dict[str, Any]
"""`docs/reference/events.md` describes the fields; the emitter adds the agent, and the time (ISO, UTC)."""
EVENT_CONVERSATION_STARTED: Final = EventType[EventData](f"{DOMAIN}.conversation.started")
EVENT_CONVERSATION_FINISHED: Final = EventType[EventData](f"{DOMAIN}.conversation.finished")
EVENT_TOOL_EXECUTED: Final = EventType[EventData](f"{DOMAIN}.tool.executed")
EVENT_TOOL_PROGRESS: Final = EventType[EventData](f"{DOMAIN}.tool.progress")
EVENT_CONTEXT_INJECTED: Final = EventType[EventData](f"{DOMAIN}.context.injected")
EVENT_CONTEXT_OPTIMIZED: Final = EventType[EventData](f"{DOMAIN}.context.optimized")
EVENT_CONFIRMATION_REQUESTED: Final = EventType[EventData](f"{DOMAIN}.confirmation.requested")
EVENT_CONFIRMATION_RESOLVED: Final = EventType[EventData](f"{DOMAIN}.confirmation.resolved")
EVENT_INDEX_PROGRESS: Final = EventType[EventData](f"{DOMAIN}.index.progress")
EVENT_VECTOR_QUERIED: Final = EventType[EventData](f"{DOMAIN}.vector_db.queried")
EVENT_HISTORY_SAVED: Final = EventType[EventData](f"{DOMAIN}.history.saved")
EVENT_MEMORY_EXTRACTED: Final = EventType[EventData](f"{DOMAIN}.memory.extracted")
EVENT_MEMORY_STORED: Final = EventType[EventData](f"{DOMAIN}.memory.stored")
EVENT_PLANNED_RUN: Final = EventType[EventData](f"{DOMAIN}.planned.run")
EVENT_SUGGESTION_REQUESTED: Final = EventType[EventData](f"{DOMAIN}.suggestion.requested")
EVENT_SUGGESTION_RESOLVED: Final = EventType[EventData](f"{DOMAIN}.suggestion.resolved")
EVENT_TIMER_FINISHED: Final = EventType[EventData](f"{DOMAIN}.timer.finished")
EVENT_STREAMING_ERROR: Final = EventType[EventData](f"{DOMAIN}.streaming.error")
EVENT_ERROR: Final = EventType[EventData](f"{DOMAIN}.error")

# Limits of one turn
MAX_SENTENCE_CHARS: Final = 8_000
"""Longer sentences are refused before anything reads them."""
HEARTBEAT_SECONDS: Final = 3.0
MOMENT_SECONDS: Final = 1.2
"""How long a voice turn may be silent before one moment is asked for."""
MAX_RESULT_CHARS: Final = 8000
