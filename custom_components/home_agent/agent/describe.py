"""What calls do, in words: an action is data, which is asked about, told, or told for later in one sentence.

Everything that a yes would do is named, in the person's language. Names of entities are told apart, joined,
and have an article where one fits.
"""

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from enum import StrEnum
from functools import lru_cache, partial
from pathlib import Path
import re
from typing import Any, Final, NamedTuple

from homeassistant.const import (
    ATTR_ENTITY_ID,
    ATTR_FRIENDLY_NAME,
    MATCH_ALL,
    STATE_HOME,
    WEEKDAYS as WEEKDAY_NAMES,
)
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.helpers.translation import async_get_cached_translations, async_get_translations
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN
from ..domains import DOMAINS
from ..errors import HomeAgentError
from ..languages import DEFAULT, find, nearest, table, words
from ..planned.records import Schedule
from ..regex import lazy_regex
from ..safety.answers import Ordered
from ..safety.confirmation import PendingAction, Question
from ..safety.frozen import (
    MAX_THINGS,
    AutomationChange,
    Frozen,
    FrozenAutomation,
    FrozenCall,
    FrozenIntent,
    FrozenLook,
    FrozenPlan,
    FrozenTool,
)
from ..safety.rules import Effect
from ..texts import fold, fold_letters, one_line, visible
from ..timespans import EVERY_DAY, WEEKDAYS, WEEKEND, WORKDAYS, format_span
from ..tools.automating.writing import StateWords
from ..tools.control.planning import Settling, expectation_of
from ..tools.control.scripts import SCRIPT, fields_of, named_values
from ..tools.control.telling import act_of
from ..tools.intents import inner_name
from ..tools.messages import heard_on
from ..tools.naming import LEARN_NAME, LearnNameTool
from ..tools.pending import MAX_KINDS, calls_of_intent, data_of, told, told_message
from ..tools.recipients import TELEGRAM, is_message, is_spoken
from ..tools.resolving.resolver import plain
from ..tools.results import ToldAct, ToldTime, ToldValue, ValueKind

_TRANSLATIONS: Final = Path(__file__).parent.parent / "translations"
_LANGUAGES: Final[HassKey[frozenset[str]]] = HassKey(f"{DOMAIN}.languages")
_PLACES: Final = (
    ("selector", f"component.{DOMAIN}.selector.spoken.options.{{key}}"),
    ("selector", f"component.{DOMAIN}.selector.import_report.options.{{key}}"),
    ("selector", f"component.{DOMAIN}.selector.self_test.options.{{key}}"),
    ("selector", f"component.{DOMAIN}.selector.adding.options.{{key}}"),
    ("exceptions", f"component.{DOMAIN}.exceptions.{{key}}.message"),
)
"""Category and full name of a sentence in the translations."""


async def async_phrase(hass: HomeAssistant, language: str, key: str, **placeholders: str) -> str:
    """Return a sentence in a language, or in the nearest one there is, or in English."""
    await async_load_phrases(hass, language)
    return phrase(hass, language, key, **placeholders)


async def async_load_phrases(hass: HomeAssistant, language: str) -> None:
    """Load the sentences of a language, after which `phrase` has them."""
    if _LANGUAGES not in hass.data:
        files = await hass.async_add_executor_job(lambda: list(_TRANSLATIONS.glob("*.json")))
        hass.data[_LANGUAGES] = frozenset(path.stem for path in files)
    spoken = _spoken(hass, language)
    for category in dict.fromkeys(category for category, _ in _PLACES):
        await async_get_translations(hass, spoken, category, {DOMAIN})


@callback
def phrase(hass: HomeAssistant, language: str, key: str, **placeholders: str) -> str:
    """Return a sentence of a language that is loaded; one that asks for more than there is stays as it is."""
    sentence = _template(hass, language, key) or key.replace("_", " ")
    with suppress(KeyError, IndexError, ValueError):
        return sentence.format(**placeholders)
    return sentence


def _template(hass: HomeAssistant, language: str, key: str) -> str | None:
    spoken = _spoken(hass, language)
    for category, name in _PLACES:
        sentences = async_get_cached_translations(hass, spoken, category, DOMAIN)
        if sentence := sentences.get(name.format(key=key)):
            return sentence
    return None


async def async_error_sentence(hass: HomeAssistant, language: str, err: HomeAgentError) -> str:
    """Return the sentence for a user about an error."""
    return await async_phrase(hass, language, err.key, **(err.translation_placeholders or {}))


def _spoken(hass: HomeAssistant, language: str) -> str:
    asked = hass.config.language if language in ("", MATCH_ALL) else language
    known = hass.data.get(_LANGUAGES, frozenset())
    return nearest(asked, known, hass.config.country) or DEFAULT


SERVICE: Final = "service"
"""The act of any other service."""
SET: Final = "set"
SETTING: Final = {
    "climate.set_temperature": "temperature",
    "cover.set_cover_position": "position",
    "valve.set_valve_position": "position",
    "water_heater.set_temperature": "temperature",
}
"""Services that are said with their value, and its field."""
COUNTED: Final = frozenset(("cover", "light"))
"""Kinds with a word of their own where they are too many to name."""
DEVICE: Final = "device"
CLIMATE: Final = "climate"
MAX_NAME: Final = 32
"""Characters of an automation's name that a person has given; a longer one is a whole sentence."""
DAYS: Final = {EVERY_DAY: "every_day", WORKDAYS: "workdays", WEEKEND: "weekend"}

