"""What people call everything, and kinds of things, by language and in all languages together; folded."""

from collections.abc import Mapping
from functools import cache

from ..languages import DEFAULT, find, languages, languages_with, table, words
from ..texts import fold


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


@cache
def _own_words(language: str) -> frozenset[str]:
    """Return the words for "all" of one language."""
    return frozenset(map(fold, words(language, "quantities.all")))


@cache
def all_words(language: str) -> frozenset[str]:
    """Return the words for "all" that count in a language, or in any if it is not known."""
    own = find(language)
    if own is not None and own in languages_with("quantities.all"):
        return _own_words(own) | _own_words(DEFAULT)
    return frozenset().union(*map(_own_words, languages()))


@cache
def everything_words() -> frozenset[str]:
    """Return the words for things of any kind, in all languages."""
    return frozenset(fold(word) for each in languages() for word in words(each, "quantities.everything"))


@cache
def stop_words() -> frozenset[str]:
    """Return articles and the like, in all languages: they name nothing."""
    return frozenset(fold(word) for each in languages() for word in words(each, "names.articles"))


@cache
def _idioms() -> tuple[str, ...]:
    """Return the phrases in which a word for "all" does not request anything, in all languages."""
    return tuple(fold(phrase) for each in languages() for phrase in words(each, "quantities.idioms"))


@cache
def domain_words() -> Mapping[str, str]:
    """Return the words for kinds of things in all languages, each with the domain that is meant."""
    return {
        fold(word): domain
        for language in languages()
        for domain, said in (table(language, "names.domains") or {}).items()
        for word in said
    }


def asks_for_all(folded: str, language: str) -> bool:
    """Return whether a sentence, folded to words with one space between, asks for everything of a kind."""
    text = f" {folded} "
    for idiom in _idioms():
        text = text.replace(f" {idiom} ", " ")
    wanted = all_words(language)
    return not wanted.isdisjoint(text.split()) or any(word in text for word in wanted if is_unspaced(word))


def is_unspaced(word: str) -> bool:
    """Return whether a word is of a script that puts no spaces between words."""
    return any("\u3040" <= char <= "\u30ff" or "\u4e00" <= char <= "\u9fff" for char in word)
