"""Codes, PINs, passwords and card numbers in sentences."""

import re
from typing import Final, NamedTuple

from ..languages import languages, words
from ..languages.phrases import all_words, any_of
from ..regex import composed, lazy_regex
from ..safety.spoken_numbers import spells_number
from ..texts import fold_letters

_DIGITS: Final = lazy_regex(r"(?<!\w)\d(?:[ .-]?\d){2,}(?!\w)")
_DIGIT: Final = lazy_regex(r"\d")
_LETTER: Final = lazy_regex(r"[^\W\d_]")
_MIXED_CHARS: Final = 5
_QUOTED: Final = lazy_regex(r"[\"'\u2018-\u201f\u00ab\u00bb]\S{3,}[\"'\u2018-\u201f\u00ab\u00bb]")
_CARD: Final = lazy_regex(r"(?<!\d)(?:\d[ -]?){13,19}(?!\d)")
_KEY: Final = lazy_regex(r"(?<!\w)(?:sk|pk|ghp|gho|xox[abp]|eyj|akia|aiza)[-_a-z0-9]{12,}", re.IGNORECASE)
_ACCOUNT: Final = lazy_regex(r"(?<!\w)[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,3})?(?!\w)")


class _SecretWords(NamedTuple):
    """Patterns of words for secrets, for folded text."""

    password: re.Pattern[str]
    """Any word behind it may be the secret."""
    code: re.Pattern[str]
    """A word with digits behind it is the secret."""
    said: re.Pattern[str]
    """What follows an "is" or a colon."""
    before: re.Pattern[str]
    """An "is" that the text ends with, but for some words: 4711 is the code of the alarm."""
    participle: re.Pattern[str]
    """The password is installed."""


@composed
def _secret_words() -> _SecretWords:
    """Return the patterns of all languages; a language without words for codes has those for keys."""
    codes = (
        code
        for language in languages()
        for code in words(language, "secrets.codes") or words(language, "secrets.key_words")
    )
    passwords = (f"*{word}" for word in all_words("secrets.passwords"))
    return _SecretWords(
        password=lazy_regex(any_of(passwords, fold_letters)),
        code=lazy_regex(any_of(codes, fold_letters)),
        said=lazy_regex(rf"(?:{any_of(all_words('secrets.is'), fold_letters)}|[:=])\s*(\S{{4,}})"),
        before=lazy_regex(rf"{any_of(all_words('secrets.is'), fold_letters)}(?:\s\S{{1,20}}){{0,3}}\s*$"),
        participle=lazy_regex(rf"{any_of(all_words('secrets.participles'), fold_letters)}\W*$"),
    )


def holds_secret(text: str) -> bool:
    """Return whether a sentence seems to give away a code, a password, a key or a card or account number."""
    if _KEY.search(text) or any(_is_card(found.group()) for found in _CARD.finditer(text)):
        return True
    folded = fold_letters(text)
    if _ACCOUNT.search(folded):
        return True
    # The text behind the first such word covers the others too.
    known = _secret_words()
    for pattern in (known.password, known.code):
        if (named := pattern.search(folded)) and _tells_code(folded[named.end() :]):
            return True
        if (
            named
            and (said := known.before.search(folded, 0, named.start()))
            and _tells_code(folded[: said.start()])
        ):
            return True
    return _tells_password(folded)


def _tells_code(behind: str) -> bool:
    return bool(
        _DIGITS.search(behind)
        or _QUOTED.search(behind)
        or spells_number(behind)
        or any(
            len(word) >= _MIXED_CHARS and _DIGIT.search(word) and _LETTER.search(word)
            for word in behind.split()
        )
    )


def _tells_password(folded: str) -> bool:
    known = _secret_words()
    said = None
    for named in known.password.finditer(folded):
        if said is None or said.start() < named.end():
            said = known.said.search(folded, named.end())
            if said is None:
                return False
            if not known.participle.match(said.group(1)):
                return True
    return False


def _is_card(digits: str) -> bool:
    numbers = [int(char) for char in digits if char.isdigit()]
    doubled = [sum(divmod(2 * number, 10)) for number in numbers[-2::-2]]
    return (sum(numbers[-1::-2]) + sum(doubled)) % 10 == 0