_WORD_ENDS = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBER_FORMS = lazy_regex(r"\[([^\[\]]*)\]")
"""Forms of a word by a number: `[one/other]`, or `[one/few/many]`."""


JOINTS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "es": ((" a el ", " al "),),
    "fr": ((" sur à ", " à "),),
    "it": ((r" su il (?=8|11\b)", " all'"), (" su il ", " al ")),
}
"""What a preposition and the article of a share in percent become."""
COMMAS: Final = dict.fromkeys(("ja", "zh"), "、")
"""What stands between the parts of a list, where that is no comma."""

FORMS: Final = {"done": 0, "undone": 0, "until": 0, "ask": 1, "later": 2, "once": 2}
"""The sentences around clauses, `<frame>_frame` in the translations, and the form that a clause has in each.

A clause, `do_<act>`, has up to three forms, separated by `|`. If one is missing, the last one is used.
"""


class NameCase(StrEnum):
    """What stands before a name in a sentence."""

    OBJECT = "object"
    """The verb: an article may follow."""
    SUBJECT = "subject"
    """Nothing: the article may differ from that of an object."""
    PREPOSITION = "preposition"
    """Often a preposition, which would change an article that depends on the name."""
    TITLE = "title"
    """A name of its own, such as that of a scene: no article."""


CASES: Final = dict.fromkeys(
    ("toggled", "unmuted", "undone", "plan_cancelled", "music_moved", SERVICE), NameCase.PREPOSITION
)
"""How the targets of an act are named; those of others are the object of the verb."""
TITLED: Final = frozenset(("automation", "scene", SCRIPT, "update"))
"""Kinds of entities that have titles."""


async def async_question(
    hass: HomeAssistant, language: str, frozen: Sequence[Frozen], left_out: bool = False
) -> Question:
    """Return the question about all that waits, as one sentence where that is clear."""
    rules = [item for item in frozen if isinstance(item, FrozenAutomation)]
    calls = [call for rule in rules for call in rule.calls] if rules else None
    spoken = await _async_describer(hass, language, frozen, calls)
    inner = [call for item in frozen if isinstance(item, FrozenPlan | FrozenIntent) for call in item.calls]
    is_marked = any(item.after_outside for item in (*frozen, *inner))
    reason = [spoken.phrase("after_outside")] if is_marked else []
    rest = [spoken.phrase("ask_left_out")] if left_out else []
    return Question(
        spoken=" ".join([*reason, *spoken.questions(frozen), *rest]),
        full=" ".join([*reason, *spoken._replace(full=True).questions(frozen), *rest]),
        details="\n".join(rule.yaml for rule in rules if rule.yaml),
    )


async def async_rule(
    hass: HomeAssistant,
    language: str,
    triggers: Sequence[Mapping[str, Any]],
    conditions: Sequence[Mapping[str, Any]],
    steps: Sequence[FrozenPlan],
) -> str:
    """Return an automation in words: when it starts, under which conditions, and what it does."""
    calls = [call for step in steps for call in step.calls]
    return (await _async_describer(hass, language, (), calls)).rule(triggers, conditions, steps)


async def async_deeds(
    hass: HomeAssistant, language: str, calls: Iterable[tuple[FrozenCall | None, bool]]
) -> list[str | None]:
    """Return a sentence for each call and whether it undid another one; None where there are no words."""
    describer = await _async_describer(hass, language, ())
    return [None if call is None else describer.deed(call, undone) for call, undone in calls]


async def async_told(hass: HomeAssistant, language: str, acts: Sequence[ToldAct]) -> str | None:
    """Return what was done as sentences; None if this language has no words for an act."""
    if any(value.kind is ValueKind.MODE for act in acts for value in act.values):
        for each in (language, DEFAULT):
            await async_get_translations(hass, each, "entity_component", {CLIMATE})
    return (await _async_describer(hass, language, [act.when for act in acts])).told(acts)


async def async_on_day(hass: HomeAssistant, language: str, moment: datetime) -> str:
    """Return a time of another day in words, for the end of a sentence."""
    return (await _async_describer(hass, language, ())).on_day(dt_util.as_local(moment))


async def async_when(hass: HomeAssistant, language: str, schedule: Schedule) -> str:
    """Return what something waits for that was planned, in words."""
    when = ToldTime.of(schedule)
    return (await _async_describer(hass, language, [when])).moment(when) or ""


async def _async_describer(
    hass: HomeAssistant,
    language: str,
    items: Iterable[object],
    calls: Iterable[FrozenCall] | None = None,
) -> _Describer:
    """Return what puts items into words, with the names of states where one of them has clauses.

    `calls` are those of automations, whose actions are told by Home Assistant's names; None without any.
    """
    await async_load_phrases(hass, language)
    if domains := {call.domain for call in calls or ()}:
        await async_get_translations(hass, language, "services", domains)
    names = ("event", "conditions", "triggers")
    has_clauses = calls is not None or any(getattr(item, name, None) for item in items for name in names)
    return _Describer(hass, language, await StateWords.async_load(hass, language) if has_clauses else None)


def parts(frozen: Iterable[Frozen]) -> list[Frozen]:
    """Return the pending parts, with an intent as the calls that it makes."""
    return [
        part
        for item in frozen
        for part in (calls_of_intent(item) if isinstance(item, FrozenIntent) else (item,))
    ]


