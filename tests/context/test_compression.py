"""Any request fits the model, and what is left out goes in order."""

from dataclasses import replace
import json
from typing import Any

from hypothesis import given, settings, strategies as st

from custom_components.home_agent.const import DEFAULTS
from custom_components.home_agent.context.catalogue import build_catalogue, build_summary
from custom_components.home_agent.context.window import (
    SAMPLES,
    Budget,
    ContextWindow,
    Prompt,
    RequestDraft,
    Slot,
    TokenCalibration,
    answer_space,
    cut_middle,
    cut_tail,
    estimate_tokens,
    fit,
)
from custom_components.home_agent.knowledge.house import Area, EntityRecord, HouseSnapshot
from tests.helpers.examples import many

CLOCK = Slot(heading="[Now]", lines=("Time: Monday", "Speaker: Anna"), fixed=True)
STATES = Slot(
    heading="States:",
    lines=tuple(f"light.lamp_{number}: on" for number in range(20)),
    entity_ids=tuple(f"light.lamp_{number}" for number in range(20)),
)
PASSAGES = Slot(heading="Texts:", lines=("- manual: " + "press the button " * 40,), reference=True)
RULES = "You are an agent. " * 20


def tool(name: str, words: int = 30) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {"description": {"type": "string", "description": "what it says " * words}},
        "required": ["description"],
    }
    function = {"name": name, "description": "Does it. " + "And more. " * words, "parameters": parameters}
    return {"type": "function", "function": function}


def house_of(count: int) -> HouseSnapshot:
    """Return a house of lamps in rooms of ten."""
    areas = {f"a{n}": Area(area_id=f"a{n}", name=f"Room {n}") for n in range(count // 10 + 1)}
    records = (
        EntityRecord(
            entity_id=f"light.lamp_{n}", domain="light", name=f"Lamp number {n}", area_id=f"a{n // 10}"
        )
        for n in range(count)
    )
    return HouseSnapshot(version=1, entities={r.entity_id: r for r in records}, areas=areas, floors={})


def draft_of(house: HouseSnapshot, budget: Budget, rules: str = RULES, **parts: Any) -> RequestDraft:
    """Return a draft as the agent makes it."""
    whole = build_catalogue(house, token_budget=budget.home)

    def system(catalogue: Any, room: int | None) -> Prompt:
        told = rules if room is None else cut_tail(rules, room)
        return Prompt(f"{told}\n{catalogue.text}", catalogue)

    return RequestDraft(
        systems=[
            lambda: system(whole, None),
            lambda: system(build_summary(house, token_budget=400), None),
            *(
                lambda tokens=tokens: system(build_summary(house, token_budget=tokens), budget.rules)
                for tokens in (400, 100, 0)
            ),
        ],
        **parts,
    )


def called(number: int, size: int) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "ha_query", "arguments": "{}"}}
    result = json.dumps({"success": True, "result": "on " * size})
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


WORDS = st.sampled_from(["lamp ", "Küchenlicht ", "выключи ", "照明を消して", "x" * 40 + " ", "{[]} ", "🙂"])


@settings(deadline=None, max_examples=many(60))
@given(
    limit=st.integers(1000, 64_000),
    entities=st.integers(0, 600),
    turns=st.integers(0, 30),
    words=st.lists(st.tuples(WORDS, st.integers(1, 6000)), min_size=1, max_size=4),
    rules=st.integers(1, 4000),
    tools=st.integers(0, 12),
    results=st.lists(st.integers(1, 10_000), max_size=5),
    factor=st.sampled_from([1.0, 1.5, 2.5]),
    max_tokens=st.sampled_from([1, 500, 100_000]),
)
def test_any_request_fits(
    limit: int,
    entities: int,
    turns: int,
    words: list[tuple[str, int]],
    rules: int,
    tools: int,
    results: list[int],
    factor: float,
    max_tokens: int,
) -> None:
    """Whatever the house, the conversation, the sentence, the instructions, the tools and their results."""
    budget = Budget.from_limit(limit, answer=max_tokens, factor=factor)
    history = [
        {"role": role, "content": f"{role} said this {'and that ' * number}"}
        for number in range(turns)
        for role in ("user", "assistant")
    ]
    sentence = "".join(word * count for word, count in words)
    current = [{"role": "user", "content": sentence}]
    for number, size in enumerate(results):
        current += called(number, size)
    draft = draft_of(
        house_of(entities),
        budget,
        "Always be kind. " * rules,
        tools=[tool(f"tool_{number}") for number in range(tools)],
        history=history,
        slots=(CLOCK, STATES, PASSAGES),
    )
    room = int((limit - answer_space(limit, max_tokens)) / factor)
    fitted = fit(draft, current, room)
    assert fitted.tokens <= room
    assert fitted.original >= fitted.tokens
    assert [m["role"] for m in fitted.messages if m["role"] == "user"], "the sentence is always there"
    answered = {m["tool_call_id"] for m in fitted.messages if m["role"] == "tool"}
    asked = {call["id"] for m in fitted.messages for call in m.get("tool_calls") or ()}
    assert answered == asked, "calls and results stay together"
    if fitted.original <= room and fitted.steps == ():
        assert fitted.messages[1:-1] == [*history, *current][: len(fitted.messages) - 2] or results


