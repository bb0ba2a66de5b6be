"""Whether the calls of a turn back what an answer claims: by their kind, and by what they were about."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from ...domains import DOMAINS
from ...knowledge.name_index import place_id, place_names
from ...knowledge.names import Phrases, longest
from ...knowledge.records import Area, EntityRecord, Floor, HouseSnapshot
from ...knowledge.spoken_words import domain_words
from ...languages import DEFAULT, find, table
from ...languages.later import read_later
from ...texts import fold, words
from ...tools.base import HomeAgentTool, Kept
from ...tools.control.mentions import Mention
from ...tools.native import NATIVE
from ...tools.turn_calls import CallRecord, TurnCalls
from ...tools.undo.uncancelling import SET_AGAIN
from .kinds import ClaimKind, SentenceKind
from .sentences import Reading
from .states import StateJudge, Truth

KEPT: Final = {
    Kept.TIMER: ClaimKind.TIMER,
    Kept.LIST: ClaimKind.LIST,
    Kept.MEMORY: ClaimKind.MEMORY,
}
"""What calls of tools back that keep something for the person."""
SOON: Final = frozenset((ClaimKind.TIMER, ClaimKind.PROMISE))
"""Claims that a timer or a plan backs."""
LATER_ARGUMENTS: Final = frozenset(("when", "for", "repeat"))
"""Arguments with which ha_control plans something."""
SWITCH: Final = "switch"
"""The domain of what may be called by the name of the thing behind it: a lamp, a fan, a heater."""
MIN_NAME: Final = 4
"""Letters of a name of one word that is looked for in an answer."""
NAMES: Final = "names that an answer may mention"


@dataclass(frozen=True, slots=True)
class Named:
    """What words mention: entities, rooms and floors, kinds of things."""

    entities: tuple[EntityRecord, ...] = ()
    places: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Return whether anything is mentioned."""
        return bool(self.entities or self.places or self.domains)