def merged[Item](items: Iterable[Item]) -> list[Item]:
    """Return items that differ only by their entities as one; what is special stays as it is."""
    rows: list[Any] = []
    item: Any
    for item in items:
        for index, other in enumerate(rows):
            if _are_alike(other, item):
                entity_ids = tuple(dict.fromkeys((*other.entity_ids, *item.entity_ids)))
                rows[index] = replace(other, entity_ids=entity_ids)
                break
        else:
            rows.append(item)
    return rows


def _are_alike(item: object, other: object) -> bool:
    match item, other:
        case FrozenCall(), FrozenCall():
            is_special = is_message(item.domain, item.service) or bool(item.contents or other.contents)
            same = (item.domain, item.service, item.data) == (other.domain, other.service, other.data)
            return same and not is_special and bool(item.entity_ids and other.entity_ids)
        case ToldAct(), ToldAct():
            same = replace(item, entity_ids=other.entity_ids, referents=other.referents) == other
            return same and bool(item.entity_ids and other.entity_ids)
    return False


class _Describer(NamedTuple):
    """Puts acts into words of one language, whose sentences are loaded."""

    hass: HomeAssistant
    language: str
    states: StateWords | None = None
    full: bool = False
    """Whether all is told, for people who read it; speech leaves out what is too long."""
    frame: str = "ask"
    """The sentence that clauses are for, where nothing else is said."""

    def phrase(self, key: str, number: int = 1, /, **values: str) -> str:
        """Return a sentence; `number` is how many it is about, where that changes a word."""
        return self._filled(self._find(key, number), values)

    def _filled(self, template: str, values: Mapping[str, str]) -> str:
        sentence = template.format(**values)
        for apart, joint in JOINTS.get(self._own, ()):
            sentence = re.sub(apart, joint, sentence)
        return sentence

    def _find(self, key: str, number: int = 1) -> str:
        """Return a sentence with its placeholders; nothing if there is none."""
        template = _template(self.hass, self.language, key) or ""
        return _NUMBER_FORMS.sub(lambda match: _of_number(match[1].split("/"), number, self._own), template)

    def clause(self, act: str, frame: str = "", **values: str) -> str:
        """Return what an act does in the form that a frame takes; nothing if it has no clause."""
        forms = self._find(f"do_{act}").split("|")
        return self._filled(forms[min(FORMS[frame or self.frame], len(forms) - 1)].strip(), values)

    def joined(self, texts: Sequence[str], key: str = "names_and") -> str:
        """Return texts as a list with "and" before the last one; `key` says what kind of texts they are."""
        if len(texts) < 2:
            return "".join(texts)
        return self.phrase(key, first=listed(texts[:-1], self._own), last=texts[-1])

    # Asking.

    def questions(self, frozen: Iterable[Frozen]) -> list[str]:
        """Return the questions about parts: one for all of now, one for all of later, and special ones.

        What has effects in groups, scripts or scenes is a question of its own, which names these effects.
        A message to several receivers is one question.
        """
        now: list[str] = []
        later: list[str] = []
        special: list[str] = []
        items = merged(parts(frozen))
        for item in items:
            if isinstance(item, FrozenAutomation):
                if item.change in (AutomationChange.ON, AutomationChange.OFF):
                    special.append(self._framed([self.clause(item.change.value, targets=item.name)]))
                    continue
                # Of one that is changed, the rule has the parts that are new.
                rule = self.rule(item.triggers, item.conditions, item.steps)
                special.append(self.phrase(f"ask_automation_{item.change.value}", name=item.name, rule=rule))
            elif isinstance(item, FrozenCall) and is_message(item.domain, item.service):
                continue
            elif contents := [
                effect
                for call in (item.calls if isinstance(item, FrozenPlan) else (item,))
                if isinstance(call, FrozenCall | FrozenTool)
                for effect in call.contents
            ]:
                effects, remarks = self._effects(contents)
                if isinstance(item, FrozenPlan):
                    clauses = [self._plan(item, effects)]
                else:
                    clauses = [self._clause(item), *effects]
                special += [self._framed(clauses), *remarks]
            else:
                (later if isinstance(item, FrozenPlan) else now).append(self._clause(item))
        for kind, targets, text in self._messages(items):
            special.append(self.phrase(f"ask_{kind}", targets=targets, message=text))
        asked = [self._framed(clauses) for clauses in (now, later) if clauses]
        return list(dict.fromkeys([*asked, *special]))

    def _framed(self, clauses: Iterable[str], frame: str = "ask", **values: str) -> str:
        """Return clauses as one sentence; a clause that another one follows may have another ending."""
        *before, last = dict.fromkeys(clauses)
        endings: Mapping[str, Sequence[str]] = table(self._own, "spoken_names.joined_endings") or {}
        for index, clause in enumerate(before):
            for follows, end in ((follows, end) for follows, ends in endings.items() for end in ends):
                if clause.endswith(end):
                    before[index] = clause.removesuffix(end) + follows
                    break
        return _capital(self.phrase(f"{frame}_frame", act=self.joined([*before, last], "ask_and"), **values))

    @property
    def _own(self) -> str:
        return find(self.language) or DEFAULT

    def _clause(self, item: Frozen) -> str:
        """Return the question about one part without what begins and ends a question."""
        match item:
            case FrozenPlan():
                return self._plan(item)
            case FrozenCall():
                return self.call(item)
            case FrozenLook():
                receivers = listed(map(self._receiver, item.sends), self._own)
                key = "look_send" if item.sends else "look"
                targets = names(self.hass, (item.entity_id,), self._own)
                return self.clause(key, targets=targets, receivers=receivers)
            case FrozenTool(args={"action": "wake", "name": name}):
                # Behind the time the name parts no verb, in no language.
                called = f" (“{visible(name)}”)" if name else ""
                return self._later(self.clause("alarm"), item, called)
            case FrozenTool(event=Mapping() as event):
                question = self.clause("reminder_once", message=visible(item.args["name"]))
                return self.phrase("once_asked", when=self._trigger(event), question=question)
            case FrozenTool(due=datetime() as due):
                when = self._when(due, item.days)
                return self.clause("reminder", message=visible(item.args["name"]), when=when)
            case FrozenTool(tool=LearnNameTool(), args=args):
                targets = self.joined(self.named((args["entity_id"],), NameCase.SUBJECT))
                return self.clause("learn_name", value=visible(args["name"]), targets=targets)
            case FrozenTool(tool=tool):
                name = _WORD_ENDS.sub(" ", inner_name(tool).rpartition("__")[2].removeprefix("Hass"))
                title = tool.title if tool.title and tool.title != tool.name else name.replace("_", " ")
                return self.clause("tool", tool=self._with_data(plain(title), data_of(item)))
        raise TypeError(item)

    def _plan(self, plan: FrozenPlan, effects: Iterable[str] = (), *, by_name: bool = False) -> str:
        """Return calls for later, or for a while, with their effects; a step without calls waits."""
        if not plan.calls:
            return self.phrase("auto_wait", time=format_span(plan.hold))
        clauses = [
            self.call(call, by_name=by_name)
            for call in merged(plan.calls)
            if not is_message(call.domain, call.service)
        ]
        for kind, targets, text in self._messages(plan.calls):
            clauses.append(self.clause(kind, targets=targets, message=text))
        clause = self.joined(list(dict.fromkeys([*clauses, *effects])), "ask_and")
        if plan.hold:
            clause = self.phrase("ask_held", time=format_span(plan.hold), act=clause)
        return self._only(self._later(clause, plan), plan.conditions) if plan.due else clause

    def _later(self, clause: str, item: FrozenPlan | FrozenTool, called: str = "") -> str:
        """Return a clause with the time or the event that its act waits for."""
        if item.event is not None:
            return self.phrase("once_asked", when=f"{self._trigger(item.event)}{called}", question=clause)
        assert item.due is not None
        days = item.days if isinstance(item, FrozenTool) else ()
        key = "ask_planned_again" if isinstance(item, FrozenPlan) and item.repeats else "ask_planned"
        return self.phrase(key, when=f"{self._when(item.due, days)}{called}", act=clause)

    def _only(self, when: str, conditions: Sequence[Mapping[str, Any]]) -> str:
        """Return a clause with what must hold then."""
        only = self.joined([self._trigger(config) for config in conditions])
        return self.phrase("auto_only", when=when, only=only) if only else when

    def moment(self, when: ToldTime) -> str:
        """Return when something happens: at a time or with an event, and what must hold then."""
        at = self._trigger(when.event) if when.event is not None else self._when(when.due, when.days)
        return self._only(at, when.conditions)

    def _messages(self, items: Iterable[Frozen]) -> Iterable[tuple[str, str, str]]:
        """Yield the kind of each message, all of its receivers, and its text."""
        receivers: dict[tuple[str, str], list[str]] = {}
        for call in items:
            if isinstance(call, FrozenCall) and is_message(call.domain, call.service):
                kind = "announce" if is_spoken(call.domain, call.service) else "message"
                text = told_message(call.data, full=self.full).text
                receivers.setdefault((kind, text), []).append(self._receiver(call))
        for (kind, text), named in receivers.items():
            yield kind, listed(dict.fromkeys(named), self._own), text

    def _receiver(self, call: FrozenCall) -> str:
        """Return the receiver of a message: the rooms of an announcement, a phone, a chat."""
        if is_spoken(call.domain, call.service):
            rooms = [(key, area_of(self.hass, key)) for key in heard_on(call)]
            named = [plain(area.name) if area else names(self.hass, (key,), self._own) for key, area in rooms]
            return listed(dict.fromkeys(named), self._own)
        if (call.domain, call.service) == TELEGRAM:
            chat = call.data.get("chat_id")
            titles = (
                part.title
                for entry in self.hass.config_entries.async_loaded_entries(call.domain)
                for part in entry.subentries.values()
                if part.data.get("chat_id") == chat
            )
            return plain(f"Telegram ({next(titles, chat)})")
        if call.entity_ids:
            return names(self.hass, call.entity_ids, self._own)
        return plain(call.service.removeprefix("mobile_app_").replace("_", " "))

    def call(self, call: FrozenCall, *, by_name: bool = False) -> str:
        """Return the question about one call; `by_name` says Home Assistant's own name of a service."""
        action = f"{call.domain}.{call.service}"
        act, data = self._act(call)
        if act.key == SERVICE and by_name:
            texts = async_get_cached_translations(self.hass, self.language, "services", call.domain)
            name = texts.get(f"component.{call.domain}.services.{call.service}.name", action)
            targets = self._targets(act, NameCase.TITLE)
            return self._with_data(f"{name}: {targets}" if targets else name, data)
        if not call.entity_ids:
            return self.clause("tool", tool=self._with_data(action, data))
        targets = self._with_data(self._targets(act), data)
        value = self.joined([*filter(None, map(self._value, act.values))])
        return self.clause(act.key, targets=targets, value=value, action=action)

    def _act(self, call: FrozenCall) -> tuple[ToldAct, Mapping[str, object]]:
        """Return what a call does, and the rest of its data."""
        action, data = f"{call.domain}.{call.service}", dict(data_of(call))
        key = act_of(call.domain, call.service)
        key = key if self._find(f"do_{key}") else SERVICE
        values: tuple[ToldValue, ...] = ()
        if isinstance(number := data.get(SETTING.get(action, "")), int | float):
            del data[SETTING[action]]
            key = SET
            degrees = ToldValue(ValueKind.TEXT, f"{number:g} {self.hass.config.units.temperature_unit}")
            is_share = SETTING[action] == "position"
            values = (ToldValue(ValueKind.PERCENT, number) if is_share else degrees,)
        variables = call.data.get("variables")
        if call.domain == SCRIPT and isinstance(variables, Mapping) and len(call.entity_ids) == 1:
            named = named_values(self.hass, variables, fields_of(self.hass, call.entity_ids[0]))
            data = dict(data_of(replace(call, data={**call.data, "variables": named})))
        return ToldAct(key=key, entity_ids=call.entity_ids, kind=call.domain, values=values), data

    def _targets(self, act: ToldAct, case: NameCase | None = None) -> str:
        """Return what an act is about by name; what is too much to be named is counted where it is spoken."""
        number = act.count or len(act.entity_ids)
        if not act.count and (self.full or number <= MAX_THINGS):
            case = case or (NameCase.SUBJECT if act.already else CASES.get(act.key, NameCase.OBJECT))
            return self.joined([*act.names, *self.named(act.entity_ids, case)])
        kind = act.kind if act.kind in COUNTED else DEVICE
        targets = self.phrase(f"count_{kind}", number, count=str(number))
        place = with_article(act.place, self.language, NameCase.PREPOSITION)
        return self.phrase("in_place", targets=targets, place=place) if place else targets

    def _with_data(self, name: str, data: Mapping[str, object]) -> str:
        text = told(data, full=self.full).text
        return f"{name} ({text})" if text else name

    def _effects(self, effects: Sequence[Effect]) -> tuple[list[str], list[str]]:
        """Return effects as clauses, with all that they reach by name, and remarks on what is not said."""
        targets: dict[tuple[str, str], dict[str, None]] = {}
        for effect in effects:
            if effect.known:
                own = targets.setdefault((effect.domain, effect.service), {})
                own |= dict.fromkeys([effect.entity_id] if effect.entity_id else ())
        whole, remarks = self._replace(full=True), []
        clauses = [
            whole.call(FrozenCall(domain=domain, service=service, entity_ids=tuple(own), data={}))
            for (domain, service), own in targets.items()
        ]
        if len(clauses) > MAX_KINDS and not self.full:
            remarks.append(self.phrase("does_more", count=str(len(clauses) - MAX_KINDS)))
            clauses = clauses[:MAX_KINDS]
        if any(not effect.known for effect in effects):
            remarks.append(self.phrase("does_unknown"))
        return clauses, remarks

    # Automations.

    def rule(
        self,
        triggers: Sequence[Mapping[str, Any]],
        conditions: Sequence[Mapping[str, Any]],
        steps: Sequence[FrozenPlan],
    ) -> str:
        """Return when an automation starts, under which conditions, and what it does."""
        rule = self.joined([self._trigger(config) for config in triggers], "auto_or")
        if conditions:
            only = self.joined([self._trigger(config) for config in conditions])
            rule = self.phrase("auto_only", when=rule, only=only) if rule else only
        if steps:
            later = self._replace(frame="later")
            clauses = [later._plan(step, by_name=True) for step in steps]  # noqa: SLF001 - the same class
            does = self.joined(clauses, "ask_and")
            rule = self.phrase("auto_then", when=rule, actions=does) if rule else does
        return _capital(rule).rstrip(".!?")

    def _trigger(self, config: Mapping[str, Any]) -> str:
        """Return a trigger or a condition, as Home Assistant writes it, in words."""
        kind = config.get("trigger") or config.get("condition")
        if kind in ("time", "sun"):
            window = self._window(config)
            if not (days := config.get("weekday")):
                return window
            named = self._days([WEEKDAY_NAMES.index(day) for day in days])
            return self.phrase("auto_on_days", when=window, days=named) if window else named
        ids = config.get(ATTR_ENTITY_ID) or config["conditions"][0][ATTR_ENTITY_ID]
        ids = [ids] if isinstance(ids, str) else list(ids)
        if kind == "not":
            inner = config["conditions"][0]
            is_person = ids[0].startswith("person.")
            if "zone" in inner:
                zone = self.hass.states.get(inner["zone"])
                key, values = "no_longer", {"state": one_line(zone.name) if zone else inner["zone"]}
            elif is_person and inner.get("state") == STATE_HOME:
                key, values = "is_away", {}
            else:
                key, values = "no_longer", self._states(inner, ids[0])[1]
        elif kind == "zone":
            key = {"enter": "arrives", "leave": "leaves"}.get(config.get("event", ""), "is_at")
            zone = self.hass.states.get(config["zone"])
            values = {"zone": one_line(zone.name) if zone else config["zone"]}
        elif kind == "numeric_state":
            key, values = self._number(config, ids[0])
        elif ids[0].startswith("person."):
            does = "comes" if config.get("to") == STATE_HOME else "leaves"
            is_anybody = len(ids) == len(self.hass.states.async_entity_ids("person")) > 1
            key, values = (f"somebody_{does}" if is_anybody else f"{does}_home"), {}
            if config.get("state") == STATE_HOME:
                key = "is_home"
        else:
            key, values = self._states(config, ids[0])
        case = NameCase.TITLE if ids[0].startswith("person.") else NameCase.OBJECT
        clause = self.phrase(f"auto_{key}", name=self.joined(self.named(ids, case)), **values)
        if "for" in config:
            clause = self.phrase("auto_for", clause=clause, time=_span(config["for"]))
        return self.phrase("auto_when", clause=clause)

    def _states(self, config: Mapping[str, Any], entity_id: str) -> tuple[str, dict[str, str]]:
        """Return the key of the sentence about states of an entity, and their names."""
        values = {}
        state = self.hass.states.get(entity_id)
        for key, name in (("from", "before"), ("to", "state"), ("state", "state")):
            if wanted := config.get(key):
                shown = [wanted] if isinstance(wanted, str) else list(wanted)
                if state is not None and self.states is not None:
                    shown = [self.states.shown(state, each).lower() for each in shown]
                values[name] = self.joined(shown, "auto_or")
        if "before" in values and "state" not in values:
            return "no_longer", {"state": values["before"]}
        return ("from_to" if "before" in values else "is" if values else "changes"), values

    def _number(self, config: Mapping[str, Any], entity_id: str) -> tuple[str, dict[str, str]]:
        if entity_id == "zone.home":
            return ("nobody_home" if "below" in config else "somebody_home"), {}
        state = self.hass.states.get(entity_id)
        unit = str(state.attributes.get("unit_of_measurement") or "") if state else ""
        if not unit and "temperature" in config.get("attribute", ""):
            unit = self.hass.config.units.temperature_unit
        limits = {side: f"{config[side]:g} {unit}".strip() for side in ("above", "below") if side in config}
        if len(limits) > 1:
            return "between", {"low": limits["above"], "high": limits["below"]}
        ((side, value),) = limits.items()
        return side, {"value": value}

    def _window(self, config: Mapping[str, Any]) -> str:
        if "at" in config:
            return self.phrase("auto_at", time=_clock(config["at"]))
        if "event" in config:
            return self._sun(config["event"], config.get("offset"))
        sides = {side: config[side] for side in ("after", "before") if side in config}
        if config["condition"] == "time":
            if "after" not in sides:
                return self.phrase("auto_before", time=_clock(sides["before"])) if sides else ""
            end = _clock(sides.get("before", "00:00"))
            return self.phrase("auto_between_times", start=_clock(sides["after"]), end=end)
        ends: list[str] = []
        for side, key in (("after", "from"), ("before", "until")):
            if offset := config.get(f"{side}_offset"):
                ends.append(self.phrase(f"auto_{key}", moment=self._sun(sides[side], offset)))
            elif side in sides:
                ends.append(self.phrase(f"auto_is_{side}_{sides[side]}"))
        return self.joined(ends)

    def _sun(self, event: str, offset: str | None) -> str:
        if not offset:
            return self.phrase(f"auto_{event}")
        side = "before" if offset.startswith("-") else "after"
        return self.phrase(f"auto_{side}_{event}", time=_span(offset.lstrip("-")))

    def _days(self, days: Sequence[int]) -> str:
        group = DAYS.get(tuple(days))
        keys = [group] if group else [WEEKDAYS[day].lower() for day in days]
        return self.joined([self.phrase(f"days_{key}") for key in keys])

    # Telling.

    def done(self, items: Iterable[Frozen]) -> str:
        """Return what became of parts that a person has confirmed."""
        acts: list[ToldAct] = []
        sentences: list[str] = []
        for item in items:
            match item:
                case FrozenCall() if item.entity_ids and (act := self._act(item)[0]).key != SERVICE:
                    acts.append(act)
                case FrozenPlan(due=datetime() as due, event=Mapping() as event):
                    when = self._only(self._trigger(event), item.conditions)
                    ends = dt_util.as_local(due)
                    time = f"{ends:%H:%M}" if ends.date() == dt_util.now().date() else self.on_day(ends)
                    sentences.append(_capital(self.phrase("done_once", when=when, time=time)))
                case FrozenPlan(due=datetime() as due):
                    sentences.append(_capital(self.phrase("done_planned", when=self._when(due))))
                case FrozenAutomation(change=AutomationChange.CREATE, name=name) if len(name) <= MAX_NAME:
                    sentences.append(self.phrase("done_automation", name=name))
                case FrozenTool(tool=LearnNameTool()):
                    sentences.append(self.phrase("done_remembered"))
                case FrozenLook():
                    sentences += item.seen
                    if item.sends:
                        key = "done_look_unsent" if item.unsent else "done_look_sent"
                        receivers = self.joined([self._receiver(message) for message in item.sends])
                        sentences.append(self.phrase(key, receivers=receivers))
        return " ".join(dict.fromkeys(filter(None, (self.told(acts), *sentences)))) or self.phrase("done")

    def deed(self, call: FrozenCall, undone: bool) -> str | None:
        """Return what a call has done; None if this language has no words for it."""
        if call.service == LEARN_NAME:
            return self.phrase("done_remembered")
        act = replace(self._act(call)[0], undone=undone)
        return self.told([act]) if call.entity_ids and act.key != SERVICE else None

    def told(self, acts: Iterable[ToldAct]) -> str | None:
        """Return what was done as few sentences; None if this language has no words for an act."""
        rows: dict[tuple[str, str], list[str]] = {}
        for act in merged(acts):
            values = [self._value(value) for value in act.values]
            if None in values:
                return None
            targets, value = self._targets(act), self.joined([*filter(None, values)])
            place = with_article(act.place, self.language, NameCase.PREPOSITION)
            words = {"targets": targets, "value": value, "place": place}
            frame, when = "undone" if act.undone else "done", ""
            if act.when is not None:
                frame = "once" if act.when.event or act.when.conditions else "later"
                when = self.moment(act.when)
            elif act.until is not None:
                frame, when = "until", f"{dt_util.as_local(act.until):%H:%M}"
            if clause := "" if act.already else self.clause(act.key, frame, **words):
                rows.setdefault((frame, when), []).append(clause)
            elif frame != "done":
                return None
            else:
                keys = (f"already_{act.key}", "already") if act.already else (f"done_{act.key}",)
                plurals = [self.phrase(f"count_{kind}", 2, count="").strip() for kind in (*COUNTED, DEVICE)]
                is_plural = targets.lower().endswith(tuple(map(str.lower, plurals)))
                number = act.count or (2 if is_plural else len(act.entity_ids))
                rows["", self.phrase(next(filter(self._find, keys)), number, **words)] = []
        sentences = [
            self._framed(clauses, frame, when=when) if frame else _capital(when)
            for (frame, when), clauses in rows.items()
        ]
        return " ".join(sentences) or None

    def _when(self, due: datetime, days: Sequence[int] = ()) -> str:
        """Return a time to come as it is spoken: with its day, if that is not today."""
        local = dt_util.as_local(due)
        ahead = (local.date() - dt_util.now().date()).days
        if days or not ahead:
            at = self.phrase("auto_at", time=f"{local:%H:%M}")
            return self.phrase("auto_on_days", when=at, days=self._days(days)) if days else at
        if ahead == 1:
            return self.phrase("at_tomorrow", time=f"{local:%H:%M}")
        at = self.phrase("auto_at", time=f"{local:%H:%M}")
        return self.phrase("auto_on_days", when=at, days=self.phrase("on_date", date=self.day(local)))

    def on_day(self, moment: datetime) -> str:
        """Return a time with its day, for the end of a sentence."""
        return f"{moment:%H:%M}, {self.day(moment)}"

    def day(self, moment: date) -> str:
        """Return a day of this year or the next one as it is spoken."""
        return self.phrase("dates", moment.day, day=str(moment.day)).split("|")[moment.month - 1]

    def _value(self, value: ToldValue) -> str | None:
        """Return a value as it is spoken; None if this language has no word for it."""
        match value.kind:
            case ValueKind.PERCENT | ValueKind.DEGREES:
                whole, _, part = f"{value.value:g}".partition(".")
                number = self.phrase("value_decimal", whole=whole, part=part) if part else whole
                return self.phrase(f"value_{value.kind}", number=number)
            case ValueKind.COLOR if self._own != DEFAULT:
                return next(iter(words(self._own, f"names.colors.{value.value}")), None)
            case ValueKind.MODE:
                key = f"component.{CLIMATE}.entity_component._.state.{value.value}"
                own, english = (
                    async_get_cached_translations(self.hass, each, "entity_component", CLIMATE).get(key)
                    for each in (self.language, DEFAULT)
                )
                return own if self._own == DEFAULT or own != english else None
        return str(value.value)

    # Names.

    def named(self, entity_ids: Sequence[str], case: NameCase) -> list[str]:
        """Return the names of entities, with an article where one fits."""
        return [
            name
            if entity_id.partition(".")[0] in TITLED or name == entity_id
            else with_article(name, self.language, case)
            for entity_id in entity_ids
            for name in (_name(self.hass, entity_id),)
        ]


