"""What people read: all languages alike, nothing missing, nothing that breaks when it is shown."""

import ast
import inspect
import json
from pathlib import Path
import re
from typing import Any

import yaml

from custom_components.home_agent import errors
from custom_components.home_agent.config import probe, schemas
from custom_components.home_agent.config.fields import Field
from custom_components.home_agent.config.options import DONE, MENUS
from scripts.lib.agent_forms import with_copies
from scripts.lib.variants import varied
from tests.helpers.checks import every, for_each
from tests.helpers.documents import fields_of
from tests.helpers.spoken_languages import SPOKEN, VARIANTS, WHOLE, household_keys

INTEGRATION = Path(probe.__file__).parents[1]
FILES = sorted((INTEGRATION / "translations").glob("*.json"))
LANGUAGES = [file.stem for file in FILES]
CONNECTION_ERRORS = {
    *probe.ERROR_KEYS.values(),
    "no_model_list",
    "model_refused",
    "server_error",
    "key_needed",
}


def read(language: str) -> dict[str, Any]:
    """Return a language as it is on disk."""
    return json.loads((INTEGRATION / "translations" / f"{language}.json").read_text(encoding="utf-8"))


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the sentences by their dotted keys."""
    found: dict[str, str] = {}
    for key, value in tree.items():
        path = f"{prefix}.{key}" if prefix else key
        found |= flat(value, path) if isinstance(value, dict) else {path: value}
    return found


def placeholders(text: str) -> set[str]:
    """Return the names in braces."""
    return set(re.findall(r"{(\w+)}", text))


ENGLISH = flat(read("en"))


def needed(language: str) -> list[str]:
    """Return the keys that a language must have: all of them, or what a household hears and sees."""
    return household_keys(ENGLISH) if language in SPOKEN else list(ENGLISH)


def test_languages() -> None:
    assert sorted(WHOLE + SPOKEN + VARIANTS) == sorted(LANGUAGES)


@for_each("variant", VARIANTS)
def test_variants(variant: str) -> None:
    """`scripts/variants` has nothing to write."""
    assert (INTEGRATION / "translations" / f"{variant}.json").read_text(encoding="utf-8") == varied(variant)


@for_each("language", LANGUAGES)
def test_parity(language: str) -> None:
    """Every sentence that is needed is there once, in the same order, with the same placeholders."""
    translated = flat(read(language))
    assert list(translated) == needed(language)
    differing = [key for key, text in translated.items() if placeholders(ENGLISH[key]) != placeholders(text)]
    assert not differing


@for_each("language", [language for language in LANGUAGES if language != "en"])
def test_sentences_are_translated(language: str) -> None:
    """A sentence that equals the English one was forgotten; single words may be the same."""
    same = {key for key, text in flat(read(language)).items() if text == ENGLISH[key] and text.count(" ") > 1}
    assert not same


@for_each("language", LANGUAGES)
def test_sentences_can_be_shown(language: str) -> None:
    """No HTML, no address, no apostrophe that a message formatter takes for a quotation mark."""
    for key, text in flat(read(language)).items():
        assert isinstance(text, str), key
        assert text, key
        assert text == text.strip(), key
        assert not re.search(r"<[a-zA-Z/]", text), key
        assert "[%key:" not in text, key
        assert "://" not in text, key
        assert not re.search(r"['\"]{|}['\"]", text), key
        assert text.count("{") == text.count("}") == len(re.findall(r"{\w+}", text)), key


@for_each(
    ("step", "fields"),
    [
        ("config.step.user", schemas.CONNECTION),
        ("config.step.reconfigure", schemas.CONNECTION),
        ("config.step.reauth_confirm", schemas.REAUTH),
        ("config.step.model", (schemas.model_field([]),)),
        ("config.step.ready", (schemas.ASSISTANT,)),
        *((f"options.step.{page}", fields) for page, fields in schemas.PAGES.items()),
    ],
)
def test_every_field_has_a_name_and_a_description(step: str, fields: tuple[Field, ...]) -> None:
    pattern = re.compile(rf"{re.escape(step)}\.(?:sections\.(\w+)\.)?(data|data_description)\.(\w+)")
    found = [match.groups("") for match in map(pattern.fullmatch, ENGLISH) if match]
    named = {(section, key) for section, kind, key in found if kind == "data"}
    described = {(section, key) for section, kind, key in found if kind == "data_description"}
    expected = {(field.section, field.key) for field in fields}
    assert named == described == expected
    for name in {field.section for field in fields if field.section}:
        assert f"{step}.sections.{name}.name" in ENGLISH


@for_each("part", ["menu_options", "menu_option_descriptions"])
def test_menus_have_every_page(part: str) -> None:
    for menu, pages in MENUS.items():
        prefix = f"options.step.{menu}.{part}."
        assert {key.removeprefix(prefix) for key in ENGLISH if key.startswith(prefix)} == {*pages, DONE}


def test_selector_options_have_labels() -> None:
    for fields in (schemas.CONNECTION, *schemas.PAGES.values()):
        for field in fields:
            if name := field.selector.config.get("translation_key"):
                for part in field.selector.config.get("fields", ()):
                    assert f"selector.{name}.fields.{part}.name" in ENGLISH
                    assert f"selector.{name}.fields.{part}.description" in ENGLISH
                for option in field.selector.config.get("options", ()):
                    assert f"selector.{name}.options.{option}" in ENGLISH


def test_every_error_of_a_form_has_a_sentence() -> None:
    sources = [INTEGRATION / name for name in ("config_flow.py", "connection.py")]
    text = "".join(
        file.read_text(encoding="utf-8") for file in (*sources, *(INTEGRATION / "config").glob("*.py"))
    )
    raised = set(CONNECTION_ERRORS) | set(re.findall(r'InvalidInput\(\s*"(\w+)"', text))
    told = {
        key.rsplit(".", 1)[1]
        for key in ENGLISH
        if re.match(r"(config|options|config_subentries\.agent)\.error\.", key)
    }
    assert raised <= told
    endings = set(re.findall(r'InvalidInput\(f"\{[\w.]+\}(\w+)"', text))
    assert {
        key for key in told - raised if f'"{key}"' not in text and not key.endswith(tuple(endings))
    } == set()


@for_each("language", WHOLE)
def test_forms_of_further_agents(language: str) -> None:
    """They say what the options say: `scripts/agent_forms` copies the texts."""
    assert with_copies(read(language)) == read(language)


def test_every_exception_has_a_sentence() -> None:
    keys = {cls.key for _, cls in inspect.getmembers(errors, inspect.isclass) if hasattr(cls, "key")}
    assert {f"exceptions.{key}.message" for key in keys} <= set(ENGLISH)


SAYS = {"report": "", "report fixable": ".fix_flow.step.confirm"}
"""Where an issue is explained: one that can be mended on a click, in the dialog that does it."""


def _translated_calls(source: str) -> set[tuple[str, str]]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).rsplit(".", 1)[-1]
        keys = [keyword.value for keyword in node.keywords if keyword.arg == "translation_key"]
        if called == "report":
            keys += node.args[2:3]
            called += " fixable" * any(keyword.arg == "fix" for keyword in node.keywords)
        found |= {(called, str(key.value)) for key in keys if isinstance(key, ast.Constant)}
    return found


def test_every_key_used_in_code_has_a_sentence() -> None:
    for file in every(INTEGRATION.rglob("*.py")):
        for called, key in _translated_calls(file.read_text(encoding="utf-8")):
            if called in SAYS:
                assert f"issues.{key}.title" in ENGLISH, f"{file.name}: {key}"
                assert f"issues.{key}{SAYS[called]}.description" in ENGLISH, f"{file.name}: {key}"
            elif called.endswith(("Error", "Failed", "NotReady")):
                assert f"exceptions.{key}.message" in ENGLISH, f"{file.name}: {key}"


def test_services_have_names_descriptions_and_icons() -> None:
    services = yaml.safe_load((INTEGRATION / "services.yaml").read_text(encoding="utf-8"))
    icons = json.loads((INTEGRATION / "icons.json").read_text(encoding="utf-8"))["services"]
    told = {key for key in ENGLISH if key.startswith("services.")}
    expected = set()
    for name, service in services.items():
        expected |= {f"services.{name}.name", f"services.{name}.description"}
        if "advanced_fields" in service.get("fields", {}):
            expected.add(f"services.{name}.sections.advanced_fields.name")
        for field in fields_of(service):
            expected |= {f"services.{name}.fields.{field}.{part}" for part in ("name", "description")}
    assert told == expected
    assert set(icons) == set(services)
