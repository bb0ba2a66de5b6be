"""What the integration costs at start: no patterns while modules load, and no module that nobody wants."""

import asyncio
import json
import os
from pathlib import Path
import sys

from custom_components import home_agent
from homeassistant.const import SERVER_PORT
from tests.servers.model_server import ModelServer

INTEGRATION = Path(home_agent.__file__).parent


STARTS = """
import asyncio, json, sys, threading
import custom_components.home_agent.config_flow
from benchmarks.harness import our_entry, running_home

loop_thread, blocking = threading.current_thread(), []

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("custom_components.home_agent") and threading.current_thread() is loop_thread:
            blocking.append(name)

async def main(url, options):
    sys.meta_path.insert(0, Watch())
    async with running_home(5) as (hass, _home):
        entry = our_entry(hass, url, json.loads(options))
        assert await hass.config_entries.async_setup(entry.entry_id)
        await hass.async_block_till_done(wait_background_tasks=True)
        await hass.config_entries.async_unload(entry.entry_id)
    loaded = [name for name in sys.modules if name.startswith("custom_components.home_agent.")]
    print(json.dumps({"loaded": loaded, "blocking": blocking, "port": hass.http.server_port}))

asyncio.run(main(*sys.argv[1:]))
"""
PARTS = (
    "config.checks",
    "memory.learner.learner",
    "memory.learner.sources",
    "proactive.watcher",
    "tools.custom.loader",
    "tools.custom.mcp",
    "tools.custom.rest",
    "tools.custom.service",
    "tools.outside.search_services",
    "vector.chroma",
    "vector.embedded",
)
"""What a house with the defaults needs nothing of."""
EVERYTHING = {
    "learning_enabled": True,
    "proactive_enabled": True,
    "web_search_provider": "searxng",
    "web_search_url": "http://127.0.0.1:9",
    "external_llm_enabled": True,
    "external_llm_base_url": "http://127.0.0.1:9",
    "external_llm_model": "large",
    "context_mode": "vector_db",
    "vector_db_embedding_provider": "openai",
    "vector_db_embedding_model": "embed",
}


async def _start(url: str, **options: object) -> tuple[set[str], list[str]]:
    """Return which of our modules a new Home Assistant has loaded, and which while the event loop waited.

    It must start beside a Home Assistant that is in use on the same machine.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", STARTS, url, json.dumps(options)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=INTEGRATION.parents[1],
        env={**os.environ, "PYTHONPATH": str(INTEGRATION.parents[1])},
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-2000:]
    told = json.loads(out.splitlines()[-1])
    assert told["port"] != SERVER_PORT
    return {name.removeprefix("custom_components.home_agent.") for name in told["loaded"]}, told["blocking"]


async def test_what_the_options_leave_off_is_not_loaded(model_server: ModelServer) -> None:
    loaded, blocking = await _start(model_server.url)
    assert "agent.core" in loaded
    assert loaded.isdisjoint(PARTS)
    assert blocking == []


async def test_what_the_options_want_loads_off_the_loop(model_server: ModelServer) -> None:
    loaded, blocking = await _start(model_server.url, **EVERYTHING)
    elsewhere = ("config.", "tools.custom.", "vector.chroma")  # in forms, in YAML, or instead of the files
    wanted = {part for part in PARTS if not part.startswith(elsewhere)}
    assert loaded >= wanted
    assert blocking == []
