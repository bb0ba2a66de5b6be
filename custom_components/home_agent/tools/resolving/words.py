"""Words that mean the same in every house, folded, by language."""

from collections.abc import Mapping
from typing import Final

from ...knowledge.spoken_words import words_of

STOP_WORDS: Final = words_of(
    "the a an my our your this that of in on at to der die das den dem des ein eine einen im am vom mein "
    "meine unser le la les l un une de du des mon ma mes el los las una del mi il lo i gli uno della "
    "o os as um uma do da het een van de mijn en ett den det min mitt"
)
"""Articles and the like: they name nothing."""

NO_VALUE: Final = frozenset(("", "null", "none", "nil", "n/a", "undefined", "unknown", "any"))
"""What models write where they mean nothing."""

WARMTH: Final[Mapping[str, int]] = {
    "candle": 2000,
    "candlelight": 2000,
    "warm": 2700,
    "warm white": 2700,
    "warmwhite": 2700,
    "soft white": 2700,
    "warmweiss": 2700,
    "blanc chaud": 2700,
    "neutral": 4000,
    "neutral white": 4000,
    "natural": 4000,
    "natural white": 4000,
    "cool": 5000,
    "cold": 6000,
    "cool white": 5000,
    "coolwhite": 5000,
    "cold white": 6000,
    "kaltweiss": 6000,
    "blanc froid": 6000,
    "daylight": 6500,
}
"""Word for a white, and its temperature in kelvin."""

COLORS: Final[Mapping[str, str]] = {
    **dict.fromkeys(words_of("rot rouge rojo rosso rood vermelho rod czerwony красный 红 红色 赤"), "red"),
    **dict.fromkeys(words_of("grun vert verde groen gron zielony зеленый 绿 绿色 緑"), "green"),
    **dict.fromkeys(words_of("blau bleu azul blu blauw bla niebieski синий 蓝 蓝色 青"), "blue"),
    **dict.fromkeys(words_of("gelb jaune amarillo giallo geel amarelo gul zolty желтый 黄 黄色"), "yellow"),
    **dict.fromkeys(words_of("weiss blanc blanco bianco wit branco vit bialy белый 白 白色"), "white"),
    **dict.fromkeys(
        words_of("violett lila violet morado viola paars roxo fioletowy фиолетовый 紫 紫色"), "purple"
    ),
    **dict.fromkeys(words_of("rosa rose roze rozowy розовый ピンク 粉色"), "pink"),
    **dict.fromkeys(
        words_of("orange naranja arancione oranje laranja pomaranczowy оранжевый 橙色"), "orange"
    ),
    **dict.fromkeys(words_of("turkis turquesa turchese turkoois бирюзовый"), "turquoise"),
}
"""Folded name of a colour in some other language, and the English one."""
