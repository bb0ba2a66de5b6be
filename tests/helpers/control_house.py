"""A small house of real entities, and a guard that calls services for real."""

from collections.abc import Iterable, Sequence
from typing import Any, override

from pytest_homeassistant_custom_component.common import setup_test_component_platform

from custom_components.home_agent.const import DEFAULTS
from custom_components.home_agent.errors import PermissionDenied, ToolExecutionError
from custom_components.home_agent.knowledge.house import Area, EntityRecord, Floor, HouseSnapshot
from custom_components.home_agent.knowledge.speaker import Speaker
from custom_components.home_agent.safety.frozen import CallOrigin, ServiceCall
from custom_components.home_agent.safety.policy import Policy, Reader
from custom_components.home_agent.tools.base import ToolRun
from custom_components.home_agent.tools.calls.repair import fit
from custom_components.home_agent.tools.guard import is_vetted
from custom_components.home_agent.tools.ha_control import ControlTool
from custom_components.home_agent.tools.turn_calls import TurnCalls
from homeassistant.components.climate import ClimateEntity, ClimateEntityFeature, HVACMode
from homeassistant.components.cover import CoverDeviceClass, CoverEntity, CoverEntityFeature
from homeassistant.components.fan import FanEntity, FanEntityFeature
from homeassistant.components.light import ColorMode, LightEntity
from homeassistant.components.lock import LockEntity
from homeassistant.components.switch import SwitchEntity
from homeassistant.const import UnitOfTemperature
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers.entity import Entity
from homeassistant.setup import async_setup_component

AREAS = {
    area.area_id: area
    for area in (
        Area(area_id="kitchen", name="Kitchen", aliases=("Küche",), floor_id="ground"),
        Area(area_id="living", name="Living Room", floor_id="ground"),
        Area(area_id="bedroom", name="Bedroom", floor_id="upper"),
    )
}
FLOORS = {
    floor.floor_id: floor
    for floor in (
        Floor(floor_id="ground", name="Ground Floor", aliases=("downstairs",)),
        Floor(floor_id="upper", name="Upstairs"),
    )
}


class Named(Entity):
    """An entity that is known by its name."""

    _attr_should_poll = False

    def __init__(self, name: str) -> None:
        self._attr_name = name
        self._attr_unique_id = name


class Lamp(Named, LightEntity):
    """A light that keeps what it is told."""

    def __init__(self, name: str, mode: ColorMode = ColorMode.HS, *, deaf: bool = False) -> None:
        super().__init__(name)
        self._attr_color_mode = mode
        self._attr_supported_color_modes = {mode}
        self._attr_is_on = False
        self._deaf = deaf
        self._attr_min_color_temp_kelvin = 2000
        self._attr_max_color_temp_kelvin = 6500

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        if self._deaf:
            return
        self._attr_is_on = True
        self._attr_brightness = kwargs.get("brightness", self._attr_brightness or 255)
        self._attr_hs_color = kwargs.get("hs_color", self._attr_hs_color or (0, 0))
        self._attr_color_temp_kelvin = kwargs.get("color_temp_kelvin", self._attr_color_temp_kelvin)
        self.async_write_ha_state()

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        if not self._deaf:
            self._attr_is_on = False
            self.async_write_ha_state()


class Plug(Named, SwitchEntity):
    """A switch."""

    _attr_is_on = False

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        self._attr_is_on = True
        self.async_write_ha_state()

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        self._attr_is_on = False
        self.async_write_ha_state()


class Blind(Named, CoverEntity):
    """A cover, with positions or without."""

    def __init__(self, name: str, device_class: CoverDeviceClass, *, positions: bool = True) -> None:
        super().__init__(name)
        self._attr_device_class = device_class
        self._attr_is_closed = True
        self._attr_supported_features = CoverEntityFeature.OPEN | CoverEntityFeature.CLOSE
        if positions:
            self._attr_supported_features |= CoverEntityFeature.SET_POSITION
            self._attr_current_cover_position = 0

    @override
    async def async_open_cover(self, **kwargs: Any) -> None:
        self._attr_is_opening = True
        self.async_write_ha_state()

    @override
    async def async_close_cover(self, **kwargs: Any) -> None:
        self._attr_is_closed = True
        self._attr_is_opening = False
        self.async_write_ha_state()

    @override
    async def async_set_cover_position(self, **kwargs: Any) -> None:
        self._attr_current_cover_position = kwargs["position"]
        self._attr_is_closed = kwargs["position"] == 0
        self.async_write_ha_state()


class Bolt(Named, LockEntity):
    """A lock."""

    _attr_is_locked = True

    @override
    async def async_lock(self, **kwargs: Any) -> None:
        self._attr_is_locked = True
        self.async_write_ha_state()

    @override
    async def async_unlock(self, **kwargs: Any) -> None:
        self._attr_is_locked = False
        self.async_write_ha_state()


