"""The fallback answers when the main model is down, and only then."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from custom_components.home_agent.inference.client import MODELS, Router
from custom_components.home_agent.inference.models import Delta, ErrorKind, ModelServerError
from homeassistant.core import HomeAssistant
from tests.helpers.inference_kit import ask, client_of, collect, spoken
from tests.servers.model_server import ModelServer
from tests.servers.replies import Reply, cut, hang, reset, status, text

DOWN = status(503, "down")
BOTH = dict.fromkeys(MODELS, ask())


async def streamed(router: Router) -> AsyncGenerator[Delta]:
    """Yield the answer of the first candidate that gives one, as a turn does."""
    failure = None
    for model in router.candidates():
        begun = False
        try:
            async with aclosing(router.answer(model, ask(), stream=True)) as deltas:
                async for delta in deltas:
                    begun = True
                    yield delta
        except ModelServerError as err:
            if begun or not err.is_down:
                raise
            failure = err
        else:
            return
    assert failure is not None
    raise failure


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def router(
    hass: HomeAssistant, model_server: ModelServer, other_model_server: ModelServer, clock: Clock
) -> Router:
    other_model_server.default = text("from the fallback")
    primary = client_of(hass, model_server.url, first_byte_timeout=1.0)
    return Router(primary, client_of(hass, other_model_server.url), clock=clock)


@pytest.mark.parametrize(
    "reply", [DOWN, reset(), hang(), status(429, "slow down", headers={"Retry-After": "60"})]
)
async def test_fallback_when_the_primary_is_down(
    router: Router, model_server: ModelServer, reply: Reply
) -> None:
    model_server.default = reply
    assert spoken(await collect(streamed(router))) == "from the fallback"
    assert router.last_used == "fallback"
    asked = len(model_server.requests)
    assert (await router.complete(BOTH)).content == "from the fallback"
    assert len(model_server.requests) == asked


@pytest.mark.parametrize("reply", [status(401, "no key"), status(400, "odd"), status(404, "no model")])
async def test_no_fallback_for_what_a_person_must_mend(
    router: Router, model_server: ModelServer, other_model_server: ModelServer, reply: Reply
) -> None:
    model_server.default = reply
    with pytest.raises(ModelServerError):
        await collect(streamed(router))
    with pytest.raises(ModelServerError):
        await router.complete(BOTH)
    assert other_model_server.requests == []
    assert not router.primary_rests


async def test_no_fallback_after_the_first_word(
    router: Router, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    model_server.default = cut(2, chunks=["One ", "two"])
    deltas = streamed(router)
    assert (await anext(deltas)).content == "One "
    with pytest.raises(ModelServerError):
        await anext(deltas)
    assert other_model_server.requests == []


async def test_the_primary_is_asked_again_after_its_rest(
    router: Router, model_server: ModelServer, clock: Clock
) -> None:
    model_server.script([DOWN, DOWN])
    await router.complete(BOTH)
    assert router.primary_rests
    clock.now += 31
    assert (await router.complete(BOTH)).content == "Done."
    assert router.last_used == "primary"
    assert not router.primary_rests


async def test_a_resting_primary_is_better_than_nothing(
    router: Router, model_server: ModelServer, other_model_server: ModelServer
) -> None:
    model_server.script([DOWN, DOWN])
    await router.complete(BOTH)
    other_model_server.default = DOWN
    assert spoken(await collect(streamed(router))) == "Done."
    assert router.last_used == "primary"


async def test_both_down(router: Router, model_server: ModelServer, other_model_server: ModelServer) -> None:
    model_server.default = other_model_server.default = DOWN
    with pytest.raises(ModelServerError) as caught:
        await router.complete(BOTH)
    assert caught.value.kind is ErrorKind.UNAVAILABLE
    with pytest.raises(ModelServerError):
        await collect(streamed(router))


async def test_without_a_fallback(hass: HomeAssistant, model_server: ModelServer) -> None:
    router = Router(client_of(hass, model_server.url))
    model_server.script([DOWN, DOWN])
    with pytest.raises(ModelServerError):
        await router.complete(BOTH)
    assert (await router.complete(BOTH)).content == "Done."
