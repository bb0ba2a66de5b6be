"""The forms as tables: which field, with which selector, kept how."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import probatio

from homeassistant.helpers.selector import (
    BooleanSelector,
    EntitySelector,
    EntitySelectorConfig,
    NumberSelector,
    NumberSelectorConfig,
    NumberSelectorMode,
    Selector,
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
from .lists import notify_selector, owners_selector, proactive_selector, profiles_selector
from .proactive import clean_proactive
from .validators import (
    InvalidInput,
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
    clean_rules,
    clean_span,
    clean_targets,
    is_pattern,
    normalise_url,
    shown_secret,
    typed_secret,
)

type Values = dict[str, Any]

FIELD_PATTERNS: Final = "direct_patterns"
"""Field of the form only: its patterns are stored with the entities, under `direct_entities`."""

EXAMPLES: Final = {
    "example_local": "http://192.168.1.5:11434",
    "example_cloud": "https://api.openai.com/v1",
    "example_version": "2024-10-21",
}
"""Placeholders of the forms; addresses do not stand in translations."""

NATIVE_TOOLS: Final = (
    *("ha_control", "ha_query", "activity", "retrieve_knowledge", "get_ha_entities"),
    *("store_memory", "recall_memory", "forget_memory"),
    *("get_user_profile", "update_user_profile", "query_external_llm", "search_web"),
    *("todo_list", "calendar", "weather", "timer", "notify_person", "look_at_camera"),
)
REASONING_EFFORTS: Final = ("none", "minimal", "low", "medium", "high")
RESPONSE_STYLES: Final = ("concise", "normal", "detailed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a form.

    `clean` turns what the form gives into what is stored and raises InvalidInput.
    """

    key: str
    selector: Selector[Any]
    clean: Callable[[Any], Any] = lambda value: value
    required: bool = False
    secret: bool = False


@dataclass(slots=True)
class Checked:
    """A form after its checks: the values to store, or what is wrong with them."""

    values: Values
    errors: dict[str, str]
    placeholders: dict[str, str]
    report: str = ""
    """The step that tells what was found out before the values are stored; empty where there is nothing."""

    def fail(self, field: str, error: InvalidInput) -> None:
        """Note what is wrong with a field."""
        self.errors[field] = error.key
        self.placeholders |= error.placeholders


def _stripped(value: str) -> str:
    """Return text without surrounding space."""
    return value.strip()


def _text(kind: TextSelectorType = TextSelectorType.TEXT, *, multiline: bool = False) -> TextSelector:
    """Return a selector of one line, or of several."""
    if multiline:
        return TextSelector(TextSelectorConfig(multiline=True))
    return TextSelector(TextSelectorConfig(type=kind))


def _key() -> TextSelector:
    """Return a selector that hides what is typed."""
    return TextSelector(TextSelectorConfig(type=TextSelectorType.PASSWORD, autocomplete="off"))


def _number(low: float, high: float, step: float, unit: str | None = None) -> NumberSelector:
    """Return a box for a number within limits."""
    config = NumberSelectorConfig(min=low, max=high, step=step, mode=NumberSelectorMode.BOX)
    if unit:
        config["unit_of_measurement"] = unit
    return NumberSelector(config)


def _choice(
    name: str, options: Iterable[str], *, free: bool = False, multiple: bool = False
) -> SelectSelector:
    """Return a dropdown whose labels stand in the translations."""
    return SelectSelector(
        SelectSelectorConfig(
            options=list(options),
            mode=SelectSelectorMode.DROPDOWN,
            translation_key=name,
            custom_value=free,
            multiple=multiple,
        )
    )


def _switch(key: str) -> Field:
    """Return a field that is on or off."""
    return Field(key=key, selector=BooleanSelector())


def _whole(key: str, low: int, high: int, unit: str | None = None) -> Field:
    """Return a field for a whole number."""
    return Field(key=key, selector=_number(low, high, 1, unit), clean=int)


def _share(key: str, high: float) -> Field:
    """Return a field for a number from 0 to `high` in steps of 0.05."""
    return Field(key=key, selector=_number(0, high, 0.05), clean=lambda value: round(value, 3))


def _rules(key: str) -> Field:
    """Return a field for rules of the policy."""
    return Field(key=key, selector=TextSelector(TextSelectorConfig(multiple=True)), clean=clean_rules)


