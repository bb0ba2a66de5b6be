"""What people type: addresses, headers, keys, patterns."""

from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.home_agent.config.fields import normalise_url
from custom_components.home_agent.config.schemas import clean_allow_list, show_allow_list
from custom_components.home_agent.connection import is_cloud, parse_headers, render_key
from custom_components.home_agent.errors import AuthenticationError, InvalidInput
from homeassistant.core import HomeAssistant

ADDRESSES = {
    "localhost:1234": "http://localhost:1234",
    "192.168.1.5:11434/": "http://192.168.1.5:11434",
    " HTTP://Server/v1/ ": "http://server/v1",
    "api.openai.com": "https://api.openai.com",
    "http://api.openai.com/v1": "http://api.openai.com/v1",
    "https://host/a%2Fb/v1?x=1#y": "https://host/a%2Fb/v1",
    "[fe80::1]:8080/v1/chat/completions": "http://[fe80::1]:8080/v1",
    "http://host/api/generate": "http://host",
    "http://host/openai/v1/models": "http://host/openai/v1",
}
NO_ADDRESSES = (
    *("", "   ", "http://", "https:///v1", "file:///etc/passwd", "http://a b/", "http://[::1", "http://*"),
    "://x",
)


def test_addresses() -> None:
    for typed, stored in ADDRESSES.items():
        assert normalise_url(typed) == stored
        assert normalise_url(stored) == stored
    for typed in NO_ADDRESSES:
        with pytest.raises(InvalidInput) as err:
            normalise_url(typed)
        assert err.value.key == "invalid_url", typed


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


def test_lists_of_entities() -> None:
    """What Home Assistant's selector gives is stored with what it excludes, and shown again."""
    lists: tuple[tuple[dict[str, Any], dict[str, Any] | None], ...] = (
        ({"area_id": ["kitchen"], "entity_id": []}, {"areas": ["kitchen"]}),
        (
            {"floor_id": ["upstairs"], "exclude": {"entity_id": ["light.bed"], "label_id": ["private"]}},
            {"floors": ["upstairs"], "excluded": {"entities": ["light.bed"], "labels": ["private"]}},
        ),
        ({"exclude": {"device_id": ["tv"]}}, {"excluded": {"devices": ["tv"]}}),
        ({"area_id": [], "exclude": {"area_id": []}}, None),
    )
    for picked, stored in lists:
        assert clean_allow_list(picked) == stored
        assert clean_allow_list(show_allow_list(stored)) == stored
