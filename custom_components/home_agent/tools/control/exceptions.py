"""What a sentence excepts: "all lights upstairs, but not Leo's"."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from ...context.topics import language_of
from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.names import content_words, word_similarity
from ...knowledge.spoken_words import kinds_of_room
from ...languages import DEFAULT, words
from ...languages.lexicon import Lexicon, Match, Word, clauses
from ..base import ToolRun
from ..resolving.targets import Target
from .direction import FORBIDDEN
from .mentions import KIND, NAMED, mention
from .negation import prohibition

LIKE = 0.88
"""How alike a word of a sentence and a word of a room's name must be."""


def without_excepted(
    run: ToolRun, target: Target, records: Sequence[EntityRecord]
) -> tuple[list[EntityRecord], list[EntityRecord]]:
    """Return the targets of a call without those that the sentence excepts, and these.

    Targets that the call names one by one are not looked at. Raises ValidationError if it is not clear what
    is excepted, if nothing is left, or if the sentence forbids it.
    """
    _check_forbidden(run, records)
    kept = list(records)
    is_listed = target.entity_id and not any("*" in each for each in target.entity_id)
    if is_listed or len(kept) < 2:  # noqa: PLR2004 - nothing can be left out of one
        return kept, []
    left_out: dict[str, EntityRecord] = {}
    for text in excepted(run.sentence, run.speaker.language):
        left_out |= {record.entity_id: record for record in _meant(run, text, records)}
    kept = [record for record in kept if record.entity_id not in left_out]
    if not kept:
        raise ValidationError("The person excepts something, and nothing is left. Name the entity_ids")
    return kept, list(left_out.values())


def _check_forbidden(run: ToolRun, records: Sequence[EntityRecord]) -> None:
    """Raise ValidationError if all commands of the sentence are negated, unless others name the targets."""
    found = prohibition(run.sentence, run.speaker.language)
    if found is None:
        return
    forbidden, others = (
        [mention(run.hass, run.house, text, run.sentence, run.speaker.language) for text in texts]
        for texts in (found.forbidden, found.others)
    )
    for record in records:
        wanted = max((named.fit(record) for named in others), default=0)
        if not wanted or any(named.fit(record) >= wanted for named in forbidden):
            raise ValidationError(FORBIDDEN)


def _meant(run: ToolRun, text: str, records: Sequence[EntityRecord]) -> list[EntityRecord]:
    """Return the targets that an excepted text means. Raises ValidationError if it names nothing known."""
    found = mention(run.hass, run.house, text, run.sentence, run.speaker.language)

    if found.entity_ids or found.places or found.kinds:
        fits = {record.entity_id: found.fit(record) for record in records}
        least = NAMED if NAMED in fits.values() else KIND if found.kinds else 1
        return [record for record in records if fits[record.entity_id] >= least]
    areas = _areas_of(run, text)
    if areas:
        return [record for record in records if record.area_id in areas]
    raise ValidationError(
        f"The person excepts {text[:40]!r}, which names nothing here. Nothing was done: name the entity_ids"
    )


def _areas_of(run: ToolRun, text: str) -> set[str]:
    """Return the rooms whose name contains a word of a text that is no word for rooms: "Leo's Room"."""
    said = [word for word in content_words(text) if not kinds_of_room(word)]
    return {
        area.area_id
        for area in run.house.areas.values()
        for name in area.names
        for own in content_words(name)
        if any(word_similarity(word, own) >= LIKE for word in said)
    }


@cache
def _lexicon(language: str) -> Lexicon:
    """Return the words that except something, and those that begin a condition."""
    return Lexicon(
        {
            "excepting": words(language, "quantities.excepting"),
            "conditions": [*words(language, "times.when"), *words(language, "times.if")],
            "joins": words(language, "questions.joins"),
        }
    )


def without_exceptions(sentence: str, language: str) -> str:
    """Return a sentence without what it excepts: a room in it is not the room that is meant."""
    kept: list[str] = []
    is_cut = False
    for said, regions, _joins in _regions(sentence, language):
        cut = {at for region in regions for at in region}
        is_cut = is_cut or bool(cut)
        kept += [word.plain for at, word in enumerate(said) if at not in cut]
    return " ".join(kept) if is_cut else sentence


def excepted(sentence: str, language: str) -> Iterator[str]:
    """Yield what a sentence excepts, thing by thing."""
    for said, regions, joins in _regions(sentence, language):
        for region in regions:
            thing: list[str] = []
            for at in region:
                if at not in joins:
                    thing.append(said[at].plain)
                elif thing:
                    yield " ".join(thing)
                    thing = []
            if thing:
                yield " ".join(thing)


def _regions(
    sentence: str, language: str
) -> Iterator[tuple[Sequence[Word], list[range], Mapping[int, Match]]]:
    """Yield the words of each clause, which of them are excepted, and the words that join several."""
    lexicon = _lexicon(language_of(sentence, language) or DEFAULT)
    for clause in clauses(sentence):
        found, said = lexicon.all_matches(clause.words), clause.words
        regions: list[range] = []
        for index, match in found["excepting"].items():
            start = index + match.words
            is_condition = match <= found["conditions"].get(index, Match()) or start in found["conditions"]
            if is_condition or (regions and index < regions[-1].stop):
                continue
            end = next((at for at in range(start + 1, len(said)) if said[at].starts), len(said))
            regions.append(range(start, end))
        yield said, regions, found["joins"]
