"""Automations that people have asked for: what they say, and what is kept of them."""
