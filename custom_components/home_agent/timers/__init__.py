"""Timers and reminders of the agents: they survive a restart, and are announced where they were set."""
