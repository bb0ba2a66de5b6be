"""Claims in French, Spanish, Italian and Portuguese."""

from collections.abc import Mapping
from typing import Final

from .tongue import Tongue

ROMANCE: Final[Mapping[str, Tongue]] = {
    "fr": Tongue(
        sets={
            "did": "allume allumee allumes allumees eteint eteinte eteints eteintes ouvert ouverte "
            "ouverts ouvertes ferme fermee fermes fermees regle reglee regles reglees mis mise active "
            "activee actives activees desactive desactivee lance lancee arrete arretee arretes arretees "
            "demarre demarree augmente augmentee baisse baissee baisses diminue reduit reduite verrouille "
            "verrouillee deverrouille deverrouillee monte coupe coupee ajoute ajoutee supprime supprimee "
            "cree creee envoye envoyee change modifie remis remise annule restaure tamise",
            "now": "maintenant desormais bien a present",
            "do": "j'allume j'eteins j'ouvre j'active j'augmente j'arrete j'ajoute",
            "do2": "ferme regle mets baisse desactive lance coupe verrouille deverrouille monte demarre "
            "tamise joue",
        },
        agent=(
            "j'ai <now>? *2 <did>",
            "je les|l'ai|viens *3 <did>",
            "je viens de|d'allumer|d'eteindre|d'ouvrir|d'activer|d'augmenter|d'arreter|d'ajouter",
            "<do>",
            "je <do2>",
        ),
        result=(
            "*6 est|sont <now> <did>",
            "*6 est|sont <did> <now>",
            "*6 est|sont <did> .",
            "*6 a|ont <now>? ete *1 <did>",
            "*6 est|sont <did> a|sur *3 .",
            "*6 est|sont en train",
            "*6 est|sont <now> *4 .",
            "c'est fait|bon|<did> $",
            "voila c'est fait",
            "fait|termine $",
        ),
        nots="ne n'est n'a n'ont n'ai pas plus jamais deja encore je j'ai tu vous desole malheureusement "
        "quel quelle si il y mais c'est impossible etait etaient peux souhaitez voulez repond repondent dois "
        "avez faut",
        past="hier deja tantot avant auparavant quand lorsque matin",
        fillers="d'accord ok bien sur tres oui parfait entendu compris voila tout de suite pas de probleme",
        joins="et puis",
        asks="que qu'est quoi qui quand ou pourquoi comment combien est est-ce quel quelle quels quelles "
        "sont y a-t-il as-tu avez-vous",
        orders="peux-tu|tu peux|pouvez-vous|vous pouvez|pourrais-tu|tu pourrais|pourriez-vous|veux-tu|si|"
        "sinon|alors|s'il te|s'il vous|pourquoi ne|et si",
        verbs="allum~ etein~ ouvre~ ouvrir ferme fermer fermez mets mettre mettez regle regler reglez "
        "baiss~ augment~ mont~ activ~ desactiv~ lanc~ arret~ demarr~ coup~ verrouill~ deverrouill~ tamis~",
        wonders="me dire|dis-moi|verifier|verifie|savoir|sais",
        tells="raconte|racontez|explique|expliquez|decris|ecris|chante|dis|repete|traduis|lis|donne-moi|"
        "merci|bonjour|bonsoir|salut|resume",
    ),
    "es": Tongue(
        sets={
            "did": "encendido apagado abierto cerrado puesto ajustado activado desactivado iniciado "
            "detenido pausado subido bajado aumentado reducido bloqueado desbloqueado atenuado "
            "configurado establecido agregado anadido eliminado creado enviado cambiado conectado "
            "desconectado prendido restaurado programado",
            "pret": "encendi apague abri cerre puse ajuste active desactive subi baje aumente reduje "
            "prendi configure anadi cambie bloquee desbloquee",
            "pres": "enciendo apago abro cierro activo desactivo ajusto",
            "res": "encendid~ apagad~ abiert~ cerrad~ puest~ ajustad~ activad~ desactivad~ bloquead~ "
            "desbloquead~ atenuad~ configurad~ prendid~ pausad~",
        },
        agent=(
            "he <did>",
            "ya? he <did>",
            "acabo de",
            "^yo? <pret> el|la|los|las|tu|tus|todo|todas|todos",
            "^<pres> el|la|los|las|tu|todas|todos",
            "estoy encendiendo|apagando|abriendo|cerrando|ajustando|activando|reproduciendo|poniendo",
        ),
        result=(
            "*6 esta|estan ahora <res>",
            "*6 esta|estan <res> ahora|.",
            "ahora *5 esta|estan <res>",
            "*6 ahora esta|estan *3 .",
            "*6 se ha|han <did>",
            "*6 esta|estan bajando|subiendo|abriendo|cerrando|encendiendo|apagando",
            "*6 ha|han sido <res>",
            "^todo? listo|hecho $",
            "^<res> $",
            "^luz|luces *4 encendid~|apagad~",
        ),
        nots="no nunca ya todavia aun yo lo siento lamentablemente que cual si puedo pude quieres quiere "
        "hay pero estaba estaban necesito responde responden",
        past="ayer antes ya anoche cuando anteriormente manana",
        fillers="vale ok claro si por supuesto de acuerdo perfecto muy bien entendido ahora mismo",
        joins="y",
        asks="que cual cuales quien cuando donde por cuanto cuanta cuantos cuantas como esta estan hay es "
        "son tienes has sigue",
        orders="puedes|podrias|puede|quieres|si|sino|entonces|por favor|por que no",
        verbs="enciend~ encender apaga apagar apague apagues abre abrir abra cierra cerrar cierre pon "
        "poner ponga ajusta ajustar activa activar desactiva desactivar sube subir baja bajar aumenta "
        "reduce prende conecta desconecta bloquea desbloquea inicia deten",
        wonders="decirme|dime|comprobar|comprueba|sabes|verificar|revisa",
        tells="cuenta|cuentame|explica|explicame|describe|escribe|canta|di|dime|repite|traduce|lee|dame|"
        "gracias|hola|buenos|buenas|resume",
    ),
    "it": Tongue(
        sets={
            "did": "acceso accesa accesi accese spento spenta spenti spente aperto aperta aperti aperte "
            "chiuso chiusa chiusi chiuse impostato impostata impostati regolato regolata attivato "
            "attivata disattivato disattivata avviato avviata fermato fermata alzato alzata abbassato "
            "abbassata aumentato ridotto bloccato bloccata sbloccato sbloccata aggiunto aggiunta rimosso "
            "eliminato creato inviato cambiato messo riavviato ripristinato",
            "now": "ora adesso appena gia",
            "pres": "accendo spengo apro chiudo imposto regolo attivo disattivo alzo abbasso avvio",
        },
        agent=(
            "ho ora|adesso|appena? <did>",
            "l'ho <did>",
            "le|li ho <did>",
            "^<pres> il|la|le|i|gli|lo|tutte|tutti",
        ),
        result=(
            "*6 e|sono ora|adesso <did>",
            "*6 ora|adesso e|sono <did>",
            "ora|adesso *5 e|sono <did>",
            "*6 e|sono <did> ora|adesso|.",
            "*6 e|sono stat~ <did>",
            "^ecco? tutto? fatto $",
            "^luce|luci *4 <did>",
        ),
        nots="non mai gia ancora ho purtroppo mi dispiace quale che se posso vuoi ma solo era erano "
        "risponde rispondono fa",
        past="ieri prima gia stamattina quando scorsa scorso",
        fillers="ok va bene certo certamente si perfetto d'accordo subito ecco senz'altro volentieri",
        joins="e poi",
        asks="che cosa cos'e chi quando dove perche quanto quanta quanti quante come quale quali e c'e "
        "sono ci hai sta",
        orders="puoi|potresti|puo|vuoi|se|altrimenti|allora|per favore|perche non",
        verbs="accendi accendere spegni spegnere apri aprire chiudi chiudere imposta impostare regola "
        "metti mettere attiva disattiva alza alzare abbassa abbassare aumenta riduci blocca sblocca avvia "
        "ferma",
        wonders="dirmi|controllare|controlla|verificare|sapere|sai",
        tells="racconta|raccontami|spiega|spiegami|descrivi|scrivi|canta|di|dimmi|ripeti|traduci|leggi|"
        "dammi|grazie|ciao|buongiorno|buonasera|riassumi",
    ),
    "pt": Tongue(
        sets={
            "did": "liguei desliguei apaguei acendi abri fechei ajustei defini coloquei ativei desativei "
            "aumentei diminui baixei tranquei destranquei iniciei parei pausei adicionei removi alterei "
            "mudei configurei reduzi restaurei criei enviei",
            "res": "ligad~ desligad~ apagad~ aces~ abert~ fechad~ ajustad~ definid~ ativad~ desativad~ "
            "trancad~ destrancad~ pausad~ configurad~",
            "doing": "ligando desligando apagando acendendo abrindo fechando ajustando",
        },
        agent=(
            "eu? <did>",
            "ja <did>",
            "acabei de",
            "estou <doing>",
            "^<doing>",
            "estou a ligar|desligar|apagar|acender|abrir",
        ),
        result=(
            "*6 esta|estao agora <res>",
            "agora *5 esta|estao <res>",
            "*6 esta|estao <res> agora|.",
            "*6 foi|foram <res>",
            "^tudo? feito|pronto|concluido $",
            "^<res> $",
            "^luz|luzes *4 <res>",
        ),
        nots="nao nunca ja ainda infelizmente desculpe qual que se posso quer ha mas eu estava estavam "
        "responde respondem preciso",
        past="ontem antes ja quando anteriormente manha",
        fillers="ok claro sim certo com certeza perfeito muito bem entendido tudo bem ta",
        joins="e",
        asks="o que qual quais quem quando onde por quanto quanta quantos quantas como esta estao ha tem "
        "sera",
        orders="pode|podes|podia|poderia|consegue|consegues|se|senao|entao|por favor|por que nao",
        verbs="liga ligar ligue desliga desligar desligue apaga apagar acende acender abre abrir abra "
        "fecha fechar feche ajusta ajustar define definir coloca ativa ativar desativa aumenta diminui "
        "baixa sobe tranca destranca inicia para",
        wonders="dizer|verificar|verifica|sabe|sabes",
        tells="conte|conta|explique|explica|descreva|escreva|escreve|cante|diga|diz|repita|traduza|leia|"
        "me de|obrigado|obrigada|ola|oi|bom|boa|resuma",
    ),
}
