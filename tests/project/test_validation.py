"""What Home Assistant's and HACS' own checks would find, as far as it can be found offline."""

import json
from pathlib import Path
import re
from typing import Any

from awesomeversion import AwesomeVersion, AwesomeVersionStrategy
from packaging.requirements import Requirement
import yaml

from custom_components.home_agent.services import async_setup_services
from homeassistant.core import HomeAssistant
from homeassistant.helpers import selector
from homeassistant.helpers.service import async_get_all_descriptions
from tests.helpers.checks import every
from tests.helpers.documents import fields_of

REPOSITORY = Path(__file__).parents[2]
INTEGRATION = REPOSITORY / "custom_components" / "home_agent"
MANIFEST: dict[str, Any] = json.loads((INTEGRATION / "manifest.json").read_text(encoding="utf-8"))
MANIFEST_KEYS = {
    *("domain", "name", "after_dependencies", "codeowners", "config_flow", "dependencies", "documentation"),
    *("import_executor", "integration_type", "iot_class", "issue_tracker", "loggers", "preview_features"),
    *("quality_scale", "requirements", "single_config_entry", "version"),
}
HACS_KEYS = {
    *("content_in_root", "country", "filename", "hacs", "hide_default_branch", "homeassistant", "name"),
    *("persistent_directory", "render_readme", "zip_release"),
}


def test_manifest() -> None:
    assert list(MANIFEST) == ["domain", "name", *sorted(set(MANIFEST) - {"domain", "name"})]
    assert set(MANIFEST) <= MANIFEST_KEYS
    assert MANIFEST["domain"] == INTEGRATION.name
    assert (MANIFEST["integration_type"], MANIFEST["iot_class"]) == ("service", "local_polling")
    assert all(re.fullmatch(r"@[\w-]+(/[\w-]+)?", owner) for owner in every(MANIFEST["codeowners"]))
    for key in ("documentation", "issue_tracker"):
        assert re.match(r"https://(?!www\.home-assistant\.io)[\w.-]+/", MANIFEST[key])
    assert AwesomeVersion(MANIFEST["version"], ensure_strategy=[AwesomeVersionStrategy.SEMVER])
    for requirement in MANIFEST["requirements"]:
        assert Requirement(requirement).specifier


def test_services_file() -> None:
    """Fields that a home rarely needs are in one collapsed section, and none of them is required."""
    services = yaml.safe_load((INTEGRATION / "services.yaml").read_text(encoding="utf-8"))
    for name, service in services.items():
        assert set(service) <= {"fields", "target"}, name
        for field, config in fields_of(service).items():
            assert set(config) <= {"required", "example", "default", "selector"}, f"{name}.{field}"
            assert selector.selector(config["selector"])
        if rare := service.get("fields", {}).get("advanced_fields"):
            assert rare["collapsed"], name
            assert not [field for field, config in rare["fields"].items() if config.get("required")], name


async def test_services_file_and_code_agree(hass: HomeAssistant, house: HomeAssistant) -> None:
    """The editor learns of each registered action, with the fields that its schema takes."""
    async_setup_services(hass)
    described = (await async_get_all_descriptions(hass))["home_agent"]
    written = yaml.safe_load((INTEGRATION / "services.yaml").read_text(encoding="utf-8"))
    registered = hass.services.async_services_for_domain("home_agent")
    assert set(registered) == set(described) == set(written)
    for name, service in registered.items():
        taken = {str(key) for key in service.schema.schema} - {"entry_id"}
        assert taken == set(fields_of(described[name])) == set(fields_of(written[name])), name
    tools = fields_of(described["execute_tool"])["tool_name"]["selector"]["select"]
    texts = json.loads((INTEGRATION / "translations/en.json").read_text(encoding="utf-8"))
    assert set(tools["options"]) == set(texts["selector"][tools["translation_key"]]["options"])


def test_hacs_file() -> None:
    hacs = json.loads((REPOSITORY / "hacs.json").read_text(encoding="utf-8"))
    assert set(hacs) <= HACS_KEYS
    assert hacs["name"]
    assert (
        AwesomeVersion(hacs["homeassistant"], ensure_strategy=[AwesomeVersionStrategy.CALVER]) >= "2026.10.0"
    )
    assert not hacs.get("zip_release") or hacs.get("filename")
