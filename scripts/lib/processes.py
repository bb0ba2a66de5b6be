"""Processes that others start: their ports, and how they end with the process that started them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
import ctypes
import secrets
import signal
import socket
import subprocess
import sys
from typing import Any, Final, cast

_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None) if sys.platform == "linux" else None


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port that nobody listens on, for a program that takes it a little later.

    It is below those that systems give to servers with port 0, so none of these gets it in between.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with suppress(OSError), socket.create_server((host, port)):
            return port


def _end_with_parent() -> None:
    """Have the kernel end this process when its parent ends; runs in the child, before the program starts."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


BOUND: Final[dict[str, Any]] = {"preexec_fn": _end_with_parent}
"""Arguments for `asyncio.create_subprocess_exec` in the main thread: the process ends with this one.

A test run that is killed cannot stop the servers it started. Systems other than Linux have no such signal;
there a killed run leaves its servers behind.
"""

_SPAWNER: Final = ThreadPoolExecutor(1, "process spawner")
"""Starts processes. Linux sends the signal when the thread that started a process ends, so this one stays."""
_SPAWNER.submit(int)  # Home Assistant's test plug-in accepts only threads that exist before a test begins


def popen(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one. Takes the options of `subprocess.Popen`."""
    process = _SPAWNER.submit(lambda: subprocess.Popen(command, **BOUND, **options)).result()
    return cast(subprocess.Popen[bytes], process)
