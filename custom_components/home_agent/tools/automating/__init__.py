"""Automations that people ask for: from what a model writes to Home Assistant's YAML and its file."""