@dataclass(slots=True)
class Evidence:
    """The calls of a turn, as far as they have run."""

    calls: TurnCalls
    house: HouseSnapshot
    language: str
    judge: StateJudge
    earlier: Callable[[], bool] = field(default=lambda: False)
    """Whether something was done before in the conversation, which may be told when somebody asks."""
    planned: Callable[[], bool] = field(default=lambda: False)
    """Whether a timer or a planned command is there, which may be told when nothing is ordered."""
    before: int = field(init=False)
    """The number of the answer that is judged. It cannot know the results of its own calls."""

    def __post_init__(self) -> None:
        """Note which answer is judged."""
        self.before = self.calls.round

    @property
    def _acted(self) -> list[CallRecord]:
        """Return the earlier calls that changed something or found it as asked."""
        return [record for record in self.calls.records if record.done and record.round < self.before]

    @property
    def _is_without_effect(self) -> bool:
        """Return whether a note tells why nothing changed, as of the volume of a speaker that is off."""
        controls = [record.targets for record in self._acted if _tool(record).names_targets]
        return bool(controls) and all(
            "notes" in result and "unchanged" in result and not {"done", "planned"} & result.keys()
            for result in controls
        )

    @property
    def is_partial(self) -> bool:
        """Return whether something was done and something else failed, and no later call made up for it."""
        acted = self._acted
        return bool(acted) and any(
            _has_failed(record)
            and not any(
                other.round > record.round and _replaces(other, record) and not _has_failed(other)
                for other in acted
            )
            for record in self.calls.records
        )

    @property
    def has_tried(self) -> bool:
        """Return whether an earlier call was to change something and failed."""
        return any(_has_failed(record) and record.round < self.before for record in self.calls.records)

    def failed_names(self) -> list[str]:
        """Return the names of the entities that failed in this turn."""
        keys = (key for record in self.calls.records for key in _failed_in(record))
        return [self.house.entities[key].name for key in keys if key in self.house.entities]

    def backs(self, reading: Reading, wanted: SentenceKind) -> bool:
        """Return whether calls back all that a sentence claims."""
        claims = reading.claims - {ClaimKind.STATE, ClaimKind.FORECAST, ClaimKind.PRESENT}
        if self._is_untrue(reading, wanted):
            return False
        if (
            ClaimKind.PRESENT in reading.claims
            and not self._acted
            and any(map(_has_failed, self.calls.records))
        ):
            return False
        if not claims or (claims <= SOON and self._shows_plans(reading, wanted)):
            return True
        return self._backs_deeds(reading, claims) if self._acted else self._is_known(reading, claims, wanted)

    def _is_known(self, reading: Reading, claims: AbstractSet[ClaimKind], wanted: SentenceKind) -> bool:
        """Return whether claims are true although this turn has done nothing."""
        if wanted is SentenceKind.QUESTION and not claims & SOON:
            return self.earlier()
        return claims == {ClaimKind.DEED} and self._is_so(reading)

    def _backs_deeds(self, reading: Reading, claims: AbstractSet[ClaimKind]) -> bool:
        """Return whether the calls that did something back claims."""
        acted = self._acted
        tools = [_tool(record) for record in acted]
        if not all(tool.keeps or tool.names_targets for tool in tools):
            return True  # others may do anything
        planned, has_control = any(map(_is_planned, acted)), any(tool.names_targets for tool in tools)
        backed = {KEPT[tool.keeps] for tool in tools if tool.keeps} | {ClaimKind.DEED}
        if any(tool.keeps for tool in tools):
            backed.add(ClaimKind.MEMORY)  # "noted" is said of reminders and lists too
        if not self._is_without_effect:
            backed.add(ClaimKind.CHANGE)
        if planned:
            backed |= {ClaimKind.PROMISE, ClaimKind.TIMER}
        elif has_control and not self._is_later:
            backed.add(ClaimKind.PROMISE)
        if not claims <= backed:
            return False
        if planned or not claims & {ClaimKind.DEED, ClaimKind.CHANGE, ClaimKind.PROMISE}:
            return True
        return all(
            self._covers(part, has_control=has_control) or self.judge.truth(part) is Truth.TRUE
            for part in reading.parts
        )

    def _is_untrue(self, reading: Reading, wanted: SentenceKind) -> bool:
        """Return whether states contradict a sentence, or nothing is there of what it says will happen."""
        if ClaimKind.FORECAST in reading.claims and not self._shows_plans(reading, wanted):
            named = any(_names_device(self.judge.mentions(text)) for text, _is_going in reading.states)
            if named and not self._acted:
                return True
        if ClaimKind.STATE not in reading.claims:
            return False
        least = {Truth.FALSE}
        if wanted is SentenceKind.ORDER and not self._acted and any(map(_has_failed, self.calls.records)):
            least.add(Truth.UNKNOWN)  # what a call has failed to do is no state that nobody knows
        about = self.calls.sentence if wanted is SentenceKind.ORDER else ""
        return any(
            self.judge.truth(text, is_going=is_going, about=about) in least
            and not (self._acted and self._covers(text, has_control=True))
            for text, is_going in reading.states
        )

    def _is_so(self, reading: Reading) -> bool:
        """Return whether the states show what a sentence says, so that nothing had to be done.

        What a call has failed to do is not so, and a number is not compared.
        """
        if any(map(_has_failed, self.calls.records)) or not reading.states:
            return False
        if any(map(str.isdigit, self.calls.sentence)) or self._is_later:
            return False
        return len(reading.states) == len(reading.parts) and all(
            self.judge.truth(text, is_going=is_going, about=self.calls.sentence) is Truth.TRUE
            for text, is_going in reading.states
        )

    @property
    def _is_later(self) -> bool:
        """Return whether the person wants something later."""
        return read_later(self.calls.sentence, self.language) is not None

    def _shows_plans(self, reading: Reading, wanted: SentenceKind) -> bool:
        """Return whether a result lists timers and plans, or whether there are any that may be told.

        Those that no result lists may be told with a time, or where somebody asks for one.
        """
        if any(
            record.success and record.read_only and _tool(record).keeps is Kept.TIMER
            for record in self.calls.records
        ):
            return True
        has_time = any(map(str.isdigit, (*"".join(reading.parts), *self.calls.sentence)))
        return wanted is not SentenceKind.ORDER and has_time and self.planned()

    def _covers(self, text: str, *, has_control: bool) -> bool:
        """Return whether the things that words mention are those that the calls were about."""
        mentions = self._mentions(text)
        if not mentions:
            return True
        done = {key for record in self._acted for key in _done_by(record)}
        done |= set(self.calls.touched).difference(*map(_failed_in, self.calls.records))
        records = [self.house.entities[key] for key in done if key in self.house.entities]
        domains = {key.partition(".")[0] for key in done}
        if has_control and not domains <= _kinds(None).keys():
            return True  # a scene or a helper may stand for anything
        if mentions.entities:
            told = {key for record in self.calls.records for key in _failed_in(record)}
            said = " ".join(record.said for record in self.calls.records)
            return any(
                one.entity_id in told or one.entity_id in said or _is_like(one, records)
                for one in mentions.entities
            )
        places = {place for record in records for place in (record.area_id, record.floor_id)}
        is_there = bool(mentions.places & places) or any(record.area_id is None for record in records)
        return (not mentions.places or is_there) and (
            not mentions.domains
            or bool(domains & {SWITCH, *mentions.domains})
            or (len(done) == 1 and self._mentions(self.calls.sentence).domains == mentions.domains)
        )

    def _mentions(self, text: str) -> Named:
        """Return what words mention, without what was written by calls that keep texts."""
        written = {
            word
            for record in self._acted
            if _tool(record).keeps in {Kept.LIST, Kept.MEMORY}
            for word in words(f"{record.args} {record.said}")
        }
        said = words(text)
        meanings = [(word,) for word in said]
        found = longest(
            (
                *self.house.derived(NAMES, _names).find(meanings, in_a_row=True),
                *place_names(self.house).find(meanings, in_a_row=True),
            )
        )
        kinds = _kinds(find(self.language) or DEFAULT)
        # A device that is called "Speaker" is not meant by "the speaker" in every room.
        found = [
            one
            for one in found
            if not written.issuperset(one.phrase) and not (len(one.phrase) == 1 and one.phrase[0] in kinds)
        ]
        taken = {place for one in found for place in one.at}
        return Named(
            entities=tuple(one.value for one in found if isinstance(one.value, EntityRecord)),
            places=frozenset(place_id(one.value) for one in found if isinstance(one.value, (Area, Floor))),
            domains=frozenset(
                kinds[word]
                for at, word in enumerate(said)
                if at not in taken and word in kinds and word not in written
            ),
        )


