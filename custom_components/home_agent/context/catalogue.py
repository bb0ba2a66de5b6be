"""The catalogue of the home in the prompt: its bytes stay the same while the home does not change."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from homeassistant.util import slugify

from ..knowledge.house import Area, EntityRecord, Floor, HouseSnapshot
from ..knowledge.names import labels_in
from ..regex import lazy_regex
from ..texts import clean, quoted, words
from .window import Catalogue, estimate_tokens

LEGEND: Final = 'Exposed entities by area: entity_id (class)[abilities] "names"'
NAMES_LEGEND: Final = 'Exposed entities by area: entity_id, or domain "names" of those that have no id here'
LEGENDS: Final = (LEGEND, LEGEND, NAMES_LEGEND, NAMES_LEGEND)
"""Headings of lists of all entities, each shorter than the one before."""
SUMMARY_LEGEND: Final = "Exposed entities, how many by area and domain"
HEADING: Final = "# "
NO_FLOOR: Final = f"{HEADING}(no floor)"
MORE_ROOMS: Final = "… more rooms: ha_query"
NO_AREA: Final = "(no area)"
EMPTY: Final = "none"

NAME_CHARS: Final = 60
MAX_ALIASES: Final = 4
MAX_LABELS: Final = 4
LABELS: Final = "Labels"
MAX_NAMED_LABELS: Final = 20
SUMMARY_TOKENS: Final = 900
"""What a summary takes at most, however large the budget; the entities themselves are looked up."""

MARKS: Final[Mapping[str, Mapping[str, str]]] = {"light": {"color": "color"}}
"""Per domain: abilities by which one would choose between its entities, and how they are written."""

CLASS_DOMAINS: Final = frozenset({"binary_sensor", "sensor"})
"""Domains whose device class describes an entity's purpose."""

_PLAIN = lazy_regex(r"[^\W_][\w .'/&()+-]*")
"""Names that need no quotes."""

type Group = tuple[Floor | None, Sequence[tuple[Area | None, Sequence[EntityRecord]]]]


def build_catalogue(house: HouseSnapshot, *, token_budget: int, include_labels: bool = False) -> Catalogue:
    """Return a list of all entities if one fits the budget, else areas with counts.

    A list that is too long loses aliases first, then the ids that add nothing to the name. The text
    follows from the home and the options alone.
    """
    key = ("catalogue", token_budget, include_labels)
    return house.derived(key, lambda house: _build(house, token_budget, include_labels))


def build_summary(house: HouseSnapshot, *, token_budget: int = SUMMARY_TOKENS) -> Catalogue:
    """Return as many areas with counts as the budget allows; empty without a budget."""
    if token_budget <= 0:
        return Catalogue("", complete=False, tokens=0)
    limit = min(token_budget, SUMMARY_TOKENS)
    return house.derived(("summary", limit), lambda house: _summary(house, limit))


def _build(house: HouseSnapshot, token_budget: int, include_labels: bool) -> Catalogue:
    for left_out, legend in enumerate(LEGENDS):

        def items(area: Area | None, records: Sequence[EntityRecord], left_out: int = left_out) -> str:
            items: list[str] = []
            for record in records:
                labels = record.labels[:MAX_LABELS] if include_labels else ()
                text = _written(record, area, left_out) + "".join(f" #{_plain(label)}" for label in labels)
                domain = f"{record.domain} "
                repeated = text.startswith(domain) and items and items[-1].startswith((domain, '"'))
                items.append(text.removeprefix(domain) if repeated else text)
            return f": {' '.join(items) or EMPTY}"

        text = "\n".join((legend, *_places(house, items), *_label_line(house)))
        if (tokens := estimate_tokens(text)) <= token_budget:
            return Catalogue(text, complete=True, tokens=tokens)
    return build_summary(house, token_budget=token_budget)


def _written(record: EntityRecord, area: Area | None, left_out: int) -> str:
    """Return an entity with its id, purpose, names and abilities.

    Left out are the aliases and the purpose (1), then the id where it does not tell the name (2), then
    every id (3).
    """
    tells = left_out < len(LEGENDS) - 1 and tells_name(record, area)
    # Without the area that it begins with.
    name = record.name
    if area is not None and name.casefold().startswith(f"{area.name.casefold()} "):
        name = name[len(area.name) + 1 :]
    abilities = MARKS.get(record.domain, {})
    marks = ",".join(text for ability, text in abilities.items() if ability in record.abilities)
    marks = f"[{marks}]" if marks else ""
    if left_out > 1 and not tells:
        return f"{record.domain} {quoted(name, NAME_CHARS)}{marks}"
    about, names = "", [] if tells else [name]
    if not left_out:
        names += record.aliases[:MAX_ALIASES]
        if record.domain in CLASS_DOMAINS and record.device_class:  # where no name describes the purpose
            said = {*words(f"{record.name} {record.object_id.replace('_', ' ')}")}
            is_said = not said.isdisjoint(words(record.device_class.replace("_", " ")))
            about = "" if is_said else f"({record.device_class})"
    return " ".join((f"{record.entity_id}{about}{marks}", *(quoted(one, NAME_CHARS) for one in names)))


