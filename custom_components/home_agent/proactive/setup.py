"""What the options say about speaking up, put together."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback

from ..channels.asking import Asker
from ..const import CONF_PROACTIVE, CONF_PROACTIVE_RULES, CONF_PROACTIVE_SUGGESTIONS
from ..events import EventEmitter
from ..knowledge.view import ViewedHouse
from ..memory.learner.habits import KnownHabit
from ..tools.automating.records import OwnAutomations
from ..tools.guard import Guard
from .messenger import Messenger
from .rules import read_rules
from .state import ProactiveState
from .suggestions import Suggestions
from .watcher import RuleWatcher


class Proactive:
    """The proactive messages of one entry: none, unless the option enables them."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry_id: str,
        settings: Mapping[str, Any],
        *,
        state: ProactiveState,
        guard: Guard,
        emitter: EventEmitter,
        house: ViewedHouse,
        habits: Callable[[], Sequence[KnownHabit]],
        asker: Asker,
        automations: OwnAutomations,
    ) -> None:
        self.messenger = messenger = Messenger(hass, entry_id, settings, state, emitter)
        self._enabled = bool(settings[CONF_PROACTIVE])
        self._suggests = bool(settings[CONF_PROACTIVE_SUGGESTIONS])
        self.suggestions = Suggestions(
            hass,
            entry_id,
            state=state,
            messenger=messenger,
            guard=guard,
            emitter=emitter,
            habits=habits,
            automations=automations,
        )
        self._watcher = RuleWatcher(
            hass, read_rules(settings[CONF_PROACTIVE_RULES]), state, messenger, house, asker
        )

    @callback
    def async_start(self) -> CALLBACK_TYPE:
        """Start if the option enables it; return the stop function."""
        self.suggestions.adopt_accepted()
        if not self._enabled:
            return lambda: None
        ends = [self._watcher.async_start()]
        if self._suggests:
            ends.append(self.suggestions.async_start())

        @callback
        def stop() -> None:
            for end in ends:
                end()

        return stop
