"""Suggestions: habits are offered as automations, and made only when an administrator says yes."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any, Final

from homeassistant.auth.models import User
from homeassistant.components.climate.const import (
    ATTR_HVAC_MODE,
    ATTR_HVAC_MODES,
    ATTR_MAX_TEMP,
    ATTR_MIN_TEMP,
)
from homeassistant.const import ATTR_ENTITY_ID, ATTR_TEMPERATURE, WEEKDAYS
from homeassistant.core import CALLBACK_TYPE, Context, HomeAssistant, State, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.event import async_track_time_change
from homeassistant.helpers.translation import async_get_translations
from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from ..agent.describe import async_phrase
from ..channels.phones import async_on_press
from ..const import EVENT_SUGGESTION_REQUESTED, EVENT_SUGGESTION_RESOLVED, LOGGER
from ..domains import DOMAINS
from ..events import EventEmitter
from ..issues import report, withdraw
from ..knowledge.speaker import Speaker, async_person_of_user, persons
from ..memory.learner.habits import DAY_BEGINS, EVERY_DAY, Habit, async_sentence, clock, days_key
from ..regex import lazy_regex
from ..safety.frozen import ServiceCall
from ..tools.automating.kept import (
    AutomationEdit,
    AutomationRefusedError,
    OwnAutomation,
    OwnAutomations,
    async_add,
    async_check,
    calls_in,
)
from ..tools.guard import Guard
from ..tools.recipients import user_id_of
from .messenger import Messenger, speakable
from .state import ProactiveState, Suggestion, SuggestionAnswer, SuggestionState

_MODE: Final = lazy_regex(r"^[a-z0-9_]{1,40}$")


@callback
def draft(hass: HomeAssistant, habit: Habit, name: str, text: str) -> dict[str, Any] | None:
    """Return the automation for a habit, None if no automation can replace it.

    `name` is that of the entity, `text` the habit in words; both may be anything.
    """
    domain = habit.subject.partition(".")[0]
    states = [hass.states.get(subject) for subject in habit.subjects]
    value, _, detail = habit.value.partition(":")
    service = DOMAINS[domain].suggested.get(value)
    found = [_data(state, value, detail) for state in states if state is not None]
    data = found[0] if found and len(found) == len(states) and None not in found else None
    if service is None or data is None:
        return None
    target = list(habit.subjects) if habit.others else habit.subject
    action: dict[str, Any] = {"action": f"{domain}.{service}", "target": {ATTR_ENTITY_ID: target}}
    if data:
        action["data"] = dict(data)
    at = clock(habit.minute)
    conditions = []
    if habit.days != EVERY_DAY:
        # Actions after midnight belong to the evening before.
        hours, minutes = at.split(":")
        late = int(hours) * 60 + int(minutes) < DAY_BEGINS
        days = sorted((day + late) % len(WEEKDAYS) for day in habit.days)
        conditions = [{"condition": "time", "weekday": [WEEKDAYS[day] for day in days]}]
    return {
        "alias": f"{speakable(name)}, {at}",
        "description": " ".join(text.split())[:500],
        "triggers": [{"trigger": "time", "at": f"{at.zfill(5)}:00"}],
        "conditions": conditions,
        "actions": [action],
        "mode": "single",
    }


def _data(state: State, value: str, detail: str) -> dict[str, Any] | None:
    """Return the parameters of a call; None for a value that the entity does not take.

    Values of actions are templates to Home Assistant, so only plain ones pass.
    """
    if state.domain != "climate":
        return {}
    if value == "temperature":
        try:
            degrees = float(detail)
        except ValueError:
            return None
        low, high = state.attributes.get(ATTR_MIN_TEMP), state.attributes.get(ATTR_MAX_TEMP)
        fits = isfinite(degrees) and (low is None or degrees >= low) and (high is None or degrees <= high)
        return {ATTR_TEMPERATURE: degrees} if fits else None
    mode = "off" if value == "off" else detail
    modes = [str(known) for known in state.attributes.get(ATTR_HVAC_MODES) or ()]
    return {ATTR_HVAC_MODE: mode} if _MODE.match(mode) and mode in modes else None


SURE: Final = 0.7
"""The least confidence of a habit."""
MAX_OPEN: Final = 3
"""Suggestions that wait at once."""
SEVERAL: Final = 2
"""Persons of a household in which one has something to keep from another."""
BUTTON: Final = "HOME_AGENT_SUGGESTION"
BUTTONS: Final = (SuggestionAnswer.ACCEPT, SuggestionAnswer.REJECT)
ISSUE: Final = "suggestion"
"""The key of the repair issue in which administrators answer."""
SETTLES: Final[Mapping[SuggestionAnswer, SuggestionState]] = {
    SuggestionAnswer.ACCEPT: SuggestionState.ACCEPTED,
    SuggestionAnswer.REJECT: SuggestionState.REJECTED,
    SuggestionAnswer.LATER: SuggestionState.POSTPONED,
}
"""What an answer makes of a suggestion; a preview leaves it open."""


class Suggestions:
    """The suggestions of one entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry_id: str,
        *,
        state: ProactiveState,
        messenger: Messenger,
        guard: Guard,
        emitter: EventEmitter,
        habits: Callable[[], Sequence[Habit]],
        automations: OwnAutomations,
    ) -> None:
        self._hass = hass
        self._entry_id = entry_id
        self._state = state
        self._messenger = messenger
        self._guard = guard
        self._emitter = emitter
        self._habits = habits
        self._automations = automations
        self._working = asyncio.Lock()

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Suggest once a day, when the quiet hours end, and take answers; return how to stop that."""
        at = self._messenger.quiet.end
        ends = (
            async_track_time_change(
                self._hass, self.async_consider, hour=at.hour, minute=at.minute, second=at.second
            ),
            async_on_press(self._hass, self._async_pressed),
        )

        for suggestion in self.waiting():
            self._show(suggestion)

        @callback
        def stop() -> None:
            for end in ends:
                end()
            for suggestion in self._state.suggestions.values():
                withdraw(self._hass, _tag(suggestion))

        return stop

    @callback
    def waiting(self) -> list[Suggestion]:
        """Return the suggestions that can be answered now."""
        now = dt_util.utcnow()
        return [item for item in self._state.suggestions.values() if item.is_open(now)]

    @callback
    def _show(self, suggestion: Suggestion) -> None:
        """Put a suggestion among the repairs, unless it is not for all administrators."""
        if self._is_shown(suggestion.kind.person):
            report(
                self._hass,
                _tag(suggestion),
                ISSUE,
                fix={"entry_id": self._entry_id, "suggestion_id": suggestion.id},
                alias=str(suggestion.config["alias"]),
            )

    @callback
    def all(self) -> list[Suggestion]:
        """Return all suggestions, the newest first."""
        return list(reversed(self._state.suggestions.values()))

    async def async_consider(self, now: datetime) -> None:
        """Drop unanswered suggestions, and suggest the new habit with the highest confidence."""
        async with self._working:
            self._expire(now)
            waiting = sum(item.is_open(now) for item in self._state.suggestions.values())
            if waiting >= MAX_OPEN or not self._messenger.may_send(now):
                return
            for habit in sorted(self._habits(), key=lambda habit: -habit.confidence):
                whose = habit.person
                if not (self._is_shown(whose) or await self._async_asked(whose)):
                    continue
                if (suggestion := await self._async_suggestion(habit, now)) is not None:
                    self._state.add(suggestion)
                    await self._async_ask(suggestion)
                    return

    async def _async_suggestion(self, habit: Habit, now: datetime) -> Suggestion | None:
        """Return the suggestion for a habit; None if it is known, forbidden or not automatable."""
        silenced = any(item.silences(habit, now) for item in self._state.suggestions.values())
        if habit.confidence < SURE or silenced:
            return None
        text = await async_sentence(
            self._phrase, habit, speakable(habit.name), "", str(self._hass.config.units.temperature_unit)
        )
        config = draft(self._hass, habit, habit.name, text)
        if config is None or not self._is_free(config, None, self._speaker()):
            return None
        suggestion_id = ulid_now()
        try:
            await async_check(self._hass, suggestion_id, config)
        except AutomationRefusedError as err:
            LOGGER.warning("A habit cannot become an automation: %s", err)
            return None
        return Suggestion(
            id=suggestion_id,
            kind=habit.kind,
            habit=habit.id,
            text=text,
            words=await self._async_words(habit, *calls_in(config)),
            config=config,
            created_at=now,
        )

    async def _async_words(self, habit: Habit, call: ServiceCall) -> str:
        language = self._hass.config.language
        texts = await async_get_translations(self._hass, language, "services", {call.domain})
        action = texts.get(f"component.{call.domain}.services.{call.service}.name")
        details = ", ".join(str(value) for value in call.data.values())
        return await self._phrase(
            "suggest_words",
            days=await self._phrase(f"days_{days_key(habit.days)}"),
            time=clock(habit.minute),
            action=action or f"{call.domain}.{call.service}",
            name=speakable(habit.name) + (f" ({details})" if details else ""),
        )

    async def async_answer(
        self, suggestion_id: str, answer: SuggestionAnswer, user: User | None
    ) -> Suggestion:
        """Take an answer; a yes makes the automation.

        Raises AutomationRefusedError if it does not count or cannot be done.
        """
        async with self._working:
            now = dt_util.utcnow()
            self._expire(now)
            suggestion = self._state.suggestions.get(suggestion_id)
            if suggestion is None or not suggestion.is_open(now):
                raise AutomationRefusedError("suggestion_unknown", suggestion_id=suggestion_id[:40])
            if answer is SuggestionAnswer.ACCEPT:
                if user is None or not user.is_admin or not user.is_active:
                    raise AutomationRefusedError("suggestion_needs_admin")
                person = await async_person_of_user(self._hass, user.id)
                speaker = self._speaker(Context(user_id=user.id), person.id if person else None)
                if not self._is_free(suggestion.config, user, speaker):
                    raise AutomationRefusedError("suggestion_forbidden")
                await async_add(self._hass, suggestion.id, suggestion.config, speaker.context)
                own = OwnAutomation(
                    id=suggestion.id,
                    alias=str(suggestion.config["alias"]),
                    language=self._hass.config.language,
                    user_id=user.id,
                    config=suggestion.config,
                )
                self._automations.note(AutomationEdit.by(speaker, None, own))
            if answer in SETTLES:
                self._settle(suggestion, SETTLES[answer])
            return suggestion

    @callback
    def _settle(self, suggestion: Suggestion, state: SuggestionState) -> None:
        """Record the outcome of a suggestion, and remove the question."""
        suggestion.state, suggestion.settled_at = state, dt_util.utcnow()
        self._state.changed()
        self._emitter.fire(
            EVENT_SUGGESTION_RESOLVED, {"suggestion_id": suggestion.id, "outcome": state.value}
        )
        self._take_away(suggestion)

    @callback
    def _take_away(self, suggestion: Suggestion) -> None:
        """Take the question away, where it was put."""
        withdraw(self._hass, _tag(suggestion))

        async def clear() -> None:
            await self._messenger.async_clear(
                _tag(suggestion), await self._async_asked(suggestion.kind.person)
            )

        self._hass.async_create_task(clear(), "home_agent notification")

    @callback
    def _expire(self, now: datetime) -> None:
        for suggestion in self._state.suggestions.values():
            if suggestion.state is SuggestionState.OPEN and not suggestion.is_open(now):
                self._settle(suggestion, SuggestionState.EXPIRED)

    @callback
    def forget(self, *, person: str | None = None, habits: Collection[str] = ()) -> int:
        """Forget suggestions based on a person's habits, or on certain ones; return how many."""
        known = self._state.suggestions.values()
        gone = [item for item in known if item.habit in habits or (person and item.kind.person == person)]
        for suggestion in gone:
            self._take_away(suggestion)
        if gone:
            self._state.drop({item.id for item in gone})
        return len(gone)

    async def _async_ask(self, suggestion: Suggestion) -> None:
        """Send the question to those who may answer, on their phones and in Home Assistant."""
        whose = suggestion.kind.person
        ask = await self._phrase("suggest_ask")
        how = await self._phrase("suggest_how")
        self._show(suggestion)
        self._emitter.fire(
            EVENT_SUGGESTION_REQUESTED,
            {
                "suggestion_id": suggestion.id,
                "summary": suggestion.text if whose is None else "",
                "expires_at": suggestion.expires_at.isoformat(),
            },
        )
        message = f"{suggestion.text} {ask}\n\n{suggestion.words}"
        buttons = [
            {
                "action": f"{BUTTON}_{answer.name}_{suggestion.id}",
                "title": await self._phrase(f"suggest_{answer.value}"),
                # The phone has to be unlocked for a yes.
                **({"authenticationRequired": True} if answer is SuggestionAnswer.ACCEPT else {}),
            }
            for answer in BUTTONS
        ]
        await self._messenger.async_send(
            _tag(suggestion),
            message,
            await self._async_asked(whose),
            shown=f"{message}\n\n{how}",
            openly=self._is_shown(whose),
            buttons=buttons,
        )

    async def _async_asked(self, whose: str | None) -> list[str]:
        """Return the administrators who can be asked; only the person concerned for a personal habit."""
        found = []
        for entity_id in self._messenger.persons:
            user_id = user_id_of(self._hass, entity_id)
            user = await self._hass.auth.async_get_user(user_id) if user_id else None
            if user is None or not (user.is_admin and user.is_active):
                continue
            person = await async_person_of_user(self._hass, user_id)
            if whose is None or (person is not None and person.id == whose):
                found.append(entity_id)
        return found

    @callback
    def _is_shown(self, whose: str | None) -> bool:
        """Return whether everyone may read a question: not if it concerns one of several persons."""
        return whose is None or sum(1 for _ in persons(self._hass)) < SEVERAL

    async def _async_pressed(self, user: User, button: str, _reply: str) -> None:
        kind, _, suggestion_id = button.removeprefix(f"{BUTTON}_").partition("_")
        suggestion = self._state.suggestions.get(suggestion_id)
        if suggestion is None or kind not in {answer.name for answer in BUTTONS} or not user.is_admin:
            return
        try:
            await self.async_answer(suggestion_id, SuggestionAnswer[kind], user)
        except HomeAssistantError as err:
            LOGGER.info("The answer of a phone has no effect: %s", err)
            message = str(err)
        else:
            if suggestion.state is not SuggestionState.ACCEPTED:
                return
            message = await self._phrase("done_automation", name=suggestion.config["alias"])
        whose = suggestion.kind.person
        await self._messenger.async_send(
            f"reply_{suggestion_id[-8:]}",
            message,
            await self._async_asked(whose),
            asked_for=True,
            openly=self._is_shown(whose),
        )

    def _is_free(self, config: Mapping[str, Any], user: User | None, speaker: Speaker) -> bool:
        return all(self._guard.is_free(call, user, speaker) for call in calls_in(config))

    async def _phrase(self, key: str, **placeholders: str) -> str:
        return await async_phrase(self._hass, self._hass.config.language, key, **placeholders)

    def _speaker(self, context: Context | None = None, person_id: str | None = None) -> Speaker:
        """Return the speaker for whom the policy is checked: without a person, or the one who approves."""
        return Speaker(
            context=context or Context(),
            language=self._hass.config.language,
            person_id=person_id,
            anytime=True,
        )


def _tag(suggestion: Suggestion) -> str:
    """Return the tag of the message, and the id of the repair issue."""
    return f"suggestion_{suggestion.id}"
