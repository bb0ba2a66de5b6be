"""Fields of forms: with which selector, kept how; and forms made and checked of them."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field as attribute
from datetime import timedelta
import re
from typing import Any, Final, NamedTuple

import probatio

from homeassistant import data_entry_flow
from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant
from homeassistant.helpers.http import current_request
from homeassistant.helpers.selector import (
    BooleanSelector,
    DurationSelector,
    DurationSelectorConfig,
    NumberSelector,
    NumberSelectorConfig,
    NumberSelectorMode,
    SelectOptionDict,
    Selector,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
)
from homeassistant.helpers.template import is_template_string

from .. import const
from ..connection import is_cloud
from ..errors import InvalidInput
from ..inference.dialects.base import parse_address
from ..knowledge.speaker import DEVICE, PERSON
from ..regex import lazy_regex
from ..safety.rules import PIN, RULE, as_texts
from ..settings import defaults_of
from ..timespans import read_span
from ..tools.recipients import NO_PERSONS, TARGETS


async def async_language(hass: HomeAssistant) -> str:
    """Return the language in which a form is read: that of the reader's profile, else that of the home."""
    request = current_request.get()
    user: User | None = request.get("hass_user") if request is not None else None
    if user is not None and "frontend" in hass.config.components:
        from homeassistant.components.frontend.storage import async_user_store  # noqa: PLC0415

        chosen = (await async_user_store(hass, user.id)).data.get("language")
        if isinstance(chosen, dict) and isinstance(language := chosen.get("language"), str):
            return language
    return hass.config.language


UNITS: Final = {"days": ("d", 86_400), "hours": ("h", 3600), "minutes": ("m", 60), "seconds": ("s", 1)}
"""The parts of a duration in a form, with the letter and the seconds of each."""


def written_span(length: timedelta) -> str:
    """Return a span as text, in the largest units that fit: 1h30m. Zero is 0."""
    left, parts = int(length.total_seconds()), []
    for letter, size in UNITS.values():
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{letter}")
    return "".join(parts) or "0"


def clean_span(value: Any) -> str:
    """Return a span of time as text, from text or from the parts of a form. Raises InvalidInput."""
    try:
        if isinstance(value, Mapping):
            parts = {name: float(value.get(name) or 0) for name in UNITS}
            return written_span(timedelta(**parts))
        span = "".join(str(value).split()).lower()
        read_span(span)
    except (TypeError, ValueError, OverflowError) as err:
        raise InvalidInput("invalid_span") from err
    return span


def shown_span(value: Any) -> dict[str, int] | None:
    """Return a stored span in the parts of a form; None for one that cannot be read."""
    try:
        length = read_span(value)
    except ValueError, OverflowError:
        return None
    left, parts = int(length.total_seconds()) if length else 0, {}
    for name, (_, size) in UNITS.items():
        parts[name], left = divmod(left, size)
    return parts


MAX_PATTERNS: Final = 500
MAX_TARGETS: Final = 20
MAX_COLLECTIONS: Final = 10
_DURATION = lazy_regex(r"^(?:-1|\d+|(?:\d+(?:\.\d+)?(?:ms|s|m|h))+)$")
_TARGET = lazy_regex(r"^notify\.[a-z0-9_]+$")
_ALLOWED_HOST = lazy_regex(r"^(\[?[a-z0-9*?][a-z0-9*?.:_-]*?\]?)(?::\d{1,5})?(?:/.*)?$")
_ATTRIBUTE = lazy_regex(r"^(?:[a-z0-9_*?]+\.[a-z0-9_*?]+:)?[a-z0-9_*?]+$")
_PATTERN = lazy_regex(r"^[a-z0-9_*?]+\.[a-z0-9_*?]+$")
_KEYWORD = lazy_regex(r"^.*[^*?\s].*[^*?\s]")
"""At least two letters, beside the wildcards."""
_COLLECTION = lazy_regex(r"^(?!.*\.\.)[a-zA-Z0-9][a-zA-Z0-9._-]{1,61}[a-zA-Z0-9]$")
"""What Chroma takes, in each of its versions, as a name."""