CONNECTION: Final = (
    Field(key=const.CONF_NAME, selector=_text(), clean=_stripped),
    Field(
        key=const.CONF_BASE_URL,
        selector=TextSelector(TextSelectorConfig(type=TextSelectorType.TEXT, autocomplete="url")),
        clean=normalise_url,
        required=True,
    ),
    Field(key=const.CONF_API_KEY, selector=_key(), secret=True),
    Field(key=const.CONF_DIALECT, selector=_choice("dialect", const.DIALECTS)),
    Field(key=const.CONF_PROXY_HEADERS, selector=_text(multiline=True), clean=_stripped),
    Field(key=const.CONF_AZURE_API_VERSION, selector=_text(), clean=_stripped),
)

REAUTH: Final = (Field(key=const.CONF_API_KEY, selector=_key(), secret=True),)

LLM: Final = (
    _share(const.CONF_TEMPERATURE, 2),
    _share(const.CONF_TOP_P, 1),
    _whole(const.CONF_MAX_TOKENS, 1, 100_000),
    Field(key=const.CONF_KEEP_ALIVE, selector=_text(), clean=clean_duration),
    _whole(const.CONF_NUM_CTX, 512, 2_000_000),
    _switch(const.CONF_THINKING),
    Field(
        key=const.CONF_REASONING_EFFORT,
        selector=_choice("reasoning_effort", REASONING_EFFORTS, free=True),
        clean=_stripped,
    ),
    _switch(const.CONF_STREAMING),
    _switch(const.CONF_LOCAL_FIRST),
    _switch(const.CONF_LOCAL_FALLBACK),
    Field(
        key=const.CONF_LLM_APIS,
        selector=SelectSelector(SelectSelectorConfig(options=[], multiple=True, custom_value=True)),
        clean=clean_names,
    ),
    Field(key=const.CONF_FALLBACK_BASE_URL, selector=_text(), clean=normalise_url),
    Field(key=const.CONF_FALLBACK_API_KEY, selector=_key(), secret=True),
    Field(key=const.CONF_FALLBACK_MODEL, selector=_text(), clean=_stripped),
)

CONTEXT: Final = (
    Field(key=const.CONF_CONTEXT_MODE, selector=_choice("context_mode", const.CONTEXT_MODES)),
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
    Field(key=const.CONF_CONTEXT_FORMAT, selector=_choice("context_format", const.CONTEXT_FORMATS)),
    _whole(const.CONF_MAX_CONTEXT_TOKENS, 1_000, 128_000),
    *(_whole(key, 0, 100_000) for key in const.CONF_BUDGETS.values()),
)

VECTOR_STORE: Final = (
    Field(
        key=const.CONF_EMBEDDING_PROVIDER,
        selector=_choice("embedding_provider", const.EMBEDDING_PROVIDERS),
    ),
    Field(key=const.CONF_EMBEDDING_BASE_URL, selector=_text(), clean=normalise_url),
    Field(key=const.CONF_EMBEDDING_MODEL, selector=_text(), clean=_stripped),
    Field(key=const.CONF_EMBEDDING_API_KEY, selector=_key(), secret=True),
    Field(key=const.CONF_EMBEDDING_KEEP_ALIVE, selector=_text(), clean=clean_duration),
    Field(key=const.CONF_VECTOR_BACKEND, selector=_choice("vector_backend", const.BACKENDS)),
    Field(key=const.CONF_VECTOR_HOST, selector=_text(), clean=_stripped),
    _whole(const.CONF_VECTOR_PORT, 1, 65_535),
    _switch(const.CONF_VECTOR_SSL),
    Field(key=const.CONF_VECTOR_TOKEN, selector=_key(), secret=True),
    Field(key=const.CONF_VECTOR_TENANT, selector=_text(), clean=_stripped),
    Field(key=const.CONF_VECTOR_DATABASE, selector=_text(), clean=_stripped),
    Field(key=const.CONF_VECTOR_COLLECTION, selector=_text(), clean=clean_collection),
    _whole(const.CONF_VECTOR_TOP_K, 1, 50),
    _share(const.CONF_VECTOR_THRESHOLD, 1),
    Field(
        key=const.CONF_COLLECTIONS,
        selector=TextSelector(TextSelectorConfig(multiple=True)),
        clean=clean_collections,
    ),
    _whole(const.CONF_COLLECTIONS_TOP_K, 1, 50),
    _share(const.CONF_COLLECTIONS_THRESHOLD, 1),
)

