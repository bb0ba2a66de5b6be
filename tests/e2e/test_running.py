"""Home Agent in a running Home Assistant: forms, talk, services, restart."""

import asyncio
from http import HTTPStatus
import json
from typing import Any

from scripts.lib.agent import (
    entries,
    open_options,
    option_pages,
    reload,
    save_page,
    set_options,
)
from tests.helpers.checks import every
from tests.servers.replies import Reply, reset, text

from .conftest import KEY, Household, switch

LAMP = "light.reading_lamp"
DOOR = "lock.front_door"
REFUSED = "503"  # by the test that lets the model refuse


async def test_house_is_furnished(household: Household) -> None:
    states = await household.client.rest("GET", "states")
    found = {state["entity_id"]: state["state"] for state in states}
    assert len([entity for entity in found if not entity.startswith(("sensor.backup", "event."))]) > 50
    exposed = (await household.client.command("homeassistant/expose_entity/list"))["exposed_entities"]
    assert exposed["lock.front_door"]["conversation"]
    assert not exposed.get("lock.tool_cabinet", {}).get("conversation")
    floors = await household.client.command("config/floor_registry/list")
    assert {floor["name"] for floor in floors} == {"Ground floor", "First floor", "Outside"}
    areas = await household.client.command("config/area_registry/list")
    assert all(area["floor_id"] for area in every(areas))


async def test_every_options_page_opens_and_saves(household: Household) -> None:
    client = household.client
    pages = await option_pages(client, household.entry_id)
    assert len(pages) > 10
    for way in pages:
        step = await open_options(client, household.entry_id, *way)
        assert step["type"] == "form", way
        await save_page(client, step, {})
    await reload(client, household.entry_id)


async def test_option_reaches_the_next_request(household: Household) -> None:
    await set_options(household.client, household.entry_id, {"llm_max_tokens": 321})
    await household.say("Good morning")
    assert household.requests("Good morning")[-1].json["max_tokens"] == 321
    await set_options(household.client, household.entry_id, {"llm_max_tokens": 500})


async def test_sentence_switches_the_light(household: Household) -> None:
    await household.client.call("light.turn_off", {"entity_id": LAMP})
    household.teach("Turn on the reading lamp", switch(LAMP), "The reading lamp is on.")
    answer = await household.say("Turn on the reading lamp")
    assert await household.state(LAMP) == "on"
    assert answer.text == "I turned on the Reading Lamp."
    assert len(answer.tool_calls) == 1
    assert answer.tool_calls[0].endswith("ha_control")
    (request,) = household.requests("Turn on the reading lamp")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert LAMP in json.dumps(request.messages)


async def test_answer_is_streamed_as_it_comes(household: Household) -> None:
    words = ["It ", "is ", "warm ", "in ", "here."]
    household.teach("How is it?", Reply(chunks=words))
    answer = await household.say("How is it?")
    assert answer.text == "".join(words)
    assert len([delta for delta in answer.deltas if delta.get("content")]) > 1


async def test_what_is_not_exposed_stays_shut(household: Household) -> None:
    household.teach("tool cabinet", switch("lock.tool_cabinet", "unlock"), "I cannot do that.")
    await household.say("Unlock the tool cabinet")
    assert await household.state("lock.tool_cabinet") == "locked"
    assert "lock.tool_cabinet" not in json.dumps(household.requests("Unlock the tool cabinet")[0].messages)


async def test_model_that_is_gone_costs_a_sentence_only(household: Household) -> None:
    household.model.default = Reply(status=HTTPStatus.SERVICE_UNAVAILABLE, body=b"busy")
    answer = await household.say("What do you think about the weather?")
    household.model.default = text("Done.")
    assert answer.text
    assert "503" not in answer.text
    assert (await household.say("And now?")).text == "Done."


async def test_plans_and_history_survive_a_restart(household: Household) -> None:
    await household.client.call("light.turn_off", {"entity_id": LAMP})
    call = {"action": "turn_on", "entity_id": LAMP, "when": "15 seconds"}
    household.teach("in 15 seconds", Reply(calls=[("ha_control", call)]))
    await household.say("Turn on the reading lamp in 15 seconds")
    assert await household.state(LAMP) == "off"
    first = await household.say("Remember the number 4711")
    await household.restart()
    await household.say("Which number was it?", first.conversation_id)
    assert "Remember the number 4711" in json.dumps(household.requests("Which number")[-1].messages)
    await household.until(LAMP, "on")


async def test_restart_without_the_model_server(household: Household) -> None:
    """The agent is there: simple commands work, doors ask, and the household is told until it is back."""
    await household.client.call("light.turn_off", {"entity_id": LAMP})
    await household.client.call("lock.lock", {"entity_id": DOOR})
    household.model.on(lambda _request: True, reset())
    await household.restart()
    assert [entry["state"] for entry in await entries(household.client)] == ["loaded"]
    await household.say("turn on the reading lamp")
    assert await household.state(LAMP) == "on"
    assert (await household.say("unlock the front door")).text.endswith("?")
    assert await household.state(DOOR) == "locked"
    for _ in range(120):  # the server is asked more than once before it counts as gone
        if "server_unavailable" in await issues(household):
            break
        await asyncio.sleep(0.5)
    assert (await issues(household))["server_unavailable"]["severity"] == "error"
    household.model.clear()
    assert (await household.say("Tell me a story")).text == "Done."
    assert "server_unavailable" not in await issues(household)


async def test_assistant_with_the_defaults_is_reported(household: Household) -> None:
    """Home Assistant's dialog turns on what lets commands past the agent; the issue is there at once."""
    pipelines = (await household.client.command("assist_pipeline/pipeline/list"))["pipelines"]
    ours = next(pipeline for pipeline in pipelines if pipeline["id"] == household.pipeline)
    body = {**ours, "name": "Hallway", "prefer_local_intents": True}
    del body["id"]
    made = await household.client.command("assist_pipeline/pipeline/create", **body)
    try:
        assert (await issues(household))["prefer_local_bypass"]["severity"] == "error"
    finally:
        await household.client.command("assist_pipeline/pipeline/delete", pipeline_id=made["id"])
    assert "prefer_local_bypass" not in await issues(household)


async def issues(household: Household) -> dict[str, dict[str, Any]]:
    """Return what the repairs show of Home Agent, by kind."""
    found = (await household.client.command("repairs/list_issues"))["issues"]
    return {issue["translation_key"]: issue for issue in found if issue["domain"] == "home_agent"}


async def test_log_has_no_complaints(household: Household) -> None:
    log = household.home.log.read_text(encoding="utf-8")
    assert KEY not in log
    assert [line for line in household.complaints() if REFUSED not in line] == []
