"""Sentences about later, for a while or on a condition, and those that only sound so."""

import pytest

from custom_components.home_agent.languages.later import LaterKind, read_later, read_orders
from custom_components.home_agent.languages.times import in_english

LATER = {
    LaterKind.TIME: {
        "en": [
            "In ten minutes turn off the living room lights",
            "turn on the light at 6",
            "Lights off at 10 pm",
            "turn off the lamp in a quarter of an hour",
        ],
        "de": [
            "Mach in einer halben Stunde das Licht aus",
            "Schalte das Gartenlicht bei Sonnenuntergang ein",
            "Mach in einer Viertelstunde das Licht aus",
            "Mach in einem Stündchen das Licht aus",
        ],
        "fr": [
            "Éteins la télé à 22h",
            "Ferme les volets demain matin",
            "Allume la terrasse dans un quart d'heure",
        ],
        "es": [
            "Apaga la luz dentro de media hora",
            "Apaga la tele a las 10",
            "apaga la luz en diez minutillos",
        ],
        "nl": [
            "Doe de tv uit over 10 minuten",
            "Zet de lamp om 18:30 aan",
            "Doe de lamp over een halfuurtje uit",
        ],
        "it": [
            "Tra 10 minuti spegni la tv",
            "Spegni la luce stasera",
            "fra mezz'oretta abbassa le tapparelle",
        ],
        "pt": ["Daqui a 10 minutos desliga a televisão", "Desliga a televisão às 22"],
        "pl": ["Za 10 minut wyłącz telewizor", "Wyłącz światło jutro rano", "wyłącz lampkę za kwadrans"],
        "sv": ["Släck lamporna i vardagsrummet om tio minuter", "Tänd lampan kl 18:30"],
        "da": ["Om 10 minutter sluk fjernsynet", "Tænd havelyset ved solnedgang"],
        "nb": ["Om 10 minutter slå av TV-en", "Slå på lyset kl. 18:30"],
        "ru": ["Через 10 минут выключи телевизор", "Включи свет в 7 утра"],
    },
    LaterKind.LENGTH: {
        "en": ["Turn on the hallway light for 5 minutes"],
        "de": ["Mach das Licht 5 Minuten lang an"],
        "fr": ["Allume la lumière pendant 5 minutes"],
        "nl": ["Doe het ganglicht voor 5 minuten aan"],
        "ru": ["Включи свет на 5 минут"],
    },
    LaterKind.REPEATED: {
        "en": ["Every evening at 10 turn off the TV"],
        "de": ["Schalte jeden Abend um 22 Uhr den Fernseher aus"],
        "it": ["Ogni sera alle 22 spegni la tv"],
        "pl": ["Codziennie o 22 wyłącz telewizor"],
    },
    LaterKind.CONDITION: {
        "en": [
            "Turn off the TV at ten unless someone is watching",
            "Turn off the TV at 10 pm, but only if nobody is home",
            "Turn on the hallway light when I come home",
            "If it rains, close the windows",
        ],
        "de": [
            "Mach um 22 Uhr das Licht aus, falls keiner da ist",
            "Mach um acht die Heizung an, außer wenn wir weg sind",
            "Schalte um 22 Uhr das Licht aus, aber nur wenn keiner zuhause ist",
            "Sobald es dunkel wird, schalte das Licht ein",
        ],
        "fr": [
            "Éteins la télé à 22h, mais seulement si personne n'est là",
            "Éteins la télé à 22h sauf si quelqu'un regarde",
            "Allume la lumière dès que je rentre",
        ],
        "es": [
            "Apaga la tele a las 10, pero solo si no hay nadie en casa",
            "Cuando llegue a casa, enciende la luz",
        ],
        "pt": [
            "Desliga a televisão às 22, mas só se não houver ninguém em casa",
            "Acende a luz assim que eu chegar",
        ],
        "da": ["Sluk fjernsynet kl 22, medmindre nogen er hjemme", "Hvis det regner, luk vinduerne"],
        "nb": [
            "Når jeg kommer hjem, slå på lyset",
            "Slå av TV-en kl 22, men bare hvis ingen er hjemme",
            "Slå av TV-en kl 22, med mindre noen er hjemme",
        ],
        "nl": [
            "Doe de tv om 22:00 uit, maar alleen als er niemand thuis is",
            "Doe de tv om 22:00 uit, tenzij er iemand thuis is",
        ],
        "it": [
            "Spegni la tv alle 22, ma solo se non c'è nessuno",
            "Spegni la tv alle 22 a meno che ci sia qualcuno",
        ],
        "pl": [
            "Wyłącz telewizor o 22, ale tylko jeśli nikogo nie ma w domu",
            "Wyłącz telewizor o 22, chyba że ktoś ogląda",
        ],
        "sv": [
            "Stäng av tv:n kl 22, men bara om ingen är hemma",
            "Stäng av tv:n kl 22 om inte någon är hemma",
        ],
        "ru": [
            "Выключи телевизор в 22:00, но только если никого нет дома",
            "Выключи телевизор в 22:00, если не смотрят",
        ],
    },
    None: {
        "en": [
            "Turn it off, dinner is in ten minutes",
            "turn on the light, I'll be back in ten minutes",
            "set the alarm clock lamp to red",
            'play "In Ten Minutes" on the TV',
            "set the heating to 20 for the evening",
            "Turn on the light and in ten minutes turn it off",
            "if you can, turn on the light",
            "turn off the TV if it's still on",
            "turn off the TV, but only if it's still on",
            "turn on the fan at 10%",
            "turn on all lights at once",
        ],
        "de": ["mach den fernseher aus in zehn minuten gibt es essen", "Guten Morgen, mach das Licht an"],
        "fr": ["Allume la lumière dans la chambre", "Éteins la télé, on mange dans dix minutes"],
        "es": ["Apaga la tele, cenamos en diez minutos", "Sí, enciende la luz", "Apaga la luz de noche"],
        "nl": ["Doe de tv uit, we eten over tien minuten", "Zet de verwarming op 20 graden"],
        "it": ["Accendi la luce, arrivo tra dieci minuti", "Se puoi accendi la luce"],
        "pt": ["Boa noite, apaga a luz"],
        "pl": ["Wyłącz telewizor, jemy za dziesięć minut"],
        "sv": ["Tänd lampan om du kan", "Stäng av tv:n, vi äter om tio minuter"],
        "da": ["Tænd lyset, jeg kommer om ti minutter"],
        "nb": ["God morgen, slå på lyset"],
        "ru": ["Выключи телевизор, ужин будет через десять минут", "Если можешь, включи свет"],
    },
}