HISTORY: Final = (
    _switch(const.CONF_HISTORY),
    _whole(const.CONF_HISTORY_MAX_MESSAGES, 1, 100),
    _whole(const.CONF_HISTORY_MAX_TOKENS, 100, 50_000),
    _switch(const.CONF_HISTORY_PERSIST),
    _whole(const.CONF_HISTORY_RETENTION_DAYS, 1, 365, "d"),
    _switch(const.CONF_HISTORY_SUMMARIZE),
    _switch(const.CONF_SESSION_PERSISTENCE),
    _whole(const.CONF_SESSION_TIMEOUT, 1, 1_440, "min"),
)

MEMORY: Final = (
    _switch(const.CONF_MEMORY),
    _switch(const.CONF_PROFILE),
    Field(key=const.CONF_DEVICE_PERSONS, selector=owners_selector(), clean=clean_owners),
    _switch(const.CONF_MEMORY_EXTRACTION),
    Field(
        key=const.CONF_MEMORY_EXTRACTION_LLM,
        selector=_choice("memory_extraction_llm", const.EXTRACTION_LLMS),
    ),
    _share(const.CONF_MEMORY_MIN_IMPORTANCE, 1),
    _whole(const.CONF_MEMORY_TOP_K, 1, 20),
    _whole(const.CONF_MEMORY_MAX, 10, 10_000),
    _share(const.CONF_MEMORY_DEDUP, 1),
    _share(const.CONF_MEMORY_DECAY, 1),
    *(Field(key=key, selector=_text(), clean=clean_span) for key in const.CONF_MEMORY_TTL.values()),
    Field(key=const.CONF_MEMORY_CLEANUP, selector=_text(), clean=clean_span),
    Field(key=const.CONF_MEMORY_COLLECTION, selector=_text(), clean=clean_collection),
    _switch(const.CONF_LEARNING),
    Field(key=const.CONF_LEARNING_SOURCE, selector=_choice("learning_source", const.LEARNING_SOURCES)),
    Field(key=const.CONF_INFLUX_VERSION, selector=_choice("influxdb_version", const.INFLUX_VERSIONS)),
    Field(key=const.CONF_INFLUX_URL, selector=_text(), clean=normalise_url),
    Field(key=const.CONF_INFLUX_DATABASE, selector=_text(), clean=_stripped),
    Field(key=const.CONF_INFLUX_ORG, selector=_text(), clean=_stripped),
    Field(key=const.CONF_INFLUX_USERNAME, selector=_text(), clean=_stripped),
    Field(key=const.CONF_INFLUX_PASSWORD, selector=_key(), secret=True),
    Field(key=const.CONF_INFLUX_TOKEN, selector=_key(), secret=True),
)

EXTERNAL_LLM: Final = (
    _switch(const.CONF_EXTERNAL),
    Field(key=const.CONF_EXTERNAL_BASE_URL, selector=_text(), clean=normalise_url),
    Field(key=const.CONF_EXTERNAL_API_KEY, selector=_key(), secret=True),
    Field(key=const.CONF_EXTERNAL_MODEL, selector=_text(), clean=_stripped),
    _share(const.CONF_EXTERNAL_TEMPERATURE, 2),
    _whole(const.CONF_EXTERNAL_MAX_TOKENS, 1, 100_000),
    Field(key=const.CONF_EXTERNAL_KEEP_ALIVE, selector=_text(), clean=clean_duration),
    Field(key=const.CONF_EXTERNAL_DESCRIPTION, selector=_text(multiline=True), clean=_stripped),
)

PROMPT: Final = (
    _switch(const.CONF_PROMPT_USE_DEFAULT),
    Field(key=const.CONF_PROMPT_CUSTOM, selector=TemplateSelector(), clean=_stripped),
    Field(key=const.CONF_PROMPT_ADDITIONS, selector=TemplateSelector(), clean=_stripped),
    _switch(const.CONF_PROMPT_LABELS),
    Field(key=const.CONF_PERSONA, selector=_text(multiline=True), clean=_stripped),
    Field(key=const.CONF_RESPONSE_STYLE, selector=_choice("response_style", RESPONSE_STYLES)),
)

TOOLS: Final = (
    _switch(const.CONF_TOOLS_NATIVE),
    Field(
        key=const.CONF_TOOLS_DISABLED,
        selector=_choice("tools_disabled", NATIVE_TOOLS, free=True, multiple=True),
        clean=clean_names,
    ),
    _whole(const.CONF_TOOLS_MAX_CALLS, 1, 50),
    _whole(const.CONF_TOOLS_TIMEOUT, 5, 300, "s"),
    Field(key=const.CONF_SEARCH_PROVIDER, selector=_choice("search_provider", const.SEARCH_PROVIDERS)),
    Field(key=const.CONF_SEARCH_URL, selector=_text(), clean=normalise_url),
    Field(key=const.CONF_SEARCH_KEY, selector=_key(), secret=True),
)

