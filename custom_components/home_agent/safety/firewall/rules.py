"""The firewall's rules: what an instruction to a model looks like, as patterns over readable text.

The words of each language stand in `words.json`, folded: what overrides earlier rules (`ignore`,
`earlier`, `rules`), what opens a house (`opening`, `guarded`), what changes a memory (`keep`, `kept`), what
carries something out (`send`, `private`), what makes an order of a sentence (`push`), what hides it
(`secret`), and what speaks to a model or gives it another role (`role`).
"""

from collections.abc import Iterator
from functools import cache
import json
from pathlib import Path
import re
from typing import Final

from ...regex import lazy
from .text import as_read

WORDS: Final = Path(__file__).with_name("words.json")
UNSPACED: Final = frozenset({"zh", "ja", "ko"})
"""Languages whose words do not stand apart."""
VERB_LAST: Final = frozenset({"de", "nl", "tr", *UNSPACED})
"""Languages in which the door may stand in front of what is done with it."""
OTHER_SCRIPTS: Final = {
    "ru": lazy("[\u0400-\u04ff]"),
    "zh": lazy("[\u4e00-\u9fff]"),
    "ja": lazy("[\u3040-\u30ff\u4e00-\u9fff]"),
    "ko": lazy("[\uac00-\ud7af]"),
}
"""Languages that are looked for only where their letters are."""

_GAP: Final = r"[^.!?\n\u3002\uff01\uff1f]"
_END: Final = r"[\s.!?\"'\u3002\uff01\uff1f)\]]*$"

TOKENS: Final = lazy(
    r"<\|[^|<>\n]{1,40}\|>"
    r"|\[/?(?:inst|system_prompt|available_tools|tool_calls?|tool_results?)\]"
    r"|<</?sys>>"
    r"|</?(?:tool_calls?|tool_code|tool_use|tool_responses?|tool_results?|function_calls?|function_results"
    r"|function|invoke|parameter|system|system-reminder|system_prompt|assistant|user|human|instructions?"
    r"|think|thinking|start_of_turn|end_of_turn|important|prompt|antml:\w{1,20})\b[^<>]{0,200}>"
    r"|^[ \t]*#{1,6}[ \t]*(?:system|instructions?|response|assistant|user|human)\b[ \t]*:?[ \t]*$"
    r"|^[ \t\"'*]*(?:system|assistant|human|user|developer|tool|ai|model)[ \t]*(?:\([^()\n]{1,30}\))?[\"'*]*:"
    r"(?![/\w])",
    re.MULTILINE,
)
"""Marks by which chat templates tell who speaks."""

CALLS: Final = lazy(
    r"[\"'](?:name|tool|function|tool_name|function_name|recipient_name|action)[\"']\s{0,4}:\s{0,4}[\"'][\w.:-]{1,64}"
    r"[\"'][^{}]{0,80}[\"'](?:arguments|parameters|args|params|input|action_input)[\"']\s{0,4}:"
    r"|[\"'](?:tool_calls?|function_call|tool_uses)[\"']\s{0,4}:"
    r"|\b(?:execute_tool|hassturno[nf]f?)\b"
    r"|\b\w{2,40}\.\w{2,40}\((?=\s{0,4}[\"'{\w])[^()\n]{0,200}\)|\b[a-z]+_[a-z_]{2,40}\(\s{0,4}(?:\w{1,30}\s{0,4}=|[\"'{])"
    r"|\b(?:lock\.(?:unlock|open|lock)|alarm_control_panel\.\w{2,40}|cover\.\w{2,40}|valve\.\w{2,40}|script\.\w{2,40}"
    r"|scene\.\w{2,40}|shell_command\.?\w{0,40}|homeassistant\.\w{2,40}|lock\.\w{2,40}|(?:action|service):\s{0,4}\w+\.\w+)\b"
)
"""Calls of services and functions, however they are written; `tool_names.py` knows the tools by name."""

SQUASHED: Final = lazy(
    r"ignore(?:all|any|the|your)?(?:previous|prior|above|earlier)|(?:previous|prior)instructions|systemprompt"
    r"|unlockthe|openthe(?:front|garage|door)|disarmthe|disarmalarm|unlock(?:front)?door|storememory|forgetall"
)
"""Instructions whose letters stand apart, without the gaps."""


class Rules:
    """The patterns of one language."""

    def __init__(self, language: str, words: dict[str, list[str]]) -> None:
        """Put the patterns together."""
        spaced = language not in UNSPACED

        def any_of(key: str) -> str:
            found = "|".join(as_read(word) for word in words[key])
            return rf"(?<!\w)(?:{found})(?!\w)" if spaced else f"(?:{found})"

        ignore, earlier, rules = any_of("ignore"), any_of("earlier"), any_of("rules")
        opening, guarded = any_of("opening"), any_of("guarded")
        keep, kept, send, private = any_of("keep"), any_of("kept"), any_of("send"), any_of("private")
        close, wide = f"{_GAP}{{0,30}}?", f"{_GAP}{{0,60}}?"
        self.anywhere: dict[str, re.Pattern[str]] = {
            "override": _pattern(
                f"{ignore}{close}{earlier}{close}{rules}|{ignore}{close}{rules}{close}{earlier}"
                f"|{earlier}{close}{rules}{close}{ignore}"
            ),
            "role": _pattern("|".join(map(as_read, words["role"])), spaced=spaced),
            "secrecy": _pattern("|".join(map(as_read, words["secret"])), spaced=spaced),
            "memory": _pattern(f"{keep}{wide}{kept}" + ("" if spaced else f"|{kept}{wide}{keep}")),
            "private": _pattern(f"{send}{wide}{private}" + ("" if spaced else f"|{private}{wide}{send}")),
        }
        """Rules that say enough by themselves."""
        self._needed = {
            name: lazy(needed)
            for name, needed in (
                ("override", rules),
                ("memory", kept),
                ("private", private),
                ("action", guarded),
            )
        }
        """What a rule cannot do without: looked for first, since most texts have none of it."""
        backwards = f"|{guarded}{close}{opening}" if language in VERB_LAST else ""
        self.action = _pattern(f"{opening}{wide}{guarded}{backwards}")
        """What also a manual says; an order only in some places."""
        self.push = _pattern("|".join(map(as_read, words["push"])), spaced=spaced)

    def find(self, name: str, text: str) -> Iterator[re.Match[str]]:
        """Yield where a rule fits."""
        needed = self._needed.get(name)
        if needed is None or needed.search(text):
            pattern = self.action if name == "action" else self.anywhere[name]
            yield from (match for match in pattern.finditer(text) if match.end() > match.start())


def _pattern(text: str, *, spaced: bool = False) -> re.Pattern[str]:
    """Return a pattern; where words stand apart, of whole words."""
    return lazy(rf"(?<!\w)(?:{text})" if spaced else text, re.MULTILINE)


@cache
def _all_rules() -> dict[str, Rules]:
    """Return the rules of all languages."""
    words = json.loads(WORDS.read_text(encoding="utf-8"))
    return {language: Rules(language, sets) for language, sets in words.items()}


_all_rules()  # read while modules are imported, which is not done in the event loop


def rules_for(text: str) -> Iterator[Rules]:
    """Yield the rules of the languages that a text may be in."""
    for language, rules in _all_rules().items():
        script = OTHER_SCRIPTS.get(language)
        if script is None or script.search(text):
            yield rules
