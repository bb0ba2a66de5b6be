"""Claims in Polish and Russian."""

from collections.abc import Mapping
from typing import Final

from .tongue import Tongue

SLAVIC: Final[Mapping[str, Tongue]] = {
    "pl": Tongue(
        sets={
            "did": "wlaczylem wlaczylam wylaczylem wylaczylam zapalilem zapalilam zgasilem zgasilam "
            "otworzylem otworzylam zamknalem zamknelam ustawilem ustawilam przyciemnilem przyciemnilam "
            "uruchomilem uruchomilam zatrzymalem zatrzymalam aktywowalem aktywowalam zmienilem zmienilam "
            "dodalem dodalam usunalem usunelam zwiekszylem zwiekszylam zmniejszylem zmniejszylam "
            "podnioslem obnizylem wlaczono wylaczono ustawiono zablokowalem odblokowalem przywrocilem "
            "rozjasnilem opuscilem",
            "doing": "wlaczam wylaczam zapalam gasze otwieram zamykam ustawiam przyciemniam uruchamiam "
            "zatrzymuje",
            "res": "wlaczon~ wylaczon~ zapalon~ zgaszon~ otwart~ zamkniet~ ustawion~ przyciemnion~ "
            "uruchomion~ zablokowan~ odblokowan~ zatrzyman~",
        },
        agent=("<did>", "wlasnie <did>", "*4 <did>", "^<doing>"),
        result=(
            "*6 jest|sa teraz *2 <res>",
            "teraz *5 jest|sa <res>",
            "*6 zostal~ *2 <res>",
            "*6 jest|sa <res> teraz|.",
            "^swiatl~|lamp~ *3 <res>",
            "^gotowe|zrobione|zalatwione $",
        ),
        nots="nie nigdy juz jeszcze niestety przepraszam ktore ktory czy jesli moge chcesz ale byl bylo byla "
        "odpowiada",
        past="wczoraj wczesniej temu poprzednio rano kiedy",
        fillers="ok dobrze jasne oczywiscie tak dobra pewnie juz robi sie",
        joins="i oraz",
        asks="co kto kiedy gdzie dlaczego ile jak jaka jaki jakie ktory ktora czy jest sa",
        orders="mozesz|moglbys|moglabys|jesli|wtedy|prosze|inaczej",
        verbs="wlacz~ wylacz~ zapal~ zgas~ otworz~ zamkn~ ustaw~ przyciemn~ uruchom~ zatrzym~ zwieksz~ "
        "zmniejsz~ podnies~ opusc~",
        wonders="powiedziec|powiedz|sprawdzic|sprawdz|wiesz",
        tells="opowiedz|wyjasnij|opisz|napisz|zaspiewaj|powiedz|powtorz|przetlumacz|przeczytaj|daj mi|"
        "dziekuje|czesc|dzien",
    ),
    "ru": Tongue(
        sets={
            "did": "включил включила выключил выключила открыл открыла закрыл закрыла установил "
            "установила запустил запустила остановил остановила зажег зажгла погасил погасила изменил "
            "изменила добавил добавила убавил прибавил",
            "doing": "включаю выключаю открываю закрываю устанавливаю запускаю",
            "res": "включен~ выключен~ открыт~ закрыт~ установлен~ запущен~",
        },
        agent=("я? <did>", "^<doing>"),
        result=("*5 теперь *1 <res>", "*5 <res> .", "*5 был~ <res>", "^готово|сделано $"),
        nots="не нет уже еще никогда к сожалению какой какая если могу отвечает",
        past="вчера ранее раньше назад уже утром когда",
        fillers="ок хорошо да конечно ладно",
        joins="и",
        asks="что кто когда где почему как какой какая какие сколько есть",
        orders="можешь|можете|если|тогда|пожалуйста",
        verbs="включ~ выключ~ открой закрой открыть закрыть установи~ запусти~ останови~ зажги погаси",
        wonders="сказать|проверить|проверь|знаешь",
        tells="расскажи|объясни|опиши|напиши|спой|скажи|повтори|переведи|прочитай|спасибо|привет",
    ),
}