@pytest.mark.parametrize(
    ("kind", "language", "sentence"),
    [
        (kind, language, sentence)
        for kind, by_language in LATER.items()
        for language, sentences in by_language.items()
        for sentence in sentences
    ],
)
def test_sentences(kind: LaterKind | None, language: str, sentence: str) -> None:
    assert read_later(sentence, language) is kind


def test_another_language_than_the_assistants() -> None:
    assert read_later("Schalte in 10 Minuten den Fernseher aus", "en") is LaterKind.TIME
    assert read_later("Allume la lumière dans la chambre", "en") is None


def test_this_evening_is_now_in_the_evening() -> None:
    assert read_later("Mach heute Abend das Licht an", "de") is LaterKind.TIME
    assert read_later("Mach heute Abend das Licht an", "de", is_evening=True) is None


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("language", "sentence", "kinds"),
    [
        (
            "de",
            "Schalt den Fernseher in 10 Minuten aus und mach das Rollo zu, sobald es dunkel wird",
            [{LaterKind.TIME}, {LaterKind.CONDITION}],
        ),
        (
            "en",
            "Turn off the TV in ten minutes and close the blind as soon as it gets dark",
            [{LaterKind.TIME}, {LaterKind.CONDITION}],
        ),
        ("en", "Turn on the light and in ten minutes turn it off", [set(), {LaterKind.TIME}]),
        (
            "de",
            "Mach das Licht aus. Sobald es dunkel wird, mach das Rollo zu.",
            [set(), {LaterKind.CONDITION}],
        ),
        ("de", "Mach das Licht aus und das Rollo zu, wenn ich gehe", [{LaterKind.CONDITION}]),
    ],
)
def test_each_command_has_its_own_time(language: str, sentence: str, kinds: list[set[LaterKind]]) -> None:
    assert [set(order.kinds) for order in read_orders(sentence, language) if order.commands] == kinds


def test_a_condition_of_what_is_planned_cannot_be_looked_up() -> None:
    sentence = "Der Saugroboter soll um eins loslegen, aber nur wenn keiner zuhause ist"
    assert read_later(sentence, "de") is None
    (order,) = read_orders(sentence, "de", planned=True)
    assert (order.kinds, order.is_doubtful) == ({LaterKind.CONDITION}, True)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("fr", "Ferme le store et dis-moi s'il gèle dehors"),
        ("es", "Apaga la radio y dime si llueve"),
        ("it", "Spegni la radio e dimmi se piove"),
        ("pt", "Apaga o rádio e diz-me se está a chover"),
    ],
)
def test_whether_is_no_condition(language: str, sentence: str) -> None:
    assert read_later(sentence, language) is None