def normalise_url(text: str) -> str:
    """Return the address of a server: with a scheme, without query, trailing slash or operation.

    Raises InvalidInput when it is not an address, and when it carries a user name or password.
    """
    try:
        url = parse_address(text)
        _ = url.port
    except ValueError as err:
        raise InvalidInput("invalid_url") from err
    if url.user is not None or url.password is not None:
        raise InvalidInput("url_with_password")
    if "://" not in text and is_cloud(str(url)):
        url = url.with_scheme("https")
    return str(url.with_query(None)).rstrip("/")


def clean_duration(value: str) -> str:
    """Return a duration as model servers read it: 300, 30s, 5m, 1h30m, 0 or -1."""
    duration = re.sub(r"\s+", "", value).lower()
    if not _DURATION.match(duration):
        raise InvalidInput("invalid_duration")
    return duration


def _matching(
    pattern: re.Pattern[str],
    error: str,
    tidy: Callable[[str], str] = str.strip,
) -> Callable[[Iterable[str]], list[str]]:
    """Return what cleans names: without blanks and doubles, each of one form.

    It raises InvalidInput: `error` for a wrong one.
    """

    def clean(values: Iterable[str]) -> list[str]:
        names = clean_names(map(tidy, values))
        if len(names) > MAX_PATTERNS:
            raise InvalidInput("too_many_listed", limit=str(MAX_PATTERNS))
        for name in names:
            if not pattern.match(name):
                raise InvalidInput(error, **{error.removeprefix("invalid_"): name[:60]})
        return names

    return clean


clean_patterns: Final = _matching(_PATTERN, "invalid_pattern", tidy=str.lower)
"""Entity patterns such as `climate.*`."""
clean_attributes: Final = _matching(
    _ATTRIBUTE, "invalid_attribute", tidy=lambda value: "".join(value.lower().split())
)
"""Names and patterns of attributes, for all entities or, behind a pattern, for some."""
clean_rules: Final = _matching(RULE, "invalid_rule", tidy=str.lower)
"""Rules of the policy."""
clean_keywords: Final = _matching(_KEYWORD, "invalid_keyword")
"""Words of the household's own; one that would hold back everything is none."""


def clean_hosts(values: Iterable[str]) -> list[str]:
    """Return hosts with wildcards, in lower case, without scheme, port and path."""
    names = (value.lower().partition("://")[2] or value.lower() for value in values)
    written = _matching(_ALLOWED_HOST, "invalid_host")(names)
    return list(dict.fromkeys(host[1] for host in map(_ALLOWED_HOST.match, written) if host))


def clean_collection(value: str) -> str:
    """Return the name of a collection as both stores take it."""
    name = value.strip()
    if not _COLLECTION.match(name):
        raise InvalidInput("invalid_collection", collection=name[:60])
    return name


def clean_collections(values: Iterable[str]) -> list[str]:
    """Return names of collections, without blanks and doubles."""
    names = clean_names(values)
    if len(names) > MAX_COLLECTIONS:
        raise InvalidInput("too_many_listed", limit=str(MAX_COLLECTIONS))
    return [clean_collection(name) for name in names]


