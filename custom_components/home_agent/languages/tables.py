"""Which tables a language file may have, and what depends on them."""

from dataclasses import dataclass
from typing import Final

from . import find, table


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of a language file: tables that one part of the integration reads together."""

    name: str
    holds: str
    """A description of the words for translators."""
    needed: tuple[str, ...]
    """The tables that the section requires."""
    optional: tuple[str, ...] = ()
    strict: str = ""
    """The effect on speakers if the table is missing; empty if nothing becomes unsafe or stricter."""


SECTIONS: Final = (
    Section(
        name="answers",
        holds=(
            "yes and no as answers to a question of the assistant; each entry is a whole sentence. Behind a"
            " yes the action may be repeated: `orders` by action, with {it} for a pronoun (`it`), a name, or"
            " nothing; `beside_order`: words that change nothing there"
        ),
        needed=("yes", "go_ahead", "no", "fillers"),
        optional=("beside_no", "orders", "it", "beside_order"),
        strict="only English answers confirm an action",
    ),
    Section(
        name="claims",
        holds="how an answer claims, promises or denies that something was done; how a sentence asks for it",
        needed=("honest", "tells"),
        optional=(
            # Of languages with spaces between words.
            "i_have",
            "subjects",
            "i_am",
            "doing",
            "i_did",
            "been",
            "is",
            "will",
            "will_be",
            "promises",
            "going",  # verbs of what is at work: "is on its way", "läuft", "suena"
            "offers",
            "choices",
            "fails",
            # Of reminders, memories, timers and lists.
            *("remind_verbs", "reminds", "remember_verbs", "remembers", "remembered"),
            *("timers", "lists", "on_lists"),
            "past",
            "orders",
            "ids",  # words of people who want ids of entities, or code
            # Of people who ask to be told something.
            "reports",  # verbs: "summarize"
            "summaries",  # nouns: "briefing"
            "gives",  # verbs before these: "give me", "i need"
            "lengths",  # how long the answer should be: "sentences"
            # Of answers to orders.
            "enjoys",  # "enjoy the music": something plays
            "presents",  # "here is your music"
            "passives",  # verbs of what is being done: "tänds"
            "writes",  # verbs that order an entry where a list is named, and a text otherwise
            # Of Japanese, Chinese and Korean, which are read by sentence. `letters`: first and last letter.
            "letters",
            "did_nouns",
            "do",
            "did_endings",
            "short_did",
            "short_endings",
            "tails",
            "state_endings",
            "changes",
            "change_endings",
            "i",
            "acts",
            "already",
            "is_states",
            "things",
            "thing_states",
            "honest_idioms",
            "ask_endings",
            # Of both.
            "did",
            "done",
            "states",
            "now",
            "fillers",
            "greetings",
            "asks",
        ),
        strict="an answer to a command that tells a state counts as a claim, and promises are not recognized",
    ),
    Section(
        name="numbers",
        holds="numbers in words, as a PIN is said",
        needed=("digits", "beside_pin"),
        optional=("twice", "thrice", "large"),
        strict="a PIN has to be said in English or typed",
    ),
    Section(
        name="questions",
        holds="words that tell a question about how things are from a request",
        needed=("states", "commands", "requests", "particles"),
        optional=(
            "openers",
            "past",
            "asking",
            "whether",
            "copulas",
            "joins",
            "lead",
            "switching",
            # Words between two states of a question: "lights on or off?"; only where there is `switching`.
            "alternatives",
            # Of `openers`, those that begin statements too: "hay", "è".
            "stating",
            # Words for when that begin questions and conditions.
            "when",
            # Words for why; with a negation behind them ("why don't you") they ask nothing.
            "reasons",
            # Words that complain ("it is too loud") where a statement begins as a question does.
            "too",
            # Words that forbid: before the verb, and behind a verb that begins the sentence; and words
            # beside which they forbid nothing ("don't forget").
            "negations",
            "late_negations",
            "not_forbidden",
            # Words that are not the same word of another table without its accents.
            "unrelated",
            "same_order",
            "inside_words",
        ),
        strict="every sentence with a question mark counts as a question and changes nothing",
    ),
    Section(
        name="directions",
        holds="verbs and particles for opening and unlocking, and for closing and locking; `staying`: leave",
        needed=("open", "close"),
        optional=("particle_verbs", "opening", "closing", "neutral", "trailing", "inside_words", "staying"),
        strict="a sentence is compared with the words of all other languages",
    ),
    Section(
        name="secrets",
        holds=(
            "words for passwords and codes in sentences, `is` before a code, participles after `is`;"
            " and names of arguments that hold them: words, their endings, pairs of words"
        ),
        needed=(),
        optional=("passwords", "codes", "is", "participles", "key_words", "key_endings", "key_pairs"),
    ),
    Section(
        name="memory",
        holds="words for the speaker and for several people, negations, requests to remember,"
        " how a sentence corrects what was said (`corrections`) or only adds to it (`additions`),"
        " how people tell of themselves (`facts`), what they do not eat (`diet`), and what is not worth"
        " remembering",
        needed=("self", "group", "negations", "remember"),
        optional=(
            *("recall", "states", "now", "at", "units", "habits", "facts", "corrections", "additions"),
            *("speakers", "requests", "meta", "instructions", "may", "powers", "called", "diet"),
            "own_words",  # verbs and short forms that say "I" alone: "tengo", "j'"
        ),
        strict="the model alone judges whose matter something is",
    ),
    Section(
        name="firewall",
        holds=(
            "words of instructions to a model in texts from outside: what overrides rules (`ignore`,"
            " `earlier`, `rules`), opens a home (`open`, `guarded`), changes a memory (`keep`, `kept`),"
            " discloses something (`send`, `private`, or `facts` of `people`), hides it (`secret`, or"
            " `deny`, `tell`, `listeners`), speaks to a model or gives it a role;"
            " `push` makes an order of a sentence"
        ),
        needed=(
            *("ignore", "earlier", "rules", "open", "guarded", "keep", "kept"),
            *("send", "private", "people", "facts", "push", "secret", "assistants", "role"),
        ),
        optional=(
            *("kept_before", "deny", "tell", "listeners", "addressed", "greetings", "determiners", "reading"),
            *("must", "if_you_are", "whenever", "users", "says", "call", "tools", "new", "tasks"),
            *("introduce", "backwards", "verb_last"),
        ),
        strict="instructions in texts from outside are recognized only in other languages",
    ),
    Section(
        name="privacy",
        holds=(
            "generic words by kind, words that say nothing by themselves, names that are words too, endings"
            " of words and names, streets, public codes, and how people say when nobody is at home"
        ),
        needed=("replacements", "neutral", "endings", "residents", "absent", "empty"),
        optional=(
            *("home", "doubtful_names", "name_endings", "name_bases", "possessives"),
            *("times", "conditions", "from", "absent_from", "dwellers", "comes_and_goes", "clock"),
            *("street_ends", "streets", "street_starts", "streets_behind", "streets_after_names"),
            *(
                "streets_between",
                "streets_before",
                "streets_before_names",
                "before_streets",
                "no_street_names",
            ),
            *("no_street_names", "after_numbers", "public_codes", "code_words", "public_code_phrases"),
        ),
        strict="after texts from outside only words that were said or read in the conversation leave",
    ),
    Section(
        name="quantities",
        holds=(
            "words that ask for everything of a kind, phrases in which they do not, words for the home,"
            " words that except something (`excepting`), and words for everybody at home (`people`), also as"
            " the receivers of a message"
        ),
        needed=("all",),
        optional=("everything", "idioms", "whole_home", "home", "excepting", "people"),
        strict="the words of all languages count",
    ),
    Section(
        name="actions",
        holds="verbs for what devices do, by action; `on` and `off` are their particles at a sentence's end",
        needed=(),
        optional=(
            *("turn_on", "turn_off", "toggle", "open", "close", "lock", "unlock"),
            *("start", "stop", "play", "pause", "on", "off"),
        ),
    ),
    Section(
        name="names",
        holds=(
            "kinds of things by domain, colours and states by the English word, whites by kelvin, articles;"
            " words beside colours (`shades`): light, dark, warm, cold, and without an effect (`plain`);"
            " what lists and calendars are called (`lists`); words for a room of any kind (`rooms`), words"
            " between it and the person whose room it is (`of`), the endings of names of people by those of"
            " their first case (`endings`), and letters as Latin ones (`latin`)"
        ),
        needed=("domains",),
        optional=(
            *("articles", "colors", "states", "whites", "shades", "lists"),
            *("rooms", "of", "endings", "latin"),
        ),
    ),
    Section(
        name="concepts",
        holds="everyday words: classes of entities, wishes that name no thing, kinds of rooms and of things",
        needed=("classes", "wishes", "places", "things"),
    ),
    Section(
        name="times",
        holds=(
            "words of commands for later: times to come by their English word, as periods of the `past`,"
            " what is before"
            " (`soon`, `during`, `at`) and behind lengths and times, conditions (`when`, `if`) and those"
            " that are only polite, what begins a statement about something else,"
            " and words for reminders"
        ),
        needed=(
            *("english", "soon", "soon_behind", "during", "lengths", "amounts", "at"),
            *("clock", "later", "evening", "repeated", "when", "if", "polite", "statements", "reminders"),
        ),
        # `inverted`: verbs that begin a statement behind the time that it is about; `only`: words that may
        # stand before a condition.
        optional=("during_behind", "sure_at", "inverted", "only", "past"),
        strict="nothing but the model knows that a command is for later",
    ),
    Section(
        name="automations",
        holds=(
            "words of triggers and conditions that a model writes as text: who `arrives` home and `leaves`,"
            " `nobody`, `somebody` and `everybody`, and what is `above` or `below` a number; how they say"
            " that it is `dark` or `daylight`, and words between days and those that are left out (`except`);"
            " `days` by the English word: short names and other forms, and `to` between two days"
        ),
        needed=("arrives", "leaves", "nobody", "somebody", "above", "below"),
        optional=("everybody", "dark", "daylight", "except", "days"),
    ),
    Section(
        name="topics",
        holds=(
            "what a sentence asks about: kinds of things by domain and device class, with `*` for any"
            " ending, and verbs that imply one (`implies`); words for what is measured (`measures`);"
            " words for states (`on`, `open`, `playing`,"
            " `offline`, `low` …); `which` and any; words that point back (`follow`), to the `other` one,"
            " to a place (`there`), to the speaker's room (`here`), or compare places; words that"
            " name nothing (`weak`); words about `food`"
            " and drink; phrases with such words that name neither kind nor room (`none`); words of"
            " sentences about other things than the home (`elsewhere`);"
            " and, without spaces between words, kinds of rooms (`places`)"
        ),
        needed=("kinds", "which", "on", "open"),
        optional=(
            *("off", "closed", "locked", "secure", "playing", "offline", "low"),
            *(
                "follow",
                "other",
                "there",
                "here",
                "compares",
                "weak",
                "places",
                "implies",
                "measures",
                "food",
            ),
            *("none", "elsewhere"),
        ),
    ),
    Section(
        name="spoken_names",
        holds=(
            "how names of entities stand in a sentence: the article before each name (`always`), except for"
            " names that begin with a word of `without` or contain a word that ends like `owners`; articles"
            " before names that begin with a noun (`by_noun`), or, with `compounds`, are one word that ends"
            ' with it; and, by the ending that replaces them, endings of questions before "and"'
            " (`joined_endings`)"
        ),
        needed=(),
        optional=("always", "without", "owners", "by_noun", "joined_endings"),
    ),
    Section(
        name="replies",
        holds="how a question of the assistant ends that has no question mark",
        needed=(),
        optional=("question_ends",),
    ),
)
FLAGS: Final = frozenset(
    {"unspaced", "firewall.verb_last", "spoken_names.compounds"}
    | {"questions.same_order", "questions.inside_words", "directions.inside_words"}
)
"""Tables that are true or missing instead of a list."""


def missing(language: str) -> tuple[Section, ...]:
    """Return the sections that the file of a language lacks; all of them if there is no file."""
    own = find(language)
    return tuple(
        section
        for section in SECTIONS
        if own is None or any(table(own, f"{section.name}.{name}") is None for name in section.needed)
    )
