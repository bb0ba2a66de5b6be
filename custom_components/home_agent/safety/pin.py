"""The PIN: kept as a salted hash, compared slowly."""

from base64 import b64decode, b64encode
from hashlib import scrypt
from hmac import compare_digest
from secrets import token_bytes

COST = 2**14
BLOCK_SIZE = 8
PARALLEL = 1
LENGTH = 32
MEMORY = 64 * 1024 * 1024
PREFIX = "scrypt"
PARTS = 3

MIN_DIGITS = 4
MAX_DIGITS = 12


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
    return scrypt(pin.encode(), salt=salt, n=COST, r=BLOCK_SIZE, p=PARALLEL, maxmem=MEMORY, dklen=LENGTH)