def _capital(sentence: str) -> str:
    """Return a sentence with a capital letter at its beginning, whatever stands before that."""
    start = next((index for index, letter in enumerate(sentence) if letter.isalnum()), 0)
    return sentence[:start] + sentence[start : start + 1].upper() + sentence[start + 1 :]


def _of_number(forms: Sequence[str], number: int, language: str) -> str:
    """Return the form of a word for a number: of two for one and more, of three also for few."""
    last = number if language == "cs" or 10 < number % 100 < 15 else number % 10
    is_one = number == 1 or (last == 1 and language in ("ru", "uk"))
    return forms[min(0 if is_one else 1 if last in (2, 3, 4) else 2, len(forms) - 1)]


def _clock(value: str) -> str:
    return value.removesuffix(":00") if value.count(":") > 1 else value


def _span(value: str) -> str:
    length = dt_util.parse_duration(value)
    return format_span(length.total_seconds()) if length else value


def with_article(name: str, language: str, case: NameCase) -> str:
    """Return the name of a device or a room with the article that a language puts before it."""
    own = find(language) or DEFAULT
    first, *others = fold(name).split() or [""]
    if case is NameCase.TITLE or not name:
        return name
    if always := next(iter(words(own, "spoken_names.always")), ""):
        owners = tuple(words(own, "spoken_names.owners"))
        is_owned = any(word.endswith(owners) for word in name.replace("’", "'").split())  # noqa: RUF001
        return name if is_owned or first in words(own, "spoken_names.without") else f"{always} {name}"
    if case is NameCase.PREPOSITION:
        return name
    compounds = bool(table(own, "spoken_names.compounds"))
    fitting = [
        # "Rolladen" and "Rolläden" differ only by what people may leave out.
        (len(noun), written in name.lower(), article)
        for article, nouns in (table(own, "spoken_names.by_noun") or {}).items()
        for written, noun in zip(nouns, map(fold, nouns), strict=True)
        # An adjective before the noun would have to change with the article.
        if ((not others and first.endswith(noun)) if compounds else first == noun)
    ]
    if not fitting:
        return name
    *_, article = max(fitting)
    if case is NameCase.SUBJECT:
        article = "".join((table(own, "spoken_names.subjects") or {}).get(article, article))
    return f"{article}{name}" if article.endswith("'") else f"{article} {name}"


