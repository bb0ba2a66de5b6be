"""P1, P2, P10: what the agent adds to a turn, beside core's own agent."""

from asyncio import sleep
from time import monotonic
from typing import Any

import aiohttp

from homeassistant.components import conversation
from homeassistant.components.conversation.chat_log import async_get_chat_log
from homeassistant.const import STATE_OFF, STATE_ON
from homeassistant.core import Context
from tests.helpers.listening import open_session

from .harness import Bench, ServerProcess, bench
from .report import Table, middle, p95

SIZES = (50, 500, 5000)
TURNS = 40
WARM_UP = 5
GAP = 0.02
GOALS = {"P1": ("2", "4", "10"), "P2": ("4", "6", "12")}
SENTENCE = "Is the light in the kitchen on?"
ORDER = "Turn on the {name}"


async def run() -> list[Table]:
    """Measure and return the tables."""
    plain = Table("P1", "ms added to a turn, streaming", ("entities", "agent", "median", "p95", "goal"))
    with_call = Table("P2", "ms added to a turn with one tool call", plain.columns)
    columns = ("entities", "turn", "median", "p95", "goal")
    first = Table("P10", "ms from the model's first token to the first words let out", columns)
    server = ServerProcess()
    try:
        async with aiohttp.ClientSession() as session:
            for number, size in enumerate(SIZES):
                async with bench(size, server.url) as house:
                    await sleep(0.2)  # background work
                    for agent in ("Home Agent", "core"):
                        await _measure(house, agent, server, session, size, number, plain, with_call)
                    for turn in FIRST_WORDS:
                        first.add(size, turn, *await _first_words(house, server, session, turn), "5")
    finally:
        server.stop()
    note = f"whole async_converse less the server's own time; {TURNS} turns after {WARM_UP} to warm up"
    plain.notes.append(note)
    with_call.notes.append(note)
    first.notes.append(f"a token comes every {GAP * 1000:.0f} ms; what waits for one more waits so long")
    return [plain, with_call, first]


async def _measure(
    house: Bench,
    agent: str,
    server: ServerProcess,
    session: aiohttp.ClientSession,
    size: int,
    number: int,
    plain: Table,
    with_call: Table,
) -> None:
    entity_id = house.ours if agent == "Home Agent" else house.core
    call = (
        _our_call(house)
        if agent == "Home Agent"
        else ["intent__HassTurnOn", {"name": _light_name(house), "domain": ["light"]}]
    )
    answer: dict[str, Any] = {"chunks": ["It ", "is ", "on."]}
    calling = {"default": answer, "rules": [{"reply": {"calls": [call]}, "last_role": "user"}]}
    for table, sentence, script in (
        (plain, SENTENCE, {"default": answer}),
        (with_call, ORDER.format(name=_light_name(house)), calling),
    ):
        await server.script(session, **script)
        times, requests, switched = [], 0, 0
        for turn in range(TURNS + WARM_UP):
            await _switch_off(house)
            started = monotonic()
            await conversation.async_converse(house.hass, sentence, None, Context(), "en", entity_id)
            elapsed = monotonic() - started
            switched += house.hass.states.is_state(house.light, STATE_ON)
            count, theirs = await server.seconds(session)
            requests += count
            if turn >= WARM_UP:
                times.append((elapsed - theirs) * 1000)
        goal = GOALS[table.name][number] if agent == "Home Agent" else ""
        table.add(size, agent, middle(times), p95(times), goal)
        expected = (TURNS + WARM_UP) * (1 if table is plain else 2)
        if requests != expected:
            table.notes.append(f"{agent} at {size}: {requests} requests instead of {expected}")
        if switched != (0 if table is plain else TURNS + WARM_UP):
            table.notes.append(f"{agent} at {size}: the light was switched in {switched} turns")


def _light_name(house: Bench) -> str:
    state = house.hass.states.get(house.light)
    assert state is not None
    return state.name


def _our_call(house: Bench) -> list[Any]:
    """Return the call of our tool that switches the light on, with the id as many models write it."""
    return ["ha_control", {"action": "turn_on", "entity_id": house.light}]


async def _switch_off(house: Bench) -> None:
    state = house.hass.states.get(house.light)
    assert state is not None
    house.hass.states.async_set(house.light, STATE_OFF, state.attributes)
    await sleep(0)


FIRST_WORDS = {
    "question": (SENTENCE, ["It ", "is ", "on ", "now."], False),
    "order, after its call": (ORDER, ["The ", "light ", "is ", "on ", "now."], True),
    "order, refused": (ORDER, ["Sorry, ", "I ", "may ", "not."], False),
    "order, asked back": (ORDER, ["Which ", "light ", "do ", "you ", "mean?"], False),
}
"""Turns by name: the sentence, the words of the answer, and whether a call comes before it."""


async def _first_words(
    house: Bench, server: ServerProcess, session: aiohttp.ClientSession, turn: str
) -> tuple[float, float]:
    sentence, words, has_call = FIRST_WORDS[turn]
    calling = [{"reply": {"calls": [_our_call(house)]}, "last_role": "user"}] if has_call else []
    # The first event names the role, as real servers do; the first words follow after one gap.
    await server.script(session, default={"chunks": words, "gap": GAP}, rules=calling)
    times: list[float] = []
    for _turn in range(TURNS):
        await _switch_off(house)
        heard: list[float] = []

        def listen(_log: conversation.ChatLog, delta: dict[str, Any], heard: list[float] = heard) -> None:
            if delta.get("content") and not heard:
                heard.append(monotonic())

        entity = house.hass.data[conversation.DATA_COMPONENT].get_entity(house.ours)
        assert entity is not None
        user_input = conversation.ConversationInput(
            sentence.format(name=_light_name(house)), Context(), None, None, None, "en", house.ours, None
        )
        with (
            open_session(house.hass) as chat_session,
            async_get_chat_log(house.hass, chat_session, user_input, chat_log_delta_listener=listen) as log,
        ):
            await entity._async_handle_message(user_input, log)  # noqa: SLF001 - as the pipeline ends up doing
        answer = await session.get(f"{server.address}/_requests")
        request = [item for item in await answer.json() if "chat" in item["path"]][-1]
        times.append((heard[0] - request["first_byte"] - GAP) * 1000)
    return middle(times), p95(times)
