"""Values as the stores contain them."""

from custom_components.home_agent.panel.usage import COUNTERS
from tests.helpers.tables import tables

TABLES = tables(__file__)

AT = "2026-06-03T10:00:00+00:00"
MEMORY = TABLES["memory"]
PROFILE = TABLES["profile"]
PLANNED = TABLES["planned"]

SEEN = {
    "read_until": AT,
    "since": "2026-06-01",
    "last": {"light.desk": "on"},
    "seen": [["light.desk", "on", [[1780000000, None]]]],
    "habits": [],
    "silenced": [],
}
BOOK = {
    "watches": [["rule", "light.desk", AT, True, None]],
    "suggestions": [],
    "offered_names": ["pianolamp"],
    "day": "2026-06-03",
    "count": 2,
}
USAGE = {"2026-06-03": dict.fromkeys(COUNTERS, 3)}