def test_what_goes_first() -> None:
    """Passages, then old turns, states, words about tools and the list of the house; the rules stay."""
    house = house_of(60)
    budget = Budget.from_limit(8000)
    history = [
        {"role": role, "content": f"{number} {role} " + "bla " * 120}
        for number in range(6)
        for role in ("user", "assistant")
    ]
    many = replace(STATES, lines=STATES.lines * 5)
    draft = draft_of(house, budget, tools=[tool("one")], history=history, slots=(CLOCK, many, PASSAGES))
    current = [{"role": "user", "content": "Turn it on"}]
    whole = fit(draft, current, 100_000)
    assert whole.steps == ()
    assert whole.tokens == whole.original
    seen = []
    for room in range(whole.tokens - 1, 400, -20):
        fitted = fit(draft, current, room)
        assert fitted.tokens <= room
        for step in fitted.steps:
            if step not in seen:
                seen.append(step)
    assert seen[:5] == ["documents", "history", "states", "tools", "catalogue"]
    smallest = fit(draft, current, 400)
    assert "Turn it on" in smallest.messages[-1]["content"]
    assert "Time: Monday" in smallest.messages[-1]["content"]


def test_the_stable_part_does_not_follow_the_sentence() -> None:
    """Where the house is too much for the model, the same shorter text is sent with every sentence."""
    budget = Budget.from_limit(8000)
    draft = draft_of(house_of(150), budget, tools=[tool("one"), tool("two")], slots=(CLOCK, STATES))
    systems = set()
    for words in (1, 10, 60, 100):
        fitted = fit(draft, [{"role": "user", "content": "please " * words}], 1100)
        systems.add((fitted.messages[0]["content"], json.dumps(fitted.tools)))
    assert len(systems) == 1


@given(text=st.text(), tokens=st.integers(0, 50))
def test_cut_texts(text: str, tokens: int) -> None:
    """What fits stays; what is cut has at most the marks beside the limit."""
    for cut in (cut_tail(text, tokens), cut_middle(text, tokens)):
        assert cut == text if estimate_tokens(text) <= tokens else estimate_tokens(cut) <= tokens + 12


def test_the_answer_gets_what_is_left() -> None:
    """Only where the model's size is known is the answer made shorter for it."""
    assert ContextWindow(DEFAULTS).answer_tokens(50_000, 1000) == 50_000
    known = ContextWindow({**DEFAULTS, "probed_context_size": 4096})
    assert known.answer_tokens(50_000, 1000) == 3096
    assert known.answer_tokens(500, 3500) == 596 - 96
    assert known.request_tokens(500) == int(0.92 * 3596)


def test_the_factor_follows_the_server() -> None:
    """Some servers count what came from the cache apart, and one outlier is outvoted."""
    calibration = TokenCalibration(8000)
    for counted, cached in ((1500, 0), (1520, 0), (300, 1200), (3000, 0), (1490, 0)):
        calibration.note_usage(1000, counted, cached)
        assert calibration.factor == 1.5
    for _ in range(SAMPLES):
        calibration.note_usage(1000, 1000)
    assert calibration.factor == 1.0
