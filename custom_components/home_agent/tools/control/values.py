"""Values as models write them, read by meaning. Every reader raises ValueError saying what it wants.

Each takes a value and the unit of temperatures in the home.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, time
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

from homeassistant.const import UnitOfTemperature
from homeassistant.util import color as color_util, dt as dt_util
from homeassistant.util.unit_conversion import TemperatureConverter

from ... import timespans
from ...knowledge.spoken_words import colors, whites
from ...regex import lazy_regex
from ...texts import fold

COLOR_FORMS: Final = "a colour name in English, #rrggbb or [red, green, blue]"
MAX_NAME: Final = 60
"""Longer texts name no colour."""
LIKE: Final = 0.7
"""How like a known name a text must be to be told as the nearest."""


@cache
def _colors() -> dict[str, dict[str, Any]]:
    """Return the colours and the colour temperatures by their names without spaces."""
    names = {**colors(), **{name: name for name in color_util.COLORS}}
    rgb = {name: {"rgb_color": list(color_util.color_name_to_rgb(css))} for name, css in names.items()}
    return rgb | {name.replace(" ", ""): {"color_temp_kelvin": kelvin} for name, kelvin in whites().items()}


MAX_TEXT = 255
LARGEST = 1e15
FULL_PERCENT = 100
FULL_BYTE = 255
FULL_HUE = 360
COLOR_PARTS = range(2, 6)
PERCENT_WORDS = {
    **dict.fromkeys(("max", "maximum", "full"), 100),
    **dict.fromkeys(("min", "minimum"), 1),
    **dict.fromkeys(("off", "zero"), 0),
    "half": 50,
}
TEMPERATURE_UNITS = {
    "c": UnitOfTemperature.CELSIUS,
    "f": UnitOfTemperature.FAHRENHEIT,
    "k": UnitOfTemperature.KELVIN,
}
BOOLEANS = {
    **dict.fromkeys(("true", "on", "yes", "1"), True),
    **dict.fromkeys(("false", "off", "no", "0"), False),
}
KELVIN_RANGE = (1000, 12000)
MIRED_RANGE = (80, 700)
HVAC_WORDS = {
    "heating": "heat",
    "cooling": "cool",
    "automatic": "auto",
    "drying": "dry",
    "fan": "fan_only",
    "heating_cooling": "heat_cool",
}

_NUMBER = lazy_regex(r"[-+]?(?:\d+(?:[.,]\d+)?|[.,]\d+)")
_LISTED = lazy_regex(r"\d+(?:\.\d+)?")
"""A number among others, where the comma separates."""
_TEMPERATURE = lazy_regex(
    r"([-+]?\d+(?:[.,]\d+)?)\s*+(?:°|º|deg(?:rees?)?)?\s*(c|f|k)?(?:elsius|ahrenheit|elvin)?"
)
_HEX = lazy_regex(r"(?:#|0x)?([0-9a-f]{6}|[0-9a-f]{3})")


def read_number(value: Any, _unit: str = "") -> float:
    """Return a number, with or without a unit behind it."""
    if isinstance(value, str) and (match := _NUMBER.match(value.strip())):
        value = float(match[0].replace(",", "."))
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
        raise ValueError("a number")
    return float(value)


def read_integer(value: Any, _unit: str) -> int:
    """Return a whole number."""
    number = read_number(value)
    if number != int(number):
        raise ValueError("a whole number")
    return int(number)


def read_percent(value: Any, _unit: str = "") -> int:
    """Return 0 to 100; a fraction below 1 counts as a share of 1."""
    if isinstance(value, str) and (word := value.strip().casefold()) in PERCENT_WORDS:
        return PERCENT_WORDS[word]
    number = read_number(value)
    if 0 < number < 1 and not (isinstance(value, str) and "%" in value):
        number *= 100
    if not 0 <= number <= FULL_PERCENT:
        raise ValueError("0 to 100 (percent)")
    return round(number)


def read_signed(value: Any, _unit: str) -> int:
    """Return -100 to 100."""
    number = read_number(value)
    if abs(number) > FULL_PERCENT:
        raise ValueError("-100 to 100 (percent)")
    return round(number)


def read_brightness(value: Any, _unit: str) -> dict[str, int]:
    """Return a brightness: up to 100 it is percent, as states are shown; above, it is of 255."""
    if not isinstance(value, bool) and not (isinstance(value, str) and "%" in value):
        with suppress(ValueError):
            number = read_number(value)
            if FULL_PERCENT < number <= FULL_BYTE:
                return {"brightness": round(number)}
    return {"brightness_pct": read_percent(value)}


def read_volume(value: Any, _unit: str = "") -> float:
    """Return 0 to 1. A whole number or one above 1 is percent, so 1 is very soft and 1.0 is full."""
    is_whole = isinstance(value, int) or (isinstance(value, str) and ("%" in value or "." not in value))
    is_word = isinstance(value, str) and value.strip().casefold() in PERCENT_WORDS
    number = float(read_percent(value)) if is_word else read_number(value)
    if number > 1 or is_whole:
        number /= 100
    if not 0 <= number <= 1:
        raise ValueError("0 to 100 (percent)")
    return round(number, 4)


def read_temperature(value: Any, unit: str) -> float:
    """Return a temperature in the unit of the home."""
    if not isinstance(value, str):
        return read_number(value)
    match = _TEMPERATURE.fullmatch(value.strip().casefold())
    if match is None:
        raise ValueError("a temperature such as 21.5")
    number, own = float(match[1].replace(",", ".")), TEMPERATURE_UNITS.get(match[2])
    return number if own in (None, unit) else round(TemperatureConverter.convert(number, own, unit), 1)


def read_kelvin(value: Any, _unit: str) -> int:
    """Return a colour temperature in kelvin, from kelvin, mired or a word."""
    if isinstance(value, str) and (word := fold(value)) in whites():
        return whites()[word]
    try:
        number = read_number(value)
    except ValueError:
        raise ValueError("kelvin, or warm, neutral, cool") from None
    if MIRED_RANGE[0] <= number <= MIRED_RANGE[1]:
        number = 1_000_000 / number
    if not KELVIN_RANGE[0] <= number <= KELVIN_RANGE[1]:
        raise ValueError(f"{KELVIN_RANGE[0]} to {KELVIN_RANGE[1]} (kelvin)")
    return round(number)


def read_color(value: Any, unit: str) -> dict[str, Any]:
    """Return a colour from a name, hex digits, red-green-blue or hue and saturation."""
    form = COLOR_FORMS
    if isinstance(value, Mapping):
        keys = {str(key).casefold()[:1]: item for key, item in value.items()}
        value = [keys[key] for key in ("rgb" if "r" in keys else "hs") if key in keys]
    if isinstance(value, str):
        name = fold(value[:MAX_NAME]).replace(" ", "")
        if name in _colors():
            return _colors()[name]
        text = value.strip().casefold()
        if match := _HEX.fullmatch(text):
            digits = match[1] if len(match[1]) > len("rgb") else "".join(2 * digit for digit in match[1])
            return {"rgb_color": [*bytes.fromhex(digits)]}
        if text[-1:] == "k" and (match := _NUMBER.fullmatch(text[:-1].strip())):
            return {"color_temp_kelvin": read_kelvin(match[0], unit)}
        near = get_close_matches(name, _colors(), 1, LIKE)
        form = f"{COLOR_FORMS}; the nearest name is {near[0]}" if near else COLOR_FORMS
        is_list = text.startswith(("rgb", "[", "(")) or text[:1].isdigit()
        value = _LISTED.findall(text) if is_list else []
        value = value if len(value) == len("rgb") else []
    if isinstance(value, (list, tuple)):
        parts = [read_number(item) for item in value]
        if len(parts) == len("rgb") and all(0 <= part <= FULL_BYTE for part in parts):
            return {"rgb_color": [round(part) for part in parts]}
        if len(parts) == len("hs") and 0 <= parts[0] <= FULL_HUE and 0 <= parts[1] <= FULL_PERCENT:
            return {"hs_color": parts}
    raise ValueError(form)


def read_numbers(value: Any, _unit: str) -> list[float]:
    """Return the numbers of a colour in some other space."""
    if isinstance(value, str):
        value = _LISTED.findall(value)
    if not isinstance(value, (list, tuple)) or len(value) not in COLOR_PARTS:
        raise ValueError("a list of numbers")
    return [read_number(item) for item in value]


def read_seconds(value: Any, _unit: str) -> float:
    """Return a length of time in seconds: a number, "90 s", "5 minutes", "1:30:00" or parts."""
    if isinstance(value, Mapping):
        value = " ".join(f"{item} {key}" for key, item in value.items() if item)
    seconds: float | None
    if not isinstance(value, str) or _NUMBER.fullmatch(value.strip()):
        seconds = read_number(value)
    else:
        text = value.strip()
        seconds = timespans.read_seconds(f"0:{text}" if text.count(":") == 1 else text)
    if seconds is None:
        raise ValueError("a length of time such as 30, 90 s or 00:05:00")
    if not 0 <= seconds <= 7 * 86400:
        raise ValueError("a length of time of at most a week")
    return int(seconds) if seconds == int(seconds) else seconds


def read_boolean(value: Any, _unit: str = "") -> bool:
    """Return true or false."""
    if isinstance(value, (bool, int)):
        return bool(value)
    word = str(value).strip().casefold()
    if word not in BOOLEANS:
        raise ValueError("true or false")
    return BOOLEANS[word]


def read_ids(value: Any, _unit: str) -> list[str]:
    """Return IDs in order, each once."""
    return list(dict.fromkeys(map(str, value if isinstance(value, list | tuple) else [value])))


def read_text(value: Any, _unit: str = "") -> str:
    """Return a text."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError("a text")  # noqa: TRY004 - one kind of error for all readers
    text = str(value).strip()
    if len(text) > MAX_TEXT:
        raise ValueError(f"a text of at most {MAX_TEXT} characters")
    return text


