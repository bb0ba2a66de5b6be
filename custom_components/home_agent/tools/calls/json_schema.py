"""Parameters that were written as JSON Schema, and how any tool's parameters are told to a model."""

from collections.abc import Mapping
from typing import Any, override

import probatio

from homeassistant.helpers import llm


class _Written(dict[Any, Any]):
    """The part of a schema that probatio shows to serializers, with what it was made of."""

    written: Mapping[str, Any]


class JsonSchema(probatio.Schema):
    """A JSON Schema that checks arguments, and that models read as it was written."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        """Read a schema of an object. Raises probatio.SchemaError for what is none."""
        self._checks = probatio.from_openapi(dict(written))
        node = _Written(self._checks.schema if isinstance(self._checks.schema, dict) else {})
        node.written = written
        super().__init__(node)
        self.written = written

    @override
    def __call__(self, data: Any, **options: Any) -> Any:
        """Return the arguments with defaults filled in."""
        return self._checks(data, **options)


def serialize(node: Any) -> Any:
    """Return a node of a schema as JSON Schema; probatio.UNSUPPORTED where it knows itself how."""
    return node.written if isinstance(node, _Written) else llm.selector_serializer(node)
