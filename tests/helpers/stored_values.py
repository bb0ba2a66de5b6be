"""Values as the stores contain them."""

from custom_components.home_agent.panel.usage import COUNTERS

AT = "2026-06-03T10:00:00+00:00"
MEMORY = {
    "id": "m1",
    "content": "Bello is a dog",
    "type": "fact",
    "importance": 0.5,
    "person": None,
    "origin": "told",
    "private": False,
    "created_at": AT,
    "accessed_at": AT,
    "access_count": 0,
    "expires_at": None,
    "provenance": [],
    "learned": None,
}
PROFILE = {
    "category": "diet",
    "key": "style",
    "value": "vegetarian",
    "person": None,
    "sensitivity": "public",
    "confidence": 0.9,
    "origin": "told",
    "first_seen": AT,
    "last_seen": AT,
    "count": 1,
    "previous": "",
}
PLANNED = {
    "id": "p1",
    "verb": "turn_on",
    "entity_ids": ["light.hall"],
    "given": {},
    "message": None,
    "told": "turn on",
    "schedule": {"due": AT, "days": [0], "sun": None, "offset": 0, "clock": "10:00:00"},
    "hold": 60.0,
    "ends": None,
    "held": {},
    "approved": None,
    "registered": {"light.hall": None},
    "created": AT,
    "language": "en",
    "user_id": None,
    "reports_to": None,
    "person": None,
    "person_id": None,
    "device_id": None,
    "area_id": None,
    "chat": None,
    "surface": "in writing",
    "conversation_id": "",
    "turn_id": "",
    "outside": False,
}

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
