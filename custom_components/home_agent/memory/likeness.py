"""Whether two sentences say the same."""

from typing import Final

from ..vector.text import words

NEGATIONS: Final = frozenset(
    (
        *(
            "no",
            "not",
            "never",
            "none",
            "nor",
            "cannot",
            "dont",
            "doesnt",
            "didnt",
            "isnt",
            "arent",
            "without",
        ),
        *("nicht", "kein", "keine", "keinen", "keiner", "nie", "niemals", "ohne"),
        *("niet", "geen", "nooit", "zonder"),
        *("ne", "pas", "jamais", "aucun", "aucune", "sans"),
        *("nunca", "jamas", "ningun", "ninguna", "sin"),
        *("non", "mai", "nessun", "nessuna", "senza"),
        *("nao", "nem", "sem", "inte", "ikke", "ikkje", "aldrig", "aldri", "uden", "utan", "uten"),
        *("nie", "bez", "nikdy", "nigdy", "net", "\u043d\u0435", "\u043d\u0435\u0442", "\u0431\u0435\u0437"),
    )
)
"""Words that turn a sentence into its contrary, folded."""


def likeness(one: str, other: str) -> float:
    """Return how much of the words of two sentences is shared, from 0 to 1.

    Sentences with other numbers, or of which one denies what the other says, share nothing: they are not
    the same thing said twice, whatever else is alike.
    """
    mine, theirs = set(words(one)), set(words(other))
    if not mine or not theirs or differ(one, other):
        return 0.0
    return 2 * len(mine & theirs) / (len(mine) + len(theirs))


def differ(one: str, other: str) -> bool:
    """Return whether two sentences cannot mean the same: other numbers, or one denies."""
    mine, theirs = set(words(one)), set(words(other))
    numbers = {word for word in mine ^ theirs if any(char.isdigit() for char in word)}
    return bool(numbers) or bool(mine & NEGATIONS) != bool(theirs & NEGATIONS)
