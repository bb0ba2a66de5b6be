"""Rules for messages without being asked: which fields each kind of rule has, and what is stored of them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.selector import (
    DurationSelector,
    DurationSelectorConfig,
    EntitySelector,
    EntitySelectorConfig,
    EntityWithDeviceFilterSelectorConfig,
    TimeSelector,
)

from ..domains import DOMAINS
from ..errors import InvalidInput
from ..proactive.rules import (
    ALOUD,
    ARRIVALS,
    ASK,
    ASK_ENTITIES,
    AT,
    BRIEFING,
    DURATION,
    ENTITIES,
    OWN_RULE,
    PERSONS,
    RULE,
    SPOKEN,
    STATE,
    TEMPLATES,
    URGENT,
)
from ..timespans import read_span
from ..tools.control.planning import PROPOSED
from .fields import (
    Checked,
    Field,
    check,
    choice,
    clean_names,
    clean_span,
    shown_span,
    switch,
    text,
    written_span,
)

MAX_RULES: Final = 50
MAX_DAYS: Final = 30
MAX_ENTITIES: Final = 500
REMOVE: Final = "remove"
"""The switch that removes a rule."""
_ABLE: Final = sorted(
    name for name, domain in DOMAINS.items() if not set(PROPOSED).isdisjoint(domain.actions)
)


def rule_fields(rule: Mapping[str, Any], *, is_stored: bool) -> tuple[Field, ...]:
    """Return the fields that a rule needs; one that is stored can be removed."""
    removal = (switch(REMOVE),) if is_stored else ()
    if rule[RULE] == BRIEFING:
        return Field(AT, TimeSelector()), _persons(ARRIVALS), _persons(PERSONS), switch(SPOKEN), *removal
    template = TEMPLATES[rule[RULE]]
    watched = EntitySelectorConfig(multiple=True)
    if template.kinds:
        watched["filter"] = [
            EntityWithDeviceFilterSelectorConfig(domain=domain)
            if classes is None
            else EntityWithDeviceFilterSelectorConfig(domain=domain, device_class=sorted(classes))
            for domain, classes in template.kinds.items()
        ]
    fields = [Field(ENTITIES, EntitySelector(watched), clean=_entities)]
    if rule[RULE] == OWN_RULE:
        fields.append(Field(STATE, text()))
    fields += [
        Field(
            DURATION,
            selector=DurationSelector(DurationSelectorConfig(enable_day=True)),
            clean=_clean_duration,
            show=shown_span,
        ),
        _persons(PERSONS),
    ]
    if not template.urgent:
        fields.append(switch(URGENT))
    if template.asks or rule.get(ASK):
        fields += (
            Field(ASK, choice("proposed_action", PROPOSED)),
            Field(
                ASK_ENTITIES,
                EntitySelector(EntitySelectorConfig(domain=_ABLE, multiple=True)),
                clean=_entities,
            ),
            switch(ALOUD),
        )
    return (*fields, *removal)


def _persons(key: str) -> Field:
    config = EntitySelectorConfig(domain="person", multiple=True)
    return Field(key, EntitySelector(config), clean=clean_names)


def _entities(values: Any) -> list[str]:
    return clean_names(values)[:MAX_ENTITIES]


def _clean_duration(value: Any) -> str:
    span = clean_span(value)
    if (read_span(span) or timedelta(0)) > timedelta(days=MAX_DAYS):
        raise InvalidInput("proactive_duration")
    return span


def check_rule(rule: Mapping[str, Any], typed: Mapping[str, Any]) -> Checked:
    """Return the rule as it is stored, without empty values, or why it could never be told."""
    template = TEMPLATES[rule[RULE]]
    checked = check(rule_fields(rule, is_stored=False), typed, {})
    values = checked.values = {key: value for key, value in checked.values.items() if value}
    entities, verb = values.get(ENTITIES, []), values.get(ASK)
    if rule[RULE] == BRIEFING:
        if not (values.get(AT) or values.get(ARRIVALS)):
            checked.fail(AT, InvalidInput("proactive_briefing"))
    elif rule[RULE] == OWN_RULE and not (entities and values.get(STATE)):
        checked.fail(STATE if entities else ENTITIES, InvalidInput("proactive_state_missing"))
    elif not template.kinds and not entities:
        checked.fail(ENTITIES, InvalidInput("proactive_entities_missing"))
    if verb is None:
        values.pop(ASK_ENTITIES, None)
        values.pop(ALOUD, None)
    else:
        chosen = values.get(ASK_ENTITIES, [])
        domains = {entity_id.partition(".")[0] for entity_id in chosen or entities} or set(template.kinds)
        able = [domain for domain in domains if verb in DOMAINS[domain].actions]
        if not able or (chosen and len(able) < len(domains)):
            checked.fail(ASK, InvalidInput("proactive_ask"))
    if values.get(DURATION) == written_span(template.duration):
        del values[DURATION]
    checked.values = {RULE: rule[RULE], **values}
    return checked


@callback
def rule_line(hass: HomeAssistant, rule: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return what the list says of a rule: its name, and which entities it watches."""
    watched = [
        state.name if (state := hass.states.get(entity_id)) else entity_id
        for entity_id in rule.get(ENTITIES) or rule.get(ARRIVALS) or ()
    ]
    told = str(rule.get(STATE) or rule.get(AT, "")[:5])
    parts = [names[rule[RULE]], ", ".join(watched[:3]), told]
    return " · ".join(filter(None, parts))
