"""Analysis of sentences: requests to remember, their subject, and the similarity of two sentences."""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from itertools import islice
import re
from typing import Final

from ..languages import languages, words as table_words
from ..languages.lexicon import all_words, any_of
from ..regex import composed, lazy_regex
from ..safety.spoken_numbers import spells_number
from ..texts import fold_letters, words
from ..vector.lexical import rarity

_DIGITS: Final = lazy_regex(r"(?<!\w)\d(?:[ .-]?\d){2,}(?!\w)")
_DIGIT: Final = lazy_regex(r"\d")
_LETTER: Final = lazy_regex(r"[^\W\d_]")
_MIXED_CHARS: Final = 5
_QUOTED: Final = lazy_regex(r"[\"'\u2018-\u201f\u00ab\u00bb]\S{3,}[\"'\u2018-\u201f\u00ab\u00bb]")
_CARD: Final = lazy_regex(r"(?<!\d)(?:\d[ -]?){13,19}(?!\d)")
_KEY: Final = lazy_regex(r"(?<!\w)(?:sk|pk|ghp|gho|xox[abp]|eyj|akia|aiza)[-_a-z0-9]{12,}", re.IGNORECASE)
_ACCOUNT: Final = lazy_regex(r"(?<!\w)[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,3})?(?!\w)")


@composed
def _secret_words() -> Mapping[str, re.Pattern[str]]:
    """Return patterns of all languages for folded text; one without words for codes has those for keys."""
    codes = (
        code
        for language in languages()
        for code in table_words(language, "secrets.codes") or table_words(language, "secrets.key_words")
    )
    passwords = (f"*{word}" for word in all_words("secrets.passwords"))
    is_ = any_of(all_words("secrets.is"), fold_letters)
    participles = any_of(all_words("secrets.participles"), fold_letters)
    patterns = {
        "password": any_of(passwords, fold_letters),  # any word behind it may be the secret
        "code": any_of(codes, fold_letters),  # a word with digits behind it is the secret
        "said": rf"(?:{is_}|[:=])\s*(\S{{4,}})",
        "before": rf"{is_}(?:\s\S{{1,20}}){{0,3}}\s*$",  # 4711 is the code of the alarm
        "participle": rf"{participles}\W*$",  # the password is installed
    }
    return {name: lazy_regex(pattern) for name, pattern in patterns.items()}


def holds_secret(text: str) -> bool:
    """Return whether a sentence seems to give away a code, a password, a key or a card or account number."""
    if _KEY.search(text):
        return True
    for card in _CARD.finditer(text):
        numbers = [int(char) for char in card.group() if char.isdigit()]
        doubled = [sum(divmod(2 * number, 10)) for number in numbers[-2::-2]]
        if (sum(numbers[-1::-2]) + sum(doubled)) % 10 == 0:
            return True
    folded = fold_letters(text)
    if _ACCOUNT.search(folded):
        return True
    # The text behind the first such word covers the others too.
    known = _secret_words()
    for pattern in (known["password"], known["code"]):
        if (named := pattern.search(folded)) and _tells_code(folded[named.end() :]):
            return True
        if (
            named
            and (said := known["before"].search(folded, 0, named.start()))
            and _tells_code(folded[: said.start()])
        ):
            return True
    said = None
    for named in known["password"].finditer(folded):
        if said is None or said.start() < named.end():
            said = known["said"].search(folded, named.end())
            if said is None:
                return False
            if not known["participle"].match(said.group(1)):
                return True
    return False


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


STEM: Final = 5
"""Letters by which inflections of a word are taken for it."""
FEW: Final = 20
"""Sentences assumed at least: among fewer ones, words that none of them has would outweigh the others."""
STEM_SHARE: Final = 0.6
"""The weight of an inflection, relative to the word itself."""


class WordIndex:
    """Sentences by key. Short texts in any language, looked through one by one."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        """The words of each, and their stems."""

    def add(self, key: str, text: str) -> None:
        """Add a sentence, or replace the one of this key."""
        own = frozenset(words(text))
        self._texts[key] = own, frozenset(word[:STEM] for word in own)

    def remove(self, key: str) -> None:
        """Remove a sentence; a missing one is not an error."""
        self._texts.pop(key, None)

    def search(self, query: str, limit: int, allows: Callable[[str], bool]) -> list[tuple[str, float]]:
        """Return keys with the share of the query that they cover, from 0 to 1, best first.

        Rare words weigh more than common ones. `allows` says which keys may be among the answers.
        """
        scores: dict[str, float] = {}
        whole = 0.0
        asked = dict.fromkeys(words(query))
        begins = {word[:STEM] for word in asked}
        near = [(key, *kept) for key, kept in self._texts.items() if not begins.isdisjoint(kept[1])]
        for word in asked:
            stem = word[:STEM]
            hits = [(key, word in own) for key, own, stems in near if stem in stems]
            if len(word) < STEM:
                hits = [hit for hit in hits if hit[1]]
            weight = rarity(max(len(self._texts), FEW), len(hits))
            whole += weight
            for key, is_exact in hits:
                scores[key] = scores.get(key, 0.0) + (weight if is_exact else weight * STEM_SHARE)
        ranked = sorted(sorted(scores), key=scores.__getitem__, reverse=True)
        return list(islice(((key, scores[key] / whole) for key in ranked if allows(key)), limit))

    def alike(self, text: str, least: float) -> list[tuple[str, float]]:
        """Return the sentences that share at least such a part of their words with a text, the best first.

        The part is twice the shared words by all words of both.
        """
        asked = frozenset(words(text))
        found = []
        for key, (own, _stems) in self._texts.items():
            if (both := len(asked & own)) and (share := 2 * both / (len(asked) + len(own))) >= least:
                found.append((key, share))
        return sorted(found, key=lambda item: (-item[1], item[0]))


NAME_WITHIN: Final = 3
"""Words behind "call me" among which the name is looked for."""
TELLING: Final = 4
"""Letters from which a word is significant on its own."""
TELLER: Final = frozenset(
    {"user", "speaker", "household", "person", "likes", "wants", "their", "they", "that"}
)
"""Words by which a model puts "I" and "my" into a sentence about a person."""

_WORD: Final = lazy_regex(r"[^\W\d_][\w'\u2019-]*")


@composed
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Return patterns of the words of all languages, for folded text, by their table."""
    tables = ("additions", "called", "corrections", "group", "recall", "remember", "self")
    entries = {name: all_words(f"memory.{name}") for name in tables}
    entries["change"] = all_words("firewall.keep")
    entries["corrections"] = (*entries["corrections"], *all_words("memory.negations"))
    return {name: lazy_regex(any_of(each, fold_letters)) for name, each in entries.items()}


