"""The benchmark of the layers: what is said and heard, and a layer that is switched off."""

from collections import Counter

import pytest

from benchmarks.layers import WITHOUT, switchable
from benchmarks.said import Form, Model, Sentence, Turn, as_heard, household, load, load_answers, order_of


@pytest.mark.parametrize(
    ("written", "heard"),
    [
        ("Is the light on?", "is the light on"),
        ("¿Está abierta?", "está abierta"),
        ("l'ampoule à 50%, s'il te plaît!", "l'ampoule à 50% s'il te plaît"),
        ("打开灯。", "打开灯"),
    ],
)
def test_as_heard(written: str, heard: str) -> None:
    """Speech recognition writes no punctuation and no capitals, and leaves the rest as it is."""
    assert as_heard(written) == heard


def test_sentences() -> None:
    """Each has something that a model may call, and a sample has all languages and intents."""
    sentences, sample = load(), load(2)
    assert all(order_of(each, each.models[1]) for each in sentences)
    assert max(Counter((each.language, each.intent, each.domain) for each in sample).values()) == 2
    kinds = {(each.language, each.intent) for each in sentences}
    assert {(each.language, each.intent) for each in sample} == kinds
    assert {(language, intent) for language, intent, _ in load_answers()} <= kinds


@pytest.mark.usefixtures("socket_enabled")
async def test_layers() -> None:
    """What a layer refuses is done when it is off, and each layer can be switched off."""
    asked = Sentence("en", "HassGetState", "", "is the lamp on?")
    ordered = Sentence("en", "HassTurnOn", "light", "turn on the lamp")
    with switchable() as switches:
        async with household() as home:
            right = Turn(ordered, Model.RIGHT, Form.HEARD)
            await home.async_hold(right)
            assert (right.refusals, right.is_changed, right.requests, right.is_said) == (0, True, 2, True)
            switches.take()
            stopped = Turn(asked, Model.CHANGING, Form.WRITTEN)
            await home.async_hold(stopped)
            assert (stopped.refusals, stopped.is_changed) == (1, False)
            outcomes = []
            for layer in switches.take():
                switches.off = WITHOUT[layer]
                turn = Turn(asked, Model.CHANGING, Form.WRITTEN)
                await home.async_hold(turn)
                outcomes.append((turn.refusals, turn.is_changed))
                assert layer not in switches.take()
            assert (0, True) in outcomes
