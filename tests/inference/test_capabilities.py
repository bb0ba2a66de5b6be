"""Parameters that a model refuses are left out, at once and from then on."""

from typing import Any

import pytest

from custom_components.home_agent.inference.models import ChatRequest, ModelServerError
from homeassistant.core import HomeAssistant
from tests.helpers.inference_kit import TOOL, Naps, ask, client_of, collect
from tests.servers.model_server import Captured, ModelServer, has_parameter
from tests.servers.replies import Reply, status, text, unknown_parameter

EVERYTHING: dict[str, Any] = {
    "temperature": 0.7,
    "top_p": 1.0,
    "max_tokens": 500,
    "thinking": False,
    "reasoning_effort": "low",
    "tools": [TOOL],
    "tool_choice": "none",
    "response_schema": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
}


def everything() -> ChatRequest:
    return ask(**EVERYTHING)


async def test_learned_dropped_and_remembered(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for parameter in [
        "temperature",
        "top_p",
        "stream_options",
        "reasoning_effort",
        "chat_template_kwargs",
        "tool_choice",
    ]:
        with subtests.test(parameter=parameter):
            model_server.clear()
            naps = Naps()
            model_server.on(has_parameter(parameter), unknown_parameter(parameter))
            client = client_of(hass, model_server.url, naps=naps)
            for _ in range(2):
                await collect(client.stream(everything()))
            refused, again, later = (request.json for request in model_server.requests)
            assert parameter in refused
            gone = {parameter, "tools"} if parameter == "tool_choice" else {parameter}
            assert refused.keys() - again.keys() == gone
            assert later.keys() == again.keys()
            assert naps.taken == []


async def test_every_way_of_saying_it(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for refusal, parameter in [
        (
            status(
                400,
                {
                    "error": {
                        "message": 'Unknown name "stream_options": Cannot find field.',
                        "status": "INVALID_ARGUMENT",
                    }
                },
            ),
            "stream_options",
        ),
        (
            status(
                400,
                {
                    "error": {
                        "message": "Unsupported value: 'temperature' does not support 0.7 with this model.",
                        "param": "temperature",
                    }
                },
            ),
            "temperature",
        ),
        (
            status(
                422,
                {
                    "detail": [
                        {
                            "type": "extra_forbidden",
                            "loc": ["body", "top_p"],
                            "msg": "Extra inputs are not permitted",
                            "input": 1,
                        }
                    ]
                },
            ),
            "top_p",
        ),
        (
            status(
                400, "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
            ),
            "top_p",
        ),
        (status(500, "Unsupported param: chat_template_kwargs"), "chat_template_kwargs"),
        (status(400, "Invalid extra parameter in body"), "chat_template_kwargs"),
    ]:
        with subtests.test(refusal=refusal, parameter=parameter):
            model_server.clear()
            model_server.on(has_parameter(parameter), refusal)
            await collect(client_of(hass, model_server.url).stream(everything()))
            refused, again = (request.json for request in model_server.requests)
            assert refused.keys() - again.keys() == {parameter}


async def test_response_format_falls_back_in_steps(hass: HomeAssistant, model_server: ModelServer) -> None:
    def answer(request: Captured) -> Reply:
        kind = (request.json.get("response_format") or {}).get("type")
        return {None: text("{}"), "json_object": unknown_parameter("response_format")}.get(
            kind, status(400, "json_schema is not supported")
        )

    model_server.default = answer
    await client_of(hass, model_server.url).complete(everything())
    kinds = [(request.json.get("response_format") or {}).get("type") for request in model_server.requests]
    assert kinds == ["json_schema", "json_object", None]


async def test_ollama_thinking_falls_back_in_steps(hass: HomeAssistant, model_server: ModelServer) -> None:
    def answer(request: Captured) -> Reply:
        refusals = {
            "high": 'think value "high" is not supported for this model',
            True: '"m" does not support thinking',
        }
        refusal = refusals.get(request.json.get("think"))
        return status(400, {"error": refusal}) if refusal else text("ok")

    model_server.capabilities = ["completion", "thinking"]
    model_server.default = answer
    client = client_of(hass, model_server.ollama_url, dialect="ollama")
    assert (await client.complete(ask(thinking=True, reasoning_effort="high"))).content == "ok"
    assert [chat.json.get("think") for chat in model_server.chats] == ["high", True, None]


async def test_refusals_about_something_else_are_told(hass: HomeAssistant, model_server: ModelServer) -> None:
    """A word of a tool's schema is no reason to drop a parameter, and never for good."""
    error = {"message": "Invalid schema: 'temperature' is odd", "param": "tools[0].function.parameters"}
    client = client_of(hass, model_server.url)
    model_server.script([status(400, {"error": error})])
    with pytest.raises(ModelServerError, match="Invalid schema"):
        await client.complete(everything())
    assert len(model_server.requests) == 1
    model_server.script([status(400, "temperature sensor tool is odd")] * 2)
    with pytest.raises(ModelServerError, match="sensor tool"):
        await client.complete(everything())
    await client.complete(everything())
    assert "temperature" in model_server.requests[-1].json


async def test_other_failures_teach_nothing(
    hass: HomeAssistant, model_server: ModelServer, subtests: pytest.Subtests
) -> None:
    for code in [500, 401, 404, 429]:
        with subtests.test(code=code):
            model_server.clear()
            model_server.default = status(
                code, "temperature too high in the server room", headers={"Retry-After": "60"}
            )
            with pytest.raises(ModelServerError):
                await client_of(hass, model_server.url).complete(everything())
            assert len(model_server.requests) == 1