def as_items(value: object) -> list[Mapping[str, Any]]:
    """Return the items of an option that is a list of them, also of one that stands alone."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, Mapping)]


def clean_pins(value: object) -> list[dict[str, str]]:
    """Return persons with what was typed as their PIN; a person is listed once."""
    typed = {str(item.get(PERSON) or ""): str(item.get(PIN) or "").strip() for item in as_items(value)}
    return [{PERSON: person, PIN: pin} for person, pin in typed.items() if person]


SAVED: Final = "\u2022" * 4
"""Shown for a saved secret, which never travels to the browser; it stays if this comes back."""


def hidden_pins(stored: object) -> list[dict[str, str]]:
    """Return stored PINs of persons as the form shows them."""
    return [{PERSON: str(item[PERSON]), PIN: SAVED} for item in as_items(stored)]


def clean_owners(value: object) -> list[dict[str, str]]:
    """Return the owners of devices; a device is listed once."""
    owners = {}
    for item in as_items(value):
        if item.get(DEVICE) and item.get(PERSON):
            if item[DEVICE] in owners:
                raise InvalidInput("device_owned_twice", person=str(item[PERSON]))
            owners[str(item[DEVICE])] = str(item[PERSON])
    return [{DEVICE: device, PERSON: person} for device, person in owners.items()]


def clean_targets(value: object) -> list[dict[str, object]]:
    """Return persons with their notify targets; raises InvalidInput for an unknown notify target."""
    found: dict[str, list[str]] = {}
    for item in as_items(value):
        if person := str(item.get(PERSON, "")).strip():
            targets = clean_names(as_texts(item.get(TARGETS)))
            for target in targets:
                if not _TARGET.match(target) or target in NO_PERSONS:
                    raise InvalidInput("invalid_notify_target", target=target[:60])
            found[person] = clean_names([*found.get(person, []), *targets])[:MAX_TARGETS]
    return [{PERSON: person, TARGETS: targets} for person, targets in found.items() if targets]


def clean_names(values: Iterable[str]) -> list[str]:
    """Return names without surrounding space, blanks and doubles, in their order."""
    return list(dict.fromkeys(value.strip() for value in values if value.strip()))


def is_pattern(value: str) -> bool:
    """Return whether a value of the entity list is a pattern and no entity id."""
    return "*" in value or "?" in value


type Values = dict[str, Any]

FIELD_PATTERNS: Final = "direct_patterns"
"""Field of the form only: its patterns are stored with the entities, under `direct_entities`."""


class Field(NamedTuple):
    """One field of a form.

    `clean` turns what the form gives into what is stored and raises InvalidInput; `show` does the opposite.
    A `secret` that is saved is shown as SAVED.
    """

    key: str
    selector: Selector[Any]
    clean: Callable[[Any], Any] = lambda value: value.strip() if isinstance(value, str) else value
    show: Callable[[Any], Any] = lambda value: value
    required: bool = False
    secret: bool = False
    section: str = ""
    """The collapsed part of the page that has the field; empty for the page itself."""


def in_section(name: str, *fields: Field) -> tuple[Field, ...]:
    """Return fields that stand in a collapsed section of their page."""
    return tuple(field._replace(section=name) for field in fields)


@dataclass(slots=True)
class Checked:
    """A form after its checks: the values to store, or what is wrong with them."""

    values: Values
    errors: dict[str, str]
    placeholders: dict[str, str]
    others: Mapping[str, Any] = attribute(default_factory=dict)
    """The stored options of the other pages."""
    reports: list[tuple[str, dict[str, str]]] = attribute(default_factory=list)
    """The steps that report findings before the values are stored, with their placeholders."""

    def fail(self, field: str, error: InvalidInput) -> None:
        """Note what is wrong with a field; what the same sentence would say of another waits its turn."""
        shown = {key: self.placeholders.get(key) for key in error.placeholders}
        if error.key in self.errors.values() and shown != error.placeholders:
            return
        self.errors[field] = error.key
        self.placeholders |= error.placeholders
        if detail := error.placeholders.get("detail"):
            end = "" if detail.endswith(tuple(".!?…)")) else "."
            self.placeholders["detail"] = f"{detail[0].upper()}{detail[1:]}{end}"


def text(*, multiline: bool = False) -> TextSelector:
    """Return a selector of one line, or of several."""
    return TextSelector(TextSelectorConfig(multiline=multiline))


def key() -> TextSelector:
    """Return a selector that hides what is typed."""
    return TextSelector(TextSelectorConfig(type=TextSelectorType.PASSWORD, autocomplete="off"))


def number(
    low: float,
    high: float,
    step: float,
    unit: str | None = None,
    mode: NumberSelectorMode = NumberSelectorMode.BOX,
) -> NumberSelector:
    """Return a box or a slider for a number within limits."""
    config = NumberSelectorConfig(min=low, max=high, step=step, mode=mode)
    if unit:
        config["unit_of_measurement"] = unit
    return NumberSelector(config)


def choice(
    name: str, options: Iterable[str], *, free: bool = False, multiple: bool = False
) -> SelectSelector:
    """Return a dropdown whose labels are in the translations."""
    return SelectSelector(
        SelectSelectorConfig(
            options=list(options),
            mode=SelectSelectorMode.DROPDOWN,
            translation_key=name,
            custom_value=free,
            multiple=multiple,
        )
    )


def switch(key: str) -> Field:
    """Return a field that is on or off."""
    return Field(key, BooleanSelector())


def int_field(key: str, low: int, high: int, unit: str | None = None) -> Field:
    """Return a field for a whole number."""
    return Field(key, number(low, high, 1, unit), clean=int)


def fraction_field(key: str, high: float) -> Field:
    """Return a slider for a number from 0 to `high` in steps of 0.05."""
    slider = number(0, high, 0.05, mode=NumberSelectorMode.SLIDER)
    return Field(key, slider, clean=lambda value: round(value, 3))


def span_field(key: str, *, days: bool = False) -> Field:
    """Return a field for a span of time, stored as text such as 90d or 1h30m."""
    config = DurationSelectorConfig(enable_day=True) if days else DurationSelectorConfig()
    return Field(key, DurationSelector(config), clean=clean_span, show=shown_span)


def offered(options: list[SelectOptionDict] | list[str], *, multiple: bool = False) -> SelectSelector:
    """Return a dropdown that also takes what is not in its list."""
    return SelectSelector(
        SelectSelectorConfig(
            options=options,
            mode=SelectSelectorMode.DROPDOWN,
            custom_value=True,
            multiple=multiple,
        )
    )


def texts(key: str, clean: Callable[[Any], Any], examples: Iterable[str] = ()) -> Field:
    """Return a field for several texts, of which some can be chosen from a list."""
    return Field(key, offered(list(examples), multiple=True), clean=clean)


def form(fields: Iterable[Field], shown: Mapping[str, Any], opened: Collection[str] = ()) -> probatio.Schema:
    """Return the schema of a form that shows values; sections are collapsed unless they are `opened`.

    They are suggestions, no defaults: a field that is emptied comes back empty.
    """
    fields = list(fields)

    def of_section(name: str) -> dict[probatio.Marker, Any]:
        found: dict[probatio.Marker, Any] = {}
        for field in (field for field in fields if field.section == name):
            kind = probatio.Required if field.required else probatio.Optional
            found[kind(field.key, description={"suggested_value": shown.get(field.key)})] = field.selector
        return found

    schema = of_section("")
    for name in dict.fromkeys(field.section for field in fields if field.section):
        inside = probatio.Schema(of_section(name))
        schema[probatio.Optional(name)] = data_entry_flow.section(inside, {"collapsed": name not in opened})
    return probatio.Schema(schema)


def flat(fields: Iterable[Field], typed: Mapping[str, Any]) -> Values:
    """Return what a form gave without its sections."""
    found = dict(typed)
    for name in {field.section for field in fields if field.section}:
        found |= found.pop(name, None) or {}
    return found


def placed_errors(fields: Iterable[Field], errors: Mapping[str, str]) -> dict[str, str]:
    """Return errors by what the browser can mark: a field or a section, and base for another page's field."""
    places = {field.key: field.section or field.key for field in fields}
    found: dict[str, str] = {}
    for key, error in errors.items():
        found.setdefault(places.get(key, "base"), error)
    return found


