"""Whether somebody asks to remember something, in the languages that are spoken."""

from typing import Final

from ..regex import lazy
from ..vector.text import fold

ASKING: Final = (
    *("remember", "memori[sz]e", "keep in mind", "don.?t forget", "make a note", "note (?:that|down)"),
    *(
        "merk dir",
        "merke dir",
        "merken sie sich",
        "behalte",
        "vergiss nicht",
        "notier",
        "denk da?ran",
    ),
    *("onthoud", "vergeet niet", "noteer"),
    *("souviens[- ]toi", "rappelle[- ]toi", "retiens", "retenez", "n.oublie pas", "note que"),
    *("recuerda", "acuerdate", "no olvides", "anota"),
    *("ricorda", "ricordati", "non dimenticare", "annota"),
    *("lembra", "lembre", "nao (?:te )?esquec"),
    *("zapamietaj", "nie zapomnij", "zapamatuj", "nezapomen"),
    *("kom ihag", "glom inte", "husk", "glem ikke", "muista"),
    *("\u0437\u0430\u043f\u043e\u043c\u043d\u0438", "\u043d\u0435 \u0437\u0430\u0431\u0443\u0434\u044c"),
)
_ASKING: Final = lazy(rf"(?<!\w)(?:{'|'.join(ASKING)})")
_UNSPACED: Final = lazy("\u899a\u3048\u3066|\u8a18\u4f4f|\u8bb0\u4f4f|\uae30\uc5b5\ud574")
_QUESTION: Final = lazy(r"(?:do|did|can|could) you (?:still )?remember|what do you remember")


def asks_to_remember(sentence: str) -> bool:
    """Return whether a sentence asks to remember something, rather than what is remembered."""
    folded = fold(sentence)
    if _QUESTION.search(folded):
        return False
    return bool(_ASKING.search(folded) or _UNSPACED.search(sentence))