def read_hvac_mode(value: Any, _unit: str) -> str:
    """Return a mode of heating and cooling."""
    word = "_".join(fold(read_text(value)).split()).replace("__", "_")
    return HVAC_WORDS.get(word, word)


def _one_of(*words: str) -> Callable[[Any, str], str]:
    def read(value: Any, _unit: str) -> str:
        word = fold(str(value))
        if word not in words:
            raise ValueError(" or ".join(words))
        return word

    return read


def _moment(parse: Callable[[str], date | time | None], form: str) -> Callable[[Any, str], str]:
    """Return a reader for a date, a time or both, as ISO text."""

    def read(value: Any, _unit: str) -> str:
        with suppress(ValueError):
            if (moment := parse(str(value).strip())) is not None:
                return str(moment)
        raise ValueError(form)

    return read


READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "number": read_number,
    "integer": read_integer,
    "percent": read_percent,
    "signed": read_signed,
    "brightness": read_brightness,
    "volume": read_volume,
    "temperature": read_temperature,
    "kelvin": read_kelvin,
    "color": read_color,
    "numbers": read_numbers,
    "seconds": read_seconds,
    "boolean": read_boolean,
    "ids": read_ids,
    "text": read_text,
    "code": read_text,
    "hvac_mode": read_hvac_mode,
    "direction": _one_of("forward", "reverse"),
    "repeat": _one_of("off", "all", "one"),
    "flash": _one_of("short", "long"),
    "date": _moment(dt_util.parse_date, "a date such as 2026-03-29"),
    "time": _moment(dt_util.parse_time, "a time such as 06:30"),
    "datetime": _moment(dt_util.parse_datetime, "a date and time such as 2026-03-29 06:30"),
}
"""Name of a kind: what reads its values."""
