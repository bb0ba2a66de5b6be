"""Profiles: different rules for a person, a device or an area."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.core import HomeAssistant, callback

from ..knowledge.speaker import Speaker
from .rules import Effect, RuleSet, Verdict

NAME = "name"
PERSONS = "persons"
DEVICES = "devices"
AREAS = "areas"
BLOCKED = "blocked"
RESTRICTED = "restricted"
ALLOWED = "allowed"
ONLY = "only"
RULE_FIELDS = (ONLY, BLOCKED, RESTRICTED, ALLOWED)


@dataclass(frozen=True, slots=True)
class PolicyProfile:
    """The rules of one profile and whom they are for."""

    name: str
    persons: frozenset[str]
    devices: frozenset[str]
    areas: frozenset[str]
    only: RuleSet
    blocked: RuleSet
    restricted: RuleSet
    allowed: RuleSet

    @callback
    def applies(self, hass: HomeAssistant, speaker: Speaker) -> bool:
        """Return whether the profile is for this speaker: by person, by device, or by the device's room."""
        if speaker.device_id in self.devices or speaker.area_id in self.areas:
            return True
        user_id = speaker.context.user_id
        return user_id is not None and any(
            person == user_id
            or ((state := hass.states.get(person)) is not None and state.attributes.get("user_id") == user_id)
            for person in self.persons
        )

    def verdict(self, effect: Effect) -> Verdict | None:
        """Return the profile's verdict on an effect; None if it has none."""
        if self.blocked.fits(effect) or (self.only and not self.only.fits(effect)):
            return Verdict.BLOCK
        if self.restricted.fits(effect):
            return Verdict.CONFIRM
        return Verdict.ALLOW if self.allowed.fits(effect) else None

    def tool_verdict(self, name: str) -> Verdict | None:
        """Return the profile's verdict on a tool that acts."""
        if self.blocked.fits_tool(name) or (self.only and not self.only.fits_tool(name)):
            return Verdict.BLOCK
        if self.restricted.fits_tool(name):
            return Verdict.CONFIRM
        return Verdict.ALLOW if self.allowed.fits_tool(name) else None


def read_profiles(stored: object) -> list[PolicyProfile]:
    """Return the profiles of the options."""
    items = stored if isinstance(stored, list) else [stored] if isinstance(stored, Mapping) else []
    return [_profile(item) for item in items if isinstance(item, Mapping)]


def _profile(item: Mapping[str, Any]) -> PolicyProfile:
    persons, devices, areas = (frozenset(as_texts(item.get(key))) for key in (PERSONS, DEVICES, AREAS))
    only, blocked, restricted, allowed = (RuleSet(as_texts(item.get(key))) for key in RULE_FIELDS)
    return PolicyProfile(
        name=str(item.get(NAME) or ""),
        persons=persons,
        devices=devices,
        areas=areas,
        only=only,
        blocked=blocked,
        restricted=restricted,
        allowed=allowed,
    )


def as_texts(value: object) -> list[str]:
    """Return a text, or a list of them, as a list."""
    if isinstance(value, str):
        return [value]
    return [str(part) for part in value] if isinstance(value, Iterable) else []
