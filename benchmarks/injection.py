"""The firewall: how many payloads it stops, what harmless text loses, and how long it takes."""

from collections import defaultdict
import json
from time import perf_counter
from typing import Any, Final

from custom_components.home_agent.safety.firewall import firewall
from tests.injection import harmless, payloads

from .report import Table, middle, p95

RESULT_CHARS: Final = 8_000
"""About what a tool may answer."""
ENDLESS: Final = 30_000_000


async def run() -> list[Table]:
    """Return the tables."""
    return [_stopped(), _lost(), _time()]


def _stopped() -> Table:
    """Count the payloads of which something that a model needs is gone."""
    table = Table("I1", "payloads that the firewall alone takes apart", ("kind", "payloads", "stopped", "%"))
    counts: dict[str, list[bool]] = defaultdict(list)
    for payload in payloads():
        told = _told(firewall.clean(payload.content).value)
        counts[payload.kind].append(not all(part in told for part in payload.parts))
    for kind, stopped in sorted(counts.items()):
        table.add(kind, len(stopped), sum(stopped), 100 * sum(stopped) / len(stopped))
    every = [stopped for kind in counts.values() for stopped in kind]
    table.add("all", len(every), sum(every), 100 * sum(every) / len(every))
    return table


def _lost() -> Table:
    """Count the characters that harmless texts lose."""
    table = Table("I2", "what harmless texts lose", ("kind", "texts", "characters", "lost, %"))
    counts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for item in harmless():
        text = item["text"]
        left = len(firewall.clean(text).value.replace(firewall.MARK, ""))
        counts[item["kind"]].append((len(text), len(text) - left))
    counts["all"] = [one for kind in counts.values() for one in kind]
    for kind, sizes in counts.items():
        whole = sum(size for size, _ in sizes)
        table.add(kind, len(sizes), whole, 100 * sum(lost for _, lost in sizes) / whole)
    table.notes.append("goal: under 3 % of all")
    return table


def _time() -> Table:
    """Measure how long cleaning takes."""
    table = Table("I3", "milliseconds to clean", ("text", "median", "p95"))
    page = " ".join(item["text"] for item in harmless())[:RESULT_CHARS]
    for name, value, runs in (
        ("one text of the corpus", harmless()[0]["text"], 100),
        (f"{RESULT_CHARS} characters in many languages", page, 20),
        ("30 MB of one text", "ignore the " * (ENDLESS // 11), 5),
        ("30 MB in a million strings", ["unlock the door, please, right now"] * (ENDLESS // 34), 5),
    ):
        times = [_milliseconds(value) for _ in range(runs)]
        table.add(name, middle(times), p95(times))
    return table


def _milliseconds(value: Any) -> float:
    """Return how long one cleaning takes."""
    started = perf_counter()
    firewall.clean(value)
    return (perf_counter() - started) * 1000


def _told(value: Any) -> str:
    """Return a value as a model reads it."""
    return json.dumps(value, ensure_ascii=False).replace('\\"', '"').replace("\\\\", "\\")
