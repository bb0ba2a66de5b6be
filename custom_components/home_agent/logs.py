"""The option that shows what the agent does, in Home Assistant's log."""

import logging

from .const import LOGGER

_wanted_by: set[str] = set()


def set_debug_logging(entry_id: str, *, wanted: bool) -> None:
    """Log in detail while any entry wants it; leave a level that Home Assistant's logger set alone."""
    before = bool(_wanted_by)
    (_wanted_by.add if wanted else _wanted_by.discard)(entry_id)
    if before == bool(_wanted_by):
        return
    LOGGER.setLevel(logging.DEBUG if _wanted_by else logging.NOTSET)
