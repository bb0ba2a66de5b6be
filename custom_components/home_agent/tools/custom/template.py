"""`type: template`: an answer that Home Assistant's own templates give."""

from collections.abc import Iterable
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

from ...safety.firewall.own_values import texts_repeated
from ..base import ToolRun
from .base import CustomTool
from .checks import Section
from .templates import Text, Writer

EXAMPLE = "value_template: \"{{ states('sensor.power') }} W\""


class TemplateTool(CustomTool):
    """Renders a template; it changes nothing."""

    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    _template: Text

    @override
    @classmethod
    def read(cls, section: Section, writer: Writer) -> Text | None:
        """Return the template."""
        source = section.text("value_template", "template", required=EXAMPLE)
        key = "template" if section.has("template") else "value_template"
        return None if source is None else writer.text(section, key, source)

    @override
    def configure(self, handler: Text) -> None:
        """Take the template."""
        self._template = handler

    @override
    def outside_texts(self, hass: HomeAssistant, result: JsonValueType) -> Iterable[str]:
        """Return what the template repeats of texts that somebody outside wrote."""
        return texts_repeated(hass, str(result))

    @override
    async def async_handle(self, variables: dict[str, Any], run: ToolRun) -> JsonValueType:
        """Return what the template gives."""
        result: JsonValueType = self._template.value(variables)
        return result
