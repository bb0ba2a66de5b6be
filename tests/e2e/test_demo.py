"""The demo command, as somebody who has just cloned the project runs it."""

import os
import shutil

import pytest

from scripts.lib.processes import free_port
from scripts.lib.running import CACHE, ROOT
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

from .conftest import RELEASES, heard, run, switch

LAMP = "light.reading_lamp"
SECONDS = 600


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment whose cache has all that was fetched, but no house that was used before."""
    cache = tmp_path_factory.mktemp("cache")
    for path in CACHE.iterdir():
        if path.name != "demo":
            (cache / path.name).symlink_to(path)
    return os.environ | {"HOME_AGENT_CACHE": str(cache)}


@pytest.mark.parametrize("release", RELEASES)
async def test_demo_switches_a_light_and_answers(
    release: str, model: ModelServer, environment: dict[str, str]
) -> None:
    model.clear()
    model.default = text("Done.")
    command = [ROOT / "scripts" / "demo", "--once", "--ha-version", release, "--port", str(free_port())]
    command += ["--llm-url", model.url, "--model", model.models[0]]
    model.on(heard("reading lamp"), switch(LAMP))
    model.on(heard("kitchen window"), text("Yes, it is open."))
    for _ in ("first start", "second start"):
        code, output = await run(*command, env=environment, seconds=SECONDS)
        assert code == 0, output
        assert f"{LAMP} is off" in output
        assert f"{LAMP} is on" in output
        assert "Yes, it is open." in output
    model.clear()


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="the built-in model comes from Debian")
async def test_demo_with_the_built_in_model(environment: dict[str, str]) -> None:
    code, output = await run(
        ROOT / "scripts" / "demo", "--once", "--port", str(free_port()), env=environment, seconds=SECONDS
    )
    assert code == 0, output
    assert f"{LAMP} is on" in output
