"""Messages for when something happens: they are not sent at once, but by an automation."""

from tests.helpers.own_automations import OwnHome
from tests.servers.replies import text, tool_calls

NEEDS = "Call automation with action create"
SORRY = text("Sorry.")
LATER = [
    ("en", "Let me know as soon as the washing machine is done", "The washing machine is done."),
    ("en", "When somebody opens the window, tell me", "Somebody opened the window."),
    ("en", "Notify me if the freezer gets warm", "The freezer is warm."),
    ("de", "Sag mir Bescheid, sobald die Spülmaschine durch ist", "Die Spülmaschine ist durch."),
    ("fr", "Préviens-moi dès que le linge est sec", "Le linge est sec."),
    ("es", "Si se abre la ventana, mándame un mensaje", "La ventana está abierta."),
    ("it", "Avvisami quando qualcuno suona", "Qualcuno ha suonato."),
    ("pl", "Powiadom mnie, gdy suszarka skończy", "Suszarka skończyła."),
    ("ru", "Сообщи мне, когда сушилка закончит", "Сушилка закончила."),
]
NOW = [
    ("en", "Tell me that dinner is ready", "Dinner is ready."),
    ("en", "Ask me if I want pizza", "Do you want pizza?"),
    ("en", "Remind my phone of the bins and turn off the light when I leave", "The bins."),
    ("de", "Schick mir eine Nachricht, dass der Kuchen fertig ist, wenn du kannst", "Der Kuchen ist fertig."),
]


async def sent_at_once(home: OwnHome, sentence: str, message: str, language: str) -> str:
    """Return what the model was told when it sent a message at once."""
    home.conversation_id = None
    call = tool_calls([("notify_person", {"person": "me", "message": message})])
    await home.say(sentence, call, SORRY, SORRY, language=language)
    messages = home.agent.server.chats[-1].json["messages"]
    return [str(one["content"]) for one in messages if one["role"] == "tool"][-1]


async def test_not_yet(home: OwnHome) -> None:
    """In every language nothing is sent, and the model is told what to call."""
    found = [await sent_at_once(home, sentence, said, language) for language, sentence, said in LATER]
    assert [sentence for told, (_, sentence, _) in zip(found, LATER, strict=True) if NEEDS not in told] == []
    assert home.told == []


async def test_at_once(home: OwnHome) -> None:
    """A condition within the message, about another command, or that is a question, changes nothing."""
    for language, sentence, said in NOW:
        home.conversation_id = None
        call = tool_calls([("notify_person", {"person": "me", "message": said})])
        await home.say(sentence, call, SORRY, SORRY, language=language)
    assert [each["message"] for each in home.told] == [said for *_, said in NOW]
