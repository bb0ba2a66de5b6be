"""Writes the tables of options and actions in the documentation; `scripts/reference` runs this."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import json
from pathlib import Path
import re
import sys
from typing import Any, Final

import probatio

from custom_components.home_agent import const, services
from custom_components.home_agent.config import adding, schemas
from custom_components.home_agent.config.fields import Field
from custom_components.home_agent.config.options import MENUS
from custom_components.home_agent.const import DEFAULTS, DOMAIN
from custom_components.home_agent.services import base
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

ROOT: Final = Path(__file__).resolve().parents[2]
ENGLISH: Final[dict[str, Any]] = json.loads(
    (ROOT / "custom_components" / DOMAIN / "translations" / "en.json").read_text(encoding="utf-8")
)
SECTIONS: Final = "In collapsed sections:"
EMPTY: Final = "\u2013"
FORMS: Final = {
    "Connection": ("config.step.user", schemas.CONNECTION),
    **{
        ENGLISH["options"]["step"][menu]["menu_options"][page]: (f"options.step.{page}", schemas.PAGES[page])
        for menu, pages in MENUS.items()
        for page in pages
        if page in schemas.PAGES
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
    const.CONF_POLICY_PROFILES: "profiles",
    const.CONF_DEVICE_PERSONS: "devices and persons",
    const.CONF_NOTIFY_TARGETS: "persons with targets",
    const.CONF_TELEGRAM_CHATS: "private chats with persons",
    const.CONF_PROACTIVE_RULES: "rules with entities",
}

type Row = tuple[Sequence[str], str]
"""The generated cells of a row, the key in the first, and the text for its last cell if it is new."""


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
            return _LISTS[field.key]
    return _KINDS[type(field.selector)]


def option_rows(heading: str) -> Iterator[Row]:
    """Yield the rows of a page of the options: key, label, default, values."""
    step, fields = FORMS[heading]
    texts = _texts(step)
    if heading == "Connection":
        texts |= _texts("config.step.model")
        fields = (*fields, adding.model_fields([])[0])
    for field in fields:
        label, about = texts[field.key]
        yield (f"`{field.key}`", label, shown_default(field.key), shown_values(field)), about


def action_rows(name: str) -> Iterator[Row]:
    """Yield the rows of an action: field, whether it is required."""
    texts = ENGLISH["services"][name]["fields"]
    for key in (*services.SERVICES[name].fields, base.ATTR_CONFIG_ENTRY_ID, base.ATTR_AGENT_ID):
        required = "yes" if isinstance(key, probatio.Required) else ""
        yield (f"`{key}`", required), texts[str(key)]["description"]


def _texts(step: str) -> dict[str, tuple[str, str]]:
    """Return label and help of the fields of a form, also of those in sections."""
    found = _part(step)
    parts = (found, *found.get("sections", {}).values())
    return {
        key: (label, part.get("data_description", {}).get(key, ""))
        for part in parts
        for key, label in part["data"].items()
    }


def _part(path: str) -> Any:
    found: Any = ENGLISH
    for name in path.split("."):
        found = found[name]
    return found


def _with_table(written: str, heading: str, expected: Iterator[Row]) -> str:
    found = re.search(rf"^## {re.escape(heading)}\n(?:(?!^## ).*\n)*?(?=\| `)", written, re.MULTILINE)
    if found is None:
        raise LookupError(f"there is no table under the heading {heading}")
    start = found.end()
    lines = written[start:].split("\n")
    old = lines[: next(number for number, line in enumerate(lines) if not line.startswith("|"))]
    notes = {line.split("|")[1].strip(): line.rsplit("|", 2)[1].strip() for line in old}
    new = [f"| {' | '.join((*cells, notes.get(cells[0]) or about))} |" for cells, about in expected]
    new = [line.replace("|  |", "| |") for line in new]
    return written[:start] + "\n".join(new) + written[start + len("\n".join(old)) :]


def _with_sections(written: str, heading: str) -> str:
    step, fields = FORMS[heading]
    keys: dict[str, list[str]] = {}
    for field in fields:
        if field.section:
            keys.setdefault(field.section, []).append(field.key)
    named = [
        f"*{_part(step)['sections'][name]['name']}* (from `{inside[0]}` to `{inside[-1]}`)"
        for name, inside in keys.items()
    ]
    line = re.compile(rf"(^## {re.escape(heading)}\n(?:(?!^## ).*\n)*?{SECTIONS}).*", re.MULTILINE)
    return line.sub(lambda found: f"{found[1]} {', '.join(named)}.", written)


def generated(page: str, written: str) -> str:
    """Return a page of the documentation with its tables as the code is."""
    tables: Mapping[str, tuple[Sequence[str], Callable[[str], Iterator[Row]], str]] = {
        "docs/configuration.md": (list(FORMS), option_rows, ""),
        "docs/services.md": (list(services.SERVICES), action_rows, f"{DOMAIN}."),
    }
    names, rows_of, prefix = tables[page]
    for name in names:
        written = _with_table(written, prefix + name, rows_of(name))
        if rows_of is option_rows:
            written = _with_sections(written, name)
    return written


PAGES: Final = ("docs/configuration.md", "docs/services.md")


def main() -> int:
    """Write the tables, or only say whether they differ."""
    differing = []
    for page in PAGES:
        written = (ROOT / page).read_text(encoding="utf-8")
        new = generated(page, written)
        if new != written:
            differing.append(page)
            if "--check" not in sys.argv:
                (ROOT / page).write_text(new, encoding="utf-8")
    for page in differing:
        print(f"{page}: {'differs from the code' if '--check' in sys.argv else 'written'}")
    return int(bool(differing) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