def _names_device(named: Mention) -> bool:
    """Return whether words name something that can be controlled."""
    kinds = {key.partition(".")[0] for key in named.kinds}
    entities = {entity_id.partition(".")[0] for entity_id in named.entity_ids}
    return bool((kinds | entities) & _kinds(None).keys())


def _done_by(record: CallRecord) -> set[str]:
    """Return the entities that a call changed or found as asked."""
    return {*record.targets.get("done", ()), *record.targets.get("unchanged", ())}


def _failed_in(record: CallRecord) -> set[str]:
    """Return the entities that a call could not change."""
    return set(record.targets.get("failed", ()))


def _has_failed(record: CallRecord) -> bool:
    """Return whether something of a call failed that is not only waiting."""
    return not record.read_only and not record.waits and (not record.success or record.in_part)


def _replaces(other: CallRecord, record: CallRecord) -> bool:
    """Return whether a call is the same again, or of the tool that the error of the earlier one asked for."""
    return other.tool_name == record.tool_name or f"call {other.tool_name} " in record.said


def _is_planned(record: CallRecord) -> bool:
    """Return whether a call planned something for later, or planned again what was cancelled."""
    if _tool(record).reverses:
        return SET_AGAIN in record.said
    return _tool(record).reports_targets and bool(LATER_ARGUMENTS & record.args.keys())


def _tool(record: CallRecord) -> type[HomeAgentTool]:
    """Return the class of the tool that was called; that of all for tools of others."""
    return NATIVE.get(record.tool_name, HomeAgentTool)


def _is_like(mentioned: EntityRecord, records: Iterable[EntityRecord]) -> bool:
    """Return whether a mentioned entity is one of some, or of their kind in their room."""
    return any(
        mentioned.entity_id == record.entity_id
        or (mentioned.domain == record.domain and mentioned.area_id == record.area_id)
        or mentioned.name == record.name
        for record in records
    )


@cache
def _kinds(language: str | None) -> Mapping[str, str]:
    """Return the words for kinds of things in a language and in English, or domains as such for None.

    Kinds that secure the home are left out: "alarm" and "door" mean other things too.
    """
    if language is None:
        return {kind: kind for kind in domain_words().values()}
    return {
        fold(word): kind
        for each in (DEFAULT, language)
        for kind, said in (table(each, "names.domains") or {}).items()
        for word in said
        if kind != SWITCH and not DOMAINS[kind].is_protected
    }


def _names(house: HouseSnapshot) -> Phrases[EntityRecord | Area | Floor]:
    """Return the names of the entities that can be controlled."""
    return Phrases(
        (spoken, record)
        for record in house.entities.values()
        if record.domain in _kinds(None)
        for name in record.names
        if _says_enough(spoken := words(name))
    )


def _says_enough(spoken: Sequence[str]) -> bool:
    """Return whether a name is no short everyday word."""
    return len(spoken) > 1 or any(len(word) >= MIN_NAME for word in spoken)
