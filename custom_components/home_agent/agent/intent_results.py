"""What a turn did, as Home Assistant's own agent reports it: the areas, the entities and their states.

Core reports every answer of another agent as a done action without targets, so these are set here. The Assist
pipeline of 2026.10 and 2026.11 plays its short acknowledgement sound for core's own agent only; other
listeners, such as dashboards and custom pipelines, read the targets of every agent.
"""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr, intent

from ..tools.turn_calls import TurnCalls

Target = intent.IntentResponseTarget


def set_results(
    hass: HomeAssistant,
    response: intent.IntentResponse,
    calls: TurnCalls,
    local: intent.IntentResponse | None = None,
) -> None:
    """Set the type, the targets and the states of the response to a sentence.

    A turn that changed something is a done action, any other one is an answer. `local` is the response of
    Home Assistant's own sentences, if they answered.
    """
    if local is not None:
        response.response_type = local.response_type
        response.async_set_results(local.success_results, local.failed_results)
        response.async_set_states(local.matched_states, local.unmatched_states)
        return
    done = list(dict.fromkeys(calls.touched))
    if not done and not calls.done:
        response.response_type = intent.IntentResponseType.QUERY_ANSWER
        return
    states = [state for entity_id in done if (state := hass.states.get(entity_id))]
    names = {state.entity_id: state.name for state in states}
    kinds = intent.IntentResponseTargetType
    entities = [Target(name=names.get(key, key), type=kinds.ENTITY, id=key) for key in done]
    asked = {slot for record in calls.records for slot in ("area", "floor") if record.args.get(slot)}
    areas = {area.id: area for entity_id in done if asked and (area := area_of(hass, entity_id))}
    places = [Target(name=area.name, type=kinds.AREA, id=area.id) for area in areas.values()]
    if "floor" in asked:
        registry = fr.async_get(hass)
        floor_ids = dict.fromkeys(area.floor_id for area in areas.values() if area.floor_id)
        floors = [floor for floor_id in floor_ids if (floor := registry.async_get_floor(floor_id))]
        places = [Target(name=floor.name, type=kinds.FLOOR, id=floor.floor_id) for floor in floors]
    response.response_type = intent.IntentResponseType.ACTION_DONE
    response.async_set_results([*places, *entities])
    response.async_set_states(states)


def area_of(hass: HomeAssistant, entity_id: str) -> ar.AreaEntry | None:
    """Return the area of an entity, or else that of its device."""
    if (entry := er.async_get(hass).async_get(entity_id)) is None:
        return None
    area_id = er.async_get_effective_area_id(hass, entry)
    return ar.async_get(hass).async_get_area(area_id) if area_id else None
