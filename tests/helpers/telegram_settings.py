"""The options of an agent with two chats."""

from tests.helpers.telegram_chats import ANNA, BEN

OPTIONS = {
    "telegram_enabled": True,
    "telegram_chat_persons": [
        {"chat_id": str(ANNA), "person": "person.anna"},
        {"chat_id": str(BEN), "person": "person.ben"},
    ],
    "memory_extraction_enabled": False,
}
