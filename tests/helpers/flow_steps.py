"""The steps of a config flow."""

from typing import Any

import probatio

from homeassistant.config_entries import ConfigFlowResult
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv
from tests.servers.replies import Reply, text, tool_calls


def call_what_is_offered(request: Any) -> Reply:
    """Call the first tool of a request, or say something."""
    offered = request.json.get("tools") or []
    if not offered:
        return text("Done.")
    return tool_calls([(offered[0]["function"]["name"], {})])


async def go_on(hass: HomeAssistant, result: ConfigFlowResult, typed: dict[str, Any]) -> ConfigFlowResult:
    """Submit the form that is shown."""
    return await hass.config_entries.flow.async_configure(result["flow_id"], typed)


def shown(result: ConfigFlowResult) -> dict[str, Any]:
    """Return what the fields of a form are filled with."""
    schema = result["data_schema"]
    assert schema
    assert probatio.to_field_list(schema, custom_serializer=cv.custom_serializer) is not None
    values = {str(key): (key.description or {}).get("suggested_value") for key in schema.schema}
    return {key: value for key, value in values.items() if value not in (None, "")}


def options_of(result: ConfigFlowResult, field: str) -> list[str]:
    """Return what a dropdown offers."""
    schema = result["data_schema"]
    assert schema
    return schema.schema[field].config["options"]
