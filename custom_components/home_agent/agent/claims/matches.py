"""The words of a language's tables in a clause of an answer."""

from collections.abc import Iterable, Mapping, Sequence

from ...languages.lexicon import Match


class ClauseMatches:
    """The words of a language's tables in a clause, up to its first honest word."""

    def __init__(self, matches: Mapping[str, Mapping[int, Match]], end: int) -> None:
        """Keep what is found in so many words."""
        self._matches = matches
        self.end = end
        self.start = skip(matches["fillers"], 0)

    def starts(self, name: str, latest: int) -> list[int]:
        """Return behind which word each entry of a table ends that begins early enough."""
        return [index + match.words for index, match in self._matches[name].items() if index <= latest]

    def has(self, name: str) -> bool:
        """Return whether there is an entry of a table."""
        return bool(self._matches[name])

    def follows(
        self,
        ends: Iterable[int],
        names: Sequence[str],
        within: int,
        *,
        last: int | None = None,
        without: str | None = None,
    ) -> bool:
        """Return whether an entry of some tables follows one of these places."""
        end = self.end if last is None else last
        others = self._matches[without] if without else {}
        places = [
            index for name in names for index in self._matches[name] if index < end and index not in others
        ]
        return any(0 <= place - start <= within for start in ends for place in places)

    def is_whole(self, name: str) -> bool:
        """Return whether the clause is one entry of a table, fillers aside."""
        found = self._matches[name].get(self.start, Match())
        return found.words > 0 and skip(self._matches["fillers"], self.start + found.words) == self.end

    def ends_with(self, name: str) -> bool:
        """Return whether an entry of a table is at the end."""
        return any(index + match.words == self.end for index, match in self._matches[name].items())


def skip(matches: Mapping[int, Match], start: int) -> int:
    """Return the first place from a start on where no entry begins."""
    while start in matches:
        start += matches[start].words
    return start
