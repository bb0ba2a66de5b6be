"""Values as models write them, read by meaning. Every reader raises ValueError saying what it wants."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, time
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

from homeassistant.const import UnitOfTemperature
from homeassistant.util import color as color_util, dt as dt_util
from homeassistant.util.unit_conversion import TemperatureConverter

from ... import timespans
from ...knowledge.spoken_words import colors, shades, whites
from ...regex import lazy_regex
from ...texts import fold

COLOR_FORMS: Final = "a colour name, #rrggbb or [red, green, blue]"
MAX_NAME: Final = 60
"""Longer texts name no colour."""
MAX_ENDING: Final = 2
"""Letters that an inflected name may have more than the known one."""
MIN_STEM: Final = 3
LIKE: Final = 0.7
"""How like a known name a text must be to be told as the nearest."""
WHITE: Final = "white"
WHITES: Final = {"warm": "warm white", "cold": "cold white"}
"""The whites that qualifiers mean alone and beside white."""
SHADES: Final = ("light", "dark")
"""Those that have colours of their own in CSS; all others leave a colour as it is."""
PLAIN: Final = "plain"
KINDS: Final = (*SHADES, *WHITES, PLAIN)


def named_color(text: str) -> dict[str, Any] | None:
    """Return the colour or the colour temperature that a text names; None for anything else.

    A qualifier beside a colour is left out where it makes no colour of its own: "warm orange" is orange.
    "Warm" and "cold" beside white are colour temperatures.
    """
    if len(text) > MAX_NAME:
        return None
    written = " ".join(fold(text).split())
    found: list[str] = []
    while written:
        if (kelvin := _spelt_whites().get(written.replace(" ", ""))) is not None:
            return {"color_temp_kelvin": kelvin}
        if (color := _color(written)) is not None:
            for kind, tone in WHITES.items():
                if color == WHITE and kind in found:
                    return {"color_temp_kelvin": whites()[tone]}
            shaded = (f"{shade}{color}" for shade in SHADES if shade in found)
            name = next((name for name in shaded if name in color_util.COLORS), color)
            return {"rgb_color": list(color_util.color_name_to_rgb(name))}
        if (white := next((WHITES[kind] for kind in WHITES if written in shades(kind)), None)) is not None:
            return {"color_temp_kelvin": whites()[white]}
        written, shade = _without_shade(written)
        if not shade:
            return None
        found.append(shade)
    return None


@cache
def _spelt_whites() -> dict[str, int]:
    """Return the temperatures of whites by their names without spaces."""
    return {name.replace(" ", ""): kelvin for name, kelvin in whites().items()}


@cache
def _colors() -> dict[str, str]:
    """Return the names of colours in CSS by their names in all languages, the longest first."""
    known = {**colors(), **{name: name for name in color_util.COLORS}}
    return {name: known[name] for name in sorted(known, key=len, reverse=True)}


def _color(written: str) -> str | None:
    known, name = _colors(), written.replace(" ", "")
    if name in known:
        return known[name]
    for word, color in known.items():
        if len(word) >= MIN_STEM and name.startswith(word) and len(name) - len(word) <= MAX_ENDING:
            return color
    meant = {color for word, color in colors().items() if _is_inflected(name, word)}
    return meant.pop() if len(meant) == 1 else None


def _is_inflected(name: str, word: str) -> bool:
    """Return whether a name is another form of a word: "roja" of "rojo", "красного" of "красный"."""
    if len(name) == len(word) and name[:-1] == word[:-1]:
        return len(word) > MIN_STEM
    stems = (stem for stem in (word[:-1], word[:-2]) if len(stem) > MIN_STEM)
    return any(name.startswith(stem) and len(name) - len(stem) <= MAX_ENDING + 1 for stem in stems)


def _without_shade(written: str) -> tuple[str, str]:
    """Return a text without a qualifier in front or behind, and its kind; empty if there is none."""
    first, _, behind = written.partition(" ")
    before, _, last = written.rpartition(" ")
    for kind in (PLAIN, *KINDS):
        if before and last in shades(kind):
            return before, kind
    for kind in KINDS:
        if behind and first in shades(kind):
            return behind, kind
    for word, kind in _beginnings():
        if first.startswith(word) and len(first) - len(word) >= MIN_STEM:
            return f"{first.removeprefix(word)} {behind}".strip(), kind
    return written, ""


@cache
def _beginnings() -> list[tuple[str, str]]:
    """Return the qualifiers that can be written in one word with a colour, the longest first."""
    found = [(word, kind) for kind in KINDS for word in shades(kind) if len(word) >= MIN_STEM]
    return sorted(found, key=lambda item: (-len(item[0]), item))


MAX_TEXT = 255
LARGEST = 1e15
FULL_PERCENT = 100
FULL_BYTE = 255
FULL_HUE = 360
RGB_PARTS = 3
HS_PARTS = 2
COLOR_PARTS = range(2, 6)
HEX_DIGITS = 6
PERCENT_WORDS = {
    "max": 100,
    "maximum": 100,
    "full": 100,
    "half": 50,
    "min": 1,
    "minimum": 1,
    "off": 0,
    "zero": 0,
}
KELVIN_RANGE = (1000, 12000)
MIRED_RANGE = (80, 700)
HVAC_WORDS = {
    "heating": "heat",
    "cooling": "cool",
    "automatic": "auto",
    "drying": "dry",
    "fan": "fan_only",
    "heat_cool": "heat_cool",
    "heating_cooling": "heat_cool",
}

_NUMBER = lazy_regex(r"[-+]?(?:\d+(?:[.,]\d+)?|[.,]\d+)")
_LISTED = lazy_regex(r"\d+(?:\.\d+)?")
"""A number among others, where the comma separates."""
_TEMPERATURE = lazy_regex(
    r"([-+]?\d+(?:[.,]\d+)?)\s*+(?:°|º|deg(?:rees?)?)?\s*(c|f|k)?(?:elsius|ahrenheit|elvin)?"
)
_HEX = lazy_regex(r"(?:#|0x)?([0-9a-f]{6}|[0-9a-f]{3})")


@dataclass(frozen=True, slots=True)
class Units:
    """The units of the home."""

    temperature: str = UnitOfTemperature.CELSIUS


def read_number(value: Any, _units: Units | None = None) -> float:
    """Return a number, with or without a unit behind it."""
    if isinstance(value, str) and (match := _NUMBER.match(value.strip())):
        value = float(match[0].replace(",", "."))
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
        raise ValueError("a number")
    return float(value)


def read_integer(value: Any, units: Units) -> int:
    """Return a whole number."""
    found = read_number(value, units)
    if found != int(found):
        raise ValueError("a whole number")
    return int(found)


def read_percent(value: Any, units: Units) -> int:
    """Return 0 to 100; a fraction below 1 counts as a share of 1."""
    if isinstance(value, str) and (word := value.strip().casefold()) in PERCENT_WORDS:
        return PERCENT_WORDS[word]
    found = read_number(value, units)
    if 0 < found < 1 and not (isinstance(value, str) and "%" in value):
        found *= 100
    if not 0 <= found <= FULL_PERCENT:
        raise ValueError("0 to 100 (percent)")
    return round(found)


def read_signed(value: Any, units: Units) -> int:
    """Return -100 to 100."""
    found = read_number(value, units)
    if abs(found) > FULL_PERCENT:
        raise ValueError("-100 to 100 (percent)")
    return round(found)


def read_brightness(value: Any, units: Units) -> dict[str, int]:
    """Return a brightness: up to 100 it is percent, as states are shown; above, it is of 255."""
    is_number = isinstance(value, (int, float)) or (isinstance(value, str) and "%" not in value)
    if is_number and not isinstance(value, bool):
        with suppress(ValueError):
            found = read_number(value, units)
            if FULL_PERCENT < found <= FULL_BYTE:
                return {"brightness": round(found)}
    return {"brightness_pct": read_percent(value, units)}


def read_volume(value: Any, units: Units) -> float:
    """Return 0 to 1. A whole number or one above 1 is percent, so 1 is very soft and 1.0 is full."""
    is_text = isinstance(value, str)
    percent = read_percent(value, units) if is_text and value.strip().casefold() in PERCENT_WORDS else None
    found = float(percent) if percent is not None else read_number(value, units)
    is_whole = (
        isinstance(value, int) or percent is not None or (is_text and ("%" in value or "." not in value))
    )
    if found > 1 or is_whole:
        found /= 100
    if not 0 <= found <= 1:
        raise ValueError("0 to 100 (percent)")
    return round(found, 4)


def read_temperature(value: Any, units: Units) -> float:
    """Return a temperature in the unit of the home."""
    if isinstance(value, str):
        match = _TEMPERATURE.fullmatch(value.strip().casefold())
        if match is None:
            raise ValueError("a temperature such as 21.5")
        found = float(match[1].replace(",", "."))
        unit = {
            "c": UnitOfTemperature.CELSIUS,
            "f": UnitOfTemperature.FAHRENHEIT,
            "k": UnitOfTemperature.KELVIN,
        }
        if match[2] and unit[match[2]] != units.temperature:
            return round(TemperatureConverter.convert(found, unit[match[2]], units.temperature), 1)
        return found
    return read_number(value, units)


def read_kelvin(value: Any, units: Units) -> int:
    """Return a colour temperature in kelvin, from kelvin, mired or a word."""
    if isinstance(value, str) and (word := fold(value)) in whites():
        return whites()[word]
    try:
        found = read_number(value, units)
    except ValueError:
        raise ValueError("kelvin, or warm, neutral, cool") from None
    if MIRED_RANGE[0] <= found <= MIRED_RANGE[1]:
        found = 1_000_000 / found
    if not KELVIN_RANGE[0] <= found <= KELVIN_RANGE[1]:
        raise ValueError(f"{KELVIN_RANGE[0]} to {KELVIN_RANGE[1]} (kelvin)")
    return round(found)


def read_color(value: Any, units: Units) -> dict[str, Any]:
    """Return a colour from a name, hex digits, red-green-blue or hue and saturation."""
    if isinstance(value, Mapping):
        keys = {str(key).casefold()[:1]: item for key, item in value.items()}
        value = [keys[key] for key in ("rgb" if "r" in keys else "hs") if key in keys]
    if isinstance(value, str):
        return _written_color(value, units)
    if isinstance(value, (list, tuple)):
        parts = [read_number(item, units) for item in value]
        if len(parts) == RGB_PARTS and all(0 <= part <= FULL_BYTE for part in parts):
            return {"rgb_color": [round(part) for part in parts]}
        if len(parts) == HS_PARTS and 0 <= parts[0] <= FULL_HUE and 0 <= parts[1] <= FULL_PERCENT:
            return {"hs_color": parts}
    raise ValueError(COLOR_FORMS)


def _written_color(text: str, units: Units) -> dict[str, Any]:
    if (found := named_color(text)) is not None:
        return found
    compact = text.strip().casefold()
    if match := _HEX.fullmatch(compact):
        digits = match[1] if len(match[1]) == HEX_DIGITS else "".join(2 * digit for digit in match[1])
        return {"rgb_color": [int(digits[index : index + 2], 16) for index in (0, 2, 4)]}
    if compact[-1:] == "k" and (match := _NUMBER.fullmatch(compact[:-1].strip())):
        return {"color_temp_kelvin": read_kelvin(match[0], units)}
    parts = _LISTED.findall(compact) if compact.startswith(("rgb", "[", "(")) or compact[:1].isdigit() else []
    if len(parts) == RGB_PARTS and all(0 <= float(part) <= FULL_BYTE for part in parts):
        return {"rgb_color": [round(float(part)) for part in parts]}
    names = (*colors(), *whites(), *sorted(color_util.COLORS))
    near = get_close_matches(fold(text[:MAX_NAME]).replace(" ", ""), names, 1, LIKE)
    raise ValueError(f"{COLOR_FORMS}; the nearest name is {near[0]}" if near else COLOR_FORMS)


def read_numbers(value: Any, units: Units) -> list[float]:
    """Return the numbers of a colour in some other space."""
    if isinstance(value, str):
        value = _LISTED.findall(value)
    if not isinstance(value, (list, tuple)) or len(value) not in COLOR_PARTS:
        raise ValueError("a list of numbers")
    return [read_number(item, units) for item in value]


def read_seconds(value: Any, units: Units) -> float:
    """Return a length of time in seconds: a number, "90 s", "5 minutes", "1:30:00" or parts."""
    if isinstance(value, Mapping):
        value = " ".join(f"{item} {key}" for key, item in value.items() if item)
    if not isinstance(value, str) or _NUMBER.fullmatch(value.strip()):
        found = read_number(value, units)
    else:
        text = value.strip()
        seconds = timespans.read_seconds(f"0:{text}" if text.count(":") == 1 else text)
        if seconds is None:
            raise ValueError("a length of time such as 30, 90 s or 00:05:00")
        found = seconds
    if not 0 <= found <= 7 * 86400:
        raise ValueError("a length of time of at most a week")
    return int(found) if found == int(found) else found


def read_boolean(value: Any, _units: Units | None = None) -> bool:
    """Return true or false."""
    if isinstance(value, (bool, int)):
        return bool(value)
    word = str(value).strip().casefold()
    if word in ("true", "on", "yes", "1"):
        return True
    if word in ("false", "off", "no", "0"):
        return False
    raise ValueError("true or false")


def read_ids(value: Any, _units: Units) -> list[str]:
    """Return IDs in order, each once."""
    return list(dict.fromkeys(map(str, value if isinstance(value, list | tuple) else [value])))


def read_text(value: Any, _units: Units | None = None) -> str:
    """Return a text."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError("a text")  # noqa: TRY004 - one kind of error for all readers
    text = str(value).strip()
    if len(text) > MAX_TEXT:
        raise ValueError(f"a text of at most {MAX_TEXT} characters")
    return text


def read_hvac_mode(value: Any, units: Units) -> str:
    """Return a mode of heating and cooling."""
    word = "_".join(fold(read_text(value, units)).split()).replace("__", "_")
    return HVAC_WORDS.get(word, word)


def _one_of(*words: str) -> Callable[[Any, Units], str]:
    def read(value: Any, _units: Units) -> str:
        """Return one of the words."""
        word = fold(str(value))
        if word not in words:
            raise ValueError(" or ".join(words))
        return word

    return read


def _moment(parse: Callable[[str], date | time | None], form: str) -> Callable[[Any, Units], str]:
    """Return a reader for a date, a time or both, as ISO text."""

    def read(value: Any, _units: Units) -> str:
        """Return the moment as text."""
        try:
            found = parse(str(value).strip())
        except ValueError:
            found = None
        if found is None:
            raise ValueError(form)
        return str(found)

    return read


READERS: Mapping[str, Callable[[Any, Units], Any]] = {
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
