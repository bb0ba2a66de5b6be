"""Colours by what people call them, in any language."""

from difflib import get_close_matches
from functools import cache
from typing import Any, Final

from homeassistant.util import color as color_util

from ...knowledge.spoken_words import colors, shades, whites
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
            return _shaded(color, found)
        if (white := next((WHITES[kind] for kind in WHITES if written in shades(kind)), None)) is not None:
            return {"color_temp_kelvin": whites()[white]}
        written, shade = _without_shade(written)
        if not shade:
            return None
        found.append(shade)
    return None


def nearest_color(text: str) -> str:
    """Return the known name that is nearest to a text; empty if none is near."""
    known = (*colors(), *whites(), *sorted(color_util.COLORS))
    near = get_close_matches(fold(text[:MAX_NAME]).replace(" ", ""), known, 1, LIKE)
    return near[0] if near else ""


@cache
def _spelt_whites() -> dict[str, int]:
    """Return the temperatures of whites by their names without spaces."""
    return {name.replace(" ", ""): kelvin for name, kelvin in whites().items()}


@cache
def _colors() -> dict[str, str]:
    """Return the English names of colours by those of all languages."""
    return {**colors(), **{name: name for name in color_util.COLORS}}


def _color(written: str) -> str | None:
    """Return the English name of a colour, also of an inflected one."""
    known = _colors()
    name = written.replace(" ", "")
    if name in known:
        return known[name]
    for word, color in sorted(known.items(), key=lambda item: -len(item[0])):
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


def _shaded(color: str, found: list[str]) -> dict[str, Any]:
    """Return a colour with the kinds of its qualifiers."""
    for kind, white in WHITES.items():
        if color == WHITE and kind in found:
            return {"color_temp_kelvin": whites()[white]}
    shaded = (f"{shade}{color}" for shade in SHADES if shade in found)
    name = next((name for name in shaded if name in color_util.COLORS), color)
    return {"rgb_color": list(color_util.color_name_to_rgb(name))}
