"""The firewall: how many payloads it stops, what harmless text loses, and how long it takes."""

from collections import defaultdict
from collections.abc import Callable
import json
from time import perf_counter
from typing import Any, Final

from custom_components.home_agent.context.providers.texts import TEXT_CHARS
from custom_components.home_agent.memory.memories import MAX_CONTENT
from custom_components.home_agent.memory.profile import MAX_VALUE
from custom_components.home_agent.safety.firewall import firewall
from custom_components.home_agent.safety.firewall.firewall import note_tools
from custom_components.home_agent.texts import quoted
from custom_components.home_agent.tools.native import NATIVE
from tests.helpers.injection import harmless, payloads

from .report import Table, middle, p95

RESULT_CHARS: Final = 8_000
"""About what a tool may answer."""
ENDLESS: Final = 30_000_000


async def run() -> list[Table]:
    """Return the tables."""
    note_tools(NATIVE)
    return [_stopped(), _by_way(), _lost(), _time()]


def _stopped() -> Table:
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


WAYS: Final[dict[str, Callable[[str], Any]]] = {
    "a tool's answer": lambda words: {"result": words},
    "a search": lambda words: {"results": [{"title": words, "url": "https://a.example/", "content": words}]},
    "a calendar": lambda words: {"events": [{"summary": words, "description": words}]},
    "a title": lambda words: [f"- media_player.radio: playing, {quoted(words, MAX_CONTENT)}"],
    "a document": lambda words: [f"- manual.md: {quoted(words, TEXT_CHARS)}"],
    "a memory": lambda words: [f"- {quoted(words, MAX_CONTENT)}"],
    "a profile": lambda words: [f'- the speaker\'s "household, name": {quoted(words, MAX_VALUE)}'],
}
"""How a text stands in what a model reads, by the way it came in."""
SAID: Final = frozenset({"a memory", "a profile"})
"""Ways that mark no turn, so that the firewall reads them as if they spoke to a model."""


def _by_way() -> Table:
    """Count the payloads of which something that a model needs is gone, by their way in."""
    table = Table("I4", "the same by way in", ("way", "payloads", "stopped", "%"))
    for way, put in WAYS.items():
        stopped = 0
        for payload in payloads():
            content = payload.content
            words = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            told = _told(firewall.clean(put(words), addressed=way in SAID).value)
            stopped += not all(part in told for part in payload.parts)
        table.add(way, len(payloads()), stopped, 100 * stopped / len(payloads()))
    table.notes.append("a title, a memory and a profile are cut, and what is cut off counts as stopped")
    return table


def _lost() -> Table:
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
    table.notes.append("goal: at most 0.3 % of all")
    return table


def _time() -> Table:
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
    started = perf_counter()
    firewall.clean(value)
    return (perf_counter() - started) * 1000


def _told(value: Any) -> str:
    """Return a value as a model reads it."""
    return json.dumps(value, ensure_ascii=False).replace('\\"', '"').replace("\\\\", "\\")
