"""Shows what a model sees: a model server whose answers a person or another program writes."""

import argparse
import asyncio
import ipaddress
from pathlib import Path
import signal

from aiohttp import web

from .answers import AnswerError, load_answers
from .requests import Requests
from .server import Server, Settings

PORT = 8130
STOP_SECONDS = 1


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/as-model", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (this machine only)")
    parser.add_argument("--port", type=int, default=PORT, help=f"port ({PORT}); 0 takes a free one")
    parser.add_argument("--model", default="by-hand", help="name of the model (by-hand)")
    parser.add_argument(
        "--timeout", type=float, default=600, help="seconds after which a request fails (600)"
    )
    parser.add_argument("--delay", type=float, default=0.03, help="seconds after each word (0.03)")
    parser.add_argument("--answers", type=Path, help="file of JSON lines with answers")
    parser.add_argument("--log", type=Path, help="file to which requests and answers are written")
    parser.add_argument(
        "--auto-warm",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="answer prompts that are read ahead and checks for tool calls (on)",
    )
    return parser.parse_args()


async def serve(wanted: argparse.Namespace) -> None:
    """Serve until a signal comes."""
    prepared = load_answers(wanted.answers) if wanted.answers else []
    requests = Requests(prepared=prepared, auto_warm=wanted.auto_warm, log=wanted.log)
    settings = Settings(wanted.host, wanted.model, wanted.timeout, wanted.delay)
    runner = web.AppRunner(
        Server(settings, requests).application(),
        access_log=None,
        handler_cancellation=True,  # the end of a connection shows that nobody waits any more
        shutdown_timeout=STOP_SECONDS,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, wanted.host, wanted.port).start()
        host, port = runner.addresses[0][:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        print(f"Page:   {address}/\nServer: {address}/v1", flush=True)
        if not ipaddress.ip_address(host).is_loopback:
            print("Everybody who reaches this address can read the prompts and answer them.", flush=True)
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await stop.wait()
    finally:
        await runner.cleanup()


def main() -> None:
    """Run the server; end with a message if it cannot start."""
    try:
        asyncio.run(serve(options()))
    except (AnswerError, OSError) as err:
        raise SystemExit(f"scripts/as-model: {err}") from err


if __name__ == "__main__":
    main()
