"""Which sentences are plain commands, in twelve languages."""

import pytest

from custom_components.home_agent.agent.quick.reading import PlainCommand, plain_command

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


@pytest.mark.parametrize(
    ("language", "sentence"), [(language, one) for language, all_ in PLAIN.items() for one in all_]
)
def test_one_thing_to_do(language: str, sentence: str) -> None:
    """One clause with one thing to do, politely or not."""
    assert plain_command(sentence, language) == PlainCommand(joined=False)


@pytest.mark.parametrize(("language", "sentence"), SEVERAL.items())
def test_several_things_in_one_clause(language: str, sentence: str) -> None:
    """Several things in one clause are one command, of which not only a part may be confirmed."""
    assert plain_command(sentence, language) == PlainCommand(joined=True)


@pytest.mark.parametrize(
    ("language", "sentence"), [(language, one) for language, all_ in MORE.items() for one in all_]
)
def test_more_than_a_command(language: str, sentence: str) -> None:
    """Two commands, and a question alone or beside a command, are for the model."""
    assert plain_command(sentence, language) is None
