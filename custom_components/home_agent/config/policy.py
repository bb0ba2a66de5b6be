"""The rules of the household: one that matches nothing protects nothing, so the page refuses it."""

from collections.abc import Iterator, Mapping
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)

from ..const import (
    CONF_POLICY_PIN,
    CONF_POLICY_PROFILES,
    POLICY_RULES,
)
from ..errors import InvalidInput
from ..knowledge.view import FLOORS
from ..safety.rules import AREAS, DEVICES, LABELS, PERSONS, RULE_FIELDS, as_texts
from ..safety.spoken_numbers import MAX_DIGITS, MIN_DIGITS, hash_pin
from .choices import async_labels, check_choices
from .fields import Checked
from .rule_names import RuleNames, async_rule_names


async def async_check_safety(
    hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any], *, entry: ConfigEntry
) -> None:
    """Refuse rules and profiles that can never apply, and keep a hash of a PIN that was typed."""
    await _async_check_pin(hass, checked, stored)
    await _async_check_rules(hass, checked, stored, entry)
    await _async_check_profiles(hass, checked, stored)
    check_choices(hass, checked, stored, await async_labels(hass))


async def _async_check_pin(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any]) -> None:
    """Keep a hash of a PIN that was typed, and never the PIN."""
    pin = checked.values.get(CONF_POLICY_PIN)
    if not pin or pin == stored.get(CONF_POLICY_PIN):
        return
    if not (pin.isascii() and pin.isdigit() and MIN_DIGITS <= len(pin) <= MAX_DIGITS):
        checked.fail(CONF_POLICY_PIN, InvalidInput("invalid_pin"))
        return
    checked.values[CONF_POLICY_PIN] = await hass.async_add_executor_job(hash_pin, pin)


def rules_of(option: str, value: object) -> Iterator[str]:
    """Yield the rules of an option of the policy."""
    if option != CONF_POLICY_PROFILES:
        yield from as_texts(value)
        return
    for profile in profiles_of(value):
        for field in RULE_FIELDS:
            yield from as_texts(profile.get(field))


def profiles_of(value: object) -> list[Mapping[str, Any]]:
    """Return the profiles of the option."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, Mapping)]


async def _async_check_rules(
    hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any], entry: ConfigEntry
) -> None:
    """Record rules that match nothing. Stored ones stay; `watching/unmatched.py` reports them."""
    new = {
        option: [
            rule
            for rule in rules_of(option, checked.values.get(option, []))
            if rule not in set(rules_of(option, stored.get(option, [])))
        ]
        for option in (*POLICY_RULES, CONF_POLICY_PROFILES)
    }
    typed = [rule for rules in new.values() for rule in rules]
    unreadable = {
        key: checked.placeholders["rule"] for key, error in checked.errors.items() if error == "invalid_rule"
    }
    if not typed and not unreadable:
        return
    names = await async_rule_names(hass, [*typed, *unreadable.values()], entry)
    for option, rules in new.items():
        if wrong := next((rule for rule in rules if not names.has(rule)), None):
            checked.fail(option, await _async_error(hass, names, wrong))
    for option, said in unreadable.items():
        if (error := await _async_error(hass, names, said)).key != "rule_unknown":
            del checked.errors[option]
            checked.fail(option, error)


async def _async_error(hass: HomeAssistant, names: RuleNames, rule: str) -> InvalidInput:
    """Return the problem of a rule; names are compared in a worker thread."""
    return await hass.async_add_executor_job(names.error, rule)


async def _async_check_profiles(hass: HomeAssistant, checked: Checked, stored: Mapping[str, Any]) -> None:
    """Collect the problems of profiles for people, devices or areas that do not exist."""
    before = {one for profile in profiles_of(stored.get(CONF_POLICY_PROFILES)) for one in whom(profile)}
    for profile in profiles_of(checked.values.get(CONF_POLICY_PROFILES)):
        for field, name in whom(profile):
            if (field, name) in before or await async_applies(hass, field, name):
                continue
            told = {"profile": str(profile.get("name", ""))[:60], "name": name[:60]}
            error = InvalidInput("profile_nobody", **told)
            if hass.states.get(name) is not None:
                error = InvalidInput("profile_without_user", **told)
            checked.fail(CONF_POLICY_PROFILES, error)


def whom(profile: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the people, devices and areas of a profile, each with its field."""
    for field in (PERSONS, DEVICES, AREAS):
        yield from ((field, text) for text in as_texts(profile.get(field)))


async def async_applies(hass: HomeAssistant, field: str, name: str) -> bool:
    """Return whether a rule or a profile can apply to a person, a device, an area or a label."""
    if field == DEVICES:
        return dr.async_get(hass).async_get(name) is not None
    if field == LABELS:
        return lr.async_get(hass).async_get_label(name) is not None
    if field == FLOORS:
        return fr.async_get(hass).async_get_floor(name) is not None
    if field == AREAS:
        return ar.async_get(hass).async_get_area(name) is not None
    if (state := hass.states.get(name)) is not None:
        return bool(state.attributes.get("user_id"))
    registered = er.async_get(hass).async_get(name)
    return registered is not None or await hass.auth.async_get_user(name) is not None
