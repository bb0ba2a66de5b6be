"""The options' pages: what is stored, what can be emptied again, what is refused."""

import re
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.config.fields import SAVED
from custom_components.home_agent.config.schemas import PAGES
from custom_components.home_agent.const import DEFAULTS, DOMAIN
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType, InvalidData, section
from homeassistant.helpers import area_registry as ar
from homeassistant.helpers.translation import async_get_translations
from tests.helpers.checks import every
from tests.helpers.options_pages import (
    FILLED,
    STORED,
    entry,  # noqa: F401 - a fixture
    is_saved,
    page,
    save,
    selector_of,
    shown,
)
from tests.servers.model_server import ModelServer, on_path
from tests.servers.replies import html, status

KEY = "sk-test-1234567890"
FALLBACK_FIELDS = ("fallback_llm_base_url", "fallback_llm_api_key", "fallback_llm_model")


@pytest.fixture(autouse=True)
def _house(house: HomeAssistant) -> None:
    """Set up what the integration depends on, somebody with a phone, and what the rules name."""
    house.states.async_set("switch.oven", "off")
    ar.async_get(house).async_get_or_create("Attic")
    house.states.async_set("person.anna", "home", {"user_id": "anna"})
    house.services.async_register("notify", "mobile_app_anna", lambda _call: None)


SHARES = {
    *("llm_temperature", "llm_top_p", "external_llm_temperature", "memory_dedup_threshold"),
    *("memory_importance_decay", "memory_min_importance", "vector_db_similarity_threshold"),
    "additional_similarity_threshold",
}
"""Numbers that are no whole ones."""
SPANS = {
    "memory_event_ttl": {"days": 90, "hours": 0, "minutes": 0, "seconds": 0},
    "memory_context_ttl": {"days": 14, "hours": 0, "minutes": 0, "seconds": 0},
    "memory_cleanup_interval": {"days": 0, "hours": 1, "minutes": 0, "seconds": 0},
}


