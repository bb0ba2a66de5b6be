"""Questions that Home Agent asks on its own: who is asked, whose yes counts, and what it has done."""

import asyncio
from typing import Any

import pytest

from custom_components.home_agent.const import DOMAIN
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, EventOrigin, HomeAssistant
from homeassistant.exceptions import ServiceValidationError, Unauthorized
from tests.helpers.agent import Agent, call_action
from tests.helpers.asking_satellite import AskingSatellite
from tests.helpers.phones import ASKED, Phones, buttons
from tests.helpers.secure_house import SecureHouse, pending_ids
from tests.servers.model_server import ModelServer

CLOSE = {"action": "close", "entity_id": "cover.garage"}
CLOSED = [("cover.close_cover", ("cover.garage",))]
QUESTION = "Should I close the Garage?"


@pytest.fixture
async def secure(hass: HomeAssistant, secure: SecureHouse) -> SecureHouse:
    """Let the garage be open."""
    hass.states.async_set("cover.garage", "open", hass.states.get("cover.garage").attributes)  # type: ignore[union-attr]
    return secure


@pytest.fixture
async def agent(
    secure: SecureHouse, phones: Phones, hall: AskingSatellite, model_server: ModelServer
) -> Agent:
    return await secure.async_agent(model_server, ASKED)


def asking(hass: HomeAssistant, context: Context | None = None, **data: Any) -> asyncio.Task[Any]:
    """Ask in the background, as an automation."""
    return asyncio.create_task(call_action(hass, "ask", data, context or Context()))


async def until_asked(hass: HomeAssistant) -> str:
    """Wait for the question and return its id."""
    async with asyncio.timeout(20):
        for _ in iter(lambda: bool(pending_ids(hass)), True):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
    (action_id,) = pending_ids(hass)
    return action_id


async def test_a_yes_on_the_phone_closes_the_garage(
    hass: HomeAssistant, agent: Agent, secure: SecureHouse, phones: Phones
) -> None:
    task = asking(hass, question="It will rain.", person="person.anna", **CLOSE)
    push = await phones.async_pushed("anna")
    assert push["message"] == f"It will rain. {QUESTION}"
    assert phones.of("ben") == []
    await phones.async_press("ben", buttons(push)["Yes"])
    assert secure.calls == []
    await phones.async_press("anna", buttons(push)["Yes"])
    assert await task == {"answer": "yes", "outcome": "approved", "carried_out": True, "answered_by": None}
    assert secure.moved() == CLOSED
    assert secure.calls[0].context.user_id == secure.anna.id
    await phones.async_press("anna", buttons(push)["Yes"])
    assert secure.moved() == CLOSED


async def test_a_child_is_not_asked_what_it_may_not_do(
    hass: HomeAssistant, secure: SecureHouse, phones: Phones, hall: AskingSatellite, model_server: ModelServer
) -> None:
    """By person on the phone, by device at the satellite in the nursery."""
    child = {"decision": "never", "kinds": ["lock"], "whom": ["person.ben", f"device:{hall.device}"]}
    await secure.async_agent(model_server, {**ASKED, "policy_choices": [child]})
    unlock = {"action": "unlock", "entity_id": "lock.front_door"}
    hall.answers = ["yes"]
    response = await asking(hass, person="person.ben", satellite=hall.entity_id, **unlock)
    assert response["outcome"] == "nobody"
    assert hall.asked == []
    task = asking(hass, person=["person.ben", "person.anna"], satellite=hall.entity_id, **unlock)
    push = await phones.async_pushed("anna")
    await phones.async_press("ben", buttons(push)["Yes"])
    assert secure.calls == []
    await phones.async_press("anna", buttons(push)["Yes"])
    assert (await task)["carried_out"]
    assert phones.of("ben") == []