@callback
def names(hass: HomeAssistant, entity_ids: Sequence[str], language: str) -> str:
    """Return the names of entities, with commas between them."""
    return listed((_name(hass, entity_id) for entity_id in entity_ids), find(language) or DEFAULT)


def listed(texts: Iterable[str], language: str) -> str:
    """Return texts with the commas of a language that has words of its own."""
    return COMMAS.get(language, ", ").join(texts)


def _name(hass: HomeAssistant, entity_id: str) -> str:
    """Return the name of an entity, with its room or its id where another one is called alike."""
    state = hass.states.get(entity_id)
    name = plain(str((state.attributes.get(ATTR_FRIENDLY_NAME) if state else None) or entity_id))
    alike = [
        other.entity_id
        for other in hass.states.async_all(entity_id.partition(".")[0])
        if state and other is not state and _as_heard(other.name) == _as_heard(state.name)
    ]
    if not alike:
        return name
    area = area_of(hass, entity_id)
    if area and not any(other.name == area.name for other in map(partial(area_of, hass), alike) if other):
        return f"{name} ({plain(area.name)})"
    return f"{name} ({entity_id})"


@lru_cache(maxsize=4096)
def _as_heard(name: str) -> str:
    return fold_letters(plain(name))


def area_of(hass: HomeAssistant, entity_id: str) -> ar.AreaEntry | None:
    """Return the area of an entity, or else that of its device."""
    if (entry := er.async_get(hass).async_get(entity_id)) is None:
        return None
    area_id = er.async_get_effective_area_id(hass, entry)
    return ar.async_get(hass).async_get_area(area_id) if area_id else None


