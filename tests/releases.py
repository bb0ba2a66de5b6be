"""Lets Home Assistant's test plugin run on a later release than its own. Loaded before it, see `addopts`."""

from homeassistant import const  # 2026.11 replaces httpx here, before another plugin imports it

if (const.MAJOR_VERSION, const.MINOR_VERSION) > (2026, 10):
    # The plugin changes these before it imports more of Home Assistant
    from pytest_homeassistant_custom_component import patch_json, patch_recorder, patch_time  # noqa: F401

    from homeassistant.components import logger

    # The plugin imports it for tests of this integration
    logger._clear_logger_overwrites = None
