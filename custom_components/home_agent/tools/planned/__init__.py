"""Planned commands, as the model reads them and when they run."""
