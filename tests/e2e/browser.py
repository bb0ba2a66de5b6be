"""A house for a browser, and programs that a browser runs in it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import json
import os
from pathlib import Path
import shutil
from typing import Any

import pytest

from scripts.lib.client import PASSWORD, USERNAME
from scripts.lib.running import ROOT, HomeAssistant
from tests.servers.model_server import ModelServer

from .conftest import HERE, keep_log, run

SECONDS = 300

needs_browser = pytest.mark.skipif(
    not os.environ.get("HOME_AGENT_BROWSER") or shutil.which("node") is None,
    reason="needs a Chromium and Node.js; scripts/test --e2e looks for them",
)


@asynccontextmanager
async def fresh_home(release: str, model: ModelServer, folder: Path) -> AsyncIterator[HomeAssistant]:
    """Run a new Home Assistant of a release, and keep its log."""
    model.clear()
    async with HomeAssistant(version=release, config=folder / "config") as home:
        try:
            yield home
        finally:
            keep_log(home)


async def drive(name: str, home: HomeAssistant, folder: Path, **plan: Any) -> dict[str, Any]:
    """Let the browser run a program with a plan; return what it saw."""
    path = folder / "plan.json"
    known = {
        "url": home.url,
        "username": USERNAME,
        "password": PASSWORD,
        "browser": os.environ["HOME_AGENT_BROWSER"],
        "playwright": os.environ["HOME_AGENT_PLAYWRIGHT"],
        "screenshots": str(ROOT / "artifacts" / f"{name}-{home.version}"),
    }
    path.write_text(json.dumps({**known, **plan}), encoding="utf-8")
    code, output = await run("node", HERE / f"{name}.mjs", path, env=dict(os.environ), seconds=SECONDS)
    assert code == 0, output
    return dict(json.loads(output.strip().splitlines()[-1]))
