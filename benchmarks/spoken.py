"""Requests in several languages, for the homes of `tests.helpers.homes`."""

PLACES = {
    "en": (
        "living room|kitchen|bedroom|bathroom|hallway|kids room|office|guest room"
        "|basement|garden|garage|attic"
    ),
    "de": (
        "im Wohnzimmer|in der Küche|im Schlafzimmer|im Bad|im Flur|im Kinderzimmer|im Büro|im Gästezimmer"
        "|im Keller|im Garten|in der Garage|auf dem Dachboden"
    ),
    "fr": (
        "du salon|de la cuisine|de la chambre|de la salle de bain|du couloir|de la chambre d'enfant|du bureau"
        "|de la chambre d'amis|de la cave|du jardin|du garage|du grenier"
    ),
    "es": (
        "del salón|de la cocina|del dormitorio|del baño|del pasillo|del cuarto de los niños|del despacho"
        "|del cuarto de invitados|del sótano|del jardín|del garaje|del desván"
    ),
    "pl": (
        "w salonie|w kuchni|w sypialni|w łazience|w korytarzu|w pokoju dziecięcym|w biurze|w pokoju gościnnym"
        "|w piwnicy|w ogrodzie|w garażu|na strychu"
    ),
    "ru": (
        "в гостиной|на кухне|в спальне|в ванной|в коридоре|в детской|в кабинете|в гостевой"
        "|в подвале|в саду|в гараже|на чердаке"
    ),
    "sv": (
        "i vardagsrummet|i köket|i sovrummet|i badrummet|i hallen|i barnrummet|på kontoret|i gästrummet"
        "|i källaren|i trädgården|i garaget|på vinden"
    ),
}
"""Per language: the rooms of `tests.helpers.homes.ROOMS` as one speaks of them."""

SENTENCES = {
    "en": (
        "turn off the lights in the {}|lower the blinds in the {}|set the heating in the {} to 21"
        "|mute the telly in the {}|how warm is it in the {}|are the windows in the {} open"
    ),
    "de": (
        "mach das Licht {} aus|fahr die Rollos {} runter|stell die Heizung {} auf 21"
        "|mach den Fernseher {} leiser|wie warm ist es {}|sind die Fenster {} offen"
    ),
    "fr": (
        "éteins les lumières {}|ferme les volets {}|mets le chauffage {} à 21"
        "|baisse le son de la télé {}|quelle est la température {}|les fenêtres {} sont ouvertes"
    ),
    "es": (
        "apaga las luces {}|baja las persianas {}|pon la calefacción {} a 21"
        "|quita el sonido de la tele {}|qué temperatura hace {}|están abiertas las ventanas {}"
    ),
    "pl": (
        "zgaś światła {}|opuść rolety {}|ustaw ogrzewanie {} na 21"
        "|ścisz telewizor {}|jaka jest temperatura {}|czy okna {} są otwarte"
    ),
    "ru": (
        "выключи свет {}|опусти жалюзи {}|поставь отопление {} на 21"
        "|сделай телевизор {} тише|какая температура {}|открыты ли окна {}"
    ),
    "sv": (
        "släck lamporna {}|dra ner rullgardinerna {}|ställ värmen {} på 21"
        "|sänk ljudet på teven {}|hur varmt är det {}|är fönstren {} öppna"
    ),
}
"""Per language: a request for each of the first six of `tests.helpers.homes.KINDS`."""

INDIRECT = {
    "en": (
        "I can't see a thing in the {}|keep the sun out of the {}|I'm freezing in the {}"
        "|I want to see the news in the {}|do I need a jumper in the {}|is there a draught in the {}"
    ),
    "de": (
        "{} sieht man ja gar nichts|{} blendet die Sonne|{} friere ich"
        "|ich will {} die Nachrichten sehen|brauche ich {} einen Pullover|zieht es {}"
    ),
    "fr": (
        "on n'y voit rien du côté {}|le soleil m'éblouit du côté {}|je gèle du côté {}"
        "|je veux regarder les infos du côté {}|faut-il un pull du côté {}"
        "|y a-t-il un courant d'air du côté {}"
    ),
    "es": (
        "no se ve nada en la zona {}|el sol me deslumbra en la zona {}|me estoy helando en la zona {}"
        "|quiero ver las noticias en la zona {}|necesito un jersey en la zona {}|hay corriente en la zona {}"
    ),
    "pl": (
        "nic nie widać {}|słońce razi {}|marznę {}"
        "|chcę obejrzeć wiadomości {}|czy potrzebuję swetra {}|czy jest przeciąg {}"
    ),
    "ru": (
        "{} ничего не видно|{} слепит солнце|{} я мёрзну"
        "|хочу посмотреть новости {}|нужен ли {} свитер|{} сквозняк"
    ),
    "sv": (
        "man ser ingenting {}|solen bländar {}|jag fryser {}"
        "|jag vill se nyheterna {}|behöver jag tröja {}|drar det {}"
    ),
}
"""The same wishes in words that are in no name and no kind."""

FARTHER = {
    "en": (
        "it's like a cave in the {}|my screen is washed out in the {}|my fingers are numb in the {}"
        "|I want to follow the final in the {}|is a shirt enough in the {}"
        "|the papers blow off the table in the {}"
    ),
    "de": (
        "{} stolpert man über alles|{} erkennt man auf dem Bildschirm nichts wegen der Helligkeit"
        "|{} bekomme ich blaue Finger|ich will {} das Finale verfolgen|reicht {} ein dünnes Hemd"
        "|{} fliegen die Papiere vom Tisch"
    ),
    "fr": (
        "je me cogne partout du côté {}|mon écran est illisible du côté {}"
        "|j'ai les doigts engourdis du côté {}|je veux suivre la finale du côté {}"
        "|une chemise suffit du côté {}|les papiers s'envolent du côté {}"
    ),
    "es": (
        "me tropiezo con todo en la zona {}|no distingo la pantalla en la zona {}"
        "|tengo los dedos morados en la zona {}|quiero seguir la final en la zona {}"
        "|me basta una camisa en la zona {}|se vuelan los papeles en la zona {}"
    ),
    "pl": (
        "wszędzie się potykam {}|nie mogę odczytać ekranu {}|mam sine palce {}"
        "|chcę śledzić finał {}|czy wystarczy koszula {}|papiery spadają ze stołu {}"
    ),
    "ru": (
        "{} спотыкаюсь на каждом шагу|{} на экране ничего не разобрать|{} пальцы онемели"
        "|хочу следить за финалом {}|хватит ли {} рубашки|{} бумаги падают на пол"
    ),
    "sv": (
        "jag snubblar på allt {}|jag kan inte tyda skärmen {}|mina fingrar domnar {}"
        "|jag vill följa finalen {}|räcker det med skjorta {}|papperen blåser av bordet {}"
    ),
}
"""The same wishes said still farther from the thing. The lists of everyday words are older than these and
were not changed for them."""
