"""A server in a separate process, on a free loopback port."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
import subprocess
import time

from scripts.lib.processes import popen

START_SECONDS = 60
STOP_SECONDS = 20


class ServerProcess:
    """Starts a command, waits until it answers, and stops it, also if it never answers."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        answers: Callable[[], bool],
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command, self._log, self._answers = command, log, answers
        self._folder, self._environment = folder, environment
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start and return once it answers. Raises AssertionError with the last of its output."""
        with self._log.open("ab") as log:
            self._process = popen(
                self._command, stdout=log, stderr=log, env=self._environment, cwd=self._folder
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise AssertionError(self._log.read_text(errors="replace")[-2000:])
            time.sleep(0.05)

    def stop(self) -> None:
        """Terminate the process, and kill it if it does not end."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