@pytest.mark.parametrize(
    ("system", "shown"), [("Android", "Is it &lt;cold&gt; &amp; wet?"), ("iOS", "Is it <cold> & wet?")]
)
async def test_a_phone_shows_the_question_as_it_is(
    hass: HomeAssistant, agent: Agent, phones: Phones, system: str, shown: str
) -> None:
    """The app renders HTML on Android."""
    for entry in hass.config_entries.async_entries("mobile_app"):
        hass.config_entries.async_update_entry(entry, data={**entry.data, "os_name": system})
    await hass.async_block_till_done()
    task = asking(hass, question="Is it <cold> & wet?", person="person.anna", **CLOSE)
    push = await phones.async_pushed("anna")
    assert push["message"] == f"{shown} {QUESTION}"
    await phones.async_press("anna", buttons(push)["No"])
    await task


async def test_an_automation_cannot_say_yes(
    hass: HomeAssistant, agent: Agent, secure: SecureHouse, phones: Phones
) -> None:
    task = asking(hass, person="person.anna", **CLOSE)
    action_id = await until_asked(hass)
    for data in ({}, {"pin": "1234"}):
        with pytest.raises(ServiceValidationError):
            await hass.services.async_call(
                DOMAIN, "confirm_action", {"action_id": action_id, **data}, blocking=True
            )
    hass.bus.async_fire(
        "mobile_app_notification_action",
        {"action": f"HOME_AGENT_APPROVE_{action_id}"},
        context=Context(user_id=secure.anna.id),
    )
    await hass.async_block_till_done()
    assert secure.calls == []
    push = await phones.async_pushed("anna")
    await phones.async_press("anna", buttons(push)["No"])
    await task


async def test_the_automation_is_stopped(
    hass: HomeAssistant, agent: Agent, secure: SecureHouse, phones: Phones
) -> None:
    task = asking(hass, person="person.anna", **CLOSE)
    push = await phones.async_pushed("anna")
    task.cancel()
    await asyncio.wait([task])
    await hass.async_block_till_done()
    assert pending_ids(hass) == []
    await phones.async_press("anna", buttons(push)["Yes"])
    assert secure.calls == []


async def test_answers_to_choose_from_on_the_phone(hass: HomeAssistant, agent: Agent, phones: Phones) -> None:
    task = asking(hass, question="What shall we eat?", answers=["Pizza", "Pasta"], person="person.anna")
    push = await phones.async_pushed("anna")
    assert list(buttons(push)) == ["Pizza", "Pasta"]
    await phones.async_press("ben", buttons(push)["Pizza"])
    await phones.async_press("anna", buttons(push)["Pasta"])
    response = await task
    assert response == {
        "answer": "Pasta",
        "outcome": "answered",
        "carried_out": False,
        "answered_by": "person.anna",
    }


@pytest.mark.parametrize("origin", EventOrigin)
async def test_nobody_answers_for_a_person_without_a_user(
    hass: HomeAssistant, agent: Agent, phones: Phones, origin: EventOrigin
) -> None:
    """An event of a script has no user either."""
    hass.states.async_set("person.ben", "home")
    task = asking(hass, question="Eat?", answers=["Pizza", "Pasta"], person=["person.anna", "person.ben"])
    push = await phones.async_pushed("anna")
    pressed = {"action": buttons(push)["Pasta"]}
    hass.bus.async_fire("mobile_app_notification_action", pressed, origin)
    await hass.async_block_till_done()
    await phones.async_press("anna", buttons(push)["Pizza"])
    assert (await task)["answer"] == "Pizza"


async def test_answers_to_choose_from_by_voice(
    hass: HomeAssistant, agent: Agent, hall: AskingSatellite
) -> None:
    heard: list[tuple[list[str], list[str], str | None]] = [
        (["Pizza", "Pasta"], ["I'd like pasta, please"], "Pasta"),
        (["Pizza", "Pasta"], ["pizza or pasta", "pizza"], "Pizza"),
        (["Pizza", "Pasta"], ["soup", "salad", "tea"], None),
        ([], ["yes"], "yes"),
        ([], ["no thanks"], "no"),
    ]
    for answers, spoken, answer in heard:
        hall.asked.clear()
        hall.answers = list(spoken)
        chosen = {"answers": answers} if answers else {}
        response = await asking(hass, question="What shall we eat?", satellite=hall.entity_id, **chosen)
        assert response["answer"] == answer
        assert hall.asked == ["What shall we eat?"] * len(spoken)


