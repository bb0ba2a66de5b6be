"""The servers that tests start end with the test run, whatever happens to it."""

import asyncio
import os
from pathlib import Path
import signal
import sys

import pytest

from tests.servers.process import ServerProcess

PARENT = """
import signal, sys
from scripts.lib.processes import popen
print(popen([sys.executable, "-c", "import signal; signal.pause()"]).pid, flush=True)
signal.pause()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the signal at a parent's end is Linux's")
async def test_a_server_ends_with_a_run_that_is_killed() -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert parent.stdout is not None
    child = os.pidfd_open(int(await parent.stdout.readline()))
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(child, ended.set)
    try:
        assert not ended.is_set()
        parent.kill()
        assert await parent.wait() == -signal.SIGKILL
        async with asyncio.timeout(30):
            await ended.wait()
    finally:
        asyncio.get_running_loop().remove_reader(child)
        os.close(child)


def test_a_server_that_never_answers_is_stopped(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = "import os, pathlib, sys; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); print('no')"
    command = [sys.executable, "-c", script, str(pid)]
    server = ServerProcess(command, log=tmp_path / "log", answers=lambda: False)
    with pytest.raises(AssertionError, match="no"):
        server.start()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
