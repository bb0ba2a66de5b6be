"""How people say that something has been done: the form in which a language is written down.

A pattern is a row of elements: `word`, `one|other`, `<set>` for a set of words, `stem~` for all words that
begin so, `*5` for up to five words that are none of `nots`, `%` for one such word, a trailing `?` for what
may be missing, `$` for the end of a clause, `.` for the end of a sentence. A pattern that begins with `^`
fits only at the beginning of a sentence. All words are folded: small letters, no accents.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Tongue:
    """What one language says."""

    sets: Mapping[str, str] = field(default_factory=dict)
    agent: tuple[str, ...]
    """The speaker says what the speaker did: a claim whatever was asked."""
    result: tuple[str, ...]
    """A thing is said to be as it was ordered: a claim only where no question was asked.

    One that ends with `.` says no more than how things are: it takes a plain order to make it a claim.
    """
    nots: str
    """Words that make it something else: negations, "already", conditions, questions, other verbs."""
    past: str = ""
    """Words that put it into an earlier time."""
    fillers: str = ""
    """What may stand before."""
    joins: str = ""
    """Words that begin a new clause."""
    asks: str = ""
    """First words of a question."""
    orders: str = ""
    """Beginnings of a question that is an order, and words that make it one."""
    verbs: str = ""
    """Words that make an order of a sentence; `stem~` begins a word, `~part` stands in one."""
    last: str = ""
    """Last words of an order without a verb."""
    wonders: str = ""
    """Words that make an order one to find something out."""
    tells: str = ""
    """Beginnings of a wish to be told something: stories are no claims."""
