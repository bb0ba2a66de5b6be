"""The PIN: kept as a salted hash, compared slowly, tried a few times only."""

import asyncio
from base64 import b64decode, b64encode
from collections import deque
from enum import Enum, auto
from hashlib import scrypt
from hmac import compare_digest
from secrets import token_bytes
from time import monotonic

from homeassistant.core import HomeAssistant

COST = 2**14
BLOCK_SIZE = 8
PARALLEL = 1
LENGTH = 32
MEMORY = 64 * 1024 * 1024
PREFIX = "scrypt"
PARTS = 3

MIN_DIGITS = 4
MAX_DIGITS = 12

MAX_WRONG = 10
WRONG_WINDOW = 3600.0
"""So many wrong PINs within so many seconds, whatever they were for, and no PIN is looked at any more."""


def hash_pin(pin: str) -> str:
    """Return the stored hash of a PIN. Takes some 50 ms: for the executor."""
    salt = token_bytes(16)
    return "$".join((PREFIX, b64encode(salt).decode(), b64encode(_derive(pin, salt)).decode()))


def is_hash(stored: str) -> bool:
    """Return whether a value is the hash of a PIN."""
    return stored.startswith(f"{PREFIX}$") and len(stored.split("$")) == PARTS


def matches(pin: str, stored: str) -> bool:
    """Return whether a PIN is the one that was stored. Takes some 50 ms: for the executor."""
    if not is_hash(stored):
        return False
    _, salt, derived = stored.split("$")
    try:
        return compare_digest(_derive(pin, b64decode(salt)), b64decode(derived))
    except ValueError:
        return False


def _derive(pin: str, salt: bytes) -> bytes:
    """Return the key that a PIN and a salt make."""
    return scrypt(pin.encode(), salt=salt, n=COST, r=BLOCK_SIZE, p=PARALLEL, maxmem=MEMORY, dklen=LENGTH)


class Look(Enum):
    """What became of one try."""

    RIGHT = auto()
    WRONG = auto()
    LOCKED = auto()
    """There were too many wrong PINs, so this PIN was not compared."""


class PinGate:
    """Looks at PINs, one after the other, so that tries at the same time cannot pass the limit."""

    def __init__(self, hass: HomeAssistant, stored: str) -> None:
        """Take the hash; an empty one means that no PIN is wanted."""
        self._hass = hass
        self._stored = stored
        self._one_at_a_time = asyncio.Lock()
        self._wrong: deque[float] = deque(maxlen=MAX_WRONG)

    @property
    def wanted(self) -> bool:
        """Return whether a PIN is set."""
        return bool(self._stored)

    async def async_look(self, pin: str) -> Look:
        """Compare a PIN with the stored one."""
        async with self._one_at_a_time:
            if self._is_locked:
                return Look.LOCKED
            # Counted before it is compared: a try that is broken off counts as a wrong one.
            self._wrong.append(monotonic())
            if not await self._hass.async_add_executor_job(matches, pin, self._stored):
                return Look.WRONG
            self._wrong.pop()
            return Look.RIGHT

    @property
    def _is_locked(self) -> bool:
        """Return whether no further PIN is looked at for now."""
        return len(self._wrong) == MAX_WRONG and monotonic() - self._wrong[0] < WRONG_WINDOW
