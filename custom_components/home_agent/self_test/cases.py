"""What the self-test asks: sentences about the imaginary home by capability, read from `cases.json`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
import json
from pathlib import Path
from typing import Any, Final, Self

from ..languages import nearest

type Effects = Mapping[str, tuple[str, Mapping[str, Any]]]
"""For each entity the service that has to be called, and the part of its data that counts."""

_ENGLISH: Final = "en"
_FILE: Final = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))
"""Read with the module, which the import executor loads."""


class Capability(StrEnum):
    """What is measured, in the order in which it is shown."""

    COMMANDS = "commands"
    VALUES = "values"
    SEVERAL = "several"
    QUESTIONS = "questions"
    FOLLOW_UPS = "follow_ups"
    LANGUAGES = "languages"
    ABSTAINING = "abstaining"
    HONESTY = "honesty"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One sentence."""

    name: str
    capability: Capability
    said: str
    language: str = _ENGLISH
    before: Sequence[tuple[str, str]] = ()
    """The conversation before the sentence: what was said, and what was answered."""
    effects: Effects = field(default_factory=dict)
    """What has to be done, and nothing else; without any, nothing may be done."""
    tries: bool = False
    """Whether a call is allowed that names nothing in the home."""
    reads: str = ""
    """The entity that has to be read with ha_query, with its history."""
    answers: Sequence[str] = ()
    """Words of which at least one must be in the answer."""
    wrong: Sequence[str] = ()
    """Words that must not be in the answer."""
    refused: str = ""
    """An error that the tool answers the expected call with; the answer must not claim success then."""

    @classmethod
    def read(cls, stored: Mapping[str, Any], **more: Any) -> Self:
        """Return a case of the file."""
        given = {**stored, **more}
        given["capability"] = Capability(given["capability"])
        given["before"] = tuple(map(tuple, given.get("before", ())))
        given["effects"] = {
            entity_id: (service, data) for entity_id, (service, data) in given.get("effects", {}).items()
        }
        return cls(**given)


COMMON: Final = tuple(map(Case.read, _FILE["cases"]))
"""The cases of every household, in English."""


def cases(language: str, country: str | None = None) -> tuple[Case, ...]:
    """Return the cases for a household that speaks a language.

    Its own language is asked too; a household that speaks English, or a language without sentences, gets the
    two that most models know.
    """
    spoken = nearest(language, {_ENGLISH, *_FILE["languages"]}, country) or _ENGLISH
    asked = _FILE["beside_english"] if spoken == _ENGLISH else [spoken]
    own = [
        Case.read(stored, capability=Capability.LANGUAGES, language=code)
        for code in asked
        for stored in _FILE["languages"][code]
    ]
    return (*COMMON, *own)
