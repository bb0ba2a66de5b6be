"""The numbers on the pages for people, as the code or a benchmark has them."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
import json
import re
from typing import Any

from custom_components.home_agent import const, timespans, usage
from custom_components.home_agent.agent import closing, pictures, record, turn
from custom_components.home_agent.agents import starting
from custom_components.home_agent.channels import announcing, telegram
from custom_components.home_agent.config import importer, lists
from custom_components.home_agent.const import DEFAULTS
from custom_components.home_agent.context import kind_lines, retrieval, window
from custom_components.home_agent.context.providers import entities, personal
from custom_components.home_agent.conversations import turns as history_turns
from custom_components.home_agent.domains import DOMAINS
from custom_components.home_agent.inference.client import ModelClient
from custom_components.home_agent.inference.dialects import base as dialects
from custom_components.home_agent.knowledge import indexer, library, semantic
from custom_components.home_agent.knowledge.sources import summaries
from custom_components.home_agent.languages import languages, languages_with
from custom_components.home_agent.memory import memories, profile
from custom_components.home_agent.memory.learner import observations, patterns
from custom_components.home_agent.panel import mine
from custom_components.home_agent.planned import commands
from custom_components.home_agent.proactive import messenger, rules, state, suggestions
from custom_components.home_agent.safety import (
    confirmation,
    contents,
    frozen,
    journal,
    ledger,
    spoken_numbers,
)
from custom_components.home_agent.safety.firewall import firewall
from custom_components.home_agent.safety.sanitizer import origins
from custom_components.home_agent.self_test import cases, report, runner
from custom_components.home_agent.services import memories as services_memories
from custom_components.home_agent.timers import timers
from custom_components.home_agent.tools import (
    activity,
    base,
    ha_control,
    ha_query,
    handler,
    knowledge_tools,
    making,
    remembering,
    search,
)
from custom_components.home_agent.tools.calls import schema
from custom_components.home_agent.tools.custom import mcp, rest
from custom_components.home_agent.tools.everyday import (
    calendar_tool,
    media_tool,
    notify_tool,
    timer_tool,
    todo_tool,
    weather_tool,
)
from custom_components.home_agent.tools.outside import external_llm, other_apis, web_search
from custom_components.home_agent.tools.query import present
from custom_components.home_agent.vector import embedded
from custom_components.home_agent.watching import server as server_watch
from scripts.lib import ordinary_words
from tests.helpers import spoken_languages
from tests.helpers.documents import PAGES, ROOT, code, rows

MEBI = 1024 * 1024
DAYS = {
    key: int(str(DEFAULTS[key]).removesuffix("d"))
    for key in const.CONF_MEMORY_TTL.values()
    if key in DEFAULTS
}
EVENT_DAYS = DAYS[const.CONF_MEMORY_TTL["event"]]
PLAN_DAYS = DAYS[const.CONF_MEMORY_TTL["context"]]
NEEDED = ".".join(
    json.loads((ROOT / "hacs.json").read_text(encoding="utf-8"))["homeassistant"].split(".")[:2]
)
QUIET = (const.CONF_PROACTIVE_QUIET_START, const.CONF_PROACTIVE_QUIET_END)
TOKENS = {
    code(cells[0])[0]: cells[1] for cells in rows(PAGES["docs/benchmarks.md"], 3) if cells[1][:1].isdigit()
}
"""Tokens of each tool, as the benchmark T1 measured them."""
SPOKEN = len((*spoken_languages.SPOKEN, *spoken_languages.WHOLE))
MEASURED = [
    figure
    for line in PAGES["docs/benchmarks.md"].splitlines()
    if line.startswith(("| P1,", "| P2,", "| P5,"))
    for figure in re.findall(r"[\d.,]*\d", line)
]
"""Times and tokens beside those of core, and the sizes of the homes."""


def step(domain: str) -> float:
    """Return the size of a step."""
    found = DOMAINS[domain].step
    assert found
    return found.size


PATIENCE: Mapping[str, float] = ModelClient.__init__.__kwdefaults__
WORDS: Sequence[str] = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ONE_HOUR: Mapping[timedelta, str] = {timedelta(hours=1): "an hour"}

SAID: Mapping[str, list[tuple[Any, ...]]] = {
    "docs/announcements.md": [
        (
            "at most {} characters if it is announced, else at most {:,}",
            notify_tool.MAX_SPOKEN,
            notify_tool.MAX_MESSAGE,
        ),
        ("up to {} seconds", making.PATIENCE),
        ("({} to {},", *(DEFAULTS[key][:5] for key in QUIET)),
    ],
    "README.md": [("Home Assistant {} or newer", NEEDED)],
    "docs/activity.md": [
        ("last {} calls, with at most {:,} states", ledger.MAX_LEDGER_ACTIONS, ledger.MAX_STATES),
        ("The last {} calls survive", ledger.MAX_STORED),
        ("more than {:g} hours old", activity.MAX_AGE.total_seconds() / 3600),
        ("within {:g} minutes", activity.HERE_FOR.total_seconds() / 60),
        ("its last {} entries", journal.MAX_ENTRIES),
    ],
    "docs/comparison.md": [
        ("Home Assistant {} or newer", NEEDED),
        ("{} minutes by default", DEFAULTS[const.CONF_SESSION_TIMEOUT]),
        ("at most {} calls by default", DEFAULTS[const.CONF_TOOLS_MAX_CALLS]),
        ("at most {} requests to the model", turn.MAX_ROUNDS),
        ("{}", SPOKEN),
    ],
    "docs/custom-tools.md": [("{:g}", rest.DEFAULT_SECONDS), ("seconds, 1 to {}", rest.MAX_SECONDS)],
    "docs/everyday.md": [
        *(
            ("{}", TOKENS[tool])
            for tool in (
                *("todo_list", "calendar", "weather", "timer"),
                *("notify_person", "play_media", "automation"),
            )
        ),
        ("{}, with phones 74", TOKENS["look_at_camera"]),
        ("words of {} languages", len(languages_with("times"))),
        ("at most {} at once", todo_tool.MAX_ITEMS),
        ("at most {} open items", todo_tool.MAX_READ),
        ("within {} days", calendar_tool.NEXT.days),
        ("takes {:g} hour", calendar_tool.DEFAULT_LENGTH.total_seconds() / 3600),
        ("up to {} other events", calendar_tool.MAX_CONFLICTS),
        ("at most {} events", calendar_tool.MAX_EVENTS),
        ("returns {} days, {} hours or {} half days", *weather_tool.LIMITS.values()),
        ("means {:%-H:%M}", timer_tool.MORNING),
        ("After {:g} hours", announcing.TOO_LATE.total_seconds() / 3600),
        ("can have {} timers", timers.MAX_TIMERS),
        ("up to {} folders", media_tool.MAX_BROWSED),
        ("up to {} other titles", media_tool.MAX_OTHERS),
        ("up to {} pictures of {:g} MB", pictures.MAX_PICTURES, pictures.MAX_BYTES / 1e6),
    ],
    "docs/events.md": [("at most {} characters", handler.MAX_EVENT_CHARS)],
    "docs/faq.md": [("runs {} sentences", len(cases.cases("en")))],
    "docs/agents.md": [("kept for {} days", starting.KEPT_DAYS)],
    "docs/installation.md": [
        ("Home Assistant {} or newer", NEEDED),
        ("every {:g} to {:g} seconds", server_watch.FIRST_PAUSE, server_watch.LONGEST_PAUSE),
        ("stay for {} days", starting.KEPT_DAYS),
    ],
    "docs/knowledge.md": [
        ("the last {:g} hours", summaries.PERIOD.total_seconds() / 3600),
        ("every {:g} hours", summaries.EVERY.total_seconds() / 3600),
    ],
    "docs/mcp.md": [
        ("1 to {}, by default {:g}", mcp.MAX_SECONDS, mcp.DEFAULT_SECONDS),
        ("versions {} to {}", min(mcp.VERSIONS), max(mcp.VERSIONS)),
        ("every {:g} minutes", mcp.LISTED_SECONDS / 60),
        ("At most {} tools", mcp.MAX_IMPORTED),
        ("to {:,} characters", other_apis.MAX_DESCRIPTION),
    ],
    "docs/memory.md": [
        ("after {} days, plans after {} days", EVENT_DAYS, PLAN_DAYS),
        ("at most {} memories", DEFAULTS[const.CONF_MEMORY_MAX]),
        ("up to {} tokens", personal.WHOLE),
        ("after {:g}:00", patterns.DAY_BEGINS / 60),
        ("the last {} days", observations.DAYS),
        ("at least {} days and {:.0f} %", patterns.MIN_DAYS, patterns.MIN_RATE * 100),
        ("for {} days in", observations.DAYS),
        ("can have {} entries", profile.MAX_ENTRIES),
        ("within {} tokens at a context of {:,}", window.SHARES["profile"].tokens, window.REFERENCE),
    ],
    "docs/migration.md": [
        ("default of {}", importer.OPTIONS["max_tokens"][1]),
        ("default of {:,}", importer.OPTIONS["context_threshold"][1]),
    ],
    "docs/panel.md": [
        ("the last {} requests", record.MAX_TURNS),
        ("up to {} days", usage.MAX_DAYS),
        ("the last {} actions", mine.MAX_ACTIONS),
        ("for {} days", usage.MAX_DAYS),
    ],
    "docs/proactive.md": [
        ("at {:g} % or less", rules.LOW_PERCENT),
        ("below {:g} W after more than {:g} W", rules.IDLE_WATTS, rules.RUNNING_WATTS),
        ("for {:g} minutes)", rules.MIN_RUN.total_seconds() / 60),
        ("plus {} urgent", messenger.URGENT_MORE),
        ("after {} days", state.LIFE.days),
        ("{} days after the end of the {} days", state.PAUSE.days, state.LIFE.days),
        ("At most {} suggestions", suggestions.MAX_OPEN),
    ],
    "docs/prompt.md": [
        ("up to {} devices", kind_lines.MAX_DETAILS),
        ("up to {} entities", entities.FOUND_IN_LARGE_HOUSE),
        ("get {} tokens", entities.STATES_TOKENS),
    ],
    "docs/satellites.md": [
        ("{} minutes by default", DEFAULTS[const.CONF_SESSION_TIMEOUT]),
        ("up to {:g} hours", timers.MAX_SECONDS / 3600),
        ("not longer than {} seconds", making.PATIENCE),
    ],
    "docs/security.md": [
        ("tables of {} languages", len(languages())),
        ("tables of {} languages", len(languages())),
        ("in {} languages", len(languages())),
        ("for {} days by default", DEFAULTS[const.CONF_HISTORY_RETENTION_DAYS]),
        ("the last {} requests", record.MAX_TURNS),
        ("more than {:,} calls", contents.MAX_EFFECTS),
        ("within {} seconds", DEFAULTS[const.CONF_POLICY_TIMEOUT]),
        ("At most {} actions", confirmation.MAX_PENDING),
        ("at most {} things", WORDS[frozen.MAX_THINGS]),
        ("After {} wrong PINs the", WORDS[confirmation.MAX_TRIES]),
        (
            "After {} wrong PINs within {}",
            WORDS[confirmation.MAX_WRONG],
            ONE_HOUR[confirmation.WRONG_WINDOW],
        ),
        ("more than {} levels", WORDS[contents.MAX_DEPTH]),
        ("at most {} passages", WORDS[origins.MAX_PASSAGES]),
        ("reads {} languages", len(languages_with("firewall"))),
        ("reads {:,} characters", firewall.MAX_CHARS),
        ("per minute ({})", DEFAULTS[const.CONF_AUTOMATION_TURNS]),
        ("at most {} numbers up to {}", WORDS[origins.MAX_NUMBERS], origins.MAX_SMALL),
        ("words in {} languages", len(languages_with("privacy.neutral"))),
    ],
    "docs/services.md": [
        ("at most {:,} characters", closing.MAX_READ_OUT),
        *(("1 to {}; {} by default", services_memories.MAX_MEMORIES, default) for default in (10, 100)),
        ("1 to {}; 50 by default", journal.MAX_ENTRIES),
        ("model {} sentences", len(cases.cases("en"))),
        ("at least {:.0f} % right", report.GOOD * 100),
        ("(at least {:.0f} %)", report.USABLE * 100),
        ("less than {:.0f} %", report.WEAK * 100),
        ("{} sentences took longer than {:g} seconds", WORDS[runner.MAX_LATE], runner.CASE_SECONDS),
        ("the first one {:g} seconds", runner.FIRST_SECONDS),
        ("after {} minutes", WORDS[int(runner.TOTAL_SECONDS / 60)]),
        ("above {:g} seconds", report.TOO_SLOW_SECONDS),
    ],
    "docs/symptoms.md": [
        ("the last {} requests", record.MAX_TURNS),
        ("at least {} days", patterns.MIN_DAYS),
        ("after {} days and events after {} days", PLAN_DAYS, EVENT_DAYS),
    ],
    "docs/telegram.md": [
        ("of up to {:g} MB", pictures.MAX_BYTES / 1e6),
        ("more than {:g} minutes late", telegram.MAX_AGE.total_seconds() / 60),
        ("more than {} messages", telegram.MAX_WAITING),
    ],
    "docs/tools.md": [
        ("at most {} entities at once", ha_control.MAX_TARGETS),
        ("at most {} per agent", commands.MAX_COMMANDS),
        ("at most {:g} minutes late", commands.CATCH_UP.total_seconds() / 60),
        ("or {:g} minute if", commands.CATCH_UP_CONFIRMED.total_seconds() / 60),
        ("In {} languages", len(languages_with("times"))),
        ("words of {} languages", len(languages_with("names.states"))),
        ("a name in {} languages", len({"en", *languages_with("names.colors")})),
        ("{:g} % for lights, fans and covers", step("light")),
        ("{:g} degree for", step("climate")),
        ("{:g} % for humidity", step("humidifier")),
        ("{:.0f} % for volume", step("media_player") * 100),
        ("and {:g} for numbers", step("number")),
        ("With {} or more", present.COUNT_FROM),
        ("At most {} entities in one answer, {} with", ha_query.MAX_ENTITIES, ha_query.MAX_HISTORY_ENTITIES),
        ("and about {:,} characters", ha_query.MAX_CHARS),
        ("about {:,} characters", knowledge_tools.MAX_PASSAGES_CHARS),
        ("at most {} and about {:,} characters", knowledge_tools.MAX_DOCUMENTS, knowledge_tools.MAX_CHARS),
        ("by title, at most {};", knowledge_tools.MAX_TITLES),
        ("by name, at most {},", knowledge_tools.MAX_LISTED),
        ("1 to {}; the default is {}", remembering.MAX_LISTED, remembering.DEFAULT_LIMIT),
        ("{} characters", web_search.MAX_QUERY),
        ("at most {} results", search.MAX_RESULTS),
        ("{} by default", DEFAULTS[const.CONF_TOOLS_MAX_CALLS]),
        ("{} seconds by default", DEFAULTS[const.CONF_TOOLS_TIMEOUT]),
        ("{}, the last one", turn.MAX_ROUNDS),
        ("{:g} minutes, then", turn.TURN_SECONDS / 60),
        ("{:,} characters", const.MAX_RESULT_CHARS),
    ],
    "docs/troubleshooting.md": [
        ("nothing for {:g} minutes", PATIENCE["first_byte_timeout"] / 60),
        ("stopped for {:g} minute", PATIENCE["idle_timeout"] / 60),
        ("more than {:,} characters", const.MAX_SENTENCE_CHARS),
        ("{} to {} digits", spoken_numbers.MIN_DIGITS, spoken_numbers.MAX_DIGITS),
        ("at most {} days", lists.MAX_WATCHED_DAYS),
        ("the last {} turns", record.MAX_TURNS),
        ("last {:g} hours", activity.MAX_AGE.total_seconds() / 3600),
        ("at most {} of {:g} MB", pictures.MAX_PICTURES, pictures.MAX_BYTES / 1e6),
        ("{:,} characters", const.MAX_SENTENCE_CHARS),
        ("{:,} characters in {:,} values, {} levels", schema.MAX_CHARS, schema.MAX_VALUES, schema.MAX_DEPTH),
        ("{} characters", timespans.TIME_CHARS),
        ("{} characters", base.MAX_SLOT_CHARS),
        ("{} characters", memories.MAX_CONTENT),
        ("{:,} characters for the external model", external_llm.MAX_CHARS),
        ("{:,} for custom tools", schema.MAX_CHARS),
        ("{:g} seconds before the first", PATIENCE["first_byte_timeout"]),
        ("{:g} seconds after it", PATIENCE["idle_timeout"]),
        ("{:g} minutes; after {:g} minutes", turn.TURN_LIMIT_SECONDS / 60, turn.TURN_SECONDS / 60),
        ("{:,} characters, {} calls", dialects.TEXT_CHARS, dialects.MAX_CALLS),
        ("{:,} characters", history_turns.MAX_MESSAGE_CHARS),
        ("more than {}; see", mcp.MAX_IMPORTED),
        ("within {:g} seconds", semantic.SEARCH_SECONDS),
    ],
    "docs/vector-store.md": [
        ("up to {} entities by words", entities.FOUND_IN_LARGE_HOUSE),
        ("{:.0f} % of the weight", retrieval.SEMANTIC_WEIGHT * 100),
        ("The {} entities", retrieval.KEPT_BY_MEANING),
        ("up to {}, regardless", retrieval.MANY),
        ("writes it {} seconds", embedded.SAVE_SECONDS),
        ("{:,} entries and {:g} million", embedded.MAX_ENTRIES, embedded.MAX_NUMBERS / 1e6),
        ("{} collections", embedded.MAX_COLLECTIONS),
        (
            "{} bytes per number: {:.0f} MB for 5,000 entries with 384",
            embedded.NUMBER_BYTES,
            embedded.NUMBER_BYTES * 1.92,
        ),
        ("at most {} per folder and {:,.0f} kB", library.MAX_FILES, library.MAX_FILE_BYTES / 1e3),
        ("up to {} levels", library.MAX_DEPTH),
        ("about {} characters", library.PASSAGE_CHARS),
        ("at most {:,} per collection", library.MAX_PASSAGES),
        ("Indexing {:,} passages", library.MAX_PASSAGES),
        ("index {} seconds", indexer.CALM_SECONDS),
        ("after {:g} minutes at the latest", indexer.LONGEST_SECONDS / 60),
        ("after {:g} seconds", semantic.SEARCH_SECONDS),
        ("longer than {:g} seconds", semantic.SEARCH_SECONDS),
        ("from {} seconds to {:g} minutes", semantic.FIRST_PAUSE, semantic.LONGEST_PAUSE / 60),
    ],
    "docs/web-search.md": [
        ("the first {} results", search.MAX_RESULTS),
        ("{:g} MB and take {} seconds", search.MAX_BYTES / MEBI, search.SECONDS),
        ("up to {} seconds", search.MAX_PAUSE),
        ("within {:g} minutes", web_search.KEPT_SECONDS / 60),
        ("words in {} languages", len(languages_with("privacy.absent"))),
        ("uses in {} languages", len(ordinary_words.LANGUAGES)),
        ("last {} entries", journal.MAX_ENTRIES),
    ],
    "docs/writing-a-tool.md": [("{} characters", base.MAX_SLOT_CHARS)],
}
"""The statements of each page, with the numbers that they contain."""

EXPLAINED: Mapping[str, tuple[str, ...]] = {
    "docs/comparison.md": (
        *("2026.10.4 and 2026.11.0", "2026-11-22", "5 billion", "Release 2026.11"),
        *("for 5 minutes after", "at most 10 rounds", "three", *MEASURED),  # of core
    ),
    "README.md": (*MEASURED, "Python 3", "about 5 minutes", "about 40 minutes", "and 30 afterwards"),
    "docs/custom-tools.md": ("the number 3",),
    "docs/everyday.md": ("o200k", "129", "88", "61", "113", "55, with phones 74", "95"),  # compared below
    "docs/faq.md": ("to 0",),
    "docs/memory.md": ("10 days by default", "1.x", "2.x"),  # of other programs
    "docs/proactive.md": (
        "at about 6:30",
        "5 minutes",
        "15 minutes",
        "30 minutes",
        "1 hour",
        "0 minutes",
        "2 minutes",
        "10 minutes",
    ),
    "docs/security.md": ("Home Assistant 2026.10", "Base64"),
    "docs/events.md": ("; 0 during",),
    "docs/panel.md": ("up to 1",),
    "docs/services.md": ("0 to 1", "0.7 by default"),
    "docs/telegram.md": ("number 2",),
    "docs/troubleshooting.md": (
        *("Latin-1", "30s, 5m or 1h30m, 0 to", "-1 to", "30m, 2h or 1d", "90d, 12h or 4w"),
        "such as 20:00-07:00",
        *("3 to 63 plain", "1.x", "2.x", "0.6"),  # of other programs
    ),
    "docs/tools.md": ("at 30 percent", "percent up to 100", "up to 255", "0 to 1"),
    "docs/vector-store.md": (
        *("for 16 languages", "33 MB", "120 MB", "5 ms", "2 ms"),  # of the package
        *(
            "Chroma 0.6 to 1.5",
            "0.6.3, 1.0.21 and 1.5.9",
            "version 2",
            "version 1.0",
            "at least 3",
            "63",
            "0.6, 512",
        ),
        *("UTF-8", "UTF-16", "Windows-1252"),
        *("1,000 entries", "20,000", "4 seconds", "35 ms"),  # measured
        *("0.3 to 0.6", "0.25", "0.1 to 0.35", "0.5"),  # of the models that were tried
    ),
    "docs/web-search.md": ("1 credit", "9 or more", "Base64"),
}
"""What is no number of the code: examples, other programs, measured values."""
NO_NUMBERS = ("docs/examples.md", "docs/external-llm.md", "docs/faq.md", "docs/automations.md")
HELD = sorted({*SAID, *EXPLAINED, *NO_NUMBERS})
