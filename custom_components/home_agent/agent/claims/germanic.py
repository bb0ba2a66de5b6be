"""Claims in English, German, Dutch, Swedish, Danish and Norwegian."""

from collections.abc import Mapping
from typing import Final

from .tongue import Tongue

GERMANIC: Final[Mapping[str, Tongue]] = {
    "en": Tongue(
        sets={
            "did": "turned switched set dimmed brightened opened closed shut locked unlocked started "
            "stopped paused resumed activated deactivated enabled disabled adjusted changed raised "
            "lowered increased decreased reduced muted unmuted armed disarmed played toggled "
            "bumped nudged skipped cranked added removed deleted created scheduled sent cancelled "
            "canceled updated triggered launched restored reverted docked",
            "doing": "turning switching setting dimming brightening opening closing locking unlocking "
            "starting stopping pausing resuming activating deactivating enabling disabling adjusting "
            "raising lowering increasing decreasing muting arming disarming playing queueing queuing",
            "res": "on off open opened closed shut locked unlocked set dimmed turned switched running "
            "playing paused stopped armed disarmed started activated deactivated enabled disabled muted "
            "unmuted adjusted",
            "adv": "just now also successfully both",
            "thing": "light lights lamp lamps fan tv heating switch plug music",
        },
        agent=(
            "i've|we've <adv>? <adv>? <did>",
            "i've|we've gone ahead and <did>",
            "i|we have <adv>? <adv>? <did>",
            "i <adv>? <did> %",
            "i'm <adv>? <doing>",
            "i am <adv>? <doing>",
        ),
        result=(
            "^successfully? <did>",
            "^<doing>",
            "*6 is|are|it's|they're|that's now *2 <res>",
            "*6 is|are|it's|they're|that's <res> now",
            "*6 is|are|it's|they're now? <doing>|cleaning",
            "*6 is|are|it's|they're now *4 .",
            "^*4 set to *4 .",
            "^*3 turned|switched on|off",
            "^*3 <did> .",
            "*6 is|are|it's|they're *1 set|dimmed|turned|switched *6 .",
            "*6 is|are|it's|they're on|off|open|closed|locked|unlocked|done|armed|disarmed .",
            "*6 has|have now? <adv>? been <adv>? <did>",
            "^*3 <thing> on|off $",
            "^*2 <thing> turned|switched on|off",
            "all? done $",
            "it's|it|that's|that is? all? done|set|sorted $",
            "you're? all set $",
        ),
        nots="not no never isn't aren't hasn't haven't couldn't can't cannot didn't don't won't unable "
        "already still none neither nothing sorry unfortunately i you which what who there would will "
        "could should can may might if when once to but only was were do does did seems appears failed "
        "let's please i'm i'll i'd we we'll we're wasn't weren't doesn't wouldn't nobody something occurred "
        "denied requires needs means",
        past="yesterday earlier ago last previously before morning already night when whenever failed fails",
        fillers="ok okay sure yes yep alright certainly absolutely of course great perfect right away well",
        joins="and then so",
        asks="any anything anyone what what's which who who's whose when where where's why how is "
        "isn't are aren't was were do does did has have am",
        orders="can you|could you|would you|will you|can we|let us|if|then|otherwise|else|please|how "
        "about|why don't|what about|do it|do that|do the|have the",
        verbs="kill turn switch set open close shut lock unlock start stop dim make put activate deactivate "
        "enable disable raise lower increase decrease play pause mute unmute arm disarm power cut run vacuum",
        last="on off up down",
        wonders="tell me|check|see if|find out|look|know",
        tells="tell me|tell us|tell a|explain|describe|write|sing|say|repeat|translate|read|spell|imagine|"
        "summarize|give me|thanks|thank you|good|who|hello|hi",
    ),
    "de": Tongue(
        sets={
            "did": "eingeschaltet ausgeschaltet angeschaltet abgeschaltet umgeschaltet hochgeschaltet "
            "angemacht ausgemacht aufgemacht zugemacht eingestellt umgestellt gestellt gesetzt gedimmt "
            "geoffnet geschlossen verriegelt entriegelt aufgeschlossen abgeschlossen aufgesperrt "
            "abgesperrt gestartet gestoppt angehalten pausiert fortgesetzt aktiviert deaktiviert "
            "hochgefahren runtergefahren heruntergefahren hochgedreht runtergedreht aufgedreht "
            "heruntergedreht erhoht gesenkt verringert reduziert geandert angepasst hinzugefugt geloscht "
            "entfernt erstellt angelegt gesendet geschickt zuruckgesetzt wiederhergestellt erledigt "
            "stummgeschaltet angestellt abgestellt scharfgeschaltet unscharfgeschaltet geschaltet "
            "ruckgangig gemacht",
            "fin": "schalte mache mach stelle drehe fahre knipse dimme",
            "part": "ein aus an ab auf zu hoch runter um herunter herauf zuruck lauter leiser heller dunkler",
            "one": "dimme offne schliesse starte stoppe pausiere aktiviere deaktiviere verriegle "
            "entriegle erhohe senke reduziere spiele",
            "res": "an aus ein auf offen zu hoch unten geoffnet geschlossen zugesperrt aktiv inaktiv "
            "scharf unscharf",
            "thing": "licht lichter lampe lampen ventilator fernseher heizung musik steckdose",
        },
        agent=(
            "ich habe|hab *9 <did>",
            "habe|hab ich? *9 <did>",
            "ich <fin> *7 <part>",
            "ich <one>",
            "ich stelle|setze|regle *6 auf",
            "schalte|mache|stelle|fahre|drehe *6 <part> $",
        ),
        result=(
            "*6 ist|sind jetzt|nun *4 <did>|<res>",
            "*4 ist|sind *4 jetzt|nun *2 <did>|<res>",
            "*6 ist|sind|leuchtet|leuchten|spielt jetzt|nun *4 .",
            "*4 fahren|fahrt jetzt|nun *2 hoch|runter|herunter|rauf|auf|zu",
            "*6 ist|sind *3 <did> .",
            "*6 ist|sind an|aus|offen|zu|geoffnet|geschlossen|verriegelt|entriegelt .",
            "*6 wurde|wurden *6 <did>",
            "*6 wird|werden jetzt|nun? *5 <did>",
            "jetzt|nun ist|sind *5 <did>|<res>",
            "*5 steht|stehen jetzt|nun *2 auf",
            "^<thing> *4 an|aus $",
            "^<thing> *4 eingeschaltet|ausgeschaltet|angeschaltet|gedimmt",
            "alles? erledigt|fertig|gemacht $",
            "ist|wird? erledigt|gemacht $",
        ),
        nots="nicht kein keine keinen keiner nie leider schon bereits noch ich du sie welche welches "
        "welcher wenn falls ob konnte kann soll sollte werde wurdest moechtest mochtest es gibt "
        "entschuldigung aber nur war waren hat haben nichts niemand antwortet reagiert lasst geht brauche "
        "braucht meinst darf muss heisst fehlt finde kenne scheint klappt funktioniert",
        past="gestern vorhin vor fruher bereits schon letzte letzten zuvor heute morgen als",
        fillers="ok okay ja klar gerne gern sicher naturlich alles gut jawohl sofort mach mache ich wird "
        "prima super so in ordnung kein problem",
        joins="und dann",
        asks="was wer wen wem wann wo warum wieso weshalb wie wieviel welche welcher welches welchen ist "
        "sind war waren hat haben hast habe brennt steht stehen lauft gibt wurde",
        orders="kannst du|kannst|konntest du|wurdest du|konnen sie|machst du|schaltest du|wenn|falls|dann|"
        "sonst|bitte|wie ware|warum machst|ansonsten",
        verbs="~schalt ~mach ~stell ~dreh ~fahr ~dimm ~schliess ~sperr offne offnen start~ stopp~ "
        "aktivier~ deaktivier~ erhoh~ senk~ spiel~ verriegel~ entriegel~ zieh~ setz~ knips~ lass~ bitte",
        last="an aus ein auf zu hoch runter lauter leiser heller",
        wonders="sag mir|sagen|prufen|pruf|prufe|schau|nachsehen|weisst|wissen",
        tells="erzahl|erzahle|erklar|erklare|beschreib|schreib|schreibe|sing|sag|sage|wiederhol|ubersetz|"
        "lies|buchstabier|nenn|danke|guten|hallo|fass",
    ),
    "nl": Tongue(
        sets={
            "did": "aangezet uitgezet aangedaan uitgedaan ingeschakeld uitgeschakeld geopend gesloten "
            "dichtgedaan opengedaan ingesteld gezet gedimd vergrendeld ontgrendeld gestart gestopt "
            "gepauzeerd hervat geactiveerd gedeactiveerd toegevoegd verwijderd verhoogd verlaagd "
            "aangepast veranderd gewijzigd aangemaakt verstuurd omhooggedaan neergelaten afgesloten "
            "hersteld teruggezet gedempt",
            "res": "aan uit open dicht gesloten",
            "part": "aan uit open dicht in omhoog omlaag harder zachter",
            "one": "open sluit dim start stop activeer deactiveer vergrendel ontgrendel verhoog verlaag "
            "pauzeer",
            "thing": "licht lichten lamp lampen ventilator verwarming muziek",
        },
        agent=(
            "ik heb *9 <did>",
            "heb *9 <did>",
            "ik zet|doe|schakel|draai *7 <part>|op",
            "ik <one> de|het|je|alle|nu",
            "ik speel",
        ),
        result=(
            "*6 is|zijn nu *3 <did>|<res>",
            "*6 is|zijn *1 <did> .",
            "*6 is|zijn nu *4 .",
            "*6 staat|staan nu *2 aan|uit|op|open",
            "*6 staat|staan aan|uit|open .",
            "*6 is|zijn aan|uit|open|dicht .",
            "*6 werd|wordt|worden *4 <did>",
            "nu is|zijn|staat|staan *5 <res>|<did>",
            "^<thing> *4 aan|uit $",
            "^<thing> *3 <did>",
            "^gedaan|klaar|gelukt|geregeld|gebeurd $",
            "het? is? gedaan|geregeld|gebeurd $",
        ),
        nots="niet geen nooit al reeds nog ik jij je u helaas sorry welke welk wat als kan kon wil er maar "
        "was waren heeft mag moet kun reageert gevonden",
        past="gisteren eerder geleden al vorige daarnet toen vanmorgen",
        fillers="ok oke ja prima natuurlijk zeker goed begrepen komt voor elkaar uiteraard meteen doe ik",
        joins="en dan",
        asks="wat wie wanneer waar waarom hoe hoeveel welke is zijn was waren staat staan heeft heb "
        "brandt zit",
        orders="kun je|kan je|kunt u|wil je|zou je|als|anders|dan|alsjeblieft|waarom doe",
        verbs="zet zetten doe doen schakel~ open sluit sluiten dim dimmen start stop activeer deactiveer "
        "vergrendel ontgrendel verhoog verlaag draai maak speel inschakelen uitschakelen aanzetten uitzetten",
        last="aan uit open dicht harder zachter",
        wonders="vertellen|zeggen|controleren|controleer|kijken|kijk|weet",
        tells="vertel|leg uit|beschrijf|schrijf|zing|zeg|herhaal|vertaal|lees|geef me|dank|bedankt|hallo|"
        "goede|vat",
    ),
    "sv": Tongue(
        sets={
            "did": "tant slackt satt stangt oppnat last startat stoppat pausat hojt sankt dimrat dimmat "
            "aktiverat avaktiverat stallt andrat lagt skruvat slagit kopplat dragit tagit",
            "now": "nu precis just",
            "do": "tander slacker satter stanger oppnar laser startar stoppar hojer sanker dimrar",
            "res": "tand tant tanda slackt slackta avstangd avstangda avstangt pa av oppen oppna stangd "
            "stangt stangda last lasta upplast installd installt",
        },
        agent=("jag har <now>? <did>", "har <now>? <did>", "jag <do>"),
        result=(
            "*5 ar nu *2 <res>",
            "nu ar *5 <res>",
            "*5 ar <res> nu|.",
            "*5 har <now>? *1 tants|slackts|stangts|oppnats|last|aktiverats|stallts",
            "det|nu ar klart|fixat|gjort $",
            "^klart|klar|fixat|gjort $",
            "^lampan|lamporna|ljuset|lampor *3 <res>",
        ),
        nots="inte ej aldrig redan fortfarande tyvarr jag du vilken vilket om kan kunde vill det men var "
        "svarar finns",
        past="igar tidigare sedan redan nyss morse nar",
        fillers="ok okej ja visst absolut sjalvklart bra perfekt javisst det gor jag",
        joins="och sedan",
        asks="vad vem nar var varfor hur vilken vilket vilka ar finns har star",
        orders="kan du|skulle du|vill du|om|da|annars|snalla",
        verbs="tand tanda slack slacka satt satta stang stanga oppna las starta stoppa hoj hoja sank sanka "
        "dimra aktivera stall vrid dra",
        last="pa av",
        wonders="saga|kolla|vet",
        tells="beratta|forklara|beskriv|skriv|sjung|sag|upprepa|oversatt|las|ge mig|tack|hej|god",
    ),
    "da": Tongue(
        sets={
            "did": "taendt slukket sat abnet lukket last startet stoppet aktiveret deaktiveret skruet "
            "indstillet aendret tent apnet skrudd slatt satt stengt skrudde endret",
            "res": "taendt slukket til fra pa av aben abne lukket lukkede last tent apen apne stengt",
        },
        agent=(
            "jeg har nu? lige? <did>",
            "jeg taender|slukker|abner|lukker|saetter|skruer|tenner|slar|apner|setter",
        ),
        result=(
            "*5 er nu|na *2 <res>",
            "nu|na er *5 <res>",
            "*5 er <res> nu|na|.",
            "*5 er blevet <did>",
            "^faerdig|ferdig|gjort|klaret|fikset|ordnet|klart $",
            "det er gjort|ordnet|fikset $",
        ),
        nots="ikke aldrig allerede stadig beklager desvaerre jeg du hvilken hvilket hvis kan kunne vil "
        "men var svarer findes finnes",
        past="igar tidligere siden allerede da",
        fillers="ok okay ja selvfolgelig fint greit klart javel",
        joins="og sa",
        asks="hvad hva hvem hvornar nar hvor hvorfor hvordan hvilken hvilket hvilke er har star",
        orders="kan du|vil du|gider du|hvis|sa|ellers|venligst",
        verbs="taend taende sluk slukke abn abne luk lukke las start stop skru saet saenk haev tenn slukk "
        "apne sett",
        last="pa av til fra",
        wonders="fortaelle|fortelle|sige|si|tjekke|sjekke|ved du",
        tells="fortael|fortell|forklar|beskriv|skriv|syng|sig|si|gentag|oversaet|laes|tak|takk|hej|hei|god",
    ),
}
