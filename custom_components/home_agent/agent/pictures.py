"""Pictures in messages: as every dialect takes them, and as files are read."""

from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

MAX_PICTURES: Final = 8
MAX_BYTES: Final = 8_000_000
"""Of one picture."""


def data_url(picture: bytes, media_type: str) -> str:
    """Return a picture as requests carry it."""
    return f"data:{media_type};base64,{b64encode(picture).decode()}"


def with_pictures(content: str, urls: Sequence[str]) -> list[dict[str, Any]]:
    """Return the content of a message that has pictures."""
    pictures = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return [{"type": "text", "text": content}, *pictures]


def beside_pictures(messages: list[dict[str, Any]], urls: Sequence[str]) -> list[dict[str, Any]]:
    """Return messages with pictures beside the newest one of the user's."""
    last = max((index for index, one in enumerate(messages) if one["role"] == "user"), default=None)
    if not urls or last is None:
        return messages
    shown = {**messages[last], "content": with_pictures(str(messages[last]["content"]), urls)}
    return [*messages[:last], shown, *messages[last + 1 :]]


def read_pictures(files: Sequence[tuple[Path, str]]) -> list[str]:
    """Return files of these media types as data URLs; blocks.

    Raises ValueError for one that is no picture, too large or too many, and OSError for one that is gone.
    """
    if len(files) > MAX_PICTURES:
        raise ValueError(f"more than {MAX_PICTURES} pictures")
    urls = []
    for path, media_type in files:
        if not media_type.startswith("image/"):
            raise ValueError(f"{media_type} is no picture")
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"a picture of more than {MAX_BYTES // 1_000_000} MB")
        urls.append(data_url(path.read_bytes(), media_type))
    return urls
