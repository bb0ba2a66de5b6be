"""What a sentence is read as, with its punctuation and as speech recognition writes it."""

from collections.abc import Iterator
from pathlib import Path
import re

from custom_components.home_agent.languages import languages_with
from custom_components.home_agent.languages.sentence import Mood, read
from custom_components.home_agent.when import in_english
from tests.helpers.checks import every, for_each
from tests.helpers.spoken import QUESTIONS, REASONS, REQUESTS

FIXTURE = Path(__file__).parents[1] / "fixtures" / "said_about_doors.tsv"
DOORS = [line.split("\t") for line in FIXTURE.read_text(encoding="utf-8").splitlines()]
"""What is said about doors: whether it asks, forbids or allows, the language, the sentence."""
SAME_ORDER = frozenset(("fr", "es", "it", "pt", "pl", "ru", "ja", "ko", "tr", "uk", "hu", "cs", "zh"))
"""Languages whose questions may have the words of a statement, so that only the mark tells them apart."""

PLAIN = {
    "en": ("Turn on the light in the hall", "Could you close the blinds, please?", "Next song please"),
    "de": (
        "Schalte das Licht im Flur ein",
        "Kannst du bitte die Jalousie schließen?",
        "Mach die Musik lauter",
    ),
    "fr": (
        "Allume la lumière du couloir",
        "Peux-tu fermer les volets, s'il te plaît ?",
        "Baisse le chauffage",
    ),
    "es": ("Enciende la luz del pasillo", "¿Puedes cerrar las persianas, por favor?", "Apaga la tele"),
    "nl": ("Doe het licht in de gang aan", "Kun je de gordijnen sluiten, alsjeblieft?", "Zet de muziek uit"),
    "it": ("Accendi la luce in corridoio", "Puoi chiudere le tapparelle, per favore?", "Spegni la tv"),
    "pt": ("Liga a luz do corredor", "Podes fechar as persianas, por favor?", "Desliga a televisão"),
    "pl": ("Włącz światło w korytarzu", "Możesz zamknąć rolety, proszę?", "Wyłącz telewizor"),
    "sv": ("Tänd lampan i hallen", "Kan du stänga persiennerna, tack?", "Stäng av tv:n"),
    "da": ("Tænd lyset i gangen", "Kan du lukke gardinerne?", "Sluk fjernsynet"),
    "nb": ("Slå på lyset i gangen", "Kan du lukke gardinene?", "Slå av tv-en"),
    "ru": ("Включи свет в коридоре", "Можешь закрыть шторы, пожалуйста?", "Выключи телевизор"),
}
SEVERAL = {
    "en": "Turn on the light and the fan",
    "de": "Schalte das Licht und den Ventilator ein",
    "fr": "Allume la lumière et le ventilateur",
    "es": "Enciende la luz y el ventilador",
    "nl": "Doe het licht en de ventilator aan",
    "it": "Accendi la luce e il ventilatore",
    "pt": "Liga a luz e a ventoinha",
    "pl": "Włącz światło i wentylator",
    "sv": "Tänd lampan och fläkten",
    "da": "Tænd lyset og ventilatoren",
    "nb": "Slå på lyset og viften",
    "ru": "Включи свет и вентилятор",
}
MORE = {
    "en": (
        "Turn on the light and close the blinds",
        "Turn on the light. How warm is it?",
        "Is the light on?",
    ),
    "de": (
        "Mach das Licht an und sag mir die Uhrzeit",
        "Mach das Licht an. Wie warm ist es?",
        "Ist das Licht an?",
    ),
    "fr": ("Allume la lumière et ferme les volets", "Allume la lumière. Quelle heure est-il ?"),
    "es": ("Enciende la luz y cierra las persianas", "Enciende la luz. ¿Qué hora es?"),
    "nl": ("Doe het licht aan en sluit de gordijnen", "Doe het licht aan. Hoe warm is het?"),
    "it": ("Accendi la luce e chiudi le tapparelle", "Accendi la luce. Quanti gradi ci sono?"),
    "pt": ("Liga a luz e fecha as persianas", "Liga a luz. Que horas são?"),
    "pl": ("Włącz światło i zamknij rolety", "Włącz światło. Ile jest stopni?"),
    "sv": ("Tänd lampan och stäng persiennerna", "Tänd lampan. Hur varmt är det?"),
    "da": ("Tænd lyset og luk gardinerne", "Tænd lyset. Hvor varmt er det?"),
    "nb": ("Slå på lyset og lukk gardinene", "Slå på lyset. Hvor varmt er det?"),
    "ru": ("Включи свет и закрой шторы", "Включи свет. Сколько градусов?"),
}


def refusals(sentence: str, language: str) -> list[object]:
    """Return what of a sentence could refuse a call."""
    reading = read(sentence, language)
    return [each for each in (reading.only_asks, reading.only_forbids) if each]


def spellings(sentence: str) -> Iterator[str]:
    """Yield a sentence as it is written, and without marks and capitals."""
    yield sentence
    yield re.sub(r"[.,!?¿¡;:？！。、]", "", sentence).strip().lower()  # noqa: RUF001 - full width ones


@for_each("language", PLAIN)
def test_one_thing_to_do(language: str) -> None:
    """One clause with one thing to do, politely or not."""
    for sentence in (each for said in PLAIN[language] for each in spellings(said)):
        reading = read(sentence, language)
        assert (reading.kind, reading.is_plain, reading.is_joined) == (Mood.ORDER, True, False), sentence


