"""A yes with the action behind it is a yes; with another action, target, time or a no it is none."""

from typing import Any

import pytest

from custom_components.home_agent.languages import table, words
from custom_components.home_agent.safety.answers import IT, Answer, Ordered, read_answer, says_yes
from homeassistant.helpers import entity_registry as er
from tests.helpers.agent import Agent, speech
from tests.helpers.checks import every, for_each
from tests.helpers.secure_house import RAN, UNLOCK, SecureHouse
from tests.servers.replies import text, tool_calls

LANGUAGES = ("da", "de", "en", "es", "fr", "it", "nb", "nl", "pl", "pt", "ru", "sv")
VERBS = ("open", "unlock", "disarm", "close", "lock", "turn_on", "turn_off", "start")
OPPOSITE = {"open": "close", "unlock": "lock", "turn_on": "turn_off"}
GARAGE = ("ha_control", {"action": "open", "entity_id": "cover.garage"})
MORE = {
    "da": ["og luk garagen", "men ikke endnu", "om ti minutter", "hvis Anna er hjemme"],
    "de": [
        "und mach das Licht an",
        "aber nicht jetzt",
        "in zehn Minuten",
        "wenn Anna da ist",
        "und die Garage",
    ],
    "en": [
        "and close the garage",
        "but not now",
        "in ten minutes",
        "when Anna is home",
        "and the garage too",
    ],
    "es": ["y cierra el garaje", "pero no ahora", "en diez minutos", "si Ana está en casa"],
    "fr": ["et allume la lumière", "mais pas maintenant", "dans dix minutes", "si Anna est là"],
    "it": ["e chiudi il garage", "ma non ora", "tra dieci minuti", "se Anna è a casa"],
    "nb": ["og lukk garasjen", "men ikke nå", "om ti minutter", "hvis Anna er hjemme"],
    "nl": ["en sluit de garage", "maar niet nu", "over tien minuten", "als Anna thuis is"],
    "pl": ["i zamknij garaż", "ale nie teraz", "za dziesięć minut", "jeśli Anna jest w domu"],
    "pt": ["e fecha a garagem", "mas não agora", "em dez minutos", "se a Ana estiver em casa"],
    "ru": ["и закрой гараж", "но не сейчас", "через десять минут", "если Анна дома"],
    "sv": ["och stäng garaget", "men inte nu", "om tio minuter", "om Anna är hemma"],
}
"""What makes another sentence of a yes."""


def forms(language: str, verb: str, target: str = "") -> list[str]:
    """Return how people give an order."""
    found = (table(language, "answers.orders") or {}).get(verb, ())
    return [" ".join(form.replace(IT, target).split()) for form in found]


def confirms(sentence: str, language: str, verb: str) -> bool:
    """Return whether a sentence is a yes to the question about an action on Gate 7."""
    return says_yes(sentence, language, Ordered(frozenset({verb}), ("Gate 7",)))


@for_each("verb", VERBS)
@for_each("language", LANGUAGES)
def test_the_same_action_is_a_yes(language: str, verb: str) -> None:
    """With a pronoun, politeness and words like "now" beside it, in any case, and by its name."""
    yes = words(language, "answers.yes")[0]
    pronoun = words(language, "answers.it")[0]
    polite = words(language, "answers.fillers")[0]
    soon = words(language, "answers.beside_order")[0]
    said = [
        sentence
        for form in (
            *forms(language, verb),
            *forms(language, verb, pronoun),
            *forms(language, verb, "Gate 7"),
        )
        for sentence in (
            f"{yes}, {form}.",
            f"{yes.title()} {form}!",
            f"{yes}, {polite}, {form}",
            f"{yes}, {form} {soon}, {polite}",
        )
    ]
    said += [f"{yes} {yes}, {form}" for form in forms(language, verb)]
    assert every(confirms(one, language, verb) for one in said)


