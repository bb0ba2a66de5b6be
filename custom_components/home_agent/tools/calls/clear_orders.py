"""Calls of ha_control whose meaning is clear, although the model wrote it in another way.

Only the form changes. A lock, cover, valve or alarm is moved only as the call or the sentence says.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

import probatio

from ...domains import DOMAINS
from ...errors import ValidationError
from ...knowledge.spoken_words import said_words
from ...languages import DEFAULT, find, languages, table, words
from ...literals import opened
from ...texts import fold
from ..control.arguments import SLOT_WORDS, read_verb
from ..ha_query import QueryTool
from ..resolving.targets import texts
from .validation import CLOSE, listed

ACTION_KEYS: Final = ("action", "verb", "command", "operation")
REMARKS: Final = frozenset(
    (
        *(
            "reason",
            "reasoning",
            "explanation",
            "thought",
            "thoughts",
            "rationale",
            "justification",
            "comment",
        ),
        *("intent", "user_intent", "user_request", "user_input", "request", "confidence", "confirmation"),
        *("tool_call_id", "call_id", "request_id", "conversation_id", "type", "response", "reply", "answer"),
    )
)
"""Keys under which models write about a call, and not what it is to do."""
STARTING: Final = {"start": "turn_on", "activate": "turn_on", "stop": "turn_off"}
"""What these actions mean to devices that can only be turned on and off."""
BESIDE: Final = frozenset(("name", "function", "tool", "tool_name", "type", "id"))
"""Keys that are allowed beside an object that holds all arguments."""
MIN_VERB: Final = 3
MAX_NEAR: Final = 3
SCRIPT_PREFIX: Final = "script."


@dataclass(frozen=True, slots=True)
class ClearOrder:
    """The arguments of a call of ha_control as they were meant."""

    args: dict[str, Any]
    meanings: Mapping[str, str] = field(default_factory=dict)
    """What the action means by domain, where it means something else than elsewhere."""
    rules: tuple[str, ...] = ()
    """What was put right."""
    error: ValidationError | None = None
    """What is wrong with the action, if the tool cannot read it either."""


def read_order(
    args: Mapping[str, Any], sentence: str, language: str, choices: Sequence[str] = ()
) -> ClearOrder:
    """Return arguments of ha_control with an action by its name, and without remarks.

    The error about a missing or unknown action names the nearest of `choices`.
    """
    rules = []
    found = dict(args)
    if (inner := _inside(found)) is not None:
        found = inner
        rules.append("order_unwrapped")
    if (flat := _with_open_target(found)) is not found:
        found = flat
        rules.append("target_opened")
    if len(kept := _without_remarks(found)) < len(found):
        found = kept
        rules.append("remark_dropped")
    verb = _verb_of(found, language)
    if verb is None:
        if (verb := _missing_verb(found, sentence, language)) is None:
            error = _no_action("is missing", "", sentence, language, choices)
            return ClearOrder(found, {}, tuple(rules), error)
        found["action"] = verb
        rules.append("action_found")
    elif _is_unknown(verb):
        error = _no_action(f"{verb[:40]!r} is no action", verb, sentence, language, choices)
        return ClearOrder(found, {}, tuple(rules), error)
    elif verb not in texts(found.get("action")):
        found = {"action": verb, **{key: value for key, value in found.items() if key not in ACTION_KEYS}}
        rules.append("action_translated")
    return ClearOrder(found, dict(_meanings(verb, found, sentence, language)), tuple(rules))


def _is_unknown(verb: str) -> bool:
    """Return whether a word is no action, and none that only reads, of which the tool itself tells more."""
    try:
        read_verb(verb)
    except probatio.Invalid as err:
        return QueryTool.name not in str(err)
    return False


def _no_action(
    problem: str, verb: str, sentence: str, language: str, choices: Sequence[str]
) -> ValidationError:
    """Return the error for an action that is missing or unknown: first what the sentence may mean."""
    near = get_close_matches(verb.casefold(), choices, MAX_NEAR, CLOSE) if verb else []
    likely = [*suggested(sentence, language, choices), *near]
    return ValidationError(f"ha_control: action: {problem}. Allowed: {listed([*likely, *choices])}")


def _inside(args: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments in the only argument, if that is no slot but an object with an action."""
    holders = [key for key in args if key not in BESIDE]
    if len(holders) != 1 or any(args.get(key) for key in ACTION_KEYS):
        return None
    value = args[holders[0]]
    value = opened(value) if isinstance(value, str) else value
    if not isinstance(value, Mapping) or not set(ACTION_KEYS) & value.keys():
        return None
    return dict(value)


