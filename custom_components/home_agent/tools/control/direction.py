"""What a sentence that begins with a command cannot mean, for what lets people, water or alarms through."""

from collections.abc import Mapping
from typing import Final

from ...knowledge.spoken_words import words_of
from ...languages.text import fold

_OPENING: Final = words_of(
    "open unlock disarm raise offne offnen entsperre entsperren entriegle entriegeln "
    "ouvre ouvrez ouvrir deverrouille deverrouillez abre abrir desbloquea desbloquear ontgrendel "
    "apri aprire sblocca otworz"
)
_CLOSING: Final = words_of(
    "close shut lock arm lower schliesse schliessen schliess sperre verriegle verriegeln ferme fermez fermer "
    "verrouille verrouillez verrouiller cierra cerrar bloquea bloquear sluit vergrendel chiudi chiudere "
    "blocca zamknij"
)
_POLITE: Final = words_of(
    "please bitte s il te vous plait por favor per alsjeblieft graag kindly now ok okay hey"
)
_MEANS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("open", "unlock", "disarm"), _CLOSING),
    **dict.fromkeys(("close", "lock", "arm_home", "arm_away", "arm_night", "arm_vacation"), _OPENING),
}


def contradicts(verb: str, sentence: str) -> bool:
    """Return whether a sentence commands the very opposite of an action, and nothing else."""
    opposite = _MEANS.get(verb)
    if opposite is None:
        return False
    words = fold(sentence).split()
    first = next((word for word in words if word not in _POLITE), "")
    wanted = _OPENING if opposite is _CLOSING else _CLOSING
    return first in opposite and wanted.isdisjoint(words)
