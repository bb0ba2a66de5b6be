"""Print the figures: `python -m benchmarks [table ...] [--json FILE]`."""

import argparse
import asyncio
from collections.abc import Callable, Coroutine
import logging
import os
from pathlib import Path
from typing import Any

from . import (
    injection,
    layers,
    llama,
    memory,
    replay,
    requests,
    retrieval,
    soak,
    start,
    structure,
    turns,
)
from .report import Table, write_json

MODULES = (turns, requests, start, replay, retrieval, injection, memory, soak, structure, layers)
SUITES: dict[str, Callable[[], Coroutine[Any, Any, list[Table]]]] = {
    "cache": llama.run_cache,
    "quick": llama.run_quick,
    "scenarios": layers.run_scenarios,
    **{module.__name__.rpartition(".")[2]: module.run for module in MODULES},
}


def main() -> None:
    """Run the chosen suites, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], help="which tables; all by default")
    parser.add_argument("--verbose", action="store_true", help="show what Home Assistant logs")
    parser.add_argument("--json", type=Path, help="also write the tables to this file")
    parser.add_argument(
        "--data",
        type=Path,
        help="folder with homes.jsonl, tasks.jsonl and calls.jsonl for replay, or *.jsonl for retrieval",
    )
    parser.add_argument(
        "--url", help="a running model server, such as http://localhost:8080/v1, for cache and quick"
    )
    parser.add_argument(
        "--corpora", nargs="+", choices=layers.CHOSEN.corpora, help="what layers are measured with"
    )
    parser.add_argument(
        "--off", nargs="+", choices=layers.WITHOUT, help="the layers to switch off, one after the other"
    )
    parser.add_argument(
        "--sample", type=int, default=4, help="sentences of each language and intent for layers; 0 for all"
    )
    options = parser.parse_args()
    layers.CHOSEN = layers.Chosen(
        corpora=options.corpora or layers.CHOSEN.corpora,
        layers=options.off or layers.CHOSEN.layers,
        sample=options.sample or None,
    )
    if options.url:
        os.environ[llama.URL_VARIABLE] = options.url.rstrip("/")
    if options.data:
        os.environ[replay.DATA_VARIABLE] = os.environ[retrieval.DATA_VARIABLE] = str(options.data)
    logging.disable(logging.WARNING if not options.verbose else logging.NOTSET)
    tables: list[Table] = []
    for name in options.suites or SUITES:
        made = asyncio.run(SUITES[name]())
        for table in made:
            table.show()
        tables += made
    if options.json:
        write_json(tables, options.json)


if __name__ == "__main__":
    main()