class Thermostat(Named, ClimateEntity):
    """A climate entity."""

    _attr_temperature_unit = UnitOfTemperature.CELSIUS
    _attr_hvac_modes = [HVACMode.OFF, HVACMode.HEAT, HVACMode.HEAT_COOL]  # noqa: RUF012
    _attr_hvac_mode = HVACMode.OFF
    _attr_target_temperature = 20.0
    _attr_target_temperature_step = 0.5
    _attr_supported_features = (
        ClimateEntityFeature.TARGET_TEMPERATURE | ClimateEntityFeature.TURN_OFF | ClimateEntityFeature.TURN_ON
    )

    @override
    async def async_set_temperature(self, **kwargs: Any) -> None:
        self._attr_target_temperature = kwargs["temperature"]
        self.async_write_ha_state()

    @override
    async def async_set_hvac_mode(self, hvac_mode: HVACMode) -> None:
        self._attr_hvac_mode = hvac_mode
        self.async_write_ha_state()


class Ventilator(Named, FanEntity):
    """A fan of three speeds."""

    _attr_percentage = 0
    _attr_speed_count = 3
    _attr_supported_features = (
        FanEntityFeature.SET_SPEED
        | FanEntityFeature.OSCILLATE
        | FanEntityFeature.TURN_ON
        | FanEntityFeature.TURN_OFF
    )

    @override
    async def async_turn_on(
        self, percentage: int | None = None, preset_mode: str | None = None, **kwargs: Any
    ) -> None:
        await self.async_set_percentage(percentage or 100)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        await self.async_set_percentage(0)

    @override
    async def async_set_percentage(self, percentage: int) -> None:
        self._attr_percentage = percentage
        self.async_write_ha_state()

    @override
    async def async_oscillate(self, oscillating: bool) -> None:
        self._attr_oscillating = oscillating
        self.async_write_ha_state()


ROOMS = {
    "kitchen": "kitchen",
    "counter": "kitchen",
    "switchable": "kitchen",
    "coffee": "kitchen",
    "lamp": "living",
    "curtain": "living",
    "garage": None,
    "heating": "living",
    "ventilator": "bedroom",
}


async def async_set_up(hass: HomeAssistant, domain: str, entities: Iterable[Entity]) -> None:
    """Add entities of one domain."""
    setup_test_component_platform(hass, domain, list(entities))
    assert await async_setup_component(hass, domain, {domain: [{"platform": "test"}]})
    await hass.async_block_till_done()


def snapshot(hass: HomeAssistant, *, hidden: Iterable[str] = (), **extra: Any) -> HouseSnapshot:
    """Return the house as it stands, by the rooms above."""
    records = {}
    for state in hass.states.async_all():
        if state.entity_id in hidden:
            continue
        area_id = next((room for key, room in ROOMS.items() if key in state.entity_id), None)
        records[state.entity_id] = EntityRecord(
            entity_id=state.entity_id,
            domain=state.domain,
            name=state.name,
            area_id=area_id,
            floor_id=AREAS[area_id].floor_id if area_id else None,
            device_class=state.attributes.get("device_class"),
            **extra.get(state.entity_id, {}),
        )
    return HouseSnapshot(version=1, entities=records, areas=AREAS, floors=FLOORS)


class Guard:
    """Calls services as the tool handler does; remembers them."""

    def __init__(
        self, hass: HomeAssistant, *, hidden: Iterable[str] = (), refused: Iterable[str] = ()
    ) -> None:
        self._hass = hass
        self._hidden = set(hidden)
        self._refused = set(refused)
        self.calls: list[ServiceCall] = []

    def is_exposed(self, entity_id: str) -> bool:
        return entity_id not in self._hidden

    async def async_foresee(self, _calls: Sequence[ServiceCall], _speaker: Speaker) -> None:
        """Let every call run without a confirmation."""

    async def async_call_service(
        self, call: ServiceCall, speaker: Speaker, _draft: object = None, _approved: object = None
    ) -> None:
        assert is_vetted(call.domain, call.service)
        if not self._refused.isdisjoint(call.entity_ids):
            raise PermissionDenied("not allowed")
        self.calls.append(call)
        try:
            await self._hass.services.async_call(
                call.domain,
                call.service,
                {**call.data, "entity_id": list(call.entity_ids)},
                blocking=True,
                context=speaker.context,
            )
        except Exception as err:
            raise ToolExecutionError(str(err)) from err


class Control:
    """ha_control on one house."""

    def __init__(
        self, hass: HomeAssistant, *, hidden: Iterable[str] = (), refused: Iterable[str] = ()
    ) -> None:
        self.hass = hass
        self.hidden = tuple(hidden)
        self.guard = Guard(hass, hidden=hidden, refused=refused)
        self.tool = ControlTool()
        self.area_id: str | None = None
        self.context = Context()

    @property
    def calls(self) -> list[tuple[str, str, tuple[str, ...], dict[str, Any]]]:
        """Return the service calls made."""
        return [(call.domain, call.service, call.entity_ids, dict(call.data)) for call in self.guard.calls]

    async def __call__(self, sentence: str = "", **args: Any) -> Any:
        speaker = Speaker(context=self.context, language="en", area_id=self.area_id)
        run = ToolRun(
            hass=self.hass,
            guard=self.guard,  # type: ignore[arg-type]
            house=snapshot(self.hass, hidden=self.hidden),
            speaker=speaker,
            reader=Reader(self.hass, Policy(self.hass, DEFAULTS), speaker, None),
            calls=TurnCalls.of_origin(CallOrigin(speaker=speaker, sentence=sentence), {}),
        )
        return await self.tool.async_run(fit(self.tool, args)[0], run)
