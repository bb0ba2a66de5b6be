"""Timers and reminders of the agents: kept over a restart, told where they were set."""