def stored_values(fields: Iterable[Field], stored: Mapping[str, Any]) -> Values:
    """Return the values that a form shows: the stored values and the defaults, but no secrets."""
    fields = list(fields)
    defaults = defaults_of(stored)
    shown = {field.key: stored.get(field.key, defaults.get(field.key)) for field in fields}
    for field in fields:
        if field.secret and shown[field.key] and not is_template_string(shown[field.key]):
            shown[field.key] = SAVED
    if FIELD_PATTERNS in shown:
        chosen = shown[const.CONF_DIRECT_ENTITIES]
        shown[FIELD_PATTERNS] = [value for value in chosen if is_pattern(value)]
        shown[const.CONF_DIRECT_ENTITIES] = [value for value in chosen if not is_pattern(value)]
    return {field.key: field.show(shown[field.key]) for field in fields if shown[field.key] is not None}


def check(fields: Iterable[Field], typed: Mapping[str, Any], stored: Mapping[str, Any]) -> Checked:
    """Return a form's values as they are stored, without those that were left or made empty."""
    fields = list(fields)
    keys = {field.key for field in fields}
    others = {key: value for key, value in stored.items() if key not in keys}
    checked = Checked({}, {}, {}, others)
    for field in fields:
        value = typed.get(field.key)
        if field.secret:
            value = str(value or "").strip()
            # A new one may have been typed behind the dots.
            value = stored.get(field.key) if value == SAVED else value.replace(SAVED, "")
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
    return value is not None and value != [] and not (isinstance(value, str) and not value.strip())
