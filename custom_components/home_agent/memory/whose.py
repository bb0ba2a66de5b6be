"""Whose something is that was said: models often take one person's matter for the household's."""

from collections.abc import Mapping
from typing import Final

from ..vector.text import words

_ONE: Final[Mapping[str, str]] = {
    "en": "i me my mine myself",
    "de": "ich mich mir mein meine meinem meinen meiner",
    "nl": "ik mij mijn",
    "fr": "je moi mon ma",
    "es": "yo me mi mis",
    "it": "io mi mio mia miei mie",
    "pt": "eu meu minha",
    "pl": "mnie moj moja moje",
    "cs": "muj moje mne",
    "sv": "jag mig min mitt mina",
    "da": "jeg mig min mit mine",
    "ru": "я меня мне мой моя мое",
}
"""Words by which somebody speaks of themselves, by language."""
_ALL: Final[Mapping[str, str]] = {
    "en": "we us our ours everybody everyone family household",
    "de": "wir uns unser unsere unserem unseren alle allen familie haushalt",
    "nl": "wij we ons onze iedereen allemaal huishouden gezin",
    "fr": "nous notre tous famille foyer",
    "es": "nosotros nuestro nuestra todos familia hogar",
    "it": "noi nostro nostra tutti famiglia",
    "pt": "nosso nossa todos familia",
    "pl": "nam nasz nasza wszyscy rodzina",
    "cs": "nam nase vsichni rodina",
    "sv": "vi oss familj familjen hushallet",
    "da": "vi vores alle familien husstanden",
    "ru": "мы нас нам наш наша все семья",
}
"""Words by which somebody speaks for several."""
_ONE_UNSPACED: Final = ("私", "僕", "我", "나는", "내가", "저는")
_ALL_UNSPACED: Final = ("私たち", "みんな", "家族", "我们", "大家", "家人", "우리", "가족")

ONE: Final = frozenset(word for listed in _ONE.values() for word in listed.split())
ALL: Final = frozenset(word for listed in _ALL.values() for word in listed.split())


def is_households(content: str, said: str, name: str) -> bool:
    """Return whether what a model takes for the household's can be.

    Somebody who says "I" and not "we", or whose name stands in it, speaks of themselves.
    """
    heard = set(words(said))
    if not heard.isdisjoint(ALL) or any(word in said for word in _ALL_UNSPACED):
        return True
    if not heard.isdisjoint(ONE) or any(word in said for word in _ONE_UNSPACED):
        return False
    return set(words(name)).isdisjoint(words(content))
