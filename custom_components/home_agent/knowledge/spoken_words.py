"""What people call everything, kinds of things and colours, by language or in all languages; folded."""

from collections.abc import Mapping, Sequence
from functools import cache

from ..languages import DEFAULT, find, languages, languages_with, table, words
from ..languages.phrases import all_words as all_entries
from ..texts import fold, is_unspaced


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
def _in_all_languages(name: str) -> frozenset[str]:
    """Return the words and phrases of a table in all languages."""
    return frozenset(map(fold, all_entries(name)))


@cache
def _meanings(name: str) -> Mapping[str, str]:
    """Return the words of a table in all languages, each with its meaning."""
    return {
        fold(word): meant
        for each in languages()
        for meant, said in (table(each, name) or {}).items()
        for word in said
    }


def everything_words() -> frozenset[str]:
    """Return the words for things of any kind, in all languages."""
    return _in_all_languages("quantities.everything")


def stop_words() -> frozenset[str]:
    """Return articles and similar words in all languages, which name nothing."""
    return _in_all_languages("names.articles")


@cache
def domain_words() -> Mapping[str, str]:
    """Return the words for kinds of things in all languages, each with its domain.

    A word that is an article in some language means nothing: "las" are Spanish articles before Swedish locks.
    """
    return {word: kind for word, kind in _meanings("names.domains").items() if word not in stop_words()}


def colors() -> Mapping[str, str]:
    """Return the names of colours in other languages, each with the English one."""
    return _meanings("names.colors")


@cache
def whites() -> Mapping[str, int]:
    """Return the words for a white, each with its temperature in kelvin."""
    return {word: int(kelvin) for word, kelvin in _meanings("names.whites").items()}


@cache
def _idioms() -> Sequence[str]:
    """Return the phrases in which a word for "all" does not request anything, the longest first."""
    return sorted(_in_all_languages("quantities.idioms"), key=lambda idiom: (-len(idiom), idiom))


def asks_for_all(folded: str, language: str) -> bool:
    """Return whether a sentence, folded to words with one space between, asks for everything of a kind."""
    text = f" {folded} "
    for idiom in _idioms():
        text = text.replace(f" {idiom} ", " ")
    if not all_words(language).isdisjoint(text.split()):
        return True
    return any(word in text for word in _unspaced_all_words(language))


@cache
def _unspaced_all_words(language: str) -> tuple[str, ...]:
    """Return those words for "all" that need no space around them."""
    return tuple(filter(is_unspaced, all_words(language)))
