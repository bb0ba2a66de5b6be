"""Conversations whose requests are compared with recorded ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.helpers.cloud import outside
from tests.helpers.tables import tables
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, text, too_long, tool_calls

type Turn = tuple[str, Sequence[Reply]]
"""What the speaker says, and what the model answers."""

DATA: Mapping[str, Callable[[ModelServer], dict[str, Any]]] = {
    "outside": lambda server: {"llm_base_url": outside(server)},
    "ollama": lambda server: {"llm_base_url": server.ollama_url, "llm_dialect": "ollama"},
}
"""Settings of the entry, for a server, of the conversations that need some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conversation. Anna speaks, at a satellite in the kitchen."""

    turns: Sequence[Turn]
    language: str = "en"
    options: Mapping[str, Any] = field(default_factory=dict)
    data: Callable[[ModelServer], dict[str, Any]]


def _reply(row: str | dict[str, Any]) -> Reply:
    if isinstance(row, dict):
        return tool_calls([*row.items()])
    return too_long() if row == "too_long" else text("All right." if row == "done" else row)


CASES: dict[str, Case] = {
    name: Case(
        **{**case, "turns": [(said, [*map(_reply, replies)]) for said, replies in case["turns"]]},
        data=DATA.get(name, lambda _server: {}),
    )
    for name, case in tables(__file__).items()
}
