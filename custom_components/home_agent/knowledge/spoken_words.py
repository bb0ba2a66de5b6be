"""What people call everything, and kinds of things, in many languages; folded."""

# ruff: noqa: RUF001 - words of many scripts
from collections.abc import Mapping
from typing import Final


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


ALL_WORDS: Final[Mapping[str, frozenset[str]]] = {
    "en": words_of("all every everything everywhere each entire"),
    "de": words_of("alle alles allen aller samtliche uberall jede jedes jeden"),
    "fr": words_of("tout tous toute toutes partout chaque"),
    "es": words_of("todo todos toda todas"),
    "pt": words_of("tudo todo todos toda todas"),
    "it": words_of("tutto tutti tutta tutte ovunque ogni"),
    "ca": words_of("tot tots tota totes"),
    "ro": words_of("tot toate toti toata"),
    "nl": words_of("alle alles allemaal overal elke elk"),
    "sv": words_of("alla allt overallt varje"),
    "da": words_of("alle alt overalt"),
    "nb": words_of("alle alt overalt"),
    "no": words_of("alle alt overalt"),
    "fi": words_of("kaikki kaikkialla kaikkien jokainen"),
    "et": words_of("koik koikjal"),
    "pl": words_of("wszystkie wszystko wszystkich wszystkim wszedzie kazde"),
    "cs": words_of("vsechny vsechno vse vsude vsechna"),
    "sk": words_of("vsetky vsetko vsade"),
    "hu": words_of("osszes minden mindent mindenhol"),
    "tr": words_of("tum butun hepsi hepsini tumunu her"),
    "ru": words_of("все всех всю везде весь"),
    "uk": words_of("всі усі все усе всюди"),
    "el": words_of("ολα ολες ολους παντου"),
    "ja": frozenset(("全部", "すべて", "全て", "ぜんぶ", "みんな")),
    "zh": frozenset(("所有", "全部", "一切", "全都")),
    "ko": frozenset(("모든", "모두", "전부")),
}
"""Per language: words that ask for everything of a kind."""

EVERYTHING_WORDS: Final = words_of(
    "everything alles tout todo tudo tutto tot allt kaikki koik wszystko wszystkim vsechno vse vsetko "
    "mindent hepsini"
)
"""Those of them that stand for whatever there is, of any kind."""

ALL_IDIOMS: Final = (
    "all right",
    "after all",
    "at all",
    "all the way",
    "all set",
    "all day",
    "all night",
    "every day",
    "alles klar",
    "alles gut",
    "alles in ordnung",
    "tout de suite",
    "tout a l heure",
    "tout a fait",
    "tout de meme",
    "todo bien",
    "sobre todo",
    "tutto bene",
    "tudo bem",
    "все равно",
)
"""Phrases in which such a word asks for nothing."""

_WORDS_OF_DOMAIN: Final[Mapping[str, str]] = {
    "light": "light lights lamp lamps lighting bulb bulbs licht lichter lichtern lampe lampen beleuchtung "
    "leuchte "
    "leuchten lumiere lumieres lampes eclairage luz luces lampara lamparas luce luci lampada lampade luzes "
    "lampadas lichten verlichting ljus ljuset lampa lampor lampan lamporna lys lyset lamper valo valot "
    "lamppu "
    "lamput swiatlo swiatla lampy swietla svetlo svetla lumina lumini lampak feny isik isiklar свет лампа "
    "лампы "
    "світло φως φωτα 灯 电灯 灯光 照明 ライト 電気 불 조명 전등",
    "switch": "switch switches outlet outlets socket sockets plug plugs schalter steckdose steckdosen "
    "prise prises "
    "interrupteur interrupteurs enchufe enchufes interruptor interruptores presa prese stopcontact "
    "gniazdko "
    "gniazdka розетка розетки",
    "fan": "fan fans ventilator ventilatoren ventilateur ventilateurs ventilador ventiladores ventilatore "
    "ventilatori flakt flakten tuuletin wentylator вентилятор",
    "cover": "cover covers curtain curtains blind blinds shade shades shutter shutters awning awnings "
    "rollladen rolladen rollo rollos jalousie jalousien vorhang vorhange markise volet volets store "
    "stores rideau "
    "rideaux persiana persianas cortina cortinas tapparella tapparelle tenda tende gordijn gordijnen "
    "rolluik "
    "rolluiken zaslony rolety шторы жалюзи",
    "climate": "climate thermostat thermostats heating heater ac hvac heizung heizungen heizkorper "
    "klimaanlage "
    "chauffage climatisation calefaccion riscaldamento climatizzatore verwarming varme ogrzewanie "
    "отопление "
    "кондиционер",
    "media_player": "music musik musique musica muzyka musiikki музыка speaker speakers lautsprecher "
    "enceinte enceintes altavoz altavoces altoparlante "
    "luidspreker "
    "glosnik колонка",
    "vacuum": "vacuum vacuums hoover robovac staubsauger saugroboter aspirateur aspiradora aspirapolvere "
    "stofzuiger dammsugare odkurzacz пылесос",
    "lawn_mower": "mower lawnmower rasenmaher mahroboter tondeuse cortacesped tagliaerba grasmaaier kosiarka",
    "lock": "lock locks schloss turschloss serrure cerradura serratura slot zamek замок",
    "valve": "valve valves ventil ventile vanne valvula valvola klep zawor клапан",
    "humidifier": "humidifier humidifiers dehumidifier luftbefeuchter humidificateur humidificador",
    "water_heater": "boiler warmwasser",
    "alarm_control_panel": "alarm alarmanlage alarme alarma allarme",
    "camera": "camera cameras kamera kameras",
    "siren": "siren sirens sirene",
}

DOMAIN_WORDS: Final[Mapping[str, str]] = {
    word: domain for domain, words in _WORDS_OF_DOMAIN.items() for word in words.split()
}
"""Word for a kind of thing, and the domain that is meant."""


def all_words(language: str) -> frozenset[str]:
    """Return the words for "all" that count in a language, or in any if it is not known."""
    known = ALL_WORDS.get(language.casefold().replace("_", "-").partition("-")[0])
    if known is not None:
        return known | ALL_WORDS["en"]
    return frozenset().union(*ALL_WORDS.values())


def asks_for_all(folded: str, language: str) -> bool:
    """Return whether a sentence, folded to words with one space between, asks for everything of a kind."""
    text = f" {folded} "
    for idiom in ALL_IDIOMS:
        text = text.replace(f" {idiom} ", " ")
    wanted = all_words(language)
    return not wanted.isdisjoint(text.split()) or any(word in text for word in wanted if is_unspaced(word))


def is_unspaced(word: str) -> bool:
    """Return whether a word is of a script that puts no spaces between words."""
    return any("\u3040" <= char <= "\u30ff" or "\u4e00" <= char <= "\u9fff" for char in word)
