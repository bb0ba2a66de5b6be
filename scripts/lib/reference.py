"""Writes the tables in `docs/reference/` from the code; `scripts/reference` runs this."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
import json
import re
import sys
from typing import Any, Final

import probatio

from custom_components.home_agent import const, services
from custom_components.home_agent.config import schemas
from custom_components.home_agent.config.fields import Field
from custom_components.home_agent.config.options import MENUS
from custom_components.home_agent.const import DEFAULTS, DOMAIN
from custom_components.home_agent.domains import DOMAINS
from homeassistant.helpers.selector import (
    BooleanSelector,
    DurationSelector,
    EntitySelector,
    NumberSelector,
    ObjectSelector,
    SelectSelector,
    TargetSelector,
    TemplateSelector,
    TextSelector,
    TimeSelector,
)

from .generated import ROOT, TRANSLATIONS, write_or_check

ENGLISH: Final[dict[str, Any]] = json.loads((TRANSLATIONS / "en.json").read_text(encoding="utf-8"))
EMPTY: Final = "\u2013"
FORMS: Final = {
    "Connection": ("config.step.user", schemas.CONNECTION),
    **{
        ENGLISH["options"]["step"][menu]["menu_options"][page]: (f"options.step.{page}", schemas.PLACES[page])
        for menu, pages in MENUS.items()
        for page in pages
        if page in schemas.PLACES
    },
}
"""The place of the texts and the fields of each form, by its heading."""
_KINDS: Final = {
    BooleanSelector: "on, off",
    DurationSelector: "duration",
    EntitySelector: "entities",
    SelectSelector: "choice or text",
    TargetSelector: "entities, devices, areas, floors, labels",
    TemplateSelector: "template",
    TimeSelector: "time",
}
_LISTS: Final = {
    const.CONF_POLICY_CHOICES: "rules to pick from lists",
    const.CONF_POLICY_PINS: "persons with PINs",
    const.CONF_DEVICE_PERSONS: "devices and persons",
    const.CONF_NOTIFY_TARGETS: "persons with targets",
    const.CONF_TELEGRAM_CHATS: "private chats with persons",
    const.CONF_PROACTIVE_RULES: "rules with entities",
}

ABOUT: Final = {
    const.CONF_PRICE_PROMPT: (
        "Per million tokens that the server reads. Without prices the panel shows no cost."
    ),
    const.CONF_PRICE_CACHED: "Per million tokens from the server's cache. Empty: as other prompt tokens.",
    const.CONF_PRICE_ANSWER: "Per million tokens that the model writes, including its thinking.",
    const.CONF_VECTOR_TOKEN: "Sent as `X-Chroma-Token` and as `Authorization: Bearer`.",
}
"""What a table says instead of the help of a form, where that assumes what the form shows around it."""

type Rows = Iterator[Sequence[str]]
"""The cells of the rows of a table."""


def shown_default(key: str) -> str:
    """Return the default of an option as the tables show it."""
    value = DEFAULTS.get(key)
    if isinstance(value, bool):
        return "on" if value else "off"
    return EMPTY if value in (None, "", [], {}) else f"`{value}`"


def shown_values(field: Field) -> str:
    """Return what a field takes as the tables show it."""
    config: dict[str, Any] = dict(field.selector.config)
    several = "texts" if config.get("multiple") else "text"
    match field.selector:
        case NumberSelector():
            limits = f"{int(config['min'])} to {int(config['max'])}"
            return f"{limits} {config.get('unit_of_measurement', '')}".strip()
        case SelectSelector() if field.key != const.CONF_MODEL:
            if "translation_key" not in config:
                return several
            listed = [f"`{option}`" for option in config["options"]]
            return ", ".join([*listed, f"or other {several}"] if config["custom_value"] else listed)
        case TextSelector():
            return "secret" if config.get("type") == "password" else several
        case ObjectSelector():
            return _LISTS.get(field.key, "list")
    return _KINDS[type(field.selector)]


def option_rows(heading: str) -> Rows:
    """Yield the rows of a page of the options: key, label, default, values, what it changes."""
    step, fields = FORMS[heading]
    texts = _texts(step)
    if heading == "Connection":
        texts |= _texts("config.step.model")
        fields = (*fields, schemas.model_field([]))
    for field in fields:
        label, about = texts[field.key]
        about = ABOUT.get(field.key, about).format_map(schemas.EXAMPLES)
        yield f"`{field.key}`", label, shown_default(field.key), shown_values(field), about


def action_rows(name: str) -> Rows:
    """Yield the rows of an action: field, whether it is required, what it is. All take an agent as well."""
    texts = ENGLISH["services"][name]["fields"]
    for key in services.SERVICES[name].fields:
        yield f"`{key}`", "yes" if isinstance(key, probatio.Required) else "", texts[str(key)]["description"]


def domain_rows(heading: str) -> Rows:
    """Yield what can be done with each domain: its actions, and the values that they take."""
    for facts in DOMAINS.values():
        if facts.actions and facts.is_gated is (heading == GATED):
            values = [*facts.parameters, *(["step"] if facts.step else [])]
            yield f"`{facts.name}`", _codes(facts.actions), _codes(values) or EMPTY


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _texts(step: str) -> dict[str, tuple[str, str]]:
    """Return label and help of the fields of a form, also of those in sections."""
    found: Any = ENGLISH
    for name in step.split("."):
        found = found[name]
    parts = (found, *found.get("sections", {}).values())
    return {
        key: (label, part.get("data_description", {}).get(key, ""))
        for part in parts
        for key, label in part["data"].items()
    }


def _with_table(written: str, heading: str, expected: Rows) -> str:
    found = re.search(rf"^## {re.escape(heading)}\n(?:(?!^## ).*\n)*?\|-.*\n", written, re.MULTILINE)
    rows = list(expected)
    if found is None:
        if rows:
            raise LookupError(f"there is no table under the heading {heading}")
        return written
    old = list(takewhile(lambda line: line.startswith("|"), written[found.end() :].split("\n")))
    new = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows]
    return "\n".join(
        [written[: found.end()] + "\n".join(new), *written[found.end() :].split("\n")[len(old) :]]
    )


OPTIONS: Final = "docs/reference/options.md"
ACTIONS: Final = "docs/reference/actions.md"
EVENTS: Final = "docs/reference/events.md"
TOOLS: Final = "docs/reference/tools.md"
CONTROLLED: Final = "What can be done"
GATED: Final = "Scenes and scripts"
TABLES: Final[Mapping[str, Mapping[str, Callable[[str], Rows]]]] = {
    OPTIONS: dict.fromkeys(FORMS, option_rows),
    ACTIONS: {
        f"{DOMAIN}.{name}": lambda heading: action_rows(heading.removeprefix(f"{DOMAIN}."))
        for name in services.SERVICES
    },
    TOOLS: {CONTROLLED: domain_rows, GATED: domain_rows},
}
"""The pages with the headings whose first tables are written here."""


def generated(page: str, written: str) -> str:
    """Return a page of the documentation with its tables as the code is."""
    for heading, rows_of in TABLES[page].items():
        written = _with_table(written, heading, rows_of(heading))
    return written


if __name__ == "__main__":
    pages = {ROOT / page: generated(page, (ROOT / page).read_text(encoding="utf-8")) for page in TABLES}
    sys.exit(write_or_check(pages))
