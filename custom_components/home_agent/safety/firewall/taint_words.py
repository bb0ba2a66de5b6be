"""Stems of words by which a short text from outside is taken for more than a title, folded."""

from typing import Final

STEMS: Final = (
    # English
    *("unlock", "disarm", "lock", r"door", "garage", "alarm", r"gate", "camera", "siren"),
    *("remember", "memor", r"forget", "profile", "password", r"pin", r"code", "search"),
    *("ignore", "instruction", "prompt", "system", "assistant", r"tool", r"call", "script", "scene"),
    # German, Dutch
    *("entsperr", "aufschlie", "aufsperr", r"tur", "haustur", "tor oeffn", "alarmanlage", "entscharf"),
    *("merk dir", "vergiss", "passwort", "suche nach", "anweisung", "ontgrendel", "deur", "onthoud"),
    *("vergeet", "wachtwoord", "instructie", "zoek naar"),
    # French, Spanish, Italian, Portuguese
    *("deverrouill", "porte", "desarm", "alarme", "souviens", "oublie", "mot de passe", "cherche"),
    *("desbloque", "puerta", "alarma", "recuerda", "olvida", "contrasena", "busca", "instruc"),
    *("sblocca", "porta", "allarme", "disattiv", "ricorda", "dimentica", "cerca", "istruzion"),
    *("destranc", "portao", "lembra", "esquec", "senha", "procur"),
    # Slavic, Nordic, Turkish
    *("odblok", "drzwi", "garaz", "rozbroj", "zapamiet", "zapomnij", "haslo", "wyszukaj", "instrukcj"),
    *("lasa upp", "dorren", "garaget", "larm", "kom ihag", "glom", "losenord", "sok efter"),
    *("kilidi", "kapi", "garaj", "hatirla", "unut", "sifre", "talimat"),
    *(
        "\u043e\u0442\u043a\u0440\u043e\u0439",
        "\u0440\u0430\u0437\u0431\u043b\u043e\u043a",
        "\u0434\u0432\u0435\u0440",
        "\u0433\u0430\u0440\u0430\u0436",
        "\u0441\u0438\u0433\u043d\u0430\u043b\u0438\u0437",
        "\u0437\u0430\u043f\u043e\u043c\u043d\u0438",
        "\u0437\u0430\u0431\u0443\u0434\u044c",
        "\u043f\u0430\u0440\u043e\u043b\u044c",
        "\u0438\u043d\u0441\u0442\u0440\u0443\u043a\u0446",
    ),
)
"""Beginnings of words."""

UNSPACED: Final = (
    *(
        "\u89e3\u9501",
        "\u5f00\u95e8",
        "\u8f66\u5e93",
        "\u8b66\u62a5",
        "\u8bb0\u4f4f",
        "\u5fd8\u8bb0",
        "\u5bc6\u7801",
    ),
    *(
        "\u6307\u4ee4",
        "\u641c\u7d22",
        "\u89e3\u9320",
        "\u30c9\u30a2",
        "\u30ac\u30ec\u30fc\u30b8",
        "\u8b66\u5831",
    ),
    *(
        "\u899a\u3048\u3066",
        "\u5fd8\u308c\u3066",
        "\u6307\u793a",
        "\u691c\u7d22",
        "\uc7a0\uae08",
        "\ubb38\uc744",
        "\ucc28\uace0",
    ),
    *("\uacbd\ubcf4", "\uae30\uc5b5", "\uc9c0\uc2dc", "\uac80\uc0c9"),
)
"""Parts of texts in Chinese, Japanese and Korean."""

MARKS: Final = ("<", "{", r"\[inst", "==")
"""What only machines write."""