def _places(
    house: HouseSnapshot, tell: Callable[[Area | None, Sequence[EntityRecord]], str], between: str = "\n"
) -> Iterator[str]:
    """Yield the lines about floors and their areas; `tell` returns what stands behind the name of an area."""
    groups = list(_groups(house))
    for floor, places in groups:
        if floor is not None or len(groups) > 1:
            yield f"{HEADING}{_place(floor)}" if floor else NO_FLOOR
        yield between.join(
            (_place(area) if area else NO_AREA) + tell(area, records) for area, records in places
        )


def _label_line(house: HouseSnapshot) -> Sequence[str]:
    """Return a line with the labels that entities have; nothing in a home without labels."""
    known = list(labels_in(house))
    named = ", ".join(map(_plain, known[:MAX_NAMED_LABELS]))
    more = f" +{len(known) - MAX_NAMED_LABELS}" if len(known) > MAX_NAMED_LABELS else ""
    return [f"{LABELS}: {named}{more}"] if known else []


def _groups(house: HouseSnapshot) -> Iterator[Group]:
    """Yield floors from the lowest with their areas by name, and finally entities without a floor or area."""
    by_domain: Callable[[EntityRecord], tuple[str, str]] = lambda record: (record.domain, record.entity_id)  # noqa: E731
    floors = sorted(house.floors.values(), key=lambda floor: (floor.level or 0, floor.name, floor.floor_id))
    areas = sorted(house.areas.values(), key=lambda area: (area.name, area.area_id))
    for floor in (*floors, None):
        places: list[tuple[Area | None, Sequence[EntityRecord]]] = [
            (area, sorted(house.in_area(area.area_id), key=by_domain))
            for area in areas
            if (house.floors.get(area.floor_id or "")) is floor
        ]
        if floor is None:
            homeless = [record for record in house.entities.values() if record.area_id not in house.areas]
            if homeless:
                places.append((None, sorted(homeless, key=by_domain)))
        if places:
            yield floor, places


def tells_name(record: EntityRecord, area: Area | None) -> bool:
    """Return whether the entity id, its area and domain contain the words of the name."""
    if not all(char < "\u0250" or not char.isalpha() for char in record.name):
        return False
    known = {*record.entity_id.replace(".", "_").split("_"), *words(record.entity_id.replace("_", " "))}
    if area is not None:
        known.update(_slug_words(area.name), words(area.name))
    return known.issuperset(_slug_words(record.name)) or known.issuperset(words(record.name))


def _slug_words(text: str) -> list[str]:
    return slugify(text, separator=" ").split()


def _place(place: Area | Floor) -> str:
    return " ".join(
        (_plain(place.name), *(quoted(alias, NAME_CHARS) for alias in place.aliases[:MAX_ALIASES]))
    )


def _plain(name: str) -> str:
    text = clean(name, NAME_CHARS)
    return text if _PLAIN.fullmatch(text) else quoted(name, NAME_CHARS)


def _summary(house: HouseSnapshot, token_budget: int) -> Catalogue:
    head = (SUMMARY_LEGEND + _domains(None, list(house.entities.values())), *_label_line(house))
    text = ""
    for tell, between in (
        (_domains, "\n"),
        (lambda _, records: f" {len(records)}", "; "),
        (lambda *_: "", "; "),
    ):
        text = "\n".join((*head, *_places(house, tell, between)))
        if estimate_tokens(text) <= token_budget:
            break
    lines = text.split("\n")
    while (tokens := estimate_tokens(text)) > token_budget and len(lines) > 1:
        keep = max(1, (len(lines) - 1) * token_budget // (tokens + 1))
        lines = lines[:keep]
        while len(lines) > 1 and lines[-1].startswith(HEADING):
            lines.pop()
        text = "\n".join([*lines, MORE_ROOMS])
    return Catalogue(text, complete=False, tokens=tokens)


def _domains(_area: Area | None, records: Sequence[EntityRecord]) -> str:
    counts = Counter(record.domain for record in records)
    return ": " + (", ".join(f"{counts[domain]} {domain}" for domain in sorted(counts)) or EMPTY)
