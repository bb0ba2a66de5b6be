"""Which model the demo talks to: a server named, one found on this machine, or the small built-in one."""

import asyncio
from dataclasses import dataclass
import os
import sys
import time

import aiohttp

from .processes import BOUND, free_port
from .running import ROOT, StartError, port_taken, stop_process

SERVERS = (
    # name, address, path of the model list
    ("Ollama", "http://127.0.0.1:11434", "/v1/models"),
    ("LM Studio", "http://127.0.0.1:1234/v1", "/models"),
    ("llama.cpp or LocalAI", "http://127.0.0.1:8080/v1", "/models"),
    ("vLLM", "http://127.0.0.1:8000/v1", "/models"),
    ("Jan", "http://127.0.0.1:1337/v1", "/models"),
    ("KoboldCpp", "http://127.0.0.1:5001/v1", "/models"),
)
NOT_FOR_CHAT = ("embed", "bge-", "minilm", "rerank", "whisper", "tts", "clip")
PROBE = aiohttp.ClientTimeout(total=3)
FETCH_SECONDS = 900
BUILT_IN = "smollm2-135m-instruct"


@dataclass(slots=True, kw_only=True)
class Model:
    """A model server and what it is called."""

    url: str
    name: str
    api_key: str = ""
    note: str
    tiny: bool = False
    process: asyncio.subprocess.Process | None = None

    async def stop(self) -> None:
        """End the server if it is ours."""
        if self.process is not None:
            await stop_process(self.process, patience=1)


async def find_model(url: str | None, name: str | None, api_key: str, preferred_port: int) -> Model:
    """Return the model to use. Raises StartError."""
    if url:
        if not name:
            name = await _first_chat_model(url, "/models", api_key)
        if not name:
            raise StartError(
                f"{url} lists no models: is it running, and is the key right? Or name one with --model"
            )
        return Model(url=url, name=name, api_key=api_key, note="as you asked")
    for server, address, path in SERVERS:
        if found := await _first_chat_model(address, path, api_key, name):
            return Model(url=address, name=found, api_key=api_key, note=f"{server} on this machine")
    return await start_built_in(preferred_port)


async def _first_chat_model(url: str, path: str, api_key: str, wanted: str | None = None) -> str | None:
    """Return the wanted model or the first that chats; None when nothing that fits answers there."""
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        async with (
            aiohttp.ClientSession(timeout=PROBE, headers=headers) as session,
            session.get(url.rstrip("/") + path, raise_for_status=True) as response,
        ):
            listed = [str(model["id"]) for model in (await response.json(content_type=None))["data"]]
    except aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError:
        return None
    if wanted:
        return wanted if wanted in listed else None
    return next((model for model in listed if not any(word in model.lower() for word in NOT_FOR_CHAT)), None)


async def start_built_in(preferred_port: int) -> Model:
    """Start the built-in model; the first time it is fetched. Raises StartError."""
    port = free_port() if port_taken(preferred_port) else preferred_port
    process = await asyncio.create_subprocess_exec(
        ROOT / "scripts" / "lib" / "model_server.sh",
        str(port),
        "--log-disable",
        start_new_session=True,
        **BOUND,
    )
    model = Model(
        url=f"http://127.0.0.1:{port}/v1",
        name=BUILT_IN,
        note="built in, tiny: it shows the plumbing, not good answers",
        tiny=True,
        process=process,
    )
    try:
        await _wait_for(f"http://127.0.0.1:{port}/health", process)
    except BaseException:
        await model.stop()
        raise
    return model


async def _wait_for(url: str, process: asyncio.subprocess.Process) -> None:
    deadline = time.monotonic() + FETCH_SECONDS
    async with aiohttp.ClientSession(timeout=PROBE) as session:
        while time.monotonic() < deadline:
            if process.returncode is not None:
                raise StartError("the built-in model did not start; name a server of yours with --llm-url")
            try:
                async with session.get(url) as response:
                    if response.ok:
                        return
            except aiohttp.ClientError, TimeoutError:
                pass
            await asyncio.sleep(0.2)
    raise StartError(f"the built-in model did not answer within {FETCH_SECONDS} s")


async def main(command: list[str]) -> int:
    """Run a command while the built-in model serves, with its address in LLAMA_URL; return its exit code."""
    try:
        model = await start_built_in(free_port())
    except StartError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    try:
        environment = os.environ | {"LLAMA_URL": model.url}
        process = await asyncio.create_subprocess_exec(*command, env=environment, **BOUND)
        return await process.wait()
    finally:
        await model.stop()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
