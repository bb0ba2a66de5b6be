"""Labels as targets: a label is binding like a room, and means all that the action fits."""

from ...errors import ValidationError
from ...knowledge.house import EntityRecord
from ...knowledge.labels import label_and_rest, label_said
from ...knowledge.spoken_words import all_words, domain_words
from .kinds import EntityKinds, KindSearch
from .places import NamedPlace, place_of_label


class LabelSearch(KindSearch):
    """A resolution that knows labels."""

    def by_label(self, name: str) -> list[EntityRecord]:
        """Return the entities of a label in place of a name: "Party", "party lights", "label Party"."""
        if (whole := place_of_label(self.house, name, exact=True)) is not None:
            return self._of_label(whole, frozenset())
        if (found := label_and_rest(self.house, name)) is None:
            return []
        label, rest = found
        kinds = frozenset(domain_words()[word] for word in rest if word in domain_words())
        wanted = all_words(self.speaker.language)
        others = [word for word in rest if word not in domain_words() and word not in wanted]
        if len(kinds) > 1 or any(word in self.names.by_word for word in others):
            return []
        return self._of_label(NamedPlace(label, labels=frozenset((label,))), kinds)

    def _of_label(self, label: NamedPlace, kinds: frozenset[str]) -> list[EntityRecord]:
        """Return the entities of a label and a kind; nothing if the label has none that the action fits."""
        before = self.places, self.kinds
        self.places = [*self.places, label]
        self.kinds = EntityKinds(self.kinds.domains or kinds, self.kinds.classes)
        if self.candidates():
            return self.by_kind()
        self.places, self.kinds = before
        return []

    def by_kind(self) -> list[EntityRecord]:
        """Return the entities of a kind in a place; a label that only the sentence has is asked for."""
        if not any(place.labels for place in self.places) and not self.kinds.name:
            said = label_said(self.house, self.sentence, self.speaker.language)
            if said is not None and not self._is_part_of_place(said):
                raise ValidationError(
                    f"{said[:40]!r} in the sentence is a label. Give label {said[:40]!r}, or entity_id"
                )
        return super().by_kind()

    def _is_part_of_place(self, label: str) -> bool:
        """Return whether the name of a label is that of a place that was given."""
        return any(label.casefold() in place.name.casefold() for place in self.places)
