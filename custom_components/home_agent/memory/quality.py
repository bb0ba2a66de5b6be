"""What is not worth remembering, and why."""

from dataclasses import dataclass
from enum import StrEnum
import re
from typing import Final

from ..regex import lazy
from ..vector.text import fold, words
from .records import MemoryType
from .secrets import holds_secret

LEAST_WORDS: Final = 2


class Reason(StrEnum):
    """Why something was not kept."""

    TRANSIENT = "transient_state"
    """How the house is just now; Home Assistant knows that better."""
    META = "meta_talk"
    """About the conversation, not about the household."""
    EMPTY = "no_information"
    QUESTION = "question"
    UNIMPORTANT = "unimportant"
    SECRET = "secret"  # noqa: S105 - the name of a reason
    INSTRUCTION = "instruction"
    """Wants to change what the agent may do. That is for the options, not for memory."""
    NOT_SAID = "not_said"
    """Nothing of it is in the person's own words."""
    NOBODY = "unknown_speaker"
    """Is about somebody whom nobody knows."""
    KNOWN = "known"
    FULL = "no_room"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that a conversation may have brought."""

    content: str
    type: MemoryType
    importance: float
    household: bool = False


def _either(*alternatives: str) -> re.Pattern[str]:
    """Return what finds any of these as whole words in folded text."""
    return lazy(rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)")


_STATES: Final = (
    *("on", "off", "open", "opened", "closed", "locked", "unlocked", "running", "playing", "paused"),
    *("available", "unavailable", "home", "away", "armed", "disarmed", "idle", "charging", "lit"),
    *("an", "aus", "offen", "geoffnet", "zu", "geschlossen", "verriegelt", "entriegelt", "eingeschaltet"),
    *("ausgeschaltet", "zuhause", "unterwegs"),
    *("aan", "uit", "dicht", "gesloten", "vergrendeld", "ontgrendeld", "thuis"),
    *("allumee?s?", "eteinte?s?", "ouverte?s?", "fermee?s?", "verrouillee?s?"),
    *("encendid[oa]s?", "apagad[oa]s?", "abiert[oa]s?", "cerrad[oa]s?", "bloquead[oa]s?"),
    *("acces[oaie]", "spent[oaie]", "apert[oaie]", "chius[oaie]", "wlaczon[eya]", "wylaczon[eya]"),
)
_BE: Final = "is|are|was|were|ist|sind|war|steht|staat|zijn|est|sont|etait|esta|estan|es|e|sono|jest|sa|er|ar"
_AT_PRESENT: Final = (
    "(?:right )?now|currently|at the moment|jetzt|gerade|momentan|derzeit|nu|op dit moment|en ce moment|"
    "actuellement|ahora(?: mismo)?|actualmente|adesso|attualmente|teraz"
)
_STATE: Final = lazy(
    rf"(?<!\w)(?:{_BE})(?: (?:{_AT_PRESENT}))?(?: (?:turned|switched))? (?:{'|'.join(_STATES)})"
    rf"(?: (?:{_AT_PRESENT}))?\W*$"
)
"""A sentence that ends with how something is; `is on March 15` does not."""
_READING: Final = lazy(
    rf"(?<!\w)(?:{_BE})(?: (?:{_AT_PRESENT}|at|bei|op|a|set to))? -?\d+(?:[.,]\d+)? ?"
    r"(?:%|°|degrees?|grad|graden|degres|grados|gradi|percent|prozent|procent|watts?|kwh?|lux|lx|ppm|hpa)\W*"
)
_HABITUAL: Final = _either(
    "always|every|usually|never|often|each|when|at night|in the (?:morning|evening)",
    "immer|jede[nsrm]?|meist(?:ens)?|nie(?:mals)?|oft|nachts|morgens|abends|wenn",
    "altijd|elke?|meestal|nooit|vaak|als",
    "toujours|chaque|souvent|jamais|quand",
    "siempre|cada|nunca|cuando|sempre|ogni|mai|quando|zawsze|kazd[eya]",
)
"""Says that it is so again and again."""
_WHO: Final = (
    "user|person|speaker|they|he|she|i|nutzer(?:in)?|benutzer(?:in)?|gebruiker|utilisateur|usuario|utente"
)
_ASK: Final = (
    *("asked", "asks", "is asking", "requested", "requests", "inquired", "wanted to know", "wants to know"),
    *("greeted", "said (?:hello|hi|goodbye|thanks)", "thanked", "turned", "switched"),
    *("fragte?", "bat", "bittet", "mochte wissen", "vroeg", "vraagt", "a demande", "demande"),
    *("pregunto", "pregunta", "ha chiesto", "chiede"),
)
_META: Final = _either(
    rf"(?:{_WHO}) (?:just )?(?:{'|'.join(_ASK)})",
    "the (?:assistant|ai|model|conversation|request)",
    "(?:der|dem) assistent(?:en)?|das gesprach|de assistent|het gesprek",
    "l.assistant|el asistente|l.assistente",
)
_INSTRUCTION: Final = _either(
    "ignore (?:all|any|previous|your)",
    "without (?:asking|confirmation|a pin)|no confirmation",
    "system prompt|your (?:rules|instructions)",
    "(?:assistant|agent|you) (?:may|must|should|can) (?:always |now )?(?:unlock|open|disarm|obey|ignore)",
    "ohne (?:nachfrage|bestatigung|zu fragen)|ignoriere? (?:alle|deine)",
    "sans (?:confirmation|demander)|sin (?:confirmacion|preguntar)|zonder (?:bevestiging|te vragen)",
)


def refusal(candidate: Candidate, least_importance: float) -> Reason | None:
    """Return why something is not to be remembered; None if it may be.

    Only for what nobody asked to remember.
    """
    content = candidate.content.strip()
    folded = fold(content)
    if len([word for word in words(content) if len(word) > 1 or word.isdigit()]) < LEAST_WORDS:
        return Reason.EMPTY
    checks = (
        (content.endswith(("?", "\uff1f", "\u061f")), Reason.QUESTION),
        (holds_secret(content), Reason.SECRET),
        (_INSTRUCTION.search(folded), Reason.INSTRUCTION),
        (_META.search(folded), Reason.META),
        (_is_transient(folded), Reason.TRANSIENT),
        (candidate.importance < least_importance, Reason.UNIMPORTANT),
    )
    return next((reason for applies, reason in checks if applies), None)


def _is_transient(folded: str) -> bool:
    """Return whether a sentence only says how something is just now."""
    return not _HABITUAL.search(folded) and bool(_STATE.search(folded) or _READING.search(folded))
