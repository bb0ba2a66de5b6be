"""Words of forms in place of stored keys, where the browser does not translate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Labels:
    """What the words in the form mean, by field: a label for each stored value.

    The browser shows the values of a list inside a list as they are, so the form holds labels.
    """

    by_field: Mapping[str, Mapping[str, str]]

    def show(self, value: Any) -> list[dict[str, Any]]:
        """Return the stored items with labels."""
        return [self._mapped(item, self.by_field) for item in value if isinstance(item, Mapping)]

    def values(self, value: Any) -> list[dict[str, Any]]:
        """Return the items of a form as they are stored; what is stored already stays."""
        meanings = {
            field: {label: key for key, label in labels.items()} for field, labels in self.by_field.items()
        }
        items = value if isinstance(value, list) else [value]
        return [self._mapped(item, meanings) for item in items if isinstance(item, Mapping)]

    @staticmethod
    def _mapped(item: Mapping[str, Any], words: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
        """Return an item with other words."""
        found = dict(item)
        for field in found.keys() & words.keys():
            meaning, value = words[field], found[field]
            if isinstance(value, list):
                found[field] = [meaning.get(each, each) for each in value]
            else:
                found[field] = meaning.get(value, value)
        return found
