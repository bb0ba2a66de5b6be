"""The command that makes the text of an issue about a turn, without private words."""

from collections.abc import Iterator, Mapping
from typing import Final, TypedDict

import probatio

from homeassistant.const import __version__
from homeassistant.exceptions import HomeAssistantError
from homeassistant.loader import async_get_integration

from ..agent.record import Row
from ..const import DOMAIN
from .commands import CommandRow, PanelCommand

MAX_QUOTED: Final = 600
"""Characters of an answer, and of the arguments and the result of a call."""


class ReportAnswer(TypedDict):
    """The text of an issue, in Markdown."""

    report: str


async def _async_report(command: PanelCommand) -> ReportAnswer:
    """Return the text of an issue about a turn. Raises HomeAssistantError for one that is no longer kept.

    The requests are not part of it: they hold the names and the states of the whole home.
    """
    turn = command.data.turn_log.whole(command.fields["turn_id"])
    if turn is None:
        raise HomeAssistantError(translation_domain=DOMAIN, translation_key="turn_unknown")
    integration = await async_get_integration(command.hass, DOMAIN)
    head = [f"Home Agent {integration.version}, Home Assistant {__version__}"]
    text = await command.data.outgoing.async_mask("\n".join(_lines(turn)), turn["language"])
    return {"report": "\n".join([*head, text])}


def _lines(turn: Row) -> Iterator[str]:
    models = dict.fromkeys(request["model"] for request in turn["requests"])
    yield f"Model: {', '.join(models) or 'none was asked'}"
    yield f"Language: {turn['language']}, {turn['surface']}"
    yield f"Outcome: {turn['outcome']}{f' ({turn["error"]}: {turn["cause"]})' if turn['error'] else ''}"
    yield ""
    yield f"**Sentence:** {turn['sentence']}"
    yield f"**Answer:** {turn['answer'][:MAX_QUOTED]}"
    yield "**Expected:** "
    yield ""
    for request in turn["requests"]:
        parts = ", ".join(f"{part['name']} {part['tokens']}" for part in request["parts"])
        again = ", asked again" if request["again"] else ""
        yield (
            f"- request at {request['at']:.0f} ms{again}: waited {request['waited_ms']:.0f} ms, "
            f"first token {request['first_ms'] or 0:.0f} ms, "
            f"{request['ms']:.0f} ms, prompt {request['prompt']}, cached {request['cached']}, "
            f"answer {request['completion']} ({parts})"
        )
    for call in turn["calls"]:
        worked = "waits" if call["waits"] else "worked" if call["success"] else "failed"
        fit = " ".join((call["fit"], *call["rules"]))
        yield f"- call of {call['tool']} at {call['at']:.0f} ms: {worked}, {fit}"
        yield f"  - arguments: {call['args'][:MAX_QUOTED]}"
        yield f"  - result: {call['result'][:MAX_QUOTED]}"


COMMANDS: Final[Mapping[str, CommandRow]] = {
    "report": CommandRow(_async_report, {probatio.Required("turn_id"): str}),
}
