"""Messages that a model sends at once, whatever the sentence says of a time or a condition."""

from tests.helpers.own_automations import OwnHome
from tests.servers.replies import text, tool_calls

SORRY = text("Sorry.")
NOW = [
    ("en", "Tell me that dinner is ready", "Dinner is ready."),
    ("en", "Ask me if I want pizza", "Do you want pizza?"),
    ("en", "Remind my phone of the bins and turn off the light when I leave", "The bins."),
    ("de", "Schick mir eine Nachricht, dass der Kuchen fertig ist, wenn du kannst", "Der Kuchen ist fertig."),
]


async def test_at_once(home: OwnHome) -> None:
    """The model reads the sentence; no word of it holds a message back."""
    for language, sentence, said in NOW:
        home.conversation_id = None
        call = tool_calls([("notify_person", {"person": "me", "message": said})])
        await home.say(sentence, call, SORRY, SORRY, language=language)
    assert [each["message"] for each in home.told] == [said for *_, said in NOW]