async def test_each_page_is_stored_shown_and_emptied(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """Defaults are shown, what is typed comes back, and what is emptied has its default again.

    The browser shows an error in place of a text whose placeholder is missing.
    """
    texts = await async_get_translations(hass, "en", "options", {DOMAIN})
    other = {"of_a_later_version": 1}
    assert set(FILLED) == set(PAGES)
    for name, typed in FILLED.items():
        hass.config_entries.async_update_entry(entry, options=other)
        opened = await page(hass, entry, name)
        for key, value in every(shown(opened).items()):
            if key != "direct_patterns":
                assert value == SPANS.get(key, DEFAULTS.get(key)), key
        step = f"component.{DOMAIN}.options.step.{name}."
        wanted = {
            placeholder
            for path, text in texts.items()
            if path.startswith(step)
            for placeholder in re.findall(r"{(\w+)}", text)
        }
        assert wanted <= set(opened["description_placeholders"] or ())

        assert is_saved(await save(hass, entry, name, typed))
        stored = {**typed, **{key: value for key, value in STORED.items() if key in typed}}
        if name == "context":
            stored["direct_entities"] = [*stored["direct_entities"], *stored.pop("direct_patterns")]
        assert dict(entry.options) == stored | other
        assert not [
            key
            for key, value in stored.items()
            if isinstance(entry.options[key], float) and key not in SHARES
        ]
        result = await page(hass, entry, name)
        assert {key: shown(result)[key] for key in typed} == typed

        empty = {field.section: {} for field in PAGES[name] if field.section}
        await hass.config_entries.options.async_configure(result["flow_id"], empty)
        assert dict(entry.options) == other


LIMITS: tuple[tuple[str, str, int, int], ...] = (
    ("llm", "llm_temperature", 0, 2),
    ("context", "max_context_tokens", 1_000, 128_000),
    ("vector_store", "additional_similarity_threshold", 0, 1),
    ("history", "session_timeout", 1, 1_440),
    ("tools", "tools_max_calls_per_turn", 1, 50),
)


async def test_limits_of_numbers(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    for name, key, low, high in LIMITS:
        for value in (low, high):
            await save(hass, entry, name, {key: value})
            assert entry.options[key] == value
        for value in (low - 1, high + 1):
            with pytest.raises(InvalidData):
                await save(hass, entry, name, {key: value})


async def test_a_section_opens_where_something_is_wrong(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    result = await save(hass, entry, "vector_store", {"vector_db_collection": "my home"})
    assert result["errors"] == {"collections": "invalid_collection"}
    assert result["data_schema"]
    opened = {
        str(key): part for key, part in result["data_schema"].schema.items() if isinstance(part, section)
    }
    collapsed = {key: part.options["collapsed"] for key, part in opened.items()}
    assert collapsed == {"chroma": True, "collections": False}


REFUSED: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    ("llm", {"llm_keep_alive": "five minutes"}, "llm_keep_alive", "invalid_duration"),
    ("llm", {"llm_keep_alive": "-5m"}, "llm_keep_alive", "invalid_duration"),
    ("context", {"direct_patterns": ["climate"]}, "direct_patterns", "invalid_pattern"),
    ("context", {"direct_patterns": ["light.kitchen, light.hall"]}, "direct_patterns", "invalid_pattern"),
    ("context", {"direct_patterns": [f"a.b{n}" for n in range(501)]}, "direct_patterns", "too_many_listed"),
    ("prompt", {"prompt_use_default": False}, "prompt_custom", "prompt_missing"),
    ("web", {"fallback_llm_base_url": "ftp://x"}, "fallback", "invalid_url"),
    ("web", {"fallback_llm_base_url": "http://x"}, "fallback", "fallback_incomplete"),
    ("web", {"fallback_llm_model": "x"}, "fallback", "fallback_incomplete"),
    ("web", {"fallback_llm_api_key": "x"}, "fallback", "fallback_incomplete"),
)


async def test_refused_values(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """The form is shown again with what was typed, and nothing is stored."""
    for name, typed, field, error in REFUSED:
        result = await save(hass, entry, name, typed)
        assert result["type"] is FlowResultType.FORM
        assert result["errors"] == {field: error}
        assert {key: shown(result)[key] for key in typed} == typed
        assert not entry.options


# The fallback


def fallback(server: ModelServer, **others: Any) -> dict[str, Any]:
    """Return the options of a fallback."""
    return {
        "fallback_llm_base_url": server.url,
        "fallback_llm_api_key": KEY,
        "fallback_llm_model": "test-model",
        **others,
    }


async def test_fallback_is_reached_and_completed(
    hass: HomeAssistant, entry: MockConfigEntry, model_server: ModelServer
) -> None:
    result = await save(
        hass, entry, "web", fallback(model_server, fallback_llm_base_url=model_server.address)
    )
    assert is_saved(result)
    assert dict(entry.options) == fallback(model_server)
    assert model_server.chats[-1].headers["authorization"] == f"Bearer {KEY}"
    assert model_server.chats[-1].json["model"] == "test-model"


SECRETS = [(page, field.key) for page, fields in PAGES.items() for field in fields if field.secret]


async def test_saved_secrets(hass: HomeAssistant, entry: MockConfigEntry, model_server: ModelServer) -> None:
    """A saved secret is not shown, stays while nothing else is typed, and goes with an emptied field."""
    server = {"fallback_llm_base_url": model_server.url, "fallback_llm_model": "test-model"}
    for name, key in every(SECRETS):
        await _keeps_a_secret(hass, entry, name, key, server if key in FALLBACK_FIELDS else {})


async def _keeps_a_secret(
    hass: HomeAssistant, entry: MockConfigEntry, name: str, key: str, typed: dict[str, Any]
) -> None:
    hass.config_entries.async_update_entry(entry, options={key: KEY, **typed})
    before = await page(hass, entry, name)
    assert KEY not in str(before["data_schema"])
    assert shown(before)[key] == SAVED
    for secret in (SAVED, SAVED + KEY):
        await save(hass, entry, name, {**typed, key: secret})
        assert dict(entry.options) == {key: KEY, **typed}
    await save(hass, entry, name, {**typed, key: "  "})
    assert dict(entry.options) == typed


async def test_pin_is_replaced_and_removed(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """A new PIN takes the place of the saved one; a template of a key is no secret and is shown."""
    await save(hass, entry, "permissions", {"policy_pin": "1234"})
    first = entry.options["policy_pin"]
    assert "1234" not in first
    await save(hass, entry, "permissions", {"policy_pin": SAVED, "policy_confirmation_timeout": 70})
    assert entry.options["policy_pin"] == first
    await save(hass, entry, "permissions", {"policy_pin": "4321"})
    assert entry.options["policy_pin"] not in (first, "")
    await save(hass, entry, "permissions", {})
    assert not entry.options
    hass.config_entries.async_update_entry(entry, options={"web_search_api_key": "{{ 1 + 1 }}"})
    assert shown(await page(hass, entry, "web"))["web_search_api_key"] == "{{ 1 + 1 }}"


async def test_fallback_that_cannot_be_used(
    hass: HomeAssistant, entry: MockConfigEntry, model_server: ModelServer
) -> None:
    for path, reply, error in (
        ("/models", status(401, "no"), "invalid_auth"),
        ("/models", html(), "not_an_llm_server"),
        ("/models", status(503, "starting"), "server_error"),
        ("/chat/completions", status(401, "no"), "invalid_auth"),
        ("/chat/completions", status(404, "model does not exist"), "model_not_found"),
    ):
        model_server.clear()
        model_server.on(on_path(path), reply)
        typed = fallback(model_server)
        result = await save(hass, entry, "web", typed)
        assert result["errors"] == {"fallback": error}
        assert {key: shown(result)[key] for key in typed} == typed
        assert not entry.options


async def test_a_device_belongs_to_one_person(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """The form says which device is listed twice, and keeps what was typed."""
    device = "0123456789abcdef"
    owners = [{"device": device, "person": "person.anna"}, {"device": device, "person": "person.ben"}]
    result = await page(hass, entry, "memory")
    result = await hass.config_entries.options.async_configure(
        result["flow_id"], user_input={"device_persons": owners}
    )
    assert result["errors"] == {"device_persons": "device_owned_twice"}
    assert result["description_placeholders"]["person"] == "person.ben"


async def test_targets_that_reach_nobody(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    for person, target, error in (
        ("person.anna", "notify.send_message", "invalid_notify_target"),
        ("person.anna", "light.kitchen", "invalid_notify_target"),
        ("person.anna", "notify.mobile_app_bob", "notify_target_missing"),
        ("person.guest", "notify.mobile_app_anna", "person_without_user"),
    ):
        typed = {"notify_targets": [{"person": person, "targets": [target]}]}
        result = await save(hass, entry, "messages", typed)
        assert result["errors"] == {"notify_targets": error}
        placeholders = result["description_placeholders"]
        assert placeholders
        assert (target if "target" in error else person) in placeholders.values()


async def test_targets_to_choose_from(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """Phones and notify entities are offered; a person who stands there twice is put together."""
    hass.states.async_set("notify.mail", "unknown", {"friendly_name": "Mail"})
    selector = selector_of(await page(hass, entry, "messages"), "notify_targets")
    offered = selector.config["fields"]["targets"]["selector"].config["options"]
    assert [option["value"] for option in offered] == ["notify.mobile_app_anna", "notify.mail"]
    hass.services.async_register("notify", "send_message", lambda _call: None)
    twice = [
        {"person": "person.anna", "targets": ["notify.mail"]},
        {"person": "person.anna", "targets": ["notify.mobile_app_anna", " notify.mail"]},
    ]
    await save(hass, entry, "messages", {"notify_targets": twice})
    assert entry.options["notify_targets"] == [
        {"person": "person.anna", "targets": ["notify.mail", "notify.mobile_app_anna"]}
    ]
