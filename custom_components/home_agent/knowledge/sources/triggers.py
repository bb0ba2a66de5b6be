"""What starts an automation, in words."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from .words import PRIVATE, TARGETS, Words, as_list, seconds_of, together

MAX_TRIGGERS: Final = 12

type Config = Mapping[str, Any]


def triggers_in_words(words: Words, triggers: Any) -> str:
    """Return all triggers, any of which is enough."""
    return together((trigger_in_words(words, item) for item in _flat(triggers)), "or", MAX_TRIGGERS)


def trigger_in_words(words: Words, trigger: Config) -> str:
    """Return one trigger."""
    kind = str(trigger.get("trigger") or trigger.get("platform") or "")
    if special := TRIGGERS.get(kind):
        return special(words, {**trigger, **_options(trigger)})
    return described(words, kind, trigger)


def described(words: Words, kind: str, config: Config) -> str:
    """Return what an integration names itself, such as `light.turned_on`, with target and options."""
    domain, _, what = kind.partition(".")
    target = words.target(config.get("target") or _own_target(config), domain)
    details = options_in_words(words, _options(config))
    said = f"{domain} {what}".replace("_", " ").strip()
    return " ".join(part for part in (said, f"of {target}" if target else "", details) if part)


def options_in_words(words: Words, options: Config) -> str:
    """Return what narrows it down: thresholds and lengths of time."""
    parts = []
    for key, value in options.items():
        name = str(key)
        if PRIVATE.search(name) or name in ("behavior", *TARGETS) or value in (None, "", []):
            continue
        if name in ("for", "offset"):
            if seconds_of(value):
                parts.append(f"{name} {words.duration(value)}")
        elif name == "threshold" and isinstance(value, Mapping):
            parts.append(_threshold(words, value))
        else:
            parts.append(f"{name.replace('_', ' ')} {words.text(value)}")
    return f"({', '.join(parts)})" if parts else ""


def lasting(words: Words, config: Config) -> str:
    """Return for how long something has to hold."""
    return f" for {words.duration(config['for'])}" if config.get("for") else ""


def between(words: Words, config: Config) -> str:
    """Return the limits of a number."""
    of = next(iter(as_list(config.get("entity_id"))), None)
    parts = [
        f"{key} {words.limit(config[key], of)}" for key in ("above", "below") if config.get(key) is not None
    ]
    return " and ".join(parts)


def measured(words: Words, config: Config, word: str = "or") -> str:
    """Return whose value it is, and which."""
    names = words.entities(config.get("entity_id"), word)
    attribute = config.get("attribute")
    return f"{str(attribute).replace('_', ' ')} of {names}" if attribute else names


def _threshold(words: Words, value: Config) -> str:
    """Return a threshold of the kind that the editor makes."""
    said = [str(value.get("type") or "")]
    for key in ("value", "value_min", "value_max"):
        part = value.get(key)
        if isinstance(part, Mapping):
            number = part.get("number", part.get("entity"))
            said.append(f"{words.text(number)} {part.get('unit_of_measurement') or ''}".strip())
        elif part is not None:
            said.append(words.text(part))
    return " ".join(part for part in said if part)


def _flat(triggers: Any) -> Iterator[Config]:
    """Yield the triggers that are in use; lists may stand in each other."""
    for trigger in triggers if isinstance(triggers, list | tuple) else [triggers]:
        if isinstance(trigger, Mapping) and trigger.get("enabled") is not False:
            if "triggers" in trigger:
                yield from _flat(trigger["triggers"])
            else:
                yield trigger


def _options(config: Config) -> Config:
    """Return the options of a trigger or a condition."""
    options = config.get("options")
    return options if isinstance(options, Mapping) else {}


def _own_target(config: Config) -> Config:
    """Return the target keys that stand beside the others."""
    return {key: config[key] for key in TARGETS if config.get(key)}


def _state(words: Words, config: Config) -> str:
    """Return a change of state."""
    of = next(iter(as_list(config.get("entity_id"))), None)
    parts = [f"{measured(words, config)} changes"]
    for key in ("from", "to"):
        if config.get(key) is not None:
            parts.append(f"{key} {words.states(config[key], of)}")
        elif config.get(f"not_{key}") is not None:
            parts.append(f"{key} other than {words.states(config[f'not_{key}'], of)}")
    return " ".join(parts) + lasting(words, config)


def _number(words: Words, config: Config) -> str:
    """Return a number that crosses a limit."""
    return f"{measured(words, config)} goes {between(words, config)}{lasting(words, config)}"


def _time(words: Words, config: Config) -> str:
    """Return times of the day."""
    times = together((_moment(words, item) for item in as_list(config.get("at"))), "or")
    return f"at {times}{weekdays(config)}"


def _moment(words: Words, value: Any) -> str:
    """Return one time of the day."""
    if isinstance(value, Mapping):
        return _shifted(words, words.entity(value.get("entity_id")), value.get("offset"))
    return clock(words, value)


def clock(words: Words, value: Any) -> str:
    """Return a time of the day without seconds, or the entity that holds one."""
    if isinstance(value, int):  # YAML reads 22:30 as a number of base 60
        value = f"{value // 3600:02}:{value // 60 % 60:02}"
    shown = words.text(value)
    return shown.removesuffix(":00") if shown.count(":") > 1 else shown


def weekdays(config: Config) -> str:
    """Return the days of the week."""
    days = as_list(config.get("weekday"))
    return f" on {together((str(day).title() for day in days), limit=7)}" if days else ""


def _pattern(_words: Words, config: Config) -> str:
    """Return a time that comes again."""
    units = {key: str(config[key]) for key in ("hours", "minutes", "seconds") if config.get(key) is not None}
    said = []
    for unit, value in units.items():
        every = value.removeprefix("/")
        if value == "*":
            said.append(f"every {unit.removesuffix('s')}")
        elif value.startswith("/"):
            said.append(f"every {every} {unit}")
        else:
            said.append(f"at {unit.removesuffix('s')} {value}")
    return " ".join(said)


def _sun(words: Words, config: Config) -> str:
    """Return sunrise or sunset."""
    return f"at {_shifted(words, str(config.get('event', 'sunset')), config.get('offset'))}"


def _shifted(words: Words, moment: str, offset: Any) -> str:
    """Return a moment with what lies between it and the trigger."""
    seconds = seconds_of(offset) if offset else 0
    if seconds is None:
        return f"{moment} with offset {words.text(offset)}"
    if not seconds:
        return moment
    return f"{words.duration(abs(seconds))} {'before' if seconds < 0 else 'after'} {moment}"


def _zone(words: Words, config: Config) -> str:
    """Return somebody who comes or goes."""
    verb = "leaves" if config.get("event") == "leave" else "enters"
    return (
        f"{words.entities(config.get('entity_id'), 'or')} {verb} {words.entities(config.get('zone'), 'or')}"
    )


def _calendar(words: Words, config: Config) -> str:
    """Return an event of a calendar."""
    moment = "the end" if config.get("event") == "end" else "the start"
    names = words.entities(config.get("entity_id"), "or") or words.target(config.get("target"), "calendar")
    return f"{_shifted(words, moment, config.get('offset'))} of an event in {names}"


def _template(words: Words, config: Config) -> str:
    """Return a template that comes true."""
    return f"{words.template(config.get('value_template', ''))} becomes true{lasting(words, config)}"


def _event(words: Words, config: Config) -> str:
    """Return an event of the bus; its data may hold anything, so it stays out."""
    return f"event {together(map(words.text, as_list(config.get('event_type'))), 'or')}"


def _sentence(words: Words, config: Config) -> str:
    """Return what somebody says."""
    return f"somebody says {together((words.text(item) for item in as_list(config.get('command'))), 'or', 4)}"


def _geo(words: Words, config: Config) -> str:
    """Return an incident near a place."""
    return f"a report of {words.text(config.get('source'))} in {words.entity(config.get('zone'))}"


def device(words: Words, config: Config) -> str:
    """Return what an integration knows of its device."""
    named = config.get("entity_id") or ""
    whose = words.entity(named) if named else words.device(config.get("device_id"))
    what = str(config.get("type") or "").replace("_", " ")
    more = [str(config[key]).replace("_", " ") for key in ("subtype",) if config.get(key)]
    return " ".join(part for part in (f"{whose}:", what, *more) if part) + lasting(words, config)


TRIGGERS: Final[Mapping[str, Callable[[Words, Config], str]]] = {
    "calendar": _calendar,
    "conversation": _sentence,
    "device": device,
    "event": _event,
    "geo_location": _geo,
    "homeassistant": lambda _words, config: (
        "Home Assistant stops" if config.get("event") == "shutdown" else "Home Assistant starts"
    ),
    "mqtt": lambda words, config: f"an MQTT message on {words.text(config.get('topic'))}",
    "numeric_state": _number,
    "persistent_notification": lambda _words, _config: "a notification appears or changes",
    "state": _state,
    "sun": _sun,
    "tag": lambda _words, _config: "a tag is scanned",
    "template": _template,
    "time": _time,
    "time_pattern": _pattern,
    "webhook": lambda _words, _config: "a webhook is called",
    "zone": _zone,
}
"""By type; other types say their own name, target and options."""
