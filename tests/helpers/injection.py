"""Payloads and harmless texts, and a tool that brings them from outside."""

from dataclasses import dataclass
from functools import cache
import json
from pathlib import Path
from typing import Any, override

import probatio

from custom_components.home_agent.tools.base import HomeAgentTool, ToolRun
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType

FIXTURES = Path(__file__).parents[1] / "fixtures"


@dataclass(frozen=True, slots=True)
class Payload:
    """One text written to steer a model."""

    id: str
    kind: str
    language: str
    wants: str
    """The demand, see `servers/obedient.py`."""
    content: Any
    parts: tuple[str, ...]
    """What has to reach a model so that it may understand the demand."""


@cache
def payloads() -> tuple[Payload, ...]:
    lines = (FIXTURES / "injection_payloads.jsonl").read_text(encoding="utf-8").splitlines()
    read = [json.loads(line) for line in lines]
    return tuple(Payload(**{**item, "parts": tuple(item["parts"])}) for item in read)


@cache
def harmless() -> tuple[dict[str, str], ...]:
    """Return texts that hold orders to people and none to a model."""
    lines = (FIXTURES / "injection_harmless.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


class OutsideTool(HomeAgentTool):
    """Answers with what somebody outside wrote."""

    name = "read_outside"
    description = "Read."
    parameters = probatio.Schema({probatio.Optional("n"): int})
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=True)
    untrusted = True
    content: Any = ""

    @override
    async def async_run(self, args: dict[str, Any], run: ToolRun) -> JsonValueType:
        return self.content
