"""What people type: addresses, headers, keys, patterns."""

from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.home_agent.config.fields import normalise_url
from custom_components.home_agent.config.probe import candidates
from custom_components.home_agent.config.schemas import clean_allow_list, show_allow_list
from custom_components.home_agent.connection import is_cloud, parse_headers, render_key
from custom_components.home_agent.errors import AuthenticationError, InvalidInput
from custom_components.home_agent.inference.models import Endpoint
from homeassistant.core import HomeAssistant


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("localhost:1234", "http://localhost:1234"),
        ("192.168.1.5:11434/", "http://192.168.1.5:11434"),
        (" HTTP://Server/v1/ ", "http://server/v1"),
        ("api.openai.com", "https://api.openai.com"),
        ("http://api.openai.com/v1", "http://api.openai.com/v1"),
        ("https://host/a%2Fb/v1?x=1#y", "https://host/a%2Fb/v1"),
        ("[fe80::1]:8080/v1/chat/completions", "http://[fe80::1]:8080/v1"),
        ("http://host/api/generate", "http://host"),
        ("http://host/openai/v1/models", "http://host/openai/v1"),
    ],
)
def test_addresses(typed: str, stored: str) -> None:
    assert normalise_url(typed) == stored
    assert normalise_url(stored) == stored


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "   ",
        "http://",
        "https:///v1",
        "file:///etc/passwd",
        "http://a b/",
        "http://[::1",
        "http://*",
        "://x",
    ],
)
def test_no_addresses(typed: str) -> None:
    with pytest.raises(InvalidInput) as err:
        normalise_url(typed)
    assert err.value.key == "invalid_url"


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused(typed: str) -> None:
    try:
        url = normalise_url(typed)
    except InvalidInput:
        return
    assert url.startswith(("http://", "https://"))
    assert not url.endswith("/")
    is_cloud(url)
    assert normalise_url(url) == url


@pytest.mark.parametrize(
    ("url", "cloud"),
    [
        ("http://localhost:1234", False),
        ("http://127.0.0.1", False),
        ("http://[::1]", False),
        ("http://10.1.2.3", False),
        ("http://172.20.0.2", False),
        ("http://192.168.1.5", False),
        ("http://100.100.1.1", False),
        ("http://169.254.1.1", False),
        ("http://[fd00::1]", False),
        ("http://ollama:11434", False),
        ("http://server.local", False),
        ("http://Server.LOCAL.", False),
        ("http://box.lan", False),
        ("http://host.docker.internal", False),
        ("http://nas.tail1234.ts.net", False),
        ("http://172.32.0.2", True),
        ("http://8.8.8.8", True),
        ("http://[2001:4860:4860::8888]", True),
        ("https://api.openai.com/v1", True),
        ("https://local.example.com", True),
    ],
)
def test_what_is_outside_the_house(url: str, cloud: bool) -> None:
    assert is_cloud(url) is cloud


@pytest.mark.parametrize(
    ("url", "dialect", "tried"),
    [
        ("http://h:1", "openai", ["http://h:1/v1"]),
        ("http://h:1/proxy", "openai", ["http://h:1/proxy/v1", "http://h:1/proxy"]),
        ("http://h:1/v1", "openai", ["http://h:1/v1"]),
        ("https://openrouter.ai/api/v1", "openai", ["https://openrouter.ai/api/v1"]),
        ("https://g.example/v1beta/openai", "openai", ["https://g.example/v1beta/openai"]),
        ("http://h:1", "ollama", ["http://h:1"]),
        ("http://h:1/v1", "ollama", ["http://h:1"]),
        ("http://h:1/proxy/api", "ollama", ["http://h:1/proxy"]),
        ("https://me.openai.azure.com", "azure", ["https://me.openai.azure.com"]),
    ],
)
def test_addresses_that_are_tried(url: str, dialect: str, tried: list[str]) -> None:
    assert list(candidates(Endpoint(base_url=url, model="", dialect=dialect))) == tried


def test_headers() -> None:
    assert parse_headers(None) == parse_headers("") == parse_headers(" \n ") == {}
    assert parse_headers("A: b:c\nD:") == {"A": "b:c", "D": ""}
    assert parse_headers('{"A": "b", "N": 1}') == {"A": "b", "N": "1"}
    assert parse_headers({"A": "b"}) == {"A": "b"}


@given(st.text(max_size=200))
def test_any_text_is_headers_or_refused(typed: str) -> None:
    try:
        headers = parse_headers(typed)
    except InvalidInput:
        return
    for name, value in headers.items():
        assert name.isascii()
        assert not set("\r\n\0") & set(name + value)


async def test_rendered_keys(hass: HomeAssistant) -> None:
    assert render_key(hass, None) == render_key(hass, " ") == ""
    assert render_key(hass, " abc ") == "abc"
    assert render_key(hass, "{{ 'a' ~ 'b' }}") == "ab"
    assert render_key(hass, "{% if true %} x {% endif %}") == "x"
    with pytest.raises(AuthenticationError) as err:
        render_key(hass, "{{ secret | nosuchfilter }}")
    assert "secret" not in str(err.value)


@pytest.mark.parametrize(
    ("picked", "stored"),
    [
        ({"area_id": ["kitchen"], "entity_id": []}, {"areas": ["kitchen"]}),
        (
            {"floor_id": ["upstairs"], "exclude": {"entity_id": ["light.bed"], "label_id": ["private"]}},
            {"floors": ["upstairs"], "excluded": {"entities": ["light.bed"], "labels": ["private"]}},
        ),
        ({"exclude": {"device_id": ["tv"]}}, {"excluded": {"devices": ["tv"]}}),
        ({"area_id": [], "exclude": {"area_id": []}}, None),
    ],
)
def test_lists_of_entities(picked: dict[str, Any], stored: dict[str, Any] | None) -> None:
    """What Home Assistant's selector gives is stored with what it excludes, and shown again."""
    assert clean_allow_list(picked) == stored
    assert clean_allow_list(show_allow_list(stored)) == stored
