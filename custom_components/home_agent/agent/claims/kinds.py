"""Kinds of claims, and of the sentences that they answer."""

from enum import Enum, auto


class ClaimKind(Enum):
    """What a claim is about, which decides the calls that back it."""

    DEED = auto()
    """Something is as it was asked for."""
    CHANGE = auto()
    """Something was done, or is being done."""
    PROMISE = auto()
    """Something will be done."""
    TIMER = auto()
    """A timer or a reminder, set or promised."""
    MEMORY = auto()
    """Something was or will be remembered."""
    LIST = auto()
    """Something is on a list or in a calendar."""
    PRESENT = auto()
    """Something is presented, such as music or what was looked up: false only if a call has failed."""
    STATE = auto()
    """Something is in a state, told in answer to a remark or as so before: false only if it is not so."""
    FORECAST = auto()
    """Something will happen, told in answer to a remark: a promise if it is about a device."""


class SentenceKind(Enum):
    """The kind of a user's sentence."""

    ORDER = auto()
    REMARK = auto()
    """Neither a plain order nor a question; it may be either."""
    QUESTION = auto()
    """A question, or a greeting: a state is a fair answer."""
    STORY = auto()
