"""Weather and the sun."""

from collections.abc import Iterator

from homeassistant.core import State

from .base import ANY, DomainFacts
from .showing import number_of, with_unit


def _details(state: State) -> Iterator[str]:
    attributes = state.attributes
    for key, said in (("temperature", ""), ("humidity", "humidity "), ("wind_speed", "wind ")):
        if value := number_of(attributes.get(key)):
            unit = "%" if key == "humidity" else str(attributes.get(f"{key}_unit") or "")
            yield said + with_unit(value, unit)


WEATHER = DomainFacts(
    name="weather",
    reads=frozenset(("get_forecasts",)),
    details=_details,
    reported=("temperature", "humidity", "wind_speed", "wind_speed_unit", "pressure", "pressure_unit"),
    contained=ANY,
)
SUN = DomainFacts(name="sun", reported=("next_rising", "next_setting", "elevation"))
