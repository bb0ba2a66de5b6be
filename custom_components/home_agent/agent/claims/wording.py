"""Finds words of a clause that claim an action, and classifies the sentence of the user before them."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

from ...languages import DEFAULT, find, table, words
from ...languages.later import LaterKind, read_later
from ...languages.lexicon import Clause, Lexicon, Match, Word, clauses
from ...tools.control.questions import ClauseKind, clause_kind
from .kinds import ClaimKind, SentenceKind
from .matches import ClauseMatches, skip
from .reports import kind_beside

OWN_TABLES: Final = (
    "i_have",
    "subjects",
    "did",
    "i_am",
    "doing",
    "i_did",
    "been",
    "is",
    "now",
    "done",
    "will",
    "will_be",
    "promises",
    "remind_verbs",
    "reminds",
    "remember_verbs",
    "remembers",
    "remembered",
    "timers",
    "lists",
    "on_lists",
    "offers",
    "choices",
    "fails",
    "honest",
    "past",
    "fillers",
    "orders",
    "asks",
    "tells",
    "writes",
    "greetings",
    "states",
    "going",
    "already",
    "enjoys",
    "presents",
    "passives",
)
SHARED_TABLES: Final = {
    "states": ("questions.states", "directions.opening", "directions.closing"),
    "commands": ("questions.commands",),
    "switching": ("questions.switching",),
    "unrelated": ("questions.unrelated",),
    "excepting": ("quantities.excepting",),
    "devices": tuple(
        f"names.domains.{kind}" for kind in ("light", "switch", "fan", "climate", "media_player")
    ),
    "fillers": ("answers.yes", "answers.go_ahead"),
}
OWN_ACTIONS: Final = ("i_have", "subjects", "i_am", "i_did", "will", "reminds")
"""Tables of beginnings of clauses in which the assistant describes or promises its own actions."""
PHRASES: Final = (
    *("i_have", "i_did", "been", "done", "will", "will_be", "promises", "fillers"),
    *("reminds", "remind_verbs", "remembers", "remember_verbs", "remembered", "on_lists", "going", "enjoys"),
)
"""Tables whose phrases may contain a word that is honest on its own, such as "will" in "I will"."""
MAX_BEFORE: Final = 6
"""Words that may precede a claim in its clause, as the name of a thing does."""
MAX_WORDS: Final = 16
"""A longer clause is not a claim."""
MAX_READ: Final = 500
"""Characters at the beginning and at the end of a user's sentence that decide its kind."""
HAVE_TO_DID: Final = 9
AM_TO_DOING: Final = 2
IS_TO_STATE: Final = 5
IS_TO_DOING: Final = 1
MAX_BEFORE_DEVICE: Final = 3
"""Words that may precede the device in a clause without a verb, such as "kitchen" in "Kitchen light on"."""
BEEN_TO_DID: Final = 6
WILL_TO_DO: Final = 8


