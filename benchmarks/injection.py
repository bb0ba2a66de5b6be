"""The firewall: how many payloads it stops, and what harmless text loses."""

from collections import defaultdict
import json
from typing import Any

from custom_components.home_agent.safety.firewall import firewall
from custom_components.home_agent.safety.firewall.firewall import note_tools
from custom_components.home_agent.tools.native import NATIVE
from tests.helpers.injection import harmless, payloads

from .report import Table


async def run() -> list[Table]:
    """Return the tables."""
    note_tools(NATIVE)
    return [_stopped(), _lost()]


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


def _told(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace('\\"', '"').replace("\\\\", "\\")
