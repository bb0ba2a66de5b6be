"""The demo: Home Assistant with a furnished house, Home Agent set up in it, and a short conversation."""

import argparse
import asyncio
from collections.abc import Callable
import contextlib
import hashlib
import json
from pathlib import Path
import signal
import sys
import time
from typing import Any

from .agent import Answer, FlowError, add_entry, agent_of, entries, prefer_agent, say, set_options
from .client import PASSWORD, USERNAME, CallError, Client, onboard
from .models import Model, find_model
from .running import CACHE, HomeAssistant, StartError

LIGHT = "light.reading_lamp"
SENTENCES = ("Turn on the reading lamp", "Is the kitchen window open?")
BUILT_IN_OPTIONS = {"local_first_enabled": True, "llm_max_tokens": 120}
TOKEN = "token"  # noqa: S105 - the name it is remembered under


def progress_since(start: float) -> Callable[[str], None]:
    """Return what prints a line with the seconds since the start."""
    return lambda text: print(f"{time.monotonic() - start:6.1f} s  {text}", flush=True)


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument(
        "--llm-url", help="address of an OpenAI-compatible server, for example http://host:8080/v1"
    )
    parser.add_argument("--model", help="its model (the first one it lists)")
    parser.add_argument("--api-key", default="", help="its key, if it wants one")
    parser.add_argument("--port", type=int, default=8123, help="port of Home Assistant (8123)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (this machine only)")
    parser.add_argument("--ha-version", default="", help="release of Home Assistant")
    parser.add_argument("--once", action="store_true", help="stop after the conversation")
    return parser.parse_args()


class Demo:
    """One run of the demo."""

    def __init__(self, wanted: argparse.Namespace) -> None:
        """Prepare; the configuration is kept for the next time."""
        self.wanted = wanted
        self.progress = progress_since(time.monotonic())
        self.config: Path = CACHE / "demo" / wanted.ha_version
        self.house = HomeAssistant(
            version=wanted.ha_version, config=self.config, port=wanted.port, host=wanted.host
        )

    async def run(self) -> None:
        """Set everything up, talk, and stay until cancelled."""
        wanted = self.wanted
        self.progress("looking for a model")
        model = await find_model(wanted.llm_url, wanted.model, wanted.api_key, wanted.port + 1)
        try:
            self.progress(f"model {model.name} at {model.url} ({model.note})")
            self.progress(f"starting Home Assistant {wanted.ha_version}")
            async with self.house:
                token = await self._token()
                async with Client(self.house.url, token) as client:
                    await client.wait_running()
                    self.progress("Home Assistant runs; setting Home Agent up")
                    pipeline = await self._set_up(client, model)
                    await self._converse(client, pipeline, model)
                if not wanted.once:
                    self._invite()
                    await asyncio.Event().wait()
        finally:
            await model.stop()

    @property
    def _memo(self) -> Path:
        return self.config / "demo.json"

    def _remembered(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError):
            return dict(json.loads(self._memo.read_text(encoding="utf-8")))
        return {}

    def _remember(self, **facts: Any) -> None:
        self._memo.touch(mode=0o600)
        self._memo.write_text(json.dumps(self._remembered() | facts), encoding="utf-8")

    async def _token(self) -> str:
        if token := self._remembered().get(TOKEN):
            return str(token)
        self.progress(f"creating the user {USERNAME}")
        token = await onboard(self.house.url)
        self._remember(**{TOKEN: token})
        return token

    async def _set_up(self, client: Client, model: Model) -> str:
        """Make sure that Home Agent talks to this model; return its pipeline."""
        connection = {
            "name": "Home Agent",
            "llm_base_url": model.url,
            "llm_model": model.name,
            "llm_api_key": model.api_key,
        }
        present = [entry["entry_id"] for entry in await entries(client)]
        fingerprint = hashlib.sha256(json.dumps(connection).encode()).hexdigest()
        if not present or self._remembered().get("connection") != fingerprint:
            for entry_id in present:
                await client.rest("DELETE", f"config/config_entries/entry/{entry_id}")
            present = [await add_entry(client, connection)]
            if model.tiny:
                self.progress(
                    "Home Assistant's own sentences are tried before the tiny model (local_first_enabled)"
                )
                await set_options(client, present[0], BUILT_IN_OPTIONS)
            self._remember(connection=fingerprint)
        return await prefer_agent(client, await agent_of(client, present[0]))

    async def _converse(self, client: Client, pipeline: str, model: Model) -> None:
        await client.call("light.turn_off", {"entity_id": LIGHT})
        print(f"\n  {LIGHT} is {(await client.state(LIGHT))['state']}")
        conversation_id = None
        for sentence in SENTENCES:
            print(f"  You:        {sentence}", flush=True)
            answer = await say(client, sentence, pipeline=pipeline, conversation_id=conversation_id)
            conversation_id = answer.conversation_id
            print(f"  Home Agent: {answer.text}{_calls(answer)}")
            if sentence == SENTENCES[0]:
                state = (await client.state(LIGHT))["state"]
                print(f"  {LIGHT} is {state}", flush=True)
                if state != "on":
                    raise CallError(
                        f"the light is still {state}: {model.name} did not call the tool that switches it"
                    )
        print()

    def _invite(self) -> None:
        print(f"  Open {self.house.url} and log in as {USERNAME} with the password {PASSWORD}.")
        print(
            "  The chat is behind the icon at the top right (or press a). Ctrl-C ends the demo.\n", flush=True
        )


def _calls(answer: Answer) -> str:
    return f"   [tools: {', '.join(answer.tool_calls)}]" if answer.tool_calls else ""


async def main() -> int:
    """Run until done or interrupted; return the exit code."""
    demo = asyncio.create_task(Demo(options()).run())

    def interrupt() -> None:
        if not demo.cancelling():
            print("stopping", flush=True)
            demo.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, interrupt)
    try:
        await demo
    except asyncio.CancelledError:
        pass
    except (StartError, CallError, FlowError, TimeoutError) as problem:
        print(f"\nerror: {str(problem) or 'no answer in time'}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