class SpacedReader:
    """Reads clauses in a language that puts spaces between words.

    Of a language without claims of its own, only the words for states and for no are known. Then an answer
    to an order that tells a state counts as a claim.
    """

    def __init__(self, language: str) -> None:
        """Take the tables of a language."""
        tables = {name: words(language, f"claims.{name}") for name in OWN_TABLES}
        if table(language, "claims") is None:
            tables["is"] = words(language, "questions.copulas")
            tables["honest"] = words(language, "answers.no")
        for name, sources in SHARED_TABLES.items():
            shared = (entry for source in sources for entry in words(language, source))
            tables[name] = tuple(dict.fromkeys((*tables.get(name, ()), *shared)))
        self._lexicon = Lexicon(tables)
        self.joins = frozenset(words(language, "questions.joins"))
        self._beginnings = {
            entry.replace("'", " ").split()[0] for name in OWN_ACTIONS for entry in tables[name]
        }

    def may_begin(self, beginning: str) -> bool:
        """Return whether words with this beginning may describe the assistant's own actions."""
        return any(entry.startswith(beginning) for entry in (*self._beginnings, *self.joins))

    def begins(self, said: Sequence[Word]) -> bool:
        """Return whether a clause begins, or may yet begin, by describing the assistant's own actions."""
        start = skip(self._lexicon.matches("fillers", said), 0)
        while start < len(said) and said[start].plain in self.joins:
            start += 1
        return start == len(said) or said[start].plain in self._beginnings

    def count_until_honest(self, said: Sequence[Word], *, but_already: bool = False) -> int:
        """Return how many words precede the first that makes a clause no claim.

        `but_already` reads on behind words such as "already".
        """
        honest = self._lexicon.matches("honest", said)
        if but_already:
            already = self._lexicon.matches("already", said)
            honest = {index: match for index, match in honest.items() if index not in already}
        if not honest:
            return len(said)
        covered = {
            place: match
            for name in PHRASES
            for index, match in self._lexicon.matches(name, said).items()
            if match.words > 1
            for place in range(index, index + match.words)
        }
        counted = (index for index, match in honest.items() if match > covered.get(index, Match()))
        return min(counted, default=len(said))

    def is_filler(self, said: Sequence[Word]) -> bool:
        """Return whether a clause has only words such as "sure"."""
        return skip(self._lexicon.matches("fillers", said), 0) == len(said)

    def is_earlier(self, said: Sequence[Word], *, but_already: bool = False) -> bool:
        """Return whether words refer to an earlier time; `but_already` overlooks words such as "already"."""
        lists = self._lexicon.matches("on_lists", said)  # "ya no está en la lista" is of now
        now = {place for index, match in lists.items() for place in range(index, index + match.words)}
        past = self._lexicon.matches("past", said).keys() - now
        return bool(past - self._lexicon.matches("already", said).keys() if but_already else past)

    def is_open_question(self, said: Sequence[Word]) -> bool:
        """Return whether a question asks what or how, so that no action of its own can be meant."""
        return bool(self._lexicon.matches("asks", said) or self._lexicon.matches("tells", said))

    def greets(self, said: Sequence[Word]) -> bool:
        """Return whether words begin with a greeting."""
        return 0 in self._lexicon.matches("greetings", said)

    def tells_state(self, said: Sequence[Word]) -> bool:
        """Return whether words say that something is in a state or at work."""
        return self._is_state(ClauseMatches(self._lexicon.all_matches(said), len(said)))

    def excepts(self, said: Sequence[Word]) -> bool:
        """Return whether words except something from what is said of all."""
        return bool(self._lexicon.matches("excepting", said))

    def is_going(self, said: Sequence[Word]) -> bool:
        """Return whether words say that something is at work."""
        return bool(self._lexicon.matches("going", said))

    def is_offer(self, said: Sequence[Word]) -> bool:
        """Return whether a question asks for permission to do what was asked for, and leaves no choice."""
        offers = self._lexicon.matches("offers", said)
        start = skip(self._lexicon.matches("fillers", said), 0)
        return start in offers and not self._lexicon.matches("choices", said)

    def tells_failure(self, said: Sequence[Word]) -> bool:
        """Return whether words say that something did not work, or did so only in part."""
        return bool(self._lexicon.matches("fails", said))

    def claim(
        self, said: Sequence[Word], kind: SentenceKind, *, begins_sentence: bool, is_whole: bool
    ) -> ClaimKind | None:
        """Return what words claim, without honest words among them.

        `is_whole` is for a clause that has no honest word.
        """
        found = ClauseMatches(self._lexicon.all_matches(said), len(said))
        is_asked = kind is SentenceKind.QUESTION
        if self._is_reminder(found, found.start + 2 if is_asked else found.end):
            return ClaimKind.TIMER
        if not is_asked and (kept := self._kept(found, kind, is_whole=is_whole)):
            return kept
        is_done = is_whole and (found.is_whole("done") or found.is_whole("promises"))
        if self._is_own_action(found, kind) or (
            not is_asked
            and (is_done or self._is_change(found, begins_sentence=begins_sentence, is_whole=is_whole))
        ):
            return self._deed(found, ClaimKind.CHANGE)
        if not is_asked and self._is_result(found, begins_sentence=begins_sentence, is_whole=is_whole):
            return self._deed(found)
        if kind is SentenceKind.ORDER:
            return self._in_answer_to_order(found, is_whole=is_whole)
        return self._ahead_or_so(found, is_asked=is_asked)

    def _ahead_or_so(self, found: ClauseMatches, *, is_asked: bool) -> ClaimKind | None:
        """Return what words promise or tell that answer no order."""
        latest = found.start + (0 if is_asked else MAX_BEFORE)
        if found.follows(found.starts("will", latest), ("commands", "orders"), WILL_TO_DO):
            return ClaimKind.PROMISE
        if is_asked:
            return None
        if self._is_state(found):
            return ClaimKind.STATE
        return ClaimKind.FORECAST if self._is_promise(found) else None

    def _in_answer_to_order(self, found: ClauseMatches, *, is_whole: bool) -> ClaimKind | None:
        """Return what words claim that are no claim in answer to anything but an order."""
        if self._is_promise(found):
            return ClaimKind.PROMISE
        if found.starts("presents", found.start):
            return ClaimKind.PRESENT
        is_enjoyed = bool(found.starts("enjoys", found.start))
        if (
            is_enjoyed
            or found.has("going")
            or found.has("passives")
            or self._is_answer_to_order(found, is_whole=is_whole)
        ):
            return self._deed(found)
        return None

    @staticmethod
    def _is_reminder(found: ClauseMatches, latest: int) -> bool:
        """Return whether the assistant says that it will remind or tell the person."""
        wills = found.starts("will", min(latest, MAX_BEFORE))
        return bool(found.starts("reminds", latest)) or found.follows(wills, ("remind_verbs",), WILL_TO_DO)

    @staticmethod
    def _is_state(found: ClauseMatches) -> bool:
        """Return whether something is said to be in a state, or at work."""
        tables = ("did", "doing", "states", "switching")
        return found.has("going") or found.follows(found.starts("is", MAX_BEFORE), tables, IS_TO_STATE)

    @staticmethod
    def _deed(found: ClauseMatches, otherwise: ClaimKind = ClaimKind.DEED) -> ClaimKind:
        """Return the targets of an action."""
        return ClaimKind.TIMER if found.has("timers") else ClaimKind.LIST if found.has("lists") else otherwise

    @staticmethod
    def _kept(found: ClauseMatches, kind: SentenceKind, *, is_whole: bool) -> ClaimKind | None:
        """Return what is said to be kept or set for the person: a reminder, a memory, an entry of a list."""
        wills = found.starts("will", MAX_BEFORE)
        if (
            found.has("remembers")
            or found.follows(wills, ("remember_verbs",), WILL_TO_DO)
            or (is_whole and found.is_whole("remembered"))
        ):
            return ClaimKind.MEMORY
        if kind is not SentenceKind.ORDER:
            return None
        tells = any(map(found.has, ("is", "did", "doing", "been", "now", "i_did", "switching")))
        if found.has("timers") and (tells or found.has("states")):
            return ClaimKind.TIMER
        if found.has("on_lists") or (found.has("lists") and tells):
            return ClaimKind.LIST
        return None

    @staticmethod
    def _is_promise(found: ClauseMatches) -> bool:
        """Return whether something is said to happen."""
        wills = found.starts("will", MAX_BEFORE)
        will_be = found.starts("will_be", MAX_BEFORE + 2)
        return (
            found.follows(wills, ("commands", "orders"), WILL_TO_DO)
            or found.follows(will_be, ("did", "doing", "commands", "states", "switching"), WILL_TO_DO)
            or found.has("promises")
        )

    @staticmethod
    def _is_own_action(found: ClauseMatches, kind: SentenceKind) -> bool:
        """Return whether the assistant describes its own action: a claim regardless of the request."""
        latest = found.start + (0 if kind is SentenceKind.QUESTION else MAX_BEFORE)
        return (
            found.follows(found.starts("i_have", latest), ("did",), HAVE_TO_DID)
            or found.follows(found.starts("subjects", latest), ("did",), AM_TO_DOING, last=found.end - 1)
            or found.follows(found.starts("i_am", latest), ("doing",), AM_TO_DOING)
            or bool(found.starts("i_did", latest))
            or found.follows(found.starts("subjects", latest), ("i_did",), 0)
        )

    @staticmethod
    def _is_change(found: ClauseMatches, *, begins_sentence: bool, is_whole: bool) -> bool:
        """Return whether something is said to have been done, or to be going on."""
        tables = ("did", "doing") if is_whole else ("did",)
        return (
            (begins_sentence and found.follows((found.start,), tables, 0))
            or found.follows(found.starts("been", MAX_BEFORE), ("did", "states"), BEEN_TO_DID)
            or found.follows(found.starts("is", MAX_BEFORE), ("doing",), IS_TO_DOING)
        )

    @staticmethod
    def _is_result(found: ClauseMatches, *, begins_sentence: bool, is_whole: bool) -> bool:
        """Return whether something is said to be so now."""
        subjects = found.starts("is", MAX_BEFORE)
        if found.has("now") and found.follows(subjects, ("states", "did", "doing"), IS_TO_STATE):
            return True
        is_short = is_whole and begins_sentence and not found.has("is")
        return (
            is_short
            and (found.ends_with("switching") or found.ends_with("did"))
            and bool(found.starts("devices", found.start + MAX_BEFORE_DEVICE))
        )

    @staticmethod
    def _is_answer_to_order(found: ClauseMatches, *, is_whole: bool) -> bool:
        """Return whether a clause has a state, which is a claim only in answer to an order."""
        states = found.starts("is", MAX_BEFORE)
        return (
            found.follows(states, ("did", "doing"), IS_TO_STATE)
            or found.follows(states, ("states",), IS_TO_STATE, without="switching")
            or (is_whole and bool(states) and (found.has("now") or found.ends_with("switching")))
            or (found.starts("did", MAX_BEFORE) and not found.starts("subjects", found.start))
            or (is_whole and found.end > 1 and found.ends_with("states"))
        )

    def tells_when(self, clause: Clause) -> bool:
        """Return whether a clause begins as "when I" does: a question would have its verb there."""
        subjects = (self._lexicon.matches(name, clause.words) for name in ("subjects", "i_am"))
        return any(1 in found for found in subjects)

    def kind_of(self, clause: Clause, language: str) -> SentenceKind:
        """Return the kind of a person's clause."""
        said = clause.words
        names = ("tells", "asks", "orders", "commands", "states", "greetings")
        tells, asks, orders, commands, states, greetings = (
            self._lexicon.matches(name, said) for name in names
        )
        kind = clause_kind(clause, language)
        writes, lists = (self._lexicon.matches(name, said) for name in ("writes", "lists"))
        is_entry = bool(lists) and (0 in writes or (bool(writes) and kind is ClauseKind.REQUEST))
        is_request = kind is ClauseKind.REQUEST and not commands and not states
        first_ask, first_order = asks.get(0, Match()), orders.get(0, Match())
        first_tell = tells.get(0, Match())
        if not is_entry and ((first_tell.words and first_tell >= first_order) or (tells and is_request)):
            return SentenceKind.STORY
        if kind in {ClauseKind.QUESTION, ClauseKind.LEAD} or first_ask > first_order:
            return SentenceKind.REMARK if self._is_feeling(clause) else SentenceKind.QUESTION
        ends_with_state = any(index + match.words == len(said) for index, match in states.items())
        names_action = bool(commands or orders or ends_with_state)
        if is_entry or first_order.words or (kind is ClauseKind.REQUEST and names_action):
            return SentenceKind.ORDER
        if clause.is_asked and kind is not ClauseKind.REQUEST:
            return SentenceKind.QUESTION
        if 0 in commands or ends_with_state:
            return SentenceKind.ORDER
        return SentenceKind.QUESTION if 0 in greetings and not commands else SentenceKind.REMARK

    def _is_feeling(self, clause: Clause) -> bool:
        """Return whether a clause such as "j'ai froid" only begins as a question about the past does."""
        own, asks, states = (
            self._lexicon.matches(name, clause.words) for name in ("i_have", "asks", "states")
        )
        return 0 in own and 0 not in asks and not states and not clause.is_asked


@cache
def spaced_reader(language: str) -> SpacedReader:
    """Return the reader of a language."""
    return SpacedReader(language)


@lru_cache(maxsize=64)
def kind_of(sentence: str, language: str) -> SentenceKind:
    """Return the kind of a sentence: an order, a question or a statement.

    A sentence with a question and something else is an order. Of a long text the beginning and the end count.
    """
    if len(sentence) > 2 * MAX_READ:
        sentence = f"{sentence[:MAX_READ]}\n{sentence[-MAX_READ:]}"
    own = find(language) or DEFAULT
    reader, said = spaced_reader(own), clauses(sentence)
    if (
        read_later(sentence, own) is LaterKind.CONDITION
        and not any(clause.is_asked for clause in said)
        and ("," in sentence or any(map(reader.tells_when, said)))
    ):
        return SentenceKind.ORDER
    kinds, is_told = set(), False
    for clause in said:
        kind, is_told = kind_beside(clause, reader.kind_of(clause, own), own, is_told=is_told)
        kinds.add(kind)
    return next((kind for kind in SentenceKind if kind in kinds), SentenceKind.REMARK)
