"""One wrong value anywhere in any file: the agent is set up, answers, and everything else is kept."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_fire_time_changed

from custom_components.home_agent.const import DOMAIN
from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics
from custom_components.home_agent.runtime import DATA_SHARED
from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from tests.helpers.agent import Agent, speech
from tests.helpers.conversations import turn
from tests.helpers.examples import many
from tests.helpers.household import async_furnish
from tests.helpers.stored_values import AT, BOOK, MEMORY, PLANNED, PROFILE, SEEN, USAGE
from tests.servers.model_server import ModelServer
from tests.servers.replies import text

ENTRY, OTHER = "this_agent", "other_agent"
SHOWN = {"light.desk": {"state": "on", "attributes": {"brightness": 10}}}
DEED = {
    **dict.fromkeys(("turn_id", "conversation_id", "context_id"), "x"),
    "user_id": None,
    "device_id": None,
    "error": None,
    "undoes": False,
    "undone": False,
    "success": True,
    "domain": "light",
    "service": "turn_on",
    "at": AT,
    "entity_ids": ["light.desk"],
    "data": {"a": [1]},
    "before": SHOWN,
    "after": SHOWN,
    "undone_ids": [],
    "planned": None,
}
KIND = {
    "subject": "light.desk",
    "value": "on",
    "person": None,
    "days": [0, 1],
    "minute": 60,
    "confidence": 0.0,
    "others": ["b"],
    **dict.fromkeys(("id", "name", "who", "text"), ""),
}
HABIT = {
    **KIND,
    "id": "h1",
    "confidence": 0.8,
    "name": "Desk",
    "who": "",
    "text": "The desk is on",
}
SUGGESTION = {
    "id": "s1",
    "kind": KIND,
    "habit": "h1",
    "text": "Shall I?",
    "words": "The desk",
    "state": "open",
    "config": {"alias": "x", "triggers": []},
    "created_at": AT,
    "settled_at": AT,
}
LOST = {"action_id": "a", "conversation_id": "c", "user_id": "u", "device_id": None, "expires_at": AT}
TALK = {
    "turns": [{"at": AT, "person": "p", "messages": turn(1, calls=1), "tainted": True}],
    "start": 0,
    "summary": "Earlier",
    "ready": "Later",
    "tainted": ["summary"],
}
HEARD = {"at": AT, "person": "p", "conversation_id": "c", "said": "Bello is our dog"}

CONTENT: dict[str, Any] = {
    "history": {"talk": TALK},
    "conversation_sessions": {"device:d": {"history_id": "talk", "last": AT}},
    "memories": [{**MEMORY, "expires_at": "2036-06-03T10:00:00+00:00", "provenance": [HEARD]}],
    "profile": [PROFILE],
    "planned": [PLANNED],
    "observations": {**SEEN, "habits": [HABIT], "silenced": [KIND]},
    "proactive": {**BOOK, "suggestions": [SUGGESTION]},
    "journal": {"ledger": [DEED], "audit": [{"at": AT, "kind": "search", "query": "x", "success": True}]},
    "usage": USAGE,
    "confirmations": [LOST],
}
"""What one agent keeps in each file."""
FLAT = {"confirmations"}
"""Files that list their agents at the top level."""
LIBRARY = {"collections": {"manuals": {"a.md": {"digest": "x", "passages": ["How to"]}}}}

BAD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1e30, -1e308, 2**63, 5e-324, "", "x", "\x00\u202e\ufeff"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0001-01-01", "9999-12-31", "2026-06-03"),
    *([], {}, [[]], {"": None}, [None], "9" * 5000),
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value, the whole among them."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


def wrong(content: Any, random: Random) -> Any:
    """Return content with one wrong value."""
    path = random.choice(list(paths(content)))
    bad = random.choice(BAD)
    if not path:
        return bad
    changed = deepcopy(content)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = bad
    return changed


def store(name: str, data: Any) -> dict[str, Any]:
    """Return a file as Home Assistant's storage keeps it."""
    version = 2 if name == "history" else 1
    return {"version": 1, "minor_version": version, "key": f"{DOMAIN}.{name}", "data": data}


@pytest.mark.parametrize("seed", range(many(12)))
async def test_one_wrong_value(
    hass: HomeAssistant,
    model_server: ModelServer,
    hass_storage: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    seed: int,
) -> None:
    """In each file of the agent at once; another agent's content stays as it is."""
    random = Random(seed)  # noqa: S311 - the same values each time
    changed = {name: wrong(content, random) for name, content in CONTENT.items()}
    for name, content in changed.items():
        both = {ENTRY: content, OTHER: CONTENT[name]}
        hass_storage[f"{DOMAIN}.{name}"] = store(name, both if name in FLAT else {"entries": both})
    hass_storage[f"{DOMAIN}.library.{ENTRY}"] = store(f"library.{ENTRY}", wrong(LIBRARY, random))

    await async_furnish(hass)
    assert await async_setup_component(hass, "conversation", {})
    data = {"name": "Home Agent", "llm_base_url": model_server.url, "llm_model": "test-model"}
    options = {"learner_enabled": True, "proactive_enabled": True, "user_profile_enabled": True}
    entry = MockConfigEntry(domain=DOMAIN, title="Home Agent", entry_id=ENTRY, data=data, options=options)
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(ENTRY), changed
    assert entry.state is ConfigEntryState.LOADED
    await hass.async_block_till_done(wait_background_tasks=True)
    model_server.clear()
    model_server.script([text("Hello.")])
    agent = Agent(hass, entry, model_server)
    assert speech(await agent.say("Hi there", device_id="d")) == "Hello."

    for name in ("audit_log", "search_log", "list_memories", "get_user_profile"):
        if hass.services.has_service(DOMAIN, name):
            await hass.services.async_call(DOMAIN, name, {}, blocking=True, return_response=True)
    await async_get_config_entry_diagnostics(hass, entry)
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(days=1))
    await hass.async_block_till_done(wait_background_tasks=True)
    for kept in hass.data[DATA_SHARED].stores:
        if hasattr(kept, "_store"):
            kept._store._changed = True
        await kept.async_flush()
    raised = [record.getMessage() for record in caplog.records if record.exc_info]
    assert [message for message in raised if "turbojpeg" not in message] == [], changed
    for name, content in CONTENT.items():
        data = hass_storage[f"{DOMAIN}.{name}"]["data"]
        other = (data if name in FLAT else data["entries"])[OTHER]
        assert other == content, name
    assert "Hello." in str(hass_storage[f"{DOMAIN}.history"]["data"])
