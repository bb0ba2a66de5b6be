"""Reads of the recorder's database, in the recorder's own threads."""

from asyncio import Future
from collections.abc import Callable
from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.recorder import DATA_INSTANCE, async_migration_in_progress

from .const import LOGGER

if TYPE_CHECKING:
    from homeassistant.components.recorder.core import Recorder


class DatabaseError(Exception):
    """The recorder's database cannot be read; the message says why."""


class RecorderOffError(DatabaseError):
    """There is no recorder."""


@callback
def async_recorder(hass: HomeAssistant) -> Recorder:
    """Return the recorder. Raises DatabaseError if it cannot be asked now."""
    if (recorder := hass.data.get(DATA_INSTANCE)) is None:
        raise RecorderOffError("The recorder is off, so only the current states are known")
    if async_migration_in_progress(hass) or not recorder.async_recorder_ready.is_set():
        raise DatabaseError("The recorder is still starting or upgrading its database; try again later")
    return recorder


async def async_read_database[T](hass: HomeAssistant, read: Callable[..., T], *args: object) -> T:
    """Return the result of a function that is called with the arguments in one of the recorder's threads.

    Raises DatabaseError.
    """
    recorder = async_recorder(hass)
    try:
        reading: Future[T] = recorder.async_add_executor_job(_read, read, *args)
    except RuntimeError as err:  # its threads have ended
        raise DatabaseError("The recorder is stopping") from err
    return await reading


def _read[T](read: Callable[..., T], *args: object) -> T:
    """Call the function; a database that fails is a DatabaseError."""
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 - the recorder has it, others need not

    try:
        return read(*args)
    except SQLAlchemyError as err:
        LOGGER.warning("The recorder's database could not be read: %s", type(err).__name__)
        raise DatabaseError("The recorder's database could not be read") from err
