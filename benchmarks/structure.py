"""A1: how much of the code one turn needs, and how large the project is."""

from dataclasses import dataclass, field
from pathlib import Path
import sys
from types import CodeType, FrameType

import aiohttp

from custom_components import home_agent
from homeassistant.components import conversation
from homeassistant.core import Context
from scripts.lib.size import measure

from .harness import ServerProcess, add_ours, running_home
from .report import Table

PACKAGE = Path(home_agent.__file__).parent
ENTITIES = 50
SENTENCES = (
    "Turn on the kitchen light",
    "Kitchen light on, please",
    "Would you put the light in the kitchen on",
    "I need the kitchen light",
    "Let there be light in the kitchen",
    "Switch the kitchen light on for me",
)
"""One for each turn, so that no cache has read the sentence of the turn that is measured."""
WARM_UP = len(SENTENCES) - 1
LIGHT = "light.kitchen_light"


async def run() -> list[Table]:
    """Measure and return the table."""
    table = Table("A1", "structure of the integration", ("what", "now", "target"))
    walk = await _walk()
    table.add("files entered by a plain command, after warming up", len(walk.files), 70)
    table.add("crossings between files in it", walk.crossings, 400)
    table.add("functions entered in it", len(walk.functions), "")
    targets = {"lines of the integration": "55,000", "files of the integration": 300}
    for name, figure in measure().items():
        table.add(name, figure, targets.get(name, ""))
    table.notes.append(
        f"a plain command of a person: “{SENTENCES[WARM_UP]}”, {ENTITIES} entities, turn {WARM_UP + 1}"
    )
    return [table]


@dataclass(slots=True)
class Walk:
    """The entered files and functions of the package, and the number of calls from one file to another."""

    files: set[str] = field(default_factory=set)
    functions: set[CodeType] = field(default_factory=set)
    crossings: int = 0

    def note(self, code: CodeType, _offset: int) -> None:
        """Record a function that starts; a function that resumes is not recorded."""
        if not code.co_filename.startswith(str(PACKAGE)):
            return
        self.files.add(code.co_filename)
        self.functions.add(code)
        caller: FrameType | None = sys._getframe(1).f_back  # noqa: SLF001 - the way to a caller
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            self.crossings += caller.f_code.co_filename.startswith(str(PACKAGE))


async def _walk() -> Walk:
    server = ServerProcess()
    found = Walk()
    monitoring, tool = sys.monitoring, sys.monitoring.PROFILER_ID
    try:
        async with aiohttp.ClientSession() as session, running_home(ENTITIES) as (hass, _home):
            agent = await add_ours(hass, server.url, {})
            reply = {"calls": [["ha_control", {"action": "turn_on", "entity_id": LIGHT}]]}
            rules = [{"reply": reply, "last_role": "user"}]
            await server.script(session, default={"chunks": ["It ", "is ", "on."]}, rules=rules)
            person = Context(user_id=(await hass.auth.async_create_user("Ann")).id)
            for turn, sentence in enumerate(SENTENCES):
                hass.states.async_set(LIGHT, "off", {"friendly_name": "Kitchen Light"})
                await hass.async_block_till_done()
                if turn == WARM_UP:
                    monitoring.use_tool_id(tool, "walk")
                    monitoring.register_callback(tool, monitoring.events.PY_START, found.note)
                    monitoring.set_events(tool, monitoring.events.PY_START)
                await conversation.async_converse(hass, sentence, None, person, "en", agent)
            monitoring.set_events(tool, 0)
            assert hass.states.is_state(LIGHT, "on")
    finally:
        if monitoring.get_tool(tool) is not None:
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)
        server.stop()
    return found
