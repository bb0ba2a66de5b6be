"""Which Assist pipeline a satellite uses."""

from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant, callback

if TYPE_CHECKING:
    from homeassistant.components.assist_pipeline import Pipeline


@callback
def pipeline_of(hass: HomeAssistant, entity_id: str) -> Pipeline | None:
    """Return the pipeline of a satellite, by default the preferred one; None if that cannot be known."""
    if (preferred := preferred_pipeline(hass)) is None:
        return None
    from homeassistant.components.assist_pipeline import async_get_pipelines  # noqa: PLC0415
    from homeassistant.components.assist_satellite.const import DATA_COMPONENT  # noqa: PLC0415

    satellite = hass.data[DATA_COMPONENT].get_entity(entity_id) if DATA_COMPONENT in hass.data else None
    chosen = satellite.pipeline_entity_id if satellite else None
    state = hass.states.get(chosen) if chosen else None
    named = (one for one in async_get_pipelines(hass) if state and one.name == state.state)
    return next(named, preferred)


@callback
def preferred_pipeline(hass: HomeAssistant) -> Pipeline | None:
    """Return the pipeline that the household prefers; None where there is no voice."""
    if "assist_pipeline" not in hass.config.components:
        return None
    # Its packages are there only where voice is used.
    from homeassistant.components.assist_pipeline import PipelineNotFound  # noqa: PLC0415
    from homeassistant.components.assist_pipeline.pipeline import async_get_pipeline  # noqa: PLC0415

    try:
        return async_get_pipeline(hass)
    except PipelineNotFound:
        return None
