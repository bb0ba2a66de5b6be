"""A Home Assistant of its own: a process in its own environment, with its own configuration and port."""

import asyncio
from dataclasses import dataclass, field
import json
import os
from pathlib import Path
import signal
import socket
import time
from typing import Self

import aiohttp

from .processes import BOUND, free_port

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("HOME_AGENT_CACHE", ROOT / ".cache"))
DEMO = ROOT / "demo"
START_SECONDS = 180
STOP_SECONDS = 30
POLL_SECONDS = 0.1
OWN_AUTOMATIONS = "\nautomation that people add: !include automations.yaml\n"
"""The file of what is made by talking and in the editor, beside the automations of the demo house."""
UNWANTED = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")  # variables that slow it down or lead it astray

# Only the owner is left to create: the other steps would set up services of the internet.
ONBOARDING_STORE = {
    "version": 4,
    "minor_version": 1,
    "key": "onboarding",
    "data": {"done": ["core_config", "analytics", "integration"]},
}


class StartError(RuntimeError):
    """A process did not come up; the message says why and what to do."""


def port_taken(port: int, host: str = "127.0.0.1") -> bool:
    """Tell whether somebody listens on the port."""
    with socket.socket() as probe:
        return probe.connect_ex((host if host != "0.0.0.0" else "127.0.0.1", port)) == 0  # noqa: S104


async def stop_process(process: asyncio.subprocess.Process, patience: float = STOP_SECONDS) -> None:
    """End a process and its children, politely first. Patience in seconds."""
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), patience)
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


@dataclass(kw_only=True)
class HomeAssistant:
    """One Home Assistant with this checkout's integration and the demo house."""

    version: str
    config: Path
    port: int = field(default_factory=free_port)
    host: str = "127.0.0.1"
    more: Path | None = None
    """The folder of one more integration, with the configuration to add."""
    process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """Return the address on this machine."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Return the file that the process writes to."""
        return self.config / "run.log"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start and wait until the web server answers. Raises StartError."""
        python = CACHE / f"ha-{self.version}" / "bin" / "python"
        if not python.exists():
            raise StartError(
                f"Home Assistant {self.version} is not installed; scripts/demo and scripts/test do that"
            )
        if port_taken(self.port, self.host):
            raise StartError(f"port {self.port} is in use; choose another one with --port")
        self._write_config()
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                python, "-m", "homeassistant", "--config", self.config, "--skip-pip",
                cwd=self.config,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={k: v for k, v in os.environ.items() if k not in UNWANTED},
                **BOUND,
            )  # fmt: skip
        try:
            await self._wait_for_web()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop, so that everything is written to disk."""
        if self.process is not None:
            await stop_process(self.process)
            self.process = None

    async def restart(self) -> None:
        """Stop and start with the same configuration."""
        await self.stop()
        await self.start()

    def _write_config(self) -> None:
        components = self.config / "custom_components"
        components.mkdir(parents=True, exist_ok=True)
        sources = [ROOT / "custom_components" / "home_agent", DEMO / "custom_components" / "demo_house"]
        configuration = (DEMO / "configuration.yaml").read_text(encoding="utf-8") + OWN_AUTOMATIONS
        if self.more is not None:
            sources.append(self.more)
            configuration += (self.more / "configuration.yaml").read_text(encoding="utf-8")
        for source in sources:
            link = components / source.name
            link.unlink(missing_ok=True)
            link.symlink_to(source)
        (self.config / "configuration.yaml").write_text(configuration, encoding="utf-8")
        for name in ("automations.yaml", "secrets.yaml"):
            (self.config / name).touch()
        storage = self.config / ".storage"
        storage.mkdir(exist_ok=True)
        (storage / "http").write_text(json.dumps(self._http_store()), encoding="utf-8")
        if not (storage / "onboarding").exists():
            (storage / "onboarding").write_text(json.dumps(ONBOARDING_STORE), encoding="utf-8")

    def _http_store(self) -> dict[str, object]:
        """Return the stored form of a confirmed port; one from YAML would only be on trial."""
        settings = {
            "server_port": self.port,
            "server_host": [self.host],
            "cors_allowed_origins": [],
            "login_attempts_threshold": -1,
            "ip_ban_enabled": True,
            "ssl_profile": "modern",
            "use_x_frame_options": True,
            "created_at": "2026-01-01T00:00:00+00:00",
            "error": None,
            "error_message": None,
        }
        data = {"stable": settings, "pending": None, "yaml_migration_done": True}
        return {"version": 2, "minor_version": 2, "key": "http", "data": data}

    async def _wait_for_web(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        async with aiohttp.ClientSession() as session:
            while time.monotonic() < deadline:
                if self.process is None or self.process.returncode is not None:
                    raise StartError(f"Home Assistant ended while starting:\n{self.log_tail()}")
                try:
                    async with session.get(f"{self.url}/manifest.json") as response:
                        if response.ok:
                            return
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(POLL_SECONDS)
        raise StartError(f"Home Assistant did not answer within {START_SECONDS} s:\n{self.log_tail()}")

    def log_tail(self, lines: int = 15) -> str:
        """Return the end of the log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
