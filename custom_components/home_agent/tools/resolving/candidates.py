"""What a model reads when a target is not clear: the nearest that there are, in 300 characters."""

from collections.abc import Callable, Collection, Iterable, Sequence

from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.house import EntityRecord, HouseSnapshot
from ...knowledge.name_index import NameIndex
from ...knowledge.names import squash
from ...regex import lazy_regex
from ...texts import one_line

MAX_ERROR = 300
MAX_NAME = 40
MORE_CHARS = 12
"""Room for " +1234 more"."""
MAX_LISTED = 6
MIN_SPELLED = 4
"""Letters of an id that count if they are in another one."""
_STRUCTURE = lazy_regex(r"[\"`<>{}]|(?<!\w)'|'(?!\w)")
"""Characters that could be read as structure; an apostrophe within a word is none."""


def protected(record: EntityRecord) -> bool:
    """Return whether an entity must be named exactly."""
    return DOMAINS[record.domain].is_protected


def plain(name: str) -> str:
    """Return a name on one line, without what could be read as structure, cut to length."""
    return one_line(_STRUCTURE.sub(" ", name), MAX_NAME)


def choose(house: HouseSnapshot, records: Iterable[EntityRecord], problem: str) -> ValidationError:
    """Return an error that lists entities to choose from."""
    text = problem
    names: dict[str, None] = {}
    chosen = list(records)
    for index, (separator, record) in enumerate(zip(_separators(), chosen, strict=False)):
        entry = f"{separator}{describe(house, record)}"
        if len(text) + len(entry) > MAX_ERROR - MORE_CHARS:
            text += f" +{len(chosen) - index} more"
            break
        text += entry
        names[plain(record.name)] = None
    error = ValidationError(text[:MAX_ERROR])
    error.names = tuple(names)[:MAX_LISTED]
    return error


def listed(names: Sequence[str], room: int) -> str:
    """Return names that fit in some characters, and how many more there are."""
    text = ""
    for index, name in enumerate(names):
        entry = f"{', ' if text else ''}{plain(name)}"
        if len(text) + len(entry) > room - MORE_CHARS:
            return f"{text} +{len(names) - index} more"
        text += entry
    return text or "none"


def describe(house: HouseSnapshot, record: EntityRecord) -> str:
    """Return an entity's id, name and room."""
    area = house.areas.get(record.area_id) if record.area_id else None
    return f"{record.entity_id} ({plain(record.name)}{f', {plain(area.name)}' if area else ''})"


def _separators() -> Iterable[str]:
    """Yield the text before each entry."""
    yield ": "
    while True:
        yield "; "


def _spelled_in(names: NameIndex, text: str) -> list[str]:
    """Return the entities whose whole id is in an invented one, as "hallway" is in "hall_way_lamp"."""
    key = squash(text)
    spelled = [known for known in names.object_ids if len(known) >= MIN_SPELLED and known in key]
    return [
        entity_id
        for known in sorted(spelled, key=lambda known: (-len(known), known))
        for entity_id in names.object_ids[known]
    ]


def missing(
    house: HouseSnapshot,
    names: NameIndex,
    text: str,
    problem: str,
    *,
    domains: Collection[str] | None = None,
    wanted: Callable[[EntityRecord], bool] | None = None,
) -> ValidationError:
    """Return the error for something that is not there, with what comes nearest."""
    near = [house.entities[entity_id] for entity_id in _spelled_in(names, text)]
    near += [house.entities[entity_id] for entity_id, _ in names.near(text)]
    near += [house.entities[entity_id] for entity_id in names.likely(text, 3 * MAX_LISTED)]
    first = [
        record
        for record in near
        if (not domains or record.domain in domains) and (wanted is None or wanted(record))
    ]
    if not first:
        pool = (record for record in house.entities.values() if not domains or record.domain in domains)
        first = [record for record in pool if wanted is not None and wanted(record)] or near
    if not first:
        return ValidationError(f"{problem}. Search with another name, or ask"[:MAX_ERROR])
    return choose(house, list(dict.fromkeys(first))[:MAX_LISTED], f"{problem}. Nearest")