@for_each("verb", VERBS)
@for_each("language", LANGUAGES)
def test_anything_else_is_none(language: str, verb: str) -> None:
    """Another verb, target, name, condition or time, a no, a question, or no yes at all."""
    yes = words(language, "answers.yes")[0]
    own = {form for target in ("", *words(language, "answers.it")) for form in forms(language, verb, target)}
    bare = forms(language, verb)
    others = [
        f"{yes}, {form}"
        for other in VERBS
        for target in ("", *words(language, "answers.it"))
        for form in forms(language, other, target)
        if form not in own
    ]
    for target in ("Gate 8", "xyz"):
        others += [f"{yes}, {form}" for form in forms(language, verb, target) if target in form]
    others += [f"{yes}, {form} {more}" for form in bare for more in MORE[language]]
    others += [f"{yes}, {more}, {form}" for form in bare for more in MORE[language]]
    for no in words(language, "answers.no"):
        others += [f"{yes}, {no} {form}" for form in bare]
        others += [f"{yes}, {form} {no}" for form in bare]
    others.append(f"{yes} {yes}")
    others += [f"{yes}, {form}?" for form in own]
    others += [f"{yes}, {form}..." for form in own]
    others += [f"{yes}, {form} {form}" for form in own]
    agreeing = tuple(f"{phrase} " for phrase in words(language, "answers.go_ahead"))
    others += [form for form in own if not form.startswith(agreeing)]
    wrong = [one for one in others if confirms(one, language, verb)]
    assert others
    assert wrong == []


@for_each("language", LANGUAGES)
def test_opposites_share_no_word(language: str) -> None:
    for verb, opposite in OPPOSITE.items():
        assert not set(forms(language, verb)) & set(forms(language, opposite))


def test_without_a_question_or_a_verb() -> None:
    """What has no verb of its own is confirmed by a plain yes only."""
    assert read_answer("yes, open it", "en").answer is Answer.OTHER
    assert read_answer("yes, open it", "en", Ordered()).answer is Answer.OTHER
    assert read_answer("yes", "en", Ordered()).answer is Answer.YES


async def answered(agent: Agent, language: str, sentence: str, *calls: tuple[str, dict[str, Any]]) -> str:
    """Ask about calls, and return what is said to an answer."""
    agent.server.clear()
    agent.server.script([tool_calls(list(calls)), text("Hm."), text("Hm.")])
    asked = await agent.say("Open it", language=language)
    assert asked.continue_conversation is True
    return speech(await agent.say(sentence, language=language, conversation_id=asked.conversation_id))


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Yes, unlock the front door"),
        ("en", "Sure, unlock the main entrance"),
        ("de", "Ja, schließ sie auf"),
        ("fr", "Ouais vas-y, tu peux l'ouvrir"),
    ],
)
async def test_it_unlocks(secure: SecureHouse, language: str, sentence: str) -> None:
    """The door that was asked about, once, by its verb, its name or an alias."""
    er.async_get(secure.hass).async_update_entity("lock.front_door", aliases=["Main entrance"])
    await answered(await secure.async_with(), language, sentence, UNLOCK)
    assert secure.moved() == RAN


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "yes open the garage"),
        ("en", "Yes, unlock the cellar"),
        ("en", "yes, lock it"),
        ("en", "yes, open it in ten minutes"),
        ("de", "Ja, mach die Garage auf"),
        ("fr", "Ouais vas-y, et ouvre la fenêtre"),
        ("es", "Sí, pero no la abras"),
    ],
)
async def test_it_does_not_unlock(secure: SecureHouse, language: str, sentence: str) -> None:
    """What is short is asked once more; anything longer closes the question and goes to the model."""
    said = await answered(await secure.async_with(), language, sentence, UNLOCK)
    again = said.startswith(("Yes or no: ", "Ja oder nein: ", "Oui ou non : ", "Sí o no: "))
    closed = said.endswith(" Hm.")
    assert again is not closed
    assert secure.moved() == []


async def test_two_things(secure: SecureHouse) -> None:
    """A verb counts if it means all that was asked about, and a name only if it is all."""
    agent = await secure.async_with()
    question = "Yes or no: Should I unlock the Front Door and open the Garage?"
    assert await answered(agent, "en", "yes, unlock it", UNLOCK, GARAGE) == question
    assert await answered(agent, "en", "yes, open the garage", UNLOCK, GARAGE) == question
    assert secure.moved() == []
    await answered(agent, "en", "yes, open them", UNLOCK, GARAGE)
    assert secure.moved() == [*RAN, ("cover.open_cover", ("cover.garage",))]
