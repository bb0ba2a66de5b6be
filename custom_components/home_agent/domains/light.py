"""Lights."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from homeassistant.core import State

from ..errors import ValidationError
from .base import (
    ANY,
    STATE,
    STEPS,
    SWITCHED,
    TRANSITION,
    Action,
    ControlParameter,
    FormerState,
    MeantAction,
    ServiceCalls,
    Unsupported,
    ValueStep,
    restore_on_off,
    words,
)
from .showing import number_of, text_of

COLOR_MODES: Final = frozenset(("hs", "rgb", "rgbw", "rgbww", "xy"))
UNDIMMED_MODES: Final = frozenset(("onoff", "unknown"))
COLORS: Final = ("rgb_color", "hs_color", "xy_color", "rgbw_color", "rgbww_color")
BRIGHTNESS: Final = ("brightness_pct", "brightness", "brightness_step_pct")
FULL_BRIGHTNESS: Final = 255
WHITE_KELVIN: Final = 4000
STEP_PERCENT: Final = 20
MODE_ATTRIBUTES: Final[Mapping[str, str]] = {
    "color_temp": "color_temp_kelvin",
    "hs": "hs_color",
    "xy": "xy_color",
    "rgb": "rgb_color",
    "rgbw": "rgbw_color",
    "rgbww": "rgbww_color",
}
"""Colour mode: the attribute and parameter that tells the colour."""


def _adapt(state: State, verb: str, given: Mapping[str, Any]) -> MeantAction:
    """Turn a light off that is to shine at zero percent; else give white and kelvin as the light knows them.

    Raises ValidationError for two colours, Unsupported for a light that cannot be dimmed or coloured so.
    """
    if 0 in (given.get("brightness_pct"), given.get("brightness")):
        return MeantAction("turn_off", {key: given[key] for key in ("transition", "flash") if key in given})
    colors = [name for name in (*COLORS, "color_temp_kelvin") if name in given]
    if len(colors) > 1:
        raise ValidationError(f"parameters: give only one of {', '.join(colors)}")
    parameters = dict(given)
    modes = {str(mode) for mode in state.attributes.get("supported_color_modes") or ()}
    if parameters.get("rgb_color") == [255, 255, 255] and not modes & COLOR_MODES:
        if "color_temp" in modes:
            parameters["color_temp_kelvin"] = WHITE_KELVIN
        if "color_temp" in modes or parameters.keys() - {"rgb_color", "transition"}:
            del parameters["rgb_color"]
    if (kelvin := parameters.get("color_temp_kelvin")) is not None:
        low = state.attributes.get("min_color_temp_kelvin") or kelvin
        high = state.attributes.get("max_color_temp_kelvin") or kelvin
        parameters["color_temp_kelvin"] = max(min(kelvin, high), low)
    if not modes - UNDIMMED_MODES and any(name in parameters for name in BRIGHTNESS):
        raise Unsupported("cannot be dimmed", *BRIGHTNESS)
    if not modes & COLOR_MODES and any(name in parameters for name in COLORS):
        raise Unsupported("cannot show colours", *COLORS)
    if not modes & {"color_temp", *COLOR_MODES} and "color_temp_kelvin" in parameters:
        raise Unsupported("has no colour temperature", "color_temp_kelvin")
    return MeantAction(verb, parameters)


def _step(state: State, direction: int, size: float | None) -> tuple[str, Mapping[str, Any]]:
    """Return a step of 20 percent, or half of what is left, so that no light is dimmed until it is off."""
    brightness = state.attributes.get("brightness")
    if size is None and direction < 0 and isinstance(brightness, int | float):
        share = brightness / FULL_BRIGHTNESS
        if 0 < share <= (STEP_PERCENT + 0.5) / 100:
            return "turn_on", {"brightness_pct": max(1, round(share * 50))}
    return "turn_on", {"brightness_step_pct": round(direction * (size or STEP_PERCENT))}


def _restore(was: FormerState) -> ServiceCalls:
    if was.state != "on":
        yield from restore_on_off(was)
        return
    attributes, changed = was.attributes, was.changed
    data = {"brightness": attributes["brightness"]} if "brightness" in attributes else {}
    color = MODE_ATTRIBUTES.get(str(attributes.get("color_mode")), "")
    if color in attributes and not changed.isdisjoint((STATE, "color_mode", *MODE_ATTRIBUTES.values())):
        data[color] = attributes[color]
    if "effect" in changed and (effect := attributes.get("effect")):
        data["effect"] = effect
    yield "turn_on", data


def _details(state: State) -> Iterator[str]:
    attributes = state.attributes
    mode, brightness = attributes.get("color_mode"), attributes.get("brightness")
    if isinstance(brightness, int | float) and 0 < brightness <= FULL_BRIGHTNESS:
        yield f"{max(1, round(brightness / 2.55))}%"
    if mode == "color_temp" and (kelvin := number_of(attributes.get("color_temp_kelvin"))):
        yield f"{kelvin} K"
    elif mode in COLOR_MODES and (rgb := attributes.get("rgb_color")):
        yield "#" + "".join(f"{int(part):02x}" for part in rgb)
    yield from text_of("effect", state, unless={"None", "none", "off"})


def _abilities(known: Mapping[str, Any]) -> Iterator[str]:
    modes = known.get("supported_color_modes")
    names = {str(mode) for mode in modes} if isinstance(modes, list | tuple | set | frozenset) else set()
    if names - UNDIMMED_MODES:
        yield "brightness"
    if names & COLOR_MODES:
        yield "color"
    if "color_temp" in names:
        yield "color_temp"
    if names & {"white", "rgbw", "rgbww"}:
        yield "white"


LIGHT = replace(
    SWITCHED,
    name="light",
    actions={
        "turn_on": Action("turn_on", expected=words("on"), takes=ANY, native=ANY),
        "turn_off": Action("turn_off", expected=words("off"), takes=("transition", "flash"), native=ANY),
        "toggle": Action("toggle", takes=ANY, native=ANY),
        "set_value": Action("turn_on", expected=words("on"), takes=ANY, native=ANY, value="brightness_pct"),
        **STEPS,
    },
    parameters={
        "brightness_pct": ControlParameter(
            "percent",
            "turn_on",
            "brightness",
            aliases="brightness_percent brightness_percentage brightness_level dim dimming level percent "
            "percentage intensity",
        ),
        "brightness": ControlParameter("brightness", "turn_on", "brightness"),
        "brightness_step_pct": ControlParameter("signed", "turn_on", aliases="brightness_step"),
        "color": ControlParameter("color", "turn_on", aliases="colour color_name colour_name rgb hex"),
        "color_temp_kelvin": ControlParameter(
            "kelvin",
            "turn_on",
            "color_temp_kelvin",
            aliases="color_temp color_temperature colour_temperature colour_temp kelvin temperature temp "
            "ct color_temp_mired",
        ),
        "rgb_color": ControlParameter("color", "turn_on"),
        "hs_color": ControlParameter("numbers", "turn_on", aliases="hs"),
        "xy_color": ControlParameter("numbers", "turn_on", aliases="xy"),
        "rgbw_color": ControlParameter("numbers", "turn_on"),
        "rgbww_color": ControlParameter("numbers", "turn_on"),
        "effect": ControlParameter("text", "turn_on", "effect", "EFFECT", choices="effect_list"),
        "transition": TRANSITION,
        "flash": ControlParameter("flash", "turn_on"),
    },
    fields={"brightness": "brightness", "color": "color", "color_temp": "color_temp", "effect": "effect"},
    synonyms=words("set_value"),
    step=ValueStep("brightness_pct", STEP_PERCENT, services=("turn_on",), call=_step),
    adapt=_adapt,
    restore=_restore,
    kept=("color_mode", *MODE_ATTRIBUTES.values()),
    details=_details,
    reported=("brightness", "color_temp_kelvin", "rgb_color", "effect"),
    # Every light accepts a transition and a flash; these features say that it really has them.
    abilities={"flash": "FLASH", "transition": "TRANSITION"},
    find_abilities=_abilities,
    describing=("supported_color_modes",),
    is_switched_with_everything=True,
    is_lively=True,
)