def _with_open_target(args: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with the target's own slots in place of an object that holds them."""
    target = args.get("target")
    if not isinstance(target, Mapping) or not target.keys() <= SLOT_WORDS.keys() - args.keys():
        return args
    return {**{key: value for key, value in args.items() if key != "target"}, **target}


def _without_remarks(args: dict[str, Any]) -> dict[str, Any]:
    """Return arguments without what is neither a target nor a value; a script may have fields of any name."""
    if any(text.startswith(SCRIPT_PREFIX) for text in texts(args.get("entity_id"))):
        return args
    return {key: value for key, value in args.items() if key not in REMARKS}


def _verb_of(args: Mapping[str, Any], language: str) -> str | None:
    """Return the action that the arguments name, None if they name none; an unknown one as it is."""
    said = next((found for key in ACTION_KEYS if (found := texts(args.get(key)))), ())
    if not said:
        return None
    with suppress(probatio.Invalid):
        return read_verb(" ".join(said))
    return verb_in_words(" ".join(said), language) or said[0]


def verb_in_words(text: str, language: str) -> str | None:
    """Return the action of a verb in the speaker's language, or else in any other."""
    word = " ".join(fold(text.replace("_", " ")).split())
    own = find(language)
    for known in (own, *(other for other in languages() if other != own)):
        if known is not None and (verb := _verbs(known).get(word)):
            return verb
    return None


def first_verb(text: str, language: str) -> str | None:
    """Return the action whose verb a text begins with, in the speaker's language or in English."""
    said = f"{' '.join(fold(text).split())} "
    for known in dict.fromkeys((find(language) or DEFAULT, DEFAULT)):
        found = [(len(word), verb) for word, verb in _verbs(known).items() if said.startswith(f"{word} ")]
        if found:
            return max(found)[1]
    return None


@cache
def _verbs(language: str) -> Mapping[str, str]:
    """Return the verbs of a language, each with its action."""
    named = {"on": "turn_on", "off": "turn_off"}
    held = table(language, "actions") or {}
    return {fold(word): named.get(name, name) for name, entries in held.items() for word in entries}


def _missing_verb(args: Mapping[str, Any], sentence: str, language: str) -> str | None:
    """Return the action of a call that names none: that of its values, or what the sentence says."""
    if _names_protected(args):
        return None
    values = {**args, **(args["parameters"] if isinstance(args.get("parameters"), Mapping) else {})}
    given = {key for key in values if key not in SLOT_WORDS and is_value(key)}
    if given:
        return None if given & _moving_names() else "set_value"
    return said_switch(sentence, language)


def is_value(key: str) -> bool:
    """Return whether a key is the name of a value that devices take."""
    return key in _value_names()


@cache
def _value_names() -> frozenset[str]:
    """Return the names of the values that devices take."""
    return frozenset(_names_of(DOMAINS))


@cache
def _moving_names() -> frozenset[str]:
    """Return the names of the values of locks, covers, valves and alarms."""
    return frozenset(_names_of(name for name, facts in DOMAINS.items() if facts.is_protected))


def _names_of(domains: Iterator[str] | Mapping[str, Any]) -> Iterator[str]:
    """Yield the parameters of domains, also by their other names."""
    for domain in domains:
        for name, parameter in DOMAINS[domain].parameters.items():
            yield from (name, *parameter.aliases.split())


def _names_protected(args: Mapping[str, Any]) -> bool:
    """Return whether a call names a lock, cover, valve or alarm by its id or its domain."""
    return any(DOMAINS[domain].is_protected for domain in _domains_named(args))


def _domains_named(args: Mapping[str, Any]) -> set[str]:
    """Return the domains that a call names, in ids and as domains."""
    ids = {text.casefold().partition(".")[0] for text in texts(args.get("entity_id")) if "." in text}
    return {domain for domain in (*ids, *texts(args.get("domain"))) if domain in DOMAINS}


def said_switch(sentence: str, language: str) -> str | None:
    """Return turn_on or turn_off if a sentence plainly says one of them."""
    own = find(language) or DEFAULT
    for known in dict.fromkeys((own, DEFAULT)):
        said = [verb for verb in ("turn_on", "turn_off") if _says(sentence, verb, known)]
        if said:
            return said[0] if len(said) == 1 else None
    return None


def _says(sentence: str, verb: str, language: str) -> bool:
    """Return whether a sentence has a verb of an action, or ends with its particle."""
    said = said_words(sentence)
    if any(f" {fold(phrase)} " in said for phrase in words(language, f"actions.{verb}")):
        return True
    for polite in words(language, "directions.trailing"):
        said = said.removesuffix(f"{fold(polite)} ")
    particles = words(language, f"actions.{verb.removeprefix('turn_')}")
    return said.endswith(tuple(f" {fold(particle)} " for particle in particles))


def _meanings(verb: str, args: Mapping[str, Any], sentence: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield what an action means to domains that do not have it."""
    named = _domains_named(args)
    if (plain := STARTING.get(verb)) and (named or texts(args.get("name"))):
        for domain, facts in DOMAINS.items():
            if facts.is_switched_with_everything and verb not in facts.actions and plain in facts.actions:
                yield domain, plain
    if verb not in ("turn_on", "turn_off"):
        return
    for domain in sorted(named):
        facts = DOMAINS[domain]
        meant: str = getattr(facts, verb)
        if (
            meant != verb
            and meant in facts.actions
            and _agrees(facts.actions[meant].opens, sentence, language)
        ):
            yield domain, meant


def _agrees(opens: bool | None, sentence: str, language: str) -> bool:
    """Return whether a sentence commands what an action does: to open, or to close."""
    return opens is None


def suggested(sentence: str, language: str, choices: Sequence[str]) -> list[str]:
    """Return those of the actions that a sentence has a verb for."""
    said = said_words(sentence)
    verbs = {**_verbs(DEFAULT), **_verbs(find(language) or DEFAULT)}
    named = [verb for word, verb in verbs.items() if len(word) >= MIN_VERB and f" {word} " in said]
    if switched := said_switch(sentence, language):
        named.insert(0, switched)
    return [verb for verb in dict.fromkeys(named) if verb in choices]
