"""Finds out what a conversation brought that is worth remembering."""
