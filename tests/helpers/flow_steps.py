"""The steps of a config flow."""

from typing import Any

import probatio
import pytest

from homeassistant.config_entries import ConfigFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import section
from homeassistant.helpers import config_validation as cv
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, tool_calls


def call_what_is_offered(request: Any) -> Reply:
    offered = request.json.get("tools") or []
    if not offered:
        return text("Done.")
    return tool_calls([(offered[0]["function"]["name"], {})])


@pytest.fixture(autouse=True)
def calls_tools(model_server: ModelServer) -> None:
    """Let the model do what the probe asks, in each module that imports it: it calls the tool it is given."""
    model_server.default = call_what_is_offered


async def go_on(hass: HomeAssistant, result: ConfigFlowResult, typed: dict[str, Any]) -> ConfigFlowResult:
    """Submit the form that is shown; fields of its sections go where they belong."""
    nested = dict(typed)
    for name, inside in sections_of(result).items():
        if found := {key: nested.pop(key) for key in typed if key in inside.schema}:
            nested[name] = found
    return await hass.config_entries.flow.async_configure(result["flow_id"], nested)


async def finish(
    hass: HomeAssistant, result: ConfigFlowResult, *, assistant: bool = False
) -> ConfigFlowResult:
    assert result["step_id"] == "ready", result
    schema = result["data_schema"]
    assert schema is not None
    typed = {"make_assistant": assistant} if "make_assistant" in schema.schema else {}
    return await hass.config_entries.flow.async_configure(result["flow_id"], typed)


async def choose(hass: HomeAssistant, result: ConfigFlowResult, typed: dict[str, Any]) -> ConfigFlowResult:
    """Submit the page of models, and the last page if that is next, without an assistant."""
    result = await go_on(hass, result, typed)
    return await finish(hass, result) if result.get("step_id") == "ready" else result


def sections_of(result: ConfigFlowResult) -> dict[str, Any]:
    """Return the schemas of the sections of a form, by their names."""
    schema = result.get("data_schema")
    if schema is None:
        return {}
    return {str(key): value.schema for key, value in schema.schema.items() if isinstance(value, section)}


def shown(result: ConfigFlowResult) -> dict[str, Any]:
    """Return what the fields of a form are filled with, those of its sections included."""
    schema = result["data_schema"]
    assert schema
    assert probatio.to_field_list(schema, custom_serializer=cv.custom_serializer) is not None
    keys = [key for each in (schema, *sections_of(result).values()) for key in each.schema]
    values = {str(key): (key.description or {}).get("suggested_value") for key in keys}
    return {key: value for key, value in values.items() if value not in (None, "")}


def options_of(result: ConfigFlowResult, field: str) -> list[str]:
    schema = result["data_schema"]
    assert schema
    options = schema.schema[field].config["options"]
    return [option["value"] if isinstance(option, dict) else option for option in options]


def labels_of(result: ConfigFlowResult, field: str) -> dict[str, str]:
    schema = result["data_schema"]
    assert schema
    return {option["value"]: option["label"] for option in schema.schema[field].config["options"]}
