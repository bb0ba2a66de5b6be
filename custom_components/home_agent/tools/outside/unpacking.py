"""Answers that a server packs though nothing packed was asked for: unpacked, never larger than is read."""

from collections.abc import Callable, Mapping
import zlib


class Packed(ValueError):
    """An answer is packed in a way that is not read, or is broken."""


def unpacker(headers: Mapping[str, str]) -> Callable[[bytes, int], bytes]:
    """Return a function that decompresses a chunk up to a size limit. Both raise Packed."""
    encoding = headers.get("Content-Encoding", "identity").strip().casefold()
    if encoding == "identity":
        return lambda chunk, _most: chunk
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise Packed(encoding)
    inner = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)

    def unpack(chunk: bytes, most: int) -> bytes:
        try:
            return inner.decompress(chunk, most)
        except zlib.error as err:
            raise Packed(encoding) from err

    return unpack
