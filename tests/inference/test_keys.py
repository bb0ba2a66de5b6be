"""Keys, addresses and headers: sent where they belong, shown nowhere."""

import logging

from hypothesis import given, settings, strategies as st
import pytest

from custom_components.home_agent.inference.models import (
    Endpoint,
    ModelServerError,
    from_answer,
    scrub,
)
from homeassistant.core import HomeAssistant
from tests.helpers.examples import many
from tests.helpers.inference_kit import KEY, ask, client_of
from tests.servers.model_server import ModelServer, on_path
from tests.servers.replies import error_in_stream, html, raw, reset, status


async def test_no_key_in_errors_logs_or_addresses(
    hass: HomeAssistant,
    model_server: ModelServer,
    caplog: pytest.LogCaptureFixture,
    subtests: pytest.Subtests,
) -> None:
    for reply in [
        status(401, f"Incorrect API key provided: {KEY}. Header X-Proxy: hunter22-proxy"),
        status(400, {"error": f"Bearer {KEY} hunter22-proxy"}),
        error_in_stream(f"bad key {KEY} hunter22-proxy"),
        html(500),
        raw(f"data: {KEY} hunter22-proxy\n\n".encode()),
        status(301, {}, headers={"Location": f"https://{KEY}@host/"}),
        reset(),
    ]:
        with subtests.test(reply=reply):
            model_server.clear()
            caplog.set_level(logging.DEBUG)
            model_server.default = reply
            client = client_of(hass, model_server.url, headers={"X-Proxy": "hunter22-proxy"})
            with pytest.raises(ModelServerError) as caught:
                await client.complete(ask())
            shown = " ".join(
                (
                    caught.value.detail,
                    str(caught.value),
                    repr(caught.value),
                    repr(client.endpoint),
                    caplog.text,
                )
            )
            assert KEY not in shown
            assert "hunter22" not in shown
            assert len(caught.value.detail) <= 200
            request = model_server.requests[0]
            assert KEY not in request.path + request.query
            assert KEY.encode() not in request.raw
            assert request.headers["authorization"] == f"Bearer {KEY}"
            assert request.headers["x-proxy"] == "hunter22-proxy"


async def test_a_redirect_carries_no_key_elsewhere(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    moved = status(307, {}, headers={"Location": f"{other_model_server.url}/chat/completions"})
    model_server.default = moved
    model_server.on(on_path("/models"), moved)
    client = client_of(hass, model_server.url)
    for attempt in (client.complete(ask()), client.model_list()):
        with pytest.raises(ModelServerError, match="redirects"):
            await attempt
    assert other_model_server.requests == []


async def test_user_and_password_in_the_address(hass: HomeAssistant, model_server: ModelServer) -> None:
    url = model_server.url.replace("http://", "http://home:pass%40word@")
    await client_of(hass, url, api_key="").complete(ask())
    assert model_server.requests[0].headers["authorization"] == "Basic aG9tZTpwYXNzQHdvcmQ="
    await client_of(hass, url).complete(ask())
    assert model_server.requests[1].headers["authorization"] == f"Bearer {KEY}"
    assert "pass" not in repr(Endpoint(base_url=url, model="m"))


@settings(max_examples=many(60))
@given(before=st.text(max_size=300), after=st.text(max_size=300), code=st.sampled_from([0, 400, 401, 500]))
def test_the_key_never_survives(before: str, after: str, code: int) -> None:
    secret = "hunter2-XYZ"
    error = from_answer(code, {"error": {"message": before + secret + after}}, secrets=(secret,))
    assert secret not in error.detail
    assert len(error.detail) <= 200


def test_scrub(subtests: pytest.Subtests) -> None:
    for said, shown in [
        ("key sk-abcdefgh1234 is wrong", "key *** is wrong"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("https://u:pw@host/v1?key=AB&x=1", "https://***@host/v1?key=***&x=1"),
        ("two\n  lines", "two lines"),
    ]:
        with subtests.test(said=said, shown=shown):
            assert scrub(said) == shown
