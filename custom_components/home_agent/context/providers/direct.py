"""DirectContextProvider: the states that matter for a sentence.

Entities that the sentence names come first, then what is on in the speaker's room. Where the catalogue
could not list every entity, the found ones carry their names and abilities as well.
"""

from collections.abc import Iterable
from typing import override

from homeassistant.core import HomeAssistant

from ...knowledge.house import EntityRecord, HouseSnapshot
from ...vector.text import quoted
from ..retrieval import async_retrieve
from ..states import describe_state
from ..tokens import estimate_tokens
from .base import ContextProvider, ContextRequest, Slot

STATES_BESIDE_FULL_CATALOGUE = 8
CUT_BESIDE_FULL_CATALOGUE = 0.7
"""Where the model sees every entity anyway, only the states that the sentence is clearly about are shown."""
STATES_TOKENS, STATES_SHARE = 40, 0.1
"""Tokens for those states: some, and a share of the catalogue. What changes from turn to turn stays small
beside what a server keeps in its cache."""
FOUND_IN_LARGE_HOUSE = 20
NAME_CHARS = 60
MAX_ABILITIES = 6

QUIET_STATES = frozenset({"off", "closed", "idle", "standby", "unavailable", "unknown", "docked", "locked"})
LIVELY_DOMAINS = frozenset(
    {"climate", "cover", "fan", "humidifier", "light", "lock", "media_player", "switch", "vacuum", "valve"}
)


class DirectContextProvider(ContextProvider):
    """Looks the sentence up by words; needs neither an index server nor an embedding model."""

    name = "direct"

    def __init__(self, hass: HomeAssistant) -> None:
        """Remember where the states are."""
        self._hass = hass

    @override
    async def async_prepare(self, house: HouseSnapshot) -> None:
        """Build the index of words."""
        await async_retrieve(self._hass, house, "", 1)

    @override
    async def async_provide(self, request: ContextRequest) -> Slot:
        """Return the states that matter, within the budget."""
        limit = STATES_BESIDE_FULL_CATALOGUE if request.catalogue.complete else FOUND_IN_LARGE_HOUSE
        found = await async_retrieve(
            self._hass,
            request.house,
            request.sentence,
            limit,
            area_id=request.speaker.area_id,
            language=request.speaker.language,
            cut=CUT_BESIDE_FULL_CATALOGUE if request.catalogue.complete else 0.0,
        )
        records = {record.entity_id: record for record in found}
        for record in self._lively(request):
            if len(records) >= limit:
                break
            records.setdefault(record.entity_id, record)
        lines, entity_ids = self._lines(records.values(), request)
        return Slot(heading="States, others by ha_query:", lines=tuple(lines), entity_ids=tuple(entity_ids))

    def _lively(self, request: ContextRequest) -> Iterable[EntityRecord]:
        """Yield what is on or open where the person is."""
        if request.speaker.area_id is None:
            return
        for record in request.house.in_area(request.speaker.area_id):
            state = self._hass.states.get(record.entity_id)
            if record.domain in LIVELY_DOMAINS and state is not None and state.state not in QUIET_STATES:
                yield record

    def _lines(self, records: Iterable[EntityRecord], request: ContextRequest) -> tuple[list[str], list[str]]:
        """Return one line for each entity until the budget is used, and which they are."""
        lines: list[str] = []
        entity_ids: list[str] = []
        left = request.budget.retrieved
        if request.catalogue.complete:
            left = min(left, STATES_TOKENS + int(STATES_SHARE * request.catalogue.tokens))
        for record in records:
            state = self._hass.states.get(record.entity_id)
            if state is None:
                continue
            shown = record.entity_id if request.catalogue.complete else introduced(record, request.house)
            line = f"{shown}: {describe_state(state, record)}"
            left -= estimate_tokens(line)
            if left < 0:
                break
            lines.append(line)
            entity_ids.append(record.entity_id)
        return lines, entity_ids


def introduced(record: EntityRecord, house: HouseSnapshot) -> str:
    """Return an entity with what the catalogue of a large house leaves out: name, place and abilities."""
    area = house.areas.get(record.area_id) if record.area_id else None
    place = f" in {quoted(area.name, NAME_CHARS)}" if area else ""
    abilities = f" [{','.join(record.abilities[:MAX_ABILITIES])}]" if record.abilities else ""
    return f"{record.entity_id} {quoted(record.name, NAME_CHARS)}{place}{abilities}"
