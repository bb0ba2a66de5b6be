"""Runs a command while the built-in model serves; its address is in LLAMA_URL."""

import asyncio
import os
import sys

from .models import start_built_in
from .running import StartError, free_port


async def main(command: list[str]) -> int:
    """Return the exit code of the command."""
    try:
        model = await start_built_in(free_port())
    except StartError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    try:
        process = await asyncio.create_subprocess_exec(*command, env=os.environ | {"LLAMA_URL": model.url})
        return await process.wait()
    finally:
        await model.stop()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
