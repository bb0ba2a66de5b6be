"""Photos that people send in Telegram: downloaded by the bot, checked, and removed from the disk."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.util.ulid import ulid_now

from ...agent.pictures import MAX_BYTES, data_url, kind_of_picture
from ...const import LOGGER
from ...errors import ToolExecutionError
from ...tools.own_calls import TELEGRAM, async_telegram

IMAGE: Final = "image/"


class PhotoUnusable(Exception):
    """A photo cannot be shown to the model; `key` names the sentence that says why."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def is_picture(event: Mapping[str, Any]) -> bool:
    """Return whether an attachment claims to be a picture."""
    return bool(event.get("file_id")) and str(event.get("file_mime_type") or "").startswith(IMAGE)


async def async_photo(hass: HomeAssistant, event: Mapping[str, Any]) -> str:
    """Return the picture of an attachment as a data URL. Raises PhotoUnusable.

    The bot writes each file into its own folder in the configuration. The file has a name of ours there, and
    is deleted as soon as it was read.
    """
    size = event.get("file_size")
    if isinstance(size, int) and size > MAX_BYTES:
        raise PhotoUnusable("telegram_photo_large")
    name = f"home_agent_{ulid_now()}"
    data: dict[str, Any] = {"file_id": event["file_id"], "file_name": name}
    if entry_id := event.get("bot", {}).get("config_entry_id"):
        data["config_entry_id"] = entry_id
    path = Path(hass.config.path(TELEGRAM, name))
    try:
        await async_telegram(hass, "download_file", data, answers=True)
        picture = await hass.async_add_executor_job(_read, path)
    except (ToolExecutionError, OSError) as err:
        LOGGER.warning("A photo from Telegram was not downloaded: %s", err)
        raise PhotoUnusable("telegram_photo_missing") from err
    finally:
        await hass.async_add_executor_job(_remove, path)
    if picture is None:
        raise PhotoUnusable("telegram_photo_large")
    if (kind := kind_of_picture(picture)) is None:
        raise PhotoUnusable("telegram_text_only")
    return data_url(picture, kind)


def _read(path: Path) -> bytes | None:
    """Return the content of a file; None for one that is too large."""
    return path.read_bytes() if path.stat().st_size <= MAX_BYTES else None


def _remove(path: Path) -> None:
    """Delete a file that may not be there."""
    path.unlink(missing_ok=True)
