"""Codes, PINs, passwords and card numbers, as they stand in sentences."""

import re
from typing import Final

from ..regex import lazy
from ..vector.text import fold

PASSWORD_WORDS: Final = (
    "password",
    "passphrase",
    "passwort",
    "kennwort",
    "wachtwoord",
    "mot de passe",
    "mdp",
    "contrasena",
    "senha",
    "palavra-passe",
    "parola d.ordine",
    "haslo",
    "losenord",
    "adgangskode",
    "passord",
    "salasana",
    "parol",
    "heslo",
)
"""Behind these any word may be the secret."""
CODE_WORDS: Final = (
    *(r"\w*code", r"\w*pin", r"\w*kod", "passcode", "codigo", "clave", "codice", "kode"),
    *("secret", "geheimnis", "geheimzahl", "token", "api[ -]?key", r"\w*schlussel"),
    *("cvv", "cvc", "tan", "puk"),
)
"""Behind these something with digits is."""

_PASSWORD: Final = lazy(rf"(?<!\w)\w*(?:{'|'.join(PASSWORD_WORDS)})(?!\w)")
_CODE: Final = lazy(rf"(?<!\w)(?:{'|'.join(CODE_WORDS)})(?!\w)")
_DIGITS: Final = lazy(r"(?<!\w)\d(?:[ .-]?\d){2,}(?!\w)")
_DIGIT: Final = lazy(r"\d")
_LETTER: Final = lazy(r"[^\W\d_]")
_MIXED_CHARS: Final = 5
_SAID: Final = lazy(r"(?:\b(?:is|ist|lautet|heisst|est|es|e|to|ar|er|jest|on|je)\b|[:=])\s*(\S{4,})")
_PARTICIPLE: Final = lazy(r"\w+(?:ed|t|e|ado|ada|ato|ata)\W*$")
_QUOTED: Final = lazy(r"[\"'\u2018-\u201f\u00ab\u00bb]\S{3,}[\"'\u2018-\u201f\u00ab\u00bb]")
_CARD: Final = lazy(r"(?<!\d)(?:\d[ -]?){13,19}(?!\d)")
_KEY: Final = lazy(r"(?<!\w)(?:sk|pk|ghp|gho|xox[abp]|eyj|akia|aiza)[-_a-z0-9]{12,}", re.IGNORECASE)
_ACCOUNT: Final = lazy(r"(?<!\w)[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,3})?(?!\w)")


def holds_secret(text: str) -> bool:
    """Return whether a sentence seems to give away a code, a password, a key or a card or account number."""
    if _KEY.search(text) or any(_is_card(found.group()) for found in _CARD.finditer(text)):
        return True
    folded = fold(text)
    if _ACCOUNT.search(folded):
        return True
    # What stands behind the first such word stands there for the others too.
    for words in (_PASSWORD, _CODE):
        if (named := words.search(folded)) and _tells_code(folded[named.end() :]):
            return True
    return _tells_password(folded)


def _tells_code(behind: str) -> bool:
    """Return whether a text contains three digits, digits mixed with letters, or quoted text."""
    return bool(
        _DIGITS.search(behind)
        or _QUOTED.search(behind)
        or any(
            len(word) >= _MIXED_CHARS and _DIGIT.search(word) and _LETTER.search(word)
            for word in behind.split()
        )
    )


def _tells_password(folded: str) -> bool:
    """Return whether a word for a password is followed by its value."""
    said = None
    for named in _PASSWORD.finditer(folded):
        if said is None or said.start() < named.end():
            said = _SAID.search(folded, named.end())
            if said is None:
                return False
            if not _PARTICIPLE.match(said.group(1)):
                return True
    return False


def _is_card(digits: str) -> bool:
    """Return whether a run of digits passes the check of card numbers (Luhn)."""
    numbers = [int(char) for char in digits if char.isdigit()]
    doubled = [sum(divmod(2 * number, 10)) for number in numbers[-2::-2]]
    return (sum(numbers[-1::-2]) + sum(doubled)) % 10 == 0
