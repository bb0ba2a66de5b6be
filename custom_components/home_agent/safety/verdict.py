"""What a policy says."""

from enum import IntEnum


class Verdict(IntEnum):
    """From free to forbidden, so that the strictest of several is the greatest."""

    ALLOW = 0
    CONFIRM = 1
    BLOCK = 2