@cache
def negations() -> frozenset[str]:
    """Return the words that turn a sentence into its contrary, folded."""
    return frozenset(map(fold_letters, all_words("memory.negations")))


def asks_to_remember(sentence: str) -> bool:
    """Return whether a sentence asks to remember something, rather than for a memory."""
    folded = fold_letters(sentence)
    return not _patterns()["recall"].search(folded) and bool(_patterns()["remember"].search(folded))


def asks_to_change(sentence: str, text: str, name: str) -> bool:
    """Return whether a sentence asks to remember, change or forget something, and what `text` says.

    Nothing that somebody else wrote can be the reason. `name` is the speaker's.
    """
    asked = asks_to_remember(sentence) or _patterns()["change"].search(fold_letters(sentence))
    return bool(asked) and is_own_words(text, sentence, name)


def is_households(content: str, said: str, name: str) -> bool:
    """Return whether a candidate that a model assigns to the household can belong to it.

    A person who says "I" and not "we", or whose name is in the content, speaks of themselves.
    """
    folded = fold_letters(said)
    if _patterns()["group"].search(folded):
        return True
    return not _patterns()["self"].search(folded) and set(words(name)).isdisjoint(words(content))


def name_told(content: str, said: str, known: str, ordinary: Collection[str]) -> str | None:
    """Return the name by which a person has just asked to be called; None if the sentence says none.

    The name stands behind "call me" or "my name is" in the sentence, and in what a model wrote of it.
    It is no `ordinary` word ("call me when ...") and not the `known` name, and nothing is denied.
    """
    folded = fold_letters(said)
    if (
        not negations().isdisjoint((*words(said), *words(content)))
        or (asked := _patterns()["called"].search(folded)) is None
    ):
        return None
    written = {fold_letters(word): word for word in _WORD.findall(content)}
    behind = words(folded[asked.end() :])[:NAME_WITHIN]
    strange = [word for word in behind if word not in ordinary and word not in words(known)]
    return next((written[word] for word in strange if word in written), None)


def differ(one: str, other: str) -> bool:
    """Return whether two sentences are not the same said twice: they have other numbers, or one denies."""
    mine, theirs = set(words(one)), set(words(other))
    numbers = {word for word in mine ^ theirs if any(char.isdigit() for char in word)}
    return bool(numbers) or mine.isdisjoint(negations()) != theirs.isdisjoint(negations())


def is_grounded(content: str, said: str, name: str) -> bool:
    """Return whether a candidate shares a significant word with the person's sentence.

    The speaker's name does not count, since the model knows it.
    """
    own = set(words(name))
    heard = {word[:STEM] for word in words(said) if is_telling(word)} - {word[:STEM] for word in own}
    return any(word[:STEM] in heard for word in words(content) if is_telling(word))


def is_own_words(content: str, said: str, name: str) -> bool:
    """Return whether a candidate contains only what the person said.

    Every significant word and number is in the sentence, or is the speaker's name, and neither of both
    denies what the other says.
    """
    heard = {word[:STEM] for word in (*words(said), *words(name))}
    telling = [word for word in words(content) if is_telling(word)] or words(content)
    denied = negations().isdisjoint(words(content)) != negations().isdisjoint(words(said))
    if not telling or denied:
        return False
    return all(word[:STEM] in heard or word in TELLER for word in telling)


def is_telling(word: str) -> bool:
    """Return whether a word is significant on its own: long, a number, or of a script without spaces."""
    return len(word) >= TELLING or not word.isascii() or any(char.isdigit() for char in word)


ALIKE: Final = 0.5
"""Part of the words of both that a memory shares with the one that takes its place."""


def corrects(said: str) -> bool:
    """Return whether a sentence takes something back, rather than only adding to it."""
    folded = fold_letters(said)
    return not _patterns()["additions"].search(folded) and bool(_patterns()["corrections"].search(folded))


def takes_back(known: str, new: str, said: str, name: str) -> bool:
    """Return whether a sentence takes back what a memory says, and a new one says what is right.

    All that the new one no longer says is in the sentence, where it is denied, and all that it says newly
    is there too; so a model can neither drop nor invent a part. `name` is the speaker's.
    """
    old, other, heard = _telling(known), _telling(new), _stems(said)
    changed = old != other or words(known) != words(new)
    return changed and old - other <= heard and other <= heard | _stems(name) | old


def _telling(text: str) -> set[str]:
    """Return the significant words of a text, names among them, without those that only deny."""
    named = {stem for part in text.split() if part[:1].isupper() for stem in _stems(part)}
    return {word[:STEM] for word in words(text) if is_telling(word) and word not in negations()} | named


def _stems(text: str) -> set[str]:
    return {word[:STEM] for word in words(text)}
