"""Conversations as they are kept: their turns, their sessions, and the log in files."""