@for_each("language", SEVERAL)
def test_several_things_in_one_clause(language: str) -> None:
    """Several things in one clause are one order, of which not only a part may be confirmed."""
    for sentence in spellings(SEVERAL[language]):
        reading = read(sentence, language)
        assert (reading.is_plain, reading.is_joined) == (True, True), sentence


@for_each("language", MORE)
def test_more_than_one_order(language: str) -> None:
    """Two orders, and a question alone or beside an order, are for the model."""
    assert not [sentence for sentence in MORE[language] if read(sentence, language).is_plain]


@for_each("language", sorted(set(QUESTIONS) & set(languages_with("questions.commands"))))
def test_questions(language: str) -> None:
    """With a question mark all of them only ask; without one those of which that is certain."""
    asked = QUESTIONS[language]
    missed = [sentence for sentence in asked if "?" in sentence and not read(sentence, language).only_asks]
    assert len(missed) <= len(asked) * 0.05, missed
    bare = [sentence for sentence in asked if not read([*spellings(sentence)][-1], language).only_asks]
    assert len(bare) <= len(asked) * (0.65 if language in SAME_ORDER else 0), bare


@for_each("language", sorted(set(REQUESTS) & set(languages_with("questions.commands"))))
def test_requests_are_never_refused(language: str) -> None:
    for said in REQUESTS[language]:
        for sentence in spellings(said):
            assert refusals(sentence, language) == [], sentence


@for_each("language", REASONS)
def test_why_and_who_are_questions(language: str) -> None:
    asked = [each for sentence in every(REASONS[language]) for each in spellings(sentence)]
    missed = [sentence for sentence in asked if not read(sentence, language).only_asks]
    assert len(missed) <= len(asked) * 0.15, missed


@for_each("language", languages_with("questions.commands"))
def test_what_is_said_about_doors(language: str) -> None:
    """An order is never taken for a question; of an order without a mark a negation may be misread."""
    lines = [(wanted, sentence) for wanted, spoken, sentence in DOORS if spoken == language]
    for wanted, sentence in lines:
        if wanted not in {"asks", "forbids"}:
            assert refusals(sentence, language) == [], sentence
    certain = [(wanted, sentence) for wanted, sentence in lines if wanted in {"asks", "forbids"}]
    missed = [
        sentence for wanted, sentence in certain if not getattr(read(sentence, language), f"only_{wanted}")
    ]
    assert len(missed) <= max(1, len(certain) * 0.2), missed


@for_each(
    "sentence",
    [
        "why on earth is that lamp still on just switch the thing off",
        "who left the window open again please close it",
        "who opened the kitchen window again anyway put the heating down",
        "dont open them all the way just halfway",
        "don't turn it off turn it down",
        "close the blinds i mean open them",
        "did anyone feed the cat and turn on the porch light",
        "not everything only the kitchen",
    ],
)
def test_an_order_beside_anything_else_is_an_order(sentence: str) -> None:
    """Why, who and don't stop nothing where a verb of an order stands on its own."""
    assert refusals(sentence, "en") == []


@for_each(
    ("language", "sentence", "rest"),
    [
        ("en", "all lights upstairs but not leo's", "all lights upstairs"),
        ("de", "alle Lampen außer der Leiste und dem Flur", "alle lampen"),
        ("fr", "toutes les lumières sauf la cuisine", "toutes les lumières"),
        ("en", "turn on the light except when it is day", "turn on the light except when it is day"),
    ],
)
def test_what_is_excepted_is_no_place(language: str, sentence: str, rest: str) -> None:
    assert read(sentence, language).without_exceptions == rest


@for_each(
    ("sentence", "language", "kind"),
    [
        ("Can you turn on the light?", "en", Mood.ORDER),
        ("Is the light on?", "en", Mood.QUESTION),
        ("Is it dark? Turn on the light.", "en", Mood.ORDER),
        ("Kannst du mir sagen, ob das Licht an ist?", "de", Mood.QUESTION),
        ("Kannst du das Licht anmachen?", "de", Mood.ORDER),
        ("Write a poem", "en", Mood.STORY),
        ("Tell me a story", "en", Mood.STORY),
        ("give me a short summary of the house", "en", Mood.QUESTION),
        ("Ho chiuso la porta", "it", Mood.QUESTION),
        ("Kitchen light off", "en", Mood.ORDER),
        ("add milk to the shopping list", "en", Mood.ORDER),
        ("remind me to call mum at six", "en", Mood.ORDER),
        ("leave it like that", "en", Mood.REMARK),
        ("so ich leg mich hin bis morgen", "de", Mood.REMARK),
        ("it is freezing in here", "en", Mood.REMARK),
        ("good night", "en", Mood.QUESTION),
        ("Guten Abend, mach das Licht an", "de", Mood.ORDER),
        ("打开厨房的灯", "zh", Mood.ORDER),
        ("電気をつけて", "ja", Mood.ORDER),
        ("불 켜줘", "ko", Mood.ORDER),
        ("Άναψε το φως", "el", Mood.REMARK),
        ("", "en", Mood.REMARK),
    ],
)
def test_what_a_sentence_wants(sentence: str, language: str, kind: Mood) -> None:
    """Orders, questions and wishes for words are told apart; of a language without words nothing is known."""
    assert read(sentence, language).kind is kind


@for_each(
    ("text", "language", "english"),
    [
        ("20 Minuten", "en", "20 minute"),
        ("morgen 7 Uhr", "de", "tomorrow 7 oclock"),
        ("dans une demi-heure", "fr", "in 30 minutes"),
        ("coucher du soleil", "en", "sunset"),
        ("завтра в 7:00", "ru", "tomorrow at 7:00"),
    ],
)
def test_times_in_english(text: str, language: str, english: str) -> None:
    assert english in list(in_english(text, language))
