"""Runs a command while the built-in model serves; its address is in LLAMA_URL."""

import asyncio
import os
import sys

from .models import start_built_in
from .processes import BOUND, free_port
from .running import StartError


async def main(command: list[str]) -> int:
    """Return the exit code of the command."""
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