SAFETY: Final = (
    _rules(const.CONF_POLICY_BLOCKED),
    _rules(const.CONF_POLICY_RESTRICTED),
    _rules(const.CONF_POLICY_ALLOWED),
    _whole(const.CONF_POLICY_TIMEOUT, 10, 600, "s"),
    Field(key=const.CONF_POLICY_PIN, selector=_key(), secret=True),
    Field(key=const.CONF_POLICY_PROFILES, selector=profiles_selector(), clean=clean_profiles),
    _switch(const.CONF_ALLOW_SCRIPTS),
    Field(
        key=const.CONF_REST_ALLOWED_HOSTS,
        selector=TextSelector(TextSelectorConfig(multiple=True)),
        clean=clean_hosts,
    ),
    _switch(const.CONF_MCP_WRITES),
    _whole(const.CONF_AUTOMATION_TURNS, 1, 1_000),
    _switch(const.CONF_CLOUD_PROFILE),
    _switch(const.CONF_CLOUD_STATES),
    Field(
        key=const.CONF_SANITIZER_KEYWORDS,
        selector=TextSelector(TextSelectorConfig(multiple=True)),
        clean=clean_keywords,
    ),
)

CHANNELS: Final = (Field(key=const.CONF_NOTIFY_TARGETS, selector=notify_selector([]), clean=clean_targets),)

PROACTIVE: Final = (
    _switch(const.CONF_PROACTIVE),
    Field(key=const.CONF_PROACTIVE_RULES, selector=proactive_selector(), clean=clean_proactive),
    _switch(const.CONF_PROACTIVE_SUGGESTIONS),
    Field(key=const.CONF_PROACTIVE_QUIET_START, selector=TimeSelector()),
    Field(key=const.CONF_PROACTIVE_QUIET_END, selector=TimeSelector()),
    _whole(const.CONF_PROACTIVE_MAX_PER_DAY, 1, 50),
)

DEBUG: Final = (_switch(const.CONF_DEBUG_LOGGING), _switch(const.CONF_EMIT_EVENTS))

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
    return Field(key=const.CONF_MODEL, selector=selector, clean=_stripped, required=True)


def form(fields: Iterable[Field], shown: Mapping[str, Any]) -> probatio.Schema:
    """Return the schema of a form that shows values.

    They are suggestions, no defaults: a field that is emptied comes back empty.
    """
    return probatio.Schema(
        {
            (probatio.Required if field.required else probatio.Optional)(
                field.key, description={"suggested_value": shown.get(field.key)}
            ): field.selector
            for field in fields
        }
    )


def stored_values(fields: Iterable[Field], stored: Mapping[str, Any]) -> Values:
    """Return what a form shows: the stored values, the defaults and stand-ins for secrets."""
    shown = {field.key: stored.get(field.key, const.DEFAULTS.get(field.key)) for field in fields}
    for field in fields:
        if field.secret:
            shown[field.key] = shown_secret(shown[field.key])
    if FIELD_PATTERNS in shown:
        chosen = shown[const.CONF_DIRECT_ENTITIES]
        shown[FIELD_PATTERNS] = [value for value in chosen if is_pattern(value)]
        shown[const.CONF_DIRECT_ENTITIES] = [value for value in chosen if not is_pattern(value)]
    return {key: value for key, value in shown.items() if value is not None}


def check(fields: Iterable[Field], typed: Mapping[str, Any], stored: Mapping[str, Any]) -> Checked:
    """Return a form's values as they are stored, without those that were left or made empty."""
    checked = Checked({}, {}, {})
    for field in fields:
        value = typed.get(field.key)
        if field.secret:
            value = typed_secret(value, stored.get(field.key))
        if not _is_filled(value):
            continue
        try:
            checked.values[field.key] = field.clean(value)
        except InvalidInput as err:
            checked.fail(field.key, err)
    if patterns := checked.values.pop(FIELD_PATTERNS, None):
        entities = checked.values.get(const.CONF_DIRECT_ENTITIES, [])
        checked.values[const.CONF_DIRECT_ENTITIES] = clean_names([*entities, *patterns])
    checked.values = {key: value for key, value in checked.values.items() if _is_filled(value)}
    return checked


def _is_filled(value: Any) -> bool:
    """Return whether a field holds something."""
    return value is not None and value != [] and not (isinstance(value, str) and not value.strip())