async def async_carry_out(
    hass: HomeAssistant, action: PendingAction, language: str, approving: Awaitable[None]
) -> tuple[str, HomeAgentError | None]:
    """Run an action by an approval of it; return what became of it as a sentence, and the error if it failed.

    The error is ConfirmationRefused where the word did not count.
    """
    items = [
        call
        for part in parts(action.frozen)
        for call in (part.calls if isinstance(part, FrozenPlan) and part.due is None else (part,))
    ]
    expected = {
        entity_id: expectation
        for call in items
        if isinstance(call, FrozenCall) and (expectation := expectation_of(call.domain, call.service))
        for entity_id in call.entity_ids
    }
    settling = Settling(hass, expected)
    try:
        await approving
        if expected:
            await settling.async_wait()
    except HomeAgentError as err:
        return await async_error_sentence(hass, language, err), err
    finally:
        settling.stop()
    seen = {entity_id: hass.states.get(entity_id) for entity_id in expected}
    waiting = [entity_id for entity_id, state in seen.items() if not expected[entity_id].is_told(state)]
    unseen = [entity_id for entity_id in waiting if not expected[entity_id].is_reached(seen[entity_id])]
    describer = await _async_describer(hass, language, items)
    if waiting:
        targets = describer.joined(describer.named(unseen or waiting, NameCase.PREPOSITION))
        return describer.phrase("done_unseen" if unseen else "done_begun", targets=targets), None
    return describer.done(items), None


@callback
def ordered(hass: HomeAssistant, frozen: Sequence[Frozen]) -> Ordered:
    """Return the verbs and the names by which a person may repeat what was asked about, beside a yes."""
    calls = [
        call for part in parts(frozen) for call in (part.calls if isinstance(part, FrozenPlan) else (part,))
    ]
    verbs: list[frozenset[str]] = []
    for call in calls:
        # People have no single verb for anything but a call.
        if isinstance(call, FrozenCall):
            named = DOMAINS[call.domain].actions.items()
            fitting = [(name, *action.also_said) for name, action in named if action.service == call.service]
            verbs.append(frozenset(verb for names in fitting for verb in names))
        else:
            verbs.append(frozenset())
    targets = {entity_id for call in calls if isinstance(call, FrozenCall) for entity_id in call.entity_ids}
    names: list[str] = []
    if len(targets) == 1 and len(calls) == 1:
        (entity_id,) = targets
        if (state := hass.states.get(entity_id)) is not None:
            names.append(state.name)
        if (entry := er.async_get(hass).async_get(entity_id)) is not None:
            names.extend(alias for alias in entry.aliases if isinstance(alias, str))
    return Ordered(frozenset.intersection(*verbs) if verbs else frozenset(), tuple(names))
