"""Telegram, through Home Assistant's own bot: chats of persons are conversations."""