async def test_a_question_that_cannot_be_asked(
    hass: HomeAssistant, agent: Agent, secure: SecureHouse
) -> None:
    wrong: list[dict[str, Any]] = [
        {"action": "close"},
        {"entity_id": "cover.garage"},
        {},
        {**CLOSE, "answers": ["a", "b"]},
        {"action": "close", "entity_id": "light.hall"},
        {"action": "close", "entity_id": "cover.nowhere"},
    ]
    for data in wrong:
        with pytest.raises(ServiceValidationError):
            await asking(hass, **data)
    with pytest.raises(Unauthorized):
        await asking(hass, Context(user_id=secure.anna.id), **CLOSE)
    assert secure.calls == []


async def test_quiet_hours(
    hass: HomeAssistant, secure: SecureHouse, hall: AskingSatellite, model_server: ModelServer
) -> None:
    quiet = {"proactive_quiet_start": "00:00:00", "proactive_quiet_end": "23:59:59"}
    await secure.async_agent(model_server, {**ASKED, **quiet})
    hall.answers = ["yes"]
    response = await asking(hass, satellite=hall.entity_id, **CLOSE)
    assert response["outcome"] == "quiet"
    assert hall.asked == []
    assert (await asking(hass, satellite=hall.entity_id, urgent=True, **CLOSE))["carried_out"]


PROPOSALS = [
    ("close", "cover.garage", "cover.close_cover"),
    ("open", "cover.garage", "cover.open_cover"),
    ("unlock", "lock.front_door", "lock.unlock"),
    ("lock", "lock.front_door", "lock.lock"),
    ("open", "valve.water", "valve.open_valve"),
    ("turn_on", "switch.oven", "switch.turn_on"),
    ("arm_away", "alarm_control_panel.home", "alarm_control_panel.alarm_arm_away"),
]


@pytest.mark.parametrize("answerer", ["satellite", "anna", "reader", "blocked", "hidden", "child"])
async def test_each_proposal_passes_the_guard(
    hass: HomeAssistant,
    secure: SecureHouse,
    phones: Phones,
    hall: AskingSatellite,
    model_server: ModelServer,
    answerer: str,
) -> None:
    """Who may not control it, or what is hidden or blocked, is not asked about; the others have it done."""
    domains = [entity_id.partition(".")[0] for _, entity_id, _ in PROPOSALS]
    options: dict[str, Any] = {"policy_blocked": domains} if answerer == "blocked" else {}
    if answerer == "child":
        whom = [f"device:{hall.device}"]
        options["policy_choices"] = [{"decision": "only", "kinds": ["light"], "whom": whom}]
    await secure.async_agent(model_server, {**ASKED, "proactive_max_per_day": 20, **options})
    hass.states.async_set("person.rita", "home", {"user_id": secure.reader.id})
    receivers = {"anna": {"person": "person.anna"}, "reader": {"person": "person.rita"}}
    receiver = receivers.get(answerer, {"satellite": hall.entity_id})
    for action, entity_id, service in PROPOSALS:
        secure.calls.clear()
        phones.pushed.clear()
        if answerer == "hidden":
            async_expose_entity(hass, "conversation", entity_id, False)
        hall.answers = ["yes"]
        task = asking(hass, action=action, entity_id=entity_id, **receiver)
        if answerer == "anna":
            push = await phones.async_pushed("anna")
            await phones.async_press("anna", buttons(push)["Yes"])
        response = await task
        await hass.async_block_till_done(wait_background_tasks=True)
        if answerer in ("satellite", "anna"):
            assert response["carried_out"]
            assert secure.moved() == [(service, (entity_id,))]
            assert secure.calls[0].context.user_id == (secure.anna.id if answerer == "anna" else None)
        else:
            assert response["outcome"] == "nobody"
            assert hall.asked == []
            assert secure.calls == []
